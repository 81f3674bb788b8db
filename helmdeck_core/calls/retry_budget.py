"""Retry budgets: how many retries the calls to a model may make together, so that a failing provider is not flooded.

In memory, for one deck. The share and the minimum are ``retry_share`` and ``retry_minimum`` of ``[recovery]``.
"""

from __future__ import annotations

import threading

import attrs

WINDOW_S = 10
"""Seconds within which the minimum counts."""
MAX_MODELS = 1_000
"""Models that are counted; model ids come from callers."""


@attrs.define(eq=False)
class _Count:
    """Calls of one second, and the retries of the last ten, each second in a slot of its own.

    Calls of earlier seconds count for nothing: their share would be spent at once when the provider fails.
    """

    second: int
    calls: int = 0
    retries: list[int] = attrs.field(factory=lambda: [0] * WINDOW_S)

    def advance(self, second: int) -> None:
        """Begin another second."""
        if second <= self.second:
            return
        for passed in range(self.second + 1, min(second, self.second + WINDOW_S) + 1):
            self.retries[passed % WINDOW_S] = 0
        self.second, self.calls = second, 0


class RetryBudget:
    """Counts calls and retries per model; thread-safe. Times are seconds of a monotonic clock.

    :param share: retries within a second, as a share of the calls within it.
    :param minimum: retries within ten seconds that are allowed however few calls there are.
    """

    def __init__(self, share: float, minimum: int) -> None:
        self._share = share
        self._minimum = minimum
        self._counts: dict[str, _Count] = {}
        self._lock = threading.Lock()

    def count_call(self, model: str, now_s: float) -> None:
        """Count a call to a model, not its retries."""
        second = int(now_s)
        count = self._counts.get(model)
        if count is None or count.second != second:
            with self._lock:
                count = self._count(model, second)
        count.calls += 1

    def take(self, model: str, now_s: float) -> bool:
        """Return whether a call may be retried now, and count the retry if so."""
        with self._lock:
            count = self._count(model, int(now_s))
            slot = count.second % WINDOW_S
            if sum(count.retries) >= self._minimum and count.retries[slot] + 1 > self._share * count.calls:
                return False
            count.retries[slot] += 1
            return True

    def _count(self, model: str, second: int) -> _Count:
        count = self._counts.get(model)
        if count is None:
            if len(self._counts) >= MAX_MODELS:
                self._counts.clear()
            count = self._counts[model] = _Count(second)
        count.advance(second)
        return count
