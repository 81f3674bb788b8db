"""A public benchmark for the selection of tools: any ranker, on every set that can be had, in one command.

::

    pip install bm25s PyStemmer 'helmdeck[vectors]'             # optional: the rankers bm25s and vectors
    python -m benchmarks.selection.leaderboard                  # every built-in ranker that is installed, about a minute
    python -m benchmarks.selection.leaderboard mine:make_search # and a ranker of your own
    python -m benchmarks.selection.leaderboard --write          # write docs/benchmarks/selection-leaderboard.md as well

``mine:make_search`` takes a list of tools, ``{"name", "description", "parameters"}``, and returns a function from a request to
the names of tools, best first.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

import attrs

from benchmarks.pages import publish
from benchmarks.selection.adapters import TOP, Adapter, adapter, installed
from benchmarks.selection.data import data_folder, load
from benchmarks.selection.documents import documents
from benchmarks.selection.further import further_sets
from benchmarks.selection.own_sets import everyday_catalog, multilingual_requests, server_catalog, server_requests
from helmdeck_core import Catalog

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "selection-leaderboard.md"
VARIANTS = ("alone", "behind a document", "before a document")
_OWN = "written for this project, Apache-2.0"

SOURCES = {
    "servers": (_OWN, "in `further/servers`"),
    "apis": (_OWN, "in `further/apis`"),
    "chinese": (_OWN, "in `further/chinese`"),
    "apps": (_OWN, "in `further/apps`"),
    "languages": (_OWN, "in `languages.txt`; the catalogs are those of the first-use benchmark"),
    "mcp": (
        f"requests: {_OWN}; tools: the lists of eleven public MCP servers, under their licences",
        "requests in `servers.txt`; record `tools/list` of each server in `MCP_TOOLS`/NAME.json",
    ),
    "metatool-dev": ("[MetaTool](https://github.com/HowieHwong/MetaTool), MIT", "`BENCH_DATA`"),
    "sealtools-dev": ("[Seal-Tools](https://github.com/fairyshine/Seal-Tools), Apache-2.0", "`BENCH_DATA`"),
    "bfcl-multiturn-dev": (
        "[BFCL](https://github.com/ShishirPatil/gorilla) v4, multi-turn base, Apache-2.0",
        "`BENCH_DATA`",
    ),
    "taskbench-multimedia-silver": (
        "[TaskBench](https://github.com/microsoft/JARVIS), MIT; labels by a language model",
        "`BENCH_DATA`",
    ),
}
"""Source and licence of each set, and where it is."""

HEAD = """\
# Leaderboard of tool selection

How often are all tools that a request needs among the first twelve? One command scores every ranker on the same requests, alone and
beside one of 24 documents. The columns of the sets are percentages of requests; *recall* is the share of the needed tools, in the mean
of the sets. *index* is the processor time for all catalogs, *request* the median for a request, with and without documents; compare them
within this page only.
"""

SETS = """\
## Sets

Sets that are not part of the repository are skipped where they are missing. A directory of `BENCH_DATA`/tool-selection has
`catalog.json` (`{"packs": [{"name", "description", "metadata": {"accepts": [...]}}]}`), `queries.jsonl` and `queries_paste.jsonl` (a line
has `id`, `intent` and `gold`, the names of the needed tools), and `pastes.json` beside the directories; the sources above have the
tools and the labelled requests. `lexical` and `vectors` were developed on all of these sets, the other half of the first four
excepted, of which only sums were seen.
"""

RUN = """\
## Add a ranker

```python
# mine.py: a ranker takes the tools and returns a search
def make_search(tools):
    def search(request):
        shared = lambda tool: len(set(request.lower().split()) & set(tool["description"].lower().split()))
        return [tool["name"] for tool in sorted(tools, key=shared, reverse=True)]

    return search
```

```sh
python -m benchmarks.selection.leaderboard bm25s lexical mine:make_search
```

`--most` limits the requests of each set, `--write` writes this page.
"""


@attrs.frozen
class BenchmarkSet:
    """A catalog with labelled requests."""

    name: str
    catalog: Catalog
    requests: Sequence[tuple[str, frozenset[str]]]

    def variants(self) -> Iterator[tuple[str, list[tuple[str, frozenset[str]]]]]:
        """Yield the requests alone, and each one behind and before the next of the held-out documents."""
        texts = [each.text for each in documents("held_out")]
        rows = [(texts[place % len(texts)], *request) for place, request in enumerate(self.requests)]
        yield VARIANTS[0], list(self.requests)
        yield VARIANTS[1], [(f"{document}\n\n{text}", needed) for document, text, needed in rows]
        yield VARIANTS[2], [(f"{text}\n\n{document}", needed) for document, text, needed in rows]


@attrs.frozen
class Result:
    """What one ranker reached on one set, by variant: percentages, and times in seconds."""

    complete: dict[str, float]
    recall: dict[str, float]
    index_s: float
    request_s: float


def benchmark_sets(most: int) -> list[BenchmarkSet]:
    """Return every set that can be had here, with at most ``most`` requests each, drawn with a fixed seed."""
    found = [BenchmarkSet(each.name, each.catalog, each.requests) for each in further_sets()]
    spoken = [(each.text, frozenset(each.tools)) for each in multilingual_requests()]
    found.append(BenchmarkSet("languages", everyday_catalog(), spoken))
    if (servers := server_catalog()) is not None:
        requests = [(each.text, frozenset(each.tools)) for each in server_requests()[0]]
        found.append(BenchmarkSet("mcp", servers, requests))
    folder = data_folder()
    for each in load(folder) if folder.is_dir() else ():
        rows = tuple(each.requests("plain", len(each.plain)))
        found.append(BenchmarkSet(each.name, Catalog.from_data(each.catalog, each.name), rows))
    return [attrs.evolve(each, requests=_sample(each.requests, most)) for each in found]


def _sample(requests: Sequence[tuple[str, frozenset[str]]], most: int) -> Sequence[tuple[str, frozenset[str]]]:
    if len(requests) <= most:
        return requests
    return [requests[place] for place in sorted(random.Random(5).sample(range(len(requests)), most))]


def measure(make: Adapter, each: BenchmarkSet) -> Result:
    """Score a ranker on a set."""
    start = time.process_time()
    search = make(each.catalog)
    index_s = time.process_time() - start
    complete, recall, times = {}, {}, []
    for variant, requests in each.variants():
        hits = []
        for text, needed in requests:
            start = time.process_time()
            found = needed.intersection(list(search(text))[:TOP])
            times.append(time.process_time() - start)
            hits.append((found == needed, len(found) / len(needed)))
        complete[variant] = 100 * fmean(is_complete for is_complete, _ in hits)
        recall[variant] = 100 * fmean(share for _, share in hits)
    return Result(complete, recall, index_s, statistics.median(times))


def board(names: Sequence[str], sets: Sequence[BenchmarkSet]) -> str:
    """Return the tables: a row for each ranker, best first, by variant; then the sets."""
    results = {name: [measure(adapter(name), each) for each in sets] for name in names}
    parts = []
    for variant in VARIANTS:
        lines = [
            "| ranker | " + " | ".join(each.name for each in sets) + " | mean | recall | index | request |",
            "|---|" + "--:|" * (len(sets) + 4),
        ]
        means = {name: fmean(each.complete[variant] for each in found) for name, found in results.items()}
        for name in sorted(names, key=lambda name: (-means[name], name)):
            found = results[name]
            cells = [f"{each.complete[variant]:.1f}" for each in found]
            cells += [f"**{means[name]:.1f}**", f"{fmean(each.recall[variant] for each in found):.1f}"]
            cells += [f"{sum(each.index_s for each in found):.1f} s"]
            cells += [f"{1e3 * statistics.median(each.request_s for each in found):.2f} ms"]
            lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
        parts.append(f"## Requests {variant}\n\n" + "\n".join(lines))
    rows = ["| set | tools | requests | tools per request | source and licence | where |", "|---|--:|--:|--:|---|---|"]
    for each in sets:
        source, where = SOURCES.get(each.name, ("", "`BENCH_DATA`"))
        needed = fmean(len(tools) for _, tools in each.requests)
        rows.append(
            f"| {each.name} | {len(each.catalog):,} | {len(each.requests):,} | {needed:.1f} | {source} | {where} |"
        )
    sources = SETS.replace("## Sets\n", "## Sets\n\n" + "\n".join(rows) + "\n")
    return "\n\n".join([*parts, sources.rstrip()])


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write the page where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "rankers", nargs="*", help="bm25s, lexical, vectors or module:function; default: those installed"
    )
    parser.add_argument("--most", type=int, default=300, help="requests of each set; default: 300")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name}")
    options = parser.parse_args(argv)
    names = list(dict.fromkeys(options.rankers)) or installed()
    try:
        for name in names:
            adapter(name)
    except ValueError as exc:
        parser.error(str(exc))
    page = f"{HEAD}\n{board(names, benchmark_sets(options.most))}\n\n{RUN}"
    publish(PAGE, page, is_written=options.write)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
