"""The PostgreSQL store: one database, shared by any number of hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from helmdeck_gateway.stores import postgres_accounts as accounts
from helmdeck_gateway.stores import postgres_keys as keys
from helmdeck_gateway.stores import postgres_rows
from helmdeck_gateway.stores.postgres_accounts import LOST, RENEW, SPEND, USAGES, settlement
from helmdeck_gateway.stores.postgres_rows import PostgresRows
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
from helmdeck_gateway.stores.store import MAX_DOCUMENTS, MAX_KIND_BYTES, checked, document_id
from helmdeck_storage import AsyncPostgresDatabase, PurgeSchedule, Schema, Session

_PUT: Final = """
INSERT INTO gateway_documents (id, kind, stored, expires, data)
VALUES (?, ?, extract(epoch FROM clock_timestamp()), extract(epoch FROM clock_timestamp()) + ?, ?)
ON CONFLICT (id) DO UPDATE SET stored = excluded.stored, expires = excluded.expires, data = excluded.data"""
_GET: Final = "SELECT data FROM gateway_documents WHERE id = ? AND expires > extract(epoch FROM clock_timestamp())"
_DELETE: Final = """
DELETE FROM gateway_documents WHERE id = ? AND expires > extract(epoch FROM clock_timestamp()) RETURNING 1"""
_PRUNE: Final = """
DELETE FROM gateway_documents WHERE kind = ? AND (expires <= extract(epoch FROM clock_timestamp()) OR id IN (
SELECT id FROM (
SELECT id, row_number() OVER newest AS number, sum(octet_length(data)) OVER newest AS size FROM gateway_documents WHERE kind = ?
WINDOW newest AS (ORDER BY stored DESC, id)) AS documents
WHERE number > ? OR (size > ? AND number > 1)))"""


def _upgrade(session: Session) -> None:
    keys.upgrade(session)
    accounts.upgrade(session)


SCHEMA: Final = Schema(
    name="gateway",
    version=3,
    tables=(
        """CREATE TABLE gateway_documents (
            id TEXT PRIMARY KEY, kind TEXT NOT NULL, stored DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION NOT NULL,
            data BYTEA NOT NULL)""",
        "CREATE INDEX gateway_documents_by_age ON gateway_documents (kind, stored)",
        *keys.TABLES,
        *accounts.TABLES,
        *postgres_rows.TABLES,
    ),
    upgrades={1: _upgrade, 2: postgres_rows.upgrade},
)


class PostgresStore(PostgresRows):
    """The state of a gateway in a PostgreSQL database; all clocks are the server's.

    :param url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``.
    """

    def __init__(self, url: str, *, max_documents: int = MAX_DOCUMENTS, max_bytes: int = MAX_KIND_BYTES) -> None:
        self._database = AsyncPostgresDatabase(url, SCHEMA)
        self._max_documents = max_documents
        self._max_bytes = max_bytes
        self._purges = PurgeSchedule()

    async def put(self, kind: str, key: str, owner: str, data: bytes, ttl_s: float) -> None:
        """Implement ``DocumentStore.put``."""
        await self._database.rows(_PUT, (document_id(kind, key, owner), kind, ttl_s, checked(data)))
        if self._purges.is_due():
            await self._database.rows(_PRUNE, (kind, kind, self._max_documents, self._max_bytes))

    async def get(self, kind: str, key: str, owner: str) -> bytes | None:
        """Implement ``DocumentStore.get``."""
        rows = await self._database.rows(_GET, (document_id(kind, key, owner),))
        return bytes(rows[0][0]) if rows else None

    async def delete(self, kind: str, key: str, owner: str) -> bool:
        """Implement ``DocumentStore.delete``."""
        return bool(await self._database.rows(_DELETE, (document_id(kind, key, owner),)))

    async def save_key(self, record: KeyRecord, entry: AuditRecord | None = None) -> bool:
        """Implement ``KeyStore.save_key``."""
        values = (record.name, record.version, record.digest, record.old_digest or None, record.to_json())
        rows = await self._database.rows(keys.SAVE_KEY, (*values, *_entry(entry)))
        return bool(rows[0][0])

    async def find_key(self, digest: str) -> KeyRecord | None:
        """Implement ``KeyStore.find_key``."""
        rows = await self._database.rows(keys.FIND_KEY, (digest, digest))
        return KeyRecord.from_json(rows[0][0]) if rows else None

    async def list_keys(self) -> Sequence[KeyRecord]:
        """Implement ``KeyStore.list_keys``."""
        return [KeyRecord.from_json(text) for (text,) in await self._database.rows(keys.LIST_KEYS)]

    async def save_team(self, record: TeamRecord, entry: AuditRecord | None = None) -> bool:
        """Implement ``TeamStore.save_team``."""
        values = (record.name, record.version, record.parent, record.to_json())
        rows = await self._database.rows(keys.SAVE_TEAM, (*values, *_entry(entry)))
        return bool(rows[0][0])

    async def find_teams(self, name: str) -> Sequence[TeamRecord]:
        """Implement ``TeamStore.find_teams``."""
        rows = await self._database.rows(keys.FIND_TEAMS, (name, MAX_TEAMS))
        return [TeamRecord.from_json(text) for (text,) in rows]

    async def list_teams(self) -> Sequence[TeamRecord]:
        """Implement ``TeamStore.list_teams``."""
        return [TeamRecord.from_json(text) for (text,) in await self._database.rows(keys.LIST_TEAMS)]

    async def add_audit(self, entry: AuditRecord) -> bool:
        """Implement ``AuditStore.add_audit``."""
        return bool((await self._database.rows(keys.ADD_AUDIT, _entry(entry)))[0][0])

    async def list_audit(self, limit: int, before: int | None = None) -> Sequence[AuditRecord]:
        """Implement ``AuditStore.list_audit``."""
        rows = await self._database.rows(keys.LIST_AUDIT, (before, limit))
        return [AuditRecord.from_json(text) for (text,) in rows]

    async def admit(
        self, nodes: Sequence[Node], call: Open, lease_s: float, *, now_s: float | None = None
    ) -> Admission | Refusal:
        """Implement ``AccountStore.admit``."""
        statement, parameters = accounts.admission(nodes, call, lease_s, now_s)
        ((limit, place, retry_after_s, spent, held, left),) = await self._database.rows(statement, parameters)
        if not limit:
            return Admission(left)
        return Refusal(limit=limit, place=place, retry_after_s=retry_after_s, spent_nusd=spent, held_nusd=held)

    async def renew(
        self, accounts: Sequence[str], calls: Sequence[Open], lease_s: float, *, now_s: float | None = None
    ) -> None:
        """Implement ``AccountStore.renew``."""
        ids = [call.call_id for call in calls]
        held, tokens = [call.held_nusd for call in calls], [call.held_tokens for call in calls]
        await self._database.rows(RENEW, (list(accounts), ids, held, tokens, lease_s, now_s))

    async def settle(
        self, accounts: Sequence[str], call_id: str, cost_nusd: int, tokens: int = 0, *, unpriced: bool = False
    ) -> bool:
        """Implement ``AccountStore.settle``."""
        statement, parameters = settlement(accounts, call_id, cost_nusd, tokens, unpriced=unpriced)
        rows = await self._database.rows(statement, parameters)
        return bool(rows[0][0])

    async def usage(self, account: str, *, now_s: float | None = None) -> Usage:
        """Implement ``AccountStore.usage``."""
        day, month = await self._database.rows(accounts.USAGE, (account, now_s))
        tokens, tokens_s, clock_s = day[6:]
        return Usage(
            day=_period(day), month=_period(month), under_way=day[0], tokens=tokens, tokens_s=tokens_s, now_s=clock_s
        )

    async def usages(self, accounts: Sequence[str], *, now_s: float | None = None) -> Sequence[Usage]:
        """Implement ``AccountStore.usages``."""
        await self._count_lost(accounts, now_s)
        rows = await self._database.rows(USAGES, (now_s, list(accounts)))
        return [
            Usage(
                day=_period(row),
                month=_period(row[5:]),
                under_way=row[0],
                tokens=row[11],
                tokens_s=row[12],
                now_s=row[13],
            )
            for row in rows
        ]

    async def spend(
        self, accounts: Sequence[str], periods: Sequence[str], *, now_s: float | None = None
    ) -> Mapping[str, Period]:
        """Implement ``AccountStore.spend``."""
        await self._count_lost(accounts, now_s)
        rows = await self._database.rows(SPEND, (list(accounts), list(periods)))
        return {row[0]: _period(row) for row in rows}

    async def _count_lost(self, accounts: Sequence[str], now_s: float | None) -> None:
        """Count what calls hold whose leases have ended as spent; accounts without such calls are not locked."""
        for (account,) in await self._database.rows(LOST, (list(accounts), now_s)):
            await self.usage(account, now_s=now_s)

    async def aclose(self) -> None:
        """Close all connections; a later use opens them again."""
        await self._database.aclose()


def _period(row: Sequence[int]) -> Period:
    spent, held, requests, refused, unpriced = row[1:6]
    return Period(spent_nusd=spent, held_nusd=held, requests=requests, refused=refused, unpriced=unpriced)


def _entry(entry: AuditRecord | None) -> tuple[int | None, str | None]:
    return (None, None) if entry is None else (entry.number, entry.to_json())
