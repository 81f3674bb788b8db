"""What all calls of a deck know about each model: its cooldown, the wait that its provider asked for, and its retry budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import attrs

from helmdeck_core.calls.model_cooldowns import CircuitBreaker
from helmdeck_core.calls.recovery_policy import AttemptFailure, NextAttempt, Rules, WaitPolicy, rule_for
from helmdeck_core.calls.retry_budget import RetryBudget
from helmdeck_core.calls.shared_waits import SharedWaits, WaitLimits
from helmdeck_core.domain.events import CooldownStarted, Event
from helmdeck_core.domain.models import ModelId


@attrs.frozen(kw_only=True, eq=False)
class ModelHealth:
    """Records the outcomes of calls. Times are seconds of the deck's clock."""

    breaker: CircuitBreaker
    waits: SharedWaits
    budget: RetryBudget
    limits: WaitPolicy
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    emit: Callable[[Event], None]
    rules: Rules

    def unavailable(self, now_s: float) -> frozenset[str]:
        """Return the models and providers that are not called while the chain has another one."""
        open_circuits = self.breaker.open_circuits(now_s)
        if self.waits.is_empty:
            return open_circuits
        patience_s = self.limits.patience_s
        return open_circuits | {model for model, left_s in self.waits.left(now_s).items() if left_s > patience_s}

    def record_attempt(self, step: NextAttempt, now_s: float) -> None:
        """Record that a model is called."""
        self.breaker.record_attempt(step.model, now_s)
        if not step.is_retry:
            self.budget.count_call(step.model, now_s)

    async def wait(self, step: NextAttempt, call: object) -> float:
        """Wait for the backoff of an attempt, and for the ``Retry-After`` of other calls; return the seconds of the latter.

        :param call: must call ``leave``.
        :raises CallFailed: the wait is too long.
        """
        begin_s = self.clock() + step.wait_s
        if step.wait_s:
            await self.sleep(step.wait_s)
        if not self.waits.applies_to(step.model):
            return 0.0
        start_s, limits = self.clock(), self.limits
        until_s = start_s + (limits.max_wait_s if step.is_last else limits.patience_s)
        if step.until_s is not None:
            until_s = min(until_s, step.until_s)
        wait_limits = WaitLimits(until_s=until_s, verdict_s=limits.patience_s)
        await self.waits.enter(step.model, call, wait_limits, begin_s)
        return self.clock() - start_s

    def leave(self, model: str, call: object, *, has_verdict: bool) -> None:
        """Report that an attempt is over, or that its answer begins."""
        if not self.waits.is_empty:
            self.waits.leave(model, call, has_verdict=has_verdict)

    def record_success(self, model: str, call: object, *, is_sent: bool = True) -> None:
        """Record an answer.

        :param is_sent: the model gave it; an answer without a request says nothing about the model.
        """
        if is_sent:
            self.breaker.record_success(model)
        self.leave(model, call, has_verdict=is_sent)

    def record_failure(self, failed: AttemptFailure, call: object, now_s: float, counted: set[str]) -> None:
        """Record a failed attempt, and report the cooldown that it starts.

        :param counted: the models against which the call counted already; it counts once for each.
        """
        model, rule = failed.attempt.model, rule_for(self.rules, failed.failure, failed.disposition)
        is_sent = failed.attempt.is_sent
        if rule is not None and rule.shares_wait and is_sent:
            self.waits.start(model, failed.failure, now_s)
        self.leave(model, call, has_verdict=is_sent)
        if rule is None or not rule.counts_against_provider or not is_sent or model in counted:
            return
        counted.add(model)
        if self.breaker.record_failure(model, now_s):
            provider, cause = ModelId.provider_of(model), failed.failure.failure_class
            self.emit(CooldownStarted(provider=provider, model=model, seconds=self.breaker.cooldown_s, cause=cause))
