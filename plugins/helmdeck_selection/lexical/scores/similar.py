"""Fuzzy matching of terms that are not in the catalog, such as "strology" for "astrology"."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import Final

from helmdeck_language import Lexicon

# Shorter words are similar by chance.
_MIN_LETTERS: Final = 5
# Shorter words have too many neighbours.
_MIN_LETTERS_SWAPPED: Final = 4
# Minimum Dice similarity of trigrams, and maximum number of matches.
_MIN_SIMILARITY: Final = 0.5
_MAX_MATCHES: Final = 3

# What a synonym of the corrected word counts.
_SYNONYM: Final = 0.4


class Spelling:
    """The terms of a catalog by their trigrams, and with the synonyms that it lacks, for terms that are in neither."""

    def __init__(self, vocabulary: Collection[str], lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._vocabulary = vocabulary
        self._known: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for term in vocabulary:
            if len(term) >= _MIN_LETTERS and term.isalpha():
                trigrams = _trigrams(term)
                for trigram in trigrams:
                    self._known[trigram].append((term, len(trigrams)))

    def alike(self, term: str) -> list[tuple[str, float]]:
        """Return the terms that an unknown one is a spelling of, with their similarity, 0 to 1; some may not be of the catalog."""
        return [*self._similar(term), *self._swapped(term)]

    def _similar(self, term: str) -> list[tuple[str, float]]:
        """The most similar terms; none for short terms and numbers."""
        if len(term) < _MIN_LETTERS or not term.isalpha():
            return []
        trigrams = _trigrams(term)
        shared = Counter(row for trigram in trigrams for row in self._known.get(trigram, ()))
        alike = ((2 * count / (len(trigrams) + size), other) for (other, size), count in shared.items())
        return [
            (other, share)
            for share, other in heapq.nlargest(_MAX_MATCHES, (row for row in alike if row[0] >= _MIN_SIMILARITY))
        ]

    def _swapped(self, term: str) -> list[tuple[str, float]]:
        """What a term with two swapped letters stands for, and its synonyms: ``emial`` for ``email`` and ``mail``.

        Trigrams of such words have too little in common. Words with a missing or replaced letter have enough, or are names:
        correcting those too loses four of 1,500 requests. A word with a known meaning is spelt right.
        """
        synonyms_of = self._lexicon.synonyms_of
        if term in synonyms_of or self._lexicon.everyday_meanings(term):
            return []
        swapped = (other for other in _swaps(term) if other in self._vocabulary or other in synonyms_of)
        meant = min(swapped, default=None)
        if meant is None:
            return []
        return [(meant, 1.0), *((other, _SYNONYM) for other in synonyms_of.get(meant, ()))]


def _swaps(term: str) -> Iterator[str]:
    """Yield a term with two different neighbours swapped, which are not its first letter: few mistakes are there."""
    if len(term) >= _MIN_LETTERS_SWAPPED and term.isalpha():
        for place in range(1, len(term) - 1):
            if term[place] != term[place + 1]:
                yield term[:place] + term[place + 1] + term[place] + term[place + 2 :]


def _trigrams(term: str) -> set[str]:
    bounded = f"^{term}$"
    return {bounded[place : place + 3] for place in range(len(term))}
