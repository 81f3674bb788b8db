"""Entries that other entries cannot do without: an id that only a look-up returns.

A tool that requires ``channel_id`` is no use to a request that names the channel, unless the tool that lists channels is
sent with it. The catalog shows this: the required parameter ends in a word such as ``id``, and the look-up has the words
before it in its name. An entry without a schema lists what it accepts; that may be optional, so only requests of a few
clauses get a look-up for it: longer ones state their values and their steps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
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
_FEW_CLAUSES: Final = 3
LABEL: Final = "companion of "


class Companions:
    """The look-ups of a catalog. They are found when an entry that needs one is ranked first; thread-safe."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._found: dict[int, Sequence[tuple[str, int]]] = {}

    def add(self, ranking: Ranking, request: str) -> Ranking:
        """Return a ranking in which the look-ups of the best entries are close behind them."""
        found = ranking.scores
        is_short = len(ranking.clauses) <= _FEW_CLAUSES
        if not self._needs_look_ups[is_short] or not isinstance(found, LazyScores):
            return ranking
        scores: dict[int, float] = {}
        has_digit = _DIGIT.search(request) is not None
        for index, score in found.leading(_ENTRIES):
            for parameter, look_up in self._companions_of(index, is_short=is_short):
                # A request with digits states a number itself.
                if has_digit and parameter.lower().endswith(_NUMBERED):
                    continue
                scores = scores or dict(found.matches)
                missing = _SHARE * score - scores.get(look_up, 0.0)
                if missing > 0:
                    scores[look_up] = _SHARE * score
                    found = found.raised({look_up: missing}, f"{LABEL}{self._entries[index].id}")
        return ranking if found is ranking.scores else attrs.evolve(ranking, scores=found)

    @cached_property
    def _needs_look_ups(self) -> tuple[bool, bool]:
        """Whether any entry requires an id; the same for a short request."""
        with_schema, short = (
            any(_noun(name) for entry in self._entries for name in _needs(entry, is_short=is_short))
            for is_short in (False, True)
        )
        return with_schema, short

    def _companions_of(self, index: int, *, is_short: bool) -> Sequence[tuple[str, int]]:
        """The parameters of an entry that a look-up returns, each with that look-up."""
        found = self._found.get(index)
        if found is None:
            found = self._found[index] = tuple(
                (name, look_up)
                for name in _needs(self._entries[index], is_short=True)
                if (noun := _noun(name)) and (look_up := self._look_up(index, name, noun)) is not None
            )
        return found if is_short or self._entries[index].input_schema is not None else ()

    def _look_up(self, index: int, parameter: str, noun: str) -> int | None:
        """The entry that most likely returns a parameter; ``None`` without any."""
        candidates = [
            each
            for each in self._look_ups.get(noun, ())
            if each != index and parameter not in _needs(self._entries[each], is_short=True)
        ]
        return min(candidates, key=lambda each: self._distance(index, each), default=None)

    @cached_property
    def _look_ups(self) -> Mapping[str, Sequence[int]]:
        """The entries with a verb of looking up in their names, by the other words of the names."""
        found: dict[str, list[int]] = {}
        for index, entry in enumerate(self._entries):
            name = _stems(entry.id)
            if not _VERBS.isdisjoint(name):
                for word in name - _VERBS:
                    found.setdefault(word, []).append(index)
        return found

    def _distance(self, index: int, other: int) -> tuple[bool, int, int, int, str]:
        """How unlikely a look-up is the one of an entry: of another server, with another prefix, with another verb."""
        entry, look_up = self._entries[index], self._entries[other]
        name = _stems(look_up.id)
        verb = min(_LOOK_UPS.index(word) for word in _LOOK_UPS if stem(word) in name)
        return entry.source != look_up.source, -len(name & _stems(entry.id)), verb, len(name), look_up.id


def _stems(name: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(split_identifier(name)))


def _noun(parameter: str) -> str:
    """The stem of what a parameter identifies, ``channel`` of ``channel_id``; empty if it identifies nothing."""
    *before, key = words(split_identifier(parameter)) or [""]
    return stem(before[-1]) if before and key in _KEYS else ""


def _needs(entry: Entry, *, is_short: bool) -> tuple[str, ...]:
    """The required parameters of an entry; for a short request those that it accepts if it has no schema."""
    schema = entry.input_schema
    if schema is None and not is_short:
        return ()
    names = entry.metadata.get("accepts") if schema is None else schema.get("required")
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, (list, tuple)) else ()


_VERBS: Final = frozenset(map(stem, _LOOK_UPS))
