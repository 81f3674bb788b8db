"""Time against the length of hostile text: the second row of a group reads four times as much as the first.

The test suite counts calls and searched characters instead; see ``tests/work_support.py``. What both are given is in the tests.
"""

from __future__ import annotations

import contextlib
import importlib
import struct
from typing import Any
from zlib import crc32

import pytest

from helmdeck_core import DecodeFailed
from helmdeck_provider_bedrock.frames import FrameReader
from helmdeck_testing import make_deck

DECK = make_deck()
HOSTILE = importlib.import_module("tests.helmdeck_reading.test_decoder").HOSTILE
MARKS = importlib.import_module("tests.helmdeck_reading.test_tool_call_laws").MARKS
LENGTHS = (20_000, 80_000)


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("length", LENGTHS)
def test_decode(benchmark: Any, piece: str, length: int) -> None:
    text = piece * (length // len(piece))
    benchmark.group = f"growth: decode {piece!r}"

    def read() -> None:
        with contextlib.suppress(DecodeFailed):
            DECK.runtime.decoder.decode(text, dict)

    benchmark.pedantic(read, rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("piece", MARKS)
@pytest.mark.parametrize("length", LENGTHS)
def test_tool_calls(benchmark: Any, piece: str, length: int) -> None:
    text = "x" + piece * (length // len(piece))
    benchmark.group = f"growth: tool calls {piece!r}"
    benchmark.pedantic(lambda: DECK.tool_calls(text, model="glm llama"), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("length", [1_000_000, 4_000_000])
def test_frame_in_chunks(benchmark: Any, length: int) -> None:
    prelude = struct.pack(">II", 16 + length, 0)
    head = prelude + struct.pack(">I", crc32(prelude))
    data = head + bytes(length)
    data += struct.pack(">I", crc32(data))
    benchmark.group = "growth: a frame in chunks of 1,000 bytes"

    def read() -> int:
        reader = FrameReader()
        return sum(len(list(reader.feed(data[start : start + 1000]))) for start in range(0, len(data), 1000))

    assert read() == 1
    benchmark.pedantic(read, rounds=3)
