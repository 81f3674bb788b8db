"""What can be done about a failed model call: rules that plugins contribute, and what they see and decide."""

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
    """How a request differs from the one that the model's budget alone would give.

    :ivar output_factor: the output limit is multiplied by it, as far as the window allows.
    :ivar catalog_factor: the catalog's size is multiplied by it.
    :ivar history_factor: the size of a conversation that a caller wrote is multiplied by it: its oldest turns are left out,
        never what the system says or the newest turn. The response says so in ``downgrades``.
    :ivar strict_json: ``False`` asks without constrained decoding and puts the schema into the prompt.
    :ivar variant: the prompt variant to ask with, where the task has it.
    """

    output_factor: float = 1.0
    catalog_factor: float = 1.0
    history_factor: float = 1.0
    strict_json: bool = True
    variant: str | None = None

    def and_then(self, more: RequestChanges) -> RequestChanges:
        """Both changes, the later variant counting."""
        return RequestChanges(
            output_factor=self.output_factor * more.output_factor,
            catalog_factor=self.catalog_factor * more.catalog_factor,
            history_factor=self.history_factor * more.history_factor,
            strict_json=self.strict_json and more.strict_json,
            variant=more.variant or self.variant,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """What is changed, each in a few words."""
        found = [f"output limit x{self.output_factor:g}"] if self.output_factor != 1.0 else []
        found += [f"catalog x{self.catalog_factor:g}"] if self.catalog_factor != 1.0 else []
        found += [f"oldest turns out, history x{self.history_factor:.2g}"] if self.history_factor != 1.0 else []
        found += ["no strict JSON, schema in the prompt"] if not self.strict_json else []
        return (*found, f"variant {self.variant}") if self.variant else tuple(found)


NO_REQUEST_CHANGES = RequestChanges()


class Wait(enum.StrEnum):
    """How long to wait before the same model is asked again."""

    NONE = "none"
    """Not at all."""
    BACKOFF = "backoff"
    """Longer each time, with chance in it, and at least as long as the provider asks for."""
    AS_TOLD = "as_told"
    """As long as the provider asks for; without a word from it, as for ``BACKOFF``."""


@attrs.frozen(kw_only=True)
class Retry:
    """Ask the same model once more.

    A request that was cut or that found no way out is never sent again as it was: where the changes change nothing, this
    action is passed over.

    :ivar times: how often at most for one model of a call.
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
    """Ask the next model of the chain; its own budget, catalog, prompt variant and flags apply.

    :ivar other_provider: pass over the models of the provider that failed.
    :ivar larger_window: pass over models that are known to take no larger prompt, as long as there is one behind them that
        does.
    """

    other_provider: bool = False
    larger_window: bool = False

    def __str__(self) -> str:
        provider = " of another provider" if self.other_provider else ""
        return f"next model{provider}{', of a larger window if there is one' if self.larger_window else ''}"


Action = Retry | NextModel
"""What a rule can want."""


@attrs.frozen(kw_only=True)
class FailureContext:
    """What a rule decides by.

    :ivar failure: the failure, with its cause, sub-cause, stop reason and latency.
    :ivar budget: the budget of the model that failed.
    :ivar disposition: what the provider's word for the stop allows; ``None`` where no answer came.
    :ivar attempts: all that were made, the one that failed last.
    :ivar changes: how the request that failed was changed already.
    :ivar left_s: seconds that are left of the deadline; ``None`` without one.
    """

    failure: CallFailed
    budget: Budget
    disposition: Disposition | None
    attempts: tuple[Attempt, ...]
    changes: RequestChanges
    left_s: float | None


UNKNOWN_STOP = "unknown_stop"
"""The first part of the names of rules for answers that ended with a word that has no normalised reason."""


@attrs.frozen(kw_only=True)
class RecoveryRule:
    """What is done about one cause.

    The most telling name counts: ``cause/sub_cause``, then ``unknown_stop/DISPOSITION`` where the model stopped for a
    word without a normalised reason, then ``cause/DISPOSITION``, then ``cause``.

    :ivar name: see above, such as ``likely_timeout`` or ``likely_timeout/only_reasoning``; contributing the same name
        again replaces the rule.
    :ivar actions: what is tried, in this order; an action that a limit, or the lack of a further model, does not allow is
        passed over. None: the failure is surfaced.
    :ivar decide: chooses the actions by the situation, instead of ``actions``. Pure and quick.
    :ivar counts_against_provider: several such failures in a row make the provider cool down.
    """

    name: str
    actions: tuple[Action, ...] = ()
    decide: Callable[[FailureContext], Sequence[Action]] | None = None
    counts_against_provider: bool = False
    order: int = 0


CAUSES_OF_RULES = (*(cause.value for cause in FailureClass), UNKNOWN_STOP)
"""What the first part of a rule's name can be."""


def _a_number(_: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """Refuse what is no number: a clock that is compared with one would never be late."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or value != value):
        raise ValueError(f"CallLimits.{attribute.name}: not a number, found {value!r}")


@attrs.frozen(kw_only=True)
class CallLimits:
    """What bounds one call with all its attempts. What is no number is a ``ValueError``.

    :ivar max_attempts: how often an answer is asked for from its beginning, at most. What continues an answer that was cut,
        and a call that settles a selection, have limits of their own.
    :ivar deadline_s: seconds until the call has ended, one way or the other, whatever it asked for; ``None`` is no limit, and
        with 0 or less it is over at once.
    :ivar max_cost_usd: once this much is spent, on whatever, only models are asked that are known to cost nothing; nor is a
        request sent whose input alone would take more than is left, by the prices that are known and at five characters
        a token. What one request generates may go beyond it. ``None`` is no limit.
    """

    max_attempts: int | None = attrs.field(default=None, validator=_a_number)
    deadline_s: float | None = attrs.field(default=None, validator=_a_number)
    max_cost_usd: float | None = attrs.field(default=None, validator=_a_number)

    def within(self, outer: CallLimits) -> CallLimits:
        """These limits, and those of ``outer`` where these leave one open."""
        if self is NO_LIMITS:  # as in most calls
            return outer
        return self._with(outer, lambda own, _: own)

    def and_also(self, other: CallLimits) -> CallLimits:
        """Both: the tighter one of each."""
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
