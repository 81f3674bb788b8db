"""Answers in a SQLite file, shared by the processes of one host."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

from helmdeck_cache.stores.store import tenant_id
from helmdeck_storage import GroupCommit, PurgeSchedule, Schema, Session, SqliteDatabase

P = ParamSpec("P")
T = TypeVar("T")

TOUCH_S: Final = 60.0
"""Seconds within which a further use of an answer is not recorded, so that most hits only read."""

SCHEMA: Final = Schema(
    name="cache",
    version=1,
    tables=(
        """CREATE TABLE cache_answers (
        tenant TEXT NOT NULL, key TEXT NOT NULL, used REAL NOT NULL, expires REAL NOT NULL, data BLOB NOT NULL,
        PRIMARY KEY (tenant, key)) WITHOUT ROWID""",
        "CREATE INDEX cache_answers_by_use ON cache_answers (used, length(data))",
    ),
)

_SURPLUS: Final = """
DELETE FROM cache_answers WHERE (tenant, key) IN (
SELECT tenant, key FROM (
SELECT tenant, key, sum(length(data)) OVER (ORDER BY used DESC, tenant, key) AS size FROM cache_answers)
WHERE size > ?)"""


class SqliteStore:
    """Answers in a SQLite file, which only its owner can read.

    :param path: missing folders are created.
    :param max_bytes: bytes of all answers; the file may be larger by those of ``PURGE_EVERY`` writes.
    """

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._commits = GroupCommit(SqliteDatabase(path, SCHEMA), "helmdeck-cache-store")
        self._max_bytes = max_bytes
        self._purges = PurgeSchedule()

    async def get(self, tenant: str, key: str) -> bytes | None:
        """Implement ``CacheStore.get``."""
        return await self._run(_get, tenant_id(tenant), key)

    async def put(self, tenant: str, key: str, data: bytes, ttl_s: float) -> None:
        """Implement ``CacheStore.put``."""
        await self._run(self._put, tenant_id(tenant), key, data, ttl_s)

    async def clear(self, tenant: str | None = None) -> int:
        """Implement ``CacheStore.clear``."""
        return await self._run(_clear, None if tenant is None else tenant_id(tenant))

    async def stats(self) -> Mapping[str, int]:
        """Implement ``CacheStore.stats``."""
        return await self._run(_stats)

    async def aclose(self) -> None:
        """Close the file; a later use opens it again."""
        await asyncio.to_thread(self._commits.close)

    async def _run(self, action: Callable[Concatenate[Session, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.wrap_future(self._commits.submit(lambda session: action(session, *args, **kwargs)))

    def _put(self, session: Session, tenant: str, key: str, data: bytes, ttl_s: float) -> None:
        now = time.time()
        session.change(
            "INSERT OR REPLACE INTO cache_answers VALUES (?, ?, ?, ?, ?)", (tenant, key, now, now + ttl_s, data)
        )
        if self._purges.is_due():
            session.change("DELETE FROM cache_answers WHERE expires <= ?", (now,))
            session.change(_SURPLUS, (self._max_bytes,))


def _get(session: Session, tenant: str, key: str) -> bytes | None:
    now = time.time()
    statement = "SELECT data, used FROM cache_answers WHERE tenant = ? AND key = ? AND expires > ?"
    row = session.row(statement, (tenant, key, now))
    if row is None:
        return None
    if row[1] < now - TOUCH_S:
        session.change("UPDATE cache_answers SET used = ? WHERE tenant = ? AND key = ?", (now, tenant, key))
    return bytes(row[0])


def _clear(session: Session, tenant: str | None) -> int:
    if tenant is None:
        return session.change("DELETE FROM cache_answers")
    return session.change("DELETE FROM cache_answers WHERE tenant = ?", (tenant,))


def _stats(session: Session) -> Mapping[str, int]:
    statement = (
        "SELECT count(*), coalesce(sum(length(data)), 0), count(DISTINCT tenant) FROM cache_answers WHERE expires > ?"
    )
    row = session.row(statement, (time.time(),))
    return dict(zip(("answers", "bytes", "tenants"), row or (0, 0, 0), strict=True))
