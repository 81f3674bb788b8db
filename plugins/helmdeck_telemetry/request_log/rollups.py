"""Roll-ups: sums of requests and attempts by the minute, the quarter of an hour and the hour, so that pictures read few rows."""

# ruff: noqa: S608  # statements consist of constants; all values are parameters

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_storage import Session
from helmdeck_telemetry.request_log.facts import AttemptFacts, RequestFacts, bucket_of, quantile
from helmdeck_telemetry.request_log.schema import ALL_TEAMS, FIGURES, SPANS_S

Finished = tuple[RequestFacts, Sequence[AttemptFacts], bool]
"""A finished call: its facts, its attempts, and whether it is a helper of another call."""


def _upsert(table: str, keys: str, sums: Sequence[str]) -> str:
    names = [*keys.split(", "), *sums]
    changes = ", ".join(f"{each} = {table}.{each} + excluded.{each}" for each in sums)
    marks = ", ".join("?" * len(names))
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks}) ON CONFLICT ({keys}) DO UPDATE SET {changes}"


_ADD_REQUESTS: Final = _upsert("rollup_requests", "span_s, start_s, team", FIGURES)
_ADD_LATENCIES: Final = _upsert("rollup_latencies", "span_s, start_s, team, bucket", ("requests",))
_ADD_ATTEMPTS: Final = _upsert(
    "rollup_attempts", "span_s, start_s, team, model, cause", ("attempts", "cost_nusd", "latency_ms")
)


def add(session: Session, batch: Iterable[Finished]) -> None:
    """Add finished calls to the sums; those of one batch are added up first."""
    requests: dict[tuple[Any, ...], list[int]] = collections.defaultdict(lambda: [0] * len(FIGURES))
    latencies: dict[tuple[Any, ...], int] = collections.defaultdict(int)
    attempts: dict[tuple[Any, ...], list[int]] = collections.defaultdict(lambda: [0, 0, 0])
    for facts, tries, is_helper in batch:
        figures = (
            not is_helper, not is_helper and facts.is_usable, not is_helper and facts.outcome == "aborted", facts.cost_nusd,
            facts.unpriced, facts.input_tokens, facts.cached_tokens, facts.output_tokens, facts.before_bytes, facts.after_bytes,
        )  # fmt: skip
        for place in _places(facts):
            _add_to(requests[place], figures)
            if not is_helper and facts.outcome != "aborted":
                latencies[*place, bucket_of(facts.latency_ms)] += 1
            for attempt in tries:
                _add_to(attempts[*place, attempt.model, attempt.cause], (1, attempt.cost_nusd, attempt.latency_ms))
    # In one order for all writers, so that no two of them wait for each other.
    session.many(_ADD_REQUESTS, [(*place, *sums) for place, sums in sorted(requests.items())])
    session.many(_ADD_LATENCIES, [(*place, count) for place, count in sorted(latencies.items())])
    session.many(_ADD_ATTEMPTS, [(*place, *sums) for place, sums in sorted(attempts.items())])


def _places(facts: RequestFacts) -> Iterator[tuple[int, int, str]]:
    ended_s = facts.ended_us // 1_000_000
    for span_s in SPANS_S:
        yield span_s, ended_s - ended_s % span_s, ALL_TEAMS
        if facts.team:
            yield span_s, ended_s - ended_s % span_s, facts.team


def _add_to(sums: list[int], more: Sequence[int]) -> None:
    for index, each in enumerate(more):
        sums[index] += each


# -- reading -----------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Figures:
    """What happened in a period.

    :ivar p50_ms: median duration of a request in milliseconds; ``None`` without requests.
    :ivar p95_ms: 95th percentile.
    """

    requests: int = 0
    usable: int = 0
    aborted: int = 0
    cost_nusd: int = 0
    unpriced: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    before_bytes: int = 0
    after_bytes: int = 0
    p50_ms: float | None = None
    p95_ms: float | None = None

    @property
    def usable_share(self) -> float | None:
        """The share of requests with a usable answer, without aborted ones; ``None`` without requests."""
        counted = self.requests - self.aborted
        return self.usable / counted if counted else None


@attrs.frozen(kw_only=True)
class ModelFigures:
    """The attempts of one model in a period.

    :ivar causes: failed attempts by cause.
    """

    model: str
    attempts: int
    usable: int
    cost_nusd: int
    mean_ms: float
    causes: Mapping[str, int]


def figures(session: Session, team: str, span_s: int, since_s: int) -> Figures:
    """Return the sums since a time, which is rounded down to a span."""
    since_s -= since_s % span_s
    sums = ", ".join(f"COALESCE(SUM({each}), 0)" for each in FIGURES)
    where = "WHERE span_s = ? AND team = ? AND start_s >= ?"
    row = session.row(f"SELECT {sums} FROM rollup_requests {where}", (span_s, team, since_s))
    buckets = session.rows(
        f"SELECT bucket, SUM(requests) FROM rollup_latencies {where} GROUP BY bucket", (span_s, team, since_s)
    )
    histogram = {int(bucket): int(count) for bucket, count in buckets}
    return Figures(
        **dict(zip(FIGURES, map(int, row or ()), strict=True)),
        p50_ms=quantile(histogram, 0.5),
        p95_ms=quantile(histogram, 0.95),
    )


def attempts_by_cause(session: Session, team: str, span_s: int, since_s: int) -> dict[tuple[int, str], int]:
    """Return the number of attempts by start of the span and cause; the cause of a usable one is empty."""
    since_s -= since_s % span_s
    rows = session.rows(
        "SELECT start_s, cause, SUM(attempts) FROM rollup_attempts WHERE span_s = ? AND team = ? AND start_s >= ? "
        "GROUP BY start_s, cause",
        (span_s, team, since_s),
    )
    return {(int(start_s), str(cause)): int(count) for start_s, cause, count in rows}


def by_model(session: Session, team: str, span_s: int, since_s: int) -> tuple[ModelFigures, ...]:
    """Return the attempts of each model, the most used one first."""
    since_s -= since_s % span_s
    rows = session.rows(
        "SELECT model, cause, SUM(attempts), SUM(cost_nusd), SUM(latency_ms) FROM rollup_attempts "
        "WHERE span_s = ? AND team = ? AND start_s >= ? GROUP BY model, cause",
        (span_s, team, since_s),
    )
    found: dict[str, list[tuple[str, int, int, int]]] = collections.defaultdict(list)
    for model, cause, *sums in rows:
        count, cost, latency = map(int, sums)
        found[str(model)].append((str(cause), count, cost, latency))
    models = [_model(model, causes) for model, causes in found.items()]
    return tuple(sorted(models, key=lambda each: (-each.attempts, each.model)))


def _model(model: str, causes: Sequence[tuple[str, int, int, int]]) -> ModelFigures:
    attempts = sum(count for _, count, _, _ in causes)
    return ModelFigures(
        model=model,
        attempts=attempts,
        usable=sum(count for cause, count, _, _ in causes if not cause),
        cost_nusd=sum(cost for _, _, cost, _ in causes),
        mean_ms=sum(latency for *_, latency in causes) / max(1, attempts),
        causes={cause: count for cause, count, _, _ in sorted(causes, key=lambda each: -each[1]) if cause},
    )
