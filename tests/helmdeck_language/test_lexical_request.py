"""Reading a request: terms, clauses, and telling the request from a pasted document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from helmdeck_language.request.reading import Reading, read
from helmdeck_language.request.sentences import is_question
from helmdeck_language.text.terms import (
    SEPARATORS,
    WORD_TERMS,
    fold,
    split_identifier,
    stem,
    terms,
    token_starts,
    tokens,
    unique_terms,
    words,
)
from tests.case_support import each_case
from tests.work_support import WorkCounter

DOCUMENTS = Path(__file__).parents[1] / "data" / "documents"
REQUEST = "Please translate the following text into Greek, then mail the result to my sister."
NEWS = (
    "FERRY LINE OPENS WINTER ROUTE\n\n"
    "The ferry line today opened a route between the two largest islands of the group. Ships leave every morning at "
    "seven and return before dusk. A crossing takes three hours and costs eleven crowns, and bicycles travel free.\n\n"
    '"The islands waited for this for a decade," said harbour master Ulla Brandt. The quay was widened, cranes were '
    "replaced and a waiting room with a stove was added. Four hundred passengers are expected each day.\n\n"
    "A second ship is being built in a yard on the mainland and is to be delivered in spring. The company carried "
    "ninety thousand passengers last year."
)


def question_score(reading: Reading, word: str) -> float:
    return max((reading.weights.get(term, 0.0) for term in terms(word)), default=0.0)


# -- terms -------------------------------------------------------------------------------------------------


@each_case(
    ("text", "expected"),
    [
        ("parseHTTPHeader", "parse HTTP Header"),
        ("getUser", "get User"),
        ("gpt4Turbo", "gpt4 Turbo"),
        ("ALLCAPS", "ALLCAPS"),
        ("", ""),
    ],
)
def test_identifiers_are_split_at_case_changes(text: str, expected: str) -> None:
    assert split_identifier(text) == expected


def test_dots_underscores_and_digits_split_words() -> None:
    assert terms("blog.draft_v2") == ["blog", "draft", "v", "2"]


@each_case(
    "family",
    [
        ("store", "stores", "stored", "storing"),
        ("plan", "plans", "planned", "planning"),
        ("city", "cities"),
        ("translate", "translation", "translator", "translating"),
        ("play", "plays", "playing"),
        ("summarise", "summarises", "summarised", "summarising"),
        ("verify", "verified", "verifies"),
    ],
)
def test_forms_of_a_word_share_a_stem(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1


@each_case("word", ["news", "bus", "class", "is", "a", "", "ss"])
def test_short_and_odd_words_survive_stemming(word: str) -> None:
    assert stem(word) or not word


def test_scripts_without_spaces_yield_character_pairs() -> None:
    assert terms("翻译文本") == ["翻译", "译文", "文本"]


def test_vowel_signs_do_not_split_words() -> None:
    assert words("मौसम की जानकारी") == ["मौसम", "की", "जानकारी"]


def test_encoded_data_is_not_a_word() -> None:
    assert terms("x" * 500) == []


# -- clauses -----------------------------------------------------------------------------------------------


@each_case(
    ("request_text", "expected"),
    [
        ("Translate this and send it to Bo", ["Translate this", "send it to Bo"]),
        ("remember this, draft a post, and make a picture", ["remember this", "draft a post", "make a picture"]),
        ("Sort the rows. Then please print them.", ["Sort the rows.", "please print them."]),
        ("research and write a post", ["research and write a post"]),
        ("buy apples, pears and plums", ["buy apples, pears and plums"]),
        ("Find a hotel; I would also like to book a table", ["Find a hotel", "I would also like to book a table"]),
    ],
)
def test_clause_starts_at_a_verb_after_a_conjunction(request_text: str, expected: list[str]) -> None:
    assert [clause.text for clause in read(request_text).clauses] == expected


def test_clause_without_verb_is_no_request() -> None:
    assert [clause.is_request for clause in read("The hall is red. Paint it blue.").clauses] == [False, True]


def test_verbs_of_the_catalog_start_clauses_too() -> None:
    text = "sort the mail, frobnicate the rest"
    assert len(read(text).clauses) == 1
    assert len(read(text, frozenset({"sort", "frobnicate"})).clauses) == 2


def test_urls_and_addresses_are_single_tokens() -> None:
    found = read("send https://shop.example/apples to eva@pears.example").weights
    assert "url" in found and "email" in found
    assert "appl" not in found and "pear" not in found


# -- request and document ----------------------------------------------------------------------------------


@each_case("joint", ["\n\n", "\n", " "])
@each_case("order", ["before", "after"])
def test_pasted_announcement_is_separated_from_the_request(order: str, joint: str) -> None:
    text = NEWS + joint + REQUEST if order == "before" else REQUEST + joint + NEWS
    reading = read(text)
    assert question_score(reading, "Greek") > 0.8
    assert question_score(reading, "sister") > 0.8
    assert question_score(reading, "harbour") < 0.1
    assert question_score(reading, "bicycles") < 0.1
    assert "harbour" in reading.document


def test_request_inside_a_document_is_found() -> None:
    head, tail = NEWS.rsplit("\n\n", 1)
    reading = read(f"{head}\n\n{REQUEST}\n\n{tail}")
    assert question_score(reading, "Greek") > 0.8
    assert question_score(reading, "crossing") < 0.1


def test_request_around_a_document_is_found() -> None:
    reading = read(
        f"Please translate this text into Greek:\n\n{NEWS}\n\nAnd then mail the result to my sister, please."
    )
    assert max(question_score(reading, "Greek"), question_score(reading, "sister")) > 0.5
    assert question_score(reading, "bicycles") < 0.2


def test_short_text_is_entirely_request() -> None:
    reading = read("My cat is ill. She is nine. Find a vet.")
    assert set(reading.weights.values()) == {1.0}
    assert reading.document == ""


def test_long_request_with_many_tasks_is_not_split() -> None:
    text = (
        "I would like to know the weather in Oslo on Friday. Please also find me a train from Bergen that arrives "
        "before noon. Then I need a hotel near the station for two nights. Can you book a table for four people at a "
        "fish restaurant? After that, please write an invitation to my friends. Finally, I want you to remind me on "
        "Thursday to pack my umbrella, and please send the bill to my office."
    )
    reading = read(text)
    assert reading.document == ""
    assert len([clause for clause in reading.clauses if clause.is_request]) >= 6


def test_document_without_request_keeps_some_words() -> None:
    assert any(weight > 0 for weight in read(NEWS).weights.values())


def test_request_after_a_very_long_document_is_found() -> None:
    reading = read("\n\n".join([NEWS] * 60) + "\n\n" + REQUEST)
    assert question_score(reading, "Greek") > 0.8
    assert question_score(reading, "harbour") < 0.1


def test_case_does_not_change_the_split() -> None:
    text = f"{NEWS}\n\n{REQUEST}"
    assert read(text.upper()).weights == read(text.lower()).weights


@each_case("document", sorted(path.name for path in DOCUMENTS.glob("*.txt")))
@each_case("order", ["before", "after"])
def test_documents_with_questions_do_not_outweigh_the_request(document: str, order: str) -> None:
    parts = [(DOCUMENTS / document).read_text(encoding="utf-8").strip(), REQUEST]
    relevant = frozenset(terms("translate text Greek mail result sister"))

    def relevance(found: Sequence[str]) -> float:
        return float(len(relevant.intersection(found)))

    reading = read("\n\n".join(parts if order == "before" else reversed(parts)), relevance=relevance)
    assert question_score(reading, "Greek") >= 0.5


@given(st.text(st.characters(exclude_categories=()), max_size=900))
def test_any_text_is_accepted(text: str) -> None:
    reading = read(text)
    assert all(0 < weight <= 1 for weight in reading.weights.values())
    assert reading == read(text)
    assert all(set(clause.terms) <= set(reading.weights) for clause in reading.clauses)


@each_case("unit", [".", "a", "@", "a@", "?", "'", "://", "a.", "(", "\n", ", and ", "読", "1. ", "> "])
def test_work_grows_linearly_with_the_request(work_counter: WorkCounter, unit: str) -> None:
    work_counter.assert_linear(lambda length: read(unit * (length // len(unit))), 40_000)


@given(st.text(alphabet=st.characters(max_codepoint=126, exclude_characters="'@/w"), max_size=60))
def test_apostrophe_at_the_end_changes_no_word_of_an_ascii_text(text: str) -> None:
    assert tokens(text) == tokens(f"{text} '")
    assert words(text) == words(f"{text} '") == [token for token in tokens(text) if token not in SEPARATORS]


@each_case(
    "text", ["Find it, then send it: now.", "Don't, ever.", "\u00c4ndere das, bitte.", "see www.example.org, then go"]
)
def test_positions_are_those_of_the_first_tokens(text: str) -> None:
    found = tokens(text)
    every = token_starts(text, found)
    assert [fold(text[start:]).startswith(token) or token == "url" for start, token in zip(every, found, strict=True)]
    assert every == sorted(set(every)) and token_starts(text, found[:2]) == every[:2]


def test_overlong_word_has_no_terms_and_is_not_cached() -> None:
    word = "ab" * 40
    assert WORD_TERMS[word] == unique_terms([word]) == () and word not in WORD_TERMS
    assert WORD_TERMS["planning"] == ("plan",) and "planning" in WORD_TERMS


@each_case(("text", "is_one"), [("Why? \n\n", True), ('Why?)" ', True), ("Why? No.", False), ("", False)])
def test_question_ends_with_its_mark(text: str, is_one: bool) -> None:
    assert is_question(text) is is_one
