"""Accounts in SQLite: functions that run within one transaction, which no other process interrupts."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Final

from helmdeck_gateway.stores.records import (
    LOST_S,
    RETRY_S,
    TOKEN_WINDOW_S,
    Admission,
    LimitName,
    Node,
    Open,
    Period,
    Refusal,
    Usage,
    counted_tokens,
    periods,
    seconds_left,
)
from helmdeck_storage import Session

TABLES: Final = (
    """CREATE TABLE gateway_accounts (
        account TEXT PRIMARY KEY, under_way INTEGER NOT NULL, count INTEGER NOT NULL, tokens REAL NOT NULL DEFAULT 0,
        tokens_s REAL NOT NULL DEFAULT 0) WITHOUT ROWID""",
    """CREATE TABLE gateway_calls (
        account TEXT NOT NULL, call TEXT NOT NULL, until_s REAL NOT NULL, held INTEGER NOT NULL, day TEXT NOT NULL,
        month TEXT NOT NULL, is_open INTEGER NOT NULL, tokens INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (account, call))
        WITHOUT ROWID""",
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
_SUM: Final = """SELECT count(*), sum(spent), sum(held), sum(requests), sum(refused), sum(unpriced)
FROM gateway_spend WHERE account = ? AND period IN (SELECT value FROM json_each(?))"""
_ADD_TOKENS: Final = "UPDATE gateway_accounts SET tokens = tokens + ? WHERE account = ?"
_NO_ROW: Final = (0, 0, 0, 0, 0)


def upgrade(session: Session) -> None:
    """Add what version 2 has: token limits."""
    session.change("ALTER TABLE gateway_accounts ADD COLUMN tokens REAL NOT NULL DEFAULT 0")
    session.change("ALTER TABLE gateway_accounts ADD COLUMN tokens_s REAL NOT NULL DEFAULT 0")
    session.change("ALTER TABLE gateway_calls ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0")


def admit(
    session: Session, nodes: Sequence[Node], call: Open, lease_s: float, now_s: float | None
) -> Admission | Refusal:
    """Implement ``AccountStore.admit``."""
    now, left = time.time() if now_s is None else now_s, None
    places = periods(now)
    for node in nodes:
        _sweep(session, node.account, now)
        known = session.row("SELECT 1 FROM gateway_calls WHERE account = ? AND call = ?", (node.account, call.call_id))
        if known is not None:
            return Admission()
    rows = [_account(session, node.account) for node in nodes]
    for place, node in enumerate(nodes):
        result = _refusal(session, node, place, places, rows[place], now)
        if isinstance(result, Refusal):
            for each in nodes:
                for period in places:
                    _add(session, each.account, period, refused=1)
            return result
        left = result if left is None or (result is not None and result < left) else left
    for node, row in zip(nodes, rows, strict=True):
        _begin(session, node, call, row, places, now, now + lease_s)
    return Admission(left)


def _refusal(
    session: Session, node: Node, place: int, places: tuple[str, str], row: _Account, now: float
) -> Refusal | int | None:
    """The refusal of a call, or else what the spend limits leave; ``None`` without a spend limit."""
    limits, left = node.limits, None
    spend: tuple[tuple[LimitName, int | None, int], ...] = (
        ("spend_per_month", limits.month_nusd, 1),
        ("spend_per_day", limits.day_nusd, 0),
    )
    for name, most, period in spend:
        if most is None:
            continue
        spent, held, *_ = session.row(_ROW, (node.account, places[period])) or _NO_ROW
        if spent + held >= most:
            seconds = seconds_left(now)[period]
            wait_s = seconds if spent >= most else min(RETRY_S, seconds)
            return Refusal(limit=name, place=place, retry_after_s=wait_s, spent_nusd=spent, held_nusd=held)
        left = most - spent - held if left is None else min(left, most - spent - held)
    under_way, count, tokens, tokens_s = row
    if limits.concurrency is not None and under_way >= limits.concurrency:
        return Refusal(limit="concurrency", place=place, retry_after_s=RETRY_S)
    if limits.tokens is not None:
        used = counted_tokens(tokens, tokens_s, limits.tokens, now)
        if used >= limits.tokens:
            wait_s = (used - limits.tokens) * TOKEN_WINDOW_S / limits.tokens
            return Refusal(limit="tokens_per_minute", place=place, retry_after_s=wait_s)
    if limits.rate is not None:
        statement = "SELECT start_s FROM gateway_starts WHERE account = ? AND place = ?"
        start = session.row(statement, (node.account, count % limits.rate))
        if start is not None and start[0] > now - limits.window_s:
            return Refusal(limit="rate", place=place, retry_after_s=start[0] + limits.window_s - now)
    return left


def _begin(
    session: Session, node: Node, call: Open, row: _Account, places: tuple[str, str], now: float, until_s: float
) -> None:
    """Let a call begin that no limit refuses."""
    account, limits = node.account, node.limits
    under_way, count, tokens, tokens_s = row
    held_tokens = 0
    if limits.rate is not None:
        statement = "INSERT OR REPLACE INTO gateway_starts (account, place, start_s) VALUES (?, ?, ?)"
        session.change(statement, (account, count % limits.rate, now))
    if limits.tokens is not None:
        held_tokens = call.held_tokens
        tokens, tokens_s = counted_tokens(tokens, tokens_s, limits.tokens, now) + held_tokens, now
    session.change(
        "INSERT OR REPLACE INTO gateway_accounts (account, under_way, count, tokens, tokens_s) VALUES (?, ?, ?, ?, ?)",
        (account, under_way + 1, count + 1, tokens, tokens_s),
    )
    session.change(
        """INSERT INTO gateway_calls (account, call, until_s, held, day, month, is_open, tokens)
        VALUES (?, ?, ?, ?, ?, ?, 1, ?)""",
        (account, call.call_id, until_s, call.held_nusd, *places, held_tokens),
    )
    for period in places:
        _add(session, account, period, held=call.held_nusd, requests=1)


def renew(
    session: Session, accounts: Sequence[str], calls: Sequence[Open], lease_s: float, now_s: float | None
) -> None:
    """Implement ``AccountStore.renew``."""
    now = time.time() if now_s is None else now_s
    for account in accounts:
        _sweep(session, account, now)
        for call in calls:
            _renew(session, account, call, now, lease_s)


def _renew(session: Session, account: str, call: Open, now: float, lease_s: float) -> None:
    statement = "SELECT held, day, month, is_open, tokens FROM gateway_calls WHERE account = ? AND call = ?"
    row = session.row(statement, (account, call.call_id))
    if row is None:
        return
    held, *places, is_open, tokens = row
    more = max(0, call.held_nusd - held)
    more_tokens = max(0, call.held_tokens - tokens) if tokens else 0
    until_s = now + lease_s if is_open else None
    session.change(
        """UPDATE gateway_calls SET held = held + ?, tokens = tokens + ?, until_s = coalesce(?, until_s)
        WHERE account = ? AND call = ?""",
        (more, more_tokens, until_s, account, call.call_id),
    )
    if more_tokens:
        session.change(_ADD_TOKENS, (more_tokens, account))
    for period in places if more else ():
        _add(session, account, period, **{"held" if is_open else "spent": more})


def settle(session: Session, accounts: Sequence[str], call_id: str, cost: int, tokens: int, unpriced: int) -> bool:
    """Implement ``AccountStore.settle``."""
    found = [_settle(session, account, call_id, cost, tokens, unpriced) for account in accounts]
    return any(found)


def _settle(session: Session, account: str, call_id: str, cost: int, tokens: int, unpriced: int) -> bool:
    statement = "DELETE FROM gateway_calls WHERE account = ? AND call = ? RETURNING held, day, month, is_open, tokens"
    rows = session.rows(statement, (account, call_id))
    if not rows:
        return False
    held, *places, is_open, held_tokens = rows[0]
    for period in places:
        if is_open:
            _add(session, account, period, spent=cost, held=-held, unpriced=unpriced)
        else:
            _add(session, account, period, spent=cost - held, unpriced=unpriced)
    if is_open:
        session.change("UPDATE gateway_accounts SET under_way = under_way - 1 WHERE account = ?", (account,))
    if held_tokens:
        session.change(_ADD_TOKENS, (tokens - held_tokens, account))
    return True


def usage(session: Session, account: str, now_s: float | None) -> Usage:
    """Implement ``AccountStore.usage``."""
    now = time.time() if now_s is None else now_s
    _sweep(session, account, now)
    rows = [session.row(_ROW, (account, period)) or _NO_ROW for period in periods(now)]
    under_way, _, tokens, tokens_s = _account(session, account)
    day, month = map(period_of, rows)
    return Usage(day=day, month=month, under_way=under_way, tokens=tokens, tokens_s=tokens_s, now_s=now)


def usages(session: Session, accounts: Sequence[str], now_s: float | None) -> Sequence[Usage]:
    """Implement ``AccountStore.usages``."""
    return [usage(session, each, now_s) for each in accounts]


def spend(
    session: Session, accounts: Sequence[str], places: Sequence[str], now_s: float | None
) -> Mapping[str, Period]:
    """Implement ``AccountStore.spend``."""
    now, found = time.time() if now_s is None else now_s, dict[str, Period]()
    names = json.dumps(places)
    for account in accounts:
        _sweep(session, account, now)
        count, *row = session.row(_SUM, (account, names)) or (0, *_NO_ROW)
        if count:
            found[account] = period_of(row)
    return found


def period_of(row: Sequence[int]) -> Period:
    """Return the values of a row: spent, held, requests, refused, unpriced."""
    spent, held, requests, refused, unpriced = map(int, row)
    return Period(spent_nusd=spent, held_nusd=held, requests=requests, refused=refused, unpriced=unpriced)


_Account = tuple[int, int, float, float]
"""Calls under way, the number of all admitted calls, and the tokens that counted at a time."""


def _account(session: Session, account: str) -> _Account:
    statement = "SELECT under_way, count, tokens, tokens_s FROM gateway_accounts WHERE account = ?"
    row: _Account | None = session.row(statement, (account,))
    return row or (0, 0, 0.0, 0.0)


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
