"""Rankings of catalog entries by relevance to a request."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Protocol, TypeVar, overload

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.providers import ProviderSettings

T = TypeVar("T")

CONFIDENCE = 0.4
"""Default of ``[selection] confidence``: a ranking with a lower confidence is unsure."""
_FEW = 600


@attrs.frozen
class Score:
    """The relevance of one entry to a request.

    :ivar index: the entry's position in ``Catalog.entries``.
    :ivar score: higher is better, 0 is no match; each ranker has its own scale.
    :ivar matched: explanation as ``field:term`` strings, strongest first.
    """

    index: int
    id: str
    score: float
    matched: tuple[str, ...] = ()


class EntryIds(tuple[str, ...]):
    """The ids of all entries by index, with their order by id, which is computed once for all rankings.

    >>> from helmdeck_core import EntryIds
    >>> EntryIds(["b", "a"])[0]
    'b'
    """

    @cached_property
    def by_id(self) -> tuple[int, ...]:
        """The indices of all entries, sorted by id."""
        return tuple(sorted(range(len(self)), key=self.__getitem__))

    @cached_property
    def in_order(self) -> tuple[str, ...]:
        """The ids in order."""
        return tuple(map(self.__getitem__, self.by_id))

    @cached_property
    def places(self) -> tuple[int, ...]:
        """The place of every entry in ``by_id``."""
        return tuple(sorted(range(len(self)), key=self.by_id.__getitem__))


class LazyScores(Sequence[Score]):
    """The scores of a whole catalog, created on access: best first, ties by id, every entry once.

    A selection reads a dozen scores; sorting and explaining those of ten thousand entries would dominate its cost.

    :param ids: ids of all entries, by index; fast as ``EntryIds`` that several rankings share.
    :param found: scores above 0 by index; all other entries score 0.
    :param explain: returns ``Score.matched`` for an index; called on access.
    :raises ValueError: ``found`` contains an index out of range, or a score that is not above 0.
    :ivar matches: ``found``, in no order.

    >>> from helmdeck_core import EntryIds, LazyScores
    >>> scores = LazyScores(EntryIds(["a", "b", "c"]), {1: 4.0})
    >>> scores[0]
    Score(index=1, id='b', score=4.0, matched=())
    """

    def __init__(
        self, ids: Sequence[str], found: Mapping[int, float], explain: Callable[[int], tuple[str, ...]] | None = None
    ) -> None:
        if found and not (min(found) >= 0 and max(found) < len(ids)):
            raise ValueError("index out of range of the catalog")
        if found and not min(found.values()) > 0:
            raise ValueError("scores must be above 0")
        self._ids = ids if isinstance(ids, EntryIds) else EntryIds(ids)
        self.matches = found
        self._explain = explain
        self._first: list[tuple[int, float]] = []

    def leading(self, count: int) -> list[tuple[int, float]]:
        """Return index and score of the best matching entries, at most ``count``."""
        count = min(count, len(self.matches))
        if count > len(self._first):  # several steps of a ranking read the same ones
            self._first = self._leading(count)
        return self._first[:count]

    def _leading(self, count: int) -> list[tuple[int, float]]:
        matches = self.matches
        if count == len(matches):
            return [(index, matches[index]) for index in self._best()]
        # Find the lowest score without ids: comparing strings is slow, and ties are rare. A few are sorted faster than searched.
        values = matches.values()
        lowest = sorted(values)[-count] if len(values) < _FEW else heapq.nlargest(count, values)[-1]
        rows = [(-score, self._ids[index], index) for index, score in matches.items() if score >= lowest]
        return [(index, -negated) for negated, _, index in sorted(rows)[:count]]

    @cached_property
    def _places(self) -> list[int]:
        return sorted(map(self._ids.places.__getitem__, self.matches))

    def _best(self) -> list[int]:
        by_id = map(self._ids.by_id.__getitem__, self._places)
        return sorted(by_id, key=self.matches.__getitem__, reverse=True)

    def _and_others(self, best: list[T], values: Sequence[T]) -> tuple[T, ...]:
        """``best`` and, of one value per entry in the order of ids, those whose entry does not match."""
        for start, end in pairwise((-1, *self._places, len(values))):
            best += values[start + 1 : end]
        return tuple(best)

    def matched(self, index: int) -> tuple[str, ...]:
        """Return ``Score.matched`` of an entry."""
        return self._explain(index) if self._explain and index in self.matches else ()

    def raised(
        self, gains: Mapping[int, float], label: str | Callable[[int, tuple[str, ...]], tuple[str, ...]]
    ) -> LazyScores:
        """Return scores that are raised by ``gains``.

        :param gains: of entries by index, at least 0.
        :param label: added to ``matched`` of those entries, or a function of an index and its ``matched`` that returns the new one.
        """
        changed = {index: self.matches.get(index, 0.0) + gain for index, gain in gains.items()}

        def explain(index: int) -> tuple[str, ...]:
            labels = self.matched(index)
            if index not in changed:
                return labels
            return (*labels, label) if isinstance(label, str) else label(index, labels)

        raised = LazyScores(self._ids, changed, explain)
        raised.matches = {**self.matches, **changed}  # of which the others are valid already
        # An entry that is neither one of the first nor raised follows all of these.
        if len(changed) <= len(self._first):
            best = {index for index, _ in self._first} | changed.keys()
            rows = sorted((-raised.matches[index], self._ids[index], index) for index in best)
            raised._first = [(index, -negated) for negated, _, index in rows[: len(self._first)]]
        return raised

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The indices of all entries, best first."""
        return self._and_others(self._best(), self._ids.by_id)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all entries, best first."""
        return self._and_others([*map(self._ids.__getitem__, self._best())], self._ids.in_order)

    def _head(self, count: int | None) -> Sequence[int]:
        """Return at least the first ``count`` indices; all of them only if needed."""
        if count is not None and 0 < count <= len(self.matches):
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
        return f"LazyScores({len(self.matches)} of {len(self)} match)"

    def _score(self, index: int) -> Score:
        return Score(index, self._ids[index], self.matches.get(index, 0.0), self.matched(index))


@attrs.frozen
class Ranking:
    """The scores of all entries of a catalog: best first, ties by id, every entry once.

    :ivar scores: a tuple, or ``LazyScores`` for large catalogs.
    :ivar clauses: the scored parts of the request, for explanation.
    :ivar clause_best: indices of the best entries of single clauses; a selection prefers them while there is room.
    :ivar clause_confidence: confidence of each clause with a distinct purpose, by the formula of ``confidence``.
    :ivar notes: labels for the trim record, such as ``lexical.unknown_language``.
    :ivar is_reliable: whether the scores mean anything; the confidence of an unreliable ranking is 0.
    """

    scores: Sequence[Score]
    clauses: tuple[str, ...] = ()
    clause_best: tuple[int, ...] = ()
    clause_confidence: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()
    is_reliable: bool = True

    def leading(self, count: int) -> Sequence[tuple[int, float]]:
        """Return index and score of the best matching entries, at most ``count``."""
        if isinstance(self.scores, LazyScores):
            return self.scores.leading(count)
        return [(score.index, score.score) for score in self.scores[:count] if score.score > 0]

    @property
    def order(self) -> Sequence[int]:
        """The indices of all entries, best first."""
        return self.scores.order if isinstance(self.scores, LazyScores) else [score.index for score in self.scores]

    @property
    def ids(self) -> Sequence[str]:
        """The ids of all entries, best first."""
        return self.scores.ids if isinstance(self.scores, LazyScores) else [score.id for score in self.scores]

    @property
    def confidence(self) -> float:
        """(best - second) / best, 0 to 1; 1 for a single entry or a single match."""
        if len(self.scores) < 2:
            return 1.0
        return score_margin([score for _, score in self.leading(2)]) if self.is_reliable else 0.0

    def is_confident(self, threshold: float = CONFIDENCE) -> bool:
        """Whether the confidence reaches ``threshold``; always for a single entry, never for several without a match."""
        if len(self.scores) < 2:
            return True
        return bool(self.leading(1)) and self.confidence >= threshold


def score_margin(best: Sequence[float]) -> float:
    """(best - second) / best of scores in descending order, 0 to 1; 0 without a score, 1 for a single one.

    >>> from helmdeck_core import score_margin
    >>> score_margin([8.0, 6.0, 1.0])
    0.25
    """
    if not best or best[0] <= 0:
        return 0.0
    return (best[0] - best[1]) / best[0] if len(best) > 1 else 1.0


def is_unsure(ranking: Ranking, threshold: float = CONFIDENCE) -> bool:
    """Whether a ranking of three or more entries is below the confidence threshold."""
    return len(ranking.scores) >= 3 and not ranking.is_confident(threshold)


def should_escalate(ranking: Ranking, threshold: float = CONFIDENCE) -> bool:
    """Whether an unsure ranking justifies a filter call.

    It does not if the request has several clauses and each one alone is confident: then the best entries have similar
    scores because all of them are needed.
    """
    if not is_unsure(ranking, threshold):
        return False
    parts = ranking.clause_confidence
    return len(parts) < 2 or min(parts) < threshold


class RankIndex(Protocol):
    """The index of a ranker for one catalog."""

    def rank(self, request: str) -> Ranking:
        """Rank the catalog for a request. Deterministic; accepts any string."""
        ...


@attrs.frozen(kw_only=True)
class RankContext:
    """What a deck gives to a ranker that asks for it with ``Ranker.over`` or ``Ranker.is_blocking``.

    :ivar base: the index of the ranker ``Ranker.over``, for the same catalog.
    :ivar settings: returns the settings of a configured provider by name.
    """

    base: RankIndex | None
    settings: Callable[[str], ProviderSettings]


@attrs.frozen(kw_only=True)
class Ranker:
    """An algorithm that ranks catalog entries.

    :ivar name: the name in ``[selection] ranker``.
    :ivar index: builds the index of a catalog; called once per catalog version and set of options, with the untrimmed
        catalog and every option as a keyword argument. The index is cached and must be thread-safe.
    :ivar options: options of ``[selection.rankers.NAME]`` with their defaults; a value must have the type of its default:
        string, number or boolean.
    :ivar over: the ranker that this one is built on; ``index`` then takes a ``RankContext`` as ``context``.
    :ivar is_blocking: whether ``index`` and ``rank`` load a model or call a server. Both then run in a worker thread, and
        ``index`` takes ``context``.
    """

    name: str
    index: Callable[..., RankIndex]
    summary: str = ""
    order: int = 0
    options: Mapping[str, str | bool | int | float] = EMPTY
    over: str = ""
    is_blocking: bool = False
