"""The built-in history store: one SQLite file, shared by any number of threads and processes.

``[history] url = "sqlite:PATH"`` enables it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from helmdeck_core import HistoryStoreSpec, PlanRecord, RecordedStep, hookimpl

if TYPE_CHECKING:
    import sqlite3

SCHEMA = """
CREATE TABLE IF NOT EXISTS plan_history (
    caller TEXT NOT NULL, intent_sha TEXT NOT NULL, outcome TEXT NOT NULL, cause TEXT, complexity TEXT,
    model TEXT NOT NULL, duration_s REAL NOT NULL, time REAL NOT NULL, steps TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS plan_history_by_caller ON plan_history (caller, time);
CREATE INDEX IF NOT EXISTS plan_history_by_time ON plan_history (time);
PRAGMA user_version = 1;
"""
BUSY_TIMEOUT_S = 5.0
DAY_S = 86_400


@hookimpl
def helmdeck_history_stores() -> Sequence[HistoryStoreSpec]:
    """The SQLite store."""
    return (HistoryStoreSpec(name="sqlite", open=SqliteHistory, summary="one file, shared by processes"),)


class SqliteHistory:
    """Plan records in a SQLite file.

    :param target: path of the file; missing folders are created.
    :param keep_days: records that are older, in days, are deleted.
    """

    def __init__(self, target: str, keep_days: float) -> None:
        self._path = Path(target).expanduser()
        self._keep_s = keep_days * DAY_S
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            # Only its owner may read it; SQLite gives the files beside it the same permissions.
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with self._connected() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(SCHEMA)

    def add(self, record: PlanRecord) -> None:
        """Store a record and delete the expired ones."""
        steps = msgspec.json.encode([[step.order, step.tool, step.args_sha] for step in record.steps]).decode()
        row = (
            record.caller, record.intent_sha, record.outcome, record.cause, record.complexity,
            record.model, record.duration_s, record.time, steps,
        )  # fmt: skip
        with self._connected() as connection:
            connection.execute("INSERT INTO plan_history VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
            connection.execute("DELETE FROM plan_history WHERE time < ?", (time.time() - self._keep_s,))

    def plans(self, caller: str, limit: int = 100) -> tuple[PlanRecord, ...]:
        """Return a caller's unexpired records, newest first."""
        query = (
            "SELECT caller, intent_sha, outcome, cause, complexity, model, duration_s, time, steps FROM plan_history "
            "WHERE caller = ? AND time >= ? ORDER BY time DESC, rowid DESC LIMIT ?"
        )
        with self._connected() as connection:
            rows = connection.execute(query, (caller, time.time() - self._keep_s, limit)).fetchall()
        return tuple(_record(row) for row in rows)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Open a connection per use: it is bound to one thread, and opening it is cheap compared to a write."""
        import sqlite3  # most decks have no history

        connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S)
        try:
            with connection:
                yield connection
        finally:
            connection.close()


def _record(row: Sequence[object]) -> PlanRecord:
    caller, sha, outcome, cause, complexity, model, duration_s, at, steps = row
    return msgspec.convert(
        {
            "caller": caller, "intent_sha": sha, "outcome": outcome, "cause": cause, "complexity": complexity,
            "model": model, "duration_s": duration_s, "time": at,
            "steps": [RecordedStep(*step) for step in msgspec.json.decode(str(steps))],
        },
        PlanRecord,
    )  # fmt: skip
