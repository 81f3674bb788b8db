"""SQLite: one file, shared by any number of threads and processes of one host."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from helmdeck_storage.database import Database, Dialect
from helmdeck_storage.errors import StorageError, failure
from helmdeck_storage.pool import ConnectionPool
from helmdeck_storage.private_files import create_private_file
from helmdeck_storage.schema import Schema, Session, store_version, stored_version, upgrade

BUSY_TIMEOUT_S = 5.0
"""Seconds to wait for another process that writes."""

_RETRY_S = 0.01
_CACHED_STATEMENTS = 256
_CACHE_KIB = 8_000
"""KiB of pages that a connection keeps in memory at most; 2,000 is the default of SQLite. In a history of a million records
(1.6 GB), the statement that reads the digests of a request took 13.8 instead of 16.4 µs."""

T = TypeVar("T")


class SqliteDatabase(Database):
    """A database in a file, which is created for its owner only at the first use, or in memory.

    Readers do not wait for writers. A killed process loses nothing that was committed and leaves no partial transaction; a power
    failure may lose the newest transactions.

    :param path: ``None`` for a database in memory; then one thread at a time has a session.
    """

    dialect: ClassVar[Dialect] = "sqlite"

    def __init__(self, path: Path | None, schema: Schema, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self._path = None if path is None else path.expanduser()
        self._file_name = "" if self._path is None else str(self._path)  # converted once, not at each use
        self._schema = schema
        self._busy_timeout_s = busy_timeout_s
        self._lock = threading.Lock()
        self._file: tuple[int, int] | None = None  # device and number of the file whose tables are up to date
        self._pool = ConnectionPool(lambda: self._while_busy(self._connect), limit=1 if path is None else None)

    @property
    def path(self) -> Path | None:
        """The file."""
        return self._path

    def exists(self) -> bool:
        """Whether something was stored; this creates no file."""
        return self._path is None or self._path.exists()

    @contextlib.contextmanager
    def session(self, *, writes: bool = True) -> Iterator[Session]:
        """Yield a transaction on a connection that no other thread uses meanwhile."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            yield _Session(connection)
            connection.execute("COMMIT")

    def read(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one statement; SQLite gives it a transaction, so that none has to be started and ended."""
        connection = self._checkout()
        try:  # as _connection(), which takes as long as a small statement
            rows = connection.execute(statement, parameters).fetchall()
        except BaseException as exc:
            self._undo(connection, exc)
            if isinstance(exc, sqlite3.Error):
                raise self._failure(exc) from exc
            raise
        self._pool.put(connection)
        return rows

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that no other thread uses meanwhile; after a failure, what it began is undone."""
        connection = self._checkout()
        try:
            yield connection
        except BaseException as exc:
            self._undo(connection, exc)
            if isinstance(exc, sqlite3.Error):
                raise self._failure(exc) from exc
            raise
        self._pool.put(connection)

    def close(self) -> None:
        """Close the idle connections; a later use opens others."""
        self._pool.close()
        if self._path is None:
            self._file = None

    # -- connections -------------------------------------------------------------------------------------------

    def _checkout(self) -> sqlite3.Connection:
        if self._file is None or self._file != self._identity():
            with self._lock:
                if self._file is None or self._file != self._identity():
                    self._pool.close()  # after the file was deleted, what an open connection writes is lost
                    self._prepare()
        try:
            return self._pool.take()[0]
        except (sqlite3.Error, OSError) as exc:
            raise self._failure(exc) from exc

    def _identity(self) -> tuple[int, int] | None:
        """Return what distinguishes the file from others that have its path later; ``None`` if there is none."""
        if self._path is None:
            return (os.getpid(), 0)
        try:
            status = os.stat(self._file_name)  # noqa: PTH116 - a third of the time, and it is needed for each transaction
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _undo(self, connection: sqlite3.Connection, exc: BaseException) -> None:
        """Roll back a transaction; close the connection if it may be the cause."""
        # The content of a database in memory ends with its connection.
        is_usable = self._path is None or not isinstance(exc, sqlite3.Error)
        try:
            if connection.in_transaction:  # a full disk ends it
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            is_usable = False
        if is_usable:
            self._pool.put(connection)
        else:
            self._pool.discard(connection)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            ":memory:" if self._path is None else self._path,
            timeout=self._busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_CACHED_STATEMENTS,
        )
        try:
            # With a write-ahead log, a commit survives the end of a process without a flush to the disk.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            # Setting the mode needs an exclusive lock, so it is only done once.
            if self._path is not None and connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
        except BaseException:
            connection.close()
            raise
        return connection

    def _while_busy(self, action: Callable[[], T]) -> T:
        """Do what SQLite refuses at once, without its own waiting, while another process changes the mode of the file."""
        deadline_s = time.monotonic() + self._busy_timeout_s
        while True:
            try:
                return action()
            except sqlite3.OperationalError as exc:
                if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline_s:
                    raise
            time.sleep(_RETRY_S)

    # -- the tables --------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Create the file, and create or upgrade its tables."""
        try:
            if self._path is not None:
                # SQLite gives the files beside it the same permissions.
                create_private_file(self._path)
            identity = self._identity()
            connection, _ = self._pool.take()
        except (sqlite3.Error, OSError) as exc:
            raise self._failure(exc) from exc
        try:
            self._while_busy(lambda: self._upgrade_if_older(connection))
        except sqlite3.Error as exc:
            self._pool.discard(connection)
            raise self._failure(exc) from exc
        except BaseException:
            self._pool.discard(connection)
            raise
        self._pool.put(connection)
        self._file = identity

    def _version(self, connection: sqlite3.Connection) -> int:
        """Return the version without a lock on the file."""
        if self._schema.has_own_file:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])
        table = self._schema.version_table
        known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        if connection.execute(known, (table,)).fetchone() is None:
            return 0
        row = connection.execute(f"SELECT version FROM {table}").fetchone()  # noqa: S608 - a name of ours
        return 0 if row is None else int(row[0])

    def _upgrade_if_older(self, connection: sqlite3.Connection) -> None:
        session, schema = _Session(connection), self._schema
        if self._version(connection) == schema.version:
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            if schema.has_own_file:  # another process may have been faster
                version = self._version(connection)
                upgrade(session, schema, version, self._name, "file")
                connection.execute(f"PRAGMA user_version = {schema.version}")
            else:
                version = stored_version(session, schema)
                upgrade(session, schema, version, self._name, "file")
                store_version(session, schema, version)
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    @property
    def _name(self) -> str:
        return "in memory" if self._path is None else self._path.name

    def _failure(self, exc: BaseException) -> StorageError:
        return exc if isinstance(exc, StorageError) else failure(f"the {self._schema.name} store {self._name}", exc)


class _Session:
    """Implements ``Session``."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement, parameters).fetchall()

    def row(self, statement: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._connection.execute(statement, parameters).fetchone()
        return row

    def change(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        return self._connection.execute(statement, parameters).rowcount

    def many(self, statement: str, parameters: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(statement, parameters)


def sqlite_problem(path: Path) -> str:
    """Return why a file is no usable database; empty if it is one.

    >>> from pathlib import Path
    >>> from helmdeck_storage import sqlite_problem
    >>> _ = Path("notes.db").write_bytes(b"no database")
    >>> sqlite_problem(Path("notes.db"))
    'file is not a database'
    """
    connection = sqlite3.connect(path, timeout=1.0)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as exc:
        return str(exc)
    finally:
        connection.close()
    return ""
