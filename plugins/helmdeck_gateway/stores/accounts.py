"""The rules of accounts in memory; the other stores implement the same rules in SQL and in Lua."""

from __future__ import annotations

import collections
import time

import attrs

from helmdeck_gateway.stores.records import (
    LOST_S,
    RETRY_S,
    Admission,
    LimitName,
    Limits,
    Open,
    Period,
    Refusal,
    Usage,
    periods,
    seconds_left,
)


@attrs.define
class _Call:
    held: int
    until_s: float
    places: tuple[str, str]
    is_open: bool = True


@attrs.define
class _Row:
    spent: int = 0
    held: int = 0
    requests: int = 0
    refused: int = 0
    unpriced: int = 0

    def to_period(self) -> Period:
        return Period(
            spent_nusd=self.spent,
            held_nusd=self.held,
            requests=self.requests,
            refused=self.refused,
            unpriced=self.unpriced,
        )


class Account:
    """One account.

    :ivar calls: calls under way by id, and those whose lease has ended, for ``LOST_S``.
    """

    def __init__(self) -> None:
        self.calls: dict[str, _Call] = {}
        self._rows: dict[str, _Row] = collections.defaultdict(_Row)
        self._starts: dict[int, float] = {}
        self._count = 0
        self._under_way = 0

    def admit(
        self, call_id: str, limits: Limits, held: int, lease_s: float, now_s: float | None
    ) -> Admission | Refusal:
        """Implement ``AccountStore.admit``."""
        now = time.time() if now_s is None else now_s
        self._sweep(now)
        if call_id in self.calls:
            return Admission()
        places = periods(now)
        day, month = (self._rows[place] for place in places)
        refusal = self._refusal(limits, day, month, now)
        if refusal is not None:
            day.refused += 1
            month.refused += 1
            return refusal
        if limits.rate is not None:
            self._starts[self._count % limits.rate] = now
        self._count += 1
        self._under_way += 1
        self.calls[call_id] = _Call(held, now + lease_s, places)
        for row in (day, month):
            row.held += held
            row.requests += 1
        return Admission()

    def _refusal(self, limits: Limits, day: _Row, month: _Row, now: float) -> Refusal | None:
        left_s = seconds_left(now)
        spend: list[tuple[LimitName, int | None, _Row, float]] = [
            ("spend_per_month", limits.month_nusd, month, left_s[1]),
            ("spend_per_day", limits.day_nusd, day, left_s[0]),
        ]
        for name, most, row, seconds in spend:
            if most is not None and row.spent + row.held >= most:
                wait_s = seconds if row.spent >= most else min(RETRY_S, seconds)
                return Refusal(limit=name, retry_after_s=wait_s, spent_nusd=row.spent, held_nusd=row.held)
        if limits.concurrency is not None and self._under_way >= limits.concurrency:
            return Refusal(limit="concurrency", retry_after_s=RETRY_S)
        if limits.rate is not None:
            # The call that started ``rate`` calls ago must be older than the window.
            start = self._starts.get(self._count % limits.rate)
            if start is not None and start > now - limits.window_s:
                return Refusal(limit="rate", retry_after_s=start + limits.window_s - now)
        return None

    def renew(self, call: Open, lease_s: float, now_s: float | None) -> None:
        """Implement ``AccountStore.renew``."""
        now = time.time() if now_s is None else now_s
        self._sweep(now)
        if (found := self.calls.get(call.call_id)) is None:
            return
        more = max(0, call.held_nusd - found.held)
        found.held += more
        for place in found.places:
            if found.is_open:
                self._rows[place].held += more
            else:
                self._rows[place].spent += more
        if found.is_open:
            found.until_s = now + lease_s

    def settle(self, call_id: str, cost: int, *, unpriced: bool) -> bool:
        """Implement ``AccountStore.settle``."""
        call = self.calls.pop(call_id, None)
        if call is None:
            return False
        for row in (self._rows[place] for place in call.places):
            if call.is_open:
                row.held -= call.held
                row.spent += cost
            else:
                row.spent += cost - call.held
            row.unpriced += unpriced
        self._under_way -= call.is_open
        return True

    def usage(self, now_s: float | None) -> Usage:
        """Implement ``AccountStore.usage``."""
        now = time.time() if now_s is None else now_s
        self._sweep(now)
        day, month = (self._rows[place].to_period() if place in self._rows else Period() for place in periods(now))
        return Usage(day=day, month=month, under_way=self._under_way)

    def _sweep(self, now: float) -> None:
        """Count what calls hold whose leases have ended as spent."""
        for call_id, call in list(self.calls.items()):
            if call.is_open and call.until_s <= now:
                call.is_open = False
                self._under_way -= 1
                for row in (self._rows[place] for place in call.places):
                    row.held -= call.held
                    row.spent += call.held
            if not call.is_open and call.until_s + LOST_S <= now:
                del self.calls[call_id]
