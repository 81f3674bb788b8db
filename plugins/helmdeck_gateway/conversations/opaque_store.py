"""Remembers what providers want back with a turn, such as signatures of reasoning, which no client sends back.

Clients send the ids of tool calls back, so the data is found by them. Without it, a turn is sent without its reasoning.
"""

from __future__ import annotations

import asyncio
import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from helmdeck_core import EMPTY
from helmdeck_gateway.conversations.conversation_store import ConversationStore

OWN_PREFIX = "helmdeck_"
"""Start of the signatures that the gateway writes in place of a provider's."""

MAX_TURNS = 10_000
"""Turns that are remembered in memory; the oldest one is forgotten."""

MAX_LOOKUPS: Final = 256
"""Turns of one request that are looked up in a shared store, the last ones of the conversation."""

KIND: Final = "turn"
_UNKNOWN: Final = object()
"""The result of a lookup that the store did not answer."""


class OpaqueStore:
    """The data of recent turns in memory, and of all turns in a shared store.

    :param shared: the store that other processes share; ``None`` for none.
    """

    def __init__(self, shared: ConversationStore | None = None, most: int = MAX_TURNS) -> None:
        self._shared = shared
        self._most = most
        self._turns: collections.OrderedDict[tuple[str, str], Mapping[str, Any]] = collections.OrderedDict()

    async def keep(self, call_ids: Sequence[str], own_id: str, opaque: Mapping[str, Any], owner: str) -> None:
        """Remember the data of a turn.

        :param call_ids: the ids of its tool calls.
        :param own_id: the signature that stands for it, where the client's API has signatures; else empty.
        """
        ids = (*call_ids, own_id) if own_id else tuple(call_ids)
        for key in ids:
            self._add(owner, key, opaque)
        if self._shared is not None and ids:
            await self._shared.keep(KIND, ids[0], owner, opaque)

    def _add(self, owner: str, key: str, opaque: Mapping[str, Any]) -> None:
        self._turns[owner, key] = opaque
        while len(self._turns) > self._most:
            self._turns.popitem(last=False)

    def lookup(self, owner: str) -> OpaqueLookup:
        """Return what finds the turns of one request."""
        return OpaqueLookup(self, owner)

    def find(self, owner: str, ids: Iterable[str]) -> Mapping[str, Any] | None:
        """Return the data of a turn; empty if it has none, ``None`` if none of its ids is known."""
        # A large request is read in a thread, while others may forget turns.
        found = (self._turns.get((owner, key)) for key in ids)
        return next((each for each in found if each is not None), None)

    async def fetch(self, owner: str, keys: Sequence[str]) -> bool:
        """Look turns up in the shared store; return whether there is any."""
        if self._shared is None or not keys:
            return False
        keys = keys[-MAX_LOOKUPS:]
        lookups = (self._shared.find(KIND, key, owner, unknown=_UNKNOWN) for key in keys)
        values = await asyncio.gather(*lookups)
        for key, value in zip(keys, values, strict=True):
            if value is not _UNKNOWN:  # a turn without data is remembered as well, so that it is looked up once
                self._add(owner, key, value if isinstance(value, dict) else EMPTY)
        return any(value and value is not _UNKNOWN for value in values)


class OpaqueLookup:
    """Finds the data of turns while a request is read, and notes which turns are unknown."""

    def __init__(self, store: OpaqueStore, owner: str) -> None:
        self._store = store
        self._owner = owner
        self._unknown: list[str] = []

    def find(self, ids: Iterable[str]) -> Mapping[str, Any]:
        """Return the data of a turn; empty if none of its ids is known."""
        names = tuple(ids)
        found = self._store.find(self._owner, names)
        if found is None and names:
            self._unknown.append(names[0])
        return found or EMPTY

    async def fetch(self) -> bool:
        """Look the unknown turns up where other processes store them; return whether the request is to be read again."""
        return bool(self._unknown) and await self._store.fetch(self._owner, self._unknown)
