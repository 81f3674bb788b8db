"""Time that passes at once: a wait of an event loop moves the clock on instead of waiting.

For decks with scripted providers. Sockets and threads know nothing of this clock; ``virtual_time_with_sockets`` is for
servers on the loop of the test.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

import pytest

from helmdeck_core.calls.dispatcher import Dispatcher

START_S = 1_000.0


class VirtualTime:
    """The clock of all loops and decks that are made while it is installed; threads that run already keep theirs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, grace_s: float = 0.0) -> None:
        self._now_s = START_S
        self.grace_s = grace_s
        # A server that a module keeps in another thread would sleep until its clock has caught up.
        others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}
        for name in ("monotonic", "perf_counter"):
            monkeypatch.setattr(time, name, partial(self._read, others, getattr(time, name)))
        monkeypatch.setitem(Dispatcher.__init__.__kwdefaults__, "clock", self)
        for module in (asyncio, asyncio.events):
            monkeypatch.setattr(module, "new_event_loop", lambda: asyncio.SelectorEventLoop(_Selector(self)))

    def __call__(self) -> float:
        return self._now_s

    def _read(self, others: Collection[int | None], real: Callable[[], float]) -> float:
        return real() if threading.get_ident() in others else self._now_s

    @property
    def passed_s(self) -> float:
        """Seconds that have passed since the start of the test."""
        return self._now_s - START_S

    def advance(self, seconds: float) -> None:
        """Move the clock on."""
        self._now_s += seconds


class _Selector(selectors.DefaultSelector):
    def __init__(self, clock: VirtualTime) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(None if timeout is None else 0)
        if not ready and timeout and self._clock.grace_s:
            ready = super().select(self._clock.grace_s)
        if not ready and timeout:
            self._clock.advance(timeout)
        return ready


async def advance_running_loop(seconds: float) -> None:
    """Move the clock of the running loop on, which may have sockets; what is on its way arrives before and after."""
    loop = asyncio.get_running_loop()
    for _ in range(20):
        await asyncio.sleep(0)
    clock = loop.time
    loop.time = lambda: clock() + seconds  # type: ignore[method-assign]
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def virtual_time() -> Iterator[VirtualTime]:
    """Let waits of scripted decks pass at once, until the test ends."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield VirtualTime(monkeypatch)


@pytest.fixture
def virtual_time_with_sockets() -> Iterator[VirtualTime]:
    """The same; before the clock moves on, what is on its way between two sockets of the loop arrives."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        yield VirtualTime(monkeypatch, grace_s=0.02)
