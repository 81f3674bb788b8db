"""Coverage-guided fuzzing of the decode chain with atheris; not run by the test suite.

    pip install atheris
    python -m benchmarks.fuzz.decode strip|stream|dict|typed|list [CORPUS_DIR] [libFuzzer options]

Every target checks its laws on each input and times it, so that an input on which the work grows faster than its length
counts as a finding as well.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec

atheris: Any = importlib.import_module("atheris")

with atheris.instrument_imports(include=["helmdeck_core", "helmdeck_reading"]):
    from helmdeck_core import DecodeFailed, StopReason
    from helmdeck_reading import json_repair, refusals
    from helmdeck_reading import reasoning_tags as reasoning
    from helmdeck_reading.decoder.json_decoder import JsonDecoder as Decoder

    # Lazily loaded modules must be loaded here to be instrumented.
    Decoder([], [])

DECODER = Decoder(
    reasoning.helmdeck_reasoning_tags(), json_repair.helmdeck_decode_steps(), refusals.helmdeck_refusal_patterns()
)
STOPS = (None, StopReason.END_TURN, StopReason.MAX_TOKENS, StopReason.SAFETY_BLOCKED, StopReason.UNKNOWN)

SECONDS_AT_LEAST = 0.03
"""Shorter times depend on the machine, not on the input."""

TIMES = 16
"""Finding: 4 times the input takes this many times as long, which is quadratic time."""

SECONDS_PER_CHARACTER = 60e-6

TOKENS = (
    *(mark for tag in reasoning.helmdeck_reasoning_tags() for mark in (tag.open, *tag.close) if mark),
    *('{"', '"}', '":', '",', "{'", "'}", "':", '{"a":1}', '[{"a":1}]', "[", "]", "{", "}", "“", "”", '"', "\\", '\\"'),
    *("```", "```json\n", "//", "/*", "*/", "#", "True", "None", "NaN", ",", "\n", " ", "\u200b", "\u00a0", "1_0", ".5"),
    *("I'm sorry, but I can't", "&quot;", "<answer>", "</answer>", "<json>", "\x1b[0m", "json\n", "é", "😀", "\ud800"),
)  # fmt: skip


class Step(msgspec.Struct):
    """Part of the requested type."""

    a: int
    b: str = ""


class Plan(msgspec.Struct):
    """A requested type."""

    steps: list[Step]
    note: str = ""


def text_of(data: bytes) -> str:
    """Bytes as text: one with the high bit set stands for a token that matters here, the others for themselves."""
    return "".join(chr(byte) if byte < 128 else TOKENS[(byte - 128) % len(TOKENS)] for byte in data)


def strip(text: str) -> None:
    """Stripping is idempotent."""
    once = DECODER.strip(text)
    again = DECODER.strip(once.text)
    assert again.text == once.text
    assert again.is_unclosed == once.is_unclosed
    assert not DECODER.has_reasoning(once.text)


def streamed(chunks: list[str]) -> tuple[str, str]:
    """Return everything that a stream releases."""
    stream = DECODER.stream()
    pieces = [*map(stream.feed, chunks), stream.finish()]
    return "".join(piece[0] for piece in pieces), "".join(piece[1] for piece in pieces)


def stream(text: str) -> None:
    """Chunk boundaries do not change the result, and only delimiters are removed."""
    whole = streamed([text])
    for size in (1, 3, 7):
        assert streamed([text[at : at + size] for at in range(0, len(text), size)]) == whole


def decode(text: str, type: type, stop: StopReason | None) -> Any:
    """Return the value or the failure."""
    try:
        return DECODER.decode(text, type, stop).value
    except DecodeFailed as failed:
        failure = failed
    assert len(failure.excerpt) <= 200
    assert failure.excerpt.isprintable()
    return failure


def is_truncated_json(text: str) -> bool:
    """Whether the text is a proper prefix of a JSON object."""
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        return text.lstrip()[:1] == "{" and str(error) == "Input data was truncated"
    except (RecursionError, ValueError):
        return False
    return False


def as_type(type: type) -> Callable[[str], None]:
    """Decoding returns a value or a failure; a truncated payload is never a value."""

    def target(text: str) -> None:
        for stop in STOPS:
            got = decode(text, type, stop)
            if not isinstance(got, DecodeFailed):
                assert not is_truncated_json(text), got
            with contextlib.suppress(ValueError, RecursionError):
                whole = json.loads(text)
                if type is dict and isinstance(whole, dict) and stop is StopReason.END_TURN:
                    assert not isinstance(got, DecodeFailed) or "Infinity" in text or "NaN" in text or "\\ud" in text

    return target


TARGETS: dict[str, Callable[[str], None]] = {
    "strip": strip,
    "stream": stream,
    "dict": as_type(dict),
    "typed": as_type(Plan),
    "list": as_type(list[Step]),
}


def watched(target: Callable[[str], None]) -> Callable[[bytes], None]:
    """The target, with a look at how its time grows when the input is repeated."""

    def run(data: bytes) -> None:
        text = text_of(data)
        start = time.process_time()
        target(text)
        if len(text) < 4 or time.process_time() - start > 1:
            assert time.process_time() - start < 1 + len(text) * SECONDS_PER_CHARACTER
            return
        if data[0] % 64:  # only some inputs are repeated, since that takes a hundred times as long
            return
        one = seconds(target, text * (4_000 // len(text) + 1))
        if one > SECONDS_AT_LEAST:
            four = seconds(target, text * (16_000 // len(text) + 4))
            assert four < TIMES * one, f"{one:.3f} s, {four:.3f} s for four times the text"

    return run


def seconds(target: Callable[[str], None], text: str) -> float:
    """How long it takes; the laws are not looked at here, for repeating may break a premise of theirs."""
    start = time.process_time()
    with contextlib.suppress(AssertionError):
        target(text)
    return time.process_time() - start


def main() -> None:
    """Fuzz one target."""
    name, *options = sys.argv[1:] or [""]
    if name not in TARGETS:
        raise SystemExit(f"usage: python -m benchmarks.fuzz.decode {'|'.join(TARGETS)} [CORPUS_DIR] [options]")
    atheris.Setup([sys.argv[0], *options], watched(TARGETS[name]))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
