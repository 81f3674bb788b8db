"""The built-in decode steps repair unambiguous errors and leave everything else unchanged."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import Decoded, DecodeFailed
from helmdeck_reading import json_repair
from helmdeck_reading.decoder.json_decoder import JsonDecoder as Decoder
from helmdeck_reading.json_repair import tokens
from tests.case_support import each_case
from tests.work_support import WorkCounter

STEPS = json_repair.helmdeck_decode_steps()
DECODER = Decoder([], STEPS)


def repair(text: str) -> Decoded[dict[str, Any]]:
    return DECODER.decode(text, dict)


def test_steps_have_unique_names_and_orders() -> None:
    assert len({step.name for step in STEPS}) == len(STEPS)
    assert len({step.order for step in STEPS}) == len(STEPS)


@each_case(
    ("text", "value", "repairs"),
    [
        (json.dumps('{"a": {"b": []}}'), {"a": {"b": []}}, ("double_encoded",)),
        ('```json\n"{\\"a\\": 1}"\n```', {"a": 1}, ("double_encoded",)),
        (r"{\"a\": \"b\"}", {"a": "b"}, ("double_encoded",)),
        (r"{\n \"a\": \"say \\\"hi\\\"\"}", {"a": 'say "hi"'}, ("double_encoded",)),
        ('[{"a": 1}]', {"a": 1}, ("single_item_list",)),
        ('Here: [\n{"a": [1]}\n]', {"a": [1]}, ("single_item_list",)),
        ('{"a": 1 /* one } */, // two ]\n "b": 2 # three\n}', {"a": 1, "b": 2}, ("comments",)),
        ("{“a”: “it's”, “b”: [“x”]}", {"a": "it's", "b": ["x"]}, ("curly_quotes",)),
        ("{“a”: “na\\u00efve”}", {"a": "naïve"}, ("curly_quotes",)),
        ("{'a': 'x', 'b': ['y', 1]}", {"a": "x", "b": ["y", 1]}, ("single_quotes",)),
        (r"{'a': '\x00\x07'}", {"a": "\x00\x07"}, ("single_quotes", "escapes")),
        (
            """{'a': "it's", 'b': 'say "hi"', 'c': 'don\\'t'}""",
            {"a": "it's", "b": 'say "hi"', "c": "don't"},
            ("single_quotes",),
        ),
        ("{'a': '}{', 'b': 1}", {"a": "}{", "b": 1}, ("single_quotes",)),
        ('{"a": True, "b": None, "c": FALSE}', {"a": True, "b": None, "c": False}, ("constants",)),
        ('{a: 1, b_c: {d: "e: f"}}', {"a": 1, "b_c": {"d": "e: f"}}, ("unquoted_keys",)),
        ('{"a": "one\ntwo\t\x01"}', {"a": "one\ntwo\t\x01"}, ("control_characters",)),
        (r'{"a": "won\'t"}', {"a": "won't"}, ("escapes",)),
        (r'{"a": "x \- y \_z\_"}', {"a": r"x \- y \_z\_"}, ("escapes",)),
        (r'{"a": "\d+\w"}', {"a": r"\d+\w"}, ("escapes",)),
        (r'{"a": "\x41\U0001F600"}', {"a": "A😀"}, ("escapes",)),
        ('{"a": 1., "b": .5, "c": +3, "d": 82_461}', {"a": 1.0, "b": 0.5, "c": 3, "d": 82461}, ("numbers",)),
        ('{\n\u3000"a":\u00a01}', {"a": 1}, ("whitespace",)),
        (r'{\n  "a": 1,\n  "b": "\n"\n}', {"a": 1, "b": "\n"}, ("whitespace",)),
        ('> {\n>   "a": "> x",\n> "b": 1\n> }', {"a": "> x", "b": 1}, ("block_quote",)),
        ('{"a": [1, 2,], "b": "x,]",}', {"a": [1, 2], "b": "x,]"}, ("trailing_commas",)),
        (
            '{"a": [1 2, {"b": [3 4] "c": [] "d": 5}] "e": 6}',
            {"a": [1, 2, {"b": [3, 4], "c": [], "d": 5}], "e": 6},
            ("missing_commas",),
        ),
        ('{"a": "x"\n "b": {"c": 1} "d": null}', {"a": "x", "b": {"c": 1}, "d": None}, ("missing_commas",)),
        (
            '{"a": ["x" "y"], "b": [{"c": 1} {"c": 2}]}',
            {"a": ["x", "y"], "b": [{"c": 1}, {"c": 2}]},
            ("missing_commas",),
        ),
        ('{"key": "v"alu"e"}', {"key": 'v"alu"e'}, ("unescaped_quotes",)),
        ('{"a": "a 65" television", "b": [1]}', {"a": 'a 65" television', "b": [1]}, ("unescaped_quotes",)),
        ('{"a": ["a 32" display", "x"]}', {"a": ['a 32" display', "x"]}, ("unescaped_quotes",)),
        ('{"a": "say "hi" now"}', {"a": 'say "hi" now'}, ("unescaped_quotes",)),
        (
            '{"a": "use "x", then "y", and go", "b": 1}',
            {"a": 'use "x", then "y", and go', "b": 1},
            ("unescaped_quotes",),
        ),
        ('{"a": "<h3 id="b">c</h3>"}', {"a": '<h3 id="b">c</h3>'}, ("unescaped_quotes",)),
        ('{"a": "he said "hi""}', {"a": 'he said "hi"'}, ("unescaped_quotes",)),
        (
            "{a: 'x', b: None,}",
            {"a": "x", "b": None},
            ("single_quotes", "unquoted_keys", "constants", "trailing_commas"),
        ),
    ],
)
def test_unambiguous_malformed_json_is_repaired_and_reported(
    text: str, value: dict[str, Any], repairs: tuple[str, ...]
) -> None:
    decoded = repair(text)
    assert decoded.value == value
    assert decoded.repairs == repairs
    assert decoded.step == repairs[-1]


@each_case(
    "text",
    [
        '{"a": 1, "b": 2',
        '{"a": [1, 2}',
        "{'a': 'it's'}",
        '{"a": "b" "c"}',
        '{"a": "say "hi", "b": "there" now"}',
        '{"a": ["say "hi", "there" now"]}',
        '{"a": "x" y", "b": 2}',
        '{"a": "a 65" television", "b": {"c": "',
        '{"a": "x "y" z"',
        '{"a" "b"}',
        '{"":"":"":""}',
        "{,,}",
        '{"a":::[]}',
        '{"a": 1,, "b": 2}',
        '{"a": 007}',
        '{"a": 1,000}',
        '{"a": NaN}',
        '{"a": undefined}',
        '{"a": (1, 2)}',
        "{'a', 'b'}",
        '{"a": ...}',
        '{"a": tRue}',
        r'{"path": "C:\new\users\ana"}',
        r'{"a": "\nabla \alpha"}',
        '["x"]',
        '[{"a": 1}, {"a": 2}]',
        "[[]]",
        '{"a": "say "}" now"}',
        json.dumps(json.dumps('{"a": 1}')),
        '{"a": ["say " hi "now"]}',
        "{'a': __import__('os')}",
        '{"a": "docker run \\\n  -p 80:80"}',
        '{"a": "x \\\r\n y"}',
        '{"a": "x \\\t y"}',
        "{'a': 'x \\\n y'}",
    ],
)
def test_ambiguous_or_unreadable_text_is_not_repaired(text: str) -> None:
    with pytest.raises(DecodeFailed):
        repair(text)


@each_case("step", STEPS, ids=lambda step: step.name)
def test_steps_accept_any_text(step: Any) -> None:
    for text in ("", "{", "[", '"', "{}", "[]", "'", "x" * 100, "{'", '{"a": "\\', "{\x00}", "{" * 10_000):
        for candidate in step.candidates(text):
            assert isinstance(candidate, str), text


@each_case("step", STEPS, ids=lambda step: step.name)
def test_steps_yield_no_candidate_without_a_repair(step: Any) -> None:
    text = '{"a": ["x, ]", 1.5, true, null, "it\'s // \\n“”"], "b": {}}'
    assert list(step.candidates(text)) == []


def test_very_long_text_is_not_repaired() -> None:
    with pytest.raises(DecodeFailed):
        repair('{"a": "' + "x" * json_repair.MAX_LENGTH + '",}')


def test_text_with_too_many_tokens_is_not_repaired() -> None:
    assert repair('{"a": [' + "1," * 1_000 + "1],}").repairs == ("trailing_commas",)
    with pytest.raises(DecodeFailed):
        repair('{"a": [' + "1," * tokens.MAX_TOKENS + "1],}")


@each_case("chunk", ['\\"(', "/*("])
def test_unterminated_string_is_scanned_once(work_counter: WorkCounter, chunk: str) -> None:
    def read(count: int) -> None:
        tokens.keep_tokens("", None)
        assert tokens.tokens_of("{" + chunk * count) is None

    work_counter.assert_linear(read, 1_000)


PLAIN = st.text(alphabet="abc 1._-{}[]:,\"'\\/#\n\t\x00\x07\u200bé😀“”：｛", max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN, inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(PLAIN, VALUES, min_size=1, max_size=4)


@given(OBJECTS)
def test_python_repr_is_read_exactly_or_not_at_all(value: dict[str, Any]) -> None:
    with contextlib.suppress(DecodeFailed):
        assert repair(repr(value)).value == value


@given(OBJECTS)
def test_json_in_a_json_string_is_read_exactly(value: dict[str, Any]) -> None:
    assert repair(json.dumps(json.dumps(value))).value == value


@given(OBJECTS, st.data())
def test_one_character_more_or_less_yields_the_same_value_or_none(value: dict[str, Any], data: st.DataObject) -> None:
    """A comma, a colon, a bracket or a quote outside of strings is dropped or doubled."""
    text = json.dumps(value, ensure_ascii=False)
    read = tokens.tokens_of(text)
    assert read is not None
    marks = [index for index, kind in enumerate(read.kinds) if kind in "{}[],:"]
    index = data.draw(st.sampled_from(marks))
    mark = data.draw(st.sampled_from(["", read.texts[index] * 2]))
    broken = "".join(mark if place == index else word for place, word in enumerate(read.texts))
    try:
        got = repair(broken).value
    except DecodeFailed:
        return
    assert got == value or _is_json(broken)


def _is_json(text: str) -> bool:
    try:
        json.JSONDecoder().raw_decode(text)
    except ValueError:
        return False
    return True
