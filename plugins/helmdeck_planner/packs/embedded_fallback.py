"""The end of every chain of models for plans: the embedded planner, where it is sure."""

from __future__ import annotations

from typing import Any, Final

import attrs

from helmdeck_core import Answer, CallFailed, FailureClass, HelmdeckError, Plan, PlanOutcome
from helmdeck_planner.packs.questions import Inquiry

EMBEDDED: Final = "local/lexical"

_NOT_AFTER: Final = frozenset((FailureClass.CANCELLED,))


@attrs.frozen(kw_only=True)
class PlanningOptions:
    """Options of ``[packs.options.helmdeck]``.

    :ivar embedded_fallback: ``local/lexical`` plans after the failure of the model and its fallback models, where it is sure.
    """

    embedded_fallback: bool = True


async def embedded_answer(inquiry: Inquiry, failure: CallFailed) -> Answer[Any] | None:
    """Return the answer of the embedded planner in place of a failure; ``None`` if it is switched off or fails."""
    is_enabled = inquiry.context.options.embedded_fallback and failure.failure_class not in _NOT_AFTER
    if not is_enabled or failure.model == EMBEDDED:
        return None
    try:
        return await inquiry.context.ask(attrs.evolve(inquiry.question, model=EMBEDDED))
    except HelmdeckError:  # the failure of the models says more
        return None


def is_sure(plan: Plan) -> bool:
    """Whether a plan serves the whole request with all required arguments."""
    return plan.outcome is PlanOutcome.PLANNED and not plan.advice and not any(step.problems for step in plan.steps)


def in_place_of(failure: CallFailed, plan: Plan) -> Plan:
    """Return the plan with the facts of the failed call before it, such as its cost."""
    requested = failure.attempts[0].model if failure.attempts else failure.model
    notice = (
        f"{requested} and its fallback models returned no plan ({failure.failure_class.value}); "
        f"{EMBEDDED} is sure of this one ([packs.options.helmdeck] embedded_fallback)"
    )
    return attrs.evolve(
        plan,
        requested_model=requested,
        attempts=(*failure.attempts, *plan.attempts),
        rejected_usage=failure.usage,
        cost_usd=failure.cost_usd,
        notices=(*plan.notices, notice),
    )
