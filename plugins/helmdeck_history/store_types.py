"""What all history stores share: their optional parts as protocols, and how the weight of a plan halves with its age.

A store has ``add`` and ``plans``; a deck uses what else it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import attrs

from helmdeck_core import PlanRecord
from helmdeck_history.deck_history import PlanGroup

DAY_S = 86_400.0
"""Seconds of a day."""

HALF_LIFE_S = 14 * DAY_S
"""Seconds after which an earlier plan has half its weight."""

EPOCH_S = 1_767_225_600.0
"""The time at which a weight is 1: the start of 2026. A later plan has a larger weight, so that none has to be updated."""

TOP_TOOLS = 5
"""Tools of a group of plans."""
TOP_MODELS = 3
"""Models of a group of plans."""

MIN_SIMILARITY = 0.25
"""Similarity below which a request is another one."""

MAX_SIMILAR = 6
"""Similar requests whose plans are considered."""

MAX_SAME_PART = 16
"""The newest requests with the same hash that are compared."""

MAX_STEPS = 64
"""The newest steps of plans for one request that are considered."""


def weight_at(time_s: float) -> float:
    """Return the weight of a plan relative to one at ``EPOCH_S``.

    >>> from helmdeck_history import EPOCH_S, HALF_LIFE_S, weight_at
    >>> weight_at(EPOCH_S), weight_at(EPOCH_S + HALF_LIFE_S)
    (1.0, 2.0)
    """
    return float(2.0 ** ((time_s - EPOCH_S) / HALF_LIFE_S))


def similarity(matches: int, size: int, other_size: int) -> float:
    """Return the estimated Jaccard index of two sketches with common hashes.

    :param size: the number of hashes of one, ``other_size`` of the other.

    >>> from helmdeck_history import similarity
    >>> similarity(30, 60, 60)
    0.3333333333333333
    """
    union = max(size, other_size) + min(size, other_size) - matches
    return matches / union if union else 0.0


@attrs.frozen(kw_only=True)
class Scope:
    """Conditions for deletion; a record must meet all that are set.

    :ivar tool: an id in the steps of the record.
    :ivar before: seconds since 1970 UTC.
    """

    intent_sha: str | None = None
    tool: str | None = None
    before: float | None = None


@attrs.frozen(kw_only=True)
class Fact:
    """A text that a caller stored to search for it later.

    :ivar time: when it was stored, in seconds since 1970 UTC.
    :ivar expires: when it is deleted.
    """

    id: str
    caller: str
    text: str
    tags: tuple[str, ...] = ()
    time: float
    expires: float


@runtime_checkable
class BatchingStore(Protocol):
    """A store that writes several records at once."""

    def add_all(self, records: Sequence[PlanRecord]) -> None:
        """Store all records or none; those with a known id are ignored.

        :raises ValueError: a record cannot be stored, such as one whose caller is not valid Unicode. Any other exception
            is a failure of the store, after which the records are written again.
        """
        ...


@runtime_checkable
class LearningStore(Protocol):
    """A store that computes what a deck learns. Failed attempts and records without a request do not count."""

    def weights(self, caller: str, intent_sha: str, sketch: Sequence[int], now: float) -> Mapping[str, float]:
        """Return the tools of a caller's plans for similar requests, with weights of at least 0, the highest first.

        Each plan adds the square of its similarity, halved every ``HALF_LIFE_S``. A plan for the same ``intent_sha`` has
        the similarity 1.
        """
        ...

    def values(self, caller: str, limit: int) -> Sequence[tuple[str, str, Any, int]]:
        """Return tool, input, value and number of uses of a caller's ``limit`` newest values, the most frequent first."""
        ...

    def groups(self, caller: str, limit: int) -> tuple[PlanGroup, ...]:
        """Return a caller's plans by request: the most frequent first, then the newest, then by ``intent_sha``."""
        ...

    def similar(self, caller: str, intent_sha: str, sketch: Sequence[int], limit: int) -> tuple[PlanGroup, ...]:
        """Return the groups of similar requests, the most similar first."""
        ...


@runtime_checkable
class ForgettingStore(Protocol):
    """A store that deletes records on request."""

    def forget(self, caller: str, scope: Scope) -> int:
        """Delete the records of a caller in a scope, and everything that was derived from them; return their number."""
        ...


@runtime_checkable
class PurgingStore(Protocol):
    """A store that deletes expired rows on request; it never returns them."""

    def purge(self) -> int:
        """Delete what has expired; return the number of deleted rows."""
        ...


@runtime_checkable
class ExportingStore(Protocol):
    """A store that returns all records of a caller."""

    def export(self, caller: str) -> Iterable[PlanRecord]:
        """Return the unexpired records, the oldest first."""
        ...


@runtime_checkable
class FactStore(Protocol):
    """A store that keeps facts."""

    def add_facts(self, facts: Sequence[Fact]) -> None:
        """Store facts; those with a known id are ignored."""
        ...

    def facts(self, caller: str) -> tuple[Fact, ...]:
        """Return a caller's unexpired facts, the newest first."""
        ...

    def forget_facts(self, caller: str, ids: Sequence[str] | None = None) -> int:
        """Delete facts of a caller by id, or all of them; return their number."""
        ...


@attrs.frozen
class EvidenceRow:
    """How the attempts of one model at one kind of work ended in one period, as one process saw them. It contains no text.

    :ivar source: an id of the process.
    :ivar period: the start of the period, in seconds since 1970 UTC.
    :ivar kind: the kind of work.
    :ivar is_after: another model failed before.
    :ivar attempts: their number; ``usable``, the number of those with a usable answer.
    :ivar priced: the number of attempts with a known cost, which is ``usd`` for all of them.
    :ivar seconds: of all attempts.
    """

    source: str
    period: int
    model: str
    kind: str
    is_after: bool
    attempts: int
    usable: int
    priced: int
    usd: float
    seconds: float


@runtime_checkable
class EvidenceStore(Protocol):
    """A store that keeps what is known about models, for all processes of a deployment."""

    def add_evidence(self, rows: Sequence[EvidenceRow]) -> None:
        """Add the numbers of the rows to those with the same source, period, model, kind and ``is_after``."""
        ...

    def evidence(self, since: float) -> Sequence[EvidenceRow]:
        """Return the rows of all processes from a time on, in order of period, source, model, kind and ``is_after``."""
        ...


@runtime_checkable
class ClosingStore(Protocol):
    """A store that holds connections."""

    def close(self) -> None:
        """Close all connections; idempotent."""
        ...
