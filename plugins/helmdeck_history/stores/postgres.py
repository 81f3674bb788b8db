"""The PostgreSQL store: one database, shared by any number of hosts."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import psycopg_pool

from helmdeck_history.stores.sql import TABLES, VERSION, SqlStore

CONNECT_TIMEOUT_S = 5.0
MAX_CONNECTIONS = 4
_LOCK = 4_935_067_225
"""The advisory lock that is held while the tables are created."""


# Without a handler of the application, the driver's warnings about lost connections would be printed to standard error.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class PostgresStore(SqlStore):
    """Records and facts in a PostgreSQL database.

    Tables are created in the first schema of the search path; ``?options=-csearch_path%3DNAME`` selects another one.

    :param url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``.
    :raises ValueError: a newer release created the tables.
    """

    def __init__(self, url: str, keep_days: float) -> None:
        super().__init__(keep_days)
        self._url = url
        # Connected directly first: the pool would retry until its timeout and not give the reason.
        with psycopg.connect(url, connect_timeout=int(CONNECT_TIMEOUT_S)) as connection:
            _migrate(_Session(connection.cursor()))
        self._pool, self._pid = self._open_pool(), os.getpid()

    def _open_pool(self) -> psycopg_pool.ConnectionPool:
        return psycopg_pool.ConnectionPool(
            self._url,
            min_size=0,
            max_size=MAX_CONNECTIONS,
            timeout=CONNECT_TIMEOUT_S,
            reconnect_timeout=CONNECT_TIMEOUT_S,
            kwargs={"connect_timeout": int(CONNECT_TIMEOUT_S), "autocommit": True},
            check=psycopg_pool.ConnectionPool.check_connection,
            open=True,
            name="helmdeck-history",
        )

    @contextlib.contextmanager
    def session(self, *, writes: bool) -> Iterator[_Session]:  # noqa: ARG002  # transactions need no mode
        """A transaction on a connection of the pool."""
        if self._pid != os.getpid():  # a forked process must not use or close the connections of its parent
            _FORKED.append(self._pool)
            self._pool, self._pid = self._open_pool(), os.getpid()
        try:
            with self._pool.connection() as connection, connection.transaction(), connection.cursor() as cursor:
                yield _Session(cursor)
        except psycopg.DataError as exc:
            raise ValueError(str(exc)) from exc

    def close(self) -> None:
        """Close all connections; idempotent."""
        self._pool.close()


_FORKED: list[psycopg_pool.ConnectionPool] = []
"""Pools of a parent process."""


class _Session:
    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor = cursor

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> Sequence[Sequence[Any]]:
        self._cursor.execute(_translated(statement), parameters)
        return self._cursor.fetchall() if self._cursor.description else ()

    def many(self, statement: str, parameters: Sequence[Sequence[Any]]) -> None:
        if parameters:
            self._cursor.executemany(_translated(statement), parameters)

    def changed(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        return self._cursor.execute(_translated(statement), parameters).rowcount


def _translated(statement: str) -> bytes:
    """The statement with psycopg's placeholders; no statement has a question mark or percent sign in a literal."""
    return statement.replace("?", "%s").encode()


def _migrate(session: _Session) -> None:
    session.rows("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
    session.rows("CREATE TABLE IF NOT EXISTS history_schema (version INTEGER NOT NULL)")
    found = session.rows("SELECT version FROM history_schema")
    version: int = found[0][0] if found else 0
    if version > VERSION:
        raise ValueError(
            f"the tables were created by a newer release: their schema has version {version}, and this release knows up "
            f"to {VERSION}; update helmdeck, or use another database"
        )
    if not found:
        for statement in TABLES:
            session.rows(statement.format(real="DOUBLE PRECISION"))
        session.rows("INSERT INTO history_schema VALUES (?)", (VERSION,))
