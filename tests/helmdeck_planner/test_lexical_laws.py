"""Laws of the embedded planner, for any catalog and request."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import UNKNOWN_TOOL, Catalog
from helmdeck_language.values.scanner import scan
from helmdeck_planner.embedded.choice.confidence import is_gap
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.picks import understand
from helmdeck_planner.embedded.request.negation import excluded_from
from helmdeck_planner.embedded.steps import steps_of
from helmdeck_selection.lexical.scores.word_scores import LexicalIndex
from tests.case_support import each_case
from tests.work_support import WorkCounter

CHOICES = ("open", "closed", "New York", "by-date")
VERBS = "get list create delete send search read update translate echo set run fetch".split()
NOUNS = "file message order user page city task note event price branch report".split()
NAMES = (
    "path url to date title text query city id order_id limit count state private from_date target value name code sql "
    "origin destination tags owner repo timezone"
).split()
SCHEMAS = st.one_of(
    st.sampled_from(
        [
            {"type": "string"},
            {"type": "integer"},
            {"type": "number", "description": "Number of results"},
            {"type": "boolean"},
            {"type": "string", "enum": list(CHOICES)},
            {"type": "array", "items": {"type": "string"}},
            {"type": "string", "format": "date"},
            {"type": "string", "format": "uri", "default": "https://default.example"},
            {"type": "object"},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            {"type": ["string", "null"], "description": "One of 'fast' or 'slow'"},
        ]
    ),
    st.just({}),
)


@st.composite
def tools(draw: st.DrawFn) -> dict[str, Any]:
    verb, noun = draw(st.sampled_from(VERBS)), draw(st.sampled_from(NOUNS))
    properties = draw(st.dictionaries(st.sampled_from(NAMES), SCHEMAS, max_size=5))
    entry: dict[str, Any] = {
        "name": f"{verb}_{noun}",
        "description": f"{verb.title()}s a {noun}.",
        "input_schema": {
            "type": "object",
            "properties": properties,
            "required": draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else [],
        },
    }
    if draw(st.booleans()):
        entry["annotations"] = {"readOnlyHint": draw(st.booleans())}
    return entry


CATALOGS = st.lists(tools(), min_size=1, max_size=8, unique_by=lambda entry: entry["name"]).map(
    lambda packs: Catalog.from_data({"packs": packs}, "test")
)
WORDS = st.sampled_from(
    [
        *VERBS, *NOUNS, "the", "a", "my", "and", "then", ",", ".", "\n", "1.", "it", "that", "please", "don't", "never",
        "without", "to", "from", "in", "for", "about", "called", "Oslo", "New York", "open", "notes.txt", "/tmp/a", "42",
        "2025-01-01", "https://a.example/x", "ada@b.example", "'hello there'", '"hi"', "A-100", "5 results", "octo/engine",
        "SELECT a FROM b", "`x = 1`", "12 * 3", "#7", "lies", "datei", "und", "nicht", "busca", "fichier", "sans", "東京",
    ]
)  # fmt: skip
REQUESTS = st.one_of(
    st.lists(WORDS, max_size=25).map(" ".join),
    st.text(st.characters(exclude_categories=()), max_size=200),
    st.tuples(st.lists(WORDS, max_size=8).map(" ".join), st.text(max_size=60)).map(": ".join),
)


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)
    else:
        yield value


def plan(catalog: Catalog, request: str) -> list[dict[str, Any]]:
    lexical = LexicalIndex(catalog)
    return steps_of(understand(request, lexical, Profiles(catalog.entries, lexical.lexicon)), {}, ())


def spaced(text: str) -> str:
    return " ".join(text.split())


@given(CATALOGS, REQUESTS)
def test_no_argument_contains_text_that_the_request_does_not(catalog: Catalog, request: str) -> None:
    for step in plan(catalog, request):
        for value in leaves(step["args"]):
            if isinstance(value, bool):
                continue
            if isinstance(value, (int, float)):
                assert f"{value:g}" in request.replace(",", "") or str(value) in request.replace(",", "")
            else:
                assert value in (*CHOICES, "fast", "slow") or spaced(value) in spaced(request)


VALUES = [
    "notes.txt", "/tmp/a", "42", "17", "2025-01-01", "https://a.example/x", "ada@b.example", "'hello there'", "A-100", "B-20",
    "`x = 1`", "#7", "Oslo", "Bremen", "'red apples'", "zed@c.example", "/srv/b.md", "2024-02-02", "v1.2.3", "*.md", "alpha",
]  # fmt: skip
BETWEEN = (
    "the a my to from in for about called with of title query target name new old id limit and , : as by on".split()
)


@st.composite
def stated(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A command with values, none of them twice."""
    values = draw(st.permutations(VALUES))[: draw(st.integers(1, 5))]
    words = [draw(st.sampled_from(VERBS)), draw(st.sampled_from(NOUNS))]
    for value in values:
        words += [*draw(st.lists(st.sampled_from([*BETWEEN, *NOUNS]), max_size=3)), value]
    return " ".join(words), values


@given(CATALOGS, stated())
def test_no_value_is_an_argument_twice(catalog: Catalog, request: tuple[str, list[str]]) -> None:
    text, values = request
    for step in plan(catalog, text):
        found = [str(each) for each in leaves(step["args"]) if not isinstance(each, bool)]
        for value in values:
            bare = value.strip("'`#")
            assert sum(bare in each.split() or bare == each for each in found) <= 1


EXCLUDED = ["/never/me.txt", "'never me'", "N-999", "never@me.example", "999", "Neverland", "never/mine", "2031-03-03"]
EXCLUSIONS = (
    "{}, but not {}", "{}; never {verb} {}", "{}, without {verb}ing {}", "{} instead of {}", "{}. Do not {verb} {}",
    "{} rather than {}",
)  # fmt: skip


@given(CATALOGS, stated(), st.sampled_from(EXCLUSIONS), st.sampled_from(VERBS), st.sampled_from(EXCLUDED))
def test_no_argument_contains_an_excluded_value(
    catalog: Catalog, request: tuple[str, list[str]], form: str, verb: str, excluded: str
) -> None:
    for step in plan(catalog, form.format(request[0], excluded, verb=verb)):
        assert not any(excluded.strip("'") in str(each) for each in leaves(step["args"]))


@given(CATALOGS, REQUESTS)
def test_a_planned_step_owns_words_of_the_request_that_its_entry_explains(catalog: Catalog, request: str) -> None:
    lexical = LexicalIndex(catalog)
    picks = understand(request, lexical, Profiles(catalog.entries, lexical.lexicon)).picks
    places = [{token.start for token in pick.part.tokens} for pick in picks]
    for index, pick in enumerate(picks):
        others = set[int]().union(*places[:index], *places[index + 1 :])
        assert pick.profile is None or (places[index] - others and not is_gap(pick.found))


@each_case(
    ("request_text", "name", "schema"),
    [
        ("get the order /srv/app", "get_order", {"order_id": {"type": "string"}}),
        ("find hotels in ada@b.example", "find_hotels", {"city": {"type": "string"}}),
        ("show the log of notes.txt", "show_log", {"repo_path": {"type": "string"}}),
        ("search the web for files in /srv/app", "search_web", {"query": {"type": "string"}}),
    ],
)
def test_a_value_of_a_form_that_an_input_does_not_take_is_left_open(
    request_text: str, name: str, schema: dict[str, Any]
) -> None:
    entry = {"name": name, "input_schema": {"type": "object", "properties": schema, "required": sorted(schema)}}
    assert [step["args"] for step in plan(Catalog.from_data({"packs": [entry]}, "test"), request_text)] == [{}]


@given(CATALOGS, REQUESTS)
def test_an_argument_is_an_input_of_its_tool(catalog: Catalog, request: str) -> None:
    for step in plan(catalog, request):
        if step["tool"] != UNKNOWN_TOOL:
            entry = catalog.get(step["tool"])
            assert entry is not None and entry.input_schema is not None
            assert step["args"].keys() <= entry.input_schema["properties"].keys()


@given(CATALOGS, st.sampled_from(["read", "list", "show", "get", "search"]), st.sampled_from(NOUNS))
def test_a_request_that_reads_never_plans_a_tool_that_writes(catalog: Catalog, verb: str, noun: str) -> None:
    for step in plan(catalog, f"{verb} the {noun} A-100"):
        if step["tool"] != UNKNOWN_TOOL:
            entry = catalog.get(step["tool"])
            assert entry is not None
            annotations = entry.data.get("annotations", {})
            is_annotated = annotations.get("readOnlyHint") is True
            assert is_annotated or step["tool"].partition("_")[0] not in ("create", "delete", "send", "update", "set")
            assert annotations.get("readOnlyHint") is not False


NEGATIONS = ("don't {}", "never {}", "please do not {}", "I don't want you to {}", "you must not {}")


@given(CATALOGS, st.sampled_from(NEGATIONS), st.sampled_from(VERBS), st.sampled_from(NOUNS))
def test_a_negated_request_plans_nothing(catalog: Catalog, negation: str, verb: str, noun: str) -> None:
    assert [step["tool"] for step in plan(catalog, negation.format(f"{verb} the {noun} A-100"))] == []


@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_tokens_are_slices_of_the_text_in_order(text: str) -> None:
    tokens = scan(text)
    assert all(a.end <= b.start for a, b in pairwise(tokens))
    assert all(token.value in text[token.start : token.end] for token in tokens)


@each_case(
    "unit",
    [
        "a",
        ".",
        "a ",
        "a, ",
        "and ",
        "1 ",
        "1*",
        "(",
        "'",
        '"',
        "`",
        "/",
        "a/",
        "@",
        "SELECT ",
        "don't ",
        "-",
        "\n",
        "1. ",
    ],
)
def test_work_grows_linearly_with_the_request(work_counter: WorkCounter, unit: str) -> None:
    work_counter.assert_linear(lambda length: scan(unit * (length // len(unit))), 1_000)


def test_nothing_is_excluded_from_nothing() -> None:
    assert excluded_from((), None) == 0  # type: ignore[arg-type]
