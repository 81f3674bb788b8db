"""The SQLite store: one file, shared by any number of threads and processes of one host."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from helmdeck_core import PlanRecord, RecordedStep
from helmdeck_history.stores import sqlite_digests
from helmdeck_history.stores.sql import TABLES, SqlStore, add_records

VERSION = 3

BUSY_TIMEOUT_S = 5.0
"""Seconds to wait for another process that writes."""

MAX_IDLE = 4
"""Idle connections that are kept."""

_OLD_RECORDS = (
    "SELECT caller, intent_sha, outcome, cause, complexity, model, duration_s, time, steps FROM plan_history_1"
)


class SqliteStore(SqlStore):
    """Records and facts in a SQLite file.

    :param target: path of the file; missing folders are created.
    :raises ValueError: a newer release wrote the file.
    """

    def __init__(self, target: str, keep_days: float) -> None:
        super().__init__(keep_days)
        self._path = Path(target).expanduser()
        self._idle: deque[sqlite3.Connection] = deque(maxlen=MAX_IDLE)
        self._pid = os.getpid()
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with contextlib.suppress(FileExistsError):
            # Only its owner may read it; SQLite gives the files beside it the same permissions.
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with self.session(writes=True) as session:
            _migrate(session, self._path)

    @contextlib.contextmanager
    def session(self, *, writes: bool) -> Iterator[_Session]:
        """A transaction on a connection that no other thread uses meanwhile."""
        connection = self._connection()
        try:
            connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                yield _Session(connection)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        if len(self._idle) < MAX_IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def weights(self, caller: str, intent_sha: str, sketch: Sequence[int], now: float) -> Mapping[str, float]:
        """Return the weights of a caller's tools for similar requests."""
        with self.session(writes=False) as session:
            found = sqlite_digests.weights(session.rows, caller, intent_sha, sketch, now, now - self._keep_s)
        return super().weights(caller, intent_sha, sketch, now) if found is None else found

    def close(self) -> None:
        """Close the idle connections; those in use are closed after their use, or kept for the next one."""
        while self._idle:
            with contextlib.suppress(IndexError):
                self._idle.pop().close()

    def _connection(self) -> sqlite3.Connection:
        if self._pid != os.getpid():  # SQLite forbids the use of a connection in a forked process, even to close it
            _FORKED.extend(self._idle)
            self._idle, self._pid = deque(maxlen=MAX_IDLE), os.getpid()
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        connection = sqlite3.connect(
            self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            # Readers do not wait for writers. Setting it needs an exclusive lock, so it is only done once.
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode = WAL")
        except BaseException:
            connection.close()
            raise
        return connection


_FORKED: list[sqlite3.Connection] = []
"""Connections of a parent process, which must not be closed here."""


class _Session:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> Sequence[Sequence[Any]]:
        return self._connection.execute(statement, parameters).fetchall()

    def many(self, statement: str, parameters: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(statement, parameters)

    def changed(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        return self._connection.execute(statement, parameters).rowcount


def _migrate(session: _Session, path: Path) -> None:
    """Create or upgrade the tables, in the transaction of the session."""
    version: int = session.rows("PRAGMA user_version")[0][0]
    if version > VERSION:
        raise ValueError(
            f"{path} was written by a newer release: its schema has version {version}, and this release knows up to "
            f"{VERSION}; update helmdeck, or use another file"
        )
    if version == VERSION:
        return
    if version == 1:
        session.rows("ALTER TABLE plan_history RENAME TO plan_history_1")
        session.rows("DROP INDEX IF EXISTS plan_history_by_caller")
        session.rows("DROP INDEX IF EXISTS plan_history_by_time")
    for statement in TABLES if version < 2 else ():
        session.rows(statement.format(real="REAL"))
    for statement in (*sqlite_digests.TABLES, *sqlite_digests.FILL):
        session.rows(statement)
    if version == 1:
        add_records(session, [_old_record(row) for row in session.rows(_OLD_RECORDS)])
        session.rows("DROP TABLE plan_history_1")
    session.rows(f"PRAGMA user_version = {VERSION}")


def _old_record(row: Sequence[Any]) -> PlanRecord:
    caller, sha, outcome, cause, complexity, model, duration_s, at, steps = row
    return PlanRecord(
        caller=caller, intent_sha=sha, outcome=outcome, cause=cause, complexity=complexity, model=model,
        duration_s=duration_s, time=at, steps=tuple(RecordedStep(*step) for step in msgspec.json.decode(steps)),
    )  # fmt: skip
