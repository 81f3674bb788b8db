"""Comments in malformed JSON: their brackets and quotes belong to no value, and no inner object becomes the answer."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


CONTENT = st.text(alphabet="a'\"：｛\u200b/#{", max_size=6)
COMMENT = st.text(alphabet="a'\"}：*/", max_size=4)
LINE_COMMENTS = st.builds("{}{}\n".format, st.sampled_from(["//", "# ", " # "]), COMMENT)
BLOCK_COMMENTS = st.builds("/*{}*/".format, COMMENT.filter(lambda text: "*/" not in f"{text}*/"[:-1]))


@given(
    st.lists(st.tuples(CONTENT, LINE_COMMENTS | BLOCK_COMMENTS), min_size=1, max_size=4),
    st.sampled_from([":", "：", "\u200b:"]),
)
def test_strings_beside_comments_stay_as_they_are(items: list[tuple[str, str]], colon: str) -> None:
    members = (
        f"{json.dumps(f'k{at}')}{colon} {json.dumps(text, ensure_ascii=False)}, {note}"
        for at, (text, note) in enumerate(items)
    )
    with contextlib.suppress(DecodeFailed):
        assert decode(f"{{{''.join(members)}}}") == {f"k{at}": text for at, (text, _) in enumerate(items)}


@each_case(
    ("text", "value"),
    [
        ('{"a": 1, // 5" screen\n "b": "注意：开始"}', {"a": 1, "b": "注意：开始"}),
        ('{"a": 1 /* don\'t */, "b": "it\'s：x"}', {"a": 1, "b": "it's：x"}),
        ('{"a": 1, # 5" }\n "b"： "｛x｝"}', {"a": 1, "b": "｛x｝"}),
        ('{"a": 1, // 5" screen\n "b":\u200b "x\u200by"}', {"a": 1, "b": "x\u200by"}),
        ('{{"a": 1, // 5" screen\n "b": "{{x}}"}}', {"a": 1, "b": "{{x}}"}),
        ("{&#34;a&#34;: 1, # don't\n &#34;b&#34;: \"it's &quot;x&quot;\"}", {"a": 1, "b": "it's &quot;x&quot;"}),
    ],
)
def test_quote_in_a_comment_starts_no_string(text: str, value: Any) -> None:
    assert decode(text) == value
