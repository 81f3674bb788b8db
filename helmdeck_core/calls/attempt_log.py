"""What a call leaves behind: every attempt, what it took, and what was done about it.

Of an attempt that failed nobody is told before it is clear what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from helmdeck_core.calls.call_events import CallEvents
from helmdeck_core.calls.operation import Prepared, provider_of
from helmdeck_core.calls.recovery import NextAttempt, RecoveryPolicy
from helmdeck_core.calls.watchdog import CHARS_PER_TOKEN, ReasoningWatchdog
from helmdeck_core.domain.chat import ChatResponse
from helmdeck_core.domain.events import CallRef
from helmdeck_core.errors import Attempt, AttemptRequest, CallFailed, FailureClass, Usage, total_cost
from helmdeck_core.resolve.prices import Pricer

NO_RULE = "no recovery rule applies"

_SILENT = FailureClass.LIKELY_TIMEOUT

FOR_THE_SELECTION = "selection"
"""The purpose of a call that settles which entries of a catalog are sent."""


@attrs.define
class AttemptState:
    """One attempt while it runs.

    :ivar guessed: about how many tokens it took, where the answer was cut off before the provider told; else nothing.
    """

    ask: NextAttempt
    call: CallRef
    prepared: Prepared | None = attrs.field(default=None, repr=False)
    sent_s: float | None = None
    has_spoken: bool = False
    response: ChatResponse | None = attrs.field(default=None, repr=False)
    guessed: Usage = Usage()

    def guess(self, watch: ReasoningWatchdog) -> None:
        """The answer is cut off: reckon what it took by what went out and what has come."""
        assert self.prepared is not None
        came = watch.thought_tokens + len(watch.text) // CHARS_PER_TOKEN
        went = sum(len(message.text) for message in self.prepared.request.messages) // CHARS_PER_TOKEN
        self.guessed = Usage(input_tokens=went, output_tokens=came, reasoning_tokens=watch.thought_tokens)


class AttemptLog:
    """The attempts of one call.

    :param report_unknown_cost: takes a model whose costs a limit cannot count.
    """

    def __init__(
        self,
        teller: CallEvents,
        call: CallRef,
        policy: RecoveryPolicy,
        pricer: Pricer,
        report_unknown_cost: Callable[[str], None],
    ) -> None:
        self._teller = teller
        self._call = call
        self._policy = policy
        self._pricer = pricer
        self._report_unknown_cost = report_unknown_cost
        self._helpers: tuple[Attempt, ...] = ()
        self.untold: Attempt | None = None

    def helped(self, attempts: Sequence[Attempt]) -> None:
        """Another call was made for the attempt that comes next; what cost nothing for sure is left out."""
        paid = [each for each in attempts if each.stop_reason or each.usage != Usage() or each.cause is _SILENT]
        self._helpers += tuple(attrs.evolve(attempt, purpose=FOR_THE_SELECTION) for attempt in paid)

    @property
    def help_usd(self) -> float:
        """What the other calls for this attempt cost, as far as that is known."""
        return sum(helper.cost_usd or 0.0 for helper in self._helpers)

    def take_helpers(self, number: int) -> tuple[Attempt, ...]:
        """The attempts of other calls for the attempt of this number."""
        helpers, self._helpers = self._helpers, ()
        return tuple(attrs.evolve(each, number=number) for each in helpers)

    def answered(self, this: AttemptState) -> tuple[Attempt, ...]:
        """The attempt gave the answer; returns all of them."""
        assert this.response is not None
        attempt = self._made(this, then="answered")
        self._teller.attempted(attempt)
        return (*self._policy.attempts, *self.take_helpers(attempt.number), attempt)

    def failed(self, this: AttemptState, failure: CallFailed, latency_s: float) -> Attempt:
        """The attempt gave nothing usable."""
        self.untold = self._made(
            this,
            cause=failure.failure_class,
            sub_cause=failure.sub_cause,
            latency_s=failure.latency_s or latency_s,
            status=failure.status,
            raw_length=failure.raw_length,
            request_id=failure.request_id,
            usage=failure.usage,
            # A stream that breaks off is paid for as far as it came.
            cost_usd=self._cost_usd(this, failure.usage)
            if this.response is None and failure.usage != Usage()
            else None,
        )
        return self.untold

    def goes_on(self, ask: NextAttempt) -> None:
        """Tell how the last attempt ended, now that it is clear what follows."""
        if self.untold is None:
            return
        again = ask.model == self.untold.model
        wait = f" after {ask.wait_s:.1f} s" if ask.wait_s else ""
        self._tell(f"again{wait}" if again else f"next model {ask.model}")

    def ended(self, failure: CallFailed, reason: str, total_s: float) -> CallFailed:
        """Nothing more is tried; returns the failure with everything that was."""
        if self.untold is not None:
            self._tell(f"given up: {reason or NO_RULE}", reason)
        *before, last = self._policy.attempts
        attempts, pack = (*before, *self.take_helpers(last.number), last), self._call.pack
        asked = failure.model or attempts[-1].model
        failure = attrs.evolve(
            failure,
            headline=failure.headline if failure.headline.startswith(pack) else f"{pack}: {failure.headline}",
            model=asked,
            provider=failure.provider or (provider_of(asked) if attempts[-1].is_sent else ""),
            attempt=attempts[-1].number,
            attempts=attempts,
            cost_usd=total_cost(attempts),
            call_id=self._call.call_id,
        )
        self._teller.gave_up(failure, reason or NO_RULE, total_s)
        return failure

    def _tell(self, then: str, reason: str = "") -> None:
        assert self.untold is not None
        told = attrs.evolve(self.untold, then=then, reason=reason)
        self.untold = None
        self._policy.attempts = (*self._policy.attempts[:-1], told)
        self._teller.attempted(told)

    def _made(self, this: AttemptState, **how: Any) -> Attempt:
        response = this.response
        if this.guessed != Usage():
            how |= {"usage": this.guessed, "cost_usd": self._cost_usd(this, this.guessed), "is_estimated": True}
        if response is not None:
            how |= {
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
                how["continuations"] = response.continuation.attempts
                if len(response.continuation.requests) > 1:
                    how |= self._several(this, response.continuation.requests)
        return Attempt(
            number=this.call.attempt,
            model=this.ask.model,
            waited_s=this.ask.wait_s,
            changed=this.ask.changed,
            is_sent=this.sent_s is not None,
            **how,
        )

    def _several(self, this: AttemptState, requests: Sequence[AttemptRequest]) -> dict[str, Any]:
        """What an attempt of several requests cost, one by one: prices may depend on how large a request is."""
        priced = tuple(attrs.evolve(each, cost_usd=self._cost_usd(this, each.usage)) for each in requests)
        return {"requests": priced, "cost_usd": total_cost(priced)}

    def _cost_usd(self, this: AttemptState, usage: Usage) -> float | None:
        assert this.prepared is not None
        model = this.prepared.request.model
        cost = self._pricer.cost_usd(this.prepared.budget, model, usage)
        if cost is None and self._policy.limits.max_cost_usd is not None:
            self._report_unknown_cost(model)
        return cost
