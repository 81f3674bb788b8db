"""Keys, teams and the audit log in SQLite: functions that run within one transaction, which no other process interrupts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from helmdeck_gateway.stores.records import MAX_TEAMS, AuditRecord, KeyRecord, TeamRecord
from helmdeck_storage import Session

_TEAMS: Final = (
    """CREATE TABLE gateway_teams (
        name TEXT PRIMARY KEY, parent TEXT NOT NULL, version INTEGER NOT NULL, record TEXT NOT NULL)""",
    "CREATE TABLE gateway_audit (number INTEGER PRIMARY KEY, record TEXT NOT NULL)",
    """CREATE TRIGGER gateway_audit_is_not_changed BEFORE UPDATE ON gateway_audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is not changed'); END""",
    """CREATE TRIGGER gateway_audit_is_not_deleted BEFORE DELETE ON gateway_audit
        BEGIN SELECT RAISE(ABORT, 'the audit log is not changed'); END""",
    "CREATE UNIQUE INDEX gateway_keys_by_old_digest ON gateway_keys (old_digest)",
)

TABLES: Final = (
    """CREATE TABLE gateway_keys (
        name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, record TEXT NOT NULL,
        old_digest TEXT)""",
    *_TEAMS,
)

_CHAIN: Final = """
WITH RECURSIVE chain (name, parent, record, depth) AS (
SELECT name, parent, record, 1 FROM gateway_teams WHERE name = ?
UNION ALL
SELECT t.name, t.parent, t.record, c.depth + 1 FROM chain c JOIN gateway_teams t ON t.name = c.parent WHERE c.depth < ?)
SELECT record FROM chain ORDER BY depth"""


def upgrade(session: Session) -> None:
    """Add what version 2 has: teams, the audit log, and the digest of a key before its last rotation."""
    session.change("ALTER TABLE gateway_keys ADD COLUMN old_digest TEXT")
    for statement in _TEAMS:
        session.change(statement)


def save_key(session: Session, record: KeyRecord, entry: AuditRecord | None) -> bool:
    """Implement ``KeyStore.save_key``."""
    if not _may_add(session, entry):
        return False
    values = (record.digest, record.version, record.to_json(), record.old_digest or None, record.name)
    if record.version > 1:
        statement = """UPDATE gateway_keys SET digest = ?, version = ?, record = ?, old_digest = ?
            WHERE name = ? AND version = ?"""
        return _saved(session, statement, (*values, record.version - 1), entry)
    statement = """INSERT INTO gateway_keys (digest, version, record, old_digest, name) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT DO NOTHING"""
    return _saved(session, statement, values, entry)


def find_key(session: Session, digest: str) -> KeyRecord | None:
    """Implement ``KeyStore.find_key``."""
    row = session.row("SELECT record FROM gateway_keys WHERE digest = ? OR old_digest = ?", (digest, digest))
    return KeyRecord.from_json(row[0]) if row is not None else None


def list_keys(session: Session) -> Sequence[KeyRecord]:
    """Implement ``KeyStore.list_keys``."""
    rows = session.rows("SELECT record FROM gateway_keys ORDER BY name")
    return [KeyRecord.from_json(text) for (text,) in rows]


def save_team(session: Session, record: TeamRecord, entry: AuditRecord | None) -> bool:
    """Implement ``TeamStore.save_team``."""
    if not _may_add(session, entry):
        return False
    values = (record.parent, record.version, record.to_json(), record.name)
    if record.version > 1:
        statement = "UPDATE gateway_teams SET parent = ?, version = ?, record = ? WHERE name = ? AND version = ?"
        return _saved(session, statement, (*values, record.version - 1), entry)
    statement = "INSERT INTO gateway_teams (parent, version, record, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
    return _saved(session, statement, values, entry)


def find_teams(session: Session, name: str) -> Sequence[TeamRecord]:
    """Implement ``TeamStore.find_teams``."""
    return [TeamRecord.from_json(text) for (text,) in session.rows(_CHAIN, (name, MAX_TEAMS))]


def list_teams(session: Session) -> Sequence[TeamRecord]:
    """Implement ``TeamStore.list_teams``."""
    rows = session.rows("SELECT record FROM gateway_teams ORDER BY name")
    return [TeamRecord.from_json(text) for (text,) in rows]


def add_audit(session: Session, entry: AuditRecord) -> bool:
    """Implement ``AuditStore.add_audit``."""
    if not _may_add(session, entry):
        return False
    session.change("INSERT INTO gateway_audit (number, record) VALUES (?, ?)", (entry.number, entry.to_json()))
    return True


def list_audit(session: Session, limit: int, before: int | None) -> Sequence[AuditRecord]:
    """Implement ``AuditStore.list_audit``."""
    statement = "SELECT record FROM gateway_audit WHERE number < coalesce(?, number + 1) ORDER BY number DESC LIMIT ?"
    return [AuditRecord.from_json(text) for (text,) in session.rows(statement, (before, limit))]


def _may_add(session: Session, entry: AuditRecord | None) -> bool:
    """Whether an entry follows the last one of the audit log."""
    if entry is None:
        return True
    row = session.row("SELECT coalesce(max(number), 0) FROM gateway_audit")
    return row is not None and row[0] == entry.number - 1


def _saved(session: Session, statement: str, values: Sequence[Any], entry: AuditRecord | None) -> bool:
    is_saved = session.change(statement, values) == 1
    if is_saved and entry is not None:
        add_audit(session, entry)
    return is_saved
