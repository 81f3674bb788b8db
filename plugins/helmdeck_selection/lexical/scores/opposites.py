"""Entries whose names differ in one word of opposite meaning, such as "light_on" and "light_off".

These words are no search terms, since most requests have them as prepositions. So both entries match alike, and the one with the word
of the request is put before the other one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import attrs

from helmdeck_core import Entry, LazyScores, Ranking
from helmdeck_language import WordFile
from helmdeck_selection.lexical.index.fields import name_words

_PAIRS: Final = tuple(tuple(pair.split()) for pair in WordFile.beside(__file__, "opposites.toml").lines("pairs"))
# The best entries that are compared with their opposites, and the lowest share of the score that an opposite has.
_LEADERS: Final = 12
_CLOSE: Final = 0.5
# The lead of an entry over its opposite, relative to the score.
_LEAD: Final = 1e-3
LABEL: Final = "named word"


class _Opposite(NamedTuple):
    """The word that an entry lacks, the place of the entry that has it, and the word of the entry itself."""

    place: int
    word: str
    own: str


class Opposites:
    """The pairs of opposite entries of a catalog. They are found at the first ranking; thread-safe."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def add(self, ranking: Ranking, words: Collection[str]) -> Ranking:
        """Return a ranking in which the entry that has the word of the request precedes its opposite.

        :param words: the folded words of the request.
        """
        found, opposites = ranking.scores, self._opposites
        if not opposites or not isinstance(found, LazyScores):
            return ranking
        gains: dict[int, float] = {}
        for index, score in ranking.leading(_LEADERS):
            other = opposites.get(index)
            if other is None or other.word not in words or (other.own in words and _is_second(other.word)):
                continue
            least = found.matches.get(other.place, 0.0)
            if _CLOSE * score <= least <= score:
                gains[other.place] = score * (1 + _LEAD) - least
        return attrs.evolve(ranking, scores=found.raised(gains, LABEL)) if gains else ranking

    @cached_property
    def _opposites(self) -> Mapping[int, _Opposite]:
        """The opposite of each entry that has one."""
        by_words = {" ".join(name_words(entry)): index for index, entry in enumerate(self._entries)}
        found: dict[int, _Opposite] = {}
        for text, index in by_words.items():
            names = text.split()
            for first, second in _PAIRS:
                for word, own in ((first, second), (second, first)):
                    if names.count(own) == 1:
                        other = by_words.get(" ".join(word if name == own else name for name in names))
                        if other is not None:
                            found[index] = _Opposite(other, word, own)
        return found


def _is_second(word: str) -> bool:
    """Whether a word does not count beside its opposite."""
    return any(word == second for _, second in _PAIRS)
