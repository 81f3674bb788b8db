"""The further sets of the selection benchmark: labels that exist, and a page that can be measured again."""

from __future__ import annotations

import pytest

from benchmarks.selection.adapters import words
from benchmarks.selection.further import further_sets
from benchmarks.selection.further.__main__ import tables, variants
from benchmarks.selection.vectors import Rankers


@pytest.fixture(scope="module")
def sets():
    return further_sets()


def test_every_needed_tool_is_in_the_catalog(sets):
    for each in sets:
        known = {entry.id for entry in each.catalog.entries}
        assert len(each.requests) >= 60 and all(tools and tools <= known for _, tools in each.requests)


def test_halves_share_no_request(sets):
    for each in sets:
        examined, other = each.half(examined=True), each.half(examined=False)
        assert len(examined) + len(other) == len(each.requests) and not {*examined} & {*other}


def test_document_is_added_on_the_side_that_the_variant_names(sets):
    found = variants(sets[0].requests[:2])
    for (text, _), (behind, _), (before, _) in zip(*found.values(), strict=True):
        assert behind.endswith(f"\n\n{text}") and before.startswith(f"{text}\n\n")


def test_chinese_is_split_into_pairs_and_names_into_words():
    assert list(words("getWeather 查询天气")) == ["get", "Weather", "查询", "询天", "天气"]


def test_table_has_a_row_for_each_half_and_variant(sets, tmp_path):
    few = [type(each)(each.name, each.catalog, each.requests[:4]) for each in sets[-1:]]
    rows = [line for line in tables(few, Rankers(str(tmp_path))).splitlines() if "`lexical`" in line]
    assert len(rows) == 6
