"""The rules of accounts in memory; the other stores implement the same rules in SQL and in Lua."""

from __future__ import annotations

import collections
import time
from collections.abc import Mapping, Sequence

import attrs

from helmdeck_gateway.stores.records import (
    LOST_S,
    RETRY_S,
    TOKEN_WINDOW_S,
    Admission,
    LimitName,
    Limits,
    Node,
    Open,
    Period,
    Refusal,
    Usage,
    counted_tokens,
    periods,
    seconds_left,
    sum_of,
)


@attrs.define
class _Call:
    held: int
    until_s: float
    places: tuple[str, str]
    tokens: int
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
        self._tokens = 0.0
        self._tokens_s = 0.0

    def refusal(self, limits: Limits, place: int, places: tuple[str, str], now: float) -> Refusal | int | None:
        """Return the refusal of a call, or else what the spend limits leave; ``None`` without a spend limit.

        :param place: of the account among those of the call.
        :param places: the day and the month.
        """
        left: int | None = None
        spend: tuple[tuple[LimitName, int | None, int], ...] = (
            ("spend_per_month", limits.month_nusd, 1),
            ("spend_per_day", limits.day_nusd, 0),
        )
        for name, most, period in spend:
            if most is None:
                continue
            row = self._rows[places[period]]
            if row.spent + row.held >= most:
                seconds = seconds_left(now)[period]
                wait_s = seconds if row.spent >= most else min(RETRY_S, seconds)
                return Refusal(limit=name, place=place, retry_after_s=wait_s, spent_nusd=row.spent, held_nusd=row.held)
            left = most - row.spent - row.held if left is None else min(left, most - row.spent - row.held)
        if limits.concurrency is not None and self._under_way >= limits.concurrency:
            return Refusal(limit="concurrency", place=place, retry_after_s=RETRY_S)
        if limits.tokens is not None:
            used = counted_tokens(self._tokens, self._tokens_s, limits.tokens, now)
            if used >= limits.tokens:
                wait_s = (used - limits.tokens) * TOKEN_WINDOW_S / limits.tokens
                return Refusal(limit="tokens_per_minute", place=place, retry_after_s=wait_s)
        if limits.rate is not None:
            # The call that started ``rate`` calls ago must be older than the window.
            start = self._starts.get(self._count % limits.rate)
            if start is not None and start > now - limits.window_s:
                return Refusal(limit="rate", place=place, retry_after_s=start + limits.window_s - now)
        return left

    def begin(self, limits: Limits, call: Open, until_s: float, places: tuple[str, str], now: float) -> None:
        """Let a call begin that no limit refuses."""
        if limits.rate is not None:
            self._starts[self._count % limits.rate] = now
        self._count += 1
        self._under_way += 1
        tokens = 0
        if limits.tokens is not None:
            tokens = call.held_tokens
            self._tokens = counted_tokens(self._tokens, self._tokens_s, limits.tokens, now) + tokens
            self._tokens_s = now
        self.calls[call.call_id] = _Call(call.held_nusd, until_s, places, tokens)
        for place in places:
            row = self._rows[place]
            row.held += call.held_nusd
            row.requests += 1

    def refuse(self, now: float) -> None:
        """Count a refused call."""
        for place in periods(now):
            self._rows[place].refused += 1

    def renew(self, call: Open, lease_s: float, now_s: float | None) -> None:
        """Implement ``AccountStore.renew``."""
        now = time.time() if now_s is None else now_s
        self.sweep(now)
        if (found := self.calls.get(call.call_id)) is None:
            return
        more = max(0, call.held_nusd - found.held)
        found.held += more
        if found.tokens and call.held_tokens > found.tokens:
            self._tokens += call.held_tokens - found.tokens
            found.tokens = call.held_tokens
        for place in found.places:
            if found.is_open:
                self._rows[place].held += more
            else:
                self._rows[place].spent += more
        if found.is_open:
            found.until_s = now + lease_s

    def settle(self, call_id: str, cost: int, tokens: int, *, unpriced: bool) -> bool:
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
        if call.tokens:
            self._tokens += tokens - call.tokens
        return True

    def usage(self, now_s: float | None) -> Usage:
        """Implement ``AccountStore.usage``."""
        now = time.time() if now_s is None else now_s
        self.sweep(now)
        day, month = (self._rows[place].to_period() if place in self._rows else Period() for place in periods(now))
        return Usage(
            day=day, month=month, under_way=self._under_way, tokens=self._tokens, tokens_s=self._tokens_s, now_s=now
        )

    def spend(self, places: Sequence[str], now_s: float | None) -> Period | None:
        """Return the sums of periods; ``None`` if it was used in none of them."""
        self.sweep(time.time() if now_s is None else now_s)
        found = [self._rows[each].to_period() for each in places if each in self._rows]
        return sum_of(found) if found else None

    def sweep(self, now: float) -> None:
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


def admit(
    accounts: Mapping[str, Account], nodes: Sequence[Node], call: Open, lease_s: float, now_s: float | None
) -> Admission | Refusal:
    """Implement ``AccountStore.admit``."""
    now = time.time() if now_s is None else now_s
    pairs = [(accounts[node.account], node.limits) for node in nodes]
    left: int | None = None
    for account, _ in pairs:
        account.sweep(now)
        if call.call_id in account.calls:
            return Admission()
    places = periods(now)
    for place, (account, limits) in enumerate(pairs):
        result = account.refusal(limits, place, places, now)
        if isinstance(result, Refusal):
            for each, _ in pairs:
                each.refuse(now)
            return result
        left = result if left is None or (result is not None and result < left) else left
    for account, limits in pairs:
        account.begin(limits, call, now + lease_s, places, now)
    return Admission(left)
