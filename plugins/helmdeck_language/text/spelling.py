"""Finds known words that differ from an unknown one by one typing mistake."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

# Shorter words have too many neighbours; a replaced letter needs one letter more than a missing one.
_MIN_LETTERS: Final = 4
_MIN_LETTERS_REPLACED: Final = 5
# Size limit of the cache.
_MAX_KNOWN: Final = 10_000


class Speller:
    """Words by first letter and length.

    >>> from helmdeck_language import Speller
    >>> Speller(["translate", "transcript"]).correct("transalte")
    'translate'
    """

    def __init__(self, words: Iterable[str]) -> None:
        self._words: dict[tuple[str, int], list[str]] = defaultdict(list)
        for word in sorted({word for word in words if len(word) >= _MIN_LETTERS - 1 and word.isalpha()}):
            self._words[word[0], len(word)].append(word)
        self._known: dict[str, str | None] = {}

    def correct(self, word: str) -> str | None:
        """Return a known word that differs by one missing, additional, replaced or swapped letter, never the first."""
        if word not in self._known:
            if len(self._known) > _MAX_KNOWN:
                self._known.clear()
            self._known[word] = self._correct(word)
        return self._known[word]

    def _correct(self, word: str) -> str | None:
        size = len(word)
        other: str
        if size < _MIN_LETTERS or not word.isalpha():
            return None
        for other in self._words.get((word[0], size), ()):
            if is_swapped(word, other):
                return other
        for other in [*self._words.get((word[0], size + 1), ()), *self._words.get((word[0], size - 1), ())]:
            if _lacks_one(word, other):
                return other
        if size >= _MIN_LETTERS_REPLACED:
            for other in self._words.get((word[0], size), ()):
                if sum(a != b for a, b in zip(word, other, strict=True)) == 1:
                    return other
        return None


def is_swapped(word: str, other: str) -> bool:
    """Whether two words of equal length differ by two swapped neighbours."""
    places = [place for place, (a, b) in enumerate(zip(word, other, strict=True)) if a != b]
    return (
        len(places) == 2
        and places[1] == places[0] + 1
        and word[places[0]] == other[places[1]]
        and word[places[1]] == other[places[0]]
    )


def _lacks_one(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    if len(short) < _MIN_LETTERS - 1:
        return False
    place = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return short[place:] == long[place + 1 :]
