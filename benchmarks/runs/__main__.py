"""Run engines: kills of workers, many concurrent runs, and the time that a record of a step takes.

::

    python -m benchmarks.runs --postgres postgresql://postgres@localhost/empty      # about five minutes
    python -m benchmarks.runs --write docs/benchmarks/durable-runs.md --postgres ...
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.pages import write_between
from benchmarks.runs.durability import Outcome, trial
from benchmarks.runs.local import LocalOutcome, measured


def durable_table(outcomes: Sequence[Outcome]) -> str:
    """The figures of the engine ``dbos``."""
    lines = [
        "| database | runs | kills | ended with the right output | recorded steps | repeated before their record | after it | s |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for each in outcomes:
        lines.append(
            f"| {each.store} | {each.runs} | {each.kills} | {each.right} | {each.steps:,} | {each.repeated} | "
            f"{each.repeated_done} | {each.seconds:.0f} |"
        )
    return "\n".join(lines)


def local_table(outcomes: Sequence[LocalOutcome]) -> str:
    """The figures of the engine ``local``."""
    lines = [
        "| database | concurrent runs | with a complete record | s | growth of memory in 5,000 further runs, MB | ms per step |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for each in outcomes:
        lines.append(
            f"| {each.store} | {each.concurrent:,} | {each.recorded:,} | {each.seconds:.1f} | {each.growth_mb:.1f} | "
            f"{each.step_ms:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", metavar="URL", help="an empty PostgreSQL database")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--write", metavar="PAGE.md", type=Path)
    arguments = parser.parse_args()
    local, durable = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        postgres = {"PostgreSQL": arguments.postgres} if arguments.postgres else {}
        for store, url in {"SQLite": f"sqlite:{folder / 'local.db'}", **postgres}.items():
            local.append(asyncio.run(measured(store, url)))
            print(local[-1], flush=True)
        for store, url in {"SQLite": f"sqlite:{folder / 'durable.db'}", **postgres}.items():
            durable.append(asyncio.run(trial(store, url, folder, runs=arguments.runs, kills=arguments.kills)))
            print(durable[-1], flush=True)
    if arguments.write:
        write_between(arguments.write, "durable", durable_table(durable))
        write_between(arguments.write, "local", local_table(local))
    if any(each.repeated_done or each.right < each.runs for each in durable):
        sys.exit("a run was lost, or a recorded step ran twice")


if __name__ == "__main__":
    main()
