"""Decoding, relative to a bare typed decode of the payload in the same run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from benchmarks.inputs import Answer, fenced, payload, reasoning
from helmdeck_core import StopReason
from helmdeck_testing.deck_factory import make_deck

DECODER = make_deck().runtime.decoder
SIZES = (300, 3_000, 30_000)


@pytest.mark.parametrize("size", SIZES)
def test_floor(benchmark: Any, size: int) -> None:
    benchmark.group = f"decode {size} B"
    benchmark(msgspec.json.Decoder(Answer).decode, payload(size))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("form", ["clean", "fenced", "reasoning"])
def test_decode(benchmark: Any, size: int, form: str) -> None:
    text = payload(size)
    raw = {"clean": text, "fenced": fenced(text), "reasoning": reasoning(9 * size) + text}[form]
    assert DECODER.decode(raw, Answer, StopReason.END_TURN).value == msgspec.json.decode(text, type=Answer)
    benchmark.group = f"decode {size} B"
    benchmark(DECODER.decode, raw, Answer, StopReason.END_TURN)
