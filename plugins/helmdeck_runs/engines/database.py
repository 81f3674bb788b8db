"""The database of ``[runs] url``."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from helmdeck_core import ConfigError, Mistake, data_directory, did_you_mean
from helmdeck_runs.failures import RecordsError
from helmdeck_storage import Database, GroupCommit, Schema, Session, SqliteDatabase, StorageError, open_database

T = TypeVar("T")

SCHEMES = ("sqlite", "postgresql")

BUSY_S = 30.0
"""Seconds that a write waits for other processes."""


def checked_url(url: str | None) -> str | None:
    """Return the URL of ``[runs] url``.

    :raises ConfigError: no such database is supported.
    """
    scheme = "sqlite" if url is None else url.partition(":")[0]
    if scheme in SCHEMES:
        return url
    problem = f"unknown kind of database{did_you_mean(scheme, SCHEMES)}"
    raise ConfigError((Mistake("runs.url", problem, f"'{scheme}:...'", "sqlite:PATH, postgresql://HOST/DATABASE"),))


class RunsDatabase:
    """Tables of a run engine. Operations of the same time are committed together. Thread-safe; it connects at the first use.

    As a killed process loses nothing, PostgreSQL does not wait for the disk: a crash of the server may lose the newest records.

    :param url: ``sqlite:PATH``, ``postgresql://...``, or ``None`` for a database in memory.
    """

    def __init__(self, url: str | None, schema: Schema) -> None:
        self._url = url
        self._schema = schema
        self._lock = threading.Lock()
        self._commits: GroupCommit | None = None

    async def execute(self, operation: Callable[[Session], T]) -> T:
        """Execute an operation; return its result when its changes are committed.

        :raises RecordsError: the database cannot be used.
        """
        try:
            return await asyncio.wrap_future(self.submit(operation))
        except (StorageError, ValueError) as exc:
            raise RecordsError(
                f"the records of runs cannot be read or written: {exc}; check [runs] url and the database"
            ) from None

    def submit(self, operation: Callable[[Session], T]) -> concurrent.futures.Future[T]:
        """Return the future of an operation, see ``GroupCommit.submit``.

        :raises StorageError: the driver is not installed.
        """
        with self._lock:
            if self._commits is None:
                self._commits = GroupCommit(self._opened(), "helmdeck runs")
            return self._commits.submit(operation)

    def close(self) -> None:
        """Finish what was submitted, and close the connection; a later operation opens another one."""
        with self._lock:
            if self._commits is not None:
                self._commits.close()

    def _opened(self) -> Database:
        if self._url is None:
            return SqliteDatabase(None, self._schema)
        url = self._url if self._url.startswith("postgresql:") else f"sqlite:{sqlite_path(self._url)}"
        return open_database(
            url, self._schema, default_file=_default_file(), busy_timeout_s=BUSY_S, waits_for_disk=False
        )


def sqlite_path(url: str) -> Path:
    """Return the file of a URL ``sqlite:PATH``; without a path, a file in the user's data directory."""
    target = url.partition(":")[2].removeprefix("//")
    return Path(target).expanduser() if target else _default_file()


def _default_file() -> Path:
    return data_directory() / "runs.db"
