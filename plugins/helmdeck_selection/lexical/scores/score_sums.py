"""How the scores of entries add up: which terms and entries are left out because they cannot change who is first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from helmdeck_selection.lexical.index.postings import Phrase

# Terms between two removals of entries.
_TERMS_AT_ONCE: Final = 8
# Factor for entries that match nothing but the verbs at the start of clauses: "open" alone is no "open a page".
_VERB_ALONE: Final = 0.5
# Share of the largest possible score of the remaining terms that an entry is expected to gain.
EXPECTED_GAIN: Final = 0.1

Row = tuple[float, str, float, Mapping[int, float]]
"""A term of a query: its largest possible score, the term, its weight, and its postings."""


def score_survivors(scores: dict[int, float], rows: Sequence[Row], leaders: int, floor: float) -> dict[int, float]:
    """Score only entries further that can still become leaders, fewer and fewer of them."""
    gain = EXPECTED_GAIN * sum([row[0] for row in rows])
    for start in range(0, len(rows), _TERMS_AT_ONCE):
        block = rows[start : start + _TERMS_AT_ONCE]
        count = len(scores)
        # Beside short postings, leaving entries out takes longer than scoring them.
        if count > 2 * leaders and sum([len(row[3]) for row in block]) > count:
            if start:
                floor = lowest_score(scores, leaders, floor)
            least = floor - gain
            scores = {index: score for index, score in scores.items() if score >= least}
        for row in block:
            gain -= EXPECTED_GAIN * row[0]
        score_known(scores, block)
    return scores


def terms_needed(rows: Sequence[Row], others: Sequence[Row], close: float) -> int:
    """Return the number of terms of which an entry has one if its score is close to the best one."""
    least, needed = close * rows[0][0] - sum([row[0] for row in others]), len(rows)
    while (least := least - rows[needed - 1][0]) > 0:
        needed -= 1
    return needed


def score_known(scores: dict[int, float], rows: Sequence[Row]) -> dict[int, float]:
    """Add the scores for further terms to those of the entries that have one."""
    known = scores.keys()
    for _, _, weight, found in rows:
        for index in found.keys() & known:
            scores[index] += weight * found[index]
    return scores


def lowest_score(scores: Mapping[int, float], count: int, floor: float) -> float:
    """Return the score of rank ``count``.

    :param floor: fast if a few more than ``count`` scores are not below it.
    """
    # Sorting the best of a few is much faster than sorting all.
    best = [score for score in scores.values() if score >= floor]
    return sorted(best if len(best) >= count else scores.values())[-count]


def score_verbs(scores: dict[int, float], rows: Sequence[Row], leaders: int) -> dict[int, float]:
    """Add the scores for verbs. Entries that match nothing else count less, and nothing where others are enough."""
    others, get = set(scores), scores.get
    score_known(scores, rows)
    for _, _, weight, found in rows if len(others) < leaders else ():
        for index in found.keys() - others:
            scores[index] = get(index, 0.0) + _VERB_ALONE * weight * found[index]
    return scores


def reward(scores: dict[int, float], phrases: Sequence[tuple[Phrase, float]]) -> None:
    """Add the worth of each entry's best phrase only: the phrases of an entry are alternatives."""
    best: dict[int, float] = {}
    for phrase, strength in phrases:
        best[phrase.entry] = max(best.get(phrase.entry, 0.0), phrase.worth * strength)
    for entry, worth in best.items():
        scores[entry] = scores.get(entry, 0.0) + worth
