"""``helmdeck pipeline``: list, show, check and run pipelines; list, resume and cancel their runs."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmdeck_cli import (
    add_catalog,
    add_inputs,
    add_model,
    add_out,
    counted,
    input_values,
    note_file,
    wait_for,
)
from helmdeck_core import ArtifactFolder, Command, ConfigError, hookimpl, safe_name
from helmdeck_core.cli import (
    ExitCode,
    UsageError,
    clean,
    hanging,
    inline_json,
    labelled,
    make_deck,
    note,
    show,
    show_json,
    table,
)
from helmdeck_runs.commands.run_records import configure_runs, found_record, needing_a_queue, read_records, show_runs

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck, Mistake, Runtime
    from helmdeck_runs.pipelines.needs import PipelineNeeds

PLURAL = "runs of pipelines"


def run_list(arguments: argparse.Namespace) -> int:
    """List the pipelines, and whether they can run."""
    from helmdeck_runs.pipelines.definition import parts_of_entry
    from helmdeck_runs.pipelines.needs import needs_of

    with make_deck(arguments) as deck:
        rows: list[dict[str, Any]] = []
        needs = {entry.id: needs_of(entry, deck) for entry in deck.catalog.pipelines}
        # Those that run come first, then those that need no more than a command: they are what a user can try.
        for entry in sorted(deck.catalog.pipelines, key=lambda entry: needs[entry.id].rank()):
            problems = list(needs[entry.id].lines())
            steps = parts_of_entry(entry).get("steps")
            rows.append({"id": entry.id, "steps": len(steps) if isinstance(steps, (list, tuple)) else 0})
            rows[-1] |= {"description": entry.description, "runnable": not problems, "problems": problems}
    if arguments.json:
        show_json({"pipelines": rows})
    elif not rows:
        note("the catalog has no pipelines; [pipelines] files adds some")
    else:
        cells = [
            (clean(row["id"]), str(row["steps"]), clean(_state(needs[row["id"]])), clean(row["description"]))
            for row in rows
        ]
        show(table(cells, ("pipeline", "steps", "runs", "description"), right={1}))
        advice = list(_advice(needs.values()))
        show("\n".join(["", *(labelled(label, clean(text)) for label, text in advice)]) if advice else "")
    return ExitCode.OK


def _state(needs: PipelineNeeds) -> str:
    if needs.mistakes:
        return f"no: {counted(len(needs.mistakes), 'mistake')}"
    return f"no: needs {', '.join(needs.names())}" if needs.lines() else "yes"


def _advice(found: Collection[PipelineNeeds]) -> Iterator[tuple[str, str]]:
    """What to do so that more pipelines run."""
    if any(needs.packs for needs in found):
        text = "install a plugin or write a pack (helmdeck plugins new), or add an MCP server ([catalog.mcp.NAME])"
        unknown = dict.fromkeys(pack for needs in found for pack in needs.packs)
        yield "needs", f"{', '.join(unknown)}: {text} that runs these packs"
    installs: dict[str, set[str]] = {}
    for pack, _, command in (each for needs in found for each in needs.commands):
        installs.setdefault(command, set()).add(pack)
    for command, names in installs.items():
        yield "install", f"{', '.join(sorted(names))}: {command}"
    packs: dict[str, set[str]] = {}
    for pack, how in (each for needs in found for each in needs.options):
        packs.setdefault(how, set()).add(pack)
    for how, names in packs.items():
        yield "configure", f"{', '.join(sorted(names))}: {how}"
    if any(needs.mistakes for needs in found):
        yield "correct", "helmdeck pipeline check lists the mistakes"


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
    from helmdeck_runs.pipelines.needs import needs_of
    from helmdeck_runs.pipelines.start import is_optional, pipeline_entry
    from helmdeck_runs.pipelines.validation import checked_definition, dependencies, stages

    with make_deck(arguments) as deck:
        entry = pipeline_entry(deck.catalog, arguments.pipeline)
        definition, _ = checked_definition(entry, deck.catalog)
        problems = needs_of(entry, deck).lines()
    if arguments.json:
        diagrams = {"mermaid": diagram.mermaid(definition)} if definition.steps else {}
        show_json(
            {
                "id": entry.id,
                **parts_of_entry(entry),
                "stages": stages(definition),
                "runnable": not problems,
                "problems": list(problems),
                **diagrams,
            }
        )
        return ExitCode.OK
    if arguments.format != "text":
        if not definition.steps:
            raise UsageError(f"{entry.id}: a pipeline without steps has no diagram")
        show(diagram.mermaid(definition) if arguments.format == "mermaid" else diagram.svg(definition))
        return ExitCode.OK
    show(hanging("", f"{clean(entry.id)}: {clean(entry.description)}"))
    show("")
    for name, declared in definition.inputs.items():
        kind = str(declared.get("type", "any"))
        default = f", default {inline_json(declared['default'])}" if "default" in declared else ""
        need = "" if default or not is_optional(declared) else ", optional"
        show(labelled("input", clean(f"{name}: {kind}{default}{need} {declared.get('description', '')}".rstrip())))
    for name, value in definition.outputs.items():
        show(labelled("output", clean(f"{name}: {value if isinstance(value, str) else inline_json(value)}")))
    waits = dependencies(definition)
    rows = [
        (
            clean(step.id),
            clean(step.pack),
            clean(", ".join(waits[step.id]) or "the start"),
            clean(inline_json(dict(step.arguments))),
        )
        for step in definition.steps
    ]
    show("")
    show(table(rows, ("step", "pack", "starts after", "with")))
    if together := [stage for stage in stages(definition) if len(stage) > 1]:
        show("")
        for stage in together:
            show(labelled("at once", clean(f"{', '.join(stage)} (at most {definition.max_parallel} side by side)")))
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
    from helmdeck_runs.pipelines.needs import needs_of
    from helmdeck_runs.pipelines.start import pipeline_entry

    with make_deck(arguments) as deck:
        catalog = deck.catalog
        entries = [pipeline_entry(catalog, each) for each in arguments.pipeline] or list(catalog.pipelines)
        found = {entry.id: list(needs_of(entry, deck).lines()) for entry in entries}
    code = ExitCode.USAGE if any(found.values()) else ExitCode.OK
    if arguments.json:
        show_json({"ok": code == ExitCode.OK, "pipelines": found})
        return code
    for pipeline_id, problems in found.items():
        show(f"{'not valid' if problems else 'ok'}: {clean(pipeline_id)}")
        for problem in problems:
            show(hanging("  ", clean(problem)))
    return code


def configure_run(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("pipeline", metavar="ID", help="the id of the pipeline")
    add_inputs(parser)
    add_model(parser, "the model that the steps call")
    add_out(parser, "the pipeline")
    parser.add_argument("--detach", action="store_true", help="queue the run for a worker, and print its id")
    add_catalog(parser)


def run_run(arguments: argparse.Namespace) -> int:
    """Run a pipeline, and print its id and outputs as JSON."""
    import asyncio

    from helmdeck_runs.deck_runs import runs_of
    from helmdeck_runs.pipelines.start import make_run, result_of

    inputs = input_values(arguments)
    deck = make_deck(arguments)
    name = arguments.pipeline
    if arguments.detach:

        async def submit(_: Callable[[str], None]) -> dict[str, Any]:
            run = make_run(deck.catalog, name, inputs, caller="local", model=arguments.model)
            return {"run_id": await runs_of(deck).submit(run)}

        with needing_a_queue():
            show_json(wait_for(deck, f"queueing {name}", submit))
        return ExitCode.OK

    async def execute(progress: Callable[[str], None]) -> dict[str, Any]:
        catalog = await asyncio.to_thread(lambda: deck.catalog)  # its first use may start servers
        run = make_run(catalog, name, inputs, caller="local", model=arguments.model)
        return result_of(run, await runs_of(deck).execute(run, progress, note_start))

    def note_start(run_id: str) -> None:
        folder = "" if arguments.artifacts is None else f" --out {shlex.quote(arguments.artifacts)}"
        note(f"run {run_id} started; to continue it after an interruption: helmdeck pipeline resume {run_id}{folder}")

    result = wait_for(deck, f"running {name}", execute)
    show_json(result)
    _write_texts(result["outputs"], arguments.artifacts)
    return ExitCode.OK


def _write_texts(outputs: Mapping[str, Any], folder: str | None) -> None:
    """Write the outputs that are texts of several lines to the folder of ``--out``, which has the files of the packs, too."""
    if folder is None:
        return
    files = ArtifactFolder(Path(folder))
    for name, value in outputs.items():
        if isinstance(value, str) and "\n" in value:
            note_file(files.write(safe_name(name, ".md"), value).to_dict())


def run_runs(arguments: argparse.Namespace) -> int:
    """Show recorded runs, or the steps of one."""
    from helmdeck_runs.pipelines.start import KIND

    return show_runs(arguments, KIND, PLURAL, "pipeline")


def configure_one(parser: argparse.ArgumentParser) -> None:
    """Add the argument."""
    parser.add_argument("run", metavar="RUN", help="the id of the run, or last for the newest one")


def configure_resume(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    configure_one(parser)
    add_out(parser, "the pipeline")


def run_resume(arguments: argparse.Namespace) -> int:
    """Continue a run at its failed step, as a new run; finished steps keep their results."""
    from helmdeck_runs.deck_runs import runs_of
    from helmdeck_runs.pipelines.start import KIND, result_of, resumed
    from helmdeck_runs.runs import RunState

    async def resume(deck: Helmdeck, progress: Callable[[str], None]) -> dict[str, Any]:
        record = await found_record(deck, arguments.run, KIND, PLURAL)
        if record.state is RunState.SUCCEEDED or record.state.is_active:
            reason = f"the run {record.run.id} is {record.state.value}; only a run that ended early is resumed"
            if record.state is RunState.RUNNING:
                cancel = f"helmdeck pipeline cancel {record.run.id}"
                reason += f"; if its process {record.executor} has ended, cancel it first: {cancel}"
            raise UsageError(reason)
        run = resumed(record)

        def note_id(run_id: str) -> None:
            kept = f"resuming run {record.run.id} after {counted(len(run.done), 'finished step')}"
            note(kept if run_id == record.run.id else f"{kept}, as run {run_id}")

        return result_of(run, await runs_of(deck).execute(run, progress, note_id))

    deck = make_deck(arguments)
    result = wait_for(deck, f"resuming {arguments.run}", lambda progress: resume(deck, progress))
    show_json(result)
    _write_texts(result["outputs"], arguments.artifacts)
    return ExitCode.OK


def run_cancel(arguments: argparse.Namespace) -> int:
    """Cancel a run."""
    from helmdeck_runs.deck_runs import runs_of
    from helmdeck_runs.pipelines.start import KIND

    async def cancel(deck: Helmdeck) -> tuple[str, bool]:
        record = await found_record(deck, arguments.run, KIND, PLURAL)
        return record.run.id, await runs_of(deck).cancel(record.run.id)

    run_id, was_active = read_records(arguments, cancel)
    if arguments.json:
        show_json({"run_id": run_id, "cancelled": was_active})
    else:
        show("cancelled" if was_active else "the run had ended already")
    return ExitCode.OK


def database_mistakes(runtime: Runtime) -> Sequence[Mistake]:
    """Return the mistakes of ``[runs]``: its URL, and extras that are not installed."""
    from importlib.util import find_spec

    from helmdeck_core import Mistake
    from helmdeck_runs.engines.database import checked_url
    from helmdeck_storage import driver_mistakes

    mistakes: list[Mistake] = []
    if runtime.config.runs.engine == "dbos" and find_spec("dbos") is None:
        mistakes.append(Mistake("runs.engine", "the extra is not installed; pip install 'helmdeck[dbos]'", "'dbos'"))
    try:
        checked_url(runtime.config.runs.url)
    except ConfigError as exc:
        return (*mistakes, *exc.mistakes)
    return (*mistakes, *driver_mistakes("runs.url", runtime.config.runs.url))


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
        ("resume", "continue a failed run at the step that failed", configure_resume, run_resume),
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
