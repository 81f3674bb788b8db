"""What a gateway remembers of conversations, in a store that other processes may share. Losing it never fails a call."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from helmdeck_core.log import logger
from helmdeck_gateway.http_server.counters import Counters
from helmdeck_gateway.stores.store import DocumentStore
from helmdeck_storage import StorageError

ANSWER_S: Final = 2.0
"""Seconds that the store may take; a call does not wait longer for what it can do without."""

_decode = msgspec.msgpack.Decoder().decode


def _plain(value: Any) -> Any:
    """Encode mappings of other types than ``dict``."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be stored")


_encode = msgspec.msgpack.Encoder(enc_hook=_plain).encode


class ConversationStore:
    """Values as documents of a store; failures are counted and logged.

    :param ttl_s: seconds that a document is kept.
    """

    def __init__(self, store: DocumentStore, counters: Counters, *, ttl_s: float) -> None:
        self._store = store
        self._counters = counters
        self._ttl_s = ttl_s

    async def keep(self, kind: str, key: str, owner: str, value: Any) -> None:
        """Store a value; it is lost if the store does not answer."""
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._store.put(kind, key, owner, _encode(value), self._ttl_s)
        except (StorageError, TimeoutError, TypeError, ValueError, OverflowError, RecursionError) as exc:
            self._failed(kind, exc)

    async def find(self, kind: str, key: str, owner: str, *, unknown: Any = None) -> Any:
        """Return a value; ``None`` if it is not stored.

        :param unknown: is returned if the store does not answer.
        """
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self.read(kind, key, owner)
        except (StorageError, TimeoutError) as exc:
            self._failed(kind, exc)
            return unknown

    async def read(self, kind: str, key: str, owner: str) -> Any:
        """Return a value; ``None`` if it is not stored.

        :raises StorageError: the store does not answer.
        """
        data = await self._store.get(kind, key, owner)
        return None if data is None else _decode(data)

    async def forget(self, kind: str, key: str, owner: str) -> bool:
        """Delete a value; return whether it was stored.

        :raises StorageError: the store does not answer.
        """
        return await self._store.delete(kind, key, owner)

    def _failed(self, kind: str, error: Exception) -> None:
        self._counters.store_errors += 1
        logger().bind(kind=kind, error=f"{type(error).__name__}: {error}").warning("the store of the gateway failed")
