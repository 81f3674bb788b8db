"""One connection to SQLite or PostgreSQL in a thread of its own; what is requested meanwhile shares one transaction."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from helmdeck_core import (
    ConfigError,
    HelmdeckError,
    Mistake,
    Secrets,
    data_directory,
    did_you_mean,
    quoted,
    url_secrets,
)
from helmdeck_runs.failures import RecordsError

T = TypeVar("T")

SCHEMES = ("sqlite", "postgresql")

MAX_BATCH = 256
"""Operations of one transaction."""

BUSY_S = 30.0
"""Seconds that a write waits for other processes."""

_LOCK = 0x68656C6D_72756E73
"""The advisory lock around the creation of tables."""


def checked_url(url: str | None) -> str | None:
    """Return the URL of ``[runs] url``.

    :raises ConfigError: no such database is supported.
    """
    scheme = "sqlite" if url is None else url.partition(":")[0]
    if scheme in SCHEMES:
        return url
    problem = f"unknown kind of database{did_you_mean(scheme, SCHEMES)}"
    raise ConfigError((Mistake("runs.url", problem, f"'{scheme}:...'", "sqlite:PATH, postgresql://HOST/DATABASE"),))


class Session(Protocol):
    """A connection within a transaction. Placeholders are question marks."""

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement; return its rows."""
        ...

    def change(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Execute a statement; return the number of changed rows."""
        ...

    def commit(self) -> None:
        """End the transaction."""
        ...

    def rollback(self) -> None:
        """Undo the transaction."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


Operation = Callable[[Session], Any]


class Database:
    """Runs operations in order, in one thread that is started at the first one. Thread-safe.

    :param url: ``sqlite:PATH``, ``postgresql://...``, or ``None`` for a database in memory.
    :param tables: statements that create the tables if they do not exist.
    """

    def __init__(self, url: str | None, tables: Sequence[str]) -> None:
        self._url = url
        self._tables = tables
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._queue: queue.SimpleQueue[tuple[Operation, concurrent.futures.Future[Any]] | None] = queue.SimpleQueue()

    def submit(self, operation: Callable[[Session], T]) -> concurrent.futures.Future[T]:
        """Return the future of an operation; it is done when the transaction is committed."""
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="helmdeck runs", daemon=True)
                self._thread.start()
            self._queue.put((operation, future))
        return future

    def close(self) -> None:
        """Finish what was submitted, and close the connection; a later operation opens another one."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                self._queue.put(None)
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        session: Session | None = None
        is_closing = False
        while not is_closing:
            batch = [self._queue.get()]
            while batch[-1] is not None and len(batch) < MAX_BATCH:
                try:
                    batch.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            is_closing = batch[-1] is None
            due = [each for each in batch if each is not None and each[1].set_running_or_notify_cancel()]
            session = self._together(session, due)
        if session is not None:
            session.close()

    def _together(
        self, session: Session | None, batch: list[tuple[Operation, concurrent.futures.Future[Any]]]
    ) -> Session | None:
        """Run operations in one transaction; if one fails, each in its own, so that the others are kept."""
        if not batch:
            return session
        try:
            session = session or self._open()
            results = [operation(session) for operation, _ in batch]
            session.commit()
        except Exception as exc:
            if session is not None:
                with contextlib.suppress(Exception):
                    session.rollback()
            if len(batch) > 1:
                for each in batch:
                    session = self._together(session, [each])
                return session
            batch[0][1].set_exception(self._error(exc))
            if session is not None:  # the connection may be broken; another one is opened
                with contextlib.suppress(Exception):
                    session.close()
            # A database in memory would be empty after that.
            return session if self._url is None else None
        for (_, future), result in zip(batch, results, strict=True):
            future.set_result(result)
        return session

    def _error(self, exc: Exception) -> Exception:
        if isinstance(exc, HelmdeckError):
            return exc
        detail = quoted(f"{type(exc).__name__}: {exc}", Secrets(url_secrets(self._url or "")))
        return RecordsError(
            f"the records of runs cannot be read or written: {detail}; check [runs] url and the database"
        )

    def _open(self) -> Session:
        scheme = (self._url or "sqlite").partition(":")[0]
        session = _Postgres(self._url or "") if scheme == "postgresql" else _Sqlite(self._url)
        session.create(self._tables)
        return session


class _Sqlite:
    """Implements ``Session``."""

    def __init__(self, url: str | None) -> None:
        target = ":memory:"
        if url is not None:
            path = sqlite_path(url)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):  # records contain inputs and outputs
                os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
            target = str(path)
        self._connection = sqlite3.connect(target, timeout=BUSY_S, isolation_level="IMMEDIATE")
        self._connection.execute("PRAGMA journal_mode=WAL")
        # A killed process loses nothing; a power failure may lose the newest transactions.
        self._connection.execute("PRAGMA synchronous=NORMAL")

    def create(self, tables: Sequence[str]) -> None:
        for statement in tables:
            self._connection.execute(statement)
        self._connection.commit()

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement, parameters).fetchall()

    def change(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        return self._connection.execute(statement, parameters).rowcount

    def commit(self) -> None:
        self._connection.commit()

    def rollback(self) -> None:
        self._connection.rollback()

    def close(self) -> None:
        self._connection.close()


class _Postgres:
    """Implements ``Session``."""

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ModuleNotFoundError as exc:
            raise RecordsError(f'the extra is not installed ({exc}): pip install "helmdeck[postgres]"') from exc
        self._connection = psycopg.connect(url)
        # As with SQLite: a killed process loses nothing; a crash of the server may lose the newest transactions.
        self._connection.execute("SET synchronous_commit = off")
        self._connection.commit()

    def create(self, tables: Sequence[str]) -> None:
        self.rows("SELECT pg_advisory_xact_lock(?)", (_LOCK,))
        for statement in tables:
            self.rows(statement)
        self.commit()

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(statement.replace("?", "%s").encode(), parameters)
        return cursor.fetchall() if cursor.description is not None else []

    def change(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        return self._connection.execute(statement.replace("?", "%s").encode(), parameters).rowcount

    def commit(self) -> None:
        self._connection.commit()

    def rollback(self) -> None:
        self._connection.rollback()

    def close(self) -> None:
        self._connection.close()


def sqlite_path(url: str) -> Path:
    """Return the file of a URL ``sqlite:PATH``; without a path, a file in the user's data directory."""
    target = url.partition(":")[2].removeprefix("//")
    if target:
        return Path(target).expanduser()
    return data_directory() / "runs.db"
