"""The SQLite store: one file, shared by the processes of one host."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

from helmdeck_gateway.stores import sqlite_accounts
from helmdeck_gateway.stores import sqlite_keys as keys
from helmdeck_gateway.stores import sqlite_rows as row_steps
from helmdeck_gateway.stores.records import (
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
from helmdeck_gateway.stores.rows import Row
from helmdeck_gateway.stores.store import MAX_DOCUMENTS, MAX_KIND_BYTES, checked, document_id
from helmdeck_storage import GroupCommit, PurgeSchedule, Schema, Session, SqliteDatabase

P = ParamSpec("P")
T = TypeVar("T")

BUSY_TIMEOUT_S: Final = 10.0
"""Seconds to wait for another process that writes."""


def _upgrade(session: Session) -> None:
    keys.upgrade(session)
    sqlite_accounts.upgrade(session)


SCHEMA: Final = Schema(
    name="gateway",
    version=3,
    tables=(
        """CREATE TABLE gateway_documents (
        id TEXT PRIMARY KEY, kind TEXT NOT NULL, stored REAL NOT NULL, expires REAL NOT NULL, data BLOB NOT NULL)""",
        "CREATE INDEX gateway_documents_by_age ON gateway_documents (kind, stored)",
        *keys.TABLES,
        *sqlite_accounts.TABLES,
        *row_steps.TABLES,
    ),
    upgrades={1: _upgrade, 2: row_steps.upgrade},
)

_SURPLUS: Final = """
DELETE FROM gateway_documents WHERE id IN (
SELECT id FROM (
SELECT id, row_number() OVER newest AS number, sum(length(data)) OVER newest AS size FROM gateway_documents WHERE kind = ?
WINDOW newest AS (ORDER BY stored DESC, id))
WHERE number > ? OR (size > ? AND number > 1))"""


class SqliteStore:
    """The state of a gateway in a SQLite file, which only its owner can read.

    One thread of the process uses the file, so that the event loop never waits for it, and requests of the same time share a
    transaction.

    :param path: missing folders are created.
    """

    def __init__(self, path: Path, *, max_documents: int = MAX_DOCUMENTS, max_bytes: int = MAX_KIND_BYTES) -> None:
        database = SqliteDatabase(path, SCHEMA, busy_timeout_s=BUSY_TIMEOUT_S)
        self._commits = GroupCommit(database, "helmdeck-gateway-store")
        self._max_documents = max_documents
        self._max_bytes = max_bytes
        self._purges = PurgeSchedule()

    async def put(self, kind: str, key: str, owner: str, data: bytes, ttl_s: float) -> None:
        """Implement ``DocumentStore.put``."""
        await self._run(self._put, kind, document_id(kind, key, owner), checked(data), ttl_s)

    async def get(self, kind: str, key: str, owner: str) -> bytes | None:
        """Implement ``DocumentStore.get``."""
        return await self._run(self._get, document_id(kind, key, owner))

    async def delete(self, kind: str, key: str, owner: str) -> bool:
        """Implement ``DocumentStore.delete``."""
        return await self._run(self._delete, document_id(kind, key, owner))

    async def save_key(self, record: KeyRecord, entry: AuditRecord | None = None) -> bool:
        """Implement ``KeyStore.save_key``."""
        return await self._run(keys.save_key, record, entry)

    async def find_key(self, digest: str) -> KeyRecord | None:
        """Implement ``KeyStore.find_key``."""
        return await self._run(keys.find_key, digest)

    async def list_keys(self) -> Sequence[KeyRecord]:
        """Implement ``KeyStore.list_keys``."""
        return await self._run(keys.list_keys)

    async def save_team(self, record: TeamRecord, entry: AuditRecord | None = None) -> bool:
        """Implement ``TeamStore.save_team``."""
        return await self._run(keys.save_team, record, entry)

    async def find_teams(self, name: str) -> Sequence[TeamRecord]:
        """Implement ``TeamStore.find_teams``."""
        return await self._run(keys.find_teams, name)

    async def list_teams(self) -> Sequence[TeamRecord]:
        """Implement ``TeamStore.list_teams``."""
        return await self._run(keys.list_teams)

    async def add_audit(self, entry: AuditRecord) -> bool:
        """Implement ``AuditStore.add_audit``."""
        return await self._run(keys.add_audit, entry)

    async def list_audit(self, limit: int, before: int | None = None) -> Sequence[AuditRecord]:
        """Implement ``AuditStore.list_audit``."""
        return await self._run(keys.list_audit, limit, before)

    async def admit(
        self, nodes: Sequence[Node], call: Open, lease_s: float, *, now_s: float | None = None
    ) -> Admission | Refusal:
        """Implement ``AccountStore.admit``."""
        return await self._run(sqlite_accounts.admit, nodes, call, lease_s, now_s)

    async def renew(
        self, accounts: Sequence[str], calls: Sequence[Open], lease_s: float, *, now_s: float | None = None
    ) -> None:
        """Implement ``AccountStore.renew``."""
        await self._run(sqlite_accounts.renew, accounts, calls, lease_s, now_s)

    async def settle(
        self, accounts: Sequence[str], call_id: str, cost_nusd: int, tokens: int = 0, *, unpriced: bool = False
    ) -> bool:
        """Implement ``AccountStore.settle``."""
        return await self._run(sqlite_accounts.settle, accounts, call_id, cost_nusd, tokens, int(unpriced))

    async def usage(self, account: str, *, now_s: float | None = None) -> Usage:
        """Implement ``AccountStore.usage``."""
        return await self._run(sqlite_accounts.usage, account, now_s)

    async def usages(self, accounts: Sequence[str], *, now_s: float | None = None) -> Sequence[Usage]:
        """Implement ``AccountStore.usages``."""
        return await self._run(sqlite_accounts.usages, accounts, now_s)

    async def spend(
        self, accounts: Sequence[str], periods: Sequence[str], *, now_s: float | None = None
    ) -> Mapping[str, Period]:
        """Implement ``AccountStore.spend``."""
        return await self._run(sqlite_accounts.spend, accounts, periods, now_s)

    async def put_rows(
        self, group: str, rows: Mapping[str, bytes], ttl_s: float, *, keeps_earlier: bool = False
    ) -> None:
        """Implement ``RowStore.put_rows``."""
        await self._run(row_steps.put_rows, group, rows, ttl_s, keeps_earlier)

    async def replace_row(self, group: str, name: str, old: bytes, new: bytes) -> bool:
        """Implement ``RowStore.replace_row``."""
        return await self._run(row_steps.replace_row, group, name, old, new)

    async def get_row(self, group: str, name: str) -> Row | None:
        """Implement ``RowStore.get_row``."""
        return await self._run(row_steps.get_row, group, name)

    async def list_rows(self, group: str, *, after: str = "", limit: int = 100, newest: bool = False) -> Sequence[Row]:
        """Implement ``RowStore.list_rows``."""
        return await self._run(row_steps.list_rows, group, after=after, limit=limit, newest=newest)

    async def delete_rows(self, group: str, name: str | None = None) -> bool:
        """Implement ``RowStore.delete_rows``."""
        return await self._run(row_steps.delete_rows, group, name)

    async def claim_rows(self, group: str, holder: str, limit: int, lease_s: float) -> Sequence[Row]:
        """Implement ``RowStore.claim_rows``."""
        return await self._run(row_steps.claim_rows, group, holder, limit, lease_s)

    async def lease_rows(self, group: str, names: Sequence[str], holder: str, lease_s: float) -> None:
        """Implement ``RowStore.lease_rows``."""
        await self._run(row_steps.lease_rows, group, names, holder, lease_s)

    async def finish_row(self, group: str, name: str, state: int, data: bytes) -> bool:
        """Implement ``RowStore.finish_row``."""
        return await self._run(row_steps.finish_row, group, name, state, data)

    async def count_rows(self, group: str) -> Mapping[int, int]:
        """Implement ``RowStore.count_rows``."""
        return await self._run(row_steps.count_rows, group)

    async def aclose(self) -> None:
        """Close the file; a later use opens it again."""
        await asyncio.to_thread(self._commits.close)

    async def _run(self, action: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run an action within a transaction; return its result when its changes are committed."""
        return await self._commits.run(lambda session: action(session, *args, **kwargs))

    # -- within a transaction -----------------------------------------------------------------------------------------

    def _put(self, session: Session, kind: str, name: str, data: bytes, ttl_s: float) -> None:
        now = time.time()
        statement = "INSERT OR REPLACE INTO gateway_documents (id, kind, stored, expires, data) VALUES (?, ?, ?, ?, ?)"
        session.change(statement, (name, kind, now, now + ttl_s, data))
        if self._purges.is_due():
            session.change("DELETE FROM gateway_documents WHERE kind = ? AND expires <= ?", (kind, now))
            session.change(_SURPLUS, (kind, self._max_documents, self._max_bytes))

    def _get(self, session: Session, name: str) -> bytes | None:
        statement = "SELECT data FROM gateway_documents WHERE id = ? AND expires > ?"
        row = session.row(statement, (name, time.time()))
        return row[0] if row is not None else None

    def _delete(self, session: Session, name: str) -> bool:
        statement = "DELETE FROM gateway_documents WHERE id = ? AND expires > ?"
        return session.change(statement, (name, time.time())) > 0
