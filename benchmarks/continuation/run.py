"""Truncates responses, simulates continuations, merges them and reports how often the original text is restored.

::

    python -m benchmarks.continuation.run                 # the table
    python -m benchmarks.continuation.run --show 20       # also the first misses
    python -m benchmarks.continuation.run --write         # the page docs/benchmarks/continuation.md
"""

from __future__ import annotations

import argparse
import collections
import difflib
import random
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from benchmarks.continuation import seam_table
from benchmarks.continuation.habits import HABITS, Cut, cuts
from benchmarks.continuation.joins import JOINS, MERGER
from benchmarks.continuation.payloads import KINDS, payloads
from benchmarks.continuation.seams import PARTS


class Score:
    """Sums over cases."""

    def __init__(self) -> None:
        self.cases = self.exact = self.lost = self.repeated = self.with_loss = 0
        self.seconds = 0.0

    def add(self, cut: Cut, merged: str, seconds: float) -> bool:
        """Count one case and return whether it is correct."""
        self.cases += 1
        self.seconds += seconds
        lost, repeated = difference(cut, merged)
        self.exact += not (lost or repeated)
        self.lost += lost
        self.with_loss += bool(lost)
        self.repeated += repeated
        return not (lost or repeated)


def difference(cut: Cut, merged: str) -> tuple[int, int]:
    """Return the number of lost and of duplicated characters."""
    full = cut.payload.text
    if merged == full:
        return 0, 0
    # A merge never changes the first part, so only the added text can differ; common suffixes are removed first.
    ours, whole = merged[cut.at :], full[cut.at :]
    end = 0
    while end < min(len(ours), len(whole)) and ours[-1 - end] == whole[-1 - end]:
        end += 1
    ours, whole = ours[: len(ours) - end], whole[: len(whole) - end]
    if not ours or not whole:
        return len(whole), len(ours)
    blocks = difflib.SequenceMatcher(None, whole[:3_000], ours[:3_000], autojunk=False).get_matching_blocks()
    same = sum(block.size for block in blocks)
    return len(whole) - same, len(ours) - same


Scores = dict[str, dict[tuple[str, str, bool], Score]]
PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "continuation.md"


def measure(joins: Sequence[str], show: int = 0, habit: str = "") -> Scores:
    """Score all merges over all cases, by kind, habit and ambiguity."""
    scores: Scores = {name: collections.defaultdict(Score) for name in joins}
    for payload in payloads():
        each = {"small": 12, "medium": 6, "large": 2}[payload.size]
        for cut in cuts(payload, each):
            for name in joins:
                start = time.perf_counter()
                merged = JOINS[name](cut.answer, cut.more)
                seconds = time.perf_counter() - start
                is_right = scores[name][payload.kind, cut.habit, cut.is_unique].add(cut, merged, seconds)
                if not is_right and cut.is_unique and show > 0 and name == joins[0] and habit in cut.habit:
                    show -= 1
                    print(f"{payload.kind}/{payload.size}, {cut.place}, {cut.habit}: {difference(cut, merged)}")
                    print(f"   ...{cut.answer[-60:]!r} + {cut.more[:160]!r}")
                    print(f"   found {merged[cut.at : cut.at + 60]!r}, expected {payload.text[cut.at : cut.at + 60]!r}")
    return scores


def total(parts: Iterable[Score]) -> Score:
    """Add scores."""
    whole = Score()
    for part in parts:
        for name in ("cases", "exact", "lost", "repeated", "with_loss", "seconds"):
            setattr(whole, name, getattr(whole, name) + getattr(part, name))
    return whole


Section = tuple[str, list[tuple[str, Score]]]
HEADINGS = ("", "cases", "exact %", "characters lost", "in cases", "characters duplicated", "us each")


def sections(scores: Scores) -> list[Section]:
    """Return the tables: all merges, then the first one by habit and by kind."""
    first = next(iter(scores))

    def among(name: str, matches: Callable[[str, str, bool], bool]) -> Score:
        return total(part for key, part in scores[name].items() if matches(*key))

    return [
        (
            "Cases with one right merge",
            [(name, among(name, lambda kind, _, unique: unique and kind != "refrain")) for name in scores],
        ),
        (
            "Exact continuation, refrains included: lost characters were removed by mistake",
            [(name, among(name, lambda _, habit, __: habit == "exact")) for name in scores],
        ),
        (
            "Cases with several possible merges",
            [(name, among(name, lambda _, __, unique: not unique)) for name in scores],
        ),
        (f"{first}, by habit", [(habit, among(first, _of_habit(habit))) for habit in HABITS]),
        (f"{first}, by kind of text", [(kind, among(first, _of_kind(kind))) for kind in KINDS if kind != "refrain"]),
    ]


def _of_habit(habit: str) -> Callable[[str, str, bool], bool]:
    return lambda kind, each, unique: unique and each == habit and kind != "refrain"


def _of_kind(kind: str) -> Callable[[str, str, bool], bool]:
    return lambda each, _, unique: unique and each == kind


def cells(label: str, score: Score) -> tuple[str, ...]:
    """Return a table row."""
    share = f"{100 * score.exact / max(1, score.cases):.2f}"
    each = f"{1e6 * score.seconds / max(1, score.cases):,.0f}"
    return (label, f"{score.cases:,}", share, f"{score.lost:,}", f"{score.with_loss:,}", f"{score.repeated:,}", each)


def growth() -> list[tuple[str, ...]]:
    """Measure one merge in milliseconds by response length, for a continuation that repeats everything."""
    rows: list[tuple[str, ...]] = []
    for length in (30_000, 60_000, 120_000, 240_000):
        text = KINDS["prose"](length + 2_000, random.Random(length))
        answer, again = text[:length], text
        best = min(timed(answer, again) for _ in range(5))
        plain = min(timed(answer, text[length:]) for _ in range(5))
        rows.append((f"{length:,}", f"{1e3 * best:.2f}", f"{1e3 * plain:.2f}"))
    return rows


def timed(answer: str, more: str) -> float:
    """Measure one merge in seconds."""
    start = time.perf_counter()
    MERGER.merge(answer, more)
    return time.perf_counter() - start


def page(
    tables: Sequence[Section],
    seams: Sequence[seam_table.Table],
    lengths: Sequence[tuple[str, ...]],
    paid: Sequence[tuple[str, ...]],
) -> str:
    """Return the documentation page."""
    parts = [PAGE_HEAD]
    for title, rows in tables:
        parts.append(f"## {title}\n\n{markdown(HEADINGS, [cells(*each) for each in rows])}")
    parts.append(SEAMS_HEAD)
    parts += [f"### {title}\n\n{markdown(headings, rows)}" for title, headings, rows in seams]
    parts.append(f"{LENGTHS_HEAD}\n\n{markdown(('characters', 'everything again, ms', 'exactly, ms'), lengths)}")
    parts.append(f"{PAID_HEAD}\n\n{markdown(PAID_HEADINGS, paid)}")
    return "\n\n".join(parts) + "\n"


def markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with right-aligned numbers."""
    lines = [headings, ["---", *(["--:"] * (len(headings) - 1))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


PAGE_HEAD = """# Continuation benchmark

<!-- Written by `python -m benchmarks.continuation.run --write`. -->

Responses of six kinds (prose, Markdown with fences and tables, code, a plan in JSON, a long list, mixed scripts) in three sizes
(1,000, 10,000 and 100,000 characters) are truncated at eleven kinds of places: inside a word, after a space, inside a number,
beside a bracket, before the end of a line and so on. A simulated model then continues with one of eight habits: exactly; with an
overlap of 1 to 600 characters; from the start of the word, the line, the block or the response; with an announcement first; with
other whitespace. A seventh kind repeats itself: songs, rows of zeros, closing braces.

Helmdeck is compared with hand-written merges: concatenation, stripping and joining with a space, the longest overlap anywhere, the
longest common block near the seam by `difflib`, and a comparison of the last line with the first.

*One right merge* means that the content determines the merge. It does not if an overlap has fewer than four characters, if a
truncated word has only one letter or contains digits, if the repeated part occurs twice in a row in the response or is one doubled
word, or if a text without spaces repeats fewer than six characters. Those cases are counted separately; nothing should be lost in
them either. Times are from the run that wrote the page and comparable between rows only."""

SEAMS_HEAD = """## Overlaps of 1 to 20 characters

Prose in thirteen languages (in two of them, without spaces between words), JSON, code, tables, lists and numbers are truncated at
random, and the continuation repeats the last 1 to 20 characters. The figures are right merges in percent; "with loss" counts merges
that lost text. No case is left out: in many cases of one to three characters nothing but the meaning decides ("201" and "14" may be
2014 or 20114), and a merge keeps the text then.

Exact continuations are the reverse: nothing is repeated, so whatever is removed is lost. They start at random places, at every place
where the text repeats its last one to twelve characters by itself ("nn", ", 0, 0"), and in texts that double a word or a sign on
purpose ("a very | very long night"). In the last table a response has three parts, and the second model has another habit of
continuing than the first one.

The held out texts are others, and their results were not looked at while the rules were written."""

LENGTHS_HEAD = """## Longer responses

Milliseconds per merge in the same run."""

PAID_HEAD = """## Cost of a whole response

The output limit is a half, a third or a fifth of the response, at four characters per token. The response is continued by
Helmdeck, by a hand-written merge, or requested again with twice the limit until it fits. "Tokens paid" is the number of output
tokens per token of the response. A response is exact only if every seam is right; the habits include overlaps of one to three
characters and words of one letter. Responses that are not exact contain a few duplicated characters."""

PAID_HEADINGS = ("", "answers", "exact %", "calls", "tokens paid")


def main() -> None:
    """Print the tables, or write the page."""
    from benchmarks.continuation import cost

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", type=int, default=0, help="print this many misses of the first join")
    parser.add_argument("--only", help="one join, by its name")
    parser.add_argument("--habit", default="", help="show misses of this habit alone")
    parser.add_argument("--write", action="store_true", help="write the page of the documentation")
    arguments = parser.parse_args()
    names = [arguments.only] if arguments.only else list(JOINS)
    tables = sections(measure(names, arguments.show, arguments.habit))
    if arguments.write:
        seams = [table for part in PARTS for table in seam_table.tables(part)]
        PAGE.write_text(page(tables, seams, growth(), cost.rows()), encoding="utf-8")
        return
    for title, rows in tables:
        print(f"\n{title}")
        for line in (HEADINGS, *(cells(*each) for each in rows)):
            print(f"{line[0]:28}" + "".join(f"{cell:>20}" for cell in line[1:]))


if __name__ == "__main__":
    main()
