"""One call: its attempts, the time and cost limits of each, and the decision after a failure."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

import attrs

from helmdeck_core.calls.answer_shape import AnswerShapeCheck
from helmdeck_core.calls.attempt_log import NO_USAGE, AttemptLog, AttemptState, RequestRefused
from helmdeck_core.calls.call_events import CallEvents
from helmdeck_core.calls.circuit_breaker import CircuitBreaker
from helmdeck_core.calls.completer import Completer
from helmdeck_core.calls.continuation.turn import RequestGuard
from helmdeck_core.calls.models import suggest_models
from helmdeck_core.calls.operation import CallResult, Operation, fingerprint
from helmdeck_core.calls.provider_client import Chunks, ProviderClient
from helmdeck_core.calls.recovery import (
    SENT_BEFORE,
    AttemptFailure,
    Decision,
    NextAttempt,
    RecoveryPolicy,
    RecoverySettings,
    rule_for,
)
from helmdeck_core.calls.watchdog import ReasoningWatchdog, reasoning_failure, timeout_failure
from helmdeck_core.domain.chat import ChatDelta, ChatRequest, ChatResponse, StopReason
from helmdeck_core.domain.continuation import TerminalReason
from helmdeck_core.domain.events import CallRef, CooldownStarted, CostUnknown, ModelUnknown, StopReasonUnknown
from helmdeck_core.domain.models import ModelId
from helmdeck_core.domain.recovery import CallLimits
from helmdeck_core.errors import CallFailed, LengthTruncated, LikelyTimeout, QuotaExhausted, RequestKind, Usage
from helmdeck_core.resolve.runtime import Runtime
from helmdeck_guards.timeouts import Deadline, Limited

T = TypeVar("T")

MAX_REPORTED = 1_000
"""Models and stop reasons that are remembered as reported; providers choose the words, so memory needs a bound."""


@attrs.frozen(kw_only=True)
class CallOptions:
    """What a caller says about one call.

    :ivar model: the requested model.
    :ivar limits: the limits that apply, with the configuration's defaults.
    :ivar parent: the id of the call that this one is a side call of.
    """

    model: str
    pack: str
    caller: str
    limits: CallLimits
    parent: str = ""


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


class Call(Generic[T]):
    """One call; as a context manager it reports that the call was aborted.

    :ivar result: the result, once an attempt gave one.
    """

    def __init__(
        self, services: CallServices, operation: Operation[T], options: CallOptions, *, streams: bool = False
    ) -> None:
        self.services = services
        self._operation = operation
        self._options = options
        self._streams = streams
        self._ref = CallRef(call_id=os.urandom(8).hex(), pack=options.pack, caller=options.caller)
        self._start_s = services.clock()
        chain = services.runtime.chain(options.model)
        self._policy = RecoveryPolicy(services.recovery, chain, options.limits, self._start_s)
        self._events = CallEvents(services.runtime, self._ref, options.model)
        self._log = AttemptLog(
            self._events, self._ref, self._policy, services.runtime.pricer, services.report_unknown_cost
        )
        self._number = 1
        self._failure: CallFailed | None = None
        self._reason = ""
        # Models that only repeated a response when it was to be continued.
        self._repeating: set[str] = set()
        self.result: CallResult[T] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, traceback: TracebackType | None) -> None:
        if error is not None:  # the caller closed the stream or cancelled, or a plugin failed
            self._events.call_aborted(error, self._number, self.services.clock() - self._start_s, self._log.pending)

    def attempts(self) -> Iterator[AttemptState]:
        """Yield attempts until one gives the result or none is left."""
        self._events.call_started(self._options.parent)
        step: Decision = self._policy.begin(self._start_s, self.services.circuit_breaker.open_circuits(self._start_s))
        while isinstance(step, NextAttempt):
            this = AttemptState(step, self._ref if self._number == 1 else attrs.evolve(self._ref, attempt=self._number))
            yield this
            if self.result is not None:
                return
            step = self._decide(this)
        self._reason = step.reason

    # -- one attempt ---------------------------------------------------------------------------------------

    async def prepare(self, this: AttemptState) -> None:
        """Make the request and wait until it is time to send it."""
        this.prepared = prepared = await self._operation.prepare(this.step, this.call, self._log.add_side_attempts)
        self.services.report_unknown_model(prepared.request.model)
        if self._policy.has_sent and self._policy.is_repeat(fingerprint(prepared.request)):
            raise RequestRefused(SENT_BEFORE)
        if too_expensive := self._over_cost_limit(this, prepared.request):
            if self._policy.attempts:
                raise RequestRefused(too_expensive)
            headline = "the request would cost more than the call may"
            raise QuotaExhausted(headline, model=this.step.model, sub_cause="cost_limit", detail=too_expensive)
        self._log.report_retry(this.step)
        if this.step.wait_s:
            await self.services.sleep(this.step.wait_s)
        this.sent_s = self.services.clock()
        self._events.request_sent(this.step, this.call, prepared)

    def complete(self, this: AttemptState) -> Awaitable[ChatResponse]:
        """Send the request and get the whole response. Reasoning models are streamed, so that a watchdog can stop them."""
        if this.ready.budget.is_hybrid_reasoning:
            return self._complete_watched(this)
        return self.services.completer.complete(
            this.ready.request, self._check(this), this.call, this.step.until_s, guard=self._guard(this)
        )

    async def _complete_watched(self, this: AttemptState) -> ChatResponse:
        async with contextlib.aclosing(self._first_chunks(this)) as batches:
            async for _ in batches:
                pass
        return await self.services.completer.complete(
            this.ready.request,
            self._check(this),
            this.call,
            this.step.until_s,
            first=this.response,
            guard=self._guard(this),
        )

    async def stream(self, this: AttemptState) -> AsyncGenerator[Sequence[ChatDelta], None]:
        """Send the request, yield the chunks in batches, and read the whole response."""
        with this:
            with TimeLimit(self, this):
                await self.prepare(this)
            for source in (self._first_chunks, self._continuation_chunks):
                async with contextlib.aclosing(source(this)) as batches:
                    async for batch in batches:
                        yield batch
                        del batch  # so that no traceback with variables shows the text
            self.read(this)

    async def _first_chunks(self, this: AttemptState) -> AsyncGenerator[Sequence[ChatDelta], None]:
        """The chunks of the first response; the whole response stays with the attempt."""
        watchdog = self._watchdog(this)
        async with contextlib.aclosing(self.services.client.stream(this.ready.request)) as batches:
            while this.response is None:
                batch = await self._next_batch(this, batches, watchdog)
                if isinstance(batch, ChatResponse):
                    this.response = batch
                    return
                chunks = watchdog.feed(batch)
                this.has_output = watchdog.has_output
                if chunks:
                    yield chunks
                del batch, chunks  # so that no traceback with variables shows the text
                self._apply_watchdog(this, watchdog)

    async def _next_batch(
        self, this: AttemptState, batches: Chunks, watchdog: ReasoningWatchdog
    ) -> Sequence[ChatDelta] | ChatResponse:
        step = Limited(batches.__anext__().__await__(), self.loop_time(self._chunk_deadline(this)))
        try:
            return await step
        except TimeoutError as exc:
            if not step.has_expired:
                raise
            raise self.timeout(this, watchdog) from exc

    async def _continuation_chunks(self, this: AttemptState) -> AsyncGenerator[Sequence[ChatDelta], None]:
        """The chunks that complete a truncated stream; the whole response replaces the attempt's first one."""
        assert this.response is not None
        chunks = self.services.completer.continue_stream(
            this.ready.request,
            this.response,
            self._check(this),
            this.call,
            this.step.until_s,
            guard=self._guard(this),
        )
        async with contextlib.aclosing(chunks):
            async for batch in chunks:
                if isinstance(batch, ChatResponse):
                    this.response = batch
                else:
                    yield batch

    def read(self, this: AttemptState) -> None:
        """Read the result from the response."""
        prepared, response = this.ready, this.response
        assert response is not None
        if prepared.downgrades:
            response = attrs.evolve(response, downgrades=(*response.downgrades, *prepared.downgrades))
            this.response = response
        if (record := response.continuation) is not None and record.terminal_reason is TerminalReason.NO_PROGRESS:
            self._repeating.add(prepared.request.model)
        self.services.report_unknown_stop(prepared.request, response)
        self._events.response_received(this.call, prepared.request.model, response)
        value = self._operation.read(prepared, response)
        now_s, deadline_s = self.services.clock(), self._policy.deadline_s
        if deadline_s is not None and now_s > deadline_s:
            raise self.timeout(this)
        self.services.circuit_breaker.record_success(ModelId.provider_of(this.step.model))
        self.result = CallResult(
            value=value,
            call=this.call,
            model=self._options.model,
            total_s=now_s - self._start_s,
            prepared=prepared,
            response=response,
            attempts=self._log.record_success(this),
        )

    # -- limits of an attempt ------------------------------------------------------------------------------

    def _check(self, this: AttemptState) -> AnswerShapeCheck:
        return AnswerShapeCheck(self.services.runtime, this.ready.request, self._operation.type)

    def _guard(self, this: AttemptState) -> RequestGuard:
        return functools.partial(self._forbids, this)

    def _forbids(
        self, this: AttemptState, request: ChatRequest, kind: RequestKind, used: Usage
    ) -> TerminalReason | None:
        """How a response ends whose continuation must not be sent; ``None`` where it may be sent."""
        if kind is RequestKind.CONTINUATION and request.model in self._repeating:
            return TerminalReason.NO_PROGRESS
        return TerminalReason.COST_LIMIT if self._over_cost_limit(this, request, used) else None

    def _over_cost_limit(self, this: AttemptState, request: ChatRequest, used: Usage = NO_USAGE) -> str:
        """Why the cost limit forbids a request; empty where it does not.

        :param used: the usage of this attempt so far.
        """
        if this.step.left_usd is None:
            return ""
        pricer, budget = self.services.runtime.pricer, this.ready.budget
        left_usd = this.step.left_usd - self._log.side_cost_usd - (pricer.cost_usd(budget, request.model, used) or 0.0)
        limit_usd = self._policy.limits.max_cost_usd
        if left_usd <= 0:
            return "" if pricer.is_free(budget, request.model) else f"max_cost_usd {limit_usd:g} reached"
        least_usd = pricer.least_usd(budget, request.model, request)
        if least_usd is None or least_usd <= left_usd:
            return ""
        return f"its input alone costs about {least_usd:.6f} US dollars, and {left_usd:.6f} are left of {limit_usd:g}"

    def _watchdog(self, this: AttemptState) -> ReasoningWatchdog:
        request, max_tokens = this.ready.request, None
        if this.ready.budget.is_hybrid_reasoning and request.max_tokens is not None:
            max_tokens = request.max_tokens * self.services.think_share
        is_structured = self._operation.type is not None or request.response_format is not None
        return ReasoningWatchdog(self.services.runtime.decoder.stream(), max_tokens, is_structured=is_structured)

    def _chunk_deadline(self, this: AttemptState) -> float | None:
        """When the next chunk must be there; a reasoning model has a share of its time until the first visible output."""
        until_s = this.step.until_s
        if until_s is None or this.has_output or not this.ready.budget.is_hybrid_reasoning:
            return until_s
        assert this.sent_s is not None
        return this.sent_s + (until_s - this.sent_s) * self.services.think_share

    def loop_time(self, until_s: float | None) -> float | None:
        """Convert a time on the deck's clock to the event loop's clock."""
        return None if until_s is None else asyncio.get_running_loop().time() + until_s - self.services.clock()

    def _apply_watchdog(self, this: AttemptState, watchdog: ReasoningWatchdog) -> None:
        if watchdog.exceeds_reasoning_limit:
            raise self._reasoning_failure(this, watchdog, LengthTruncated)
        if watchdog.is_blank_loop:
            # The same response as at the output limit, without paying for the rest.
            this.estimate(watchdog)
            this.response = ChatResponse(
                text=watchdog.text,
                stop_reason=StopReason.MAX_TOKENS,
                usage=this.estimated,
                latency_s=self._elapsed_s(this),
            )

    def _elapsed_s(self, this: AttemptState) -> float:
        return self.services.clock() - this.sent_s if this.sent_s is not None else 0.0

    def timeout(self, this: AttemptState, watchdog: ReasoningWatchdog | None = None) -> CallFailed:
        """Return the failure of an attempt whose time is over, or only the time for its reasoning."""
        now_s, deadline_s, until_s = self.services.clock(), self._policy.deadline_s, this.step.until_s
        if watchdog is not None and watchdog.reasoning_tokens and until_s is not None and now_s < until_s:
            return self._reasoning_failure(this, watchdog, LikelyTimeout)
        if watchdog is not None and (watchdog.reasoning_tokens or watchdog.has_output):
            this.estimate(watchdog)
        # A timer may fire slightly early, so the limits are compared, not the clock.
        has_share = deadline_s is not None and until_s is not None and until_s < deadline_s
        share = self.services.recovery.waits.attempt_share if has_share else None
        return timeout_failure(
            this.step.model, self._elapsed_s(this), now_s - self._start_s, self._policy.limits.deadline_s, share
        )

    def _reasoning_failure(self, this: AttemptState, watchdog: ReasoningWatchdog, kind: type[CallFailed]) -> CallFailed:
        this.estimate(watchdog)
        return reasoning_failure(kind, this.step.model, self._elapsed_s(this), watchdog, self.services.think_share)

    # -- after a failure -----------------------------------------------------------------------------------

    def _decide(self, this: AttemptState) -> Decision:
        """Record the error of an attempt; return what follows."""
        error, this.error = this.error, None
        services = self.services
        if isinstance(error, RequestRefused):
            now_s = services.clock()
            return self._policy.after_refusal(now_s, services.circuit_breaker.open_circuits(now_s), str(error))
        assert error is not None
        self._log.report_retry(this.step)
        self._failure = services.client.pool.registry.redact(error, this.step.model)
        failed = self._attempt_failure(this, self._failure)
        now_s = services.clock()
        self._count_failure(failed, now_s)
        decision = self._policy.after_failure(failed, now_s, services.circuit_breaker.open_circuits(now_s))
        self._number += 1
        return decision

    def _attempt_failure(self, this: AttemptState, failure: CallFailed) -> AttemptFailure:
        attempt = self._log.record_failure(this, failure, self._elapsed_s(this))
        runtime, prepared = self.services.runtime, this.prepared
        final_reason = "the caller takes an empty answer" if self._operation.is_final(failure) else ""
        if self._streams and this.has_output:
            final_reason = "a part of the answer was given on already, and is not said twice"
        return AttemptFailure(
            failure=failure,
            attempt=attempt,
            budget=prepared.budget if prepared else runtime.budgets.find(this.step.model).budget,
            disposition=runtime.disposition(this.response) if this.response is not None else None,
            fingerprint=fingerprint(prepared.request) if prepared and attempt.is_sent else "",
            side_attempts=self._log.take_side_attempts(attempt.number),
            final_reason=final_reason,
        )

    def _count_failure(self, failed: AttemptFailure, now_s: float) -> None:
        """Count a failure against the provider if its rule counts it."""
        rule = rule_for(self.services.recovery.rules, failed.failure, failed.disposition)
        if rule is None or not rule.counts_against_provider:
            return
        runtime, breaker = self.services.runtime, self.services.circuit_breaker
        provider, cause = ModelId.provider_of(failed.attempt.model), failed.failure.failure_class
        if breaker.record_failure(provider, now_s) and runtime.sinks:
            runtime.emit(CooldownStarted(provider=provider, seconds=breaker.cooldown_s, cause=cause))

    async def fail(self) -> CallResult[T]:
        """Raise the last failure with all attempts.

        :raises CallFailed: always.
        """
        assert self._failure is not None
        services, deadline_s = self.services, self._policy.deadline_s
        left_s = None if deadline_s is None else deadline_s - services.clock()
        failure = await suggest_models(services.client.pool, self._failure, self._policy.attempts[-1].model, left_s)
        raise self._log.final_failure(failure, self._reason, services.clock() - self._start_s)


class TimeLimit:
    """Bounds an attempt; a timeout becomes a ``CallFailed``."""

    __slots__ = ("_call", "_deadline", "_this")

    def __init__(self, call: Call[Any], this: AttemptState) -> None:
        self._call, self._this = call, this
        self._deadline = Deadline(call.loop_time(this.step.until_s))

    def __enter__(self) -> None:
        self._deadline.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._deadline.__exit__(kind, error, traceback)
        except TimeoutError as exc:
            raise self._call.timeout(self._this) from exc
