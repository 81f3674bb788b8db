"""The two-tower model: what it reads, and what its vectors say."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import pytest

from helmdeck_language import scan
from helmdeck_selection import read_catalog
from helmdeck_selection.meaning.features import entry_features, request_features
from helmdeck_selection.meaning.model import meaning_model, similarity

TOOLS = [
    {
        "name": "browser_emulate_media",
        "description": "Set the colour scheme of the page.",
        "inputSchema": {"properties": {"colorScheme": {}}},
    },
    {"name": "browser_click", "description": "Click an element.", "inputSchema": {"properties": {"ref": {}}}},
    {"name": "browser_close", "description": "Close the page.", "inputSchema": {"properties": {}}},
]


def test_a_request_is_read_as_stems_and_kinds_of_values() -> None:
    assert request_features(scan('give Ada €12.50 back, see "a b" in /srv/log.png?')) == [
        "giv", "ada", "+name", "+money", "back", "see", "+quote", "in", "+path", "png", "+?",
    ]  # fmt: skip
    assert request_features(scan("it isn't 30%")) == ["it", "isn't", "+percent"]


def test_an_entry_is_read_as_its_name_its_description_and_its_inputs() -> None:
    entry = read_catalog(TOOLS, "browser").entries[0]
    assert entry_features(entry) == (
        ["brows", "emul", "media"],
        ["set", "the", "colour", "schem", "of", "the", "pag"],
        ["color", "schem"],
    )


@pytest.mark.parametrize(
    ("request_text", "tool"),
    [("it's too bright, make everything dark", "browser_emulate_media"), ("hit the blue button", "browser_click")],
)
def test_wording_that_shares_no_word_with_a_tool_is_closest_to_it(request_text: str, tool: str) -> None:
    model = meaning_model()
    request = model.of_request(scan(request_text))
    entries = read_catalog(TOOLS, "browser").entries
    assert max(entries, key=lambda entry: similarity(request, model.of_entry(entry))).id == tool


@pytest.mark.parametrize("text", ["", "   ", "qwxzv blorptng"])
def test_a_request_without_known_words_is_close_to_nothing(text: str) -> None:
    model = meaning_model()
    vector = model.of_request(scan(text))
    assert not any(vector) and len(vector) == model.size
    assert sum(model.shares([similarity(vector, vector)] * 3)) < 0.05


def test_vectors_have_the_length_one() -> None:
    model = meaning_model()
    vectors = [model.of_entry(entry) for entry in read_catalog(TOOLS, "browser").entries]
    assert [math.hypot(*vector) for vector in vectors] == pytest.approx([1.0] * 3)


def test_probabilities_leave_a_part_for_no_entry() -> None:
    model = meaning_model()
    shares = model.shares([0.9, 0.1, -0.5])
    assert sorted(shares, reverse=True) == shares and 0.9 < sum(shares) < 1.0
    assert model.shares([]) == []


def test_threads_get_the_same_vectors() -> None:
    model = meaning_model()
    texts = ["put the kettle on", "kill the light in the hall", "what's the damage for order 8841"] * 20
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: model.of_request(scan(text)), texts))
    assert found == [model.of_request(scan(text)) for text in texts]


def test_a_long_request_has_a_vector() -> None:
    model = meaning_model()
    assert math.hypot(*model.of_request(scan("list the files " * 20_000))) == pytest.approx(1.0)
