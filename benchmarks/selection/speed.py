"""Processor times of the lexical ranker beside those of bm25s, measured in turns in one process."""

from __future__ import annotations

import math
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from benchmarks.selection import bm25
from benchmarks.selection.data import DataSet, pooled
from helmdeck_core import Catalog
from helmdeck_language.text.terms import WORD_TERMS
from helmdeck_selection.lexical.index.stored import stored_postings
from helmdeck_selection.lexical.ranker import CatalogIndex
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex
from helmdeck_selection.lexical.weights import LEXICAL_WEIGHTS

SIZES = (1_000, 10_000)
REQUESTS_OF_EACH = 50
ROUNDS = 3
TURNS = 7
TOP = 12


@attrs.frozen
class Timed:
    """Milliseconds to index, and medians per request; the ratios are medians of each request's time against the peer's."""

    size: int
    what: str
    index: float
    plain: float
    paste: float
    plain_ratio: float | None = None
    paste_ratio: float | None = None


def measure(sets: list[DataSet]) -> list[Timed]:
    """Time both; without bm25s and PyStemmer installed, ours alone."""
    requests = {
        variant: [text for each in sets for text, _ in each.requests(variant, REQUESTS_OF_EACH)]
        for variant in ("plain", "paste")
    }
    return [timed for size in SIZES for timed in _of_size(pooled(sets, size), requests)]


def large(sets: list[DataSet], size: int = 100_000) -> str:
    """Time and memory of catalogs of 10,000 and 100,000 tools, built and from disk, as a table."""
    lines = ["| tools | index | from disk | file | memory | request |", "|--:|--:|--:|--:|--:|--:|"]
    requests = [text for each in sets for text, _ in each.requests("plain", REQUESTS_OF_EACH)]
    for count in (size // 10, size):
        catalog = Catalog.from_data(pooled(sets, count), "benchmark")
        with tempfile.TemporaryDirectory() as folder:
            WORD_TERMS.clear()
            tracemalloc.start()
            index = LexicalIndex(catalog)
            memory = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
            WORD_TERMS.clear()
            built = _once(lambda _: stored_postings(catalog, LEXICAL_WEIGHTS, Path(folder)), "")  # noqa: B023
            read = min(
                _once(lambda _: stored_postings(catalog, LEXICAL_WEIGHTS, Path(folder)), "")  # noqa: B023
                for _ in range(ROUNDS)
            )
            file = sum(path.stat().st_size for path in Path(folder).iterdir())
        request = statistics.median([min(_once(index.rank, text) for _ in range(ROUNDS)) for text in requests])
        lines.append(
            f"| {count:,} | {built:.2f} s | {1e3 * read:,.0f} ms | {file / 1e6:.1f} MB | {memory / 1e6:,.0f} MB "
            f"| {1e3 * request:.2f} ms |"
        )
    return (
        "## Large catalogs\n\n"
        + "\n".join(lines)
        + (
            "\n\nThe first index of a catalog of 2,000 tools or more is written to the user's cache directory; `cache = false` under "
            "`[selection.rankers.lexical]` turns that off. Building happens in a thread, so the event loop is not blocked."
        )
    )


def _of_size(catalog: dict[str, Any], requests: dict[str, list[str]]) -> list[Timed]:
    makers: dict[str, Callable[[], Callable[[str], object]]] = {
        "lexical": lambda: _ours(catalog),
        "its word index": lambda: _word_index(catalog),
    }
    peer = _peer(catalog)
    if peer is not None:
        makers["bm25s"] = peer
    best: dict[str, float] = {}
    rankers: dict[str, Callable[[str], object]] = {}
    for _ in range(ROUNDS):
        for what, make in makers.items():
            started = time.process_time()
            rankers[what] = make()
            best[what] = min(best.get(what, 1e9), time.process_time() - started)
    found = {variant: _in_turns(rankers, texts) for variant, texts in requests.items()}

    def ratio(what: str, variant: str) -> float | None:
        if peer is None:
            return None
        pairs = zip(found[variant][what], found[variant]["bm25s"], strict=True)
        return statistics.median([own / other for own, other in pairs])

    size = len(catalog["packs"])
    return [
        Timed(
            size, what, best[what] * 1e3, statistics.median(found["plain"][what]) * 1e3,
            statistics.median(found["paste"][what]) * 1e3, ratio(what, "plain"), ratio(what, "paste"),
        )
        for what in makers
    ]  # fmt: skip


def _in_turns(rankers: Mapping[str, Callable[[str], object]], texts: Sequence[str]) -> dict[str, list[float]]:
    """The least seconds of each ranker for each text. The rankers take turns, so that other work affects all of them."""
    least = {what: [math.inf] * len(texts) for what in rankers}
    for _ in range(TURNS):
        for place, text in enumerate(texts):
            for what, rank in rankers.items():
                least[what][place] = min(least[what][place], _once(rank, text))
    return least


def _once(rank: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    rank(text)
    return time.process_time() - started


def _ours(catalog: dict[str, Any]) -> Callable[[str], object]:
    WORD_TERMS.clear()
    index = CatalogIndex(Catalog.from_data(catalog, "benchmark"), cache=False)
    return lambda text: index.rank(text).leading(TOP)


def _word_index(catalog: dict[str, Any]) -> Callable[[str], object]:
    WORD_TERMS.clear()
    index = LexicalIndex(Catalog.from_data(catalog, "benchmark"))
    return lambda text: index.rank(text).leading(TOP)


def _peer(catalog: dict[str, Any]) -> Callable[[], Callable[[str], object]] | None:
    if not bm25.is_installed():
        return None
    texts = [_text(pack) for pack in catalog["packs"]]
    return lambda: bm25.retriever(texts, TOP)


def _text(pack: dict[str, Any]) -> str:
    metadata = pack.get("metadata") or {}
    parts = [pack["name"], pack["description"], *(metadata.get("accepts") or ()), *(metadata.get("produces") or ())]
    return " ".join(parts)
