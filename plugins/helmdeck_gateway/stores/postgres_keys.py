"""Keys, teams and the audit log in PostgreSQL. Each step is one statement; the triggers of the audit log keep its rows as they are."""

from __future__ import annotations

from typing import Final

from helmdeck_storage import Session


def _save_function(kind: str, *columns: str) -> str:
    """The function that stores a key or team with its entry in the audit log, if it is the next version.

    :param columns: those beside the name and the version, in the order of the parameters.
    """
    names = ("name", "version", *columns)
    parameters = ", ".join(f"p_{each} {'INTEGER' if each == 'version' else 'TEXT'}" for each in names)
    return f"""CREATE FUNCTION gateway_save_{kind}({parameters}, p_number BIGINT, p_entry TEXT)
        RETURNS BOOLEAN AS $$
    BEGIN
        IF p_version > 1 THEN
            UPDATE gateway_{kind}s SET {", ".join(f"{each} = p_{each}" for each in names[1:])}
            WHERE name = p_name AND version = p_version - 1;
        ELSE
            INSERT INTO gateway_{kind}s ({", ".join(names)})
            VALUES ({", ".join(f"p_{each}" for each in names)}) ON CONFLICT DO NOTHING;
        END IF;
        IF NOT FOUND THEN
            RETURN FALSE;
        END IF;
        IF NOT gateway_add_audit(p_number, p_entry) THEN
            RAISE EXCEPTION 'not saved' USING ERRCODE = 'raise_exception';
        END IF;
        RETURN TRUE;
    EXCEPTION WHEN raise_exception THEN
        RETURN FALSE;
    END $$ LANGUAGE plpgsql"""  # noqa: S608  # of names in this file


_TEAMS: Final = (
    """CREATE TABLE gateway_teams (
        name TEXT PRIMARY KEY, parent TEXT NOT NULL, version INTEGER NOT NULL, record TEXT NOT NULL)""",
    "CREATE TABLE gateway_audit (number BIGINT PRIMARY KEY, record TEXT NOT NULL)",
    """CREATE FUNCTION gateway_audit_is_kept() RETURNS TRIGGER AS $$
    BEGIN
        RAISE EXCEPTION 'the audit log is not changed';
    END $$ LANGUAGE plpgsql""",
    """CREATE TRIGGER gateway_audit_is_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON gateway_audit
        FOR EACH STATEMENT EXECUTE FUNCTION gateway_audit_is_kept()""",
    "CREATE UNIQUE INDEX gateway_keys_by_old_digest ON gateway_keys (old_digest)",
    # Of two entries with one number, the primary key refuses the second one.
    """CREATE FUNCTION gateway_add_audit(p_number BIGINT, p_record TEXT) RETURNS BOOLEAN AS $$
    BEGIN
        IF p_number IS NULL THEN
            RETURN TRUE;
        END IF;
        INSERT INTO gateway_audit SELECT p_number, p_record
        WHERE p_number = 1 + (SELECT coalesce(max(number), 0) FROM gateway_audit) ON CONFLICT DO NOTHING;
        RETURN FOUND;
    END $$ LANGUAGE plpgsql""",
    _save_function("key", "digest", "old_digest", "record"),
    _save_function("team", "parent", "record"),
)

TABLES: Final = (
    """CREATE TABLE gateway_keys (
        name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, record TEXT NOT NULL,
        old_digest TEXT)""",
    *_TEAMS,
)

SAVE_KEY: Final = "SELECT gateway_save_key(?, ?::integer, ?, ?, ?, ?::bigint, ?)"
FIND_KEY: Final = "SELECT record FROM gateway_keys WHERE digest = ? OR old_digest = ?"
LIST_KEYS: Final = 'SELECT record FROM gateway_keys ORDER BY name COLLATE "C"'
SAVE_TEAM: Final = "SELECT gateway_save_team(?, ?::integer, ?, ?, ?::bigint, ?)"
FIND_TEAMS: Final = """
WITH RECURSIVE chain (name, parent, record, depth) AS (
SELECT name, parent, record, 1 FROM gateway_teams WHERE name = ?
UNION ALL
SELECT t.name, t.parent, t.record, c.depth + 1 FROM chain c JOIN gateway_teams t ON t.name = c.parent WHERE c.depth < ?)
SELECT record FROM chain ORDER BY depth"""
LIST_TEAMS: Final = 'SELECT record FROM gateway_teams ORDER BY name COLLATE "C"'
ADD_AUDIT: Final = "SELECT gateway_add_audit(?::bigint, ?)"
LIST_AUDIT: Final = """
SELECT record FROM gateway_audit WHERE number < coalesce(?::bigint, number + 1) ORDER BY number DESC LIMIT ?"""


def upgrade(session: Session) -> None:
    """Add what version 2 has: teams, the audit log, and the digest of a key before its last rotation."""
    session.change("ALTER TABLE gateway_keys ADD COLUMN old_digest TEXT")
    for statement in _TEAMS:
        session.change(statement)
