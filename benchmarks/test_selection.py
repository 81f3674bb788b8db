"""Compaction, ranking and selection on the example catalog, relative to one encoding of that catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from helmdeck_core import Ranker, Tier
from helmdeck_core.context.ladder import PreparedCatalog
from helmdeck_core.context.selection import SelectionLimits, select
from helmdeck_testing.deck_factory import make_deck

DECK = make_deck()
CATALOG = DECK.catalog
LADDER = DECK.runtime.ladder(Tier.C, "")
INDEX = DECK.runtime.contributed(Ranker)["lexical"].value.index(CATALOG)
ASK = "remember this, draft a blog post about it, and make an illustration"
PASTE = (Path(__file__).parents[1] / "docs" / "examples" / "announcement.txt").read_text(encoding="utf-8")
REQUESTS = {"short": ASK, "paste": f"{PASTE}\n\n{ASK}"}


def test_encode_once(benchmark: Any) -> None:
    benchmark.group = "selection"
    data = CATALOG.to_data()
    benchmark(msgspec.json.encode, data)


def test_prepare(benchmark: Any) -> None:
    benchmark.group = "prepare"
    benchmark(lambda: PreparedCatalog(CATALOG, LADDER).rung(len(LADDER)))


def test_index(benchmark: Any) -> None:
    benchmark.group = "prepare"
    benchmark(DECK.runtime.contributed(Ranker)["lexical"].value.index, CATALOG)


@pytest.mark.parametrize("cap", [10_000, 16_000, 30_000])
def test_ladder_alone(benchmark: Any, cap: int) -> None:
    benchmark.group = "selection"
    prepared = PreparedCatalog(CATALOG, LADDER)
    benchmark(prepared.compact, cap)


@pytest.mark.parametrize("request_text", REQUESTS.values(), ids=REQUESTS)
def test_rank(benchmark: Any, request_text: str) -> None:
    benchmark.group = "selection"
    benchmark(INDEX.rank, request_text)


@pytest.mark.parametrize("request_text", REQUESTS.values(), ids=REQUESTS)
def test_whole_selection_for_tier_c(benchmark: Any, request_text: str) -> None:
    benchmark.group = "selection"
    prepared = PreparedCatalog(CATALOG, LADDER)
    limits = SelectionLimits(cap=10_000, max_entries=12)
    assert select(prepared, lambda: INDEX.rank(request_text), limits).record.after_bytes <= 10_000
    benchmark(select, prepared, lambda: INDEX.rank(request_text), limits)
