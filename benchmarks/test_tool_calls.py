"""Detection of tool calls in text, relative to one plain scan of the same text in the same run."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from benchmarks.inputs import prose
from helmdeck_testing.deck_factory import make_deck

DECK = make_deck()
SIZES = (300, 3_000, 30_000)
SCAN = re.compile(r"[<\[`\n](?:tool_call|function|invoke)")


def call(size: int) -> str:
    """A call with arguments of about ``size`` characters."""
    arguments = {"text": prose(random.Random(3), size), "limit": 3}
    return f"<tool_call>\n{json.dumps({'name': 'search', 'arguments': arguments})}\n</tool_call>"


@pytest.mark.parametrize("size", SIZES)
def test_floor(benchmark: Any, size: int) -> None:
    benchmark.group = f"tool calls {size} B"
    benchmark(SCAN.search, prose(random.Random(2), size))


@pytest.mark.parametrize("size", SIZES)
def test_clean_text(benchmark: Any, size: int) -> None:
    text = prose(random.Random(2), size)
    assert DECK.tool_calls(text).text == text
    benchmark.group = f"tool calls {size} B"
    benchmark(DECK.tool_calls, text)


@pytest.mark.parametrize("size", SIZES)
def test_one_call(benchmark: Any, size: int) -> None:
    text = f"Let me look.\n{call(size)}"
    assert len(DECK.tool_calls(text).calls) == 1
    benchmark.group = f"tool calls {size} B"
    benchmark(DECK.tool_calls, text)
