"""Keys and accounts in SQLite: functions that run within one transaction, which no other process interrupts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from helmdeck_gateway.stores.records import (
    LOST_S,
    RETRY_S,
    Admission,
    KeyRecord,
    LimitName,
    Limits,
    Open,
    Period,
    Refusal,
    Usage,
    periods,
    seconds_left,
)
from helmdeck_storage import Session

TABLES: Final = (
    """CREATE TABLE gateway_keys (
        name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, record TEXT NOT NULL)""",
    """CREATE TABLE gateway_accounts (
        account TEXT PRIMARY KEY, under_way INTEGER NOT NULL, count INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE gateway_calls (
        account TEXT NOT NULL, call TEXT NOT NULL, until_s REAL NOT NULL, held INTEGER NOT NULL, day TEXT NOT NULL,
        month TEXT NOT NULL, is_open INTEGER NOT NULL, PRIMARY KEY (account, call)) WITHOUT ROWID""",
    "CREATE INDEX gateway_calls_by_end ON gateway_calls (account, is_open, until_s)",
    """CREATE TABLE gateway_starts (
        account TEXT NOT NULL, place INTEGER NOT NULL, start_s REAL NOT NULL, PRIMARY KEY (account, place))
        WITHOUT ROWID""",
    """CREATE TABLE gateway_spend (
        account TEXT NOT NULL, period TEXT NOT NULL, spent INTEGER NOT NULL DEFAULT 0, held INTEGER NOT NULL DEFAULT 0,
        requests INTEGER NOT NULL DEFAULT 0, refused INTEGER NOT NULL DEFAULT 0, unpriced INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (account, period)) WITHOUT ROWID""",
)

_ROW: Final = "SELECT spent, held, requests, refused, unpriced FROM gateway_spend WHERE account = ? AND period = ?"
_NO_ROW: Final = (0, 0, 0, 0, 0)


def save_key(session: Session, record: KeyRecord) -> bool:
    """Implement ``KeyStore.save_key``."""
    values = (record.digest, record.version, record.to_json(), record.name)
    if record.version > 1:
        statement = "UPDATE gateway_keys SET digest = ?, version = ?, record = ? WHERE name = ? AND version = ?"
        return session.change(statement, (*values, record.version - 1)) == 1
    statement = "INSERT INTO gateway_keys (digest, version, record, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
    return session.change(statement, values) == 1


def find_key(session: Session, digest: str) -> KeyRecord | None:
    """Implement ``KeyStore.find_key``."""
    row = session.row("SELECT record FROM gateway_keys WHERE digest = ?", (digest,))
    return KeyRecord.from_json(row[0]) if row is not None else None


def list_keys(session: Session) -> Sequence[KeyRecord]:
    """Implement ``KeyStore.list_keys``."""
    rows = session.rows("SELECT record FROM gateway_keys ORDER BY name")
    return [KeyRecord.from_json(text) for (text,) in rows]


def admit(
    session: Session,
    account: str,
    call_id: str,
    limits: Limits,
    held: int,
    lease_s: float,
    now_s: float | None,
) -> Admission | Refusal:
    """Implement ``AccountStore.admit``."""
    now = time.time() if now_s is None else now_s
    _sweep(session, account, now)
    known = session.row("SELECT 1 FROM gateway_calls WHERE account = ? AND call = ?", (account, call_id))
    if known is not None:
        return Admission()
    day, month = periods(now)
    under_way, count = _account(session, account)
    refusal = _refusal(session, account, limits, (day, month), under_way, now)
    start = None
    if refusal is None and limits.rate is not None:
        statement = "SELECT start_s FROM gateway_starts WHERE account = ? AND place = ?"
        start = session.row(statement, (account, count % limits.rate))
        if start is not None and start[0] > now - limits.window_s:
            refusal = Refusal(limit="rate", retry_after_s=start[0] + limits.window_s - now)
    if refusal is not None:
        for period in (day, month):
            _add(session, account, period, refused=1)
        return refusal
    if limits.rate is not None:
        statement = "INSERT OR REPLACE INTO gateway_starts (account, place, start_s) VALUES (?, ?, ?)"
        session.change(statement, (account, count % limits.rate, now))
    session.change(
        "INSERT OR REPLACE INTO gateway_accounts (account, under_way, count) VALUES (?, ?, ?)",
        (account, under_way + 1, count + 1),
    )
    session.change(
        "INSERT INTO gateway_calls (account, call, until_s, held, day, month, is_open) VALUES (?, ?, ?, ?, ?, ?, 1)",
        (account, call_id, now + lease_s, held, day, month),
    )
    for period in (day, month):
        _add(session, account, period, held=held, requests=1)
    return Admission()


def _refusal(
    session: Session,
    account: str,
    limits: Limits,
    places: tuple[str, str],
    under_way: int,
    now: float,
) -> Refusal | None:
    left_s = seconds_left(now)
    spend: list[tuple[LimitName, int | None, str, float]] = [
        ("spend_per_month", limits.month_nusd, places[1], left_s[1]),
        ("spend_per_day", limits.day_nusd, places[0], left_s[0]),
    ]
    for name, most, period, seconds in spend:
        if most is None:
            continue
        spent, held, *_ = session.row(_ROW, (account, period)) or _NO_ROW
        if spent + held >= most:
            wait_s = seconds if spent >= most else min(RETRY_S, seconds)
            return Refusal(limit=name, retry_after_s=wait_s, spent_nusd=spent, held_nusd=held)
    if limits.concurrency is not None and under_way >= limits.concurrency:
        return Refusal(limit="concurrency", retry_after_s=RETRY_S)
    return None


def renew(session: Session, account: str, calls: Sequence[Open], lease_s: float, now_s: float | None) -> None:
    """Implement ``AccountStore.renew``."""
    now = time.time() if now_s is None else now_s
    _sweep(session, account, now)
    for call in calls:
        statement = "SELECT held, day, month, is_open FROM gateway_calls WHERE account = ? AND call = ?"
        row = session.row(statement, (account, call.call_id))
        if row is None:
            continue
        held, *places, is_open = row
        more = max(0, call.held_nusd - held)
        until_s = now + lease_s if is_open else None
        session.change(
            """UPDATE gateway_calls SET held = held + ?, until_s = coalesce(?, until_s)
            WHERE account = ? AND call = ?""",
            (more, until_s, account, call.call_id),
        )
        for period in places if more else ():
            _add(session, account, period, **{"held" if is_open else "spent": more})


def settle(session: Session, account: str, call_id: str, cost: int, unpriced: int) -> bool:
    """Implement ``AccountStore.settle``."""
    statement = "DELETE FROM gateway_calls WHERE account = ? AND call = ? RETURNING held, day, month, is_open"
    rows = session.rows(statement, (account, call_id))
    if not rows:
        return False
    held, *places, is_open = rows[0]
    for period in places:
        if is_open:
            _add(session, account, period, spent=cost, held=-held, unpriced=unpriced)
        else:
            _add(session, account, period, spent=cost - held, unpriced=unpriced)
    if is_open:
        session.change("UPDATE gateway_accounts SET under_way = under_way - 1 WHERE account = ?", (account,))
    return True


def usage(session: Session, account: str, now_s: float | None) -> Usage:
    """Implement ``AccountStore.usage``."""
    now = time.time() if now_s is None else now_s
    _sweep(session, account, now)
    rows = [session.row(_ROW, (account, period)) or _NO_ROW for period in periods(now)]
    return Usage(day=period_of(rows[0]), month=period_of(rows[1]), under_way=_account(session, account)[0])


def period_of(row: Sequence[int]) -> Period:
    """Return the values of a row: spent, held, requests, refused, unpriced."""
    spent, held, requests, refused, unpriced = map(int, row)
    return Period(spent_nusd=spent, held_nusd=held, requests=requests, refused=refused, unpriced=unpriced)


def _account(session: Session, account: str) -> tuple[int, int]:
    """Calls under way, and the number of all admitted calls."""
    statement = "SELECT under_way, count FROM gateway_accounts WHERE account = ?"
    row: tuple[int, int] | None = session.row(statement, (account,))
    return row or (0, 0)


def _add(
    session: Session,
    account: str,
    period: str,
    *,
    spent: int = 0,
    held: int = 0,
    requests: int = 0,
    refused: int = 0,
    unpriced: int = 0,
) -> None:
    session.change(
        """INSERT INTO gateway_spend (account, period, spent, held, requests, refused, unpriced) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET spent = spent + excluded.spent, held = held + excluded.held,
        requests = requests + excluded.requests, refused = refused + excluded.refused,
        unpriced = unpriced + excluded.unpriced""",
        (account, period, spent, held, requests, refused, unpriced),
    )


def _sweep(session: Session, account: str, now: float) -> None:
    """Count what calls hold whose leases have ended as spent."""
    statement = "SELECT call, held, day, month FROM gateway_calls WHERE account = ? AND is_open = 1 AND until_s <= ?"
    for call, held, *places in session.rows(statement, (account, now)):
        for period in places:
            _add(session, account, period, spent=held, held=-held)
        session.change("UPDATE gateway_calls SET is_open = 0 WHERE account = ? AND call = ?", (account, call))
        session.change("UPDATE gateway_accounts SET under_way = under_way - 1 WHERE account = ?", (account,))
    statement = "DELETE FROM gateway_calls WHERE account = ? AND is_open = 0 AND until_s <= ?"
    session.change(statement, (account, now - LOST_S))
