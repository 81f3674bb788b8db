"""Decode times of 300 hostile texts of 25 KB: how many take more than 10 ms.

    python -m benchmarks.hostile_texts                    # prints the count and the slowest texts
    python -m benchmarks.hostile_texts --write PAGE.md    # also writes the count to a page

A text repeats short units: brackets, quotes, tags, fences, comments and fragments of valid and broken JSON, on their own, in
turns, or as the content of one large object. The best CPU time of five runs counts.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.inputs import Answer
from benchmarks.pages import write_between
from helmdeck_core import DecodeFailed, StopReason
from helmdeck_testing.deck_factory import make_deck

DECODER = make_deck().runtime.decoder
CHARS, COUNT, LIMIT_MS, ROUNDS = 25_000, 300, 10.0, 5

MARKS = (
    *("<think>", "</think>", "<think", "</think", "<think ", "<think>a</think>", "<think/>", "[THINK]", "[/THINK]", "</b>", "<b>"),
    *("<|", "<|x|>", "<|start|>", "<|x_start|>", "<|x_start|>a<|x_end|>", "<|/x|>", "<|channel|>analysis<|message|>", "<|end|>"),
    *("assistantfinal", "◁think▷", "&lt;think&gt;", "Here is ", "Here is my thought process:", "a", "<", "<a b='{'>"),
)  # fmt: skip
SYNTAX = (
    *("{", "[", "}", "]", "{}", "[]", "[[", "{{", "}}", '"', "'", "`", "\\", "“", "”", "“a”", "&quot;", "｛", "＂", "\\\"", '\\"{'),
    *("{x} ", '{"a":1} ', '{"a":x} ', "{a:1} ", "{'a':1} ", '{"a":', '{"a":"', '{"a":"\\', "[1] ", "[1,", "{“a”:“b”}", "{&quot;"),
    *("```", "```json\n", "```json\n{}\n```\n", "``", "` ", "/*", "//", "# ", "//{\n", "#{\n", "{/*", "{//\n", "> {\n", "- a\n"),
    *("[',", "[{'", '{"a":[', '"{', '"{\\"', "{'", "{'a':'", '{"a":True}', '{"a":1,}', '{"a" "b"}', '{"a":1 "b":2}', "[1 2]"),
    *('{"a":"x"y"}', '"x" ', "'x' ", "{\u200b", "\u200b", "\x00", "\ud800", "\\n", "\t", "\n\n", " ", "é", "🫐", "\\u0022", "{$a:1}"),
)  # fmt: skip
ITEMS = (
    *("'a'", '"a"', '"x"y"', '"a" ', "True", "None", "nul", "01", "1.", "+1", ".5", "1_000", "NaN", "1e999", "-", "x", "“a”", "&quot;a&quot;"),
    *("{a:1}", "{'a':1}", '{"a":1,}', "{“a”:1}", "{{}}", "[,]", "[1 2]", "/*c*/1", "1//c\n", "1#c\n", "\u200b1", '"\\d"', '"\\x41"', '"\\n\\d"'),
    *('"\n"', '"\t"', "'it\\'s'", "'\"'", '"<think>"', "<think>", "</think>", "```", "｛｝", '"a\\"', "...", "{}{}", '"a" "b"', "\\n1"),
)  # fmt: skip


def texts() -> Iterator[str]:
    """The texts, the same in every run."""
    rng = random.Random(14)
    units = (*MARKS, *SYNTAX)
    yield from (_repeated(unit) for unit in units)
    for item in ITEMS:
        yield f"[{_repeated(f'{item}, ')}1]"
        yield f'Here: {{"a": [{_repeated(f"{item}, ")}1], "b": x y}}'
        pairs = _repeated(f'"k": {item}, ')
        yield f'{{{pairs}"l": 1}}'
    for _ in range(COUNT - len(units) - 3 * len(ITEMS)):
        first, second, third = rng.choice(units), rng.choice(units), rng.choice((*units, *ITEMS))
        yield rng.choice(
            (
                _repeated(first + second),
                _repeated(first + third + second),
                _repeated(first)[: CHARS // 2] + _repeated(second)[: CHARS // 2],
                first + _repeated(third) + second,
            )
        )


def _repeated(unit: str) -> str:
    return unit * (CHARS // len(unit))


def milliseconds(text: str, kind: type[Any]) -> float:
    """CPU time of one decode."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        with contextlib.suppress(DecodeFailed):
            DECODER.decode(text, kind, StopReason.END_TURN)
        best = min(best, (time.process_time() - start) * 1e3)
        if best < LIMIT_MS / 2:
            break
    return best


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slowest", type=int, default=8, help="texts to print for each type")
    parser.add_argument("--write", type=Path, help="page with the two markers around the table")
    arguments = parser.parse_args()
    rows = ["| decoded to | texts over 10 ms | slowest |", "|---|--:|--:|"]
    for name, kind in (("an object with fields", Answer), ("any object", dict), ("a list", list)):
        times = sorted(((milliseconds(text, kind), text) for text in texts()), reverse=True)
        slow = sum(taken > LIMIT_MS for taken, _ in times)
        rows.append(f"| {name} | {slow} of {len(times)} | {times[0][0]:.1f} ms |")
        for taken, text in times[: arguments.slowest]:
            print(f"{taken:7.1f} ms  {text[:40]!r} ... {text[-24:]!r}")
    print("\n".join(rows))
    if arguments.write:
        write_between(arguments.write, "hostile texts", "\n".join(rows))


if __name__ == "__main__":
    main()
