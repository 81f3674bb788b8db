"""Retry budgets: how many retries the calls to a model may make together, so that a failing provider is not flooded.

In memory, for one deck. The share and the minimum are ``retry_share`` and ``retry_minimum`` of ``[recovery]``.
"""

from __future__ import annotations

import threading

import attrs

WINDOW_S = 10
"""Calls and retries of this many seconds count, as in Finagle."""
MAX_MODELS = 1_000
"""Models that are counted; model ids come from callers."""


@attrs.define(eq=False)
class _Window:
    """Calls and retries of the last seconds, each second in a slot of its own."""

    second: int
    calls: list[int] = attrs.field(factory=lambda: [0] * WINDOW_S)
    retries: list[int] = attrs.field(factory=lambda: [0] * WINDOW_S)

    def advance(self, second: int) -> int:
        """Empty the slots of the seconds that passed; return the slot of this second."""
        for passed in range(self.second + 1, min(second, self.second + WINDOW_S) + 1):
            self.calls[passed % WINDOW_S] = self.retries[passed % WINDOW_S] = 0
        self.second = max(second, self.second)
        return self.second % WINDOW_S


class RetryBudget:
    """Counts calls and retries per model; thread-safe. Times are seconds of a monotonic clock.

    :param share: retries within ten seconds, as a share of the calls within them.
    :param minimum: retries within ten seconds that are allowed however few calls there are.
    """

    def __init__(self, share: float, minimum: int) -> None:
        self._share = share
        self._minimum = minimum
        self._windows: dict[str, _Window] = {}
        self._lock = threading.Lock()

    def count_call(self, model: str, now_s: float) -> None:
        """Count a call to a model, not its retries."""
        second = int(now_s)
        window = self._windows.get(model)
        if window is None or window.second != second:
            with self._lock:
                window = self._window(model, second)
        window.calls[window.second % WINDOW_S] += 1

    def take(self, model: str, now_s: float) -> bool:
        """Return whether a call may be retried now, and count the retry if so."""
        with self._lock:
            window = self._window(model, int(now_s))
            if sum(window.retries) + 1 > max(self._minimum, self._share * sum(window.calls)):
                return False
            window.retries[window.second % WINDOW_S] += 1
            return True

    def _window(self, model: str, second: int) -> _Window:
        window = self._windows.get(model)
        if window is None:
            if len(self._windows) >= MAX_MODELS:
                self._windows.clear()
            window = self._windows[model] = _Window(second)
        window.advance(second)
        return window
