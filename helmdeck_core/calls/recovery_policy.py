"""Decides what follows a failed attempt, by the rules of plugins. It performs no I/O, never waits and reads no clock.

The driver carries out a ``NextAttempt`` and reports its outcome. Contributed rules (``helmdeck_recovery.rules``) list actions in
order of preference; the policy takes the first one that the limits, the fallback chain and the requests already sent allow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import attrs

from helmdeck_core.domain.chat import Disposition, StopReason
from helmdeck_core.domain.models import Budget, ModelId
from helmdeck_core.domain.recovery_actions import (
    NO_REQUEST_CHANGES,
    PARTIAL_ANSWER,
    UNKNOWN_STOP,
    Action,
    CallLimits,
    FailureContext,
    NextModel,
    RecoveryRule,
    RequestChanges,
    Retry,
    Wait,
)
from helmdeck_core.errors import Attempt, CallFailed, FailureClass
from helmdeck_core.hooks.calls import Contribution

Rules = Mapping[str, Contribution[RecoveryRule]]

_SAME_FAILURE = frozenset(
    (
        FailureClass.SAFETY_FILTERED,
        FailureClass.LENGTH_TRUNCATED,
        FailureClass.CONSTRAINED_DEADLOCK,
        FailureClass.CONTEXT_WINDOW_EXCEEDED,
        FailureClass.INVALID_REQUEST,
    )
)
"""After these the same request is known to fail in the same way, and is never sent again."""

_MAX_EXPONENT = 16

NO_ACTION_LEFT = "no other action is possible"
SENT_BEFORE = "all retry variations are exhausted"

_provider = ModelId.provider_of


@attrs.frozen(kw_only=True)
class WaitPolicy:
    """Backoff between attempts in seconds, and the share of the deadline that one attempt may take.

    :ivar backoff_s: the first backoff where the provider asks for none; it doubles with each retry.
    :ivar max_wait_s: a retry with a longer wait is skipped.
    :ivar patience_s: a brief retry with a longer wait is skipped while the chain has another model.
    :ivar attempt_share: the share of the remaining time that an attempt may take while the chain has another model.
    """

    backoff_s: float = 0.5
    max_wait_s: float = 60.0
    patience_s: float = 2.0
    attempt_share: float = 0.6


@attrs.frozen(kw_only=True)
class RecoverySettings:
    """The settings that all calls of a deck share.

    :ivar fallback_on: the causes after which the next model may be called; ``None`` is all of them.
    :ivar drops_turns: whether the oldest turns of a conversation may be dropped.
    :ivar is_free: whether a model is known to cost nothing, so that it may be called when the budget is spent.
    :ivar window_of: the context window of a model in tokens; ``None`` where it is not known.
    :ivar jitter: returns random numbers from 0 to 1.
    :ivar take_retry: whether a model may be retried now, by its retry budget; counts the retry if so.
    """

    rules: Rules
    waits: WaitPolicy = WaitPolicy()
    fallback_on: Collection[str] | None = None
    drops_turns: bool = True
    is_free: Callable[[str], bool] = lambda _: False
    window_of: Callable[[str], int | None] = lambda _: None
    jitter: Callable[[], float] = lambda: 0.5
    take_retry: Callable[[str, float], bool] = lambda _model, _now_s: True


@attrs.frozen(kw_only=True)
class NextAttempt:
    """Send a request.

    :ivar changes: how it differs from what the model's budget says.
    :ivar wait_s: seconds to wait before it is sent.
    :ivar until_s: when the attempt must be over, on the driver's clock; ``None`` for never.
    :ivar left_usd: US dollars that the call may still spend; ``None`` for no limit.
    :ivar notes: what else to report, such as models that were passed over.
    :ivar reason: why this attempt follows, where the action alone does not tell: the source of the wait, or why the model
        that failed is not retried.
    :ivar is_retry: the same model was called before.
    :ivar is_last: the chain has no further model.
    :ivar min_probability: the lowest probability at which an answer is accepted; ``None``: the chooser's own, and any value.
    """

    model: str
    changes: RequestChanges = NO_REQUEST_CHANGES
    wait_s: float = 0.0
    until_s: float | None = None
    left_usd: float | None = None
    notes: tuple[str, ...] = ()
    reason: str = ""
    is_retry: bool = False
    is_last: bool = True
    min_probability: float | None = None

    @property
    def changed(self) -> tuple[str, ...]:
        """The notes and the changes as labels."""
        return self.notes if self.changes is NO_REQUEST_CHANGES else (*self.notes, *self.changes.labels)


@attrs.frozen
class GiveUp:
    """Raise the failure.

    :ivar reason: why no further attempt is made; empty when no recovery rule applies to the cause.
    """

    reason: str


Decision = NextAttempt | GiveUp


@attrs.frozen(kw_only=True)
class AttemptFailure:
    """How an attempt failed.

    :ivar disposition: what the provider's stop reason allows; ``None`` where no response arrived.
    :ivar fingerprint: of the request; empty when none was sent.
    :ivar side_attempts: attempts of side calls that were made for this attempt.
    :ivar is_partial: a part of the answer was delivered, and the next attempt continues it.
    :ivar final_reason: why nothing else may be tried, whatever the rules say; empty where it may.
    """

    failure: CallFailed
    attempt: Attempt
    budget: Budget
    disposition: Disposition | None = None
    fingerprint: str = ""
    side_attempts: tuple[Attempt, ...] = ()
    is_partial: bool = False
    final_reason: str = ""


class RecoveryPolicy:
    """The state of one call: its limits, its fallback chain and its attempts.

    :param chain: the models in the order in which they are called.
    :param now_s: the driver's clock at the start of the call.
    :ivar deadline_s: when the call must be over, on the driver's clock; ``None`` for never.
    :ivar attempts: the failed attempts so far.
    :ivar thresholds: ``min_probability`` of each model; empty for none.
    """

    thresholds: Sequence[float] = ()

    def __init__(self, settings: RecoverySettings, chain: Sequence[str], limits: CallLimits, now_s: float) -> None:
        self._settings = settings
        self._chain = chain
        self.limits = limits
        self._index = self._failed_index = 0
        self._fallback: NextModel | None = None
        self._changes = self._failed_changes = NO_REQUEST_CHANGES
        self._sent_count = 0
        self._spent_usd = 0.0
        self._retries: dict[tuple[int, Action], int] = {}
        self._brief: set[int] = set()  # models that were retried after a single failure
        self._sent: set[str] = set()
        self._failing: set[str] = set()
        self._actions: list[Action] = []
        self._skip_reasons: dict[str, None] = {}
        self._failed: AttemptFailure | None = None
        self.deadline_s: float | None = None if limits.deadline_s is None else now_s + limits.deadline_s
        self.attempts: tuple[Attempt, ...] = ()

    def begin(self, now_s: float, cooling: Collection[str] = ()) -> NextAttempt:
        """Return the first attempt: the first model that is not in cooldown, else the first one.

        :param cooling: models and providers in cooldown.
        """
        self._index = self._next_index(0, cooling) or 0
        return self._attempt(now_s, 0.0, self._passed_over(0))

    def is_repeat(self, fingerprint: str) -> bool:
        """Whether the request is known to fail, or was to differ from an earlier one and does not."""
        return fingerprint in self._failing or (self._changes != self._failed_changes and fingerprint in self._sent)

    @property
    def is_alone(self) -> bool:
        """Whether the chain has a single model."""
        return len(self._chain) == 1

    @property
    def has_sent(self) -> bool:
        """Whether requests were sent that a further one may repeat."""
        return bool(self._sent)

    def after_failure(self, failed: AttemptFailure, now_s: float, cooling: Collection[str] = ()) -> Decision:
        """Record how the last attempt failed and decide what follows."""
        self._failed, self._failed_index = failed, self._index
        self._failed_changes = self._changes
        self._sent_count += failed.attempt.is_sent
        self._spent_usd += sum(each.cost_usd or 0.0 for each in (*failed.side_attempts, failed.attempt))
        self.attempts = (*self.attempts, *failed.side_attempts, failed.attempt)
        self._record_fingerprint(failed)
        if failed.final_reason:
            return GiveUp(failed.final_reason)
        self._actions = list(self._rule_actions(failed, now_s))
        if not failed.attempt.is_sent:  # a request that cannot be made for this model stays impossible
            self._actions = [action for action in self._actions if isinstance(action, NextModel)]
        if not self._actions:
            return GiveUp("")
        self._skip_reasons = {}
        return self._next(now_s, cooling)

    def after_refusal(self, now_s: float, cooling: Collection[str] = (), reason: str = SENT_BEFORE) -> Decision:
        """Take the next action, because the request of the previous one must not be sent."""
        self._skip(reason)
        if self._fallback is not None:  # a later model of the chain may be possible
            self._actions.insert(0, self._fallback)
        return self._next(now_s, cooling)

    @property
    def left_usd(self) -> float | None:
        """US dollars that may still be spent; ``None`` for no limit."""
        return None if self.limits.max_cost_usd is None else max(0.0, self.limits.max_cost_usd - self._spent_usd)

    def _record_fingerprint(self, failed: AttemptFailure) -> None:
        if not failed.fingerprint:
            return
        cause = failed.failure.failure_class
        self._sent.add(failed.fingerprint)
        # A reasoning model that timed out spends the same reasoning on the same request again.
        is_hopeless = cause is FailureClass.LIKELY_TIMEOUT and failed.budget.is_hybrid_reasoning
        if cause in _SAME_FAILURE or is_hopeless:
            self._failing.add(failed.fingerprint)

    def _next(self, now_s: float, cooling: Collection[str]) -> Decision:
        self._changes = self._failed_changes
        if self.limits.max_attempts is not None and self._sent_count >= self.limits.max_attempts:
            return GiveUp(f"max_attempts {self.limits.max_attempts} reached")
        if self.left_usd == 0.0 and not any(map(self._settings.is_free, self._chain[self._index + 1 :])):
            return GiveUp(f"max_cost_usd {self.limits.max_cost_usd:g} reached")
        left_s = self.left_s(now_s)
        if left_s is not None and left_s <= 0:
            return GiveUp("the deadline is over")
        while self._actions:
            action = self._actions.pop(0)
            if isinstance(action, NextModel):
                step = self._next_model(action, now_s, cooling)
            else:
                step = self._retry(action, now_s, left_s, cooling)
            if step is not None:
                return step
        return GiveUp("; ".join(self._skip_reasons) or NO_ACTION_LEFT)

    # -- actions -------------------------------------------------------------------------------------------

    def _rule_actions(self, failed: AttemptFailure, now_s: float) -> Sequence[Action]:
        rules, cause = self._settings.rules, failed.failure.failure_class.value
        rule = rule_for(rules, failed.failure, failed.disposition)
        if rule is None or not (rule.actions or rule.decide):
            return ()
        if failed.is_partial and (named := rules.get(f"{PARTIAL_ANSWER}/{cause}") or rules.get(PARTIAL_ANSWER)):
            rule = named.value
        if rule.decide is None:
            return rule.actions
        context = FailureContext(
            failure=failed.failure,
            budget=failed.budget,
            disposition=failed.disposition,
            attempts=self.attempts,
            changes=self._changes,
            left_s=self.left_s(now_s),
        )
        return rule.decide(context)

    def _retry(self, action: Retry, now_s: float, left_s: float | None, cooling: Collection[str]) -> NextAttempt | None:
        self._index, self._fallback = self._failed_index, None
        if (action.changes.history_factor != 1.0 and not self._settings.drops_turns) or self.left_usd == 0.0:
            return None
        if action.is_brief and (not self._has_fallback or self._index in self._brief):
            return None
        retries = self._retries.get((self._index, action), 0)
        if retries >= action.times:
            return None
        wait_s = self._wait_s(action.wait)
        if wait_s is None:
            return None
        if too_long := self._exceeds_patience(action, wait_s, cooling):
            return self._skip(too_long)
        # A wait that uses up the deadline leaves no time for the attempt after it.
        if left_s is not None and wait_s >= left_s:
            return self._skip(f"a wait of {wait_s:.1f} s is longer than what is left of the deadline, {left_s:.1f} s")
        model = self._chain[self._index]
        if self._uses_budget(action) and not self._settings.take_retry(model, now_s):
            return self._skip(f"the retry budget of {model} is used up")
        self._retries[self._index, action] = retries + 1
        self._brief |= {self._index} if action.is_brief else set()
        self._changes = self._changes.and_then(action.changes)
        is_named = wait_s > 0 and wait_s == self._retry_after_s
        return attrs.evolve(self._attempt(now_s, wait_s), is_retry=True, reason="Retry-After" if is_named else "")

    @property
    def _retry_after_s(self) -> float | None:
        assert self._failed is not None
        return self._failed.failure.retry_after_s

    def _wait_s(self, wait: Wait) -> float | None:
        """The seconds to wait; ``None`` where the provider was to name them and did not."""
        retry_after_s = self._retry_after_s
        if wait is Wait.NONE or wait is Wait.IF_TOLD:
            return 0.0 if wait is Wait.NONE else retry_after_s
        if retry_after_s is not None and wait is Wait.AS_TOLD:
            return retry_after_s
        waits = self._settings.waits
        waited = sum(n for (index, done), n in self._retries.items() if index == self._index and _waits(done))
        backoff_s: float = waits.backoff_s * 2 ** min(waited, _MAX_EXPONENT) * (0.5 + self._settings.jitter())
        return max(min(backoff_s, waits.max_wait_s), retry_after_s or 0.0)

    def _exceeds_patience(self, action: Retry, wait_s: float, cooling: Collection[str]) -> str:
        """Return why a call does not wait that long; empty where it does."""
        waits, model = self._settings.waits, self._chain[self._index]
        if action.is_brief:
            if wait_s > waits.patience_s:
                return f"a wait of {wait_s:g} s is longer than patience_s {waits.patience_s:g}"
            return f"{model} is in cooldown" if _is_in(model, cooling) else ""
        return (
            f"a wait of {wait_s:g} s is longer than max_wait_s {waits.max_wait_s:g}"
            if wait_s > waits.max_wait_s
            else ""
        )

    @property
    def _has_fallback(self) -> bool:
        """Whether another model may be called after the failure."""
        assert self._failed is not None
        fallback_on = self._settings.fallback_on
        is_named = fallback_on is None or self._failed.failure.failure_class in fallback_on
        return is_named and self._index + 1 < len(self._chain)

    def _uses_budget(self, action: Retry) -> bool:
        is_named = action.wait is Wait.AS_TOLD and self._retry_after_s is not None
        return _waits(action) and (action.is_brief or not is_named)

    def _next_model(self, action: NextModel, now_s: float, cooling: Collection[str]) -> NextAttempt | None:
        assert self._failed is not None
        self._fallback = action
        cause, fallback_on = self._failed.failure.failure_class, self._settings.fallback_on
        if fallback_on is not None and cause not in fallback_on:
            return self._skip(f"fallback_on does not name {cause.value}")
        provider = _provider(self._chain[self._index])
        avoided = {*cooling, provider} if action.other_provider else cooling
        start = self._larger_index() if action.larger_window else self._index + 1
        if self.left_usd == 0.0:
            rest = range(self._index + 1, len(self._chain))
            start = next(index for index in rest if self._settings.is_free(self._chain[index]))
            avoided = ()
        index = self._next_index(start, avoided)
        if index is None:
            return self._skip("no further model in [fallback]")
        if action.other_provider and _provider(self._chain[index]) == provider:
            return self._skip("no model of another provider in [fallback]")
        self._index = index
        self._changes = NO_REQUEST_CHANGES
        step = self._attempt(now_s, 0.0, self._passed_over(self._failed_index + 1))
        return attrs.evolve(step, reason="; ".join(self._skip_reasons)) if self._skip_reasons else step

    def _skip(self, reason: str) -> NextAttempt | None:
        """Note why an action is skipped, and return no attempt; the reasons explain why nothing more is tried."""
        self._skip_reasons[reason] = None
        return None

    # -- chain and time ------------------------------------------------------------------------------------

    def _next_index(self, start: int, avoided: Collection[str]) -> int | None:
        """The first model from ``start`` that is not avoided, nor its provider; when all are, the first one."""
        indexes = range(start, len(self._chain))
        if not avoided:
            return start if indexes else None
        allowed = (index for index in indexes if not _is_in(self._chain[index], avoided))
        return next(allowed, start if indexes else None)

    def _larger_index(self) -> int:
        """The next model that may have a larger window; when none may, the next one."""
        window = self._settings.window_of(self._chain[self._index])
        for index in range(self._index + 1, len(self._chain)):
            other = self._settings.window_of(self._chain[index])
            if window is None or other is None or other > window:
                return index
        return self._index + 1

    def _passed_over(self, start: int) -> tuple[str, ...]:
        return tuple(f"{model} passed over" for model in self._chain[start : self._index])

    def _attempt(self, now_s: float, wait_s: float, notes: tuple[str, ...] = ()) -> NextAttempt:
        until_s = self.deadline_s
        if until_s is not None and self._index + 1 < len(self._chain):
            start_s = now_s + wait_s
            until_s = start_s + (until_s - start_s) * self._settings.waits.attempt_share
        return NextAttempt(
            model=self._chain[self._index],
            changes=self._changes,
            wait_s=wait_s,
            until_s=until_s,
            left_usd=self.left_usd,
            notes=notes,
            is_last=self._index + 1 == len(self._chain),
            min_probability=self.thresholds[self._index] if self.thresholds else None,
        )

    def left_s(self, now_s: float) -> float | None:
        """Seconds until the deadline; ``None`` without one."""
        return None if self.deadline_s is None else self.deadline_s - now_s


def _waits(action: Action) -> bool:
    return isinstance(action, Retry) and action.wait is not Wait.NONE


def _is_in(model: str, names: Collection[str]) -> bool:
    """Whether names of models and providers include a model."""
    return model in names or _provider(model) in names


def rule_for(rules: Rules, failure: CallFailed, disposition: Disposition | None) -> RecoveryRule | None:
    """Return the rule that applies to a failure: the one with the most specific name."""
    cause = failure.failure_class.value
    names = [f"{cause}/{failure.sub_cause}"] if failure.sub_cause else []
    if disposition is not None:
        if failure.stop_reason == StopReason.UNKNOWN.value and failure.raw_stop_reason:
            names.append(f"{UNKNOWN_STOP}/{disposition.value}")
        names.append(f"{cause}/{disposition.value}")
    return next((rules[name].value for name in (*names, cause) if name in rules), None)
