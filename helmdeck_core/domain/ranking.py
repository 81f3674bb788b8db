"""Ranking of catalog entries for a request."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol, overload

import attrs

from helmdeck_core.domain import EMPTY

CONFIDENCE = 0.4
"""Default of ``[selection] confidence``: a ranking below it is unsure."""


@attrs.frozen
class Score:
    """How well one entry matches a request.

    :ivar index: the entry's position in ``Catalog.entries``.
    :ivar score: higher is better, 0 is no match at all; the scale is the ranker's own.
    :ivar matched: matching terms as ``field:term``, strongest first, for explanation.
    """

    index: int
    id: str
    score: float
    matched: tuple[str, ...] = ()


class LazyScores(Sequence[Score]):
    """The scores of a whole catalog; each is created on first access.

    It keeps the order by itself, best first and ties by id, with every entry exactly once. Of ten thousand entries a
    selection looks at a dozen, so sorting them all, and saying of each what matched, would be most of the work.

    :param ids: the ids of all entries, by index.
    :param by_id: the indices of all entries in the order of their ids; computed when left out.
    :param found: scores above 0 by index; all other entries have 0.
    :param explain: says what matched for an index; called for an entry that is looked at.
    :raises ValueError: ``found`` has an index that no entry has, or a score that is not above 0.
    """

    def __init__(
        self,
        ids: Sequence[str],
        found: Mapping[int, float],
        explain: Callable[[int], tuple[str, ...]] | None = None,
        by_id: Sequence[int] | None = None,
    ) -> None:
        if found and not (min(found) >= 0 and max(found) < len(ids)):
            raise ValueError("an index that no entry of the catalog has")
        if found and not min(found.values()) > 0:
            raise ValueError("a score of an entry that was found is above 0")
        self._ids = ids
        self._found = found
        self._explain = explain
        self._by_id = by_id

    def leading(self, count: int) -> list[tuple[int, float]]:
        """Index and score of the best entries that match at all, at most ``count``."""
        ids, found = self._ids, self._found
        if count < len(found):
            # The score that the last of them has is found without ids: text is slow to compare, and ties are few.
            least = heapq.nlargest(count, found.values())[-1] if count else 0.0
            rows = [(-score, ids[index], index) for index, score in found.items() if score >= least]
        else:
            rows = [(-score, ids[index], index) for index, score in found.items()]
        return [(index, -negated) for negated, _, index in sorted(rows)[:count]]

    def raised(self, gains: Mapping[int, float], label: str) -> LazyScores:
        """The same with more for some entries, and with a label among what matched there."""
        found = {**self._found, **{index: self._found.get(index, 0.0) + gain for index, gain in gains.items()}}

        def explain(index: int) -> tuple[str, ...]:
            matched = self._explain(index) if self._explain and index in self._found else ()
            return (*matched, label) if index in gains else matched

        return LazyScores(self._ids, found, explain, self._by_id)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The indices of all entries, best first."""
        by_id = self._by_id or sorted(range(len(self._ids)), key=self._ids.__getitem__)
        best = [index for index, _ in self.leading(len(self._found))]
        return (*best, *(index for index in by_id if index not in self._found))

    def _head(self, count: int | None) -> Sequence[int]:
        """At least the first ``count`` of the order, without the rest where it is not needed."""
        if count is not None and 0 < count <= len(self._found):
            return [index for index, _ in self.leading(count)]
        return self.order

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, place: int) -> Score: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Score, ...]: ...

    def __getitem__(self, place: int | slice) -> Score | tuple[Score, ...]:
        if isinstance(place, slice):
            return tuple(map(self._score, self._head(place.stop)[place]))
        return self._score(self._head(place + 1)[place])

    def __iter__(self) -> Iterator[Score]:
        return map(self._score, self.order)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"LazyScores({len(self._found)} of {len(self)} match)"

    def _score(self, index: int) -> Score:
        score = self._found.get(index, 0.0)
        matched = self._explain(index) if self._explain and score else ()
        return Score(index, self._ids[index], score, matched)


@attrs.frozen
class Ranking:
    """Every entry of a catalog exactly once: best score first, ties by id.

    :ivar scores: a tuple, or ``LazyScores`` where catalogs are large.
    :ivar clauses: the parts of the request that were scored, for explanation.
    :ivar clause_best: indices of entries that some clause needs most; a selection keeps them while there is room.
    :ivar clause_confidence: for each part that asks for something of its own, how far its best entry stands out, by the
        formula of ``confidence``.
    """

    scores: Sequence[Score]
    clauses: tuple[str, ...] = ()
    clause_best: tuple[int, ...] = ()
    clause_confidence: tuple[float, ...] = ()

    def leading(self, count: int) -> Sequence[tuple[int, float]]:
        """Index and score of the best entries that match at all, at most ``count``."""
        if isinstance(self.scores, LazyScores):
            return self.scores.leading(count)
        return [(score.index, score.score) for score in self.scores[:count] if score.score > 0]

    @property
    def order(self) -> Sequence[int]:
        """The indices of all entries, best first."""
        return self.scores.order if isinstance(self.scores, LazyScores) else [score.index for score in self.scores]

    @property
    def confidence(self) -> float:
        """(best - second) / best, 0 to 1; 1 for a single entry or a runner-up without any match."""
        return 1.0 if len(self.scores) < 2 else score_margin([score for _, score in self.leading(2)])

    def is_confident(self, threshold: float = CONFIDENCE) -> bool:
        """Whether the best entry stands out. A single entry always does; no match at all among several never does."""
        if len(self.scores) < 2:
            return True
        return bool(self.leading(1)) and self.confidence >= threshold


def score_margin(best: Sequence[float]) -> float:
    """(best - second) / best of scores in falling order, 0 to 1; 0 without any, 1 without a second."""
    if not best or best[0] <= 0:
        return 0.0
    return (best[0] - best[1]) / best[0] if len(best) > 1 else 1.0


def top_k(scores: Sequence[Score], k: int) -> Sequence[Score]:
    """Return the first ``k``; everything when ``k`` is 0 or less, or at least the number of entries."""
    return scores if k <= 0 or k >= len(scores) else scores[:k]


def is_unsure(ranking: Ranking, threshold: float = CONFIDENCE) -> bool:
    """Whether a ranking of three entries or more has no clear winner."""
    return len(ranking.scores) >= 3 and not ranking.is_confident(threshold)


def should_escalate(ranking: Ranking, threshold: float = CONFIDENCE) -> bool:
    """Whether a second opinion on the ranking is worth a model call.

    An unsure ranking is, unless the request has several parts and each of them alone has a clear winner: then the best
    entries are close to each other because all of them are needed.
    """
    if not is_unsure(ranking, threshold):
        return False
    parts = ranking.clause_confidence
    return len(parts) < 2 or min(parts) < threshold


class RankIndex(Protocol):
    """The index of one catalog."""

    def rank(self, request: str) -> Ranking:
        """Rank the catalog for one request, deterministically. Never raises for any string."""
        ...


@attrs.frozen(kw_only=True)
class Ranker:
    """A way to order catalog entries.

    :ivar name: the value of ``[selection] ranker``.
    :ivar index: called once per catalog version and set of options, on the full metadata, with every option as a keyword
        argument; the result is kept and must be safe to share between threads.
    :ivar options: what a deployment can set under ``[selection.rankers.NAME]``, with the defaults; a value must be of its
        default's type: a text, a number or a truth value.
    """

    name: str
    index: Callable[..., RankIndex]
    summary: str = ""
    order: int = 0
    options: Mapping[str, str | bool | int | float] = EMPTY
