"""The services that all calls of a deck share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import attrs

from helmdeck_core.calls.circuit_breaker import CircuitBreaker
from helmdeck_core.calls.completer import Completer
from helmdeck_core.calls.provider_client import ProviderClient
from helmdeck_core.calls.recovery import RecoverySettings
from helmdeck_core.domain.chat import ChatRequest, ChatResponse, StopReason
from helmdeck_core.domain.events import CostUnknown, ModelUnknown, StopReasonUnknown
from helmdeck_core.domain.models import ModelId
from helmdeck_core.resolve.runtime import Runtime

MAX_REPORTED = 1_000
"""Models and stop reasons that are remembered as reported; providers choose the words, so memory needs a bound."""


@attrs.define(kw_only=True, eq=False)
class CallServices:
    """What all calls of a deck share.

    :ivar think_share: the share of time and output tokens that a reasoning model may spend before visible output.
    :ivar clock: a monotonic clock in seconds.
    :ivar sleep: waits for a number of seconds.
    """

    runtime: Runtime
    client: ProviderClient
    completer: Completer
    circuit_breaker: CircuitBreaker
    recovery: RecoverySettings
    think_share: float
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    _reported_stops: set[tuple[str, str, str]] = attrs.field(factory=set, init=False)
    _reported_costs: set[str] = attrs.field(factory=set, init=False)
    _reported_models: set[str] = attrs.field(factory=set, init=False)

    def report_unknown_cost(self, model: str) -> None:
        """Emit, once per model, that a cost limit cannot count its cost."""
        if model not in self._reported_costs and len(self._reported_costs) < MAX_REPORTED:
            self._reported_costs.add(model)
            if self.runtime.sinks:
                self.runtime.emit(CostUnknown(model=model))

    def report_unknown_model(self, model: str) -> None:
        """Emit, once per model, that no budget row applies to it."""
        if model not in self._reported_models and len(self._reported_models) < MAX_REPORTED:
            self._reported_models.add(model)
            if self.runtime.sinks and (notice := self.runtime.budgets.find(model).notice):
                self.runtime.emit(ModelUnknown(model=model, notice=notice))

    def report_unknown_stop(self, request: ChatRequest, response: ChatResponse) -> None:
        """Emit an unknown stop reason, once per provider, model and word."""
        if response.stop_reason is not StopReason.UNKNOWN or not response.raw_stop_reason:
            return
        key = (ModelId.provider_of(request.model), request.model, response.raw_stop_reason)
        if key not in self._reported_stops and len(self._reported_stops) < MAX_REPORTED:
            self._reported_stops.add(key)
            if self.runtime.sinks:
                self.runtime.emit(StopReasonUnknown(provider=key[0], model=key[1], raw=key[2]))
