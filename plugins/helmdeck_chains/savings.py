"""Keeps the configured order, and estimates what the order with the least expected cost would save."""

from __future__ import annotations

import functools
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_chains.adaptive import AdaptivePolicy
from helmdeck_chains.ordering import best_order, expected_cost, usable_share
from helmdeck_chains.posterior import Posterior, Sample
from helmdeck_chains.sharing import kind_from
from helmdeck_chains.work import Kind
from helmdeck_core import ChainOrder, ChainRequest
from helmdeck_history import EvidenceRow

DRAWS = 400
"""Samples of an interval."""

LOW, HIGH = 0.05, 0.95

CALL_ERROR = 0.7
"""Relative standard deviation of the cost of one call in the advised order."""


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
    :ivar configured_usable: expected share of usable answers; ``advised_usable`` is the same, since both orders have the same models.
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

    The estimate is the direct method of off-policy evaluation: the cost of both orders under what agrees with the recorded attempts.
    Recorded orders are not random, so there are no propensities to weight by. Expected values and intervals are those of ``draws``
    samples of the ``Posterior``, with the chance of the calls themselves.

    :param policy: a policy that has learned from ``rows``; it advises the orders.
    """
    rows = list(rows)
    counted: dict[Kind, int] = defaultdict(int)
    for row in rows:
        if not row.is_after and row.model in models:
            counted[kind_from(row.kind)] += row.attempts
    allowed, resort = policy.allowed(ChainRequest(models=tuple(models)))
    kinds = [kind for kind, calls in sorted(counted.items(), key=lambda each: (-each[1], each[0])) if calls]
    figures = {kind: policy.figures(kind, allowed) for kind in kinds}
    orders = {kind: best_order(each.costs, *each.means(), each.leads()) for kind, each in figures.items()}
    posterior, rng = Posterior(policy.learning, allowed, rows), random.Random(0)  # noqa: S311 - samples of an estimate
    drawn: dict[Kind, list[tuple[float, ...]]] = {kind: [] for kind in kinds}
    for _ in range(draws):
        sample = posterior.draw(rng)
        for kind in kinds:
            drawn[kind].append(_compared(sample[kind], orders[kind], counted[kind], rng))
    found = []
    for kind in kinds:
        calls, order = counted[kind], orders[kind]
        before, after, saved, usable = (_mean(each) for each in zip(*drawn[kind], strict=True))
        found.append(
            KindAdvice(
                kind=kind,
                calls=calls,
                order=tuple(allowed[place] for place in order) + resort,
                configured_usd=before,
                advised_usd=after,
                saving_usd=(calls * saved, *_percentiles([calls * each[2] for each in drawn[kind]])),
                configured_usable=usable,
                advised_usable=usable,  # a call fails after all models of the chain, in any order
                unproven=tuple(
                    allowed[place] for place in order[: order.index(0)] if figures[kind].estimates[place].attempts < 10
                ),
            )
        )
    totals = [sum(counted[kind] * drawn[kind][draw][2] for kind in kinds) for draw in range(draws)]
    spent = [sum(counted[kind] * drawn[kind][draw][0] for kind in kinds) for draw in range(draws)]
    shares = [saving / cost if cost else 0.0 for saving, cost in zip(totals, spent, strict=True)]
    return Advice(
        models=tuple(models),
        calls=sum(counted.values()),
        saving_usd=(_mean(totals), *_percentiles(totals)),
        saving_share=(_mean(shares), *_percentiles(shares)),
        sure=(sum(each > 0 for each in totals) + 1) / (draws + 2),  # so many draws cannot show that it is certain
        kinds=tuple(found),
    )


def _compared(sample: Sample, order: Sequence[int], calls: int, rng: random.Random) -> tuple[float, ...]:
    """Cost of a call in the configured and in the advised order, the saving in the mean of the calls, and the usable share."""
    costs, first, after = sample.costs, sample.first, sample.after
    configured = range(len(costs))
    before, then = (expected_cost(each, costs, first, after) for each in (configured, order))
    saved = before - then
    if list(order) != list(configured):
        saved += rng.gauss(0.0, CALL_ERROR * then / calls**0.5)
    return before, then, saved, usable_share(configured, first, after)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _percentiles(values: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values)
    return ordered[int(LOW * len(ordered))], ordered[min(int(HIGH * len(ordered)), len(ordered) - 1)]
