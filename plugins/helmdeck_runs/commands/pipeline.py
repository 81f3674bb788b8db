"""``helmdeck pipeline``: list, show, check and run pipelines; list, resume and cancel their runs."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from helmdeck_cli import (
    add_catalog,
    add_inputs,
    counted,
    input_values,
    run_data,
    show_run,
    started_text,
    wait_for,
    whole_number,
)
from helmdeck_core import Command, ConfigError, hookimpl
from helmdeck_core.cli import (
    ExitCode,
    UsageError,
    clean,
    inline_json,
    labelled,
    make_deck,
    note,
    show,
    show_json,
    table,
)

if TYPE_CHECKING:
    from helmdeck_core import Entry, Helmdeck, Mistake, Runtime
    from helmdeck_runs.runs import RunRecord

T = TypeVar("T")

LAST = "last"
"""Stands for the id of the newest run."""


def run_list(arguments: argparse.Namespace) -> int:
    """List the pipelines, and whether they can run."""
    from helmdeck_runs.pipelines.definition import parts_of_entry

    with make_deck(arguments) as deck:
        rows: list[dict[str, Any]] = []
        for entry in deck.catalog.pipelines:
            problems = _problems(entry, deck)
            steps = parts_of_entry(entry).get("steps")
            rows.append({"id": entry.id, "steps": len(steps) if isinstance(steps, (list, tuple)) else 0})
            rows[-1] |= {"description": entry.description, "runnable": not problems, "problems": problems}
    if arguments.json:
        show_json({"pipelines": rows})
    elif not rows:
        note("the catalog has no pipelines; [pipelines] files adds some")
    else:
        cells = [(clean(each["id"]), str(each["steps"]), _state(each), clean(each["description"])) for each in rows]
        show(table(cells, ("pipeline", "steps", "runs", "description"), right={1}))
    return ExitCode.OK


def _state(row: Mapping[str, Any]) -> str:
    return "yes" if row["runnable"] else f"no: {counted(len(row['problems']), 'problem')}"


def _problems(entry: Entry, deck: Helmdeck) -> list[str]:
    """The mistakes of a pipeline, and its packs that cannot run here."""
    from helmdeck_core import EntryKind, Pack
    from helmdeck_runs.pipelines.validation import checked_definition

    definition, mistakes = checked_definition(entry, deck.catalog)
    problems = [str(mistake).removeprefix(f"pipeline {entry.id}: ") for mistake in mistakes]
    installed = deck.runtime.contributed(Pack)
    for step in definition.steps:
        found = deck.catalog.get(step.pack)
        is_pipeline = found is not None and found.kind is EntryKind.PIPELINE
        if step.pack in installed or found is None or is_pipeline:
            continue
        if not any(name == found.source and hasattr(each, "run") for name, each in deck.open_sources.items()):
            problems.append(f"step {step.id}: no installed pack or server runs {step.pack}")
    return problems


def configure_show(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("pipeline", metavar="ID", help="the id of the pipeline")
    parser.add_argument(
        "--format",
        choices=("text", "mermaid", "svg"),
        default="text",
        help="text, or a diagram as Mermaid or SVG; default: text",
    )
    add_catalog(parser)


def run_show(arguments: argparse.Namespace) -> int:
    """Show what a pipeline declares, as text or as a diagram."""
    from helmdeck_runs.pipelines import diagram
    from helmdeck_runs.pipelines.definition import parts_of_entry
    from helmdeck_runs.pipelines.start import is_optional, pipeline_entry
    from helmdeck_runs.pipelines.validation import checked_definition

    with make_deck(arguments) as deck:
        entry = pipeline_entry(deck.catalog, arguments.pipeline)
        definition, _ = checked_definition(entry, deck.catalog)
        problems = _problems(entry, deck)
    if arguments.json:
        diagrams = {"mermaid": diagram.mermaid(definition)} if definition.steps else {}
        show_json({"id": entry.id, **parts_of_entry(entry), "runnable": not problems, "problems": problems, **diagrams})
        return ExitCode.OK
    if arguments.format != "text":
        if not definition.steps:
            raise UsageError(f"{entry.id}: a pipeline without steps has no diagram")
        show(diagram.mermaid(definition) if arguments.format == "mermaid" else diagram.svg(definition))
        return ExitCode.OK
    show(f"{clean(entry.id)}: {clean(entry.description)}")
    show("")
    for name, declared in definition.inputs.items():
        kind = str(declared.get("type", "any"))
        default = f", default {inline_json(declared['default'])}" if "default" in declared else ""
        need = "" if default or not is_optional(declared) else ", optional"
        show(labelled("input", clean(f"{name}: {kind}{default}{need} {declared.get('description', '')}".rstrip())))
    for name, value in definition.outputs.items():
        show(labelled("output", clean(f"{name}: {value if isinstance(value, str) else inline_json(value)}")))
    rows = [(clean(step.id), clean(step.pack), clean(inline_json(dict(step.arguments)))) for step in definition.steps]
    show("")
    show(table(rows, ("step", "pack", "with")))
    if problems:
        show("")
    for problem in problems:
        show(labelled("problem", clean(problem)))
    return ExitCode.OK


def configure_check(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("pipeline", metavar="ID", nargs="*", help="ids of pipelines; default: all of them")
    add_catalog(parser)


def run_check(arguments: argparse.Namespace) -> int:
    """Report every mistake. Packs that cannot run here are mistakes, too."""
    from helmdeck_runs.pipelines.start import pipeline_entry

    with make_deck(arguments) as deck:
        catalog = deck.catalog
        entries = [pipeline_entry(catalog, each) for each in arguments.pipeline] or list(catalog.pipelines)
        found = {entry.id: _problems(entry, deck) for entry in entries}
    code = ExitCode.USAGE if any(found.values()) else ExitCode.OK
    if arguments.json:
        show_json({"ok": code == ExitCode.OK, "pipelines": found})
        return code
    for pipeline_id, problems in found.items():
        show(f"{'not valid' if problems else 'ok'}: {clean(pipeline_id)}")
        for problem in problems:
            show(f"  {clean(problem)}")
    return code


def configure_run(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("pipeline", metavar="ID", help="the id of the pipeline")
    add_inputs(parser)
    parser.add_argument(
        "--model", metavar="PROVIDER/MODEL", help="the model that the steps call; default: the configured model"
    )
    parser.add_argument("--detach", action="store_true", help="queue the run for a worker, and print its id")
    add_catalog(parser)


def run_run(arguments: argparse.Namespace) -> int:
    """Run a pipeline, and print its id and outputs as JSON."""
    inputs = input_values(arguments)
    deck = make_deck(arguments)
    name = arguments.pipeline
    if arguments.detach:
        from helmdeck_runs.deck_runs import runs_of
        from helmdeck_runs.pipelines.start import make_run

        async def submit(_: Callable[[str], None]) -> dict[str, Any]:
            run = make_run(deck.catalog, name, inputs, caller="local", model=arguments.model)
            return {"run_id": await runs_of(deck).submit(run)}

        show_json(wait_for(deck, f"queueing {name}", submit))
        return ExitCode.OK
    call = {"id": name, "inputs": inputs}
    output = wait_for(
        deck,
        f"running {name}",
        lambda progress: deck.arun("helmdeck__pipeline-run", call, model=arguments.model, progress=progress),
    )
    show_json(dict(output))
    return ExitCode.OK


def configure_runs(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "run", metavar="RUN", nargs="?", help="the id of a run, to show its steps, or last for the newest one"
    )
    parser.add_argument("--limit", metavar="N", type=whole_number, default=20, help="runs to show; default: 20")


def run_runs(arguments: argparse.Namespace) -> int:
    """Show recorded runs, or the steps of one."""
    from helmdeck_runs.deck_runs import runs_of
    from helmdeck_runs.pipelines.start import KIND

    if arguments.run:
        record = _waited(arguments, lambda deck: _record(deck, arguments.run))
        show_run(record, as_json=arguments.json)
        return ExitCode.OK
    records = _waited(arguments, lambda deck: runs_of(deck).records(kind=KIND, limit=arguments.limit))
    if arguments.json:
        show_json({"runs": [run_data(record) for record in records]})
    elif not records:
        note("no runs of pipelines are recorded")
    else:
        rows = [
            (
                record.run.id,
                clean(record.run.name),
                record.state.value,
                started_text(record),
                f"{record.duration_s:.1f} s",
            )
            for record in records
        ]
        show(table(rows, ("run", "pipeline", "state", "started", "time"), right={4}))
    return ExitCode.OK


def _waited(arguments: argparse.Namespace, work: Callable[[Helmdeck], Awaitable[T]]) -> T:
    deck = make_deck(arguments)
    return wait_for(deck, "reading the records", lambda _: work(deck), notes_problems=False)


async def _record(deck: Helmdeck, run_id: str) -> RunRecord:
    from helmdeck_runs.deck_runs import runs_of
    from helmdeck_runs.pipelines.start import KIND

    newest = await runs_of(deck).records(kind=KIND, limit=1) if run_id == LAST else ()
    if run_id == LAST and not newest:
        raise UsageError("no runs of pipelines are recorded")
    record = await runs_of(deck).record(newest[0].run.id if newest else run_id)
    if record is None:
        recent = ", ".join(each.run.id for each in await runs_of(deck).records(limit=5))
        raise UsageError(f"no run {run_id!r} is recorded; most recent: {recent or 'none'}")
    return record


def configure_one(parser: argparse.ArgumentParser) -> None:
    """Add the argument."""
    parser.add_argument("run", metavar="RUN", help="the id of the run, or last for the newest one")


def run_resume(arguments: argparse.Namespace) -> int:
    """Continue a run at its failed step, as a new run; finished steps keep their results."""
    from helmdeck_runs.deck_runs import runs_of
    from helmdeck_runs.pipelines.start import result_of, resumed
    from helmdeck_runs.runs import RunState

    async def resume(deck: Helmdeck, progress: Callable[[str], None]) -> dict[str, Any]:
        record = await _record(deck, arguments.run)
        if record.state is RunState.SUCCEEDED or record.state.is_active:
            raise UsageError(f"the run {record.run.id} is {record.state.value}; only a run that ended early is resumed")
        run = resumed(record)
        return result_of(run, await runs_of(deck).execute(run, progress))

    deck = make_deck(arguments)
    show_json(wait_for(deck, f"resuming {arguments.run}", lambda progress: resume(deck, progress)))
    return ExitCode.OK


def run_cancel(arguments: argparse.Namespace) -> int:
    """Cancel a run."""
    from helmdeck_runs.deck_runs import runs_of

    async def cancel(deck: Helmdeck) -> bool:
        record = await _record(deck, arguments.run)
        return await runs_of(deck).cancel(record.run.id)

    was_active = _waited(arguments, cancel)
    if arguments.json:
        show_json({"run_id": arguments.run, "cancelled": was_active})
    else:
        show("cancelled" if was_active else "the run had ended already")
    return ExitCode.OK


def database_mistakes(runtime: Runtime) -> Sequence[Mistake]:
    """Return the mistakes of ``[runs] url``."""
    from helmdeck_runs.engines.database import checked_url

    try:
        checked_url(runtime.config.runs.url)
    except ConfigError as exc:
        return exc.mistakes
    return ()


@hookimpl
def helmdeck_commands() -> Sequence[Command]:
    """The commands of the group ``pipeline``."""
    group = "show, check and run pipelines; list, resume and cancel their runs"
    rows: list[tuple[str, str, Any, Any]] = [
        ("list", "list pipelines, and whether they can run", add_catalog, run_list),
        ("show", "show a pipeline, as text or as a diagram", configure_show, run_show),
        ("check", "check pipelines without running them, and report every mistake", configure_check, run_check),
        ("run", "run a pipeline", configure_run, run_run),
        ("runs", "show recorded runs, or the steps of one", configure_runs, run_runs),
        ("resume", "continue a failed run at the step that failed", configure_one, run_resume),
        ("cancel", "cancel a run", configure_one, run_cancel),
    ]
    return tuple(
        Command(
            name=f"pipeline {name}",
            summary=summary,
            group_summary=group,
            configure=configure,
            run=run,
            check=database_mistakes if run is run_check else None,
            order=32,
        )
        for name, summary, configure, run in rows
    )
