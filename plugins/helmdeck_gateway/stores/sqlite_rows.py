"""Rows in SQLite: functions that run within one transaction, which no other process interrupts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from helmdeck_gateway.stores.rows import OPEN, Row
from helmdeck_storage import Session

TABLES: Final = (
    """CREATE TABLE gateway_rows (
        grp TEXT NOT NULL, name TEXT NOT NULL, state INTEGER NOT NULL DEFAULT 0, leased REAL NOT NULL DEFAULT 0,
        holder TEXT NOT NULL DEFAULT '', expires REAL NOT NULL, data BLOB NOT NULL, PRIMARY KEY (grp, name))""",
    "CREATE INDEX gateway_rows_by_state ON gateway_rows (grp, state, name)",
    "CREATE INDEX gateway_rows_by_expiry ON gateway_rows (expires)",
)


def upgrade(session: Session) -> None:
    """Add what version 3 has: rows."""
    for statement in TABLES:
        session.change(statement)


def put_rows(session: Session, group: str, rows: Mapping[str, bytes], ttl_s: float, keeps_earlier: bool) -> None:
    """Implement ``RowStore.put_rows``."""
    now = time.time()
    session.change("DELETE FROM gateway_rows WHERE expires <= ?", (now,))
    statement = "INSERT OR REPLACE INTO gateway_rows (grp, name, expires, data) VALUES (?, ?, ?, ?)"
    if keeps_earlier:
        statement = statement.replace("REPLACE", "IGNORE")
    session.many(statement, [(group, name, now + ttl_s, data) for name, data in rows.items()])


def replace_row(session: Session, group: str, name: str, old: bytes, new: bytes) -> bool:
    """Implement ``RowStore.replace_row``."""
    statement = "UPDATE gateway_rows SET data = ? WHERE grp = ? AND name = ? AND data = ? AND expires > ?"
    return session.change(statement, (new, group, name, old, time.time())) > 0


def get_row(session: Session, group: str, name: str) -> Row | None:
    """Implement ``RowStore.get_row``."""
    statement = "SELECT name, data, state FROM gateway_rows WHERE grp = ? AND name = ? AND expires > ?"
    row = session.row(statement, (group, name, time.time()))
    return None if row is None else Row(*row)


def list_rows(session: Session, group: str, *, after: str, limit: int, newest: bool) -> Sequence[Row]:
    """Implement ``RowStore.list_rows``."""
    if newest:
        statement = """SELECT name, data, state FROM gateway_rows WHERE grp = ? AND (? = '' OR name < ?) AND expires > ?
            ORDER BY name DESC LIMIT ?"""
    else:
        statement = """SELECT name, data, state FROM gateway_rows WHERE grp = ? AND (? = '' OR name > ?) AND expires > ?
            ORDER BY name LIMIT ?"""
    return [Row(*row) for row in session.rows(statement, (group, after, after, time.time(), limit))]


def delete_rows(session: Session, group: str, name: str | None) -> bool:
    """Implement ``RowStore.delete_rows``."""
    if name is None:
        return session.change("DELETE FROM gateway_rows WHERE grp = ?", (group,)) > 0
    return session.change("DELETE FROM gateway_rows WHERE grp = ? AND name = ?", (group, name)) > 0


def claim_rows(session: Session, group: str, holder: str, limit: int, lease_s: float) -> Sequence[Row]:
    """Implement ``RowStore.claim_rows``."""
    now = time.time()
    statement = """SELECT name, data FROM gateway_rows WHERE grp = ? AND state = 0 AND leased <= ? AND expires > ?
        ORDER BY name LIMIT ?"""
    rows = [Row(*row) for row in session.rows(statement, (group, now, now, limit))]
    statement = "UPDATE gateway_rows SET leased = ?, holder = ? WHERE grp = ? AND name = ?"
    if rows:
        session.many(statement, [(now + lease_s, holder, group, row.name) for row in rows])
    return rows


def lease_rows(session: Session, group: str, names: Sequence[str], holder: str, lease_s: float) -> None:
    """Implement ``RowStore.lease_rows``."""
    statement = "UPDATE gateway_rows SET leased = ? WHERE grp = ? AND name = ? AND holder = ? AND state = 0"
    until_s = time.time() + lease_s
    session.many(statement, [(until_s, group, name, holder) for name in names])


def finish_row(session: Session, group: str, name: str, state: int, data: bytes) -> bool:
    """Implement ``RowStore.finish_row``."""
    statement = "UPDATE gateway_rows SET state = ?, data = ? WHERE grp = ? AND name = ? AND state = ?"
    return session.change(statement, (state, data, group, name, OPEN)) > 0


def count_rows(session: Session, group: str) -> Mapping[int, int]:
    """Implement ``RowStore.count_rows``."""
    statement = "SELECT state, count(*) FROM gateway_rows WHERE grp = ? AND expires > ? GROUP BY state"
    return {int(state): int(count) for state, count in session.rows(statement, (group, time.time()))}
