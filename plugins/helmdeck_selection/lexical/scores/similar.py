"""Fuzzy matching of terms that are not in the catalog, such as "strology" for "astrology"."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

# Shorter words are similar by chance.
_MIN_LETTERS: Final = 5
# Minimum Dice similarity of trigrams, and maximum number of matches.
_MIN_SIMILARITY: Final = 0.5
_MAX_MATCHES: Final = 3

Spelling = Mapping[str, Sequence[tuple[str, int]]]
"""Trigram to the terms that contain it, with their number of trigrams."""


def spelling(vocabulary: Iterable[str]) -> Spelling:
    """Index terms by their trigrams."""
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for term in vocabulary:
        if len(term) >= _MIN_LETTERS and term.isalpha():
            trigrams = _trigrams(term)
            for trigram in trigrams:
                found[trigram].append((term, len(trigrams)))
    return found


def spelt_alike(term: str, known: Spelling) -> list[tuple[str, float]]:
    """Return the most similar known terms with their similarity, 0 to 1; none for short terms and numbers."""
    if len(term) < _MIN_LETTERS or not term.isalpha():
        return []
    trigrams = _trigrams(term)
    shared = Counter(row for trigram in trigrams for row in known.get(trigram, ()))
    alike = ((2 * count / (len(trigrams) + size), other) for (other, size), count in shared.items())
    return [
        (other, share)
        for share, other in heapq.nlargest(_MAX_MATCHES, (row for row in alike if row[0] >= _MIN_SIMILARITY))
    ]


def _trigrams(term: str) -> set[str]:
    bounded = f"^{term}$"
    return {bounded[place : place + 3] for place in range(len(term))}
