"""Decides what is tried next after a failed attempt. It sends nothing, waits for nothing and reads no clock.

Whoever drives it does what an ``NextAttempt`` says and tells it how that ended. Rules of plugins say what they would like, in
order; this module takes the first that the limits, the chain of models and the requests already sent allow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

import attrs

from helmdeck_core.domain.chat import Disposition, StopReason
from helmdeck_core.domain.models import Budget
from helmdeck_core.domain.recovery import (
    NO_REQUEST_CHANGES,
    UNKNOWN_STOP,
    Action,
    CallLimits,
    FailureContext,
    NextModel,
    RecoveryRule,
    RequestChanges,
    Wait,
)
from helmdeck_core.errors import Attempt, CallFailed, FailureClass
from helmdeck_core.hooks.calls import Contribution

Rules = Mapping[str, Contribution[RecoveryRule]]

_SAME_ANSWER = frozenset(
    (
        FailureClass.SAFETY_FILTERED,
        FailureClass.LENGTH_TRUNCATED,
        FailureClass.CONSTRAINED_DEADLOCK,
        FailureClass.CONTEXT_WINDOW_EXCEEDED,
        FailureClass.INVALID_REQUEST,
    )
)
"""After these the same request is known to fail in the same way, and is never sent again."""

_LONGEST_EXPONENT = 16

NOTHING_ELSE = "no other action is possible"
SENT_BEFORE = "all retry variations are exhausted"


@attrs.frozen(kw_only=True)
class WaitPolicy:
    """How long is waited between attempts, in seconds, and what an attempt may take of the deadline.

    :ivar backoff_s: the first wait without a word from the provider; it doubles each time.
    :ivar max_wait_s: a longer wait is not worth it.
    :ivar attempt_share: the part of what is left of the deadline that an attempt may take while another model could
        still be asked.
    """

    backoff_s: float = 0.5
    max_wait_s: float = 60.0
    attempt_share: float = 0.6


@attrs.frozen(kw_only=True)
class NextAttempt:
    """Send a request.

    :ivar changes: how it differs from what the model's budget says.
    :ivar wait_s: seconds to wait before.
    :ivar until_s: when the attempt must be over, on the driver's clock; ``None`` for never.
    :ivar left_usd: US dollars that the call may still spend; ``None`` for any sum.
    :ivar notes: what else is to be known of it, such as models that were passed over.
    """

    model: str
    changes: RequestChanges = NO_REQUEST_CHANGES
    wait_s: float = 0.0
    until_s: float | None = None
    left_usd: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> tuple[str, ...]:
        """What is asked otherwise than the budget says, in words."""
        return (*self.notes, *self.changes.labels)


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

    :ivar disposition: what the provider's word for the stop allows; ``None`` where no answer came.
    :ivar fingerprint: of what was sent; empty when nothing was.
    :ivar helpers: attempts of other calls that were made for this one.
    :ivar final: why nothing else may be tried, whatever the rules say; empty where it may.
    """

    failure: CallFailed
    attempt: Attempt
    budget: Budget
    disposition: Disposition | None = None
    fingerprint: str = ""
    helpers: tuple[Attempt, ...] = ()
    final: str = ""


class RecoveryPolicy:
    """One call: its limits, its chain of models, and what was tried.

    :param chain: the models in the order in which they may be asked; the first one is the one that was asked for.
    :param now_s: the driver's clock at the start of the call.
    :param moves_on_at: the causes after which another model may be asked; ``None`` is all of them.
    :param drops_turns: whether the oldest turns of a conversation may be left out.
    :param is_free: whether a model is known to cost nothing, so that it may still be asked when the money is spent.
    :param window_of: how large a prompt a model takes, in tokens; ``None`` where that is not known.
    :param jitter: gives numbers from 0 to 1.
    :ivar deadline_s: when the call must be over, on the driver's clock; ``None`` for never.
    :ivar limits: what bounds the call.
    :ivar attempts: what was tried so far.
    """

    def __init__(
        self,
        rules: Rules,
        chain: Sequence[str],
        limits: CallLimits,
        patience: WaitPolicy,
        now_s: float,
        *,
        moves_on_at: Collection[str] | None = None,
        drops_turns: bool = True,
        is_free: Callable[[str], bool] = lambda _: False,
        window_of: Callable[[str], int | None] = lambda _: None,
        jitter: Callable[[], float] = lambda: 0.5,
    ) -> None:
        self._rules = rules
        self._chain = tuple(chain)
        self.limits = limits
        self._patience = patience
        self._moves_on_at = moves_on_at
        self._drops_turns = drops_turns
        self._is_free = is_free
        self._window_of = window_of
        self._jitter = jitter
        self._place = self._failed_place = 0
        self._moved_by: NextModel | None = None
        self._changes = self._changes_before = NO_REQUEST_CHANGES
        self._sent = 0
        self._spent_usd = 0.0
        self._taken: Counter[tuple[int, Action]] = Counter()
        self._seen: set[str] = set()
        self._spent: set[str] = set()
        self._wanted: list[Action] = []
        self._passed_up: dict[str, None] = {}
        self._failed: AttemptFailure | None = None
        self.deadline_s = None if limits.deadline_s is None else now_s + limits.deadline_s
        self.attempts: tuple[Attempt, ...] = ()

    def begin(self, now_s: float, cooling: Collection[str] = ()) -> NextAttempt:
        """The first request: to the first model whose provider does not rest, else to the first one."""
        self._place = self._next_place(0, cooling) or 0
        return self._asked(now_s, 0.0, self._passed_over(0))

    def is_spent(self, fingerprint: str) -> bool:
        """Whether this very request is known to fail, or was to be another one than before and is not."""
        return fingerprint in self._spent or (self._changes != self._changes_before and fingerprint in self._seen)

    @property
    def has_seen(self) -> bool:
        """Whether requests were sent that a further one may be the same as."""
        return bool(self._seen)

    def failed(self, failed: AttemptFailure, now_s: float, cooling: Collection[str] = ()) -> Decision:
        """Say how the last attempt ended; returns what to do about it."""
        self._failed, self._failed_place = failed, self._place
        self._changes_before = self._changes
        self._sent += failed.attempt.is_sent
        self._spent_usd += sum(each.cost_usd or 0.0 for each in (*failed.helpers, failed.attempt))
        self.attempts = (*self.attempts, *failed.helpers, failed.attempt)
        cause = failed.failure.failure_class
        # A model that thinks has spent its thoughts on this request before it fell silent.
        is_hopeless = cause is FailureClass.LIKELY_TIMEOUT and failed.budget.is_hybrid_reasoning
        if failed.fingerprint:
            self._seen.add(failed.fingerprint)
            if cause in _SAME_ANSWER or is_hopeless:
                self._spent.add(failed.fingerprint)
        if failed.final:
            return GiveUp(failed.final)
        self._wanted = list(self._decided(failed, now_s))
        if not failed.attempt.is_sent:  # what cannot be sent to this model cannot be sent to it again
            self._wanted = [action for action in self._wanted if isinstance(action, NextModel)]
        if not self._wanted:
            return GiveUp("")
        self._passed_up = {}
        return self._next(now_s, cooling)

    def refused(self, now_s: float, cooling: Collection[str] = (), why: str = SENT_BEFORE) -> Decision:
        """Take the next wish; the driver asks for it when the request of the one before must not be sent."""
        self._passed(why)
        if self._moved_by is not None:  # the model behind that one may do
            self._wanted.insert(0, self._moved_by)
        return self._next(now_s, cooling)

    @property
    def left_usd(self) -> float | None:
        """US dollars that may still be spent; ``None`` for any sum."""
        return None if self.limits.max_cost_usd is None else max(0.0, self.limits.max_cost_usd - self._spent_usd)

    def _next(self, now_s: float, cooling: Collection[str]) -> Decision:
        self._changes = self._changes_before
        if self.limits.max_attempts is not None and self._sent >= self.limits.max_attempts:
            return GiveUp(f"max_attempts {self.limits.max_attempts} reached")
        if self.left_usd == 0.0 and not any(map(self._is_free, self._chain[self._place + 1 :])):
            return GiveUp(f"max_cost_usd {self.limits.max_cost_usd:g} reached")
        left_s = self._left_s(now_s)
        if left_s is not None and left_s <= 0:
            return GiveUp("the deadline is over")
        while self._wanted:
            step = self._take(self._wanted.pop(0), now_s, left_s, cooling)
            if step is not None:
                return step
        return GiveUp("; ".join(self._passed_up) or NOTHING_ELSE)

    # -- rules ---------------------------------------------------------------------------------------------

    def _decided(self, failed: AttemptFailure, now_s: float) -> Sequence[Action]:
        owned = rule_for(self._rules, failed.failure, failed.disposition)
        if owned is None:
            return ()
        if owned.value.decide is None:
            return owned.value.actions
        situation = FailureContext(
            failure=failed.failure,
            budget=failed.budget,
            disposition=failed.disposition,
            attempts=self.attempts,
            changes=self._changes,
            left_s=self._left_s(now_s),
        )
        return owned.value.decide(situation)

    def _take(self, action: Action, now_s: float, left_s: float | None, cooling: Collection[str]) -> NextAttempt | None:
        assert self._failed is not None
        if isinstance(action, NextModel):
            self._moved_by = action
            return self._moved(action, now_s, cooling)
        self._place, self._moved_by = self._failed_place, None
        if (action.changes.history_factor != 1.0 and not self._drops_turns) or self.left_usd == 0.0:
            return None
        if self._is_left_alone(cooling):
            self._passed("the provider rests")
            return None
        taken = self._taken[self._place, action]
        wait_s = self._wait_s(action.wait, taken)
        if taken >= action.times:
            return None
        if wait_s > self._patience.max_wait_s:
            self._passed(f"a wait of {wait_s:g} s is longer than max_wait_s {self._patience.max_wait_s:g}")
            return None
        # A wait that eats the deadline up leaves nothing for the attempt behind it.
        if left_s is not None and wait_s >= left_s:
            self._passed(f"a wait of {wait_s:.1f} s is longer than what is left of the deadline, {left_s:.1f} s")
            return None
        self._taken[self._place, action] += 1
        self._changes = self._changes.and_then(action.changes)
        return self._asked(now_s, wait_s)

    def _is_left_alone(self, cooling: Collection[str]) -> bool:
        """Whether the provider rests, as other calls found out, and a wish is left for a model of one that does not."""
        others = [model for model in self._chain[self._place + 1 :] if _provider(model) not in cooling]
        moves = any(isinstance(action, NextModel) for action in self._wanted)
        return moves and bool(others) and _provider(self._chain[self._place]) in cooling

    def _wait_s(self, wait: Wait, taken: int) -> float:
        assert self._failed is not None
        if wait is Wait.NONE:
            return 0.0
        told_s = self._failed.failure.retry_after_s
        if told_s is not None and wait is Wait.AS_TOLD:
            return told_s
        backoff_s: float = self._patience.backoff_s * 2 ** min(taken, _LONGEST_EXPONENT) * (0.5 + self._jitter())
        return max(min(backoff_s, self._patience.max_wait_s), told_s or 0.0)

    def _moved(self, action: NextModel, now_s: float, cooling: Collection[str]) -> NextAttempt | None:
        assert self._failed is not None
        cause = self._failed.failure.failure_class
        if self._moves_on_at is not None and cause not in self._moves_on_at:
            self._passed(f"fallback_on does not name {cause.value}")
            return None
        before = self._place
        avoided = {*cooling, _provider(self._chain[before])} if action.other_provider else cooling
        start = self._next_larger(before) if action.larger_window else before + 1
        if self.left_usd == 0.0:
            start = next(each for each in range(before + 1, len(self._chain)) if self._is_free(self._chain[each]))
            avoided = ()
        place = self._next_place(start, avoided)
        if place is None:
            self._passed("no further model in [fallback]")
            return None
        if action.other_provider and _provider(self._chain[place]) == _provider(self._chain[before]):
            self._passed("no model of another provider in [fallback]")
            return None
        self._place = place
        self._changes = NO_REQUEST_CHANGES
        return self._asked(now_s, 0.0, self._passed_over(self._failed_place + 1))

    def _passed(self, why: str) -> None:
        """Note why a wish is passed over, for whoever asks why nothing more was tried."""
        self._passed_up[why] = None

    # -- chain and time ------------------------------------------------------------------------------------

    def _next_place(self, start: int, cooling: Collection[str]) -> int | None:
        """The first place from ``start`` whose provider does not rest; when all do, the first one."""
        places = range(start, len(self._chain))
        return next((each for each in places if _provider(self._chain[each]) not in cooling), next(iter(places), None))

    def _next_larger(self, before: int) -> int:
        """The first place behind this one that may have a larger window; when none may, the next one."""
        window = self._window_of(self._chain[before])
        for place in range(before + 1, len(self._chain)):
            other = self._window_of(self._chain[place])
            if window is None or other is None or other > window:
                return place
        return before + 1

    def _passed_over(self, start: int) -> tuple[str, ...]:
        return tuple(f"{model} passed over" for model in self._chain[start : self._place])

    def _asked(self, now_s: float, wait_s: float, notes: tuple[str, ...] = ()) -> NextAttempt:
        until_s = self.deadline_s
        if until_s is not None and self._place + 1 < len(self._chain):
            start_s = now_s + wait_s
            until_s = start_s + (until_s - start_s) * self._patience.attempt_share
        return NextAttempt(
            model=self._chain[self._place],
            changes=self._changes,
            wait_s=wait_s,
            until_s=until_s,
            left_usd=self.left_usd,
            notes=notes,
        )

    def _left_s(self, now_s: float) -> float | None:
        return None if self.deadline_s is None else self.deadline_s - now_s


def rule_for(rules: Rules, failure: CallFailed, disposition: Disposition | None) -> Contribution[RecoveryRule] | None:
    """The rule that counts for a failure: the one with the most telling name."""
    cause = failure.failure_class.value
    names = [f"{cause}/{failure.sub_cause}"] if failure.sub_cause else []
    if disposition is not None:
        if failure.stop_reason == StopReason.UNKNOWN.value and failure.raw_stop_reason:
            names.append(f"{UNKNOWN_STOP}/{disposition.value}")
        names.append(f"{cause}/{disposition.value}")
    return next((rules[name] for name in (*names, cause) if name in rules), None)


def _provider(model: str) -> str:
    return model.partition("/")[0].strip()
