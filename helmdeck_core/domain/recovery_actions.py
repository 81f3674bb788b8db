"""What may follow a failed model call: the types of rules and actions, and the limits of a call.

The rules themselves are data of ``helmdeck_recovery.rules``; ``calls.recovery_policy`` chooses among their actions.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from helmdeck_core.domain.chat import Disposition
from helmdeck_core.domain.models import Budget
from helmdeck_core.errors import Attempt, CallFailed, FailureClass


@attrs.frozen(kw_only=True)
class RequestChanges:
    """How a request differs from the default for the model's budget.

    :ivar output_factor: factor of the output limit, bounded by the context window.
    :ivar catalog_factor: factor of the catalog size.
    :ivar history_factor: factor of the size of a conversation written by the caller: its oldest turns are removed, but
        not system messages or the newest turn. ``ChatResponse.downgrades`` reports it.
    :ivar strict_json: ``False`` disables constrained decoding and adds the schema to the prompt.
    :ivar shows_problem: the prompt says why the last answer was rejected, if it had the wrong shape.
    :ivar bounds_values: the schema that constrains the response gets a low maximum for every list and string.
    :ivar variant: the prompt variant to use, if the task has it.
    """

    output_factor: float = 1.0
    catalog_factor: float = 1.0
    history_factor: float = 1.0
    strict_json: bool = True
    shows_problem: bool = False
    bounds_values: bool = False
    variant: str | None = None

    def and_then(self, more: RequestChanges) -> RequestChanges:
        """Return both changes combined; the variant of ``more`` takes precedence."""
        return RequestChanges(
            output_factor=self.output_factor * more.output_factor,
            catalog_factor=self.catalog_factor * more.catalog_factor,
            history_factor=self.history_factor * more.history_factor,
            strict_json=self.strict_json and more.strict_json,
            shows_problem=self.shows_problem or more.shows_problem,
            bounds_values=self.bounds_values or more.bounds_values,
            variant=more.variant or self.variant,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """A short description of each change."""
        labels = [f"output limit x{self.output_factor:g}"] if self.output_factor != 1.0 else []
        labels += [f"catalog x{self.catalog_factor:g}"] if self.catalog_factor != 1.0 else []
        labels += [f"oldest turns removed, history x{self.history_factor:.2g}"] if self.history_factor != 1.0 else []
        labels += ["no strict JSON, schema in the prompt"] if not self.strict_json else []
        labels += ["the problem in the prompt"] if self.shows_problem else []
        labels += ["lists and strings bounded"] if self.bounds_values else []
        return (*labels, f"variant {self.variant}") if self.variant else tuple(labels)


NO_REQUEST_CHANGES = RequestChanges()


class Wait(enum.StrEnum):
    """The delay before a retry."""

    NONE = "none"
    """No delay."""
    BACKOFF = "backoff"
    """Exponential backoff with jitter, at least ``Retry-After``."""
    AS_TOLD = "as_told"
    """``Retry-After``; ``BACKOFF`` if the provider sends none."""
    IF_TOLD = "if_told"
    """``Retry-After``; the retry is skipped if the provider sends none."""


_WAITS = {
    Wait.BACKOFF: "with backoff",
    Wait.AS_TOLD: "after Retry-After or backoff",
    Wait.IF_TOLD: "after Retry-After",
}


@attrs.frozen(kw_only=True)
class Retry:
    """Call the same model again.

    A request with a truncated response or a constrained deadlock is never repeated unchanged: the action is skipped if
    ``changes`` have no effect.

    A retry with a wait uses the retry budget of the model (``recovery.retry_share``), except one that is not brief and whose
    wait the provider named: it has no alternative, and its time is not a guess.

    :ivar times: maximum number of retries per model of a call.
    :ivar is_brief: retried only while the chain has another model, if the wait does not exceed ``recovery.patience_s`` and the
        model is not in cooldown; ``NextModel`` follows.
    """

    changes: RequestChanges = NO_REQUEST_CHANGES
    wait: Wait = Wait.NONE
    times: int = 1
    is_brief: bool = False

    def __str__(self) -> str:
        details = list(self.changes.labels)
        details += [_WAITS[self.wait]] if self.wait in _WAITS else []
        details += ["if the wait is short and a next model is left"] if self.is_brief else []
        details += [f"at most {self.times} times"] if self.times > 1 else []
        return f"again ({', '.join(details)})" if details else "again"


@attrs.frozen(kw_only=True)
class NextModel:
    """Call the next model of the fallback chain, with its own budget, catalog and prompt variant.

    :ivar other_provider: skip models of the failed provider.
    :ivar larger_window: skip models without a larger context window, if a later one may have one.
    """

    other_provider: bool = False
    larger_window: bool = False

    def __str__(self) -> str:
        provider = " of another provider" if self.other_provider else ""
        return f"next model{provider}{', with a larger window if there is one' if self.larger_window else ''}"


Action = Retry | NextModel
"""The actions of recovery rules."""


@attrs.frozen(kw_only=True)
class FailureContext:
    """The input of ``RecoveryRule.decide``.

    :ivar failure: the failure, with its cause, sub-cause, stop reason and latency.
    :ivar budget: the budget of the failed model.
    :ivar disposition: the disposition of the stop reason; ``None`` without a response.
    :ivar attempts: all attempts, the failed one last.
    :ivar changes: the changes of the failed request.
    :ivar left_s: seconds until the deadline; ``None`` without one.
    """

    failure: CallFailed
    budget: Budget
    disposition: Disposition | None
    attempts: tuple[Attempt, ...]
    changes: RequestChanges
    left_s: float | None


UNKNOWN_STOP = "unknown_stop"
"""First part of the names of rules for responses with an unknown stop reason."""

PARTIAL_ANSWER = "partial_answer"
"""First part of the names of rules for answers that were interrupted, and that the next attempt continues."""


@attrs.frozen(kw_only=True)
class RecoveryRule:
    """The actions for one cause of failure.

    The most specific rule applies: ``cause/sub_cause``, then ``unknown_stop/DISPOSITION`` for an unknown stop reason,
    then ``cause/DISPOSITION``, then ``cause``. If that rule has actions and the answer was interrupted after a part of it was
    delivered, ``partial_answer/cause`` or ``partial_answer`` applies in its place.

    :ivar name: see above, such as ``likely_timeout`` or ``likely_timeout/only_reasoning``; contributing the same name
        again replaces the rule.
    :ivar actions: actions in order of preference; an action is skipped if a limit forbids it or no model is left. Empty:
        the failure is raised.
    :ivar decide: returns the actions for a failure, instead of ``actions``. It must be pure and fast.
    :ivar counts_against_provider: calls in a row that fail in this way open the circuit of the model.
    :ivar shares_wait: a ``Retry-After`` applies to all calls of the deck to the model: they wait too, or call another model.
    """

    name: str
    actions: tuple[Action, ...] = ()
    decide: Callable[[FailureContext], Sequence[Action]] | None = None
    counts_against_provider: bool = False
    shares_wait: bool = False
    order: int = 0


CAUSES_OF_RULES = (*(cause.value for cause in FailureClass), UNKNOWN_STOP, PARTIAL_ANSWER)
"""Allowed first parts of rule names."""


def _check_number(_: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """Reject NaN and other types: a comparison with NaN never exceeds the limit."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or value != value):
        raise ValueError(f"CallLimits.{attribute.name}: not a number, found {value!r}")


def _check_models(_: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """Reject a string, whose characters would be taken for models."""
    is_list = isinstance(value, (tuple, list)) and all(isinstance(each, str) for each in value)
    if value is not None and not is_list:
        raise ValueError(f"CallLimits.{attribute.name}: not a tuple of model ids, found {value!r}")


@attrs.frozen(kw_only=True)
class CallLimits:
    """Limits of one call with all its attempts.

    :ivar max_attempts: maximum number of attempts; 0 or less fails at once. Continuations and filter calls have their own limits.
    :ivar deadline_s: seconds until the call ends; ``None`` is no limit, and 0 or less fails at once.
    :ivar max_cost_usd: cost limit in US dollars, continuations and filter calls included. After it is reached, only models
        that are known to be free are called; a request whose input alone would exceed the rest, by known prices and five
        characters per token, is not sent. The output of a single request may exceed it. ``None`` is no limit.
    :ivar fallbacks: the models to call after a failure, in order, instead of those of ``[fallback]``.
    :raises ValueError: a limit is not a number, or ``fallbacks`` are not model ids.
    """

    max_attempts: int | None = attrs.field(default=None, validator=_check_number)
    deadline_s: float | None = attrs.field(default=None, validator=_check_number)
    max_cost_usd: float | None = attrs.field(default=None, validator=_check_number)
    fallbacks: tuple[str, ...] | None = attrs.field(default=None, validator=_check_models)

    def within(self, outer: CallLimits) -> CallLimits:
        """Return these limits, completed by those of ``outer``."""
        if self is NO_LIMITS:  # as in most calls
            return outer
        return self._with(outer, lambda own, _: own)

    def and_also(self, other: CallLimits) -> CallLimits:
        """Return the lower of both limits for each field."""
        return self._with(other, min)

    def _with(self, other: CallLimits, choose: Callable[[Any, Any], Any]) -> CallLimits:
        def one(own: Any, others: Any) -> Any:
            return others if own is None else own if others is None else choose(own, others)

        return CallLimits(
            max_attempts=one(self.max_attempts, other.max_attempts),
            deadline_s=one(self.deadline_s, other.deadline_s),
            max_cost_usd=one(self.max_cost_usd, other.max_cost_usd),
            fallbacks=other.fallbacks if self.fallbacks is None else self.fallbacks,
        )


NO_LIMITS = CallLimits()


def check_limits(limits: object) -> None:
    """Check the limits that a caller passes.

    :raises TypeError: they are not a ``CallLimits``.
    """
    if not isinstance(limits, CallLimits):
        raise TypeError(f"limits must be a CallLimits, such as CallLimits(max_attempts=3), found {limits!r}")
