"""``helmdeck plan``: a request in plain words becomes a validated plan."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from helmdeck_core.cli import exits, options, printing

if TYPE_CHECKING:
    from helmdeck_core.domain.plans import Plan, Step
    from helmdeck_core.domain.tasks import CompletedStep

_NOT_GIVEN = re.compile(r"\$\.(.+): required, and not given", re.DOTALL)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    options.add_request(parser)
    parser.add_argument("--model", metavar="PROVIDER/MODEL", help="who plans; else the configured model")
    parser.add_argument("--context", metavar="TEXT", default="", help="what else the planner should know")
    parser.add_argument(
        "--done",
        metavar="TOOL[=OUTPUT]",
        action="append",
        default=[],
        help="a step that was run already; may be repeated",
    )
    parser.add_argument(
        "--default",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a value to prefill arguments with, JSON if it parses; may be repeated",
    )
    options.add_catalog(parser)


def run(arguments: argparse.Namespace) -> int:
    """Ask for a plan and show it."""
    request = options.request_text(arguments)
    done = [_done(text) for text in arguments.done]
    defaults = options.pairs(arguments.default, "--default")
    from helmdeck_core.cli.progress import wait_for

    deck = options.make_deck(arguments)
    model = arguments.model or deck.runtime.config.model
    plan = wait_for(
        deck,
        f"asking {model}",
        lambda progress: deck.aplan(
            request, model=arguments.model, context=arguments.context, done=done, defaults=defaults, progress=progress
        ),
    )
    if arguments.json:
        printing.show_json({**plan.to_dict(), "latency_s": round(plan.latency_s, 3)})
    else:
        printing.show("\n".join(view(plan, lambda step: again(arguments, step))))
    return exits.OK if plan.is_usable else exits.NO_STEP


def _done(text: str) -> CompletedStep:
    from helmdeck_core.domain.tasks import CompletedStep

    tool, _, output = text.partition("=")
    if not tool.strip():
        raise exits.UsageError(f"--done takes TOOL or TOOL=OUTPUT, found {text!r}")
    return CompletedStep(tool.strip(), output)


def again(arguments: argparse.Namespace, step: Step) -> str:
    """The command line that asks for what is left after one more step."""
    from helmdeck_core.domain.plans import PIPELINE_RUN

    # A pipeline is told by its id: that two of them ran does not show from the tool that runs them.
    tool = step.args.get("id") if step.tool == PIPELINE_RUN else step.tool
    words = ["helmdeck", "plan"]
    for name, value in (("--model", arguments.model), ("--context", arguments.context)):
        words += [name, value] if value else []
    given = {**vars(arguments), "done": [*arguments.done, f"{tool}=OUTPUT"]}
    for name in ("document", "done", "default"):
        words += [word for value in given[name] for word in (f"--{name}", value)]
    words += [word for value in arguments.catalog_sources or () for word in ("--catalog", value)]
    return shlex.join([*words, " ".join(arguments.request) or "-"])


def view(plan: Plan, again: Callable[[Step], str]) -> Iterator[str]:
    """The plan for people."""
    from helmdeck_core.cli.results import fact, footer

    yield f"{plan.model} ({plan.prompt_variant_used}): {plan.outcome.value}, {plan.complexity.value}"
    yield ""
    for step in plan.steps:
        yield from _step(step)
    if not plan.steps:
        yield "  no steps"
    yield ""
    if plan.reasoning:
        yield fact("reasoning", plan.reasoning)
    yield from footer(plan)
    if plan.unseen_tools:
        yield fact("not shown", f"the plan uses what the trimmed catalog did not show: {', '.join(plan.unseen_tools)}")
    yield from _next(plan, again)


def _step(step: Step) -> Iterator[str]:
    from helmdeck_core.cli.tables import hanging
    from helmdeck_core.domain.plans import GAP

    tool = "GAP" if step.is_gap else step.tool
    yield hanging(f"{step.order:>3}. ", tool)
    if step.corrected_from is not None and not step.is_gap:
        yield hanging("meant     ", f"the model wrote {step.corrected_from!r}", indent=5)
    if step.args:
        yield hanging("args      ", printing.inline_json(step.brief_args()), indent=5)
    if why := (step.rationale.removeprefix(GAP).strip() if step.is_gap else step.rationale):
        yield hanging("why       ", why, indent=5)
    for problem in step.problems:
        yield hanging("problem   ", problem, indent=5)
    if step.suggestions:
        yield hanging("near      ", ", ".join(step.suggestions), indent=5)


def _next(plan: Plan, again: Callable[[Step], str]) -> Iterator[str]:
    from helmdeck_core.cli.results import fact
    from helmdeck_core.domain.plans import PlanOutcome

    missing = "; ".join(_missing(plan))
    if missing:
        yield fact("next", f"fill in what is missing: {missing}")
    if plan.outcome is PlanOutcome.COMPLETE:
        yield fact("next", "nothing: the steps that were run already do the whole request")
    elif plan.outcome is PlanOutcome.GAP:
        yield fact(
            "next",
            "add a pack that can do this to the catalog, or ask for something that `helmdeck catalog show` lists",
        )
    elif plan.outcome is PlanOutcome.NO_STEPS:
        yield fact("next", "the model gave no step; ask again with another --model, or say more in the request")
    elif plan.more_steps_likely and plan.steps:
        label = "then" if missing else "next"
        yield fact(label, "this is the first step of several: run it, then ask for the rest with what it gave:")
        yield f"  {again(plan.steps[0])}"


def _missing(plan: Plan) -> Iterator[str]:
    """The steps that want nothing but arguments that nobody gave, with their names."""
    for step in plan.steps:
        names = [found[1] for problem in step.problems if (found := _NOT_GIVEN.fullmatch(problem))]
        if names and len(names) == len(step.problems):
            yield f"step {step.order} {', '.join(names)}"


ACTIONS: options.Actions = {"": (configure, run)}
