"""How often ``local/lexical`` plans the right steps with the right arguments, and nothing else.

::

    export MCP_TOOLS=/path/to/mcp-tools                # recorded tools/list results, one JSON file per server
    python -m benchmarks.first_use                     # print the tables
    python -m benchmarks.first_use --half dev --show   # the half for development, with every difference
    python -m benchmarks.first_use --write             # write docs/benchmarks/first-use.md as well
    python -m benchmarks.first_use --set eleventh      # another set
    python -m benchmarks.first_use --set all           # the sums of each set of English requests
    python -m benchmarks.first_use --set all --write   # write the tables of the page
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import attrs

from benchmarks.first_use.data import Request, load_catalogs, load_requests, mcp_folder, of_half, pooled
from benchmarks.first_use.scoring import Score, score
from benchmarks.pages import write_between
from helmdeck_core import Catalog
from helmdeck_testing import make_deck

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "first-use.md"
COLUMNS = (
    "requests",
    "steps",
    "right tool",
    "right arguments",
    "invented",
    "wrong writes",
    "negated",
    "gaps reported",
    "extra",
    "look-ups",
)
MODEL = "local/lexical"


@attrs.frozen
class Outcome:
    """A request with the score of its plan, and the time that the plan took."""

    request: Request
    score: Score
    seconds: float


def measure(requests: Sequence[Request], catalogs: Mapping[str, Catalog]) -> list[Outcome]:
    """Plan every request over its catalog."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in dict.fromkeys(request.catalog for request in requests):
            catalog = pooled(catalogs, name)
            source = Path(folder) / f"{name}.json"
            source.write_bytes(catalog.encode())
            with make_deck(catalog_sources=[str(source)]) as deck:
                for request in [each for each in requests if each.catalog == name]:
                    start = time.perf_counter()
                    plan = deck.plan(request.text, model=MODEL)
                    found.append(Outcome(request, score(request, plan, catalog), time.perf_counter() - start))
    return found


def row(name: str, outcomes: Sequence[Outcome]) -> list[str]:
    """Return the cells of a row."""
    total = sum((outcome.score for outcome in outcomes), Score())
    return [
        name,
        str(len(outcomes)),
        str(total.steps),
        f"{total.tools} ({_percent(total.tools, total.steps)})",
        f"{total.args} ({_percent(total.args, total.tools)})",
        str(total.invented),
        str(total.wrong_writes),
        str(total.negated),
        f"{total.reported} of {total.gaps}",
        str(total.extra),
        f"{total.inferred_right} of {total.inferred_wanted}, {total.inferred - total.inferred_right} wrong",
    ]


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


SETS = (
    "requests",
    "classes",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
    "twentyfirst",
    "twentysecond",
)
"""Folders of requests."""

CHAINS = "chains"
"""The folder of requests that name what two look-ups find; they are no part of the sums."""

ON_PAGE = ("sums", "requests", "classes", CHAINS)
"""The tables of the page."""

GROUPS: Mapping[str, Callable[[Request], str]] = {
    "language": lambda request: request.language,
    "catalog": lambda request: request.catalog,
    "kind": lambda request: _kind(request),
}


def _kind(request: Request) -> str:
    if request.never or request.forbidden:
        return "with an excluded part"
    if request.gaps or request.needs_model:
        return "with an uncovered part"
    if "typo" in request.tags:
        return "with a typo"
    return {1: "one part", 2: "two parts"}.get(len(request.steps), "more parts")


def table(first: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    head = [first, *COLUMNS]
    lines = [f"| {' | '.join(head)} |", f"|---|{'--:|' * len(COLUMNS)}"]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in rows)])


def report(outcomes: Sequence[Outcome]) -> str:
    """Return the tables of all outcomes."""
    english = [each for each in outcomes if each.request.language == "en"]
    parts = [
        table(
            "half",
            [
                row(f"English, {half}", [each for each in english if _is_in(each, half)])
                for half in ("dev", "held-out", "all")
            ]
            + [row("all languages", outcomes)],
        )
    ]
    for name, group in GROUPS.items():
        values = sorted({group(each.request) for each in outcomes})
        parts.append(
            table(name, [row(value, [each for each in outcomes if group(each.request) == value]) for value in values])
        )
    return "\n\n".join(parts)


def class_report(outcomes: Sequence[Outcome]) -> str:
    """Return the table of the classes of difficulty: the held-out half of each, and both halves of all."""
    held_out = [each for each in outcomes if _is_in(each, "held-out")]
    names = sorted({each.request.tags[0] for each in outcomes})
    rows = [row(name, [each for each in held_out if each.request.tags[0] == name]) for name in names]
    dev = [each for each in outcomes if not _is_in(each, "held-out")]
    return table("class, held-out", [*rows, row("**all, held-out**", held_out), row("all, dev", dev)])


def summary(outcomes: Mapping[str, Sequence[Outcome]]) -> str:
    """Return the table of the English requests of several sets: the sums of both halves of each set, and of all."""
    rows, every = [], []
    for half in ("held-out", "dev"):
        of_sets = {name: [each for each in found if _is_in(each, half)] for name, found in outcomes.items()}
        of_sets = {name: [each for each in found if each.request.language == "en"] for name, found in of_sets.items()}
        rows += [row(f"{name}, {half}", found) for name, found in of_sets.items() if found]
        every.append(row(f"**all, {half}**", [each for found in of_sets.values() for each in found]))
    return table("set", [*rows, *every])


def _is_in(outcome: Outcome, half: str) -> bool:
    return bool(of_half([outcome.request], half))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write the page where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mcp-tools", type=Path, default=mcp_folder(), help="folder of the recorded catalogs")
    parser.add_argument("--half", choices=("dev", "held-out", "all"), default="all", help="requests to score: all")
    parser.add_argument(
        "--set", choices=(*SETS, CHAINS, "all"), default=SETS[0], help="folder of requests, or the sums of all"
    )
    parser.add_argument("--show", action="store_true", help="print every difference")
    parser.add_argument("--json", action="store_true", help="print data instead of tables")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}; requires all requests")
    arguments = parser.parse_args(argv)
    catalogs = load_catalogs(arguments.mcp_tools)
    outcomes: dict[str, list[Outcome]] = {}
    for folder in (*SETS, CHAINS) if arguments.set == "all" else (arguments.set,):
        requests = of_half(load_requests(folder), arguments.half)
        needed = {name for request in requests for name in request.catalog.split("+")}
        if skipped := sorted(needed - catalogs.keys()):
            print(f"skipped, not in {arguments.mcp_tools} (set MCP_TOOLS): {', '.join(skipped)}", file=sys.stderr)
            if arguments.write:
                parser.error("--write requires all catalogs")
        outcomes[folder] = measure(
            [each for each in requests if catalogs.keys() >= {*each.catalog.split("+")}], catalogs
        )
    if arguments.write and arguments.half != "all":
        parser.error("--write requires all requests")
    every = [each for found in outcomes.values() for each in found]
    if arguments.json:
        print(json.dumps([_data(each) for each in every], ensure_ascii=False, indent=1))
        return 0
    if arguments.show:
        for each in every:
            for problem in each.score.problems:
                print(f"{each.request.catalog}: {each.request.text!r}: {problem}")
    texts = {name: (report if name == "requests" else class_report)(found) for name, found in outcomes.items()}
    if arguments.set == "all":
        texts["sums"] = summary({name: outcomes[name] for name in SETS})
    print(texts.get("sums") or texts[arguments.set])
    for name in (name for name in ON_PAGE if arguments.write and name in texts):
        write_between(PAGE, name, texts[name])
    return 0


def _data(outcome: Outcome) -> dict[str, object]:
    request = outcome.request
    facts = {"catalog": request.catalog, "language": request.language, "text": request.text}
    return {**facts, "held_out": request.is_held_out, **attrs.asdict(outcome.score)}


if __name__ == "__main__":
    raise SystemExit(main())
