"""``helmdeck agent``: plans a request, executes the steps, and plans again with their outcome."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_cli import add_catalog, add_model, add_request, pairs, request_text, text_argument, wait_for, whole_number
from helmdeck_core import Command, hookimpl
from helmdeck_core.cli import (
    ExitCode,
    UsageError,
    can_ask,
    clean,
    hanging,
    inline_json,
    make_deck,
    note,
    show,
    show_json,
)
from helmdeck_runs.commands.run_records import configure_runs, found_record, show_runs

if TYPE_CHECKING:
    from helmdeck_runs.agent.agent import ConfirmCallback, InputsCallback
    from helmdeck_runs.agent.run_data import AgentRun, AgentStep

PLURAL = "runs of agents"

MAX_SHOWN_CHARS = 2_000
"""Characters of the arguments that are shown before a confirmation."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_request(parser)
    add_model(parser, "the model for plans and packs")
    parser.add_argument(
        "--context", metavar="TEXT", type=text_argument, default="", help="additional context for the model"
    )
    parser.add_argument(
        "--default",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="a default value for arguments named KEY, as JSON or a string; may be repeated",
    )
    add_catalog(parser)
    parser.add_argument(
        "--mode",
        choices=("plan", "tools"),
        default="plan",
        help="plan: the model returns plans, which works with every model; tools: the model calls tools natively; default: plan",
    )
    parser.add_argument(
        "--resume",
        metavar="RUN",
        help="continue a run that ended early, with its request: its id, or last for the newest one",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show the plan and the steps that need a confirmation; execute nothing"
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help="confirm every step, except those that [agent.policy] denies; default: ask on the terminal",
    )
    limits = parser.add_argument_group("limits", "0 is no limit; default: the configured limits")
    limits.add_argument("--max-steps", metavar="N", type=whole_number, help="maximum number of executed steps")
    limits.add_argument(
        "--max-seconds", metavar="N", type=whole_number, help="maximum time of all calls and steps, in seconds"
    )
    limits.add_argument("--max-tokens", metavar="N", type=whole_number, help="maximum tokens of all planning calls")
    limits.add_argument(
        "--max-cost", metavar="USD", type=_amount, help="maximum cost of all model calls, in US dollars"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the request and print what happened."""
    from helmdeck_runs.agent.agent import Agent
    from helmdeck_runs.agent.program import KIND

    if arguments.resume is not None and (arguments.request or arguments.document):
        raise UsageError("--resume takes the request from the record; leave the request out")

    request = request_text(arguments) if arguments.resume is None else ""
    defaults = pairs(arguments.default, "--default")
    deck = make_deck(arguments)

    async def work(progress: Callable[[str], None]) -> AgentRun:
        agent = Agent(
            deck,
            model=arguments.model,
            confirm=None if arguments.yes else _terminal_confirmation(progress),
            ask=_terminal_inputs(progress),
            approve_all=arguments.yes,
            limits=_limits(arguments, deck),
            mode=arguments.mode,
        )
        if arguments.resume is not None:
            record = await found_record(deck, arguments.resume, KIND, PLURAL)
            started = lambda run_id: note(f"resuming run {record.run.id} as run {run_id}")  # noqa: E731
            return await agent.aresume(record.run.id, progress=progress, started=started)
        return await agent.arun(
            request,
            context=arguments.context,
            defaults=defaults,
            dry_run=arguments.dry_run,
            progress=progress,
            started=None if arguments.dry_run else _note_start,
        )

    result = wait_for(deck, "planning", work)
    if arguments.json:
        show_json(result.to_dict())
    else:
        show("\n".join(run_lines(result)))
    return exit_code_of_run(result)


def _note_start(run_id: str) -> None:
    note(f"run {run_id} started; to continue it after an interruption: helmdeck agent --resume {run_id}")


def run_runs(arguments: argparse.Namespace) -> int:
    """Show recorded runs, or the steps of one."""
    from helmdeck_runs.agent.program import KIND

    return show_runs(arguments, KIND, PLURAL, "request")


def exit_code_of_run(result: AgentRun) -> int:
    """The exit code of a run."""
    if result.outcome.is_success:
        return ExitCode.OK
    return ExitCode.NO_STEP if result.outcome.value in ("gap", "no_steps") else ExitCode.NOT_FINISHED


def run_lines(result: AgentRun) -> Iterator[str]:
    """A run as text: its plans, its steps with the reasons for executing them, and the outcome."""
    spent = result.spent
    cost = f", {spent.cost_usd:.6f} US dollars" if spent.cost_usd else ""
    usage = f"{spent.seconds:.1f} s, {spent.tokens:,} tokens for plans{cost}"
    rows = [("run", result.id), *result.explain(), ("usage", usage)]
    width = max(len(label) for label, _ in rows)
    for label, text in rows:
        indent = 2 if label in ("output", "failed") else 0
        yield hanging(f"{' ' * indent}{label.ljust(width - indent)}  ", text)


def _limits(arguments: argparse.Namespace, deck: Any) -> Any:
    import attrs

    from helmdeck_runs.agent.agent import configured_limits

    wanted = {
        "max_steps": arguments.max_steps,
        "max_seconds": arguments.max_seconds,
        "max_tokens": arguments.max_tokens,
        "max_cost_usd": arguments.max_cost,
    }
    return attrs.evolve(configured_limits(deck), **{name: value for name, value in wanted.items() if value is not None})


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of at least 0")
    return amount


def _terminal_confirmation(progress: Callable[[str], None]) -> ConfirmCallback | None:
    """Ask on the terminal; ``None`` where there is none."""
    if not can_ask():
        return None

    async def confirm(step: AgentStep) -> bool:
        text = inline_json(dict(step.arguments))
        shown = text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}… ({len(text):,} characters)"
        progress("")  # the line would be drawn over what is typed
        note(f"step {step.number}: {step.entry_id} ({step.decision})\n{hanging('arguments  ', shown)}")
        answer = await _answer(f"execute step {step.number}, {step.entry_id}? y or n, then Enter: ")
        progress(f"step {step.number}: {step.entry_id}")
        return answer.lower() in ("y", "yes")

    return confirm


def _terminal_inputs(progress: Callable[[str], None]) -> InputsCallback | None:
    """Ask for missing arguments on the terminal; ``None`` where there is none."""
    if not can_ask():
        return None

    async def ask(step: AgentStep, missing: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any] | None:
        found: dict[str, Any] = {}
        for name, schema in missing.items():
            described = str(schema.get("description") or schema.get("type") or "")
            progress("")
            note(f"step {step.number}: {step.entry_id} needs {hanging(f'{name}  ', clean(described))}")
            if not (answer := await _answer(f"{name} (nothing ends the run), then Enter: ")):
                return None
            progress(f"step {step.number}: {step.entry_id}")
            found[name] = answer if schema.get("type") == "string" else pairs([f"{name}={answer}"], name)[name]
        return found

    return ask


async def _answer(question: str) -> str:
    """Return the line that is typed, without whitespace around it."""
    import asyncio
    import threading

    loop = asyncio.get_running_loop()
    answer: asyncio.Future[str] = loop.create_future()

    def take(line: str) -> None:
        if not answer.done():
            answer.set_result(line)

    def read() -> None:
        line = sys.stdin.readline()
        if not loop.is_closed():
            loop.call_soon_threadsafe(take, line)

    sys.stderr.write(question)
    sys.stderr.flush()
    # A daemon, so that Ctrl-C does not wait for the line.
    threading.Thread(target=read, name="answer", daemon=True).start()
    return (await answer).strip()


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The commands ``agent`` and ``agent runs``."""
    summary = "plan a request and execute the steps, with confirmations and limits"
    runs = "show recorded runs of agents, or the steps of one"
    return (
        Command(name="agent", summary=summary, configure=configure, run=run, order=15),
        Command(name="agent runs", summary=runs, configure=configure_runs, run=run_runs, order=15),
    )
