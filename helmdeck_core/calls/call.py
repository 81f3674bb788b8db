"""One call: its attempts, the time and cost limits of each, and the decision after a failure."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, Awaitable, Iterator, Sequence
from types import TracebackType
from typing import Generic, Self, TypeVar

import attrs

from helmdeck_core.calls.answer_shape import AnswerShapeCheck
from helmdeck_core.calls.attempt_log import NO_USAGE, AttemptLog, AttemptState, RequestRefused
from helmdeck_core.calls.call_events import CallEvents
from helmdeck_core.calls.call_services import CallServices
from helmdeck_core.calls.chat_operation import is_json
from helmdeck_core.calls.completer import TurnSetup
from helmdeck_core.calls.models import suggest_models
from helmdeck_core.calls.new_text import NewText
from helmdeck_core.calls.operation import SETTLED, CallOptions, CallResult, Operation, copy_response, fingerprint
from helmdeck_core.calls.partial_answer import PartialAnswer, TruncatedText, without_repetition
from helmdeck_core.calls.provider_client import Chunks
from helmdeck_core.calls.recovery_policy import SENT_BEFORE, AttemptFailure, Decision, NextAttempt, RecoveryPolicy
from helmdeck_core.calls.response_failures import interrupted_failure
from helmdeck_core.calls.visible_text import VisibleText, may_start_in_reasoning, read_aside, visible_response
from helmdeck_core.calls.watchdog import ReasoningWatchdog, reasoning_failure, silence_failure, timeout_failure
from helmdeck_core.domain.chat import ChatDelta, ChatRequest, ChatResponse, StopReason
from helmdeck_core.domain.continuation import TerminalReason
from helmdeck_core.domain.events import CallRef
from helmdeck_core.errors import (
    Attempt,
    CallFailed,
    LengthTruncated,
    LikelyTimeout,
    QuotaExhausted,
    RequestKind,
    Usage,
)
from helmdeck_core.timeouts import Deadline, Limited

T = TypeVar("T")


class Call(Generic[T]):
    """One call; as a context manager it reports that the call was aborted.

    :ivar result: the result, once an attempt gave one.
    :ivar ref: identifies the call.
    :ivar model: the model that is called.
    :ivar current: the current attempt; ``None`` before the first.
    :ivar order: the order of a chain policy; ``None`` for the configured one.
    :param first: the call that this one is the second request of; their attempts are those of one call.
    """

    def __init__(
        self,
        services: CallServices,
        operation: Operation[T],
        options: CallOptions,
        *,
        streams: bool = False,
        first: Call[T] | None = None,
    ) -> None:
        self.services = services
        self._operation, self._options, self._streams, self._is_second = operation, options, streams, first is not None
        self.ref: CallRef = options.new_ref() if first is None else first.ref
        self._start_s = services.clock()
        self.order = order = services.chains.order(operation.chain_facts, options)
        chain = services.chains.configured(options) if order is None else order.models
        self._policy = RecoveryPolicy(services.recovery, chain, options.limits, self._start_s)
        self._policy.thresholds = () if order is None else order.thresholds
        self.events: CallEvents = first.events if first else CallEvents(services, self.ref, options.model)
        self.log: AttemptLog = AttemptLog(self.events, self.ref, self._policy, services, first.log if first else None)
        self._failure: CallFailed | None = None
        self.model: str = options.model
        self._reason = ""
        self._repeating: set[str] = set()  # models that only repeated a response when it was to be continued
        self._counted: set[str] = set()
        self._partial, self._truncated = PartialAnswer(), TruncatedText()
        self._new_reasoning = NewText()
        self.result: CallResult[T] | None = None
        self.current: AttemptState | None = None
        self._unsure: tuple[AttemptState, T] | None = None  # the answer that is used if no other model answers

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, traceback: TracebackType | None) -> None:
        if error is not None:  # the caller closed the stream or cancelled, or a plugin failed
            self.services.health.leave(self.model, self, has_verdict=False)
            if self.current is not None and self.log.is_running(self.current):
                self.log.record_texts(self.current)
            self.log.report_aborted(error)
        self.services.chains.record(self.order, (self.result or self._policy).attempts)

    def attempts(self) -> Iterator[AttemptState]:
        """Yield attempts until one gives the result or none is left."""
        if not self._is_second:
            self.events.call_started(self._options.parent)
            self.services.chains.report(self.ref, self.order)
        step: Decision = self._policy.begin(self._start_s, self.services.health.unavailable(self._start_s))
        while isinstance(step, NextAttempt):
            self.model = step.model
            self.services.health.record_attempt(step, self.services.clock())
            self.current = this = AttemptState(step, self.log.ref)
            yield this
            if self.result is not None:
                return
            step = self._decide(this)
        self._reason = step.reason
        if self._unsure is not None:  # no other model answered
            self.result = self._result(*self._unsure, self.log.exhausted(step.reason))

    # -- one attempt ---------------------------------------------------------------------------------------

    async def prepare(self, this: AttemptState) -> None:
        """Make the request and wait until it is time to send it."""
        this.prepared = prepared = await self._operation.prepare(this.step, this.call, self.log.add_side_attempts)
        self.services.report_unknown_model(prepared.request.model)
        if prepared.settled is not None:
            this.response = SETTLED
            self.log.report_retry(this.step)
            return
        this.request = self._resumed(this)
        if self._policy.has_sent and self._policy.is_repeat(fingerprint(this.request)):
            raise RequestRefused(SENT_BEFORE)
        if too_expensive := self.log.over_cost_limit(this, this.request):
            if self._policy.attempts:
                raise RequestRefused(too_expensive)
            headline = "the request would cost more than the call may"
            raise QuotaExhausted(headline, model=this.step.model, sub_cause="cost_limit", detail=too_expensive)
        self.log.report_retry(this.step)
        if this.step.wait_s or not self.services.health.waits.is_empty:
            this.add_wait(await self.services.health.wait(this.step, self))
        this.sent_s = self.services.clock()
        self.events.request_sent(this.step, this.call, prepared)
        if self.services.client.can_stream(prepared.request.model):
            budget, is_alone = prepared.budget, self._policy.is_alone
            this.silence_s = self.services.runtime.first_token_timeout_s(budget, is_alone=is_alone)

    def _resumed(self, this: AttemptState) -> ChatRequest:
        """The request that continues what was delivered of the answer."""
        request, so_far = this.ready.request, self._partial.text
        return self.services.completer.resume(request, so_far) if so_far.strip() else request

    def complete(self, this: AttemptState) -> Awaitable[ChatResponse]:
        """Send the request and get the whole response.

        Reasoning models are streamed, so that a watchdog can stop them, and models with a limit for the first token.
        """
        has_watchdog = this.ready.budget.is_hybrid_reasoning or this.silence_s is not None
        if has_watchdog or self._partial.is_begun or self._options.streams:
            return self._complete_watched(this)
        return self.services.completer.complete(this.ready.request, self._turn_setup(this))

    async def _complete_watched(self, this: AttemptState) -> ChatResponse:
        async with contextlib.aclosing(self._first_chunks(this)) as batches:
            async for _ in batches:
                pass
        return await self.services.completer.complete(this.ready.request, self._turn_setup(this), this.response)

    async def stream(self, this: AttemptState) -> AsyncGenerator[Sequence[ChatDelta], None]:
        """Send the request, yield the chunks in batches, and read the whole response."""
        with this:
            with self.time_limit(this):
                await self.prepare(this)
            self._new_reasoning.begin()
            # Reasoning that a continuation starts with is separated before the texts are joined.
            visible = self._visible_text(this, is_resumed=self._partial.is_begun)
            for source in (self._first_chunks, self._continuation_chunks):
                async with contextlib.aclosing(source(this)) as batches:
                    async for batch in batches:
                        if chunks := without_repetition(visible.feed(batch), self._new_reasoning):
                            yield chunks
                        del batch, chunks  # so that no traceback with variables shows the text
            assert this.response is not None
            if rest := visible.finish(this.response.stop_reason):
                yield rest
            await self.read(this)

    async def _first_chunks(self, this: AttemptState) -> AsyncGenerator[Sequence[ChatDelta], None]:
        """The chunks of the first response; the whole response stays with the attempt."""
        assert this.request is not None
        watchdog, part, send = self._watchdog(this), None, self.services.client.stream(this.request)
        if self._partial.is_begun:
            part = self.services.completer.part_after(self._partial.text, this.request)
            send = self.services.completer.stream_resumed(this.request, functools.partial(self._resumed, this))
        async with contextlib.aclosing(send) as batches:
            while this.response is None:
                batch = await self._next_batch(this, batches, watchdog)
                if isinstance(batch, ChatResponse):
                    if part is not None:
                        part.feed(batch)
                        if rest := part.finish():
                            this.chunks.append((ChatDelta(rest),))
                            yield this.chunks[-1]
                        text = self._partial.text + part.shown
                        batch = copy_response(batch, text=text, reasoning_content=part.reasoning)
                    self._check_end(this, batch)
                    this.response = batch
                    return
                if not this.has_tokens:
                    this.first_token_s = this.elapsed_s(self.services.clock())
                    self.services.health.leave(this.step.model, self, has_verdict=True)
                chunks, this.has_tokens = watchdog.feed(batch), True
                this.has_output = watchdog.has_output
                if part is not None:
                    chunks = part.feed(chunks)
                if chunks:
                    this.chunks.append(chunks)
                    yield chunks
                del batch, chunks  # so that no traceback with variables shows the text
                self._apply_watchdog(this, watchdog)

    def _check_end(self, this: AttemptState, response: ChatResponse) -> None:
        """Reject a response whose stream ended without an end mark: a text is continued, any other is requested again."""
        is_kept = response.tool_calls or (this.has_output and not self._is_text(this))
        if not response.is_interrupted or is_kept:
            return
        if this.ready.request.response_format is not None and is_json(response.text):
            return
        raise interrupted_failure(response)

    def _is_text(self, this: AttemptState) -> bool:
        """Whether what was delivered can be continued as text; a typed answer starts again."""
        return self._operation.type is None and self.services.completer.can_resume(this.ready.request)

    async def _next_batch(
        self, this: AttemptState, batches: Chunks, watchdog: ReasoningWatchdog
    ) -> Sequence[ChatDelta] | ChatResponse:
        until_s = this.chunk_deadline(self.services.clock, self.services.think_share)
        step = Limited(batches.__anext__().__await__(), self.loop_time(until_s))
        try:
            return await step
        except TimeoutError as exc:
            if not step.has_expired:
                raise
            raise self.timeout(this, watchdog) from exc

    async def _continuation_chunks(self, this: AttemptState) -> AsyncGenerator[Sequence[ChatDelta], None]:
        """The chunks that complete a truncated stream; the whole response replaces the attempt's first one."""
        assert this.response is not None
        chunks = self.services.completer.continue_stream(this.ready.request, this.response, self._turn_setup(this))
        async with contextlib.aclosing(chunks):
            async for batch in chunks:
                if isinstance(batch, ChatResponse):
                    this.response = batch
                else:
                    yield batch

    async def read(self, this: AttemptState) -> None:
        """Read the result from the response."""
        prepared, response = this.ready, this.response
        assert response is not None
        if prepared.downgrades:
            response = attrs.evolve(response, downgrades=(*response.downgrades, *prepared.downgrades))
            this.response = response
        if (record := response.continuation) is not None and record.terminal_reason is TerminalReason.NO_PROGRESS:
            self._repeating.add(prepared.request.model)
        this.response = response = self._partial.joined(response, prepared.request.model)
        self.services.report_unknown_stop(prepared.request, response)
        self.events.response_received(this.call, prepared.request.model, response)
        if self._operation.type is None:  # otherwise the decoder reads the text as received
            decoder, is_structured = self.services.runtime.decoder, self._is_structured(this)
            starts = prepared.budget.starts_in_reasoning and not self._partial.is_begun
            separate = functools.partial(visible_response, starts_in_reasoning=starts, is_structured=is_structured)
            separate = functools.partial(separate, response, decoder, is_stream=self._streams)
            response = await read_aside(response.text, separate)
            this.response = response
        value = await read_aside(response.text, self._operation.read, prepared, response)
        now_s, deadline_s = self.services.clock(), self._policy.deadline_s
        if deadline_s is not None and now_s > deadline_s:
            raise self.timeout(this)
        if (unsure := self._operation.unsure(prepared, value)) is not None:
            self._unsure = this, value
            raise unsure
        self.services.health.record_success(this.step.model, self, is_sent=this.sent_s is not None)
        self.result = self._result(this, value, self.log.record_success(this))

    def _result(self, this: AttemptState, value: T, attempts: tuple[Attempt, ...]) -> CallResult[T]:
        assert this.response is not None
        return CallResult(
            value=value,
            call=this.call,
            model=self._options.model,
            total_s=self.events.total_s,
            prepared=this.ready,
            response=this.response,
            attempts=attempts,
        )

    # -- limits of an attempt ------------------------------------------------------------------------------

    def _turn_setup(self, this: AttemptState) -> TurnSetup:
        budget = this.ready.budget
        may_start = may_start_in_reasoning(budget, this.response) and not self._partial.is_begun
        starts = may_start and budget.starts_in_reasoning
        check = AnswerShapeCheck(self.services.runtime, this.ready.request, self._operation.type, starts, may_start)
        return TurnSetup(check, this.call, this.step.until_s, functools.partial(self._forbids, this))

    def _forbids(
        self, this: AttemptState, request: ChatRequest, kind: RequestKind, used: Usage
    ) -> TerminalReason | None:
        """How a response ends whose continuation must not be sent; ``None`` where it may be sent."""
        if kind is RequestKind.CONTINUATION and request.model in self._repeating:
            return TerminalReason.NO_PROGRESS
        if self._operation.type is not None and not self.services.runtime.budgets.continues_typed(this.ready.budget):
            return TerminalReason.NOT_CONTINUED
        return TerminalReason.COST_LIMIT if self.log.over_cost_limit(this, request, used) else None

    def _watchdog(self, this: AttemptState) -> ReasoningWatchdog:
        request, max_tokens = this.ready.request, None
        if this.ready.budget.is_hybrid_reasoning and request.max_tokens is not None:
            max_tokens = request.max_tokens * self.services.think_share
        return ReasoningWatchdog(self._visible_text(this), max_tokens, is_structured=self._is_structured(this))

    def _visible_text(self, this: AttemptState, *, is_resumed: bool = False) -> VisibleText:
        is_past = is_resumed or (this.request is not None and this.request.continues)
        starts = this.ready.budget.starts_in_reasoning and not is_past
        is_structured = self._is_structured(this)
        return VisibleText(self.services.runtime.decoder, starts_in_reasoning=starts, is_structured=is_structured)

    def _is_structured(self, this: AttemptState) -> bool:
        return self._operation.type is not None or this.ready.request.response_format is not None

    def loop_time(self, until_s: float | None) -> float | None:
        """Convert a time on the deck's clock to the event loop's clock."""
        return None if until_s is None else asyncio.get_running_loop().time() + until_s - self.services.clock()

    def _apply_watchdog(self, this: AttemptState, watchdog: ReasoningWatchdog) -> None:
        if watchdog.exceeds_reasoning_limit:
            raise self._reasoning_failure(this, watchdog, LengthTruncated)
        if watchdog.is_blank_loop:
            # The same response as at the output limit, without paying for the rest.
            this.estimate()
            this.response = ChatResponse(
                text=self._partial.text + watchdog.text,
                stop_reason=StopReason.MAX_TOKENS,
                usage=this.estimated,
                latency_s=this.elapsed_s(self.services.clock()),
            )

    def timeout(self, this: AttemptState, watchdog: ReasoningWatchdog | None = None) -> CallFailed:
        """Return the failure of an attempt whose time is over, or only the time for its reasoning."""
        now_s, deadline_s, until_s = self.services.clock(), self._policy.deadline_s, this.step.until_s
        if watchdog is not None and this.is_silent and this.silence_s is not None:
            return silence_failure(
                this.step.model, this.elapsed_s(self.services.clock()), this.silence_s, is_first=not this.has_tokens
            )
        if watchdog is not None and watchdog.reasoning_tokens and until_s is not None and now_s < until_s:
            return self._reasoning_failure(this, watchdog, LikelyTimeout)
        # A timer may fire slightly early, so the limits are compared, not the clock.
        has_share = deadline_s is not None and until_s is not None and until_s < deadline_s
        share = self.services.recovery.waits.attempt_share if has_share else None
        return timeout_failure(
            this.step.model,
            this.elapsed_s(self.services.clock()),
            now_s - self._start_s,
            self._policy.limits.deadline_s,
            share,
        )

    @contextlib.contextmanager
    def time_limit(self, this: AttemptState) -> Iterator[None]:
        """Bound an attempt; a timeout becomes a ``CallFailed``."""
        deadline = Deadline(self.loop_time(this.step.until_s))
        try:
            with deadline:
                yield
        except TimeoutError as exc:
            if not deadline.has_expired:
                raise
            raise self.timeout(this) from exc

    def _reasoning_failure(self, this: AttemptState, watchdog: ReasoningWatchdog, kind: type[CallFailed]) -> CallFailed:
        this.estimate(watchdog.reasoning_tokens)
        return reasoning_failure(
            kind, this.step.model, this.elapsed_s(self.services.clock()), watchdog, self.services.think_share
        )

    # -- after a failure -----------------------------------------------------------------------------------

    def _decide(self, this: AttemptState) -> Decision:
        """Record the error of an attempt; return what follows."""
        error, this.error = this.error, None
        services = self.services
        if isinstance(error, RequestRefused):
            now_s = services.clock()
            services.health.leave(this.step.model, self, has_verdict=False)
            return self._policy.after_refusal(now_s, services.health.unavailable(now_s), str(error))
        assert error is not None
        self.log.report_retry(this.step)
        self._failure = services.client.pool.registry.redact(error, this.step.model)
        self._truncated.keep(this.step.model, this.response, self._failure)
        failed = self._attempt_failure(this, self._failure)
        now_s = services.clock()
        services.health.record_failure(failed, self, now_s, self._counted)
        decision = self._policy.after_failure(failed, now_s, services.health.unavailable(now_s))
        if isinstance(decision, NextAttempt):
            self.log.begin_next()
        return decision

    def _attempt_failure(self, this: AttemptState, failure: CallFailed) -> AttemptFailure:
        if this.chunks and this.response is None and failure.usage == NO_USAGE and this.estimated == NO_USAGE:
            this.estimate()
        attempt = self.log.record_failure(this, failure, this.elapsed_s(self.services.clock()))
        runtime, prepared = self.services.runtime, this.prepared
        is_final = self._operation.is_final(failure)
        final_reason = "the caller takes an empty answer" if is_final else self._keep_delivered(this)
        return AttemptFailure(
            failure=failure,
            attempt=attempt,
            budget=prepared.budget if prepared else runtime.budgets.find(this.step.model).budget,
            disposition=runtime.disposition(this.response) if this.response is not None else None,
            fingerprint=fingerprint(prepared.request) if prepared and attempt.is_sent else "",
            side_attempts=self.log.take_side_attempts(attempt.number),
            is_partial=self._partial.is_begun,
            final_reason=final_reason,
        )

    def _keep_delivered(self, this: AttemptState) -> str:
        """Keep what an interrupted attempt delivered, if it is to be continued; return why nothing else may follow."""
        is_shown = self._streams and (this.has_output or self._partial.is_begun)
        has_calls = any(delta.tool_call for batch in this.chunks for delta in batch)
        if this.response is None and this.has_output and self._is_text(this):
            if is_shown or not (has_calls or this.ready.request.response_format):
                deltas = [delta for batch in this.chunks for delta in batch]
                visible = self._visible_text(this, is_resumed=self._partial.is_begun)
                self._partial.add(this.ready.request.model, visible.feed(deltas))
        elif is_shown and self._is_text(this) and (rest := self._truncated.after(self._partial.text, this.response)):
            self._partial.add(this.ready.request.model, rest)
        elif this.response is not None or not self._partial.is_begun:
            self._partial.clear()
            return "the answer was delivered, and cannot be replaced" if is_shown else ""
        return ""

    async def fail(self) -> CallResult[T]:
        """Raise the last failure with all attempts.

        :raises CallFailed: always.
        """
        assert self._failure is not None
        services, left_s = self.services, self._policy.left_s(self.services.clock())
        failure = await suggest_models(services.client.pool, self._failure, self._policy.attempts[-1].model, left_s)
        failure = self.log.final_failure(failure, self._reason)
        raise self._truncated.attach(failure)
