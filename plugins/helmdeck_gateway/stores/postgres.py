"""The PostgreSQL store: one database, shared by any number of hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_gateway.stores import postgres_accounts as accounts
from helmdeck_gateway.stores.records import Admission, KeyRecord, Limits, Open, Period, Refusal, Usage
from helmdeck_gateway.stores.store import MAX_DOCUMENTS, MAX_KIND_BYTES, checked, document_id
from helmdeck_storage import AsyncPostgresDatabase, PurgeSchedule, Schema

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

SCHEMA: Final = Schema(
    name="gateway",
    version=1,
    tables=(
        """CREATE TABLE gateway_documents (
            id TEXT PRIMARY KEY, kind TEXT NOT NULL, stored DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION NOT NULL,
            data BYTEA NOT NULL)""",
        "CREATE INDEX gateway_documents_by_age ON gateway_documents (kind, stored)",
        *accounts.TABLES,
    ),
)


class PostgresStore:
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

    async def save_key(self, record: KeyRecord) -> bool:
        """Implement ``KeyStore.save_key``."""
        values = (record.digest, record.version, record.to_json(), record.name)
        if record.version > 1:
            rows = await self._database.rows(accounts.UPDATE_KEY, (*values, record.version - 1))
        else:
            rows = await self._database.rows(accounts.INSERT_KEY, values)
        return bool(rows)

    async def find_key(self, digest: str) -> KeyRecord | None:
        """Implement ``KeyStore.find_key``."""
        rows = await self._database.rows(accounts.FIND_KEY, (digest,))
        return KeyRecord.from_json(rows[0][0]) if rows else None

    async def list_keys(self) -> Sequence[KeyRecord]:
        """Implement ``KeyStore.list_keys``."""
        return [KeyRecord.from_json(text) for (text,) in await self._database.rows(accounts.LIST_KEYS)]

    async def admit(
        self, account: str, call_id: str, limits: Limits, held_nusd: int, lease_s: float, *, now_s: float | None = None
    ) -> Admission | Refusal:
        """Implement ``AccountStore.admit``."""
        amounts = (limits.concurrency, limits.day_nusd, limits.month_nusd)
        parameters = (account, call_id, now_s, lease_s, held_nusd, limits.rate, limits.window_s, *amounts)
        ((limit, retry_after_s, spent, held),) = await self._database.rows(accounts.ADMIT, parameters)
        if not limit:
            return Admission()
        return Refusal(limit=limit, retry_after_s=retry_after_s, spent_nusd=spent, held_nusd=held)

    async def renew(self, account: str, calls: Sequence[Open], lease_s: float, *, now_s: float | None = None) -> None:
        """Implement ``AccountStore.renew``."""
        ids, held = [call.call_id for call in calls], [call.held_nusd for call in calls]
        await self._database.rows(accounts.RENEW, (account, ids, held, lease_s, now_s))

    async def settle(self, account: str, call_id: str, cost_nusd: int, *, unpriced: bool = False) -> bool:
        """Implement ``AccountStore.settle``."""
        rows = await self._database.rows(accounts.SETTLE, (account, call_id, cost_nusd, int(unpriced)))
        return bool(rows[0][0])

    async def usage(self, account: str, *, now_s: float | None = None) -> Usage:
        """Implement ``AccountStore.usage``."""
        day, month = await self._database.rows(accounts.USAGE, (account, now_s))
        return Usage(day=_period(day), month=_period(month), under_way=day[0])

    async def aclose(self) -> None:
        """Close all connections; a later use opens them again."""
        await self._database.aclose()


def _period(row: Sequence[int]) -> Period:
    _, spent, held, requests, refused, unpriced = row
    return Period(spent_nusd=spent, held_nusd=held, requests=requests, refused=refused, unpriced=unpriced)
