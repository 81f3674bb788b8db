"""Entries that other entries cannot do without: an id that only a look-up returns.

A tool that requires ``channel_id`` is no use to a request that names the channel, unless the tool that finds channels is
sent with it. The catalog shows this: the parameter ends in a word such as ``id``, and the look-up has the words before it in
its name, or near such a word in its description ("returns channel ids").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from string import digits
from typing import Final

import attrs

from helmdeck_core import Entry, LazyScores, Ranking
from helmdeck_language import split_identifier, stem, word_terms, words

_KEYS: Final = frozenset(
    "id ids key keys code codes identifier identifiers number ref token slug handle sha ts uid uuid guid".split()
)
_NUMBERED: Final = "number"
_COORDINATES: Final = frozenset("lat lon lng latitude longitude latlng coordinate coordinates".split())
# Words in front of a parameter that say nothing about what it identifies: "from_station_id".
_SIDES: Final = frozenset(
    "from to source target origin destination parent new old receiver sender departure arrival start end first second".split()
)
# "pmid", "jid" and "bvid" are ids of one word, and these are other words.
_ONE_WORD: Final = re.compile(r"[a-z]{1,6}ids?")
_NO_IDS: Final = frozenset(
    "paid said void avoid valid invalid grid bid mid kid solid rapid fluid liquid hybrid".split()
)
# Names of ids that do not say what they identify.
_NAMED_IDS: Final = frozenset("symbol ticker sku isbn issn iata iban vin".split())
_LOOK_UPS: Final = frozenset(stem(word) for word in "search find list lookup resolve query browse geocode".split())
_GET: Final = "get"
_ID_WORD: Final = re.compile(rf"(?i)\b(?:{'|'.join(sorted(_KEYS | _COORDINATES))}|[a-z]{{1,6}}ids?)\b")
_OF: Final = frozenset("of for".split())
_ARTICLES: Final = frozenset("a an the each every all".split())
_DIGIT: Final = re.compile(r"\d")
# The words before "id" that may say what it identifies, and the words after "id of".
_BEFORE, _AFTER = 2, 4
# How well an entry fits as a look-up: a description that promises the id, a name with the noun, a verb of looking up, "get" alone,
# no need of an id itself, the same server or prefix of the name, and each further word of the names that is the same.
_PROMISED, _NAMED, _MENTIONED, _VERB, _GETS, _ROOT, _SAME, _SHARED = 2.0, 1.0, 1.0, 1.0, 0.5, 0.5, 1.0, 0.3
_LEAST: Final = 2.0
# The look-ups of the best entries alone: those of all entries displace more needed ones than they bring.
_ENTRIES: Final = 6
_SHARE: Final = 0.7
# The best entries that lift those which need an id of theirs, the ranked entries that may be lifted, and the shares of both scores: a
# request names what is looked up, and often nothing of what is to be done with it.
_LOOK_UP_LEADERS: Final = 4
_DEPENDENTS: Final = 48
_LOOK_UP_SHARE, _OWN_SHARE = 0.5, 0.5
# In larger catalogs, reading so many entries takes 6 % of the time of a request.
_MAX_ENTRIES: Final = 1_000
# Longer requests state their values and their steps; what an entry without a schema accepts may be optional.
_FEW_CLAUSES: Final = 3
LABEL: Final = "companion of "
DEPENDENT_LABEL: Final = "needs "


class Companions:
    """The look-ups of a catalog. They are found when an entry that needs one is ranked first; thread-safe.

    :param containing: returns the entries that contain a term, by index.
    """

    def __init__(self, entries: Sequence[Entry], containing: Callable[[str], AbstractSet[int]]) -> None:
        self._entries = entries
        self._containing = containing
        self._found: dict[int, Sequence[tuple[str, int]]] = {}
        self._returning: dict[str, Mapping[int, float]] = {}

    def add(self, ranking: Ranking, request: str) -> Ranking:
        """Return a ranking in which the look-ups of the best entries are close behind them, and entries that need those of the best."""
        found = ranking.scores
        if not isinstance(found, LazyScores):
            return ranking
        is_short = len(ranking.clauses) <= _FEW_CLAUSES
        found = self._with_dependents(self._with_look_ups(found, request, is_short), is_short)
        return ranking if found is ranking.scores else attrs.evolve(ranking, scores=found)

    def _with_look_ups(self, found: LazyScores, request: str, is_short: bool) -> LazyScores:
        for index, score in found.leading(_ENTRIES):
            if not is_short and self._entries[index].input_schema is None:
                continue
            gains = {
                look_up: missing
                for parameter, look_up in self._look_ups_of(index)
                if (missing := _SHARE * score - found.matches.get(look_up, 0.0)) > 0
                # A request with digits states a number itself.
                and not (parameter.lower().endswith(_NUMBERED) and _DIGIT.search(request))
            }
            if gains:
                found = found.raised(gains, f"{LABEL}{self._entries[index].id}")
        return found

    def _with_dependents(self, found: LazyScores, is_short: bool) -> LazyScores:
        if len(self._entries) > _MAX_ENTRIES:
            return found
        leading = found.leading(_DEPENDENTS)
        best = dict(leading[:_LOOK_UP_LEADERS])
        gains: dict[int, dict[int, float]] = {}
        for index, score in leading:
            if not is_short and self._entries[index].input_schema is None:
                continue
            look_ups = [look_up for _, look_up in self._look_ups_of(index) if look_up in best]
            if look_ups:
                look_up = max(look_ups, key=best.__getitem__)
                missing = _LOOK_UP_SHARE * best[look_up] + _OWN_SHARE * score - score
                if missing > 0:
                    gains.setdefault(look_up, {})[index] = missing
        for look_up, of in gains.items():
            found = found.raised(of, f"{DEPENDENT_LABEL}{self._entries[look_up].id}")
        return found

    def producers(self, index: int, parameter: str) -> Sequence[tuple[int, float]]:
        """Return the entries that may return the value of a parameter, each with how well it fits, the best first.

        :param index: the entry that requires the parameter.
        """
        return tuple((each, -distance) for distance, *_, each in self._producers(index, parameter))

    def _look_ups_of(self, index: int) -> Sequence[tuple[str, int]]:
        """The parameters of an entry that a look-up returns, each with that look-up."""
        found = self._found.get(index)
        if found is None:
            needed = _needs(self._entries[index])
            looked_up = ((name, next(self._producers(index, name), None)) for name in needed)
            found = self._found[index] = tuple((name, first[-1]) for name, first in looked_up if first)
        return found

    def _producers(self, index: int, parameter: str) -> Iterator[tuple[float, int, str, int]]:
        """Yield the entries that may return the value of a parameter, the best first, behind what puts them in order."""
        noun = _identified(parameter)
        nouns = [noun] if noun else sorted(self._nouns_of(index)) if _is_bare(parameter) else []
        fits: dict[int, float] = {}
        for each in nouns:
            for other, fit in self._rows(each).items():
                if other != index:
                    fits[other] = max(fit, fits.get(other, 0.0))
        yield from sorted((*self._distance(index, other, fit), other) for other, fit in fits.items())

    def _nouns_of(self, index: int) -> frozenset[str]:
        return _nouns(words(split_identifier(self._entries[index].id)))

    def _rows(self, noun: str) -> Mapping[int, float]:
        rows = self._returning.get(noun)
        if rows is None:
            rows = self._returning[noun] = dict(self._fits(noun))
        return rows

    def _fits(self, noun: str) -> Iterator[tuple[int, float]]:
        """Yield the entries that may return the id of something, with how well they fit."""
        terms = _COORDINATE_TERMS if noun == _COORDINATE else (noun,)
        containing = frozenset(index for term in terms for index in self._containing(term))
        # "pmid" is a word for an id itself.
        for index in sorted(containing if _ONE_WORD.fullmatch(noun) else containing & self._candidates):
            entry = self._entries[index]
            own = {_identified(parameter) for parameter in _needs(entry)} - {""}
            if noun not in own:
                name = words(split_identifier(entry.id))
                is_look_up, gets = any(stem(word) in _LOOK_UPS for word in name), _GET in name
                fit = _worth(entry.description, name, noun, is_look_up=is_look_up)
                fit += (_VERB if is_look_up else _GETS if gets else 0.0) + (0.0 if own else _ROOT)
                if fit >= _LEAST:
                    yield index, fit

    @cached_property
    def _candidates(self) -> frozenset[int]:
        """The entries with a verb of looking up, or with a word such as "id"."""
        terms = {term for word in (*_KEYS, *_COORDINATES, _GET) for term in word_terms(word)} | _LOOK_UPS
        return frozenset(index for term in terms for index in self._containing(term))

    def _distance(self, index: int, other: int, fit: float) -> tuple[float, int, str]:
        entry, look_up = self._entries[index], self._entries[other]
        own, name = words(split_identifier(entry.id)), words(split_identifier(look_up.id))
        nouns, shared = _nouns(name), _nouns(name) & _nouns(own)
        has_prefix = own[:1] == name[:1] and not shared.isdisjoint(map(stem, name[:1]))
        fit += _SAME * (entry.source == look_up.source) + _SAME * has_prefix + _SHARED * len(shared)
        return -fit, len(nouns), look_up.id


def _worth(description: str, name: Sequence[str], noun: str, *, is_look_up: bool) -> float:
    """Return what the description and the name of an entry say for its returning the id of something."""
    # "get_users" looks users up, "get_user_settings" does not.
    tail = name if is_look_up or _GET not in name else name[-1:]
    # "list" is a verb of looking up, and what "get_lists" looks up.
    named = _NAMED * (noun in _nouns(tail) or (noun in _LOOK_UPS and noun == stem(name[-1]) and len(name) > 1))
    if _ID_WORD.search(description) is None:
        return named
    text = words(split_identifier(description))  # "gives fdcId"
    if noun in _promised(text):
        return named + _PROMISED
    return named + _MENTIONED * (is_look_up and noun in map(stem, text))


def _promised(text: Sequence[str]) -> Iterator[str]:
    """Yield what the ids in a description identify: the words before "id", those after "id of", and "pmid" itself."""
    for place, word in enumerate(text):
        if word in _KEYS:
            yield from map(stem, text[max(0, place - _BEFORE) : place])
            if place + 1 < len(text) and text[place + 1] in _OF:
                after = (other for other in text[place + 2 : place + 1 + _AFTER] if other not in _ARTICLES)
                yield stem(next(after, word))
        elif word in _COORDINATES:
            yield _COORDINATE
        elif _ONE_WORD.fullmatch(word):
            yield stem(word)


def _identified(parameter: str) -> str:
    """The stem of what a parameter identifies, ``channel`` of ``channel_id``; empty if it identifies nothing."""
    found = [word.rstrip(digits) for word in words(split_identifier(parameter))]
    *before, key = [word for word in found if word and word not in _SIDES] or [""]
    if key in _COORDINATES:
        return _COORDINATE
    if key in _KEYS:
        return stem(before[-1]) if before else ""
    if key.removesuffix("s") in _NAMED_IDS:
        return stem(key)
    return stem(key) if not before and _ONE_WORD.fullmatch(key) and key not in _NO_IDS else ""


def _is_bare(parameter: str) -> bool:
    """Whether a parameter is an id of what the name of its entry names: "id" of "get_recipe", "from_id" of "find_trains"."""
    found = words(split_identifier(parameter))
    return found[-1:] == ["id"] and _SIDES.issuperset(found[:-1])


def _nouns(name: Iterable[str]) -> frozenset[str]:
    return frozenset(map(stem, name)) - _LOOK_UPS - {_GET}


def _needs(entry: Entry) -> tuple[str, ...]:
    """The required parameters of an entry; those that it accepts if it has no schema."""
    schema = entry.input_schema
    names = entry.metadata.get("accepts") if schema is None else schema.get("required")
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, (list, tuple)) else ()


_COORDINATE: Final = stem("coordinates")
_COORDINATE_TERMS: Final = tuple(sorted({term for word in _COORDINATES for term in word_terms(word)}))
