"""How often all that a request needs is among the first entries, and how long that takes.

::

    export BENCH_DATA=/path/to/bench                  # the parent directory of tool-selection
    python -m benchmarks.selection                    # print the tables, a few minutes
    python -m benchmarks.selection.fit "$BENCH_DATA/tool-selection" --shipped > judged.txt
    python -m benchmarks.selection --write --judged judged.txt    # write docs/benchmarks/selection.md and its plot
    pip install bm25s PyStemmer                       # the peer whose times stand beside ours
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from benchmarks.selection.data import VARIANTS, DataSet, data_folder, load
from benchmarks.selection.documents import chinese, documents
from benchmarks.selection.speed import TURNS, Timed, large, measure
from helmdeck_cli.evaluation.plot import curves
from helmdeck_core import Catalog
from helmdeck_language.request.borders import BORDER
from helmdeck_language.request.cues import FEATURES
from helmdeck_language.request.model import LAYOUT
from helmdeck_language.request.turn_layouts import TURN_LAYOUT
from helmdeck_selection.lexical.ranker import CatalogIndex

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "selection.md"
PLOT = PAGE.with_suffix(".svg")
MOST, TOP = 25, 12

HEAD = """\
# Ranking benchmark

A weak model receives twelve catalog entries. How often do they include all tools that the request requires? This page ranks
labelled requests over four public catalogs, alone and with a pasted document: six product announcements of 1.5 KB, {fitted} documents
on which the model that separates request and document was fitted, and {held} documents that were never used for that. They are
letters, minutes, manuals, FAQs, mail threads, chats, contracts, recipes, code, JSON, logs, CSV and others, in seven languages; most of
them contain questions and commands themselves. The ranker is the built-in one: no language model, no network, pure Python.

![Share of requests whose needed tools are all among the first k](selection.svg)
"""

SEGMENTATION = """\
## Request and document

A text is split into sentences. A passage that repeats an earlier one is set aside, so pasting a document again changes nothing. Every
plausible layout (all of it is the request; the first, the last or a middle part; a document in between) gets a score: the sum of
learnt weights of {sentences} features of a sentence, {borders} of a border between request and document and {layouts} of a layout. The weight of
a word is 1 if its sentence belongs to the request with a probability of a half at least, else the square of that, and 0 below 0.25. A text
is one request if the probability of that is at least 0.45 and no more than a fifth of its lines have no words, as those of JSON. A text with turns,
such as the labelled lines of a chat or the quoted lines of a mail, has weights of its own and {turns} more features: which turns, and
what outside of them, a layout takes. A text of less than 200 characters has no document.

`python -m benchmarks.selection.fit DATA --write` fits the weights, a conditional logit, on 9,000 texts and 4,500 short ones that are assembled at random
from the requests of the four catalogs (with their whole catalogs, and with ten tools of them), our own requests in nine languages, what
people say for the tools of 96 products of the [model of wording](wording.md), half of it beside a statement, and the documents in `benchmarks/selection/documents/fit`, `tests/data/documents`, the announcements and 360
[transcripts](selection-transcripts.md), and with `--turns` those of texts with turns, on 4,500 more texts, most of them with transcripts. Requests are single, in a row, lists in many styles, or of several lines; there are up to eight documents, before, after, around or on both sides of the request. The file
with the weights contains no text.

The table shows the share of 800 texts, made with the documents that are held out, whose right layout gets more than half of the
probability; a border that is off by one sentence counts as wrong. The requests are of the same data sets as those that the weights
were fitted on; `--crossed` leaves whole data sets out as well.

{judged}
"""

TRIED = """\
## Experiments

Difference in points of complete@12, mean of the four catalogs, for requests alone and after an announcement.

| idea | plain | paste | |
|---|--:|--:|---|
| the [meaning](../how-to/tune-the-ranking.md#meaning) of each clause, in catalogs of up to 1,000 tools | +1.1 | +1.4 | kept: more on [further sets](selection-further.md) |
| the same for the best 20, 30, 50 or 200 entries by words of the largest catalog, of 3,042 tools | -0.1 to +0.1 | -0.1 to +0.1 | left out: 0.4 ms a request at 10,000 tools |
| everyday words where a catalog lacks them, and look-ups by description: see [further sets](selection-further.md) | +0.5 | 0.0 | kept |
| the first sentence of a description counts more than three times as much as the rest | 0.0 | +0.1 | kept: see [missing tools](many-servers.md) |
| 2,200 phrases of everyday English ("write down" for a note) stand for words of catalogs, weight 0.8 | +0.4 | +0.7 | kept: +0.6 beside hard documents; see [languages](selection-languages.md) |
| a weight of 0.6 or 1 for these, and of 0.3 or 1 for the words of a phrase itself, instead of 0.5 | -0.4 to +0.1 | -0.7 to +0.1 | left out: the further sets lose 1.5 or gain 0.8 |
| a request that saves or names a target file needs an entry that writes a file | +0.3 | +0.3 | kept |
| entries that match only verbs at the start of clauses get half of their score | +0.5 | +0.5 | kept: 10 to 15 % slower for a short request |
| entries left out by the largest score that they can still reach, not by a number of candidates | +0.3 | +0.2 | kept: a third slower at 10,000 tools |
| terms left out that can add at most a tenth of the first term's score; half the expected gain of the remaining terms | 0.0 | +0.1 | kept: scores of 10,000 tools a third faster; 0.0 to +0.1 beside documents |
| entries left out only where the next terms have more postings than there are entries | 0.0 | 0.0 | kept: the scores of 10,000 tools a tenth faster in the mean; one request of 595 less in a catalog of 3,042 tools |
| at most 128 entries scored further once entries are left out | 0.0 | 0.0 | left out: no faster |
| terms left out that can add at most a fifth of the first term's score | -1.2 | -0.5 | left out |
| at most 1,000 or 1,500 postings read instead of 2,500, or the first cut after 300 instead of 600 | -0.3 to -0.1 | 0.0 to +0.2 | left out: no faster; measured in one catalog of 10,000 tools, 300 requests of each set |
| a twentieth of the largest score of the remaining terms expected instead of a tenth | -0.9 | -0.6 | left out: 7 % faster at 10,000 tools; measured like the row above |
| postings added by operations on whole dictionaries also for terms of weight below 1 | 0.0 | 0.0 | left out: no faster |
| sentences with a probability of 0.9 or 0.8 and more weigh 1 | 0.0 | -0.4, +0.3 | left out: 2 % faster; recall@12 falls by 0.1 |
| 20 best entries decide which others are left out instead of 32, and 8 for a clause instead of 12 | -0.5 | -0.7 | left out: 3 % faster |
| 50 postings read for the relevance of a sentence instead of 100 | 0.0 | -0.1 | left out: 1 % faster |
| entries of a term as a set beside their scores, for intersections | 0.0 | 0.0 | left out: no faster |
| the best score of a sentence from the entries that two of its terms share, which are found as sets | 0.0 | 0.0 | left out: no faster |
| request and document separated by learnt weights, not by weights set by hand | 0.0 | +0.6 | kept: +3.5 behind and +3.0 before the documents of the tests, Chinese requests lose 0 to 2 points beside documents instead of 2 to 16 |
| the weights of the separation fitted on what people say for the tools of 96 products as well; questions without a mark and words of casual speech as features; a text is one request from 0.45 on, not 0.3; words of a sentence count fully from a half on, else by the square of the probability | 0.0 | -0.3 | kept: -0.3 behind and +0.8 before held-out documents, and behind an announcement +5 on [further sets](selection-further.md); weights of the new fit alone, not their mean with those before: -0.4, -0.3 and +0.5 |
| the squared probability of a sentence as the weight of its words | 0.0 | 0.0 | left out: -0.4 to -1.1 beside hard documents |
| only words of sentences with a probability above a half | 0.0 | +0.7 | left out: -1.1 before an announcement, -7 for Chinese |
| weights of their own for texts with turns | 0.0 | 0.0 | kept: see [transcripts](selection-transcripts.md) |
| weights of texts without turns fitted until the likelihood grows no more | | | left out: 81.0 instead of 81.2 % of 800 texts beside held-out documents, and a short JSON document is read as a request |
| hypernyms of everyday words: rain implies weather, Portuguese a language | +0.6 | +0.6 | kept |
| more hypernyms: beauty, gifts, goods, file types, security, the web, fitness and others | +0.7 | +0.4 | kept |
| weight 0.6 for words that occur in any request ("suggest", "popular", "information") | +0.8 | +0.4 | kept |
| plurals of two-letter words: "ads" | +0.2 | +0.2 | kept |
| terms that share half of their trigrams with an unknown word | +0.4 | +0.4 | kept |
| 8 features of layouts without effect (a quiet document, the place of letter words, code and the end of a text that is all request, the body of a mail) | 0.0 | 0.0 | removed: of 3,400 texts, five more are read right and one less |
| no penalty for line breaks inside the request, less weight for commands, more freedom in its length | | 0.0 | kept: +0.9 behind a hard document, 0.0 before one |
| adjacent words of the request that are adjacent in an entry | 0.0 | 0.0 | left out |
| an entry's score for a clause times the part of the clause that it covers | -0.2 to -0.7 | 0.0 to -0.6 | left out |
| entries near one or two strong ones, raised to a tenth or a third of the best score at most | -1.7 to +0.3 | -1.4 to -0.1 | left out |
| several clauses: only matches of single clauses are scored | -0.8 | -1.2 | left out: no faster either |
| votes of clauses, weight 0.15 or 0.5 instead of 0.3 | -0.8, -0.4 | -0.6, -0.2 | 0.3 stays |
| words that occur in two clauses count twice | -0.4 | -1.2 | left out |
| entries near two matches, in catalogs with similar neighbours | -0.2 | -2.4 | left out: +3 and +4 where a catalog lists families together, -3 and -13 in a small one |
| query expansion with the text of the best six entries | -0.7 to -0.1 | | left out |
| two words that are one in the catalog ("web pages", "co-sponsored") | +0.3 | 0.0 | left out: one request of one catalog, none of the further sets |
| 31 rows of verbs ("replicate" stands for copy) among the everyday words | 0.0 | 0.0 | left out: recall@12 +0.2, the further sets do not change |
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
python -m benchmarks.selection.fit "$BENCH_DATA/tool-selection" --shipped > judged.txt
python -m benchmarks.selection --write --judged judged.txt
```
"""


def places(each: DataSet, variant: str, most: int) -> list[list[int]]:
    """For each request, the places of the needed tools; ``MOST`` + 1 stands for any later one."""
    catalog = Catalog.from_data(each.catalog, each.name)
    index = CatalogIndex(catalog, cache=False)
    found = []
    for text, needed in each.requests(variant, most):
        place_of = {catalog.entries[at].id: place for place, (at, _) in enumerate(index.rank(text).leading(MOST), 1)}
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
    """Milliseconds of everybody, by size, and the ratios to the peer."""
    lines = [
        "| tools | ranker | index | request | behind an announcement | request, × bm25s | behind an announcement, × bm25s |",
        "|--:|---|--:|--:|--:|--:|--:|",
    ]
    for t in timed:
        ratios = " | ".join("" if ratio is None else f"{ratio:.2f}" for ratio in (t.plain_ratio, t.paste_ratio))
        lines.append(f"| {t.size:,} | {t.what} | {t.index:,.0f} ms | {t.plain:.2f} ms | {t.paste:.2f} ms | {ratios} |")
    return "\n".join(lines)


def chinese_table() -> str:
    """Complete@12 and recall@12 of Chinese requests over a Chinese catalog, alone and beside documents."""
    catalog, rows = chinese()
    entries = Catalog.from_data(catalog, "chinese")
    index = CatalogIndex(entries, cache=False)
    held = documents("held_out")
    beside = {
        "the request alone": [""],
        "beside a Chinese document": [each.text for each in held if each.language == "zh"],
        "beside an English document": [each.text for each in held if each.language.startswith("en")],
        "beside a document in another language": [
            each.text for each in held if each.language not in ("zh", "en", "en_more")
        ],
    }
    lines = ["| | complete@12 | recall@12 |", "|---|--:|--:|"]
    for name, texts in beside.items():
        found = []
        for request, needed in rows:
            for text in [whole for each in texts for whole in (f"{each}\n\n{request}", f"{request}\n\n{each}")]:
                first = {entries.entries[at].id for at, _ in index.rank(text).leading(TOP)}
                found.append((needed <= first, len(needed & first) / len(needed)))
        lines.append(f"| {name} | {100 * fmean(ok for ok, _ in found):.1f} | {100 * fmean(r for _, r in found):.1f} |")
    return "\n".join(lines)


def judged_table(path: Path) -> str:
    """The shares that the fitting script printed, without those of single documents."""
    lines = ["| texts | right, percent (number) |", "|---|--:|"]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("all"):
            lines.append(f"| all | {line[4:]} |")
        elif line.startswith(("mode", "source")):
            what, _, share = line.partition(": ")
            lines.append(f"| {what} | {share} |")
    return "\n".join(lines)


def plotted(found: Found) -> dict[str, list[float]]:
    """Complete@k for k from 1 on, the mean of the catalogs; one curve for both sides of the hard documents."""
    curve = {
        variant: [fmean(complete(each, top) for each in sets.values()) for top in range(1, MOST + 1)]
        for variant, sets in found.items()
    }
    hard = [fmean(pair) for pair in zip(curve["held out before"], curve["held out after"], strict=True)]
    return {
        "plain": curve["plain"],
        "behind an announcement": curve["paste"],
        "before an announcement": curve["after"],
        "beside a held-out document": hard,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write the page where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} and {PLOT.name}")
    parser.add_argument("--judged", type=Path, help="output of the fitting script, for the page")
    parser.add_argument("--most", type=int, default=1_500, help="requests of each catalog, 1,500")
    arguments = parser.parse_args(argv)
    if arguments.write and arguments.judged is None:
        parser.error("--write needs --judged, the output of `python -m benchmarks.selection.fit DATA --shipped`")
    sets = load(data_folder())
    found = {variant: {each.name: places(each, variant, arguments.most) for each in sets} for variant in VARIANTS}
    sizes = ", ".join(
        f"{each.name} {len(each.catalog['packs']):,} tools and {len(each.plain):,} requests" for each in sets
    )
    quality = f"## Complete@12\n\n{quality_table(found)}\n\nPercent. Catalogs: {sizes}."
    timed = speed_table(measure(sets))
    load_mean = os.getloadavg()[0]
    speed = (
        f"## Times\n\n{timed}\n\nMedians of processor time, the least of {TURNS} turns in which all rankers get the same request, on one machine "
        f"with {os.cpu_count()} processors and a load average of {load_mean:.1f}; compare ratios only, which are medians of those of single "
        "requests. The word index separates request and document and scores; the ranker also reads values, "
        "adds look-ups and checks the language. "
        "Top 12 of a catalog pooled from all four. bm25s uses a compiled stemmer and NumPy; it neither splits identifiers nor "
        "separates the request from the document. For a short request over 10,000 tools most of its scores are 0, and to partition such "
        "an array takes NumPy the larger part of its time, so that the ratio of the first column was 0.8 to 4 on different machines."
    )
    in_chinese = (
        f"## Chinese\n\n{chinese_table()}\n\nPercent. A catalog of 50 tools and 25 requests of our own. A script without spaces is "
        "matched by pairs of characters, and by single Chinese characters where the catalog does not contain the pair."
    )
    fitted = len(documents("fit")) + len(documents("older"))
    segmentation = SEGMENTATION.format(
        sentences=len(FEATURES),
        borders=len(BORDER),
        layouts=len(LAYOUT),
        turns=len(TURN_LAYOUT),
        judged=judged_table(arguments.judged) if arguments.judged else "",
    )
    head = HEAD.format(fitted=fitted, held=len(documents("held_out")))
    page = "\n\n".join(
        [head.rstrip(), quality, in_chinese, segmentation.rstrip(), speed, large(sets), TRIED.rstrip(), RUN]
    )
    print(page)
    if arguments.write:
        PAGE.write_text(page, encoding="utf-8")
        PLOT.write_text(curves(plotted(found), "the first k entries", "complete, percent"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
