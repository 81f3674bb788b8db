"""The store in memory, for one process."""

from __future__ import annotations

import collections
import time
from collections.abc import Sequence

from helmdeck_gateway.stores.accounts import Account
from helmdeck_gateway.stores.records import Admission, KeyRecord, Limits, Open, Refusal, Usage
from helmdeck_gateway.stores.store import MAX_DOCUMENTS, checked, document_id

MAX_BYTES = 256_000_000
"""Bytes of all documents of a kind; the oldest ones are removed first."""


class MemoryStore:
    """The state of a gateway in memory; it is lost when the process ends."""

    def __init__(self, *, max_documents: int = MAX_DOCUMENTS, max_bytes: int = MAX_BYTES) -> None:
        self._max_documents = max_documents
        self._max_bytes = max_bytes
        self._kinds: dict[str, _Kind] = collections.defaultdict(_Kind)
        self._keys: dict[str, KeyRecord] = {}
        self._accounts: dict[str, Account] = collections.defaultdict(Account)

    async def put(self, kind: str, key: str, owner: str, data: bytes, ttl_s: float) -> None:
        """Implement ``DocumentStore.put``."""
        documents = self._kinds[kind]
        documents.add(document_id(kind, key, owner), checked(data), time.monotonic() + ttl_s)
        while len(documents.rows) > self._max_documents or documents.size > self._max_bytes:
            documents.remove(next(iter(documents.rows)))

    async def get(self, kind: str, key: str, owner: str) -> bytes | None:
        """Implement ``DocumentStore.get``."""
        return self._kinds[kind].find(document_id(kind, key, owner)) if kind in self._kinds else None

    async def delete(self, kind: str, key: str, owner: str) -> bool:
        """Implement ``DocumentStore.delete``."""
        name = document_id(kind, key, owner)
        if await self.get(kind, key, owner) is None:
            return False
        self._kinds[kind].remove(name)
        return True

    async def save_key(self, record: KeyRecord) -> bool:
        """Implement ``KeyStore.save_key``."""
        stored = self._keys.get(record.name)
        if (stored.version if stored is not None else 0) != record.version - 1:
            return False
        self._keys[record.name] = record
        return True

    async def find_key(self, digest: str) -> KeyRecord | None:
        """Implement ``KeyStore.find_key``."""
        return next((record for record in self._keys.values() if record.digest == digest), None)

    async def list_keys(self) -> Sequence[KeyRecord]:
        """Implement ``KeyStore.list_keys``."""
        return [self._keys[name] for name in sorted(self._keys)]

    async def admit(
        self, account: str, call_id: str, limits: Limits, held_nusd: int, lease_s: float, *, now_s: float | None = None
    ) -> Admission | Refusal:
        """Implement ``AccountStore.admit``."""
        return self._accounts[account].admit(call_id, limits, held_nusd, lease_s, now_s)

    async def renew(self, account: str, calls: Sequence[Open], lease_s: float, *, now_s: float | None = None) -> None:
        """Implement ``AccountStore.renew``."""
        for call in calls:
            self._accounts[account].renew(call, lease_s, now_s)

    async def settle(self, account: str, call_id: str, cost_nusd: int, *, unpriced: bool = False) -> bool:
        """Implement ``AccountStore.settle``."""
        return self._accounts[account].settle(call_id, cost_nusd, unpriced=unpriced)

    async def usage(self, account: str, *, now_s: float | None = None) -> Usage:
        """Implement ``AccountStore.usage``."""
        return self._accounts[account].usage(now_s)

    async def aclose(self) -> None:
        """Forget the documents."""
        self._kinds.clear()


class _Kind:
    """The documents of a kind, the oldest first."""

    def __init__(self) -> None:
        self.rows: collections.OrderedDict[str, tuple[bytes, float]] = collections.OrderedDict()
        self.size = 0

    def add(self, name: str, data: bytes, expires_s: float) -> None:
        self.remove(name)
        self.rows[name] = (data, expires_s)
        self.size += len(data)

    def find(self, name: str) -> bytes | None:
        row = self.rows.get(name)
        if row is not None and row[1] <= time.monotonic():
            self.remove(name)
            return None
        return row[0] if row is not None else None

    def remove(self, name: str) -> None:
        if (row := self.rows.pop(name, None)) is not None:
            self.size -= len(row[0])
