"""Keeps the configured order, and estimates what the order with the least expected cost would save."""

from __future__ import annotations

import functools
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_chains.adaptive import AdaptivePolicy, Figures
from helmdeck_chains.ordering import best_order, expected_cost, usable_share
from helmdeck_chains.sharing import kind_from
from helmdeck_chains.work import Kind
from helmdeck_core import ChainOrder, ChainRequest
from helmdeck_history import EvidenceRow

DRAWS = 400
"""Samples of an interval."""

LOW, HIGH = 0.05, 0.95
EXPECTED_USABLE = 0.65
"""The usable share of a model without attempts, for advice: lower than that of the policy, since advice cannot try it."""

PRIOR_STRENGTH = 1.0
"""Attempts that an estimate counts for which borrows all from other kinds of work; these differ widely, so it is few."""

UNPRICED_ERROR = 0.35
"""Relative standard error of the cost of a model without attempts."""


class AdvisePolicy(AdaptivePolicy):
    """Implements ``ChainPolicy`` with the configured order. Thread-safe."""

    def ordered(self, request: ChainRequest, *, explores: bool) -> ChainOrder:
        """Return the configured order; its details name the advised one."""
        del explores
        advised = super().ordered(request, explores=False)
        allowed, resort = self.allowed(request)
        return attrs.evolve(
            advised,
            models=allowed + resort,
            thresholds=(),
            hedge=None,
            reason="configured order",
            details=functools.partial(_advised_details, advised),
        )


def _advised_details(advised: ChainOrder) -> Mapping[str, Any]:
    return {**advised.details(), "advised": list(advised.models)}


@attrs.frozen(kw_only=True)
class KindAdvice:
    """What an order would have saved at one kind of work.

    :ivar calls: recorded calls whose first model was of the chain.
    :ivar configured_usd: expected cost of a call in the configured order; ``advised_usd``, in the advised one.
    :ivar saving_usd: expected saving of all calls, with the 5th and 95th percentile.
    :ivar configured_usable: expected share of usable answers; ``advised_usable`` also.
    :ivar unproven: advised models before the first configured one that were called less than 10 times.
    """

    kind: Kind
    calls: int
    order: tuple[str, ...]
    configured_usd: float
    advised_usd: float
    saving_usd: tuple[float, float, float]
    configured_usable: float
    advised_usable: float
    unproven: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class Advice:
    """What other orders of one chain would have saved, over all kinds of work.

    :ivar saving_usd: expected saving of all calls, with the 5th and 95th percentile.
    :ivar saving_share: the same as a share of the expected cost.
    :ivar sure: the probability that the advised orders cost less.
    """

    models: tuple[str, ...]
    calls: int
    saving_usd: tuple[float, float, float]
    saving_share: tuple[float, float, float]
    sure: float
    kinds: tuple[KindAdvice, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        return {
            "models": list(self.models),
            "calls": self.calls,
            "saving_usd": _interval(self.saving_usd),
            "saving_share": _interval(self.saving_share),
            "sure": self.sure,
            "kinds": [
                {
                    "kind": list(each.kind),
                    "calls": each.calls,
                    "order": list(each.order),
                    "configured_usd": each.configured_usd,
                    "advised_usd": each.advised_usd,
                    "saving_usd": _interval(each.saving_usd),
                    "configured_usable": each.configured_usable,
                    "advised_usable": each.advised_usable,
                    "unproven": list(each.unproven),
                }
                for each in self.kinds
            ],
        }


def _interval(values: tuple[float, float, float]) -> dict[str, float]:
    return dict(zip(("expected", "low", "high"), values, strict=True))


def estimate_savings(
    policy: AdaptivePolicy, models: Sequence[str], rows: Iterable[EvidenceRow], *, draws: int = DRAWS
) -> Advice:
    """Estimate, from recorded attempts of any order, what the advised orders would have saved.

    The estimate is the direct method of off-policy evaluation: the expected cost of both orders under what is known about each
    model at each kind of work. Recorded orders are not random, so there are no propensities to weight by. The interval is that of
    ``draws`` samples of all probabilities and costs; models that were hardly called widen it.

    :param policy: a policy that has learned from ``rows``.
    """
    counted: dict[Kind, int] = defaultdict(int)
    for row in rows:
        if not row.is_after and row.model in models:
            counted[kind_from(row.kind)] += row.attempts
    allowed, resort = policy.allowed(ChainRequest(models=tuple(models)))
    rng = random.Random(0)  # noqa: S311 - samples of an estimate
    kinds, totals, spent = [], [0.0] * draws, [0.0] * draws
    for kind, calls in sorted(counted.items(), key=lambda each: (-each[1], each[0])):
        figures = policy.figures(kind, allowed)
        first, after = figures.means()
        order, configured = best_order(figures.costs, first, after), range(len(allowed))
        costs = [expected_cost(each, figures.costs, first, after) for each in (configured, order)]
        savings = []
        for draw in range(draws):
            own_costs, own_first, own_after = _drawn(figures, first, after, rng)
            before = expected_cost(configured, own_costs, own_first, own_after)
            saving = calls * (before - expected_cost(order, own_costs, own_first, own_after))
            savings.append(saving)
            totals[draw] += saving
            spent[draw] += calls * before
        kinds.append(
            KindAdvice(
                kind=kind,
                calls=calls,
                order=tuple(allowed[place] for place in order) + resort,
                configured_usd=costs[0],
                advised_usd=costs[1],
                saving_usd=(calls * (costs[0] - costs[1]), *_percentiles(savings)),
                configured_usable=usable_share(configured, first, after),
                advised_usable=usable_share(order, first, after),
                unproven=tuple(
                    allowed[place] for place in order[: order.index(0)] if figures.estimates[place].attempts < 10
                ),
            )
        )
    saved = sum(each.saving_usd[0] for each in kinds)
    expected = sum(each.calls * each.configured_usd for each in kinds)
    shares = [saving / cost if cost else 0.0 for saving, cost in zip(totals, spent, strict=True)]
    return Advice(
        models=tuple(models),
        calls=sum(counted.values()),
        saving_usd=(saved, *_percentiles(totals)),
        saving_share=(saved / expected if expected else 0.0, *_percentiles(shares)),
        sure=sum(each > 0 for each in totals) / draws,
        kinds=tuple(kinds),
    )


def _drawn(
    figures: Figures, first: Sequence[float], after: Sequence[float], rng: random.Random
) -> tuple[list[float], list[float], list[float]]:
    """One sample of all costs and probabilities."""
    costs, firsts, afters = [], [], []
    for place, each in enumerate(figures.estimates):
        strength = PRIOR_STRENGTH + each.attempts
        share = _beta(rng, first[place], strength)
        firsts.append(share)
        # Both move together, since the share after a failure is a part of the other one.
        afters.append(min(_beta(rng, after[place] / max(first[place], 0.01), strength), 1.0) * share)
        spread = UNPRICED_ERROR / (1 + each.attempts) ** 0.5
        costs.append(figures.costs[place] * max(1 + rng.gauss(0, spread), 0.1))
    return costs, firsts, afters


def _beta(rng: random.Random, mean: float, strength: float) -> float:
    mean = min(max(mean, 0.01), 0.99)
    return rng.betavariate(mean * strength, (1 - mean) * strength)


def _percentiles(values: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values)
    return ordered[int(LOW * len(ordered))], ordered[min(int(HIGH * len(ordered)), len(ordered) - 1)]
