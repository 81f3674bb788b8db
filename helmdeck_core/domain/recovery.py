"""Recovery from failed model calls: contributed rules, their input and their actions."""

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
    """How a request differs from the one that the model's budget defines.

    :ivar output_factor: factor of the output limit, as far as the context window allows.
    :ivar catalog_factor: factor of the size of the catalog.
    :ivar history_factor: factor of the size of a conversation of the caller: its oldest turns are removed, never system
        messages or the newest turn. Reported in ``downgrades``.
    :ivar strict_json: ``False`` turns constrained decoding off and adds the schema to the prompt.
    :ivar variant: the prompt variant, if the task has it.
    """

    output_factor: float = 1.0
    catalog_factor: float = 1.0
    history_factor: float = 1.0
    strict_json: bool = True
    variant: str | None = None

    def and_then(self, more: RequestChanges) -> RequestChanges:
        """Both changes; the later variant wins."""
        return RequestChanges(
            output_factor=self.output_factor * more.output_factor,
            catalog_factor=self.catalog_factor * more.catalog_factor,
            history_factor=self.history_factor * more.history_factor,
            strict_json=self.strict_json and more.strict_json,
            variant=more.variant or self.variant,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """A short description of each change."""
        found = [f"output limit x{self.output_factor:g}"] if self.output_factor != 1.0 else []
        found += [f"catalog x{self.catalog_factor:g}"] if self.catalog_factor != 1.0 else []
        found += [f"oldest turns out, history x{self.history_factor:.2g}"] if self.history_factor != 1.0 else []
        found += ["no strict JSON, schema in the prompt"] if not self.strict_json else []
        return (*found, f"variant {self.variant}") if self.variant else tuple(found)


NO_REQUEST_CHANGES = RequestChanges()


class Wait(enum.StrEnum):
    """Backoff before a retry of the same model."""

    NONE = "none"
    """No backoff."""
    BACKOFF = "backoff"
    """Exponential with jitter, and at least ``Retry-After``."""
    AS_TOLD = "as_told"
    """``Retry-After``; without it, as for ``BACKOFF``."""


@attrs.frozen(kw_only=True)
class Retry:
    """Retry the same model.

    A request whose answer was truncated or stuck in repetition is never sent again unchanged: the action is skipped if its
    changes have no effect.

    :ivar times: maximum number of retries of one model in a call.
    """

    changes: RequestChanges = NO_REQUEST_CHANGES
    wait: Wait = Wait.NONE
    times: int = 1

    def __str__(self) -> str:
        words = list(self.changes.labels)
        words += [{Wait.BACKOFF: "after a growing wait", Wait.AS_TOLD: "after the wait that the provider asks for"}[self.wait]] if self.wait is not Wait.NONE else []  # fmt: skip
        words += [f"at most {self.times} times"] if self.times > 1 else []
        return f"again ({', '.join(words)})" if words else "again"


@attrs.frozen(kw_only=True)
class NextModel:
    """Call the next model of the fallback chain, with its own budget, catalog, prompt variant and flags.

    :ivar other_provider: skip the models of the failed provider.
    :ivar larger_window: pass over models that are known to take no larger prompt, as long as there is one behind them that
        does.
    """

    other_provider: bool = False
    larger_window: bool = False

    def __str__(self) -> str:
        provider = " of another provider" if self.other_provider else ""
        return f"next model{provider}{', of a larger window if there is one' if self.larger_window else ''}"


Action = Retry | NextModel
"""An action of a rule."""


@attrs.frozen(kw_only=True)
class FailureContext:
    """The input of a rule.

    :ivar failure: the failure, with its cause, sub-cause, stop reason and latency.
    :ivar budget: the budget of the model that failed.
    :ivar disposition: the disposition of the stop reason; ``None`` without a response.
    :ivar attempts: all attempts, the failed one last.
    :ivar changes: the changes of the failed request.
    :ivar left_s: seconds left of the deadline; ``None`` without a deadline.
    """

    failure: CallFailed
    budget: Budget
    disposition: Disposition | None
    attempts: tuple[Attempt, ...]
    changes: RequestChanges
    left_s: float | None


UNKNOWN_STOP = "unknown_stop"
"""The first part of the names of rules for answers with an unknown stop reason."""


@attrs.frozen(kw_only=True)
class RecoveryRule:
    """The actions for one cause.

    The most telling name counts: ``cause/sub_cause``, then ``unknown_stop/DISPOSITION`` where the model stopped for a
    word without a normalised reason, then ``cause/DISPOSITION``, then ``cause``.

    :ivar name: see above, such as ``likely_timeout`` or ``likely_timeout/only_reasoning``; contributing the same name
        again replaces the rule.
    :ivar actions: what is tried, in this order; an action that a limit, or the lack of a further model, does not allow is
        passed over. None: the failure is surfaced.
    :ivar decide: selects the actions by context, instead of ``actions``. Pure and fast.
    :ivar counts_against_provider: several such failures in a row open the provider's circuit breaker.
    """

    name: str
    actions: tuple[Action, ...] = ()
    decide: Callable[[FailureContext], Sequence[Action]] | None = None
    counts_against_provider: bool = False
    order: int = 0


CAUSES_OF_RULES = (*(cause.value for cause in FailureClass), UNKNOWN_STOP)
"""The allowed first parts of a rule's name."""


def _a_number(_: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """Reject NaN and other types: a comparison with NaN would never end a call."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or value != value):
        raise ValueError(f"CallLimits.{attribute.name}: not a number, found {value!r}")


@attrs.frozen(kw_only=True)
class CallLimits:
    """Limits of one call with all its attempts. Other types than numbers are a ``ValueError``.

    :ivar max_attempts: maximum number of attempts. Continuations of truncated answers and filter calls have limits of their
        own.
    :ivar deadline_s: seconds until the call ends; ``None`` is no limit, and at 0 or less it ends at once.
    :ivar max_cost_usd: after this amount is spent, only models that are known to be free are called. A request whose input
        alone would exceed the rest, at known prices and five characters per token, is not sent. The output of one request
        may exceed it. ``None`` is no limit.
    """

    max_attempts: int | None = attrs.field(default=None, validator=_a_number)
    deadline_s: float | None = attrs.field(default=None, validator=_a_number)
    max_cost_usd: float | None = attrs.field(default=None, validator=_a_number)

    def within(self, outer: CallLimits) -> CallLimits:
        """Return these limits, with those of ``outer`` for limits that are not set."""
        if self is NO_LIMITS:  # as in most calls
            return outer
        return self._with(outer, lambda own, _: own)

    def and_also(self, other: CallLimits) -> CallLimits:
        """Return the tighter one of each limit."""
        return self._with(other, min)

    def _with(self, other: CallLimits, choose: Callable[[Any, Any], Any]) -> CallLimits:
        def one(own: Any, others: Any) -> Any:
            return others if own is None else own if others is None else choose(own, others)

        return CallLimits(
            max_attempts=one(self.max_attempts, other.max_attempts),
            deadline_s=one(self.deadline_s, other.deadline_s),
            max_cost_usd=one(self.max_cost_usd, other.max_cost_usd),
        )


NO_LIMITS = CallLimits()
