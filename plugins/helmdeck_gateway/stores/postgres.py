"""The PostgreSQL store: one database, shared by any number of hosts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final, LiteralString

import psycopg
import psycopg_pool
from psycopg.conninfo import conninfo_to_dict

from helmdeck_gateway.stores import postgres_accounts as accounts
from helmdeck_gateway.stores.records import Admission, KeyRecord, Limits, Open, Period, Refusal, Usage
from helmdeck_gateway.stores.store import MAX_DOCUMENTS, StoreError, checked, document_id

TIMEOUT_S: Final = 5.0
MAX_CONNECTIONS: Final = 8
PRUNE_EVERY: Final = 50
"""Documents that a process stores between two removals of expired and surplus ones."""

VERSION: Final = 1
_LOCK: Final = 4_935_067_226
"""The advisory lock that is held while the tables are created."""

_PUT: Final = """
INSERT INTO gateway_documents (id, kind, stored, expires, data)
VALUES (%s, %s, extract(epoch FROM clock_timestamp()), extract(epoch FROM clock_timestamp()) + %s, %s)
ON CONFLICT (id) DO UPDATE SET stored = excluded.stored, expires = excluded.expires, data = excluded.data"""
_GET: Final = "SELECT data FROM gateway_documents WHERE id = %s AND expires > extract(epoch FROM clock_timestamp())"
_DELETE: Final = """
DELETE FROM gateway_documents WHERE id = %s AND expires > extract(epoch FROM clock_timestamp()) RETURNING 1"""
_PRUNE: Final = """
DELETE FROM gateway_documents WHERE kind = %s AND (expires <= extract(epoch FROM clock_timestamp()) OR stored < (
SELECT stored FROM gateway_documents WHERE kind = %s ORDER BY stored DESC LIMIT 1 OFFSET %s))"""

_TABLES: Final[tuple[LiteralString, ...]] = (
    """CREATE TABLE gateway_documents (
        id TEXT PRIMARY KEY, kind TEXT NOT NULL, stored DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION NOT NULL,
        data BYTEA NOT NULL)""",
    "CREATE INDEX gateway_documents_by_age ON gateway_documents (kind, stored)",
    *accounts.TABLES,
)

# Without a handler of the application, the driver's warnings about lost connections would be printed to standard error.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class PostgresStore:
    """The state of a gateway in a PostgreSQL database; all clocks are the server's.

    :param url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``.
    """

    def __init__(self, url: str, *, max_documents: int = MAX_DOCUMENTS) -> None:
        self._url = url
        self._max_documents = max_documents
        self._pool: psycopg_pool.AsyncConnectionPool[Any] | None = None
        self._opening = asyncio.Lock()
        self._puts = 0

    async def put(self, kind: str, key: str, owner: str, data: bytes, ttl_s: float) -> None:
        """Implement ``DocumentStore.put``."""
        await self._rows(_PUT, (document_id(kind, key, owner), kind, ttl_s, checked(data)))
        self._puts += 1
        if self._puts % PRUNE_EVERY == 0:
            await self._rows(_PRUNE, (kind, kind, self._max_documents - 1))

    async def get(self, kind: str, key: str, owner: str) -> bytes | None:
        """Implement ``DocumentStore.get``."""
        rows = await self._rows(_GET, (document_id(kind, key, owner),))
        return bytes(rows[0][0]) if rows else None

    async def delete(self, kind: str, key: str, owner: str) -> bool:
        """Implement ``DocumentStore.delete``."""
        return bool(await self._rows(_DELETE, (document_id(kind, key, owner),)))

    async def save_key(self, record: KeyRecord) -> bool:
        """Implement ``KeyStore.save_key``."""
        values = (record.digest, record.version, record.to_json(), record.name)
        if record.version > 1:
            rows = await self._rows(accounts.UPDATE_KEY, (*values, record.version - 1))
        else:
            rows = await self._rows(accounts.INSERT_KEY, values)
        return bool(rows)

    async def find_key(self, digest: str) -> KeyRecord | None:
        """Implement ``KeyStore.find_key``."""
        rows = await self._rows(accounts.FIND_KEY, (digest,))
        return KeyRecord.from_json(rows[0][0]) if rows else None

    async def list_keys(self) -> Sequence[KeyRecord]:
        """Implement ``KeyStore.list_keys``."""
        return [KeyRecord.from_json(text) for (text,) in await self._rows(accounts.LIST_KEYS)]

    async def admit(
        self, account: str, call_id: str, limits: Limits, held_nusd: int, lease_s: float, *, now_s: float | None = None
    ) -> Admission | Refusal:
        """Implement ``AccountStore.admit``."""
        amounts = (limits.concurrency, limits.day_nusd, limits.month_nusd)
        parameters = (account, call_id, now_s, lease_s, held_nusd, limits.rate, limits.window_s, *amounts)
        ((limit, retry_after_s, spent, held),) = await self._rows(accounts.ADMIT, parameters)
        if not limit:
            return Admission()
        return Refusal(limit=limit, retry_after_s=retry_after_s, spent_nusd=spent, held_nusd=held)

    async def renew(self, account: str, calls: Sequence[Open], lease_s: float, *, now_s: float | None = None) -> None:
        """Implement ``AccountStore.renew``."""
        ids, held = [call.call_id for call in calls], [call.held_nusd for call in calls]
        await self._rows(accounts.RENEW, (account, ids, held, lease_s, now_s))

    async def settle(self, account: str, call_id: str, cost_nusd: int, *, unpriced: bool = False) -> bool:
        """Implement ``AccountStore.settle``."""
        rows = await self._rows(accounts.SETTLE, (account, call_id, cost_nusd, int(unpriced)))
        return bool(rows[0][0])

    async def usage(self, account: str, *, now_s: float | None = None) -> Usage:
        """Implement ``AccountStore.usage``."""
        day, month = await self._rows(accounts.USAGE, (account, now_s))
        return Usage(day=_period(day), month=_period(month), under_way=day[0])

    async def aclose(self) -> None:
        """Close all connections; a later use opens them again."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    # -- connections -------------------------------------------------------------------------------------------

    async def _rows(self, statement: LiteralString, parameters: Sequence[Any] = ()) -> Sequence[Sequence[Any]]:
        """Execute one statement, which commits by itself.

        It is repeated once after a lost connection: every statement of the store may be executed twice.
        """
        for is_last in (False, True):
            try:
                pool = self._pool or await self._opened()
                async with pool.connection() as connection:
                    cursor = await connection.execute(statement, parameters)
                    return await cursor.fetchall() if cursor.description else ()
            except (psycopg.OperationalError, psycopg.InterfaceError, OSError) as exc:
                if is_last or isinstance(exc, psycopg_pool.PoolTimeout):
                    raise StoreError(_detail(exc)) from None
            except psycopg.Error as exc:
                raise StoreError(_detail(exc)) from None
        raise AssertionError

    async def _opened(self) -> psycopg_pool.AsyncConnectionPool[Any]:
        async with self._opening:
            if self._pool is None:
                # Connected directly first: the pool would retry until its timeout and not give the reason.
                connection = await psycopg.AsyncConnection.connect(self._url, connect_timeout=int(TIMEOUT_S))
                async with connection:
                    await self._migrate(connection)
                pool = psycopg_pool.AsyncConnectionPool(
                    self._url,
                    min_size=1,
                    max_size=MAX_CONNECTIONS,
                    timeout=TIMEOUT_S,
                    reconnect_timeout=TIMEOUT_S,
                    kwargs={"connect_timeout": int(TIMEOUT_S), "autocommit": True},
                    open=False,
                    name="helmdeck-gateway",
                )
                await pool.open()
                self._pool = pool
            return self._pool

    async def _migrate(self, connection: psycopg.AsyncConnection[Any]) -> None:
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        await connection.execute("CREATE TABLE IF NOT EXISTS gateway_schema (version INTEGER NOT NULL)")
        row = await (await connection.execute("SELECT max(version) FROM gateway_schema")).fetchone()
        version = (row[0] if row is not None else None) or 0
        if version > VERSION:
            raise StoreError(
                f"the tables were created by a newer release: their schema has version {version}, and this release knows "
                f"versions up to {VERSION}; update helmdeck, or use another database"
            )
        if version == 0:
            for statement in _TABLES:
                await connection.execute(statement)
            await connection.execute("INSERT INTO gateway_schema VALUES (%s)", (VERSION,))


def is_valid_url(url: str) -> bool:
    """Return whether the driver can read a URL; its own message would repeat a part of it."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        return False
    return "@" not in str(parts.get("host"))


def _period(row: Sequence[int]) -> Period:
    _, spent, held, requests, refused, unpriced = row
    return Period(spent_nusd=spent, held_nusd=held, requests=requests, refused=refused, unpriced=unpriced)


def _detail(exc: BaseException) -> str:
    """The error without the connection string, which drivers repeat in part."""
    return f"the PostgreSQL store failed: {type(exc).__name__}: {str(exc).partition(chr(10))[0][:200]}"
