"""How often all that a request needs is among the first entries, and how long that takes.

::

    export BENCH_DATA=/path/to/bench                  # the parent directory of tool-selection
    python -m benchmarks.selection                    # print the tables, a few minutes
    python -m benchmarks.selection --write            # write docs/benchmarks/selection.md and its plot as well
    pip install bm25s PyStemmer                       # the peer whose times stand beside ours
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.selection.data import DOCUMENTS, VARIANTS, DataSet, data_folder, load
from benchmarks.selection.speed import Timed, measure
from helmdeck_core import Catalog
from helmdeck_plugins.commands.eval_plot import curves
from helmdeck_plugins.lexical.index import LexicalIndex

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "selection.md"
PLOT = PAGE.with_suffix(".svg")
MOST, TOP = 25, 12

HEAD = """\
# Ranking benchmark

A weak model receives twelve catalog entries. How often do they include all tools that the request requires? This page ranks
labelled requests over four public catalogs, alone and with a pasted document: six product announcements of 1.5 KB, and {documents}
documents that contain questions and commands themselves (letters, minutes, manuals, FAQs, mail threads, one of them German). The
ranker is the built-in one: no model, no network, pure Python.

![Share of requests whose needed tools are all among the first k](selection.svg)
"""

TRIED = """\
## Experiments

Difference in points of complete@12, mean of the four catalogs, for requests alone and after an announcement.

| idea | plain | paste | |
|---|--:|--:|---|
| hypernyms of everyday words: rain implies weather, Portuguese a language | +0.6 | +0.6 | kept |
| more hypernyms: beauty, gifts, goods, file types, security, the web, fitness and others | +0.7 | +0.4 | kept |
| weight 0.6 for words that occur in any request ("suggest", "popular", "information") | +0.8 | +0.4 | kept |
| plurals of two-letter words: "ads" | +0.2 | +0.2 | kept |
| terms that share half of their trigrams with an unknown word | +0.4 | +0.4 | kept |
| no penalty for line breaks inside the request, less weight for commands, more freedom in its length | | 0.0 | kept: +0.9 behind a hard document, 0.0 before one |
| adjacent words of the request that are adjacent in an entry | 0.0 | 0.0 | left out |
| an entry's score for a clause times the part of the clause that it covers | -0.2 to -0.7 | 0.0 to -0.6 | left out |
| entries near one or two strong ones, raised to a tenth or a third of the best score at most | -1.7 to +0.3 | -1.4 to -0.1 | left out |
| several clauses: only matches of single clauses are scored | -0.8 | -1.2 | left out: no faster either |
| votes of clauses, weight 0.15 or 0.5 instead of 0.3 | -0.8, -0.4 | -0.6, -0.2 | 0.3 stays |
| words that occur in two clauses count twice | -0.4 | -1.2 | left out |
| entries near two matches, in catalogs with similar neighbours | -0.2 | -2.4 | left out: +3 and +4 where a catalog lists families together, -3 and -13 in a small one |
| query expansion with the text of the best six entries | -0.7 to -0.1 | | left out |
| lower-case names split at words of the catalog | 0.0 | 0.0 | left out |
| weights of names and parameters, saturation, length: a third to a half more or less | -0.3 to +0.1 | -0.5 to +0.1 | unchanged |
| all-MiniLM-L6-v2 on each clause, fused by rank | +3.0 | +3.3 | left out: 1.2 GB and 100 times the time would have to bring 4 points |

The last row was measured on 150 requests of each catalog, before the changes of the first rows. The second row was written after
examining the misses on these catalogs; on others its effect is smaller. The rows are from different stages of development and do
not add up. About 60 settings were scored on these requests, so all figures on this page are for data that was used for tuning.
"""

RUN = """\
## Run it

The data is not part of the repository. Each catalog is a directory with `catalog.json`, `queries.jsonl` and
`queries_paste.jsonl`; `pastes.json` is next to the directories.

```sh
export BENCH_DATA=/path/to/bench            # the parent directory of tool-selection
pip install bm25s PyStemmer                 # optional, for the comparison of times
python -m benchmarks.selection --write
```
"""


def places(each: DataSet, variant: str, most: int) -> list[list[int]]:
    """For each request, the places of the needed tools; ``MOST`` + 1 stands for any later one."""
    index = LexicalIndex(Catalog.from_data(each.catalog, each.name))
    found = []
    for text, needed in each.requests(variant, most):
        place_of = {index.entries[at].id: place for place, (at, _) in enumerate(index.rank(text).leading(MOST), 1)}
        found.append([place_of.get(tool, MOST + 1) for tool in needed])
    return found


def complete(found: Sequence[Sequence[int]], top: int) -> float:
    """Percent of requests whose tools are all among the first ``top``."""
    return 100 * fmean(max(places) <= top for places in found)


def recall(found: Sequence[Sequence[int]], top: int) -> float:
    """Percent of the needed tools of a request among the first ``top``, in the mean."""
    return 100 * fmean(fmean(place <= top for place in places) for places in found)


Found = Mapping[str, Mapping[str, Sequence[Sequence[int]]]]


def quality_table(found: Found) -> str:
    """A row for each variant: complete@12 of each catalog, then the means of complete@12 and recall@12."""
    names = list(next(iter(found.values())))
    lines = [
        "| | " + " | ".join(names) + " | mean | recall@12, mean |",
        "|---|" + "--:|" * (len(names) + 2),
    ]
    for variant, sets in found.items():
        values = [complete(sets[name], TOP) for name in names]
        means = (fmean(values), fmean(recall(sets[name], TOP) for name in names))
        cells = " | ".join(f"{value:.1f}" for value in (*values, *means))
        lines.append(f"| {variant}: {VARIANTS[variant]} | {cells} |")
    return "\n".join(lines)


def speed_table(timed: Sequence[Timed]) -> str:
    """Milliseconds of everybody, by size."""
    lines = ["| tools | ranker | index | request | behind an announcement |", "|--:|---|--:|--:|--:|"]
    lines += [f"| {t.size:,} | {t.what} | {t.index:,.0f} ms | {t.plain:.2f} ms | {t.paste:.2f} ms |" for t in timed]
    return "\n".join(lines)


def plotted(found: Found) -> dict[str, list[float]]:
    """Complete@k for k from 1 on, the mean of the catalogs; one curve for both sides of the hard documents."""
    curve = {
        variant: [fmean(complete(each, top) for each in sets.values()) for top in range(1, MOST + 1)]
        for variant, sets in found.items()
    }
    hard = [fmean(pair) for pair in zip(curve["hard before"], curve["hard after"], strict=True)]
    return {
        "plain": curve["plain"],
        "behind an announcement": curve["paste"],
        "before an announcement": curve["after"],
        "beside a hard document": hard,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write the page where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} and {PLOT.name}")
    parser.add_argument("--most", type=int, default=1_500, help="requests of each catalog, 1,500")
    arguments = parser.parse_args(argv)
    sets = load(data_folder())
    found = {variant: {each.name: places(each, variant, arguments.most) for each in sets} for variant in VARIANTS}
    sizes = ", ".join(
        f"{each.name} {len(each.catalog['packs']):,} tools and {len(each.plain):,} requests" for each in sets
    )
    quality = f"## Complete@12\n\n{quality_table(found)}\n\nPercent. Catalogs: {sizes}."
    speed = (
        f"## Times\n\n{speed_table(measure(sets))}\n\nMedians of one run on one machine; compare ratios only. "
        "Top 12 of a catalog pooled from all four. bm25s uses a compiled stemmer and NumPy; it neither splits identifiers nor "
        "separates the request from the document."
    )
    page = "\n\n".join(
        [HEAD.format(documents=len(list(DOCUMENTS.glob("*.txt")))).rstrip(), quality, speed, TRIED.rstrip(), RUN]
    )
    print(page)
    if arguments.write:
        PAGE.write_text(page, encoding="utf-8")
        PLOT.write_text(curves(plotted(found), "the first k entries", "complete, percent"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
