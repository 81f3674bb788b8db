"""Asks real servers for what they refuse, cut, drop and never end, and for plans of a model that writes noise.

python -m benchmarks.real_servers                     # the servers that build.sh made, where their variables are set
python -m benchmarks.real_servers --write PAGE.md     # writes the tables between the page's marks as well
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
from benchmarks.real_servers.planning import CONTEXT, IDS, planning_deck
from benchmarks.real_servers.serving import PROGRAMS, Program, serving
from helmdeck_core import CallFailed, Helmdeck, PlanOutcome

REQUESTS = ("read this", "draw that", "what time is it", "read it and draw it", "tell me something", "do as you like")


@attrs.frozen(kw_only=True)
class Tally:
    """What many plans of a model that writes noise came to.

    :ivar valid: of ``asked``, those whose every step is an entry of the catalog with arguments that fit it.
    :ivar causes: of the others.
    """

    server: str
    held: bool
    what: str
    asked: int
    valid: int
    seconds: float
    causes: collections.Counter[str]


def tally(program: Program, folder: Path, count: int, *, held: bool) -> list[Tally]:
    """Ask for plans, and for routes.

    :param held: the answer is held to the schema of what is asked for.
    """
    found = []
    with serving(program, "random", folder, context=CONTEXT) as url, planning_deck(url, folder, is_strict=held) as deck:
        for what, is_valid in (("plan", _is_plan), ("route", _is_route)):
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
                held=held,
                what=what,
                asked=count,
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
    """The table of failures, and every message, as Markdown."""
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
    """The table of plans, as Markdown."""
    lines = [
        "| server | request | constrained to the schema | valid | median, s | otherwise |",
        "|---|---|---|--:|--:|---|",
    ]
    for row in found:
        rest = "; ".join(f"{name}: {count}" for name, count in row.causes.most_common()) or "-"
        held = "yes" if row.held else "no"
        place = f"{row.valid} of {row.asked} | {row.seconds:.1f}"
        lines.append(f"| {row.server} | {row.what} | {held} | {place} | {rest} |")
    return "\n".join(lines)


def main() -> None:
    """Ask and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--count", type=int, default=20, help="plans and routes per server, under the schema and without"
    )
    parser.add_argument("--write", type=Path, help="a page with the marks of both tables")
    given = parser.parse_args()
    for program in PROGRAMS.values():
        if program.path() is None:
            parser.error(program.missing())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = failures([row for program in PROGRAMS.values() for row in rows(program, folder)])
        print(first, flush=True)
        asked = [(program, held) for program in PROGRAMS.values() for held in (True, False)]
        second = plans([row for program, held in asked for row in tally(program, folder, given.count, held=held)])
    print(f"\n{second}")
    if given.write:
        write_between(given.write, "failures", first)
        write_between(given.write, "plans", second)


if __name__ == "__main__":
    main()
