"""Phrases of several words stand for words of catalogs, whatever their single words mean there."""

from __future__ import annotations

from helmdeck_core import Catalog
from helmdeck_language.meanings.phrases import PhraseBook
from helmdeck_language.text.terms import words
from helmdeck_selection.lexical import helmdeck_rankers
from tests.case_support import each_case

TOOLS = {
    "write_file": "Write text to a file.",
    "create_note": "Save a text note.",
    "set_volume": "Set the loudness of a speaker.",
    "delete_task": "Delete a task.",
    "get_task": "Get a task.",
}


def _index(**options):
    packs = [{"name": name, "description": text} for name, text in TOOLS.items()]
    catalog = Catalog.from_data({"packs": packs, "pipelines": []}, "phrases")
    return helmdeck_rankers()[0].index(catalog, cache=False, **options)


@each_case(
    ("request_text", "tool"),
    [
        ("Write down that the rent is due", "create_note"),
        ("write that down", "create_note"),
        ("Turn the music down", "set_volume"),
        ("get rid of task 7", "delete_task"),
        ("write a file", "write_file"),
        ("get task 7", "get_task"),
    ],
)
def test_phrase_counts_more_than_its_words(request_text, tool):
    assert _index().rank(request_text).ids[0] == tool


@each_case(
    ("request_text", "terms"),
    [
        ("turn it on", {"start"}),
        ("turn my radio on", set()),  # only pronouns and articles need not be given
        ("turn the old radio down", {"low"}),
        ("turn down", set()),  # a * is one word at least
        ("turn one two three four five down", set()),  # and four at most
        ("turn on the radio", {"listen"}),  # a longer phrase with both words
        ("What's up", {"headlin"}),
        ("what is up", {"headlin"}),
    ],
)
def test_matches_of_phrases(request_text, terms):
    book = PhraseBook(
        [("start", "turn+on"), ("low", "turn+*+down"), ("listen", "turn+on+radio"), ("headline", "what's+up")]
    )
    assert {term for match in book.matches(words(request_text)) for term in match.terms} == terms


def test_file_of_a_deployment_adds_phrases(tmp_path):
    (tmp_path / "words.toml").write_text('[everyday]\n"note create" = "park+*+idea"\n', encoding="utf-8")
    assert _index(words=str(tmp_path)).rank("park that task idea").ids[0] == "create_note"
