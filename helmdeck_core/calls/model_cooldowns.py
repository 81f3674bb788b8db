"""Cooldowns of models: a circuit breaker for each model, or provider, that fails repeatedly. In memory, for one deck.

Its two numbers are ``cool_down_after`` and ``cool_down_s`` of ``[recovery]``. Cooldowns of the keys and servers of one provider are
in ``helmdeck_providers.routing.key_cooldowns``.
"""

from __future__ import annotations

import threading
from collections import Counter

import attrs

from helmdeck_core.domain.models import ModelId

MODELS_OF_A_PROVIDER = 2
"""Open circuits of models that open that of their provider: one broken model does not make its router unhealthy."""
MAX_MODELS = 1_000
"""Models that are counted; model ids come from callers."""


@attrs.define
class _Circuit:
    failures: int = 0
    open_until_s: float = float("-inf")


class CircuitBreaker:
    """Counts consecutive failed calls per model; thread-safe.

    :param max_failures: consecutive failures that open a circuit; 0 disables the breaker.
    :param cooldown_s: seconds for which a circuit stays open; then one call tests the model.
    """

    def __init__(self, max_failures: int, cooldown_s: float) -> None:
        self._max_failures = max_failures
        self.cooldown_s = cooldown_s
        self._circuits: dict[str, _Circuit] = {}
        self._lock = threading.Lock()

    def open_circuits(self, now_s: float) -> frozenset[str]:
        """Return the models that are in cooldown, and the providers with several of them."""
        if not self._circuits:
            return frozenset()
        with self._lock:
            models = [model for model, circuit in self._circuits.items() if circuit.open_until_s > now_s]
        providers = Counter(map(ModelId.provider_of, models))
        return frozenset((*models, *(name for name, count in providers.items() if count >= MODELS_OF_A_PROVIDER)))

    def record_attempt(self, model: str, now_s: float) -> None:
        """Record that a model is called: while a call tests a model after its cooldown, others do not."""
        circuit = self._circuits.get(model)
        if circuit is not None and circuit.failures >= self._max_failures:
            with self._lock:
                circuit.open_until_s = now_s + self.cooldown_s

    def record_success(self, model: str) -> None:
        """Reset the model's failure count."""
        if model in self._circuits:
            with self._lock:
                self._circuits.pop(model, None)

    def record_failure(self, model: str, now_s: float) -> bool:
        """Count a failed call; return whether it opened the circuit."""
        if not self._max_failures:
            return False
        with self._lock:
            if len(self._circuits) >= MAX_MODELS:
                self._circuits.clear()
            circuit = self._circuits.setdefault(model, _Circuit())
            circuit.failures += 1
            if circuit.failures < self._max_failures:
                return False
            was_closed = circuit.failures == self._max_failures
            circuit.open_until_s = now_s + self.cooldown_s
            return was_closed
