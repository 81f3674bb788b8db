"""Emits the events of one call. Where no sink is active, no event object is created."""

from __future__ import annotations

from typing import Any

import attrs

from helmdeck_core.calls.call_services import CallServices
from helmdeck_core.calls.operation import Prepared
from helmdeck_core.calls.recovery_policy import NextAttempt
from helmdeck_core.domain.attempt_texts import AttemptTexts
from helmdeck_core.domain.chat import ChatRequest, ChatResponse, ToolCall
from helmdeck_core.domain.events import (
    AttemptEnded,
    CallAborted,
    CallExhausted,
    CallRef,
    CallStarted,
    ReasoningStripped,
    RequestSent,
)
from helmdeck_core.errors import Attempt, CallFailed


class CallEvents:
    """The events of one call.

    :ivar model: the requested model.
    :ivar records_texts: whether a sink records texts.
    """

    __slots__ = ("_call", "_clock", "_mask", "_model", "_runtime", "_start_s", "records_texts")

    def __init__(self, services: CallServices, call: CallRef, model: str) -> None:
        self._runtime = services.runtime
        self._mask = services.client.pool.registry.mask
        self.records_texts: bool = self._runtime.records_texts
        self._call = call
        self._model = model
        self._clock = services.clock
        self._start_s = services.clock()

    @property
    def total_s(self) -> float:
        """Seconds since the call started."""
        return self._clock() - self._start_s

    def call_started(self, parent: str) -> None:
        """The call starts."""
        if self._runtime.sinks:
            self._runtime.emit(CallStarted(**self._call.place, model=self._model, parent=parent))

    def request_sent(self, step: NextAttempt, call: CallRef, prepared: Prepared) -> None:
        """A request is sent."""
        if not self._runtime.sinks:
            return
        request, budget = prepared.request, prepared.budget
        self._runtime.emit(
            RequestSent(
                **call.place,
                model=request.model,
                tier=budget.tier,
                variant=prepared.variant,
                input_tokens=budget.input_tokens,
                max_tokens=request.max_tokens,
                max_catalog_bytes=budget.max_catalog_bytes,
                temperature=request.temperature,
                response_format=request.response_format.kind if request.response_format else "",
                changed=step.changed,
                waited_s=step.wait_s,
            )
        )

    def response_received(self, call: CallRef, model: str, response: ChatResponse) -> None:
        """A response is about to be read; reported where it contains reasoning."""
        if not self._runtime.sinks:
            return
        decoder, text = self._runtime.decoder, response.text
        within = len(text) - len(decoder.strip(text).text) if decoder.has_reasoning(text) else 0
        if chars := within + len(response.reasoning_content):
            tokens = response.usage.reasoning_tokens
            self._runtime.emit(ReasoningStripped(**call.place, model=model, chars=chars, tokens=tokens))

    def texts_ended(self, call: CallRef, request: ChatRequest, answer: str, tool_calls: tuple[ToolCall, ...]) -> None:
        """The texts of an attempt are complete; only sinks that record texts see them."""
        self._runtime.emit_texts(
            AttemptTexts(
                call_id=call.call_id, attempt=call.attempt, request=request, answer=answer, tool_calls=tool_calls, mask=self._mask
            )
        )  # fmt: skip

    def attempt_ended(self, attempt: Attempt) -> None:
        """An attempt ended, and the recovery decision is made."""
        if self._runtime.sinks:
            self._runtime.emit(AttemptEnded(**self._place(attempt.number), outcome=attempt))

    def call_exhausted(self, failure: CallFailed, reason: str) -> None:
        """The call ends without a usable response."""
        if not self._runtime.sinks:
            return
        self._runtime.emit(
            CallExhausted(
                **self._place(failure.attempt),
                model=self._model,
                cause=failure.failure_class,
                sub_cause=failure.sub_cause,
                raw_stop_reason=failure.raw_stop_reason,
                raw_length=failure.raw_length,
                latency_s=self.total_s,
                reason=reason,
            )
        )

    def call_aborted(self, error: BaseException, attempt: int, pending: Attempt | None) -> None:
        """The call is aborted.

        :param pending: the previous attempt, where it was not reported yet.
        """
        if not self._runtime.sinks:
            return
        if pending is not None:
            self.attempt_ended(attrs.evolve(pending, then="stopped: the call was aborted"))
        self._runtime.emit(
            CallAborted(**self._place(attempt), model=self._model, error=type(error).__name__, latency_s=self.total_s)
        )

    def _place(self, attempt: int) -> dict[str, Any]:
        return {**self._call.place, "attempt": attempt}
