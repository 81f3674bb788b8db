"""Records the attempts of one call: usage, cost, outcome. A failed attempt is reported after the recovery decision."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

import attrs

from helmdeck_core.calls.call_events import CallEvents
from helmdeck_core.calls.call_services import CallServices
from helmdeck_core.calls.model_text import CHARS_PER_TOKEN
from helmdeck_core.calls.operation import Prepared
from helmdeck_core.calls.recovery_policy import NextAttempt, RecoveryPolicy
from helmdeck_core.domain.chat import ChatDelta, ChatRequest, ChatResponse, ToolCall
from helmdeck_core.domain.events import CallRef
from helmdeck_core.domain.models import ModelId
from helmdeck_core.errors import Attempt, AttemptRequest, CallFailed, FailureClass, Usage, total_cost

NO_USAGE = Usage()

NO_RULE = "no recovery rule applies"

MIN_WAIT_S = 0.02

SELECTION_PURPOSE = "selection"
"""The purpose of a side call that narrows the selection."""


class RequestRefused(Exception):
    """The prepared request must not be sent; the argument is the reason."""


@attrs.define(eq=False)
class AttemptState:
    """One attempt while it runs; as a context manager it keeps the failure that ends the attempt.

    :ivar request: the request as sent; it differs from the prepared one where it continues an interrupted answer.
    :ivar chunks: what was delivered of the response.
    :ivar silence_s: the longest silence before a token; ``None`` for no limit.
    :ivar is_silent: whether the current limit is that of silence.
    :ivar has_tokens: whether any token arrived; ``first_token_s``, how many seconds after the request.
    :ivar has_output: whether anything visible arrived.
    :ivar error: the failure, or the refusal to send; ``None`` while there is none.
    :ivar estimated: estimated usage of a response that was aborted before the provider reported it.
    """

    step: NextAttempt
    call: CallRef
    prepared: Prepared | None = attrs.field(default=None, repr=False)
    request: ChatRequest | None = attrs.field(default=None, repr=False)
    sent_s: float | None = None
    silence_s: float | None = None
    is_silent: bool = False
    has_tokens: bool = False
    first_token_s: float = 0.0
    has_output: bool = False
    chunks: list[Sequence[ChatDelta]] = attrs.field(factory=list, repr=False)
    response: ChatResponse | None = attrs.field(default=None, repr=False)
    estimated: Usage = NO_USAGE
    error: CallFailed | RequestRefused | None = None

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, traceback: TracebackType | None) -> bool:
        if isinstance(error, (CallFailed, RequestRefused)):
            self.error = error
            return True
        return False

    @property
    def ready(self) -> Prepared:
        """The prepared request of an attempt that got that far."""
        assert self.prepared is not None
        return self.prepared

    def elapsed_s(self, now_s: float) -> float:
        """Seconds since the request was sent; 0 where none was."""
        return now_s - self.sent_s if self.sent_s is not None else 0.0

    def add_wait(self, seconds: float) -> None:
        """Add a wait that the provider asked other calls for; what a timer is early is none."""
        if seconds >= MIN_WAIT_S:
            step, note = self.step, f"waited {seconds:.1f} s for the Retry-After of another call"
            self.step = attrs.evolve(step, wait_s=step.wait_s + seconds, notes=(*step.notes, note))

    def chunk_deadline(self, clock: Callable[[], float], think_share: float) -> float | None:
        """Return when the next chunk must be there.

        A reasoning model has a share of its time until the first visible output. A silent model has less time; one that may
        write a tool call, which some servers deliver whole, only until its first token.
        """
        until_s, sent_s = self.step.until_s, self.sent_s
        assert sent_s is not None
        if until_s is not None and not self.has_output and self.ready.budget.is_hybrid_reasoning:
            until_s = sent_s + (until_s - sent_s) * think_share
        self.is_silent = False
        if self.silence_s is None or (self.has_tokens and self.ready.request.tools):
            return until_s
        limit_s = (clock() if self.has_tokens else sent_s) + self.silence_s
        self.is_silent = until_s is None or limit_s < until_s
        return limit_s if self.is_silent else until_s

    def estimate(self, reasoning_tokens: int = 0) -> None:
        """Estimate the usage of an aborted response, from the prompt and the chunks so far."""
        chars = sum(len(delta.text) + len(delta.reasoning_content) for batch in self.chunks for delta in batch)
        prompt = sum(len(message.text) for message in (self.request or self.ready.request).messages) // CHARS_PER_TOKEN
        output = max(reasoning_tokens, chars // CHARS_PER_TOKEN)
        self.estimated = Usage(input_tokens=prompt, output_tokens=output, reasoning_tokens=reasoning_tokens)


class AttemptLog:
    """The attempts of one call.

    :param first: the attempts of the first request, where this is the log of a second one of the same call.
    :ivar pending: the failed attempt that is not reported yet.
    :ivar number: the number of the attempt.
    :ivar numbers: the numbers of further attempts; two requests of one call share them.
    :ivar reports_end: whether the end of the call is reported; not while two requests may answer it.
    """

    def __init__(
        self,
        events: CallEvents,
        call: CallRef,
        policy: RecoveryPolicy,
        services: CallServices,
        first: AttemptLog | None = None,
    ) -> None:
        self._events = events
        self._call = call
        self._policy = policy
        self._pricer = services.runtime.pricer
        self._report_unknown_cost = services.report_unknown_cost
        self._side_attempts: tuple[Attempt, ...] = ()
        self.pending: Attempt | None = None
        self.numbers: Iterator[int] = itertools.count(1) if first is None else first.numbers
        self.number: int = next(self.numbers)
        self.reports_end: bool = first is None
        self._exhausted: tuple[CallFailed, str] | None = None

    @property
    def ref(self) -> CallRef:
        """Identifies the current attempt."""
        return self._call if self.number == 1 else attrs.evolve(self._call, attempt=self.number)

    def begin_next(self) -> None:
        """Number the next attempt."""
        self.number = next(self.numbers)

    def add_side_attempts(self, attempts: Sequence[Attempt]) -> None:
        """Add attempts of a side call; those that certainly cost nothing are left out."""
        paid = [
            each
            for each in attempts
            if each.stop_reason or each.usage != NO_USAGE or each.cause is FailureClass.LIKELY_TIMEOUT
        ]
        self._side_attempts += tuple(
            attrs.evolve(attempt, purpose=attempt.purpose or SELECTION_PURPOSE) for attempt in paid
        )

    @property
    def side_cost_usd(self) -> float:
        """Known cost of the side calls of this attempt."""
        return sum(attempt.cost_usd or 0.0 for attempt in self._side_attempts)

    def over_cost_limit(self, this: AttemptState, request: ChatRequest, used: Usage = NO_USAGE) -> str:
        """Return why the cost limit forbids a request; empty where it does not.

        :param used: the usage of this attempt so far.
        """
        if this.step.left_usd is None:
            return ""
        pricer, budget = self._pricer, this.ready.budget
        left_usd = this.step.left_usd - self.side_cost_usd - (pricer.cost_usd(budget, request.model, used) or 0.0)
        limit_usd = self._policy.limits.max_cost_usd
        if left_usd <= 0:
            return "" if pricer.is_free(budget, request.model) else f"max_cost_usd {limit_usd:g} reached"
        least_usd = pricer.least_usd(budget, request.model, request)
        if least_usd is None or least_usd <= left_usd:
            return ""
        return f"its input alone costs about {least_usd:.6f} US dollars, and {left_usd:.6f} are left of {limit_usd:g}"

    def take_side_attempts(self, number: int) -> tuple[Attempt, ...]:
        """Return the side attempts under this attempt's number, and forget them."""
        if not self._side_attempts:
            return ()
        attempts, self._side_attempts = self._side_attempts, ()
        return tuple(attrs.evolve(each, number=number) for each in attempts)

    def record_success(self, this: AttemptState) -> tuple[Attempt, ...]:
        """Record the attempt that gave the result; return all attempts."""
        attempt = self._attempt(this, then="answered")
        self.record_texts(this)
        self._events.attempt_ended(attempt)
        return (*self._policy.attempts, *self.take_side_attempts(attempt.number), attempt)

    def is_running(self, this: AttemptState) -> bool:
        """Whether the request of an attempt was sent, and it has neither a response nor a failure."""
        return this.response is None and self._is_open(this)

    def _is_open(self, this: AttemptState) -> bool:
        """Whether the request of an attempt was sent, and it has no outcome."""
        failed = self._policy.attempts
        is_over = bool(failed) and failed[-1].number == this.call.attempt
        return this.sent_s is not None and not is_over

    def cancel(self, this: AttemptState | None, now_s: float, then: str) -> tuple[Attempt, ...]:
        """Report the attempts of a call that is not needed; return all. Of one that ran, the usage is estimated."""
        if self.pending is not None:
            self._report_pending(then)
        if this is None or not self._is_open(this):
            return self._policy.attempts
        if this.response is None:
            this.estimate()
        attempt = self._attempt(this, cause=FailureClass.CANCELLED, latency_s=this.elapsed_s(now_s), then=then)
        self._events.attempt_ended(attempt)
        return (*self._policy.attempts, attempt)

    def record_failure(self, this: AttemptState, failure: CallFailed, latency_s: float) -> Attempt:
        """Record a failed attempt; it is reported once the recovery decision is known."""
        # An aborted stream is paid for up to that point.
        is_paid = this.response is None and failure.usage != NO_USAGE
        self.pending = self._attempt(
            this,
            cause=failure.failure_class,
            sub_cause=failure.sub_cause,
            latency_s=failure.latency_s or latency_s,
            status=failure.status,
            raw_length=failure.raw_length,
            request_id=failure.request_id,
            usage=failure.usage,
            cost_usd=self._cost_usd(this, failure.usage) if is_paid else None,
        )
        self.record_texts(this)
        return self.pending

    def record_texts(self, this: AttemptState) -> None:
        """Pass the texts of an attempt to the sinks that record them."""
        if not self._events.records_texts or this.sent_s is None:
            return
        answer, calls = "", tuple[ToolCall, ...]()
        if this.response is not None:
            answer, calls = this.response.text, this.response.tool_calls
        elif this.chunks:
            answer = "".join(delta.text for batch in this.chunks for delta in batch)
        self._events.texts_ended(this.call, this.request or this.ready.request, answer, calls)

    def report_retry(self, step: NextAttempt) -> None:
        """Report the pending attempt together with the step that follows it."""
        if self.pending is None:
            return
        is_same_model = step.model == self.pending.model
        wait = f" after {step.wait_s:.1f} s" if step.wait_s else ""
        why = f" ({step.reason})" if step.reason else ""
        self._report_pending(f"again{wait}{why}" if is_same_model else f"next model {step.model}{why}")

    def exhausted(self, reason: str) -> tuple[Attempt, ...]:
        """Report the pending attempt as the last one; return all attempts."""
        if self.pending is not None:
            self._report_pending(f"stopped: {reason or NO_RULE}", reason)
        *before, last = self._policy.attempts
        return (*before, *self.take_side_attempts(last.number), last)

    def final_failure(self, failure: CallFailed, reason: str) -> CallFailed:
        """Report that the call is exhausted; return the failure with all attempts."""
        attempts, pack = self.exhausted(reason), self._call.pack
        model = failure.model or attempts[-1].model
        failure = attrs.evolve(
            failure,
            headline=failure.headline if failure.headline.startswith(pack) else f"{pack}: {failure.headline}",
            model=model,
            provider=failure.provider or (ModelId.provider_of(model) if attempts[-1].is_sent else ""),
            attempt=attempts[-1].number,
            attempts=attempts,
            cost_usd=total_cost(attempts),
            call_id=self._call.call_id,
        )
        self._exhausted = failure, reason or NO_RULE
        if self.reports_end:
            self._events.call_exhausted(*self._exhausted)
        return failure

    def report_aborted(self, error: BaseException) -> None:
        """Report that the call is aborted."""
        if self.reports_end:
            self._events.call_aborted(error, self.number, self.pending)

    def report_end(self, error: BaseException) -> None:
        """Report the end of a call whose two requests both ended without a result."""
        self.reports_end = True
        if self._exhausted is not None and isinstance(error, CallFailed):
            self._events.call_exhausted(*self._exhausted)
        else:
            self.report_aborted(error)

    def _report_pending(self, then: str, reason: str = "") -> None:
        assert self.pending is not None
        attempt = attrs.evolve(self.pending, then=then, reason=reason)
        self.pending = None
        self._policy.attempts = (*self._policy.attempts[:-1], attempt)
        self._events.attempt_ended(attempt)

    def _attempt(self, this: AttemptState, **fields: Any) -> Attempt:
        if this.estimated != NO_USAGE:
            cost_usd = self._cost_usd(this, this.estimated)
            fields |= {"usage": this.estimated, "cost_usd": cost_usd, "is_estimated": True}
        if this.response is not None:
            fields |= self._response_fields(this, this.response)
        return Attempt(
            number=this.call.attempt,
            model=this.step.model,
            waited_s=this.step.wait_s,
            changed=this.step.changed,
            is_sent=this.sent_s is not None,
            first_token_s=this.first_token_s,
            **fields,
        )

    def _response_fields(self, this: AttemptState, response: ChatResponse) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "served_model": response.served_model,
            "stop_reason": response.stop_reason.value,
            "raw_stop_reason": response.raw_stop_reason,
            "usage": response.usage,
            "latency_s": response.latency_s,
            "raw_length": len(response.text.encode("utf-8", "surrogatepass")),
            "request_id": response.request_id,
            "cost_usd": self._cost_usd(this, response.usage),
        }
        if response.continuation is not None:
            fields["continuations"] = response.continuation.attempts
            if len(response.continuation.requests) > 1:
                fields |= self._request_fields(this, response.continuation.requests)
        return fields

    def _request_fields(self, this: AttemptState, requests: Sequence[AttemptRequest]) -> dict[str, Any]:
        """Requests with their own costs, since a price may depend on the size of a request."""
        priced = tuple(attrs.evolve(each, cost_usd=self._cost_usd(this, each.usage)) for each in requests)
        return {"requests": priced, "cost_usd": total_cost(priced)}

    def _cost_usd(self, this: AttemptState, usage: Usage) -> float | None:
        model = this.ready.request.model
        cost = self._pricer.cost_usd(this.ready.budget, model, usage)
        if cost is None and self._policy.limits.max_cost_usd is not None:
            self._report_unknown_cost(model)
        return cost
