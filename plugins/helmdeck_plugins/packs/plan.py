"""The pack ``helmdeck.plan``: a request in plain words becomes a validated plan over the catalog."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import msgspec

from helmdeck_core import (
    GAP,
    PIPELINE_RUN,
    UNKNOWN_TOOL,
    Answer,
    CallFailed,
    Complexity,
    Pack,
    PackContext,
    Plan,
    PlanOutcome,
    PlanRecord,
    Question,
    RecordedStep,
    Step,
    args_sha,
    hookimpl,
    intent_sha,
)
from helmdeck_plugins.packs.checking import Checked, StepChecker
from helmdeck_plugins.packs.constraints import plan_forms
from helmdeck_plugins.packs.questions import INPUT_SCHEMA, compaction_of, make_question

NAME = "helmdeck.plan"
SINGLE_PICK = "single_pick"


CONSTRAINT = functools.partial(plan_forms, single_pick=SINGLE_PICK)


class StepAnswer(msgspec.Struct):
    """One step as a model writes it; ``order`` is not believed, steps are renumbered.

    Arguments are a text that holds JSON where a provider has no other way to hold a model to anything.
    """

    tool: str | None = None
    args: dict[str, Any] | str | None = None
    rationale: str | None = None


class PlanAnswer(msgspec.Struct):
    """A plan as a model writes it, whichever variant asked; only ``steps`` must be there."""

    steps: list[StepAnswer]
    reasoning: str | None = None
    more_steps_likely: bool | None = None


ANSWER_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "order": {"type": "integer"},
                    "tool": {"type": "string"},
                    "args": {"type": "object"},
                    "rationale": {"type": "string"},
                },
                "required": ["order", "tool", "args", "rationale"],
            },
        },
        "complexity": {"type": "string", "enum": [each.value for each in Complexity]},
        "reasoning": {"type": "string"},
        "more_steps_likely": {"type": "boolean"},
    },
    "required": ["steps", "complexity", "reasoning"],
}


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The pack; it is not listed, for a plan must never name it."""
    return (
        Pack(
            name=NAME,
            version="1",
            description="Turns a request into an ordered, validated plan of packs and pipelines.",
            run=make_plan,
            input_schema=INPUT_SCHEMA,
            constraint=CONSTRAINT,
            is_listed=False,
        ),
    )


async def make_plan(context: PackContext, given: Mapping[str, Any]) -> Plan:
    """Ask for a plan and check everything in it against the whole catalog.

    :raises PackError: ``invalid_input`` for a blank request.
    :raises CallFailed: the model gave nothing usable.
    """
    question = make_question(given, caller=NAME, task="plan", type=PlanAnswer, schema=ANSWER_SCHEMA)
    question = attrs.evolve(
        question,
        constraint=CONSTRAINT,
        planned_before=await context.planned_before(question.request),
    )
    start = (time.time(), time.perf_counter())
    try:
        plan = finish(await context.ask(question), StepChecker(context.catalog), question)
    except CallFailed as exc:
        await context.remember(_record(context, question, start, model=exc.model, cause=exc.failure_class.value))
        raise
    await context.remember(_record(context, question, start, model=plan.model, plan=plan))
    return plan


def _record(
    context: PackContext,
    question: Question[Any],
    start: tuple[float, float],
    *,
    model: str,
    cause: str | None = None,
    plan: Plan | None = None,
) -> PlanRecord:
    return PlanRecord(
        caller=context.caller,
        intent_sha=intent_sha(question.request),
        outcome=plan.outcome.value if plan else "failed",
        cause=cause,
        complexity=plan.complexity.value if plan else None,
        steps=tuple(RecordedStep(s.order, s.tool, args_sha(s.args)) for s in plan.steps) if plan else (),
        model=model,
        duration_s=time.perf_counter() - start[1],
        time=start[0],
    )


def finish(answer: Answer[PlanAnswer], checker: StepChecker, question: Question[Any]) -> Plan:
    """Make a plan of a model's answer: every step checked, everything that can be derived derived."""
    wanted = answer.value.steps
    is_single = answer.variant == SINGLE_PICK
    # A model that was asked for one step and gave several has more to do, whatever it says.
    more = is_single and (bool(answer.value.more_steps_likely) or len(wanted) > 1)
    checked = [checker.check(step.tool, step.args, step.rationale) for step in (wanted[:1] if is_single else wanted)]
    steps = tuple(_numbered(each, order) for order, each in enumerate(checked, 1))
    shown = answer.selection
    unseen = dict.fromkeys(
        each.entry_id for each in checked if each.entry_id and not (shown and shown.shows(each.entry_id))
    )
    return Plan(
        steps=steps,
        complexity=derive_complexity(steps),
        outcome=derive_outcome(steps, bool(question.done)),
        rewritten_prompt=render_steps(steps),
        reasoning=answer.value.reasoning or "",
        model=answer.model,
        prompt_variant_used=answer.variant,
        # Whoever loops over single steps would meet the same gap for ever.
        more_steps_likely=more and bool(steps) and not steps[0].is_gap,
        compaction=compaction_of(answer),
        served_model=answer.response.served_model,
        usage=answer.usage,
        latency_s=answer.latency_s,
        unseen_tools=tuple(unseen),
        repairs=answer.repairs,
        downgrades=answer.response.downgrades,
        filter=answer.filter,
        requested_model=answer.requested_model,
        attempts=answer.attempts,
        call_id=answer.call_id,
        rejected_usage=answer.rejected_usage,
        cost_usd=answer.cost_usd,
        saved_usd=answer.saved_usd,
    )


def derive_complexity(steps: Sequence[Step]) -> Complexity:
    """What kind of plan the steps are."""
    if len(steps) > 1:
        return Complexity.PACK_CHAIN
    return Complexity.PIPELINE_DIRECT if steps and steps[0].tool == PIPELINE_RUN else Complexity.SINGLE_ACTION


def derive_outcome(steps: Sequence[Step], something_was_done: bool) -> PlanOutcome:
    """Whether the steps can be run."""
    if not steps:
        return PlanOutcome.COMPLETE if something_was_done else PlanOutcome.NO_STEPS
    gaps = sum(step.is_gap for step in steps)
    if gaps == len(steps):
        return PlanOutcome.GAP
    return PlanOutcome.PARTIAL if gaps else PlanOutcome.PLANNED


def render_steps(steps: Sequence[Step]) -> str:
    """The steps as numbered lines."""
    return "\n".join(f"{step.order}. {_line(step)}" for step in steps)


def _line(step: Step) -> str:
    if step.is_gap:
        return step.rationale
    args = f" with {msgspec.json.encode(step.brief_args()).decode()}" if step.args else ""
    # One line each, whatever a model puts into its rationale.
    why = " ".join(step.rationale.split())
    return f"{step.tool}{args}" + (f": {why}" if why else "")


def _numbered(checked: Checked, order: int) -> Step:
    if checked.tool == UNKNOWN_TOOL:
        rationale = " ".join(checked.rationale.split())
        return Step(
            order=order,
            tool=UNKNOWN_TOOL,
            args=checked.args,
            rationale=rationale if rationale.lower().startswith(GAP) else f"{GAP} {rationale}",
            corrected_from=checked.corrected_from,
            suggestions=checked.suggestions,
        )
    return Step(
        order=order,
        tool=checked.tool,
        args=checked.args,
        rationale=checked.rationale,
        problems=checked.problems,
        missing=checked.missing,
        corrected_from=checked.corrected_from,
    )
