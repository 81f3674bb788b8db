"""Measures how well a ranker finds the entries that labelled requests need, and why it misses some."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_cli.evaluation.requests import LabelledRequest
from helmdeck_core import Catalog, Ranking

Rank = Callable[[str], Ranking]

REASONS: Mapping[str, str] = {
    "language": "the request is in a language that the catalog does not use",
    "document": "found for the request without its document",
    "other_parts": "found for its own part of the request, other parts come first",
    "no_match": "nothing in the request matches the entry",
    "ranked_lower": "other entries match better",
}
"""Why an entry is missed; the first one that applies."""


@attrs.frozen
class Miss:
    """A needed entry that is not among the first k.

    :ivar place: from 1.
    :ivar reason: a key of ``REASONS``.
    :ivar matched: what the request and the entry share.
    :ivar ahead: the ids of the first entries, which were sent instead.
    """

    tool: str
    place: int
    reason: str
    matched: tuple[str, ...]
    ahead: tuple[str, ...]


@attrs.frozen
class Outcome:
    """One request with the places of its tools.

    :ivar places: from 1, in the order of ``request.tools``.
    :ivar seconds: the time of the ranking.
    :ivar sizes: bytes of the first entries, as the catalog describes them, up to each needed one.
    """

    request: LabelledRequest
    places: tuple[int, ...]
    seconds: float
    sizes: tuple[int, ...]
    misses: tuple[Miss, ...] = ()

    @property
    def needed(self) -> int:
        """The smallest k that has every needed entry."""
        return max(self.places)

    @property
    def needed_bytes(self) -> int:
        """Bytes of the entries up to the last needed one."""
        return max(self.sizes)


@attrs.frozen
class Evaluation:
    """The outcomes of one ranker.

    :ivar name: of the ranker, with its settings.
    :ivar entries: number of entries of the catalog.
    """

    name: str
    entries: int
    outcomes: tuple[Outcome, ...]

    def complete(self, k: int) -> float:
        """Return the share of requests whose entries are all among the first k, 0 to 1."""
        return statistics.fmean(outcome.needed <= k for outcome in self.outcomes)

    def recall(self, k: int) -> float:
        """Return the share of the needed entries among the first k, the mean of the requests, 0 to 1."""
        return statistics.fmean(statistics.fmean(place <= k for place in each.places) for each in self.outcomes)

    def k_for(self, share: float) -> int:
        """Return the smallest k with which this share of the requests is complete."""
        return _quantile([outcome.needed for outcome in self.outcomes], share)

    def bytes_for(self, share: float) -> int:
        """Return the bytes of entries with which this share of the requests is complete."""
        return _quantile([outcome.needed_bytes for outcome in self.outcomes], share)

    @property
    def median_ms(self) -> float:
        """The median time of a ranking in milliseconds."""
        return statistics.median(outcome.seconds for outcome in self.outcomes) * 1e3

    def curve(self, most: int) -> list[float]:
        """Return complete@k in percent for k from 1 to ``most``."""
        return [100 * self.complete(k) for k in range(1, most + 1)]

    def reasons(self) -> Counter[str]:
        """Return how many misses have each reason."""
        return Counter(miss.reason for outcome in self.outcomes for miss in outcome.misses)

    def groups(self) -> dict[str, Evaluation]:
        """Return the results by group, in the order of the file."""
        names = dict.fromkeys(outcome.request.group for outcome in self.outcomes)
        return {
            name: attrs.evolve(self, outcomes=tuple(each for each in self.outcomes if each.request.group == name))
            for name in names
        }

    def to_dict(self, ks: Sequence[int]) -> dict[str, Any]:
        """The results as plain data."""
        return {
            "ranker": self.name,
            "requests": len(self.outcomes),
            "entries": self.entries,
            "complete": {str(k): self.complete(k) for k in ks},
            "recall": {str(k): self.recall(k) for k in ks},
            "k_for": {str(share): self.k_for(share) for share in SHARES},
            "bytes_for": {str(share): self.bytes_for(share) for share in SHARES},
            "median_ms": self.median_ms,
            "reasons": dict(self.reasons()),
            "misses": [
                {"line": outcome.request.line, "request": outcome.request.text, **attrs.asdict(miss)}
                for outcome in self.outcomes
                for miss in outcome.misses
            ],
        }


SHARES = (0.5, 0.8, 0.9)
"""Shares of requests for ``k_for`` and ``bytes_for``."""


def evaluate(name: str, catalog: Catalog, rank: Rank, requests: Iterable[LabelledRequest], k: int) -> Evaluation:
    """Rank the catalog for every request.

    :param k: entries beyond it are missed.
    """
    entries = catalog.entries
    sizes = [len(_encoded(entry.data)) for entry in entries]
    outcomes = []
    for request in requests:
        started = time.perf_counter()
        ranking = rank(request.whole)
        order = list(ranking.order)
        seconds = time.perf_counter() - started
        # An entry that nothing matches is only sent if none matches: its place in the order of ids is no merit.
        matching = len(ranking.leading(len(order)))
        place_of = {
            entries[index].id: place if place <= matching else len(order) for place, index in enumerate(order, 1)
        }
        places = tuple(place_of[tool] for tool in request.tools)
        before = [0]
        for index in order[: max(places)]:
            before.append(before[-1] + sizes[index])
        outcome = Outcome(request, places, seconds, tuple(before[place] for place in places))
        if outcome.needed > k:
            ids = [entries[index].id for index in order[:k]]
            outcome = attrs.evolve(outcome, misses=tuple(_misses(outcome, ranking, rank, catalog, ids, k)))
        outcomes.append(outcome)
    return Evaluation(name, len(entries), tuple(outcomes))


def _misses(
    outcome: Outcome, ranking: Ranking, rank: Rank, catalog: Catalog, ids: Sequence[str], k: int
) -> Iterable[Miss]:
    request = outcome.request
    alone = _found(rank(request.text), catalog, k) if request.document else set()
    parts: set[str] = set()
    if len(ranking.clauses) > 1:
        parts = {tool for clause in ranking.clauses for tool in _found(rank(clause), catalog, k)}
    for tool, place in zip(request.tools, outcome.places, strict=True):
        if place <= k:
            continue
        score = ranking.scores[place - 1]
        if not ranking.is_reliable:
            reason = "language"
        elif tool in alone:
            reason = "document"
        elif tool in parts:
            reason = "other_parts"
        else:
            reason = "ranked_lower" if score.score > 0 else "no_match"
        yield Miss(tool, place, reason, score.matched[:5], tuple(ids[:3]))


def _found(ranking: Ranking, catalog: Catalog, k: int) -> set[str]:
    return {catalog.entries[index].id for index, _ in ranking.leading(k)}


def _encoded(data: object) -> bytes:
    import msgspec

    return msgspec.json.encode(data)


def _quantile(values: Sequence[int], share: float) -> int:
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
