"""Finds phrases of several words, and the words of catalogs that they stand for: "write down" for a note."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import Final

import attrs

from helmdeck_language.text.terms import stem, word_terms

# Words that may be between two parts of a phrase without being given: "write it down", "wake the kids up".
_BETWEEN: Final = frozenset(
    "a an the my your our his her its their some any this that these those it me us him them you all just".split()
)
_MOST_BETWEEN: Final = 2
# A part that stands for one to so many words.
_ANY: Final = "*"
_MOST_ANY: Final = 4
# Words that are written in two ways: "what's" and "what is".
_SHORT: Final = {"is": "s", "am": "m", "are": "re", "will": "ll", "would": "d"}
# Size limits of the cache of stems.
_MOST_CACHED: Final = 20_000
_LONGEST_CACHED: Final = 64
# The weight of every word of a catalog behind the first one.
_FURTHER: Final = 0.6


@attrs.frozen
class _Phrase:
    """The parts of a phrase behind the first one, and the terms that it stands for.

    :ivar number: its place among those with the same first word.
    :ivar needed: the words among the parts; hardly a request has all of them, whatever their order.
    """

    number: int
    parts: tuple[str, ...]
    terms: Mapping[str, float]
    needed: AbstractSet[str]


@attrs.frozen
class Match:
    """A phrase in a request.

    :ivar words: the words that are its parts.
    :ivar terms: the terms that it stands for, with their weights.
    """

    words: AbstractSet[str]
    terms: Mapping[str, float]


class PhraseBook:
    """Phrases by their first words.

    :param rows: words of catalogs with phrases; the parts of a phrase have a + between them.
    """

    def __init__(self, rows: Sequence[tuple[str, str]]) -> None:
        self._rows: dict[str, list[tuple[str, str]]] = {}
        self._known: dict[str, Mapping[str, Sequence[_Phrase]]] = {}
        firsts: dict[str, str] = {}
        for means, phrases in rows:
            for phrase in phrases.split():
                first, joint, _ = phrase.partition("+")
                if joint:
                    if first not in firsts:
                        firsts[first] = _parts((first,))[0]
                    self._rows.setdefault(firsts[first], []).append((phrase, means))

    def _beginning(self, word: str) -> Mapping[str, Sequence[_Phrase]]:
        """Return the phrases that start with a word, by one of their other words; empty for those without any.

        They are parsed at the first use, since a request has few of them.
        """
        found = self._known.get(word)
        if found is None:
            by_other: dict[str, list[_Phrase]] = {}
            for number, (phrase, means) in enumerate(self._rows[word]):
                _, *parts = _parts(phrase.split("+"))
                needed = frozenset(parts) - {_ANY}
                other = max(needed, key=lambda part: (len(part), part), default="")
                by_other.setdefault(other, []).append(_Phrase(number, tuple(parts), _weighted(means.split()), needed))
            found = self._known[word] = by_other
        return found

    def matches(self, found: Sequence[str]) -> list[Match]:
        """Return the phrases in folded words; one inside a longer one does not count."""
        spoken = _parts(found)
        firsts = [at for at, word in enumerate(spoken) if word in self._rows]
        if not firsts:
            return []
        present = {*spoken, ""}
        rows = [
            (at, phrase.number, frozenset(places), phrase.terms)
            for at in firsts
            for phrases in (self._beginning(spoken[at]),)
            for other in phrases.keys() & present
            for phrase in phrases[other]
            if phrase.needed <= present and (places := _places(phrase.parts, spoken, at))
        ]
        rows.sort(key=itemgetter(0, 1))
        return [
            Match(frozenset([spoken[place] for place in places]), terms)
            for *_, places, terms in rows
            if not any(places < others for *_, others, _ in rows)
        ]


def _weighted(means: Sequence[str]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for place, word in enumerate(means):
        for term in word_terms(word):
            found.setdefault(term, _FURTHER if place else 1.0)
    return found


def _parts(found: Sequence[str]) -> list[str]:
    """Return the stems of words, contractions as two words."""
    if "'" in "".join(found):
        found = [part for word in found for part in word.split("'") if part]
    return list(map(_PARTS.__getitem__, found))


class _Parts(dict[str, str]):
    """The stem of each word, and the word that a short form stands for; faster than the cache of ``stem``."""

    def __missing__(self, word: str) -> str:
        part = _SHORT.get(word) or stem(word)
        if len(word) <= _LONGEST_CACHED:
            if len(self) >= _MOST_CACHED:
                self.clear()
            self[word] = part
        return part


_PARTS: Final = _Parts()


def _places(parts: Sequence[str], spoken: Sequence[str], at: int) -> tuple[int, ...]:
    """Return the places of the words of a phrase that starts at a place; nothing if it does not follow."""
    places = [at]
    is_free = False
    for part in parts:
        if part == _ANY:
            is_free = True
            continue
        place = next(_candidates(part, spoken, places[-1] + 1, is_free=is_free), None)
        if place is None:
            return ()
        places.append(place)
        is_free = False
    return tuple(places)


def _candidates(part: str, spoken: Sequence[str], start: int, *, is_free: bool) -> Iterator[int]:
    for place in range(start + is_free, min(len(spoken), start + 1 + (_MOST_ANY if is_free else _MOST_BETWEEN))):
        if spoken[place] == part:
            yield place
        if not is_free and spoken[place] not in _BETWEEN:
            return
