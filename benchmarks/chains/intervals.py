"""How often the interval of ``helmdeck chain advise`` contains what the advised orders save on the same requests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from benchmarks.chains.contestants import MAX_ATTEMPTS, fixed, human_order, make_policy, request_of
from benchmarks.chains.fleets import FLEETS, TUNED, Fleet, world
from helmdeck_chains import EXPECTED_USABLE, estimate_savings, kind_of, kind_text, replay
from helmdeck_history import EvidenceRow

CALLS = 1_500
PERIODS = 10


def check(fleet: Fleet, seed: int, calls: int = CALLS) -> dict[str, Any]:
    """Record calls in a human's order, estimate what the advised orders would save, and compare."""
    drawn = world(fleet, seed, calls)
    order = [int(place) for place in human_order(drawn)]
    models = tuple(drawn.models[place] for place in order)
    policy = make_policy(drawn, fleet, seed, prior_usable=EXPECTED_USABLE)
    sums: dict[tuple[int, str, str, bool], list[float]] = defaultdict(lambda: [0.0] * 5)
    kinds = [kind_of(attrs.evolve(request_of(drawn, kind), models=models)) for kind in range(6)]
    money = drawn.cost_usd - fleet.usd_per_s * drawn.seconds
    for call in range(calls):
        for number, place in enumerate(order[:MAX_ATTEMPTS]):
            row = sums[call * PERIODS // calls, drawn.models[place], kind_text(kinds[drawn.kinds[call]]), number > 0]
            is_usable = bool(drawn.usable[call, place])
            for position, value in enumerate((1, is_usable, 1, money[call, place], drawn.seconds[call, place])):
                row[position] += value
            if is_usable:
                break
    rows = [
        EvidenceRow("s", period, model, kind, is_after, *map(int, each[:3]), *each[3:])
        for (period, model, kind, is_after), each in sorted(sums.items())
    ]
    replay(policy.learning, rows)
    advice = estimate_savings(policy, models, rows)
    orders = {each.kind: [drawn.models.index(model) for model in each.order] for each in advice.kinds}
    advised = np.array([orders[kinds[kind]] for kind in drawn.kinds])
    saved = fixed(drawn, np.array(order)).cost.sum() - fixed(drawn, advised).cost.sum()
    expected, low, high = advice.saving_usd
    spent = fixed(drawn, np.array(order)).cost.sum()
    return {"expected": expected / spent, "low": low / spent, "high": high / spent, "actual": float(saved / spent)}


def coverage(seeds: Sequence[int]) -> dict[str, Any]:
    """Return how good the intervals are on fleets that were held out, steady ones and changing ones."""
    held_out = [fleet for fleet in FLEETS if fleet not in TUNED]
    kinds = {"steady": True, "changing": False}
    return {
        name: _covered([each for each in held_out if each.is_steady is kind], seeds) for name, kind in kinds.items()
    }


def _covered(fleets: Sequence[Fleet], seeds: Sequence[int]) -> dict[str, Any]:
    """The share of intervals that contain the actual saving, their width, and the mean error of the estimate."""
    found = [check(fleet, seed) for fleet in fleets for seed in seeds]
    return {
        "worlds": len(found),
        "covered": float(np.mean([each["low"] <= each["actual"] <= each["high"] for each in found])),
        "above_low": float(np.mean([each["low"] <= each["actual"] for each in found])),
        "mean_error": float(np.mean([each["expected"] - each["actual"] for each in found])),
        "mean_width": float(np.mean([each["high"] - each["low"] for each in found])),
        "mean_actual": float(np.mean([each["actual"] for each in found])),
    }
