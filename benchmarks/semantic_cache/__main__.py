"""Prints the hit rate on paraphrases and the false-hit rate on near misses of the semantic cache, by threshold.

The check of words was made with ``pairs.txt`` and every other pair of each kind of ``further_pairs.txt``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from helmdeck_cache_semantic import SemanticOptions
from helmdeck_cache_semantic.encoder import encode
from helmdeck_cache_semantic.facts import same_facts

FILES = [Path(__file__).with_name(name) for name in ("pairs.txt", "further_pairs.txt")]
THRESHOLDS = [round(0.60 + 0.025 * step, 3) for step in range(16)]


class Pair(NamedTuple):
    """Two questions.

    :ivar kind: ``same`` for a paraphrase; otherwise what differs.
    """

    kind: str
    first: str
    second: str
    score: float
    has_same_facts: bool


def read_pairs(path: Path) -> list[Pair]:
    """Return the pairs of a file with their similarity."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    rows = [tuple(each.strip() for each in line.split(" | ")) for line in lines]
    firsts, seconds = encode([row[1] for row in rows]), encode([row[2] for row in rows])
    scores = (firsts * seconds).sum(axis=1)
    return [
        Pair(row[0], row[1], row[2], float(score), same_facts(row[1], row[2]))
        for row, score in zip(rows, scores, strict=True)
    ]


def halves(pairs: Sequence[Pair]) -> tuple[list[Pair], list[Pair]]:
    """Return every other pair of each kind, and the rest."""
    even: list[Pair] = []
    odd: list[Pair] = []
    for kind in dict.fromkeys(pair.kind for pair in pairs):
        own = [pair for pair in pairs if pair.kind == kind]
        even += own[::2]
        odd += own[1::2]
    return even, odd


def rates(pairs: Sequence[Pair], threshold: float, *, checks: bool) -> tuple[int, int, int, int]:
    """Return hits and number of paraphrases, and false hits and number of near misses."""
    hits = [pair for pair in pairs if pair.score >= threshold and (pair.has_same_facts or not checks)]
    same = [pair for pair in pairs if pair.kind == "same"]
    found = sum(pair.kind == "same" for pair in hits)
    return found, len(same), len(hits) - found, len(pairs) - len(same)


def show(title: str, pairs: Sequence[Pair]) -> None:
    """Print a table by threshold."""
    print(f"\n{title}: {rates(pairs, 2, checks=True)[1]} paraphrases, {rates(pairs, 2, checks=True)[3]} near misses\n")
    print("| threshold | hits | false hits | hits, words checked | false hits, words checked |")
    print("|---:|---:|---:|---:|---:|")
    for threshold in THRESHOLDS:
        cells = []
        for checks in (False, True):
            found, same, false, other = rates(pairs, threshold, checks=checks)
            cells += [f"{found / same:.0%}", f"{false / other:.0%} ({false})"]
        print(f"| {threshold:.3f} | {' | '.join(cells)} |")


def main() -> None:
    """Print all tables."""
    found = [halves(read_pairs(path)) for path in FILES]
    for place, title in enumerate(("Every other pair of each kind", "Other half")):
        show(title, [pair for each in found for pair in each[place]])
    threshold = SemanticOptions().threshold
    for path, (_, other) in zip(FILES, found, strict=True):
        for checks in (False, True):
            hits, same, false, different = rates(other, threshold, checks=checks)
            name = "words checked" if checks else "similarity alone"
            print(f"\n{path.name}, other half, {name}: {hits} of {same} hits, {false} of {different} false hits")
            for kind in dict.fromkeys(pair.kind for pair in other if pair.kind != "same"):
                own = [pair for pair in other if pair.kind == kind]
                print(f"  {kind}: {rates(own, threshold, checks=checks)[2]} of {len(own)}")


if __name__ == "__main__":
    main()
