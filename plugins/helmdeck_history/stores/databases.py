"""The tables of the history in SQLite and PostgreSQL, how older ones are upgraded, and how a store is opened."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from helmdeck_core import PlanRecord, RecordedStep
from helmdeck_history.stores import sqlite_digests
from helmdeck_history.stores.sql import SqlStore, add_records
from helmdeck_storage import Database, Schema, Session, require_driver

BUSY_TIMEOUT_S = 5.0
"""Seconds to wait for another process that writes."""

TABLES = (
    """CREATE TABLE plan_history (
        id TEXT PRIMARY KEY, kind TEXT NOT NULL, caller TEXT NOT NULL, intent_sha TEXT NOT NULL, outcome TEXT NOT NULL,
        cause TEXT, complexity TEXT, model TEXT NOT NULL, duration_s DOUBLE PRECISION NOT NULL, time DOUBLE PRECISION NOT NULL,
        steps TEXT NOT NULL, sketch TEXT NOT NULL)""",
    "CREATE INDEX plan_history_caller ON plan_history (caller, time)",
    "CREATE INDEX plan_history_expiry ON plan_history (time)",
    # Derived from the rows above, so that one statement computes what a plan needs. The weight of a step is relative to
    # a fixed time: it grows with the time of the plan instead of shrinking with its age, so that it is never updated.
    """CREATE TABLE history_step (
        record_id TEXT NOT NULL, position INTEGER NOT NULL, caller TEXT NOT NULL, intent_sha TEXT NOT NULL,
        tool TEXT NOT NULL, time DOUBLE PRECISION NOT NULL, weight DOUBLE PRECISION NOT NULL, PRIMARY KEY (record_id, position))""",
    "CREATE INDEX history_step_intent ON history_step (caller, intent_sha, time, tool, weight)",
    """CREATE TABLE history_value (
        record_id TEXT NOT NULL, position INTEGER NOT NULL, input TEXT NOT NULL, caller TEXT NOT NULL, tool TEXT NOT NULL,
        value TEXT NOT NULL, time DOUBLE PRECISION NOT NULL, PRIMARY KEY (record_id, position, input))""",
    "CREATE INDEX history_value_caller ON history_value (caller, time)",
    """CREATE TABLE history_part (
        caller TEXT NOT NULL, part BIGINT NOT NULL, intent_sha TEXT NOT NULL, size INTEGER NOT NULL, time DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (caller, part, intent_sha))""",
    "CREATE INDEX history_part_newest ON history_part (caller, part, time, intent_sha, size)",
    "CREATE INDEX history_part_intent ON history_part (caller, intent_sha)",
    """CREATE TABLE history_fact (
        id TEXT PRIMARY KEY, caller TEXT NOT NULL, text TEXT NOT NULL, tags TEXT NOT NULL, time DOUBLE PRECISION NOT NULL,
        expires DOUBLE PRECISION NOT NULL)""",
    "CREATE INDEX history_fact_caller ON history_fact (caller, time)",
)

EVIDENCE = """CREATE TABLE history_evidence (
    period BIGINT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, kind TEXT NOT NULL, is_after INTEGER NOT NULL,
    attempts BIGINT NOT NULL, usable BIGINT NOT NULL, priced BIGINT NOT NULL, usd DOUBLE PRECISION NOT NULL,
    seconds DOUBLE PRECISION NOT NULL, PRIMARY KEY (period, source, model, kind, is_after))"""


def _add_evidence(session: Session) -> None:
    """Add the table of evidence."""
    session.change(EVIDENCE)


POSTGRES = Schema(name="history", version=3, tables=(*TABLES, EVIDENCE), upgrades={2: _add_evidence})


_OLD_RECORDS = (
    "SELECT caller, intent_sha, outcome, cause, complexity, model, duration_s, time, steps FROM plan_history_1"
)


def _upgrade_from_1(session: Session) -> None:
    """Keep more of each record, and what is derived from it."""
    session.change("ALTER TABLE plan_history RENAME TO plan_history_1")
    session.change("DROP INDEX IF EXISTS plan_history_by_caller")
    session.change("DROP INDEX IF EXISTS plan_history_by_time")
    for statement in TABLES:
        session.change(statement)
    add_records(session, [_old_record(row) for row in session.rows(_OLD_RECORDS)])
    session.change("DROP TABLE plan_history_1")


def _upgrade_from_2(session: Session) -> None:
    """Add the digests."""
    for statement in (*sqlite_digests.TABLES, *sqlite_digests.FILL):
        session.change(statement)


SQLITE = Schema(
    name="history",
    version=4,
    tables=(*TABLES, *sqlite_digests.TABLES, EVIDENCE),
    upgrades={1: _upgrade_from_1, 2: _upgrade_from_2, 3: _add_evidence},
)


def open_sqlite(path: Path, keep_days: float) -> SqlStore:
    """Return the store in a file; missing folders are created.

    :raises StorageError: the file cannot be used, or a newer release wrote it.
    """
    from helmdeck_storage import SqliteDatabase

    return _opened(SqliteDatabase(path, SQLITE, busy_timeout_s=BUSY_TIMEOUT_S), keep_days)


def open_postgres(url: str, keep_days: float) -> SqlStore:
    """Return the store in a PostgreSQL database.

    :raises StorageError: the database cannot be used, or a newer release created its tables.
    """
    require_driver("postgresql")
    from helmdeck_storage import PostgresDatabase

    return _opened(PostgresDatabase(url, POSTGRES), keep_days)


def _opened(database: Database, keep_days: float) -> SqlStore:
    database.open()
    return SqlStore(database, keep_days)


def _old_record(row: Sequence[Any]) -> PlanRecord:
    caller, sha, outcome, cause, complexity, model, duration_s, at, steps = row
    return PlanRecord(
        caller=caller, intent_sha=sha, outcome=outcome, cause=cause, complexity=complexity, model=model,
        duration_s=duration_s, time=at, steps=tuple(RecordedStep(*step) for step in msgspec.json.decode(steps)),
    )  # fmt: skip
