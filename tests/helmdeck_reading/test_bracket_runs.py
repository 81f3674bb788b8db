"""Brackets are balanced over runs of tokens, with the same result as one token after the other."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmdeck_reading.decoder.json_bounds import Tokens

PARTS = [
    "{",
    "}",
    "[",
    "]",
    '"',
    "'",
    "“",
    "”",
    "\\",
    "/",
    "//",
    "/*",
    "*/",
    "&quot;",
    '\\"',
    "a",
    "1",
    ",",
    ":",
    " ",
    "\n",
]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=16).map("".join)


def end_by_single_tokens(text: str) -> int | None:
    depth = 0
    for token in Tokens(text).after(0):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if depth == 0:
            return token.end()
        if token[0] in ('"', "'", "/*"):
            return None
    return None


@given(st.sampled_from("{["), TEXTS)
@example("{", '“a":{“b”:1}, “c”:{}}')
@example("[", "{'a}':1}, {'b':[\\\"]\\\"]}]")
@example("[", "1 /* ] */, // ]\n2]")
def test_end_of_a_bracket_is_the_same_in_runs_and_in_single_tokens(bracket: str, rest: str) -> None:
    assert Tokens(bracket + rest).balanced_end(0) == end_by_single_tokens(bracket + rest)


@pytest.mark.parametrize("item", ["{“a”:1}", "{a:1}", "{'a':1}", '"a"', "“a”", "{}", "[1]", "/*c*/ 1", "&quot;a&quot;"])
def test_items_without_brackets_inside_are_one_run(item: str) -> None:
    text = f"[{f'{item}, ' * 100}1]"
    assert len(list(Tokens(text).after(1, in_runs=True))) == 2
    assert Tokens(text).balanced_end(0) == len(text)
