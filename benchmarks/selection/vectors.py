"""The ranker ``vectors`` beside ``lexical``: languages, many servers, public catalogs, time.

::

    pip install 'helmdeck[vectors]'
    export BENCH_DATA=/path/to/bench                  # the parent directory of tool-selection; optional
    export MCP_TOOLS=/path/to/mcp-tools               # recorded lists of tools, one JSON file per server; optional
    python -m benchmarks.selection.vectors            # print the tables, some minutes
    python -m benchmarks.selection.vectors --write    # write docs/benchmarks/selection-vectors.md and its plot as well
"""

from __future__ import annotations

import argparse
import functools
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import attrs

from benchmarks.selection.data import DataSet, data_folder, load, pooled
from benchmarks.selection.own_sets import (
    everyday_catalog,
    first_use_requests,
    multilingual_requests,
    server_catalog,
    server_requests,
)
from helmdeck_cli.evaluation.measure import Evaluation, Rank, evaluate
from helmdeck_cli.evaluation.plot import curves
from helmdeck_cli.evaluation.requests import LabelledRequest
from helmdeck_core import Catalog, ProviderSettings, RankContext, Ranker, RankIndex, Ranking
from helmdeck_core.domain.ranking import should_escalate
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex
from helmdeck_testing.deck_factory import make_deck

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "selection-vectors.md"
PLOT = PAGE.with_suffix(".svg")
LANGUAGES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "ja": "Japanese",
    "zh": "Chinese",
    "ar": "Arabic",
}
VARIANTS = ("plain", "paste", "hard before", "hard after")
KS = (5, 8, 12, 16, 20, 30)
TOP, MOST = 12, 40
ROUNDS = 3

HEAD = """\
# Vector ranking benchmark

The ranker `vectors` adds sentence vectors to the lexical score ([how to use it](../how-to/tune-the-ranking.md#vectors)). This page
compares it with `lexical` alone: requests in seven languages, requests of several steps over many servers, and public catalogs.
All labelled requests of the first two sections were written for this project and are in `benchmarks/selection/`; they were used
for tuning, so other data will give lower figures.
"""

TRIED = """\
## Another encoder, other ways to combine

Complete@12 in percent; before the slash every second request, behind it the others. *Public*: the mean of the four catalogs, 200 requests of
each, alone; *further*: the mean of the [further sets](selection-further.md); *servers*: the own requests of several steps. The first table
was measured before entries of one server lifted each other, and without look-ups for what only vectors find.

| scores added to those of the words | public | further | servers |
|---|--:|--:|--:|
| none | 78.1 / 74.8 | 43.1 / 43.7 | 69.7 / 84.8 |
| this encoder, weight 0.5 | 78.1 / 76.1 | 50.5 / 51.2 | 63.6 / 75.8 |
| wordllama 0.4.0 (static, 256 numbers, a wheel with its 16 MB of weights), weight 0.5 | 78.3 / 75.1 | 42.3 / 45.4 | 66.7 / 81.8 |
| the same, weight 0.25 and 1 | 77.8 / 74.6, 76.4 / 76.2 | 42.9 / 44.8, 40.0 / 43.8 | 69.7 / 81.8, 69.7 / 78.8 |
| both, weight 0.3 each | 77.4 / 75.4 | 50.3 / 51.2 | 69.7 / 78.8 |

wordllama takes a third of the time (3.4 instead of 9.8 ms for the parts of a request), but finds hardly more than words do.

The second table was measured with both, as a user gets them. *Hard*: 720 requests before or behind chats with speaker labels, which were assembled from
sentences of documents and of other requests; in 62 % of the first 360 a part of the chat is read as part of the request.

| how the scores are combined | mean of ten sets | servers | hard |
|---|--:|--:|--:|
| words alone | 60.3 / 63.0 | 75.8 / 87.9 | 50.1 |
| added, as it is | 67.2 / 68.3 | 75.8 / 78.8 | 53.9 |

Before runs of neighbours counted as servers, the row "added" was 67.2 / 67.2, 75.8 / 78.8 and 52.6, and these compare with it:

| left out | mean of ten sets | servers | hard |
|---|--:|--:|--:|
| fused by rank, constant 10 or 20 | 60.9 to 63.9 / 62.1 to 65.2 | 48 to 64 / 67 to 76 | 49.1 to 52.8 |
| the first three, five or seven by words stay among the first ten | 66.6 to 67.1 / 67.1 to 67.3 | 73 to 76 / 79 to 82 | 53.0 to 53.7 |
| parts of the request weighted by the probability that they belong to it, to the power of 0.5 to 2 | 67.2 / 67.2 | 76 / 79 | 52.6 to 53.2 |
| the same divided by the number of parts, to the power of 0.15 or 0.3 | 66.5 to 67.3 / 66.2 to 66.9 | 76 / 76 to 79 | 52.0 to 52.8 |
| names, numbers and paths do not count as words that the catalog lacks | 67.5 / 66.7 | 79 / 79 | 52.9 |
| a limit of 0.25 to 0.35 for what vectors add | 66.6 to 67.1 / 66.9 to 67.2 | 73 to 76 / 76 to 79 | 52.9 to 53.9 |

## Weak similarities

Added as it is, vectors were worse than words alone on one set, the requests of several steps over few servers: three requests of 66. Entries
that are only a little closer to a request than others displaced those that its words find. So a part of each similarity counts nothing,
in proportion to the share of words that the catalog knows. The value was chosen on the half before the slash, with all sets of the
[leaderboard](selection-leaderboard.md).

| standard deviations that count nothing | alone | behind a document | before a document | servers, alone | servers, behind |
|---|--:|--:|--:|--:|--:|
| words alone | 63.6 / 64.4 | 61.2 / 63.9 | 61.9 / 63.9 | 76 / 88 | 70 / 88 |
| 0 | 71.8 / 72.0 | 69.1 / 71.3 | 71.0 / 71.3 | 76 / 79 | 70 / 79 |
| 1.25 | 72.1 / 72.6 | 69.8 / 71.9 | 71.3 / 71.9 | 79 / 85 | 73 / 85 |
| **1.5** | 72.4 / 72.4 | 69.9 / 71.6 | 71.6 / 71.6 | 82 / 85 | 76 / 85 |
| 1.75 | 72.1 / 72.0 | 69.4 / 71.3 | 71.3 / 71.3 | 79 / 85 | 73 / 85 |
| 2.5 | 71.8 / 71.7 | 69.0 / 71.2 | 70.3 / 71.0 | 79 / 85 | 73 / 85 |

Other sets change by one request of 45 at most. On 100 or 150 requests of each set, these were tried as well: 1 for requests in any language (71.6 / 72.6
alone instead of 72.0 / 72.4; 69.0 / 71.5 behind instead of 69.6 / 71.7), only for requests of several clauses, only for entries that no word finds, less weight for
sure rankings or for clauses whose words are sure, only the closest 4 to 16 entries of each part, 0.8 and 0.9 of the weight: no gain on both
halves.
"""

RUN = """\
## Run it

```sh
pip install 'helmdeck[vectors]'
export BENCH_DATA=/path/to/bench            # optional, the public catalogs
export MCP_TOOLS=/path/to/mcp-tools         # optional, one list of tools per server
python -m benchmarks.selection.vectors --write
```

`helmdeck eval selection` computes the same figures for your own catalog and requests.
"""


@attrs.frozen
class Rankers:
    """Makes the indexes of both rankers; the vectors are cached in one folder."""

    cache: str

    def lexical(self, catalog: Catalog) -> RankIndex:
        """The index of ``lexical``."""
        return _ranker("lexical").index(catalog)

    def vectors(self, catalog: Catalog, base: RankIndex | None = None) -> RankIndex:
        """The index of ``vectors``."""
        ranker = _ranker("vectors")
        context = RankContext(base=base or self.lexical(catalog), settings=_no_settings)
        return ranker.index(catalog, context=context, **{**ranker.options, "cache": self.cache})


def _no_settings(name: str) -> ProviderSettings:
    raise KeyError(name)


def _ranker(name: str) -> Ranker:
    return DECK.runtime.contributed(Ranker)[name].value


DECK = make_deck()


# -- languages ---------------------------------------------------------------------------------------------


def languages(rankers: Rankers) -> tuple[str, dict[str, Evaluation]]:
    """Complete@12 by language."""
    catalog, requests = everyday_catalog(), multilingual_requests()
    base = rankers.lexical(catalog)
    found = {
        "lexical": evaluate("lexical", catalog, base.rank, requests, TOP),
        "vectors": evaluate("vectors", catalog, rankers.vectors(catalog, base).rank, requests, TOP),
    }
    reported = {
        code: sum(not base.rank(request.text).is_reliable for request in requests if request.group == code)
        for code in LANGUAGES
    }
    lines = ["| | " + " | ".join(LANGUAGES.values()) + " |", "|---|" + "--:|" * len(LANGUAGES)]
    for name, result in found.items():
        groups = result.groups()
        cells = (sum(each.needed <= TOP for each in groups[code].outcomes) for code in LANGUAGES)
        lines.append(f"| `{name}`, complete@12 | " + " | ".join(map(str, cells)) + " |")
    lines.append(
        "| `lexical`, reported as another language | " + " | ".join(str(reported[code]) for code in LANGUAGES) + " |"
    )
    text = (
        f"## Languages\n\nOf thirty requests in each language, over {len(catalog)} entries that are described in English:\n\n"
        + "\n".join(lines)
        + "\n\nAn entry that nothing matches does not count as found. `lexical` labels what it cannot rank, see "
        "[Requests in other languages](../how-to/tune-the-ranking.md#requests-in-other-languages)."
    )
    return text, found


# -- many servers ------------------------------------------------------------------------------------------


def servers(rankers: Rankers) -> tuple[str, dict[str, Evaluation]]:
    """Requests of several steps; empty without the recorded catalogs."""
    catalog = server_catalog()
    if catalog is None:
        return "", {}
    requests, implied = server_requests()
    words = LexicalIndex(catalog)
    base = rankers.lexical(catalog)
    vectors = rankers.vectors(catalog, base)
    stages: dict[str, RankIndex] = {"words alone": words, "`lexical`": base, "`vectors`": vectors}
    found = {name: evaluate(name, catalog, index.rank, requests, TOP) for name, index in stages.items()}
    lines = [
        "| | " + " | ".join(f"@{k}" for k in KS) + " | recall@12 | k for 50 / 80 / 90 % | bytes for 50 / 80 % |",
        "|---|" + "--:|" * (len(KS) + 3),
    ]
    for name, each in found.items():
        cells = " | ".join(f"{100 * each.complete(k):.1f}" for k in KS)
        needs = " / ".join(f"{each.k_for(share):,}" for share in (0.5, 0.8, 0.9))
        sizes = " / ".join(f"{each.bytes_for(share):,}" for share in (0.5, 0.8))
        lines.append(f"| {name} | {cells} | {100 * each.recall(TOP):.1f} | {needs} | {sizes} |")
    steps = sum(len(request.tools) for request in requests)
    sources = len({entry.source for entry in catalog.entries})
    text = (
        f"## Many servers, several steps\n\n{len(requests)} requests that need {steps} tools, {sum(map(len, implied))} of them "
        f"implied by no word (look up the channel id, stage before a commit, what time is it now), over {len(catalog)} tools of "
        f"{sources} servers. Complete@k in percent:\n\n" + "\n".join(lines) + "\n\n"
        f"{_missed(found['`vectors`'], implied)}\n\n{_other_requests(catalog, stages)}\n\n{_ideas(catalog, requests, found, base.rank, vectors.rank)}"
    )
    return text, {name.strip("`"): each for name, each in found.items()}


def _missed(result: Evaluation, implied: Sequence[frozenset[str]]) -> str:
    missed = [
        (miss.tool in hidden, miss)
        for outcome, hidden in zip(result.outcomes, implied, strict=True)
        for miss in outcome.misses
    ]
    hidden = sum(each for each, _ in missed)
    near = sum(miss.place <= MOST for _, miss in missed)
    return (
        f"With vectors {len(missed)} needed tools are not among the first 12: {hidden} implied ones, the rest named in words that "
        f"their descriptions do not use. {near} of them are among the first {MOST}. A place that is larger than the catalog's "
        "last match means that nothing matches."
    )


def _other_requests(catalog: Catalog, stages: Mapping[str, RankIndex]) -> str:
    """The requests of the first-use benchmark, which were written for another purpose."""
    requests = first_use_requests(catalog)
    ks = (3, 5, 8, 12)

    def complete(rank: Rank, k: int) -> float:
        def is_complete(text: str, steps: Sequence[Sequence[str]]) -> bool:
            top = {catalog.entries[index].id for index, _ in rank(text).leading(k)}
            return all(not top.isdisjoint(tools) for tools in steps)

        return 100 * fmean(is_complete(text, steps) for text, steps in requests)

    lines = ["| | " + " | ".join(f"@{k}" for k in ks) + " |", "|---|" + "--:|" * len(ks)]
    for name, index in stages.items():
        lines.append(f"| {name} | " + " | ".join(f"{complete(index.rank, k):.1f}" for k in ks) + " |")
    return (
        "The words that values stand for were chosen after examining what these requests miss. The same on "
        f"{len(requests)} requests of the [first-use benchmark](first-use.md), mostly of one step, with which only the weight of "
        "these words was chosen:\n\n" + "\n".join(lines)
    )


def _ideas(
    catalog: Catalog, requests: Sequence[LabelledRequest], found: dict[str, Evaluation], lexical: Rank, vectors: Rank
) -> str:
    whole, step = _per_step(catalog, requests, vectors, TOP), _per_step(catalog, requests, vectors, 5)
    unsure = [should_escalate(lexical(request.text)) for request in requests]
    complete = [outcome.needed <= TOP for outcome in found["`lexical`"].outcomes]
    ideal = fmean(one or other for one, other in zip(unsure, complete, strict=True))
    return f"""\
| idea | change of complete@12, `lexical` | |
|---|--:|---|
| what a value stands for: `notes.md` is a file, `#ops` a channel, `example.org` a page | +18.2 | kept; nothing changes on the public catalogs |
| the look-up of a required id, for the best two entries | +1.5 | kept; +3.1 with vectors |
| the same for the best four entries | 0.0 | kept: more on [further sets](selection-further.md#experiments) |
| the step at hand alone: clauses of completed steps removed | next tool among 5: {step[0]:.1f} -> {step[1]:.1f} %, among 12: {whole[0]:.1f} -> {whole[1]:.1f} % | left out: a clause names objects that later steps need |
| the filter call | {100 * ideal:.1f} at most | as before: {100 * fmean(unsure):.0f} % of these requests are unsure, so a filter call is made where the budget allows it |

A request of several steps needs a larger k more than a better ranker: 20 entries bring with vectors what no change of the
ranking brought at 12. `[selection.max_entries]` raises it where the budget of a model allows the bytes."""


def _per_step(catalog: Catalog, requests: Sequence[LabelledRequest], rank: Rank, k: int) -> tuple[float, float]:
    """How often the next tool is among the first k: ranked by the whole request, and without clauses that are done."""
    ids = [entry.id for entry in catalog.entries]
    whole, rest = [], []
    for request in requests:
        ranking = rank(request.text)
        first = {ids[index] for index in ranking.order[:k]}
        parts = {clause: dict(rank(clause).leading(len(ids))) for clause in ranking.clauses}
        for tool in request.tools:
            whole.append(tool in first)
            text = " ".join(parts) or request.text
            rest.append(tool in {ids[index] for index in rank(text).order[:k]})
            if len(parts) > 1:
                del parts[max(parts, key=lambda clause: _share(parts[clause], ids.index(tool)))]
    return 100 * fmean(whole), 100 * fmean(rest)


def _share(scores: dict[int, float], index: int) -> float:
    return scores.get(index, 0.0) / max(scores.values(), default=1.0)


# -- public catalogs, time ---------------------------------------------------------------------------------


def public(rankers: Rankers, most: int) -> str:
    """Complete@12 on the public catalogs; empty without them."""
    sets = _public_sets()
    if not sets:
        return ""
    lines = [
        "| | ranker | " + " | ".join(each.name for each in sets) + " | mean |",
        "|---|---|" + "--:|" * (len(sets) + 1),
    ]
    catalogs = {each.name: Catalog.from_data(each.catalog, each.name) for each in sets}
    bases = {name: rankers.lexical(catalog) for name, catalog in catalogs.items()}
    both = {"lexical": bases, "vectors": {name: rankers.vectors(catalogs[name], base) for name, base in bases.items()}}
    for variant in VARIANTS:
        for ranker, indexes in both.items():
            values = [_complete(catalogs[each.name], indexes[each.name].rank, each, variant, most) for each in sets]
            cells = " | ".join(f"{value:.1f}" for value in (*values, fmean(values)))
            lines.append(f"| {variant} | `{ranker}` | {cells} |")
    return (
        "## Public catalogs\n\nComplete@12 in percent, at most "
        f"{most} requests of each catalog; the variants are those of the [ranking benchmark](selection.md).\n\n"
        + "\n".join(lines)
        + f"\n\n{_times(sets, rankers)}"
    )


def _public_sets() -> list[DataSet]:
    return load(data_folder()) if data_folder().is_dir() else []


def _complete(catalog: Catalog, rank: Rank, each: DataSet, variant: str, most: int) -> float:
    def is_complete(text: str, needed: frozenset[str]) -> bool:
        return needed <= {catalog.entries[index].id for index, _ in rank(text).leading(TOP)}

    return 100 * fmean(is_complete(text, needed) for text, needed in each.requests(variant, most))


def _times(sets: Sequence[DataSet], rankers: Rankers) -> str:
    lines = [
        "| tools | index, not cached | index, cached | `lexical`, a request | `vectors` | more |",
        "|--:|" + "--:|" * 5,
    ]
    texts = [text for each in sets for text, _ in each.requests("plain", 30)]
    for size in (1_000, 10_000):
        catalog = Catalog.from_data(pooled(list(sets), size), "pooled")
        base = rankers.lexical(catalog)
        with tempfile.TemporaryDirectory() as folder:
            make = functools.partial(Rankers(folder).vectors, catalog, base)
            first_s, cached_s = _seconds(make), _seconds(make)
            index = make()
        words = 1e3 * statistics.median(min(_timed(base.rank, text) for _ in range(ROUNDS)) for text in texts)
        # A request is embedded once and then remembered: every round has its own text.
        vectors = 1e3 * statistics.median(
            min(_timed(index.rank, f"{text} {number}") for number in range(ROUNDS)) for text in texts
        )
        more = f"{vectors - words:.1f} ms"
        lines.append(f"| {size:,} | {first_s:.1f} s | {cached_s:.2f} s | {words:.2f} ms | {vectors:.2f} ms | {more} |")
    return (
        "## Times\n\n" + "\n".join(lines) + "\n\nProcessor time of one run; compare columns only. The "
        "model is loaded once per process, 1.7 s and 147 MB. Indexing and ranking run in a worker thread."
    )


def _seconds(work: Callable[[], object]) -> float:
    """Seconds of this thread's processor: other programs of a shared machine do not count."""
    started = time.thread_time()
    work()
    return time.thread_time() - started


def _timed(rank: Callable[[str], Ranking], text: str) -> float:
    return _seconds(lambda: rank(text).leading(TOP))


# -- page --------------------------------------------------------------------------------------------------


def _sections(most: int, cache: str, plots: list[str]) -> Iterator[str]:
    rankers = Rankers(cache)
    yield HEAD.rstrip()
    text, by_language = languages(rankers)
    servers_text, by_stage = servers(rankers)
    results = {f"languages, {name}": each for name, each in by_language.items()}
    results |= {f"servers, {name}": each for name, each in by_stage.items()}
    drawn = curves({name: each.curve(25) for name, each in results.items()}, "the first k entries", "complete, percent")
    plots.append(drawn)
    yield "![Share of requests whose needed tools are all among the first k](selection-vectors.svg)"
    yield text
    yield servers_text
    yield public(rankers, most)
    yield TRIED.rstrip()
    yield RUN


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write the page where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} and {PLOT.name}")
    parser.add_argument("--most", type=int, default=300, help="requests of each public catalog, 300")
    parser.add_argument("--cache", default=tempfile.gettempdir() + "/helmdeck-vectors", help="folder of cached vectors")
    arguments = parser.parse_args(argv)
    plots: list[str] = []
    page = "\n\n".join(filter(None, _sections(arguments.most, arguments.cache, plots)))
    print(page)
    if arguments.write:
        PAGE.write_text(page, encoding="utf-8")
        PLOT.write_text(plots[0], encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
