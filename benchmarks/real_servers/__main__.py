"""Provokes failures of real servers, and requests plans from a model that generates noise.

python -m benchmarks.real_servers                     # servers built by build.sh, with their variables set
python -m benchmarks.real_servers --write PAGE.md     # also writes the tables between the markers of the page
"""

from __future__ import annotations

import argparse
import collections
import statistics
import tempfile
import time
from pathlib import Path

import attrs

from benchmarks.pages import write_between
from benchmarks.real_servers.cases import MODEL, Row, rows
from benchmarks.real_servers.plan_deck import CONTEXT, IDS, planning_deck
from benchmarks.real_servers.server import PROGRAMS, Program, serve
from helmdeck_core import CallFailed, Helmdeck, PlanOutcome

REQUESTS = ("read this", "draw that", "kind time is it", "read it and draw it", "tell me something", "do as you like")


@attrs.frozen(kw_only=True)
class Tally:
    """Results of many plans of a model that generates noise.

    :ivar valid: number of plans whose steps are all catalog entries with valid arguments.
    :ivar causes: failure causes of the other plans.
    """

    server: str
    constrained: bool
    kind: str
    count: int
    valid: int
    seconds: float
    causes: collections.Counter[str]


def tally(program: Program, folder: Path, count: int, *, constrained: bool) -> list[Tally]:
    """Request plans and routes.

    :param constrained: decoding is constrained to the schema.
    """
    found = []
    with (
        serve(program, "random", folder, context=CONTEXT) as url,
        planning_deck(url, folder, is_strict=constrained) as deck,
    ):
        for kind, is_valid in (("plan", _is_plan), ("route", _is_route)):
            valid, seconds, causes = 0, [], collections.Counter[str]()
            for number in range(count):
                start = time.perf_counter()
                try:
                    valid += is_valid(deck, f"{REQUESTS[number % len(REQUESTS)]}, {number}")
                except CallFailed as exc:
                    causes[f"`{type(exc).__name__}`, {exc.sub_cause}"] += 1
                seconds.append(time.perf_counter() - start)
            row = Tally(
                server=program.name,
                constrained=constrained,
                kind=kind,
                count=count,
                valid=valid,
                seconds=statistics.median(seconds),
                causes=causes,
            )
            found.append(row)
    return found


def _is_plan(deck: Helmdeck, request: str) -> bool:
    plan = deck.plan(request, model=MODEL)
    runs = [str(step.args.get("id")) if step.tool not in IDS else step.tool for step in plan.steps]
    known = all(name in IDS for name, step in zip(runs, plan.steps, strict=True) if step.tool != "unknown")
    return plan.outcome is not PlanOutcome.NO_STEPS and known and not any(step.problems for step in plan.steps)


def _is_route(deck: Helmdeck, request: str) -> bool:
    route = deck.route(request, model=MODEL)
    return route.recommendation.id in IDS or not route.recommendation.id


def failures(found: list[Row]) -> str:
    """Return the table of failures and all messages as Markdown."""
    lines = ["| request | server | response | result in Helmdeck | attempts | s |", "|---|---|---|---|--:|--:|"]
    lines += [
        f"| {row.case} | {row.server} | {row.wire} | {row.cause} | {row.attempts} | {row.seconds:.1f} |"
        for row in found
    ]
    lines += ["", "Error messages:", ""]
    for row in found:
        if row.message:
            lines += [f"- {row.case}, {row.server}:", "", "  ```text", f"  {row.message}", "  ```"]
    return "\n".join(lines)


def plans(found: list[Tally]) -> str:
    """Return the table of plans as Markdown."""
    lines = [
        "| server | request | constrained to the schema | valid | median, s | otherwise |",
        "|---|---|---|--:|--:|---|",
    ]
    for row in found:
        rest = "; ".join(f"{name}: {count}" for name, count in row.causes.most_common()) or "-"
        constrained = "yes" if row.constrained else "no"
        place = f"{row.valid} of {row.count} | {row.seconds:.1f}"
        lines.append(f"| {row.server} | {row.kind} | {constrained} | {place} | {rest} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--count", type=int, default=20, help="plans and routes per server, under the schema and without"
    )
    parser.add_argument("--write", type=Path, help="page with the markers of both tables")
    arguments = parser.parse_args()
    for program in PROGRAMS.values():
        if program.path() is None:
            parser.error(program.missing())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = failures([row for program in PROGRAMS.values() for row in rows(program, folder)])
        print(first, flush=True)
        runs = [(program, constrained) for program in PROGRAMS.values() for constrained in (True, False)]
        second = plans(
            [
                row
                for program, constrained in runs
                for row in tally(program, folder, arguments.count, constrained=constrained)
            ]
        )
    print(f"\n{second}")
    if arguments.write:
        write_between(arguments.write, "failures", first)
        write_between(arguments.write, "plans", second)


if __name__ == "__main__":
    main()
