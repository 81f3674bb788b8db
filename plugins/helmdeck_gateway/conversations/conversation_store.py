"""What a gateway remembers of conversations, in a store that other processes may share. Losing it never fails a call."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from helmdeck_core.log import logger
from helmdeck_gateway.http_server.counters import Counters
from helmdeck_gateway.stores.store import MAX_DOCUMENT_BYTES, DocumentStore
from helmdeck_storage import StorageError

ANSWER_S: Final = 2.0
"""Seconds that the store may take; a call does not wait longer for what it can do without."""

SAVE_PAUSE_S: Final = 0.25
"""Seconds between two attempts to store what a store that did not answer has not taken."""

MAX_UNSAVED_BYTES: Final = 32_000_000
"""Bytes that wait for the store; the oldest values are lost beyond."""

_decode = msgspec.msgpack.Decoder().decode


def _plain(value: Any) -> Any:
    """Encode mappings of other types than ``dict``."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be stored")


_encode = msgspec.msgpack.Encoder(enc_hook=_plain).encode


class ConversationStore:
    """Values as documents of a store; failures are counted and logged.

    A client that was sent the id of a response continues with it, also when the store did not answer meanwhile: such values wait in
    this process, which finds them, until the store takes them.

    :param ttl_s: seconds that a document is kept.
    """

    def __init__(self, store: DocumentStore, counters: Counters, *, ttl_s: float) -> None:
        self._store = store
        self._counters = counters
        self._ttl_s = ttl_s
        self._unsaved: dict[tuple[str, str, str], bytes] = {}  # the oldest one first
        self._saving: asyncio.Task[None] | None = None

    async def keep(self, kind: str, key: str, owner: str, value: Any) -> None:
        """Store a value, or let it wait for a store that does not answer."""
        place = kind, key, owner
        self._unsaved.pop(place, None)
        try:
            data = _encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError) as exc:
            self._failed(kind, exc)
            return
        try:
            await self._put(place, data)
        except (StorageError, TimeoutError) as exc:
            self._failed(kind, exc)
            if len(data) <= MAX_DOCUMENT_BYTES:
                self._save_later(place, data)

    async def _put(self, place: tuple[str, str, str], data: bytes) -> None:
        async with asyncio.timeout(ANSWER_S):
            await self._store.put(*place, data, self._ttl_s)

    def _save_later(self, place: tuple[str, str, str], data: bytes) -> None:
        self._unsaved[place] = data
        while sum(map(len, self._unsaved.values())) > MAX_UNSAVED_BYTES:
            del self._unsaved[next(iter(self._unsaved))]
        if self._saving is None or self._saving.done():
            self._saving = asyncio.create_task(self._save_all())

    async def _save_all(self) -> None:
        while self._unsaved:
            await asyncio.sleep(SAVE_PAUSE_S)
            with contextlib.suppress(StorageError, TimeoutError):
                await self._save()

    async def _save(self) -> None:
        for place, data in list(self._unsaved.items()):
            await self._put(place, data)
            if self._unsaved.get(place) is data:
                del self._unsaved[place]

    async def aclose(self) -> None:
        """Store what waits, if the store answers."""
        if self._saving is not None:
            self._saving.cancel()
            await asyncio.gather(self._saving, return_exceptions=True)
        with contextlib.suppress(StorageError, TimeoutError):
            async with asyncio.timeout(ANSWER_S):
                await self._save()

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
        data = self._unsaved.get((kind, key, owner)) or await self._store.get(kind, key, owner)
        return None if data is None else _decode(data)

    async def forget(self, kind: str, key: str, owner: str) -> bool:
        """Delete a value; return whether it was stored.

        :raises StorageError: the store does not answer.
        """
        was_unsaved = self._unsaved.pop((kind, key, owner), None) is not None
        return await self._store.delete(kind, key, owner) or was_unsaved

    def _failed(self, kind: str, error: Exception) -> None:
        self._counters.store_errors += 1
        logger().bind(kind=kind, error=f"{type(error).__name__}: {error}").warning("the store of the gateway failed")
