"""Long requests and entries with many inputs: a plan takes its time, and says what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from helmdeck_language import scan
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.entries.schema_inputs import MAX_INPUTS, properties_of
from helmdeck_planner.embedded.picks import MAX_TOKENS, understand
from helmdeck_planner.embedded.request.parts import split_parts
from helmdeck_selection import LexicalIndex, read_catalog
from helmdeck_testing import make_deck
from tests.helmdeck_planner.test_lexical_plans import TEXT, plan, tool
from tests.work_support import WorkCounter

READ = tool("read_file", "Read a file.", "path", path=TEXT)
FILES = read_catalog({"tools": [READ]}, "files")


def test_a_request_beyond_the_limit_is_one_gap_that_names_it(tmp_path: Path) -> None:
    source = tmp_path / "files.json"
    source.write_bytes(FILES.encode())
    with make_deck(catalog_sources=[str(source)]) as deck:
        found = deck.plan("read a.txt and " * MAX_TOKENS, model="local/lexical")
    [step] = found.steps
    assert step.is_gap
    assert f"more than {MAX_TOKENS:,} words" in step.rationale
    assert "language model" in step.rationale


def test_hundreds_of_values_in_a_row_are_planned() -> None:
    numbers = " ".join(map(str, range(900)))
    assert len(plan(f"read the files {numbers}", FILES)) == 1


@pytest.mark.parametrize("unit", [".", "(", "a, "])
def test_the_parts_of_a_request_are_found_in_linear_work(work_counter: WorkCounter, unit: str) -> None:
    index = LexicalIndex(FILES)
    wording = understand("read a.txt", index, Profiles(FILES.entries, index.lexicon)).wording
    texts = {size: "read a.txt " + unit * size for size in (150, 600)}
    tokens = {size: scan(text) for size, text in texts.items()}
    work_counter.assert_linear(lambda size: split_parts(texts[size], tokens[size], wording), 150)


def test_all_required_inputs_are_among_those_that_are_filled() -> None:
    names = [f"setting_{number}" for number in range(2 * MAX_INPUTS)]
    entry = read_catalog(
        {"tools": [tool("set_up", "Set up a device.", " ".join(names[-2:]), **dict.fromkeys(names, TEXT))]}, "settings"
    ).entries[0]
    found = properties_of(entry)
    assert len(found) == MAX_INPUTS
    assert [each.name for each in found if each.is_required] == names[-2:]
