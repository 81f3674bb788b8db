"""The store in memory, for one process."""

from __future__ import annotations

import collections
import time
from collections.abc import Mapping, Sequence

from helmdeck_gateway.stores import accounts
from helmdeck_gateway.stores.accounts import Account
from helmdeck_gateway.stores.memory_rows import MemoryRows
from helmdeck_gateway.stores.records import (
    MAX_TEAMS,
    Admission,
    AuditRecord,
    KeyRecord,
    Node,
    Open,
    Period,
    Refusal,
    TeamRecord,
    Usage,
)
from helmdeck_gateway.stores.store import MAX_DOCUMENTS, checked, document_id

MAX_BYTES = 256_000_000
"""Bytes of all documents of a kind; the oldest ones are removed first."""


class MemoryStore(MemoryRows):
    """The state of a gateway in memory; it is lost when the process ends."""

    def __init__(self, *, max_documents: int = MAX_DOCUMENTS, max_bytes: int = MAX_BYTES) -> None:
        super().__init__()
        self._max_documents = max_documents
        self._max_bytes = max_bytes
        self._kinds: dict[str, _Kind] = collections.defaultdict(_Kind)
        self._keys: dict[str, KeyRecord] = {}
        self._names: dict[str, str] = {}  # of keys, by their digests
        self._teams: dict[str, TeamRecord] = {}
        self._audit: list[AuditRecord] = []
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

    async def save_key(self, record: KeyRecord, entry: AuditRecord | None = None) -> bool:
        """Implement ``KeyStore.save_key``."""
        stored = self._keys.get(record.name)
        if not self._follows(stored, record, entry):
            return False
        for digest in (stored.digest, stored.old_digest) if stored is not None else ():
            self._names.pop(digest, None)
        self._keys[record.name] = record
        self._names |= {digest: record.name for digest in (record.digest, record.old_digest) if digest}
        return True

    async def find_key(self, digest: str) -> KeyRecord | None:
        """Implement ``KeyStore.find_key``."""
        name = self._names.get(digest)
        return self._keys[name] if name is not None else None

    async def list_keys(self) -> Sequence[KeyRecord]:
        """Implement ``KeyStore.list_keys``."""
        return [self._keys[name] for name in sorted(self._keys)]

    async def save_team(self, record: TeamRecord, entry: AuditRecord | None = None) -> bool:
        """Implement ``TeamStore.save_team``."""
        if not self._follows(self._teams.get(record.name), record, entry):
            return False
        self._teams[record.name] = record
        return True

    async def find_teams(self, name: str) -> Sequence[TeamRecord]:
        """Implement ``TeamStore.find_teams``."""
        found: list[TeamRecord] = []
        while len(found) < MAX_TEAMS and (record := self._teams.get(name)) is not None:
            found.append(record)
            name = record.parent
        return found

    async def list_teams(self) -> Sequence[TeamRecord]:
        """Implement ``TeamStore.list_teams``."""
        return [self._teams[name] for name in sorted(self._teams)]

    async def add_audit(self, entry: AuditRecord) -> bool:
        """Implement ``AuditStore.add_audit``."""
        if entry.number != len(self._audit) + 1:
            return False
        self._audit.append(entry)
        return True

    async def list_audit(self, limit: int, before: int | None = None) -> Sequence[AuditRecord]:
        """Implement ``AuditStore.list_audit``."""
        end = len(self._audit) if before is None else max(0, min(before - 1, len(self._audit)))
        return self._audit[max(0, end - limit) : end][::-1]

    def _follows(
        self, stored: KeyRecord | TeamRecord | None, record: KeyRecord | TeamRecord, entry: AuditRecord | None
    ) -> bool:
        """Whether a record may replace the stored one; its entry is then added to the audit log."""
        if (stored.version if stored is not None else 0) != record.version - 1:
            return False
        if entry is not None:
            if entry.number != len(self._audit) + 1:
                return False
            self._audit.append(entry)
        return True

    async def admit(
        self, nodes: Sequence[Node], call: Open, lease_s: float, *, now_s: float | None = None
    ) -> Admission | Refusal:
        """Implement ``AccountStore.admit``."""
        return accounts.admit(self._accounts, nodes, call, lease_s, now_s)

    async def renew(
        self, accounts: Sequence[str], calls: Sequence[Open], lease_s: float, *, now_s: float | None = None
    ) -> None:
        """Implement ``AccountStore.renew``."""
        for account in accounts:
            for call in calls:
                self._accounts[account].renew(call, lease_s, now_s)

    async def settle(
        self, accounts: Sequence[str], call_id: str, cost_nusd: int, tokens: int = 0, *, unpriced: bool = False
    ) -> bool:
        """Implement ``AccountStore.settle``."""
        found = [self._accounts[each].settle(call_id, cost_nusd, tokens, unpriced=unpriced) for each in accounts]
        return any(found)

    async def usage(self, account: str, *, now_s: float | None = None) -> Usage:
        """Implement ``AccountStore.usage``."""
        return self._accounts[account].usage(now_s)

    async def usages(self, accounts: Sequence[str], *, now_s: float | None = None) -> Sequence[Usage]:
        """Implement ``AccountStore.usages``."""
        return [self._accounts[each].usage(now_s) for each in accounts]

    async def spend(
        self, accounts: Sequence[str], periods: Sequence[str], *, now_s: float | None = None
    ) -> Mapping[str, Period]:
        """Implement ``AccountStore.spend``."""
        found = {each: self._accounts[each].spend(periods, now_s) for each in accounts if each in self._accounts}
        return {name: period for name, period in found.items() if period is not None}

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
