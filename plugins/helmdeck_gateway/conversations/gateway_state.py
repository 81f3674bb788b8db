"""The store of a gateway, and everything that it remembers of conversations; both outlive a reload of the configuration."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from helmdeck_cache import CacheSettings, ResponseCaches
from helmdeck_core import Runtime
from helmdeck_gateway.conversations.conversation_store import ConversationStore
from helmdeck_gateway.conversations.opaque_store import OpaqueStore
from helmdeck_gateway.conversations.tool_choices import ToolChoices
from helmdeck_gateway.http_server.counters import Counters
from helmdeck_gateway.settings import GatewaySettings
from helmdeck_gateway.sign_in.authoriser import KeySets
from helmdeck_gateway.stores import GatewayStore, default_path, open_store
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_gateway.stores.store import DocumentStore

DAY_S: Final = 86_400


class GatewayState:
    """Stored responses, the data of turns that providers want back, and the choices of tools.

    Without a configured store, they are kept in this process, and the keys of clients in the file of the data directory, as soon
    as it exists: ``helmdeck keys create`` makes it.

    :param store: a store of the application, which is not closed.
    :ivar documents: the documents of stored responses.
    :ivar key_sets: the keys of the issuers of tokens.
    :ivar batches_changed: is set when a batch is created or cancelled.
    :ivar background_changed: is set when a response is queued.
    :ivar runs: the runs of responses in the background in this process, by their ids.
    """

    def __init__(self, store: GatewayStore | None, settings: GatewaySettings, counters: Counters) -> None:
        most = settings.max_stored_responses
        url = settings.store_url() if store is None else None
        self._opened: GatewayStore | None = open_store(url, max_documents=most) if url else None
        self._store = store or self._opened
        self._path: Path | None = default_path() if self._store is None else None
        shared = self._store
        self._is_needed = bool(settings.sign_in)  # for the accounts of those who sign in
        self.key_sets: KeySets = {}
        self.batches_changed: asyncio.Event = asyncio.Event()
        self.background_changed: asyncio.Event = asyncio.Event()
        self.runs: dict[str, asyncio.Task[None]] = {}
        documents: DocumentStore = shared if shared is not None else MemoryStore(max_documents=most)
        self.documents: ConversationStore = ConversationStore(documents, counters, ttl_s=settings.stored_days * DAY_S)
        # Within one process, the rest is kept as it is, without an encoded copy.
        self.opaque: OpaqueStore = OpaqueStore(self.documents if shared is not None else None)
        self.choices: ToolChoices = ToolChoices(self.documents if shared is not None else None)
        self._caches: list[ResponseCaches] = []

    def response_caches(self, runtime: Runtime) -> ResponseCaches:
        """Return the response caches of a configuration: those of the previous one, if their settings are the same.

        :raises ConfigError: with every mistake of ``[cache]``.
        """
        settings = CacheSettings.read(runtime)
        if not self._caches or self._caches[-1].settings != settings:
            self._caches.append(ResponseCaches(runtime, settings))  # calls under way may use the previous ones
        return self._caches[-1]

    def find_store(self) -> GatewayStore | None:
        """Return the store of keys and accounts; ``None`` while there is none."""
        if self._store is None and self._path is not None and (self._is_needed or self._path.exists()):
            self._store = self._opened = open_store(f"sqlite:{self._path}")
        return self._store

    def open_store(self) -> GatewayStore:
        """Return the store; it is created where none is configured and none exists."""
        self._is_needed = True
        store = self.find_store()
        assert store is not None
        return store

    async def aclose(self) -> None:
        """Close what was opened."""
        await self.documents.aclose()
        for caches in self._caches:
            await caches.aclose()
        for keys in self.key_sets.values():
            await keys.aclose()
        if self._opened is not None:
            await self._opened.aclose()
