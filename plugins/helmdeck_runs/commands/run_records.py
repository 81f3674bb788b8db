"""What the commands of pipelines and agents share: lists of runs, records by id or ``last``, and notes about ids."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from helmdeck_cli import positive_number, run_data, show_run, started_text, wait_for
from helmdeck_core.cli import ExitCode, UsageError, clean, make_deck, note, show, show_json, table

if TYPE_CHECKING:
    from helmdeck_core import Helmdeck
    from helmdeck_runs.runs import RunRecord

T = TypeVar("T")

LAST = "last"
"""Stands for the id of the newest run."""

LISTED = 5
"""Runs that an error about an unknown id lists."""


def configure_runs(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that shows runs."""
    parser.add_argument(
        "run", metavar="RUN", nargs="?", help="the id of a run, to show its steps, or last for the newest one"
    )
    parser.add_argument("--limit", metavar="N", type=positive_number, default=20, help="runs to show; default: 20")


@contextlib.contextmanager
def needing_a_queue() -> Iterator[None]:
    """Report an engine without a queue as a usage error, as the configuration chooses it.

    :raises UsageError: the engine has no queue.
    """
    from helmdeck_runs.failures import UnsupportedError

    try:
        yield
    except UnsupportedError as exc:
        raise UsageError(str(exc)) from exc


def show_runs(arguments: argparse.Namespace, kind: str, plural: str, heading: str) -> int:
    """Show the recorded runs of a kind, or the steps of one.

    :param plural: the runs in words, such as ``runs of pipelines``.
    :param heading: of the column with the names of the runs.
    """
    from helmdeck_runs.deck_runs import runs_of

    if arguments.run:
        record = read_records(arguments, lambda deck: found_record(deck, arguments.run, kind, plural))
        show_run(record, as_json=arguments.json)
        return ExitCode.OK
    records = read_records(arguments, lambda deck: runs_of(deck).records(kind=kind, limit=arguments.limit))
    if arguments.json:
        show_json({"runs": [run_data(record) for record in records]})
    elif not records:
        note(f"no {plural} are recorded")
    else:
        rows = [
            (each.run.id, clean(_shown(each)), _state(each), started_text(each), f"{each.duration_s:.1f} s")
            for each in records
        ]
        show(table(rows, ("run", heading, "state", "started", "time"), right={4}))
    return ExitCode.OK


def _shown(record: RunRecord) -> str:
    """The request of an agent run, which follows its documents; the name of another one."""
    text = str(record.run.inputs.get("intent") or record.run.name)
    return " ".join(text.rpartition("\n\n")[2].split())[:80]


def _state(record: RunRecord) -> str:
    """The state of a run; for an agent run that ended by itself its outcome, such as ``needs_confirmation``."""
    is_outcome = record.run.kind == "agent" and isinstance(record.output, Mapping)
    return str(record.output.get("outcome", "")) or record.state.value if is_outcome else record.state.value


def read_records(arguments: argparse.Namespace, work: Callable[[Helmdeck], Awaitable[T]]) -> T:
    """Await a call that reads records."""
    deck = make_deck(arguments)
    return wait_for(deck, "reading the records", lambda _: work(deck), notes_problems=False)


async def found_record(deck: Helmdeck, run_id: str, kind: str, plural: str) -> RunRecord:
    """Return the record of a run; that of the newest run of a kind for ``last``.

    :raises UsageError: there is none.
    """
    from helmdeck_runs.deck_runs import runs_of

    newest = await runs_of(deck).records(kind=kind, limit=1) if run_id == LAST else ()
    if run_id == LAST and not newest:
        raise UsageError(f"no {plural} are recorded")
    record = await runs_of(deck).record(newest[0].run.id if newest else run_id)
    if record is None or record.run.kind != kind:
        recent = ", ".join(each.run.id for each in await runs_of(deck).records(kind=kind, limit=LISTED))
        other = "" if record is None else f" among the {plural}; it is a run of the kind {record.run.kind!r}"
        raise UsageError(f"no run {run_id!r} is recorded{other}; most recent: {recent or 'none'}")
    return record
