r"""The cheapest order of models, as Weitzman's optimal search among independent boxes (Econometrica 47, 1979).

An attempt of model *i* costs :math:`c_i` and gives a usable answer, worth *R*, with probability :math:`p_i`. Its reservation value
:math:`\sigma_i` is the sure reward at which opening the box is indifferent, :math:`c_i = p_i (R - \sigma_i)`, so

.. math:: \sigma_i = R - c_i / p_i

Boxes are opened in falling order of :math:`\sigma`, which is rising order of :math:`c_i / p_i` for any *R*, and the search stops
when the largest :math:`\sigma` left is below 0. A call needs an answer, so *R* is unlimited and no model is left out.

Boxes are independent only in part: a request on which one model failed is harder than others. The probability after an earlier
failure, :math:`q_i`, is therefore a second figure. The models after the first are in order of :math:`c_i / q_i`, and the first one is the
one with the least expected cost of the whole order; with :math:`q = p` this is Weitzman's order.
"""

from __future__ import annotations

from collections.abc import Sequence

MIN_PROBABILITY = 1e-4
"""Below it, an attempt is taken as this likely to give a usable answer, so that no index is infinite."""


def reservation_value(cost: float, probability: float, reward: float) -> float:
    """Return Weitzman's index of a model.

    >>> from helmdeck_chains import reservation_value
    >>> reservation_value(0.1, 0.5, 1.0)
    0.8
    """
    return reward - cost / max(probability, MIN_PROBABILITY)


def expected_cost(
    order: Sequence[int], costs: Sequence[float], first: Sequence[float], after: Sequence[float]
) -> float:
    """Return the expected cost of an order.

    :param costs: the cost of an attempt of each model.
    :param first: the probability of a usable answer of each model as the first one; ``after``, after a failure.

    >>> from helmdeck_chains import expected_cost
    >>> round(expected_cost([0, 1], [0.1, 1.0], [0.6, 0.95], [0.5, 0.9]), 3)
    0.5
    """
    total, reached = 0.0, 1.0
    for place, model in enumerate(order):
        total += reached * costs[model]
        reached *= 1.0 - (after[model] if place else first[model])
    return total


def usable_share(order: Sequence[int], first: Sequence[float], after: Sequence[float]) -> float:
    """Return the probability that any model of an order gives a usable answer."""
    failing = 1.0
    for place, model in enumerate(order):
        failing *= 1.0 - (after[model] if place else first[model])
    return 1.0 - failing


def rest_costs(costs: Sequence[float], after: Sequence[float]) -> tuple[list[int], list[float]]:
    """Return the models in the order in which they follow a failure, and the expected cost of that order without each model."""
    count = len(costs)
    ratio = [
        cost / (share if share > MIN_PROBABILITY else MIN_PROBABILITY) for cost, share in zip(costs, after, strict=True)
    ]
    ordered = sorted(range(count), key=ratio.__getitem__)
    # Without one model, what is left is the models before it, and those behind it if they are reached.
    behind, rest, total = [0.0] * count, [0.0] * count, 0.0
    for place in range(count - 1, -1, -1):
        behind[place] = total
        model = ordered[place]
        total = costs[model] + (1.0 - after[model]) * total
    before, reached = 0.0, 1.0
    for model, total in zip(ordered, behind, strict=True):
        rest[model] = before + reached * total
        before += reached * costs[model]
        reached *= 1.0 - after[model]
    return ordered, rest


def best_order(
    costs: Sequence[float], first: Sequence[float], after: Sequence[float], leads: Sequence[int] | None = None
) -> list[int]:
    """Return the order of models with the least expected cost.

    :param leads: the models that may be the first one; by default all.

    >>> from helmdeck_chains import best_order
    >>> best_order([0.1, 1.0], [0.6, 0.95], [0.5, 0.9])
    [0, 1]
    """
    ordered, rest = rest_costs(costs, after)
    totals = [cost + (1.0 - share) * other for cost, share, other in zip(costs, first, rest, strict=True)]
    return led_by(min(leads or range(len(totals)), key=totals.__getitem__), ordered)


def led_by(lead: int, ordered: Sequence[int]) -> list[int]:
    """Return an order with one model moved to the front."""
    return [lead, *(model for model in ordered if model != lead)]


def with_usable_share(
    order: list[int], first: Sequence[float], after: Sequence[float], attempts: int, minimum: float
) -> list[int]:
    """Return the order with better models among the first ``attempts``, until a share of usable answers is expected.

    Where no choice of models reaches the minimum, the best ones are called.
    """
    tried, others = order[:attempts], order[attempts:]
    while others and usable_share(tried, first, after) < minimum:
        worst, best = min(tried, key=after.__getitem__), max(others, key=after.__getitem__)
        if after[best] <= after[worst]:
            break
        others[others.index(best)] = worst
        tried.remove(worst)
        tried.append(best)
    return tried + others
