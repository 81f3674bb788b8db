"""Rows in PostgreSQL. Each step is one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from helmdeck_gateway.stores.rows import Row
from helmdeck_storage import AsyncPostgresDatabase, Session

TABLES: Final = (
    """CREATE TABLE gateway_rows (
        grp TEXT NOT NULL, name TEXT COLLATE "C" NOT NULL, state INTEGER NOT NULL DEFAULT 0,
        leased DOUBLE PRECISION NOT NULL DEFAULT 0, holder TEXT NOT NULL DEFAULT '', expires DOUBLE PRECISION NOT NULL,
        data BYTEA NOT NULL, PRIMARY KEY (grp, name))""",
    "CREATE INDEX gateway_rows_by_state ON gateway_rows (grp, state, name)",
    "CREATE INDEX gateway_rows_by_expiry ON gateway_rows (expires)",
)

_PURGE: Final = "DELETE FROM gateway_rows WHERE expires <= extract(epoch FROM clock_timestamp())"
_PUT: Final = """
INSERT INTO gateway_rows (grp, name, expires, data)
SELECT ?, name, extract(epoch FROM clock_timestamp()) + ?, data FROM unnest(?::text[], ?::bytea[]) AS row (name, data)
ON CONFLICT (grp, name) """
_OVER: Final = "DO UPDATE SET state = 0, leased = 0, holder = '', expires = excluded.expires, data = excluded.data"
_REPLACE: Final = """
UPDATE gateway_rows SET data = ? WHERE grp = ? AND name = ? AND data = ? AND expires > extract(epoch FROM clock_timestamp()) RETURNING 1"""
_GET: Final = """
SELECT name, data, state FROM gateway_rows WHERE grp = ? AND name = ? AND expires > extract(epoch FROM clock_timestamp())"""
_LIST: Final = """
SELECT name, data, state FROM gateway_rows
WHERE grp = ? AND (?::text = '' OR name > ?) AND expires > extract(epoch FROM clock_timestamp())
ORDER BY name LIMIT ?"""
_LIST_NEWEST: Final = """
SELECT name, data, state FROM gateway_rows
WHERE grp = ? AND (?::text = '' OR name < ?) AND expires > extract(epoch FROM clock_timestamp())
ORDER BY name DESC LIMIT ?"""
_DELETE: Final = "DELETE FROM gateway_rows WHERE grp = ? AND name = coalesce(?::text, name) RETURNING 1"
_CLAIM: Final = """
UPDATE gateway_rows SET leased = extract(epoch FROM clock_timestamp()) + ?, holder = ? WHERE grp = ? AND name IN (
SELECT name FROM gateway_rows WHERE grp = ? AND state = 0 AND leased <= extract(epoch FROM clock_timestamp())
AND expires > extract(epoch FROM clock_timestamp())
ORDER BY name LIMIT ? FOR UPDATE SKIP LOCKED)
RETURNING name, data"""
_LEASE: Final = """
UPDATE gateway_rows SET leased = extract(epoch FROM clock_timestamp()) + ?
WHERE grp = ? AND name = ANY(?::text[]) AND holder = ? AND state = 0"""
_FINISH: Final = "UPDATE gateway_rows SET state = ?, data = ? WHERE grp = ? AND name = ? AND state = 0 RETURNING 1"
_COUNT: Final = """
SELECT state, count(*) FROM gateway_rows WHERE grp = ? AND expires > extract(epoch FROM clock_timestamp()) GROUP BY state"""


def upgrade(session: Session) -> None:
    """Add what version 3 has: rows."""
    for statement in TABLES:
        session.change(statement)


class PostgresRows:
    """Implements ``RowStore`` over the database of a store."""

    _database: AsyncPostgresDatabase

    async def put_rows(
        self, group: str, rows: Mapping[str, bytes], ttl_s: float, *, keeps_earlier: bool = False
    ) -> None:
        """Implement ``RowStore.put_rows``."""
        await self._database.rows(_PURGE)
        statement = _PUT + ("DO NOTHING" if keeps_earlier else _OVER)
        await self._database.rows(statement, (group, ttl_s, list(rows), list(rows.values())))

    async def replace_row(self, group: str, name: str, old: bytes, new: bytes) -> bool:
        """Implement ``RowStore.replace_row``."""
        return bool(await self._database.rows(_REPLACE, (new, group, name, old)))

    async def get_row(self, group: str, name: str) -> Row | None:
        """Implement ``RowStore.get_row``."""
        rows = await self._database.rows(_GET, (group, name))
        return Row(rows[0][0], bytes(rows[0][1]), rows[0][2]) if rows else None

    async def list_rows(self, group: str, *, after: str = "", limit: int = 100, newest: bool = False) -> Sequence[Row]:
        """Implement ``RowStore.list_rows``."""
        rows = await self._database.rows(_LIST_NEWEST if newest else _LIST, (group, after, after, limit))
        return [Row(name, bytes(data), state) for name, data, state in rows]

    async def delete_rows(self, group: str, name: str | None = None) -> bool:
        """Implement ``RowStore.delete_rows``."""
        return bool(await self._database.rows(_DELETE, (group, name)))

    async def claim_rows(self, group: str, holder: str, limit: int, lease_s: float) -> Sequence[Row]:
        """Implement ``RowStore.claim_rows``."""
        rows = await self._database.rows(_CLAIM, (lease_s, holder, group, group, limit))
        return sorted((Row(name, bytes(data)) for name, data in rows), key=lambda row: row.name)

    async def lease_rows(self, group: str, names: Sequence[str], holder: str, lease_s: float) -> None:
        """Implement ``RowStore.lease_rows``."""
        await self._database.rows(_LEASE, (lease_s, group, list(names), holder))

    async def finish_row(self, group: str, name: str, state: int, data: bytes) -> bool:
        """Implement ``RowStore.finish_row``."""
        return bool(await self._database.rows(_FINISH, (state, data, group, name)))

    async def count_rows(self, group: str) -> Mapping[int, int]:
        """Implement ``RowStore.count_rows``."""
        return {int(state): int(count) for state, count in await self._database.rows(_COUNT, (group,))}
