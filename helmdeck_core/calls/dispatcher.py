"""Drives one call: prepares and sends what the recovery says, times it, reads it, and tells what happened.

All that is decided here is when something is sent; what is tried is decided in ``recovering``.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import random
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Generic, TypeVar

import attrs

from helmdeck_core.calls.answer_shape import AnswerShapeCheck
from helmdeck_core.calls.attempt_log import AttemptLog, AttemptState
from helmdeck_core.calls.call_events import CallEvents
from helmdeck_core.calls.circuit_breaker import CircuitBreaker
from helmdeck_core.calls.completer import Completer
from helmdeck_core.calls.models import with_names
from helmdeck_core.calls.operation import CallResult, Operation, fingerprint, provider_of
from helmdeck_core.calls.provider_pool import ProviderPool
from helmdeck_core.calls.recovery import (
    SENT_BEFORE,
    AttemptFailure,
    Decision,
    NextAttempt,
    RecoveryPolicy,
    WaitPolicy,
    rule_for,
)
from helmdeck_core.calls.watchdog import ReasoningWatchdog, overrun, too_slow
from helmdeck_core.domain.chat import ChatDelta, ChatRequest, ChatResponse, StopReason
from helmdeck_core.domain.continuation import TerminalReason
from helmdeck_core.domain.events import CallRef, CooldownStarted, CostUnknown, StopReasonUnknown
from helmdeck_core.domain.recovery import CallLimits
from helmdeck_core.errors import CallFailed, FailureClass, LengthTruncated, LikelyTimeout, QuotaExhausted
from helmdeck_core.errors.attempts import RequestKind, Usage
from helmdeck_core.resolve.runtime import Runtime
from helmdeck_core.timeouts import Limited

T = TypeVar("T")

NOTHING = Usage()

MOST_UNKNOWN_STOPS = 1_000
"""Words that are remembered as reported; providers choose them, so that memory needs a bound."""


class Dispatcher:
    """Runs calls over one gateway.

    :param clock: seconds that only grow.
    :param sleep: waits for some seconds.
    :param jitter: gives numbers from 0 to 1.
    """

    def __init__(
        self,
        runtime: Runtime,
        gateway: ProviderPool,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        rules = runtime.config.recovery
        self.runtime = runtime
        self.gateway = gateway
        self.clock = clock
        self.sleep = sleep
        self.completer = Completer(runtime, gateway, clock)
        self.cooling = CircuitBreaker(rules.cool_down_after, rules.cool_down_s)
        self._jitter = jitter
        self._limits = CallLimits(
            max_attempts=rules.max_attempts,
            deadline_s=rules.deadline_s or None,
            max_cost_usd=rules.max_cost_usd,
        )
        self.think_share = rules.think_share
        self.patience = WaitPolicy(
            backoff_s=rules.backoff_s, max_wait_s=rules.max_wait_s, attempt_share=rules.attempt_share
        )
        self._unknown_stops: set[tuple[str, str, str]] = set()
        self._without_price: set[str] = set()

    async def run(
        self, work: Operation[T], model: str, *, pack: str, caller: str, limits: CallLimits, parent: str = ""
    ) -> CallResult[T]:
        """Ask until there is an answer, or nothing is left that could be tried.

        :param parent: the call that this one helps.
        :raises CallFailed: the last failure, with all attempts.
        """
        done: CallResult[T] | None = None
        async for each in self._call(work, pack, caller, model, limits, parent).course(streams=False):
            done = each if isinstance(each, CallResult) else None
        assert done is not None
        return done

    def stream(
        self, work: Operation[T], model: str, *, pack: str, caller: str, limits: CallLimits
    ) -> AsyncGenerator[Sequence[ChatDelta] | CallResult[T], None]:
        """The same in pieces, and last what they come to. Another model takes over as long as nothing was said.

        :raises CallFailed: the last failure; after the first visible piece, the one that broke the answer off.
        """
        return self._call(work, pack, caller, model, limits).course(streams=True)

    def _call(
        self, work: Operation[T], pack: str, caller: str, model: str, limits: CallLimits, parent: str = ""
    ) -> _Call[T]:
        policy = RecoveryPolicy(
            self.runtime.recovery_rules,
            self.runtime.chain(model),
            limits.within(self._limits),
            self.patience,
            self.clock(),
            moves_on_at=self.runtime.config.recovery.fallback_on,
            drops_turns=self.runtime.config.recovery.drop_turns,
            is_free=self._is_free,
            window_of=self._window_of,
            jitter=self._jitter,
        )
        call = CallRef(call_id=secrets.token_hex(8), pack=pack, caller=caller)
        return _Call(self, work, call, policy, model, parent)

    def _window_of(self, model: str) -> int | None:
        found = self.runtime.budgets.find(model)
        return None if found.is_fallback else found.budget.input_tokens

    def _is_free(self, model: str) -> bool:
        return self.runtime.pricer.is_free(self.runtime.budgets.find(model).budget, model)

    def report_unknown_cost(self, model: str) -> None:
        """Report, once per model, that a cost limit cannot count what it costs."""
        if model not in self._without_price and len(self._without_price) < MOST_UNKNOWN_STOPS:
            self._without_price.add(model)
            if self.runtime.sinks:
                self.runtime.emit(CostUnknown(model=model))

    def report_rest(self, provider: str, cause: FailureClass) -> None:
        """Report that a provider is left alone for a while."""
        if self.runtime.sinks:
            self.runtime.emit(CooldownStarted(provider=provider, seconds=self.cooling.seconds, cause=cause))

    def report(self, request: ChatRequest, response: ChatResponse) -> None:
        """Report a stop reason that nobody knows, once per provider, model and word."""
        if response.stop_reason is StopReason.UNKNOWN and response.raw_stop_reason:
            seen = (provider_of(request.model), request.model, response.raw_stop_reason)
            if seen not in self._unknown_stops and len(self._unknown_stops) < MOST_UNKNOWN_STOPS:
                self._unknown_stops.add(seen)
                if self.runtime.sinks:
                    self.runtime.emit(StopReasonUnknown(provider=seen[0], model=seen[1], raw=seen[2]))


class _Refused(Exception):
    """The request that was made must not be sent; the argument says why."""


class _Call(Generic[T]):
    """One call."""

    def __init__(
        self, home: Dispatcher, work: Operation[T], call: CallRef, policy: RecoveryPolicy, model: str, parent: str
    ) -> None:
        self._home = home
        self._work = work
        self._call = call
        self._policy = policy
        self._model = model
        self._parent = parent
        self._teller = CallEvents(home.runtime, call, model)
        self._start_s = home.clock()
        self._trail = AttemptLog(self._teller, call, policy, home.runtime.pricer, home.report_unknown_cost)
        self._streams = False
        # Models that only repeated an answer when they were asked to go on with it.
        self._repeating: set[str] = set()

    async def course(self, *, streams: bool) -> AsyncGenerator[Sequence[ChatDelta] | CallResult[T], None]:
        """Everything that is tried: pieces, where they are wanted, and last the answer."""
        home, policy = self._home, self._policy
        self._streams = streams
        failure: CallFailed | None = None
        done: CallResult[T] | None = None
        number = 1
        try:
            self._teller.started(self._parent)
            step: Decision = policy.begin(self._start_s, home.cooling.resting(self._start_s))
            while done is None and isinstance(step, NextAttempt):
                this = AttemptState(step, self._call if number == 1 else attrs.evolve(self._call, attempt=number))
                try:
                    if streams:
                        async with self._limit(this):
                            await self._send_off(this)
                        async with contextlib.aclosing(self._pieces(this)) as batches:
                            async for batch in batches:
                                yield batch
                                del batch  # so that no traceback with variables shows what was said
                        async with contextlib.aclosing(self._continued(this)) as batches:
                            async for batch in batches:
                                yield batch
                                del batch  # so that no traceback with variables shows what was said
                    else:
                        async with self._limit(this):
                            await self._send_off(this)
                            await self._answered(this)
                    value = self._read(this)
                except _Refused as exc:
                    now_s = home.clock()
                    step = policy.refused(now_s, home.cooling.resting(now_s), str(exc))
                except CallFailed as exc:
                    self._trail.goes_on(step)
                    failure = home.gateway.hushed(exc, this.ask.model)
                    step = self._failed(this, failure)
                    number += 1
                else:
                    done = self._done(this, value)
        except BaseException as exc:  # the caller went away, or a plugin failed
            self._teller.aborted(exc, number, home.clock() - self._start_s, self._trail.untold)
            raise
        if done is not None:
            yield done
            return
        assert failure is not None
        assert not isinstance(step, NextAttempt)
        deadline_s = policy.deadline_s
        left_s = None if deadline_s is None else deadline_s - home.clock()
        failure = await with_names(home.gateway, failure, policy.attempts[-1].model, left_s)
        raise self._trail.ended(failure, step.reason, home.clock() - self._start_s)

    @contextlib.asynccontextmanager
    async def _limit(self, this: AttemptState) -> AsyncGenerator[None, None]:
        """The time of one attempt."""
        left_s = None if this.ask.until_s is None else this.ask.until_s - self._home.clock()
        scope = asyncio.timeout(left_s)
        try:
            async with scope:
                yield
        except TimeoutError as exc:
            if not scope.expired():
                raise
            raise self._too_slow(this) from exc

    async def _send_off(self, this: AttemptState) -> None:
        """Prepare, and wait until it is time to send."""
        this.prepared = prepared = await self._work.prepare(this.ask, this.call, self._trail.helped)
        if self._policy.has_seen and self._policy.is_spent(fingerprint(prepared.request)):
            raise _Refused(SENT_BEFORE)
        if this.ask.left_usd is not None and (too_dear := self._too_dear(this, prepared.request)):
            if self._policy.attempts:
                raise _Refused(too_dear)
            headline = "the request would cost more than the call may"
            raise QuotaExhausted(headline, model=this.ask.model, sub_cause="cost_limit", detail=too_dear)
        self._trail.goes_on(this.ask)
        if this.ask.wait_s:
            await self._home.sleep(this.ask.wait_s)
        this.sent_s = self._home.clock()
        self._teller.sent(this.ask, this.call, prepared)

    def _too_dear(self, this: AttemptState, request: ChatRequest, paid: Usage = NOTHING) -> str:
        """Why the cost limit does not allow a request; empty where it does.

        :param paid: tokens of this attempt so far.
        """
        if this.ask.left_usd is None or this.prepared is None:
            return ""
        pricer, budget = self._home.runtime.pricer, this.prepared.budget
        left_usd = this.ask.left_usd - self._trail.help_usd - (pricer.cost_usd(budget, request.model, paid) or 0.0)
        most_usd = self._policy.limits.max_cost_usd
        if left_usd <= 0:
            return "" if pricer.is_free(budget, request.model) else f"max_cost_usd {most_usd:g} reached"
        least_usd = pricer.least_usd(budget, request.model, request)
        if least_usd is None or least_usd <= left_usd:
            return ""
        return f"its input alone costs about {least_usd:.6f} US dollars, and {left_usd:.6f} are left of {most_usd:g}"

    def _refused(
        self, this: AttemptState, request: ChatRequest, kind: RequestKind, paid: Usage
    ) -> TerminalReason | None:
        """Whether a request that completes an answer must not be sent, and how the answer ends then."""
        if kind is RequestKind.CONTINUATION and request.model in self._repeating:
            return TerminalReason.NO_PROGRESS
        return TerminalReason.COST_LIMIT if self._too_dear(this, request, paid) else None

    async def _answered(self, this: AttemptState) -> None:
        """Send and receive. Models that think are watched, so that they do not think until the caller's time is over."""
        assert this.prepared is not None
        if this.prepared.budget.is_hybrid_reasoning:
            async with contextlib.aclosing(self._pieces(this)) as batches:
                async for _ in batches:
                    pass
        request, until_s = this.prepared.request, this.ask.until_s
        judge = AnswerShapeCheck(self._home.runtime, request, self._work.type)
        this.response = await self._home.completer.complete(
            request, judge, this.call, until_s, first=this.response, refuses=functools.partial(self._refused, this)
        )

    async def _continued(self, this: AttemptState) -> AsyncGenerator[Sequence[ChatDelta], None]:
        """What completes a streamed answer that was cut; the whole response stays with the attempt."""
        assert this.prepared is not None
        assert this.response is not None
        request = this.prepared.request
        judge = AnswerShapeCheck(self._home.runtime, request, self._work.type)
        more = self._home.completer.continued(
            request, this.response, judge, this.call, this.ask.until_s, refuses=functools.partial(self._refused, this)
        )
        async with contextlib.aclosing(more):
            async for batch in more:
                if isinstance(batch, ChatResponse):
                    this.response = batch
                else:
                    yield batch

    async def _pieces(self, this: AttemptState) -> AsyncGenerator[Sequence[ChatDelta], None]:
        """Send, and give the pieces on as they come; the response stays with the attempt."""
        assert this.prepared is not None
        assert this.sent_s is not None
        home, budget, until_s = self._home, this.prepared.budget, this.ask.until_s
        most_tokens = speak_by_s = None
        if budget.is_hybrid_reasoning:
            limit = this.prepared.request.max_tokens
            most_tokens = None if limit is None else limit * home.think_share
            speak_by_s = None if until_s is None else this.sent_s + (until_s - this.sent_s) * home.think_share
        has_form = self._work.type is not None or this.prepared.request.response_format is not None
        watch = ReasoningWatchdog(home.runtime.decoder.stream(), most_tokens, has_form=has_form)
        now_s = asyncio.get_running_loop().time
        async with contextlib.aclosing(home.gateway.stream(this.prepared.request)) as batches:
            while this.response is None:
                by_s = until_s if this.has_spoken or speak_by_s is None else speak_by_s
                left_s = None if by_s is None else by_s - home.clock()
                step = Limited(batches.__anext__().__await__(), None if left_s is None else now_s() + left_s)
                try:
                    batch = await step
                except TimeoutError as exc:
                    if not step.has_expired:
                        raise
                    raise self._too_slow(this, watch) from exc
                if isinstance(batch, ChatResponse):
                    this.response = batch
                    return
                given = watch.feed(batch)
                this.has_spoken = watch.has_spoken
                if given:
                    yield given
                del batch, given
                if watch.is_overrun:
                    raise self._overrun(this, watch, LengthTruncated)
                if watch.is_spinning:
                    # As much as the limit would have left of it, without paying for the rest.
                    this.guess(watch)
                    latency_s = home.clock() - this.sent_s
                    this.response = ChatResponse(
                        text=watch.text, stop_reason=StopReason.MAX_TOKENS, usage=this.guessed, latency_s=latency_s
                    )

    def _read(self, this: AttemptState) -> T:
        assert this.prepared is not None
        assert this.response is not None
        if this.prepared.downgrades:
            downgrades = (*this.response.downgrades, *this.prepared.downgrades)
            this.response = attrs.evolve(this.response, downgrades=downgrades)
        if (record := this.response.continuation) is not None and record.terminal_reason is TerminalReason.NO_PROGRESS:
            self._repeating.add(this.prepared.request.model)
        self._home.report(this.prepared.request, this.response)
        self._teller.answered(this.call, this.prepared.request.model, this.response)
        return self._work.read(this.prepared, this.response)

    # -- how it ended --------------------------------------------------------------------------------------

    def _done(self, this: AttemptState, value: T) -> CallResult[T]:
        assert this.prepared is not None
        assert this.response is not None
        self._home.cooling.worked(provider_of(this.ask.model))
        return CallResult(
            value=value,
            call=this.call,
            model=self._model,
            total_s=self._home.clock() - self._start_s,
            prepared=this.prepared,
            response=this.response,
            attempts=self._trail.answered(this),
        )

    def _failed(self, this: AttemptState, failure: CallFailed) -> Decision:
        home = self._home
        attempt = self._trail.failed(this, failure, home.clock() - this.sent_s if this.sent_s is not None else 0.0)
        disposition = home.runtime.disposition(this.response) if this.response is not None else None
        budget = this.prepared.budget if this.prepared else home.runtime.budgets.find(this.ask.model).budget
        failed = AttemptFailure(
            failure=failure,
            attempt=attempt,
            budget=budget,
            disposition=disposition,
            fingerprint=fingerprint(this.prepared.request) if this.prepared and attempt.is_sent else "",
            helpers=self._trail.take_helpers(attempt.number),
            final=self._final(this, failure),
        )
        now_s = home.clock()
        rule = rule_for(home.runtime.recovery_rules, failure, disposition)
        provider = provider_of(this.ask.model)
        if rule is not None and rule.value.counts_against_provider and home.cooling.failed(provider, now_s):
            home.report_rest(provider, failure.failure_class)
        return self._policy.failed(failed, now_s, home.cooling.resting(now_s))

    def _final(self, this: AttemptState, failure: CallFailed) -> str:
        """Why nobody else may be asked, whatever the rules say."""
        if self._streams and this.has_spoken:
            return "a part of the answer was given on already, and is not said twice"
        return "the caller takes an empty answer" if self._work.is_final(failure) else ""

    def _too_slow(self, this: AttemptState, watch: ReasoningWatchdog | None = None) -> CallFailed:
        """The time of the attempt is over; of one that was watched, it may be that only its thoughts took too long."""
        home = self._home
        now_s, deadline_s, until_s = home.clock(), self._policy.deadline_s, this.ask.until_s
        if watch is not None and watch.thought_tokens and until_s is not None and now_s < until_s:
            return self._overrun(this, watch, LikelyTimeout)
        if watch is not None and (watch.thought_tokens or watch.has_spoken):
            this.guess(watch)
        limit_s, latency_s = self._policy.limits.deadline_s, now_s - this.sent_s if this.sent_s is not None else 0.0
        share = home.patience.attempt_share if deadline_s is not None and now_s < deadline_s else None
        return too_slow(this.ask.model, latency_s, now_s - self._start_s, limit_s, share)

    def _overrun(self, this: AttemptState, watch: ReasoningWatchdog, kind: type[CallFailed]) -> CallFailed:
        assert this.sent_s is not None
        this.guess(watch)
        return overrun(kind, this.ask.model, self._home.clock() - this.sent_s, watch, self._home.think_share)
