"""Remembers which providers fail again and again, so that others are asked for a while. In memory, for one deck."""

from __future__ import annotations

import threading

import attrs


@attrs.define
class _Record:
    failures: int = 0
    until_s: float = float("-inf")


class CircuitBreaker:
    """Providers that rest.

    :param after: failures in a row after which a provider rests; 0 is never.
    :param seconds: for how long.
    """

    def __init__(self, after: int, seconds: float) -> None:
        self._after = after
        self.seconds = seconds
        self._records: dict[str, _Record] = {}
        # One deck serves several threads.
        self._lock = threading.Lock()

    def resting(self, now_s: float) -> frozenset[str]:
        """The providers that rest at this time."""
        if not self._records:
            return frozenset()
        with self._lock:
            return frozenset(name for name, record in self._records.items() if record.until_s > now_s)

    def worked(self, provider: str) -> None:
        """A provider answered: what was held against it is forgotten."""
        if provider in self._records:
            with self._lock:
                self._records.pop(provider, None)

    def failed(self, provider: str, now_s: float) -> bool:
        """A provider failed; returns whether it rests from now on."""
        if not self._after:
            return False
        with self._lock:
            record = self._records.setdefault(provider, _Record())
            record.failures += 1
            if record.failures < self._after or record.until_s > now_s:
                return False
            record.until_s = now_s + self.seconds
            return True
