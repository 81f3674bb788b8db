"""What is learned, computed from records: for stores that only keep records, and as the reference for all others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core import UNKNOWN_TOOL, PlanRecord
from helmdeck_history.deck_history import PlanGroup
from helmdeck_history.store_types import MAX_SIMILAR, MIN_SIMILARITY, TOP_MODELS, TOP_TOOLS, similarity, weight_at


def weights(records: Iterable[PlanRecord], intent_sha: str, sketch: Sequence[int], now: float) -> Mapping[str, float]:
    """Return the weights of tools for similar requests, the highest first."""
    groups = _by_intent(records)
    near = {intent_sha: 1.0, **dict(_similar(groups, intent_sha, sketch, MAX_SIMILAR))}
    found: Counter[str] = Counter()
    for sha, similar_to in near.items():
        for record in groups.get(sha, ()):
            for step in record.steps:
                if step.tool != UNKNOWN_TOOL:
                    found[step.tool] += similar_to**2 * weight_at(record.time) / weight_at(now)  # type: ignore[assignment]
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def values(records: Sequence[PlanRecord], limit: int) -> Sequence[tuple[str, str, Any, int]]:
    """Return tool, input, value and number of uses of the newest values, the most frequent first."""
    newest = [
        (step.tool, name, value) for record in records for step in record.steps for name, value in step.values.items()
    ][:limit]
    counts = Counter((tool, name, repr(value)) for tool, name, value in newest)
    by_text = {(tool, name, repr(value)): value for tool, name, value in newest}
    rows = [(tool, name, by_text[tool, name, shown], count) for (tool, name, shown), count in counts.items()]
    return sorted(rows, key=lambda row: (-row[3], row[0], row[1], repr(row[2])))


def groups(records: Iterable[PlanRecord], limit: int) -> tuple[PlanGroup, ...]:
    """Return plans by request: the most frequent first, then the newest."""
    found = [_group(sha, plans) for sha, plans in _by_intent(records).items()]
    return tuple(sorted(found, key=lambda each: (-each.plans, -each.time, each.intent_sha))[:limit])


def similar(records: Iterable[PlanRecord], intent_sha: str, sketch: Sequence[int], limit: int) -> tuple[PlanGroup, ...]:
    """Return the groups of similar requests, the most similar first."""
    by_intent = _by_intent(records)
    near = {intent_sha: 1.0, **dict(_similar(by_intent, intent_sha, sketch, limit))}
    found = [attrs.evolve(_group(sha, by_intent[sha]), similarity=near[sha]) for sha in near if sha in by_intent]
    return tuple(sorted(found, key=lambda each: (-(each.similarity or 0), each.intent_sha))[:limit])


def _by_intent(records: Iterable[PlanRecord]) -> Mapping[str, list[PlanRecord]]:
    found: dict[str, list[PlanRecord]] = defaultdict(list)
    for record in records:
        if record.intent_sha and record.cause is None:
            found[record.intent_sha].append(record)
    return found


def _similar(
    by_intent: Mapping[str, Sequence[PlanRecord]], intent_sha: str, sketch: Sequence[int], limit: int
) -> list[tuple[str, float]]:
    wanted = set(sketch)
    scores = [
        (sha, similarity(len(wanted.intersection(records[0].sketch)), len(wanted), len(records[0].sketch)))
        for sha, records in by_intent.items()
        if sha != intent_sha
    ]
    near = [(sha, score) for sha, score in scores if score >= MIN_SIMILARITY]
    return sorted(near, key=lambda each: (-each[1], each[0]))[:limit]


def _group(intent_sha: str, records: Sequence[PlanRecord]) -> PlanGroup:
    tools = Counter(tool for record in records for tool in {step.tool for step in record.steps} if tool != UNKNOWN_TOOL)
    return PlanGroup(
        intent_sha=intent_sha,
        plans=len(records),
        tools=_top(tools, TOP_TOOLS),
        models=_top(Counter(record.model for record in records), TOP_MODELS),
        time=max(record.time for record in records),
    )


def _top(counts: Counter[str], most: int) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:most])
