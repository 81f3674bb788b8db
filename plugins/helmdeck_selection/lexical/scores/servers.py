"""Entries of one server lift each other: a request with a step on a server often has further ones there.

"Send the boarding pass from Gmail to Marta" needs ``gmail_search_emails``, which no word asks for, beside
``gmail_download_attachment``. A server is the first word of the name where several entries share it, else the source, else a
run of entries that share rare words with their neighbours, in catalogs that list the tools of a server together.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import attrs

from helmdeck_core import Entry, LazyScores, Ranking
from helmdeck_language import VERBS

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_MIN_ENTRIES: Final = 3
# A larger share of the catalog distinguishes nothing.
_MAX_SHARE: Final = 1 / 3
# "image" is no server where "resize_image" and "describe_image" are as common as "image_resize": the largest share of names with
# the word elsewhere.
_ELSEWHERE: Final = 0.25
# A rare word is one of at most this share of the entries, within these limits; neighbours of a run share two, and at most one entry
# between two neighbours does not. Where fewer entries than a third are in runs, the catalog has another order.
_RARE_SHARE, _LEAST_RARE, _MOST_RARE = 0.1, 6, 20
_SHARED_WORDS: Final = 2
_MIN_IN_RUNS: Final = 1 / 3
# The first words of a name that may be a verb of looking up.
_VERB_WORDS: Final = 3
_LOOK_UPS: Final = frozenset("search list find lookup query browse resolve".split())
# The entries that lift others of their server, and the lowest share of the best score that they have.
_LEADERS: Final = 12
_CLOSE: Final = 0.4
# Gain of an entry, relative to the best score, for each other entry of its server, weighted by its share; more for look-ups, which are
# the steps that requests do not name. More than one and a half entries bring no more.
_GAIN, _LOOK_UP_GAIN = 0.1, 0.05
_MOST: Final = 1.5
LABEL: Final = "same server"


class _Servers(NamedTuple):
    """The server of each entry that has one, the matching entries of each server, and the look-ups."""

    of: Mapping[int, str]
    members: Mapping[str, Sequence[int]]
    look_ups: frozenset[int]


class Servers:
    """The servers of a catalog. They are found at the first ranking; thread-safe.

    :param postings: the entries of each term.
    """

    def __init__(self, entries: Sequence[Entry], postings: Mapping[str, Collection[int]]) -> None:
        self._entries = entries
        self._postings = postings

    def add(self, ranking: Ranking) -> Ranking:
        """Return a ranking in which entries that match are lifted by the best entries of the same server.

        A sure ranking for a request of one part stays as it is: most such requests need no other entry.
        """
        found = ranking.scores
        leading = ranking.leading(_LEADERS)
        if not isinstance(found, LazyScores) or len(leading) < 2:
            return ranking
        if len(ranking.clauses) < 2 and ranking.is_confident():
            return ranking
        servers, best = self._servers, leading[0][1]
        shares: dict[str, dict[int, float]] = {}
        for index, score in leading:
            if score >= _CLOSE * best and (server := servers.of.get(index)) is not None:
                shares.setdefault(server, {})[index] = score / best
        gains: dict[int, float] = {}
        for server, of in shares.items():
            total = sum(of.values())
            for index in servers.members[server]:
                others = min(_MOST, total - of.get(index, 0.0))
                if others > 0 and index in found.matches:
                    gains[index] = best * others * (_GAIN + _LOOK_UP_GAIN * (index in servers.look_ups))
        return attrs.evolve(ranking, scores=found.raised(gains, LABEL)) if gains else ranking

    @cached_property
    def _servers(self) -> _Servers:
        entries, most = self._entries, len(self._entries) * _MAX_SHARE
        names = [[word.lower() for word in _WORD.findall(entry.id)] or [""] for entry in entries]
        first = Counter((entry.source, name[0]) for entry, name in zip(entries, names, strict=True))
        leading = Counter(name[0] for name in names)
        elsewhere = Counter(word for name in names for word in set(name[1:]) - {name[0]})
        sources = Counter(entry.source for entry in entries)
        runs = _runs(len(entries), self._postings)
        of: dict[int, str] = {}
        members: dict[str, list[int]] = defaultdict(list)
        for index, (entry, name) in enumerate(zip(entries, names, strict=True)):
            word = name[0]
            if (
                _MIN_ENTRIES <= first[entry.source, word] <= most
                and word not in VERBS
                and elsewhere[word] <= _ELSEWHERE * leading[word]
            ):
                of[index] = f"{entry.source} {word}"
            elif len(sources) > 2 and sources[entry.source] <= most:
                of[index] = entry.source
            elif index in runs:
                of[index] = f"run {runs[index]}"
        for index, server in of.items():
            members[server].append(index)
        look_ups = (index for index in of if not _LOOK_UPS.isdisjoint(names[index][:_VERB_WORDS]))
        return _Servers(of, members, frozenset(look_ups))


def _runs(count: int, postings: Mapping[str, Collection[int]]) -> Mapping[int, int]:
    """Return the number of the run of each entry that is in one; empty for a catalog that does not list servers together."""
    most = max(_LEAST_RARE, min(_MOST_RARE, count * _RARE_SHARE))
    shared: Counter[tuple[int, int]] = Counter()
    for found in postings.values():
        if 2 <= len(found) <= most:
            shared.update((place, place + gap) for place in found for gap in (1, 2) if place + gap in found)
    runs: list[int] = []
    for index in range(count):
        before = runs[-1] if runs else 0
        is_next = shared[index - 1, index] >= _SHARED_WORDS
        is_next = is_next or (runs[-2:] == [before, before] and shared[index - 2, index] >= _SHARED_WORDS)
        runs.append(before if is_next else index)
    sizes = Counter(runs)
    found_runs = {index: run for index, run in enumerate(runs) if sizes[run] >= _MIN_ENTRIES}
    return found_runs if len(found_runs) >= count * _MIN_IN_RUNS else {}
