"""The pack ``helmdeck.plan``: a request in plain words becomes a validated plan over the catalog."""

from __future__ import annotations

import functools
import math
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
    Choice,
    Complexity,
    Pack,
    PackContext,
    Plan,
    PlanOutcome,
    PlanRequest,
    Question,
    RecordedStep,
    Step,
    Task,
    args_sha,
    hookimpl,
)
from helmdeck_planner.choosers.words import NAME as WORDS
from helmdeck_planner.packs.arguments import check_nesting
from helmdeck_planner.packs.constraints import plan_forms
from helmdeck_planner.packs.embedded_fallback import EMBEDDED, PlanningOptions, embedded_answer, in_place_of, is_sure
from helmdeck_planner.packs.input_names import unused_defaults
from helmdeck_planner.packs.made_choices import MadeChoices
from helmdeck_planner.packs.questions import Inquiry, planning_pack
from helmdeck_planner.packs.validation import Checked, StepChecker

NAME = "helmdeck.plan"
SINGLE_PICK = "single_pick"
ARGUMENTS = "arguments"
"""The prompt variant that asks for the arguments of a chosen entry."""


CONSTRAINT = functools.partial(plan_forms, single_pick=SINGLE_PICK)


class StepAnswer(msgspec.Struct):
    """One step as a model writes it; ``order`` is ignored, because steps are renumbered.

    Arguments are a string of JSON where a provider cannot constrain them in another way. The embedded planner gives a
    ``probability`` and ``inferred_for``; prompts do not ask for them, and of a model's steps they are ignored.
    """

    tool: str | None = None
    args: dict[str, Any] | str | None = None
    rationale: str | None = None
    probability: float | None = None
    inferred_for: list[str] | None = None

    def __post_init__(self) -> None:
        check_nesting(self.args)


class PlanAnswer(msgspec.Struct):
    """A plan as a model writes it, for any prompt variant; only ``steps`` is required.

    The embedded planner gives ``advice``; prompts do not ask for it.
    """

    steps: list[StepAnswer]
    reasoning: str | None = None
    more_steps_likely: bool | None = None
    advice: str | None = None


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
    """Contribute the pack."""
    description = "Turns a request into an ordered, validated plan of packs and pipelines."
    return (planning_pack(NAME, description, make_plan, CONSTRAINT, (SINGLE_PICK,), WORDS, PlanningOptions),)


async def make_plan(context: PackContext, request: PlanRequest) -> Plan:
    """Ask a model for a plan and check every step against the whole catalog.

    :raises PackError: ``invalid_input`` for a blank request.
    :raises CallFailed: the model gave nothing usable, and no chooser had chosen a tool.
    """
    made = MadeChoices()
    inquiry = await Inquiry.begin(
        context,
        request,
        caller=NAME,
        kind="plan",
        type=PlanAnswer,
        schema=ANSWER_SCHEMA,
        constraint=CONSTRAINT,
        chosen_in=(SINGLE_PICK,),
        chosen_variant=ARGUMENTS,
        chosen_by_name=WORDS,
        settle=functools.partial(settle, made),
        certainty=certainty,
    )
    try:
        plan = finish(await inquiry.ask(), StepChecker(context.catalog), inquiry.question)
    except CallFailed as exc:
        answer = await embedded_answer(inquiry, exc)
        embedded = None if answer is None else finish(answer, StepChecker(context.catalog), inquiry.question)
        if embedded is not None and is_sure(embedded):
            plan = in_place_of(exc, embedded)
        elif (kept := made.after(exc)) is not None:
            plan = without_written_arguments(exc, *kept, StepChecker(context.catalog))
        else:
            raise
    plan = attrs.evolve(plan, notices=(*plan.notices, *unused_defaults(request.defaults, context.catalog)))
    inquiry.remember(
        [_inputs(step) for step in plan.steps],
        model=plan.model,
        outcome=plan.outcome.value,
        complexity=plan.complexity.value,
        steps=tuple(RecordedStep(step.order, _entry_id(step), args_sha(step.args)) for step in plan.steps),
    )
    return plan


def _entry_id(step: Step) -> str:
    """The entry that a step runs: of a step that runs a pipeline, the pipeline."""
    return str(step.args.get("id") or step.tool) if step.tool == PIPELINE_RUN else step.tool


def _inputs(step: Step) -> Mapping[str, Any]:
    """The arguments of the entry that a step runs."""
    inputs = step.args.get("inputs") if step.tool == PIPELINE_RUN else step.args
    return inputs if isinstance(inputs, Mapping) else {}


def settle(made: MadeChoices, task: Task, choice: Choice) -> PlanAnswer | None:
    """Return the answer for a choice that needs no model; ``None`` where arguments are missing."""
    steps = made.settle(task, choice)
    return None if steps is None else PlanAnswer([StepAnswer(**step) for step in steps])


def _of_choice(
    choice: Choice, written: Sequence[StepAnswer], checker: StepChecker, question: Question[Any]
) -> tuple[list[StepAnswer], tuple[str, ...]]:
    """The step of the chosen entry with the arguments that were read or written for it, and what to report; a gap stays as it is."""
    entry = checker.catalog.get(choice.entry_id)
    if entry is None:
        return list(written), ()
    from helmdeck_planner.packs.chosen import arguments_of, chosen_step, without_invented

    arguments, invented = without_invented(entry, arguments_of(entry, written), question)
    notices = tuple(
        f"{name} of {entry.id} was left out: the model wrote a value that occurs neither in the request nor in its context"
        for name in invented
    )
    return [StepAnswer(**chosen_step(entry, arguments, choice))], notices


def without_written_arguments(
    failure: CallFailed, choice: Choice, steps: Sequence[Mapping[str, Any]], checker: StepChecker
) -> Plan:
    """Return the plan of a choice whose arguments a model failed to write: those that the request states, and what is missing."""
    checked = tuple(_numbered(checker.check(**step), order) for order, step in enumerate(steps, 1))
    notice = (
        f"{failure.model} wrote no usable arguments ({failure.failure_class.value}) for the tool that the chooser "
        f"{choice.chooser!r} chose; the step has those that the request states"
    )
    return Plan(
        steps=checked,
        complexity=derive_complexity(checked),
        outcome=derive_outcome(checked, has_done_steps=False),
        rewritten_prompt=render_steps(checked),
        reasoning="",
        prompt_variant_used=ARGUMENTS,
        more_steps_likely=choice.has_more,
        model=failure.model,
        requested_model=failure.attempts[0].model if failure.attempts else failure.model,
        attempts=failure.attempts,
        rejected_usage=failure.usage,
        cost_usd=failure.cost_usd,
        latency_s=failure.latency_s,
        call_id=failure.call_id,
        notices=(notice,),
        choice=choice,
    )


def certainty(answer: PlanAnswer, model: str) -> float | None:
    """Return the probability that a plan of the embedded planner serves the whole request; ``None`` for a plan of a model.

    A plan with a gap does not. The steps of others count as independent.
    """
    if model != EMBEDDED:
        return None
    if any(step.tool == UNKNOWN_TOOL for step in answer.steps):
        return 0.0
    known = [step.probability for step in answer.steps if step.probability is not None]
    return math.prod(known) if known else None


def finish(answer: Answer[PlanAnswer], checker: StepChecker, question: Question[Any]) -> Plan:
    """Make a plan of a model's answer: check every step, and derive all that can be derived."""
    wanted, choice = answer.value.steps, answer.choice
    is_single = answer.variant == SINGLE_PICK or choice is not None
    # A model that returns several steps where one was requested has more to do, whatever it claims.
    more = is_single and (bool(answer.value.more_steps_likely) or len(wanted) > 1)
    notices: tuple[str, ...] = ()
    if choice is not None:
        (wanted, notices), more = _of_choice(choice, wanted, checker, question), choice.has_more
    wanted = wanted[:1] if is_single else wanted
    checked = [checker.check(step.tool, step.args, step.rationale) for step in wanted]
    steps = tuple(_numbered(each, order) for order, each in enumerate(checked, 1))
    if answer.facts["model"] == EMBEDDED:
        steps = tuple(
            attrs.evolve(step, probability=each.probability, inferred_for=tuple(each.inferred_for or ()))
            for step, each in zip(steps, wanted, strict=True)
        )
    shown = answer.selection
    unseen = dict.fromkeys(
        each.entry_id for each in checked if each.entry_id and not (shown and shown.shows(each.entry_id))
    )
    plan = Plan(
        steps=steps,
        complexity=derive_complexity(steps),
        outcome=derive_outcome(steps, bool(question.done)),
        rewritten_prompt=render_steps(steps),
        reasoning=answer.value.reasoning or "",
        prompt_variant_used=answer.variant,
        # A loop over single steps would otherwise never end at a gap.
        more_steps_likely=more and bool(steps) and not steps[0].is_gap,
        unseen_tools=tuple(unseen),
        advice=answer.value.advice or "",
        **answer.facts,
    )
    return attrs.evolve(plan, notices=(*plan.notices, *notices)) if notices else plan


def derive_complexity(steps: Sequence[Step]) -> Complexity:
    """Return the kind of a plan with these steps."""
    if len(steps) > 1:
        return Complexity.PACK_CHAIN
    return Complexity.PIPELINE_DIRECT if steps and steps[0].tool == PIPELINE_RUN else Complexity.SINGLE_ACTION


def derive_outcome(steps: Sequence[Step], has_done_steps: bool) -> PlanOutcome:
    """Return whether the steps can be executed."""
    if not steps:
        return PlanOutcome.COMPLETE if has_done_steps else PlanOutcome.NO_STEPS
    gaps = sum(step.is_gap for step in steps)
    if gaps == len(steps):
        return PlanOutcome.GAP
    return PlanOutcome.PARTIAL if gaps else PlanOutcome.PLANNED


def render_steps(steps: Sequence[Step]) -> str:
    """Return the steps as numbered lines."""
    return "\n".join(f"{step.order}. {_line(step)}" for step in steps)


def _line(step: Step) -> str:
    if step.is_gap:
        return step.rationale
    args = f" with {msgspec.json.encode(step.brief_args()).decode()}" if step.args else ""
    # A rationale may contain line breaks.
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
