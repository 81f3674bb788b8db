"""The services that all calls of a deck share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import attrs

from helmdeck_core.calls.chain_orders import ChainOrders
from helmdeck_core.calls.completer import Completer
from helmdeck_core.calls.model_health import ModelHealth
from helmdeck_core.calls.provider_client import ProviderClient
from helmdeck_core.calls.recovery_policy import RecoverySettings
from helmdeck_core.domain.chat import ChatRequest, ChatResponse, StopReason
from helmdeck_core.domain.events import CostUnknown, Event, ModelUnknown, StopReasonUnknown
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
    health: ModelHealth
    recovery: RecoverySettings
    chains: ChainOrders
    think_share: float
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    _reported: set[tuple[type[Event], str, str]] = attrs.field(factory=set, init=False)

    def report_unknown_cost(self, model: str) -> None:
        """Emit, once per model, that a cost limit cannot count its cost."""
        if self._is_new(CostUnknown, model):
            self.runtime.emit(CostUnknown(model=model))

    def report_unknown_model(self, model: str) -> None:
        """Emit, once per model, that no budget row applies to it."""
        if self._is_new(ModelUnknown, model) and (notice := self.runtime.budgets.find(model).notice):
            self.runtime.emit(ModelUnknown(model=model, notice=notice))

    def report_unknown_stop(self, request: ChatRequest, response: ChatResponse) -> None:
        """Emit an unknown stop reason, once per model and word."""
        raw = response.raw_stop_reason
        if response.stop_reason is StopReason.UNKNOWN and raw and self._is_new(StopReasonUnknown, request.model, raw):
            provider = ModelId.provider_of(request.model)
            self.runtime.emit(StopReasonUnknown(provider=provider, model=request.model, raw=raw))

    def _is_new(self, event: type[Event], model: str, word: str = "") -> bool:
        """Whether an event is to be emitted: there is a sink, and it was not reported before."""
        key = (event, model, word)
        if not self.runtime.sinks or key in self._reported or len(self._reported) >= MAX_REPORTED:
            return False
        self._reported.add(key)
        return True
