"""Comments in malformed JSON: their brackets and quotes belong to no value, and no inner object becomes the answer."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_core import DecodeFailed, StopReason
from helmdeck_reading import json_repair
from helmdeck_reading.decoder.json_decoder import JsonDecoder
from tests.case_support import each_case

DECODER = JsonDecoder([], json_repair.helmdeck_decode_steps())
COMMENTS = ["# see }", "#see ]", "// see }", "/* see } */", "# don't }", '# 5" }', "# default: {}"]


def decode(text: str, stop: StopReason = StopReason.END_TURN) -> Any:
    return DECODER.decode(text, dict, stop).value


@each_case("comment", COMMENTS)
@each_case("keys", [("timeout", "retry", "x"), ('"timeout"', '"retry"', '"x"')], ids=["bare keys", "quoted keys"])
def test_brackets_in_a_comment_do_not_end_the_object(comment: str, keys: tuple[str, str, str]) -> None:
    timeout, retry, x = keys
    text = f"{{\n  {timeout}: 30, {comment}\n  {retry}: {{{x}: 1}}\n}}"
    for raw in (text, f"Here it is:\n```json\n{text}\n```"):
        assert decode(raw) == {"timeout": 30, "retry": {"x": 1}}


@each_case("comment", ["# see }", "#see ]", "// see }", "/* see } */", "# don't", "# {} by default"])
def test_comment_before_the_first_key_belongs_to_the_object(comment: str) -> None:
    assert decode(f'{{ {comment}\n  "retry": {{"x": 1}}\n}}') == {"retry": {"x": 1}}
    assert decode(f'{{ {comment}\n  retry: {{"x": 1}}\n}}') == {"retry": {"x": 1}}


@each_case("comment", COMMENTS)
def test_truncated_object_with_comments_has_no_value(comment: str) -> None:
    text = f'{{\n  timeout: 30, {comment}\n  retry: {{"x": 1}},\n  headers: {{"y": '
    for stop in (StopReason.END_TURN, StopReason.MAX_TOKENS):
        with pytest.raises(DecodeFailed):
            decode(text, stop)


@each_case(
    "text",
    [
        '{a: {b: (1)}}, c: {"d": 1}}',
        'Here: {a: {b: (1)}}, c: {"d": 1}}',
        '{\n  a: (1)}\n  b: {"c": 1}\n}',
        '{\n  a: (1)}\n  b: {"c": 1},\n  d: 2\n}',
    ],
)
def test_member_with_a_bare_key_after_an_invalid_value_is_not_the_answer(text: str) -> None:
    with pytest.raises(DecodeFailed):
        decode(text)


@each_case(
    "text",
    [
        'Schema: {name: str}\nAnswer: {"a": 1}',
        'With {name: str}, answer: {"a": 1}. Done.',
        'p { color: #fff } then {"a": 1}',
        'p { border: 1px solid #ccc; margin: 0 } then {"a": 1}',
        'see {id: #1} and {"a": 1}',
        '{name: `#{x}`}\n{"a": 1}',
        '{{# each x }} {"a": 1}',
        '{# a comment of a template #} {"a": 1}',
        '@media print { #menu { display: none } } {"a": 1}',
        '\\newcommand{\\x}[1]{#1} {"a": 1}',
    ],
)
def test_labels_colours_and_placeholders_before_the_answer_are_neither_members_nor_comments(text: str) -> None:
    assert decode(text) == {"a": 1}
