"""Refuses requests before memory, sockets or the processor of a process are used up."""

from __future__ import annotations

import asyncio
import collections
from collections.abc import Callable
from typing import Final

from helmdeck_gateway.load.fair_queue import too_busy
from helmdeck_gateway.problems import Problem

SAMPLE_S: Final = 0.25
"""Seconds between two measurements of the lag of the event loop."""
SAMPLES: Final = 4
"""Measurements that have to exceed the limit: one long collection of garbage is no overload."""
SOCKETS_SHARE: Final = 0.9
"""The share of the files that a process may open, after which new requests are refused."""


class Load:
    """The bodies, sockets and lag of one process; all configurations of it share them.

    :ivar body_bytes: bytes of the request bodies under way.
    :ivar refused: refused requests by reason: ``memory``, ``sockets`` or ``lag``.
    """

    def __init__(self) -> None:
        self.body_bytes: int = 0
        self.refused: collections.Counter[str] = collections.Counter()
        self._lags: collections.deque[float] = collections.deque([0.0] * SAMPLES, SAMPLES)
        self._connections: Callable[[], int] = int
        self._most_sockets = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def lag_s(self) -> float:
        """The seconds by which the event loop is late, over the last second."""
        return min(self._lags)

    def note_lag(self, lag_s: float) -> None:
        """Take note of a measurement."""
        self._lags.append(lag_s)

    def start(self, connections: Callable[[], int], most_files: float) -> None:
        """Measure on the running loop from now on.

        :param connections: returns the number of open connections of clients.
        :param most_files: files that the process may open.
        """
        self._connections, self._most_sockets = connections, most_files * SOCKETS_SHARE
        self._sample(asyncio.get_running_loop(), None)

    def stop(self) -> None:
        """Stop measuring."""
        if self._timer is not None:
            self._timer.cancel()

    def check(self, under_way: int, most_lag_s: float) -> None:
        """Check whether another request can be served.

        :param under_way: requests under way; each may have a connection to a provider as well.
        :raises Problem: it cannot.
        """
        if self.lag_s > most_lag_s:
            raise self._refusal("lag", f"its event loop is {self.lag_s:.1f} s late")
        if self._most_sockets and self._connections() + under_way > self._most_sockets:
            raise self._refusal("sockets", "it has as many connections as the system allows", ends=True)

    def take(self, size: int, most: int) -> None:
        """Hold bytes of a request body.

        :raises Problem: there is no room for them.
        """
        if self.body_bytes + size > most:
            raise self._refusal("memory", f"the requests under way have {self.body_bytes:,} bytes")
        self.body_bytes += size

    def release(self, size: int) -> None:
        """Release bytes of a request body."""
        self.body_bytes -= size

    def _refusal(self, reason: str, text: str, *, ends: bool = False) -> Problem:
        self.refused[reason] += 1
        return too_busy(text, ends_connection=ends)

    def _sample(self, loop: asyncio.AbstractEventLoop, due_s: float | None) -> None:
        now_s = loop.time()
        if due_s is not None:
            self.note_lag(now_s - due_s)
        self._timer = loop.call_at(now_s + SAMPLE_S, self._sample, loop, now_s + SAMPLE_S)
