"""Records how long the callbacks of event loops block them, in units that do not depend on the machine or its load."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

MAX_UNITS = 100
"""A unit takes some 10 ms. Making a deck inside a loop takes up to 50 units, and attacks took several hundred."""
SHORT_S = 0.05
"""Fewer than the maximum of units on any machine, so that none are measured."""


def unit_s() -> float:
    """CPU seconds of a fixed amount of work in this thread."""
    start_s = time.thread_time()
    sum(number * number for number in range(150_000))
    return time.thread_time() - start_s


class LoopLag:
    """The longest callback.

    :ivar longest_s: CPU seconds of its thread.
    :ivar callback: its description.
    """

    def __init__(self) -> None:
        self.longest_s = 0.0
        self.callback = ""

    def units(self) -> float:
        """The longest callback in units of work."""
        return self.longest_s / min(unit_s() for _ in range(3))


def recorded(monkeypatch: pytest.MonkeyPatch) -> LoopLag:
    """Measure every callback of every event loop from now on."""
    lag, run = LoopLag(), asyncio.Handle._run

    def measured(handle: asyncio.Handle) -> None:
        start_s = time.thread_time()
        run(handle)
        took_s = time.thread_time() - start_s
        if took_s > lag.longest_s:
            lag.longest_s, lag.callback = took_s, repr(handle)

    monkeypatch.setattr(asyncio.Handle, "_run", measured)
    return lag


@pytest.fixture
def loop_lag(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopLag]:
    """Fail a test in which one callback blocks an event loop for too long."""
    lag = recorded(monkeypatch)
    yield lag
    assert lag.longest_s < SHORT_S or lag.units() < MAX_UNITS, f"{lag.callback} took {lag.longest_s:.2f} s of CPU"
