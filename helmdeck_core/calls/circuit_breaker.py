"""Opens the circuit of a provider that fails repeatedly. In memory, for one deck."""

from __future__ import annotations

import threading

import attrs


@attrs.define
class _Circuit:
    failures: int = 0
    open_until_s: float = float("-inf")


class CircuitBreaker:
    """Counts consecutive failures per provider; thread-safe.

    :param max_failures: consecutive failures that open a circuit; 0 disables the breaker.
    :param cooldown_s: seconds for which a circuit stays open.
    """

    def __init__(self, max_failures: int, cooldown_s: float) -> None:
        self._max_failures = max_failures
        self.cooldown_s = cooldown_s
        self._circuits: dict[str, _Circuit] = {}
        self._lock = threading.Lock()

    def open_circuits(self, now_s: float) -> frozenset[str]:
        """Return the providers that are in cooldown."""
        if not self._circuits:
            return frozenset()
        with self._lock:
            return frozenset(name for name, circuit in self._circuits.items() if circuit.open_until_s > now_s)

    def record_success(self, provider: str) -> None:
        """Reset the provider's failure count."""
        if provider in self._circuits:
            with self._lock:
                self._circuits.pop(provider, None)

    def record_failure(self, provider: str, now_s: float) -> bool:
        """Count a failure; return whether it opened the circuit."""
        if not self._max_failures:
            return False
        with self._lock:
            circuit = self._circuits.setdefault(provider, _Circuit())
            circuit.failures += 1
            if circuit.failures < self._max_failures or circuit.open_until_s > now_s:
                return False
            circuit.open_until_s = now_s + self.cooldown_s
            return True
