"""Entries that read, for requests that ask what is the case: "what time are my alarms set for" needs no entry that sets one.

The words of both are the same, so an entry that reads precedes the best one if it matches nearly as well.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Final

import attrs

from helmdeck_core import Entry, LazyScores, Ranking
from helmdeck_language import ACTIONS, WRITING, Action, Translation, WordFile
from helmdeck_selection.lexical.index.fields import name_words

_FILE: Final = WordFile.beside(__file__, "questions.toml")
_ASKING: Final = frozenset(_FILE.words("asking"))
_READING: Final = frozenset(_FILE.words("reading"))
_CHANGING: Final = WRITING | {Action.RUN}
_MARKS: Final = ("?", "？", "؟")
# The best entries among which one that reads is looked for, and the lowest share of the best score that it has.
_LEADERS: Final = 6
_CLOSE: Final = 0.7
# The lead over the best entry, relative to the score.
_LEAD: Final = 1e-3
LABEL: Final = "question"


class Questions:
    """The entries of a catalog that read. Thread-safe."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._words = cache(lambda index: frozenset(name_words(entries[index])))

    def add(self, ranking: Ranking) -> Ranking:
        """Return the ranking of a question in which an entry that reads precedes one that changes something, if it is close."""
        found = ranking.scores
        best = ranking.leading(_LEADERS)
        if not best or not isinstance(found, LazyScores) or self._reads(best[0][0]) or not self._changes(best[0][0]):
            return ranking
        top = best[0][1]
        for index, score in best[1:]:
            if score >= _CLOSE * top and self._reads(index):
                return attrs.evolve(ranking, scores=found.raised({index: top * (1 + _LEAD) - score}, LABEL))
        return ranking

    def _reads(self, index: int) -> bool:
        return not _READING.isdisjoint(self._words(index))

    def _changes(self, index: int) -> bool:
        return _changes(self._words(index))


def is_asking(request: str, words: Sequence[str], translation: Translation | None) -> bool:
    """Whether a request asks what is the case.

    :param words: the folded words of the request.
    :param translation: a request in another language, of which only the question mark and the verbs are known.
    """
    if translation is None:
        return bool(words) and words[0] in _ASKING
    return request.rstrip().endswith(_MARKS) and not _changes(translation.words)


def _changes(words: Collection[str]) -> bool:
    return any(not ACTIONS.get(word, frozenset()).isdisjoint(_CHANGING) for word in words)
