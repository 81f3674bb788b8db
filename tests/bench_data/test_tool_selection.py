"""The ranker on labelled requests, with floors slightly below the measured values.

The data are not in the repository: ``BENCH_DATA`` names their directory.
"""

from __future__ import annotations

import json
import os
import statistics
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from helmdeck_core import Catalog
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("BENCH_DATA", ROOT.parent / "shared" / "bench")) / "tool-selection"
SAMPLE = 150
TOP = 12

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"no tool-selection data at {DATA}; set BENCH_DATA to the folder that has them"
)

FLOORS = {
    # data set: recall@12 and complete@12 in percent, plain and behind a pasted announcement
    "bfcl-multiturn-dev": ((71, 18), (67, 13)),
    "metatool-dev": ((81, 80), (79, 78)),
    "sealtools-dev": ((97, 94), (96, 92)),
    "taskbench-multimedia-silver": ((95, 89), (95, 89)),
}


@cache
def index(name: str) -> LexicalIndex:
    data = json.loads((DATA / name / "catalog.json").read_text(encoding="utf-8"))
    return LexicalIndex(Catalog.from_data(data, name))


def requests(name: str, file: str) -> list[dict[str, Any]]:
    lines = (DATA / name / file).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[:SAMPLE]]


@pytest.mark.parametrize("variant", ["plain", "paste"])
@pytest.mark.parametrize("name", FLOORS)
def test_the_needed_tools_are_among_the_first_twelve(name: str, variant: str) -> None:
    recalls, completes = [], []
    for request in requests(name, "queries.jsonl" if variant == "plain" else "queries_paste.jsonl"):
        needed = set(request["gold"])
        first = {score.id for score in index(name).rank(request["intent"]).scores[:TOP]}
        recalls.append(100 * len(needed & first) / len(needed))
        completes.append(100 * (needed <= first))
    least_recall, least_complete = FLOORS[name][variant == "paste"]
    assert statistics.fmean(recalls) >= least_recall
    assert statistics.fmean(completes) >= least_complete
