"""How selection gets better with the history of a caller: thirty simulated days, with and without it.

::

    export BENCH_DATA=/path/to/bench             # the parent directory of tool-selection
    python -m benchmarks.learning                # print the tables, about two minutes
    python -m benchmarks.learning --write        # write docs/benchmarks/learning.md and its plot as well
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.learning.simulation import (
    DAYS,
    DRIFT_DAYS,
    HABITS,
    KINDS,
    LARGE_SHARE,
    PER_DAY,
    SHARES,
    TOP,
    WRONG_SHARE,
    Outcome,
    simulate,
)
from benchmarks.selection.data import data_folder, load
from helmdeck_cli.evaluation.plot import curves

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "learning.md"
PLOT = PAGE.with_suffix(".svg")

HEAD = f"""\
# Learning benchmark

Selection with the history of a caller, compared with selection without it. One caller sends {PER_DAY} requests a day for {DAYS}
days. There are {HABITS} habits, requests that come again; half of them are replaced every {DRIFT_DAYS} days. The requests and their
labels are from four public catalogs, and the first {TOP} entries count.

| kind of request | share | |
|---|--:|---|
| repeated | {SHARES["repeated"]:.0%} | a habit, word for word |
| rephrased | {SHARES["rephrased"]:.0%} or more | a habit with another opening and ending, words left out and exchanged |
| related | up to {SHARES["related"]:.0%} | another labelled request that needs the tools of a habit, where the data has one |
| novel | {SHARES["novel"]:.0%} | a request that did not occur before |
| lookalike | {SHARES["lookalike"]:.0%} | the novel request that shares most words with a habit and needs none of its tools |

{LARGE_SHARE:.0%} of the plans are made by a model that is shown the whole catalog and plans all needed tools; the other plans have
those among the first {TOP}. {WRONG_SHARE:.0%} of all plans have a wrong tool. Only plans are recorded, in a SQLite store.

![Complete@12 of all requests by day, with and without history](learning.svg)
"""

RUN = """\
## Run it

The data is that of the [ranking benchmark](selection.md#run-it).

```sh
export BENCH_DATA=/path/to/bench            # the parent directory of tool-selection
python -m benchmarks.learning --write
```
"""


def percent(outcomes: Sequence[Outcome], *, with_history: bool) -> float:
    """Percent of requests whose tools are all among the first ``TOP``."""
    return 100 * fmean(each.with_history if with_history else each.without for each in outcomes)


def cell(outcomes: Sequence[Outcome]) -> str:
    """Both figures; a dash where no request is of the kind."""
    if not outcomes:
        return "–"
    return f"{percent(outcomes, with_history=False):.1f} → {percent(outcomes, with_history=True):.1f}"


def by_kind(found: Mapping[str, Sequence[Outcome]]) -> str:
    """A row for each catalog and kind."""
    lines = ["| catalog | requests | " + " | ".join(KINDS) + " | all |", "|---|--:|" + "--:|" * (len(KINDS) + 1)]
    for name, outcomes in {**found, "all four": [each for values in found.values() for each in values]}.items():
        cells = [cell([each for each in outcomes if each.kind == kind]) for kind in KINDS]
        lines.append(f"| {name} | {len(outcomes):,} | {' | '.join(cells)} | {cell(outcomes)} |")
    return "\n".join(lines)


def by_day(outcomes: Sequence[Outcome]) -> str:
    """A row for each span of five days, over all catalogs."""
    lines = ["| days | repeated and rephrased | all |", "|---|--:|--:|"]
    for first in range(0, DAYS, 5):
        span = [each for each in outcomes if first <= each.day < first + 5]
        known = [each for each in span if each.kind in ("repeated", "rephrased")]
        lines.append(f"| {first + 1} to {first + 5} | {cell(known)} | {cell(span)} |")
    return "\n".join(lines)


def plotted(outcomes: Sequence[Outcome]) -> dict[str, list[float]]:
    """Complete@12 by day, each the mean of three days."""
    spans = [[each for each in outcomes if abs(each.day - day) <= 1] for day in range(DAYS)]
    return {
        "with history": [percent(span, with_history=True) for span in spans],
        "without": [percent(span, with_history=False) for span in spans],
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write the page where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} and {PLOT.name}")
    parser.add_argument("--callers", type=int, default=3, help="simulated callers of each catalog, 3")
    arguments = parser.parse_args(argv)
    found = {
        each.name: [outcome for seed in range(arguments.callers) for outcome in simulate(each, seed)]
        for each in load(data_folder())
    }
    every = [outcome for outcomes in found.values() for outcome in outcomes]
    tables = (
        (
            f"## By kind of request\n\n{by_kind(found)}\n\nComplete@{TOP} in percent, without → with history, of "
            f"{arguments.callers} callers a catalog. The weights of the prior were chosen on these requests."
        ),
        f"## Over time\n\n{by_day(every)}\n\nAll four catalogs.",
    )
    page = "\n\n".join([HEAD.rstrip(), *tables, RUN])
    print(page)
    if arguments.write:
        PAGE.write_text(page, encoding="utf-8")
        PLOT.write_text(curves(plotted(every), "day", "complete@12, percent"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
