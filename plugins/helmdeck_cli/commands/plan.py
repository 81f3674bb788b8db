"""``helmdeck plan``: turns a request into a validated plan."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from helmdeck_cli.execution import wait_for
from helmdeck_cli.inputs import pairs, request_text, text_argument
from helmdeck_cli.printing.results import footer
from helmdeck_cli.shared_options import DEFAULT_CALLER, add_model_call
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import ExitCode, UsageError, hanging, inline_json, labelled, make_deck, show, show_json

if TYPE_CHECKING:
    from helmdeck_core import CompletedStep, Plan, Step


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_model_call(parser, "the planning model", "arguments")
    parser.add_argument(
        "--done",
        metavar="TOOL[=OUTPUT]",
        type=text_argument,
        action="append",
        default=[],
        help="a step that has been executed, with its output; the plan continues after it; may be repeated",
    )


def run(arguments: argparse.Namespace) -> int:
    """Make a plan and print it."""
    request = request_text(arguments)
    done = [_completed_step(text) for text in arguments.done]
    defaults = pairs(arguments.default, "--default")
    deck = make_deck(arguments)
    model = arguments.model or deck.runtime.config.model

    async def make_plan(progress: Callable[[str], None]) -> tuple[Plan, Mapping[int, bool]]:
        plan = await deck.aplan(
            request,
            model=arguments.model,
            context=arguments.context,
            done=done,
            defaults=defaults,
            caller=arguments.caller,
            progress=progress,
        )
        # Before the deck is closed, since a closed tool server runs nothing.
        return plan, {step.order: deck.can_run(step_entry(step)) for step in plan.steps}

    plan, can_run = wait_for(deck, f"calling {model}", make_plan)
    if arguments.json:
        data = plan.to_dict()
        data["steps"] = [{**wire, "runnable": can_run[wire["order"]]} for wire in data["steps"]]
        show_json({**data, "latency_s": round(plan.latency_s, 3)})
    else:
        show("\n".join(plan_lines(plan, lambda step: follow_up_command(arguments, step), can_run)))
    return ExitCode.OK if plan.is_usable else ExitCode.NO_STEP


def _completed_step(text: str) -> CompletedStep:
    from helmdeck_core import CompletedStep

    tool, _, output = text.partition("=")
    if not tool.strip():
        raise UsageError(f"--done takes TOOL or TOOL=OUTPUT, found {text!r}")
    return CompletedStep(tool.strip(), output)


def step_entry(step: Step) -> str:
    """The entry that a step runs. The tool is the same for all pipelines, so a pipeline is named by its id."""
    from helmdeck_core import PIPELINE_RUN

    return str(step.args.get("id")) if step.tool == PIPELINE_RUN else step.tool


def follow_up_command(arguments: argparse.Namespace, step: Step) -> str:
    """The command line that asks for the remaining steps after this one."""
    tool = step_entry(step)
    words = ["helmdeck", "plan"]
    for name, value in (("--model", arguments.model), ("--context", arguments.context)):
        words += [name, value] if value else []
    words += ["--caller", arguments.caller] if arguments.caller != DEFAULT_CALLER else []
    repeated = {**vars(arguments), "done": [*arguments.done, f"{tool}=OUTPUT"]}
    for name in ("document", "done", "default"):
        words += [word for value in repeated[name] for word in (f"--{name}", value)]
    words += [word for value in arguments.catalog_sources or () for word in ("--catalog", value)]
    return shlex.join([*words, " ".join(arguments.request) or "-"])


def plan_lines(
    plan: Plan, follow_up: Callable[[Step], str], can_run: Mapping[int, bool] | None = None
) -> Iterator[str]:
    """The plan as text.

    :param can_run: by number of a step, whether ``helmdeck run`` runs it.
    """
    yield f"{plan.model} ({plan.prompt_variant_used}): {plan.outcome.value}, {plan.complexity.value}"
    yield ""
    for step in plan.steps:
        yield from _step(step)
    if not plan.steps:
        yield "  no steps"
    yield ""
    if plan.reasoning:
        yield labelled("reasoning", plan.reasoning)
    yield from footer(plan)
    if plan.unseen_tools:
        yield labelled(
            "not sent", f"the plan uses tools that the trimmed catalog left out: {', '.join(plan.unseen_tools)}"
        )
    yield from _who_runs(can_run or {}, {step.order for step in plan.steps if not step.is_gap})
    yield from _next(plan, follow_up)


def _who_runs(can_run: Mapping[int, bool], steps: set[int]) -> Iterator[str]:
    """Which steps can run here; a catalog may describe tools that only the application has."""
    here = [number for number in sorted(steps) if can_run.get(number)]
    others = [number for number in sorted(steps) if not can_run.get(number)]
    if not can_run or not steps:
        return
    parts = [f"`helmdeck run` runs {_numbered(here)}"] if here else []
    parts += [f"the application runs {_numbered(others)}"] if others else []
    yield labelled("runnable", ", ".join(parts))


def _numbered(steps: Sequence[int]) -> str:
    return f"step{'s' if len(steps) > 1 else ''} {', '.join(map(str, steps))}"


def _step(step: Step) -> Iterator[str]:
    from helmdeck_core import GAP

    yield hanging(f"{step.order:>3}. ", "GAP" if step.is_gap else step.tool)
    if step.corrected_from is not None and not step.is_gap:
        yield hanging("corrected ", f"the model wrote {step.corrected_from!r}", indent=5)
    if step.args:
        yield hanging("args      ", inline_json(step.brief_args()), indent=5)
    if why := (step.rationale.removeprefix(GAP).strip() if step.is_gap else step.rationale):
        yield hanging("why       ", why, indent=5)
    for problem in step.problems:
        yield hanging("problem   ", problem, indent=5)
    if step.suggestions:
        yield hanging("similar   ", ", ".join(step.suggestions), indent=5)


def _next(plan: Plan, follow_up: Callable[[Step], str]) -> Iterator[str]:
    from helmdeck_core import PlanOutcome

    missing = "; ".join(f"step {step.order} {', '.join(step.missing)}" for step in plan.steps if _is_fillable(step))
    if plan.advice and plan.outcome is not PlanOutcome.GAP:
        yield labelled("note", plan.advice)
    if missing:
        yield labelled("next", f"add the missing arguments: {missing}")
    if plan.outcome is PlanOutcome.COMPLETE:
        yield labelled("next", "nothing: the executed steps already cover the whole request")
    elif plan.outcome is PlanOutcome.GAP:
        add_pack = "add a pack for this to the catalog, or use what `helmdeck catalog show` lists for the request"
        yield labelled("next", plan.advice or add_pack)
    elif plan.outcome is PlanOutcome.NO_STEPS:
        yield labelled("next", "the model returned no step; try another --model, or a more detailed request")
    elif plan.more_steps_likely and plan.steps:
        label = "then" if missing else "next"
        yield labelled(
            label, "this is the first step of several: execute it, then pass its output to get the next one:"
        )
        yield f"  {follow_up(plan.steps[0])}"


def _is_fillable(step: Step) -> bool:
    """Whether the step has no other problems than missing arguments."""
    return bool(step.missing) and len(step.missing) == len(step.problems)


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The command ``plan``."""
    summary = "turn a request into a validated plan over the catalog"
    return (Command(name="plan", summary=summary, configure=configure, run=run, order=10),)
