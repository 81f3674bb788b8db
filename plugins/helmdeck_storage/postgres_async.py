"""PostgreSQL for an event loop: single statements, each of which is one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

import psycopg
import psycopg.errors
import psycopg_pool

from helmdeck_storage.postgres import CONNECT_TIMEOUT_S, PostgresDatabase, postgres_failure, translated
from helmdeck_storage.schema import Schema

MAX_CONNECTIONS: Final = 8
STATEMENT_TIMEOUT_S: Final = 10.0
"""Seconds for one statement; a connection that is silent would otherwise be noticed by the operating system after many minutes."""
_SHUTDOWN: Final = (psycopg.errors.AdminShutdown, psycopg.errors.CrashShutdown)


class AsyncPostgresDatabase:
    """Tables in a PostgreSQL database, for statements that may be executed twice. It belongs to the loop that uses it first.

    :param url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``.
    :param timeout_s: seconds for one statement.
    """

    def __init__(self, url: str, schema: Schema, timeout_s: float = STATEMENT_TIMEOUT_S) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._schema = schema
        self._pool: psycopg_pool.AsyncConnectionPool[Any] | None = None
        self._opening = asyncio.Lock()

    async def rows(self, statement: str, parameters: Sequence[Any] = ()) -> Sequence[Sequence[Any]]:
        """Execute one statement, which commits by itself; return its rows. After a lost connection, it is executed again.

        :raises StorageError: the database cannot be used.
        """
        for is_last in (*[False] * MAX_CONNECTIONS, True):  # the other idle connections may be lost as well
            connection = None
            try:
                pool = self._pool or await self._opened()
                async with asyncio.timeout(self._timeout_s), pool.connection() as connection:
                    cursor = await connection.execute(translated(statement), parameters)
                    return await cursor.fetchall() if cursor.description else ()
            except TimeoutError:
                late = TimeoutError(f"no result within {self._timeout_s:g} s")
                raise postgres_failure(self._schema.name, late, self._url) from None
            except (psycopg.Error, OSError) as exc:
                is_lost = connection is not None and (connection.closed or isinstance(exc, _SHUTDOWN))
                if is_last or not is_lost:
                    raise postgres_failure(self._schema.name, exc, self._url) from None
        raise AssertionError

    async def aclose(self) -> None:
        """Close all connections; a later use opens them again."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await pool.close()

    async def _opened(self) -> psycopg_pool.AsyncConnectionPool[Any]:
        async with self._opening:
            if self._pool is None:
                await asyncio.to_thread(self._prepare)
                pool = psycopg_pool.AsyncConnectionPool(
                    self._url,
                    min_size=1,
                    max_size=MAX_CONNECTIONS,
                    timeout=CONNECT_TIMEOUT_S,
                    reconnect_timeout=CONNECT_TIMEOUT_S,
                    kwargs={"connect_timeout": CONNECT_TIMEOUT_S, "autocommit": True},
                    open=False,
                    name=f"helmdeck-{self._schema.name}",
                )
                await pool.open()
                self._pool = pool
            return self._pool

    def _prepare(self) -> None:
        """Create or upgrade the tables. A failure gives its reason at once, where the pool would retry until its timeout."""
        database = PostgresDatabase(self._url, self._schema)
        try:
            database.open()
        finally:
            database.close()
