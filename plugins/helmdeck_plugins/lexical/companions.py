"""Entries that other entries cannot do without: an id that only a look-up returns.

A tool that requires ``channel_id`` is no use to a request that names the channel, unless the tool that lists channels is
sent with it. The catalog shows this: the required parameter ends in a word such as ``id``, and the look-up has the words
before it in its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import attrs

from helmdeck_core import Entry, LazyScores, Ranking
from helmdeck_plugins.lexical.text import split_identifier, stem, words

_KEYS: Final = frozenset("id ids name number ts key ref uid uuid slug handle sha".split())
_LOOK_UPS: Final = ("list", "search", "find", "resolve", "lookup", "query", "get")
"""Verbs of look-ups, the most likely source of an id first."""
_NUMBERED: Final = "number"
_DIGIT: Final = re.compile(r"\d")
# The look-ups of the best entries alone: those of all entries displace more needed ones than they bring.
_ENTRIES: Final = 2
_SHARE: Final = 0.7
LABEL: Final = "companion of "


@attrs.frozen
class Companion:
    """A look-up that returns a required parameter.

    :ivar index: of the look-up.
    :ivar is_number: whether the parameter is a number, which a request with digits states itself.
    """

    index: int
    is_number: bool


class Companions:
    """The look-ups of a catalog by the entry that needs them."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._ids = [entry.id for entry in entries]
        self._of: dict[int, tuple[Companion, ...]] = {}
        needing = [index for index, entry in enumerate(entries) if any(map(_noun, _required(entry)))]
        if not needing:
            return
        names = [tuple(stem(word) for word in words(split_identifier(entry.id))) for entry in entries]
        look_ups: dict[str, list[int]] = {}
        for index, name in enumerate(names):
            if not _VERBS.isdisjoint(name):
                for word in set(name) - _VERBS:
                    look_ups.setdefault(word, []).append(index)
        for index in needing:
            found = tuple(_companions(index, entries, names, look_ups))
            if found:
                self._of[index] = found

    def add(self, ranking: Ranking, request: str) -> Ranking:
        """Return a ranking in which the look-ups of the best entries are close behind them."""
        found = ranking.scores
        if not self._of or not isinstance(found, LazyScores):
            return ranking
        scores = dict(found.leading(len(self._ids)))
        has_digit = _DIGIT.search(request) is not None
        for index, score in found.leading(_ENTRIES):
            for companion in self._of.get(index, ()):
                missing = _SHARE * score - scores.get(companion.index, 0.0)
                if missing > 0 and not (companion.is_number and has_digit):
                    found = found.raised({companion.index: missing}, f"{LABEL}{self._ids[index]}")
                    scores[companion.index] = _SHARE * score
        return ranking if found is ranking.scores else attrs.evolve(ranking, scores=found)


def _companions(
    index: int, entries: Sequence[Entry], names: Sequence[tuple[str, ...]], look_ups: Mapping[str, Sequence[int]]
) -> Iterable[Companion]:
    for parameter in _required(entries[index]):
        noun = _noun(parameter)
        candidates = [
            each for each in look_ups.get(noun, ()) if each != index and parameter not in _required(entries[each])
        ]
        if candidates:
            best = min(candidates, key=lambda each: _distance(entries, names, index, each))
            yield Companion(best, parameter.lower().endswith(_NUMBERED))


def _noun(parameter: str) -> str:
    """The stem of what a parameter identifies, ``channel`` of ``channel_id``; empty if it identifies nothing."""
    *before, key = words(split_identifier(parameter)) or [""]
    return stem(before[-1]) if before and key in _KEYS else ""


def _distance(
    entries: Sequence[Entry], names: Sequence[tuple[str, ...]], index: int, other: int
) -> tuple[bool, int, int, int, str]:
    """How unlikely a look-up is the one of an entry: of another server, with another prefix, with another verb."""
    verb = min(_LOOK_UPS.index(word) for word in _LOOK_UPS if stem(word) in names[other])
    shared = len(set(names[index]) & set(names[other]))
    is_other_source = entries[index].source != entries[other].source
    return is_other_source, -shared, verb, len(names[other]), entries[other].id


def _required(entry: Entry) -> tuple[str, ...]:
    required = (entry.input_schema or {}).get("required")
    return tuple(name for name in required if isinstance(name, str)) if isinstance(required, (list, tuple)) else ()


_VERBS: Final = frozenset(map(stem, _LOOK_UPS))
