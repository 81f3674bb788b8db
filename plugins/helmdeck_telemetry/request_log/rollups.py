"""Roll-ups: sums of requests and attempts by the minute, the quarter of an hour and the hour, so that pictures read few rows."""

# ruff: noqa: S608  # statements consist of constants; all values are parameters

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
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


_Sums = collections.defaultdict[tuple[Any, ...], list[int]]
"""Sums by the start of a minute, the team, and further keys."""


def add(session: Session, batch: Iterable[Finished]) -> None:
    """Add finished calls to the sums; those of one batch are added up first."""
    requests: _Sums = collections.defaultdict(lambda: [0] * len(FIGURES))
    latencies: _Sums = collections.defaultdict(lambda: [0])
    attempts: _Sums = collections.defaultdict(lambda: [0, 0, 0])
    for facts, tries, is_helper in batch:
        minute = facts.ended_us // 60_000_000 * 60, facts.team
        figures = (
            not is_helper, not is_helper and facts.is_usable, not is_helper and facts.outcome == "aborted", facts.cost_nusd,
            facts.unpriced, facts.input_tokens, facts.cached_tokens, facts.output_tokens, facts.before_bytes, facts.after_bytes,
        )  # fmt: skip
        _add_to(requests[minute], figures)
        if not is_helper and facts.outcome != "aborted":
            latencies[*minute, bucket_of(facts.latency_ms)][0] += 1
        for attempt in tries:
            _add_to(attempts[*minute, attempt.model, attempt.cause], (1, attempt.cost_nusd, attempt.latency_ms))
    for statement, sums in ((_ADD_REQUESTS, requests), (_ADD_LATENCIES, latencies), (_ADD_ATTEMPTS, attempts)):
        session.many(statement, _rows(sums))


def _rows(sums: _Sums) -> list[tuple[Any, ...]]:
    """The rows of all spans, in one order for all writers, so that no two of them wait for each other."""
    spans: _Sums = collections.defaultdict(list)
    for (minute, team, *more), each in sums.items():
        for span_s in SPANS_S:
            for shown in dict.fromkeys((ALL_TEAMS, team or ALL_TEAMS)):
                place = span_s, minute - minute % span_s, shown, *more
                spans[place] = [a + b for a, b in zip(spans[place] or [0] * len(each), each, strict=True)]
    return [(*place, *each) for place, each in sorted(spans.items())]


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
