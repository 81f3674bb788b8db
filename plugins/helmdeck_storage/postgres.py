"""PostgreSQL: one database, shared by any number of hosts."""

from __future__ import annotations

import contextlib
import functools
import logging
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from typing import Any, ClassVar, Final, TypeVar
from zlib import crc32

import psycopg
from psycopg.conninfo import conninfo_to_dict

from helmdeck_storage.database import Database, Dialect
from helmdeck_storage.errors import StorageError, failure
from helmdeck_storage.pool import ConnectionPool
from helmdeck_storage.schema import Schema, Session, store_version, stored_version, upgrade

CONNECT_TIMEOUT_S: Final = 5
MAX_CONNECTIONS: Final = 4
READ_TIMEOUT_S: Final = 10.0
WRITE_TIMEOUT_S: Final = 30.0
"""Seconds that one statement may take: a server that hangs would hold its caller for ever."""

T = TypeVar("T")

# Without a handler of the application, the driver's warnings about lost connections would be printed to standard error.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class LateError(psycopg.OperationalError):
    """The server did not answer in time; the connection is closed."""


class Connection(psycopg.Connection[Any]):
    """A connection that waits for each answer of the server at most ``timeout_s``; ``None`` is no limit."""

    timeout_s: float | None = READ_TIMEOUT_S

    def wait(self, gen: Generator[Any, Any, T], interval: float = 0.1, *_: Any, **__: Any) -> T:
        """Complete an operation of the driver.

        :raises LateError: it takes too long.
        """
        return super().wait(gen if self.timeout_s is None else self._bounded(gen, self.timeout_s), interval)

    def _bounded(self, gen: Generator[Any, Any, T], timeout_s: float) -> Generator[Any, Any, T]:
        deadline_s = time.monotonic() + timeout_s
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > deadline_s:
                    self.pgconn.finish()  # else the next statement would wait for the answer to this one
                    raise LateError(f"no answer within {timeout_s:g} s")
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


Cursor = psycopg.Cursor[Any]


class PostgresDatabase(Database):
    """Tables in a PostgreSQL database, in the first schema of the search path.

    ``?options=-csearch_path%3DNAME`` in the URL selects another one.

    :param url: ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``.
    :param waits_for_disk: ``False``: the newest transactions may be lost if the server crashes, not if a client is killed.
    """

    dialect: ClassVar[Dialect] = "postgresql"

    def __init__(self, url: str, schema: Schema, *, waits_for_disk: bool = True) -> None:
        self._url = url
        self._schema = schema
        self._waits_for_disk = waits_for_disk
        self._lock = threading.Lock()
        self._is_prepared = False
        self._pool = ConnectionPool(self._connect, max_idle=MAX_CONNECTIONS, limit=MAX_CONNECTIONS)

    @contextlib.contextmanager
    def session(self, *, writes: bool = True) -> Iterator[Session]:
        """Yield a transaction on a connection that no other thread uses meanwhile."""
        if not self._is_prepared:
            with self._lock:
                if not self._is_prepared:
                    self._prepare()
        connection, cursor = self._begun()
        connection.timeout_s = WRITE_TIMEOUT_S if writes else READ_TIMEOUT_S
        try:
            yield _Session(cursor)
            cursor.execute("COMMIT")
            cursor.close()
        except BaseException as exc:
            self._undo(connection)
            if isinstance(exc, psycopg.DataError):
                raise ValueError(str(exc)) from exc
            if isinstance(exc, psycopg.Error):
                raise self._failure(exc) from None
            raise
        self._pool.put(connection)

    def close(self) -> None:
        """Close the idle connections; a later use opens others."""
        self._pool.close()

    # -- connections -------------------------------------------------------------------------------------------

    def _connect(self) -> Connection:
        connection = Connection.connect(self._url, connect_timeout=CONNECT_TIMEOUT_S, autocommit=True)
        if not self._waits_for_disk:
            connection.execute("SET synchronous_commit = off")
        return connection

    def _begun(self) -> tuple[Connection, Cursor]:
        """Return a connection in a transaction, and its cursor. One that was lost while it was idle is replaced."""
        while True:
            try:
                connection, is_new = self._pool.take()
                connection.timeout_s = READ_TIMEOUT_S
            except (psycopg.Error, OSError) as exc:
                raise self._failure(exc) from None
            try:
                cursor = connection.cursor()
                cursor.execute("BEGIN")
            except BaseException as exc:
                self._pool.discard(connection)
                if not isinstance(exc, psycopg.Error):
                    raise
                is_lost = isinstance(exc, psycopg.OperationalError | psycopg.InterfaceError)
                if is_new or not is_lost or isinstance(exc, LateError):
                    raise self._failure(exc) from None
            else:
                return connection, cursor

    def _undo(self, connection: Connection) -> None:
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            self._pool.discard(connection)
        else:
            self._pool.put(connection)

    # -- the tables --------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Create or upgrade the tables."""
        connection, cursor = self._begun()
        try:
            session = _Session(cursor)
            if self._version(session) != self._schema.version:
                connection.timeout_s = None  # an upgrade takes any time, and others wait for it
                self._upgrade(session)
            cursor.execute("COMMIT")
            cursor.close()
        except BaseException as exc:
            self._undo(connection)
            if isinstance(exc, psycopg.Error):
                raise self._failure(exc) from None
            raise
        self._pool.put(connection)
        self._is_prepared = True

    def _version(self, session: Session) -> int:
        """Return the version without a lock."""
        table = self._schema.version_table
        # Only the first schema of the search path counts: the tables are created there.
        known = "SELECT to_regclass(quote_ident(current_schema()) || '.' || ?)::text"
        if session.row(known, (table,)) == (None,):
            return 0
        rows = session.rows(f"SELECT version FROM {table}")  # noqa: S608 - a name of ours
        return int(rows[0][0]) if rows else 0

    def _upgrade(self, session: Session) -> None:
        schema = self._schema
        # Locked until the end of the transaction, so that one process creates the tables.
        session.rows("SELECT pg_advisory_xact_lock(?)", (crc32(f"helmdeck {schema.name}".encode()),))
        version = stored_version(session, schema)  # another process may have been faster
        if version != schema.version:
            upgrade(session, schema, version, "the database", "database")
            store_version(session, schema, version)

    def _failure(self, exc: BaseException) -> StorageError:
        return postgres_failure(self._schema.name, exc, self._url)


class _Session:
    """Implements ``Session``."""

    __slots__ = ("_cursor",)

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        cursor = self._cursor.execute(translated(statement), parameters)
        return cursor.fetchall() if cursor.description else []

    def row(self, statement: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._cursor.execute(translated(statement), parameters).fetchone()
        return row

    def change(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        if not parameters:  # then a percent sign is one, such as in a function
            return self._cursor.execute(statement.encode()).rowcount
        return self._cursor.execute(translated(statement), parameters).rowcount

    def many(self, statement: str, parameters: Sequence[Sequence[Any]]) -> None:
        if parameters:
            self._cursor.executemany(translated(statement), parameters)


@functools.lru_cache(512)
def translated(statement: str) -> bytes:
    """Return a statement with the placeholders of psycopg."""
    return statement.replace("?", "%s").encode()


def postgres_failure(name: str, exc: BaseException, url: str) -> StorageError:
    """Return the error for an exception of psycopg; only the first line of its message is shown."""
    first = str(exc).partition("\n")[0]
    return failure(f"the {name} store in PostgreSQL", type(exc)(first) if isinstance(exc, psycopg.Error) else exc, url)


def is_valid_postgres_url(url: str) -> bool:
    """Return whether the driver can read a URL; its own message would repeat a part of it.

    >>> from helmdeck_storage import is_valid_postgres_url
    >>> is_valid_postgres_url("postgresql://helmdeck@db.example.org/helmdeck"), is_valid_postgres_url("postgresql://[")
    (True, False)
    """
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        return False
    return "@" not in str(parts.get("host"))
