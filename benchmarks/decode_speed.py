"""Decode time relative to a bare typed decode of the payload, measured in the same run.

    python -m benchmarks.decode_speed                     # prints the tables
    python -m benchmarks.decode_speed --write PAGE.md     # also writes them to a page

Everything is measured in one process, in turns, and the best of many rounds counts: other load only ever adds time.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from benchmarks.inputs import Answer, fenced, payload, prose
from benchmarks.inputs import reasoning as reasoning_block
from benchmarks.pages import write_between
from helmdeck_core import DecodeFailed, DecodeStep, ReasoningTag, StopReason
from helmdeck_reading import json_repair
from helmdeck_reading import reasoning_tags as reasoning
from helmdeck_reading.decoder.json_decoder import JsonDecoder as Decoder
from helmdeck_testing.deck_factory import make_deck

DECODER = make_deck().runtime.decoder
SIZES = (300, 3_000, 30_000, 300_000)
SHORTEST = 0.000_2  # minimum seconds per measurement; far above the clock resolution
ROUNDS = 60

Call = Callable[[], object]
Form = tuple[str | bytes, str]
"""A response and its payload."""

NOTES = '# Plan\n\n1. <b>read</b> the request if a < b && c > d\n2. try {x} or {"tool": "draft", "n": [1, 2]}\n\n'


# -- inputs --------------------------------------------------------------------------------------------------------


def marked_up(size: int) -> str:
    """Return a reasoning block that contains tags, drafts and lists."""
    rng, parts, length = random.Random(8), list[str](), 0
    while length < size:
        parts += (prose(rng, 400), "\n\n", NOTES)
        length += 402 + len(NOTES)
    return f"<think>{''.join(parts)[:size]}</think>\n\n"


def _cut(text: str) -> str:
    return text[: len(text) * 9 // 10]


FORMS: Mapping[str, Callable[[int], Form]] = {
    "clean": lambda size: (payload(size), payload(size)),
    "clean, bytes": lambda size: (payload(size).encode(), payload(size)),
    "fenced, prose around": lambda size: (fenced(payload(size)), payload(size)),
    "prose around": lambda size: (f"Here is the plan: {payload(size)}\nHope it helps.", payload(size)),
    "50 % reasoning": lambda size: (reasoning_block(size // 2) + payload(size // 2), payload(size // 2)),
    "90 % reasoning": lambda size: (reasoning_block(size * 9 // 10) + payload(size // 10), payload(size // 10)),
    "90 % reasoning with mark-up, fenced": lambda size: (
        marked_up(size * 9 // 10) + fenced(payload(size // 10)),
        payload(size // 10),
    ),
    "cut": lambda size: (_cut(payload(size)), payload(size)),
    "cut behind prose": lambda size: (f"Here is the plan: {_cut(payload(size))}", payload(size)),
}
"""By name; the size is that of the whole response if it contains reasoning, else of the payload."""


# -- clocks --------------------------------------------------------------------------------------------------------


def in_turns(*calls: Call, rounds: int = ROUNDS) -> list[float]:
    """Return the best time of each call in seconds; the calls alternate in every round."""
    clock = (
        time.process_time if rounds == 1 else time.perf_counter
    )  # long runs are always interrupted by other processes
    counts = []
    for call in calls:
        call()
        start = clock()
        call()
        counts.append(max(1, math.ceil(SHORTEST / max(clock() - start, 1e-7))))
    best = [math.inf] * len(calls)
    for _ in range(rounds):
        for number, (call, count) in enumerate(zip(calls, counts, strict=True)):
            start = clock()
            for _ in range(count):
                call()
            best[number] = min(best[number], (clock() - start) / count)
    return best


def failing(raw: str | bytes, type: type[Answer], stop: StopReason) -> None:
    """Decode a response without a value."""
    try:
        DECODER.decode(raw, type, stop)
    except DecodeFailed:
        return
    raise AssertionError("a truncated response was read")


# -- tables --------------------------------------------------------------------------------------------------------


def forms() -> str:
    """Return ratio and additional time for every form and size."""
    floor_of = msgspec.json.Decoder(Answer).decode
    lines = ["| form | " + " | ".join(f"{size / 1000:g} KB" for size in SIZES) + " |", "|---" * (len(SIZES) + 1) + "|"]
    for name, form in FORMS.items():
        cells = []
        for size in SIZES:
            raw, text = form(size)
            bare = text.encode() if isinstance(raw, bytes) else text
            floor, ours = in_turns(
                partial(floor_of, bare),
                partial(failing if name.startswith("cut") else DECODER.decode, raw, Answer, StopReason.END_TURN),
            )
            cells.append(f"{ours / floor:.2f} ({(ours - floor) * 1e6:+.1f} µs)")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def others() -> str:
    """Return the times of failed decodes and of other operations."""
    text = payload(3_000)
    tag = ReasoningTag(name="muse", open="<muse>", close=("</muse>",), has_attributes=True)
    step = DecodeStep(name="nothing", candidates=lambda _: ())
    more = Decoder([*reasoning.helmdeck_reasoning_tags(), tag], [*json_repair.helmdeck_decode_steps(), step])
    less, extra = in_turns(*(partial(decoder.decode, text, Answer) for decoder in (DECODER, more)))
    lines = ["| what | measured |", "|---|---|"]
    lines.append(f"| a tag and a step more that are not needed, clean 3 KB | {extra / less:.2f} x the time without |")
    for name, is_inside in (("outside", False), ("inside", True)):
        lines.append(f"| stream, a chunk of a word {name} a block | {_per_chunk(is_inside=is_inside) * 1e6:.2f} µs |")
    for name, chunk in (("`<`", "<"), ("`<think`", "<think"), ("`<think>`", "<think>")):
        half, whole = (_stream_seconds(chunk, size) for size in (500_000, 1_000_000))
        lines.append(f"| stream, 1 MB of {name} | {whole * 1e3:.0f} ms, {whole / half:.1f} x those of half of it |")
    broken = _broken(60_000)
    [seconds] = in_turns(partial(DECODER.decode, broken, Answer), rounds=5)
    lines.append(f"| broken 60 KB: quotes, commas, comments, constants | {seconds * 1e3:.0f} ms |")
    return "\n".join(lines)


def _per_chunk(*, is_inside: bool) -> float:
    words = [f"{word} " for word in prose(random.Random(3), 20_000).split()]

    def feed() -> None:
        stream = DECODER.stream()
        stream.feed("<think>" if is_inside else "So: ")
        for word in words:
            stream.feed(word)

    return in_turns(feed, rounds=20)[0] / len(words)


def _stream_seconds(piece: str, size: int) -> float:
    text = (piece * (size // len(piece) + 1))[:size]

    def feed() -> None:
        stream = DECODER.stream()
        for start in range(0, size, 5):
            stream.feed(text[start : start + 5])
        stream.finish()

    return in_turns(feed, rounds=1)[0]


def _broken(size: int) -> str:
    text = payload(size).replace('"', "'").replace("true", "True").replace("}}", "},}").replace("false", "False")
    return text.replace("'order'", "/* the place */ 'order'", 40)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, help="page with the two markers around the tables")
    arguments = parser.parse_args()
    text = f"{forms()}\n\n{others()}"
    print(text)
    if arguments.write:
        write_between(arguments.write, "speed", text)


if __name__ == "__main__":
    main()
