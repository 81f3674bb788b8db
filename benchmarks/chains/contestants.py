"""Policies: the product's own code, simple rules, and the clairvoyant optimum. Each takes a world and returns its outcome."""

# ruff: noqa: ARG001  # all contestants take the same arguments

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from benchmarks.chains.fleets import KINDS, PHASE, Fleet, Floats, World
from helmdeck_chains import PRIOR_USABLE, AdaptivePolicy, ChainOptions, Learning
from helmdeck_core import Attempt, ChainOrder, ChainRequest, FailureClass, Usage

MAX_ATTEMPTS = 8
"""The default of ``[recovery] max_attempts``."""

_FAILED = FailureClass.TRANSIENT_UNKNOWN


@attrs.frozen
class Outcome:
    """What each call cost, and whether it had a usable answer."""

    cost: Floats
    usable: NDArray[np.bool_]


def fixed(world: World, orders: NDArray[np.int64]) -> Outcome:
    """Follow orders that do not depend on outcomes: one for all calls, or one for each."""
    orders = np.broadcast_to(orders, (world.calls, orders.shape[-1]))[:, :MAX_ATTEMPTS]
    usable = np.take_along_axis(world.usable, orders, axis=1)
    paid = np.take_along_axis(world.cost_usd, orders, axis=1).cumsum(axis=1)
    last = np.where(usable.any(axis=1), usable.argmax(axis=1), orders.shape[1] - 1)
    return Outcome(paid[np.arange(world.calls), last], np.asarray(usable.any(axis=1)))


def human_order(world: World) -> NDArray[np.int64]:
    """Order a chain as a sensible human: first the cheapest model that is good by its published figures, then by quality."""
    good = [each for each in range(len(world.models)) if world.published[each] >= 0.85]
    first = min(good or [int(world.published.argmax())], key=world.list_cost.__getitem__)
    rest = sorted((each for each in range(len(world.models)) if each != first), key=lambda each: -world.published[each])
    return np.array([first, *rest])


def human(world: World, fleet: Fleet, seed: int) -> Outcome:
    """The order of a human."""
    return fixed(world, human_order(world))


def cheapest(world: World, fleet: Fleet, seed: int) -> Outcome:
    """Cheapest first, by the price list."""
    return fixed(world, np.argsort(world.list_cost, kind="stable"))


def at_random(world: World, fleet: Fleet, seed: int) -> Outcome:
    """A random order for each call."""
    rng = np.random.default_rng((seed, 99))
    return fixed(world, rng.random(world.usable.shape).argsort(axis=1))


def difficulty(world: World, fleet: Fleet, seed: int) -> Outcome:
    """Requests with a low difficulty score go to the cheapest model first, others to the best one; the best threshold in hindsight."""
    by_cost, by_quality = np.argsort(world.list_cost), human_order(world)
    outcomes = []
    for share in np.linspace(0, 1, 11):
        is_easy = world.difficulty <= np.quantile(world.difficulty, share)
        outcomes.append(fixed(world, np.where(is_easy[:, None], by_cost[None], by_quality[None])))
    return min(outcomes, key=lambda each: each.cost.sum() / max(each.usable.sum(), 1))


def best_subset_orders(world: World) -> NDArray[np.int64]:
    """Return the cheapest order by phase and kind for known probabilities, by dynamic programming over sets of failed models."""
    phases, size, kinds = world.easy.shape
    found: dict[bytes, Sequence[int]] = {}
    orders = np.empty((phases, kinds, size), dtype=np.int64)
    for phase in range(phases):
        for kind in range(kinds):
            rows = (world.easy[phase, :, kind], world.hard[phase, :, kind], world.mean_cost[phase, :, kind])
            key = b"".join(row.tobytes() for row in rows)
            if key not in found:
                found[key] = _cheapest_order(*rows, world.hard_share)
            orders[phase, kind] = found[key]
    return orders


def _cheapest_order(easy: Floats, hard: Floats, cost: Floats, hard_share: float) -> Sequence[int]:
    """The order with the least expected cost, of all of them."""
    size = len(cost)
    sets = np.arange(2**size)
    reached_easy, reached_hard = np.ones(2**size), np.ones(2**size)
    for model in range(size):
        inside = (sets >> model) & 1 == 1
        reached_easy[inside] *= 1 - easy[model]
        reached_hard[inside] *= 1 - hard[model]
    reached = (1 - hard_share) * reached_easy + hard_share * reached_hard
    counts = np.zeros(2**size, dtype=int)
    for model in range(size):
        counts += (sets >> model) & 1
    value, choice = np.zeros(2**size), np.full(2**size, -1)
    for count in range(min(size, MAX_ATTEMPTS) - 1, -1, -1):
        members = sets[counts == count]
        options = np.full((len(members), size), np.inf)
        for model in range(size):
            outside = (members >> model) & 1 == 0
            chosen = members[outside]
            options[outside, model] = cost[model] * reached[chosen] + value[chosen | (1 << model)]
        value[members], choice[members] = options.min(axis=1), options.argmin(axis=1)
    order, failed = [], 0
    while choice[failed] >= 0:
        order.append(int(choice[failed]))
        failed |= 1 << order[-1]
    return order + [each for each in range(size) if each not in order]


def clairvoyant(world: World, fleet: Fleet, seed: int) -> Outcome:
    """The cheapest order for each phase and kind, for someone who knows all probabilities, but no outcome."""
    orders = best_subset_orders(world)
    return fixed(world, orders[np.arange(world.calls) // PHASE, world.kinds])


def epsilon_greedy(world: World, fleet: Fleet, seed: int) -> Outcome:
    """By mean cost per usable answer of all attempts so far, without kinds; a random order in 5 % of the calls."""
    rng = np.random.default_rng((seed, 98))
    size = len(world.models)
    tries, wins, paid = np.ones(size), np.full(size, 0.8), world.list_cost.copy()
    explores, shuffled = rng.random(world.calls) < 0.05, rng.random(world.usable.shape).argsort(axis=1)

    def order(call: int) -> Sequence[int]:
        chosen = shuffled[call] if explores[call] else np.argsort(paid / np.maximum(wins, 1e-3))
        return [int(each) for each in chosen]

    def record(call: int, order: Sequence[int], tried: int) -> None:
        for model in order[:tried]:
            tries[model] += 1
            wins[model] += world.usable[call, model]
            paid[model] += world.cost_usd[call, model]

    return follow(world, order, record)


def follow(
    world: World, order: Callable[[int], Sequence[int]], record: Callable[[int, Sequence[int], int], None]
) -> Outcome:
    """Make all calls in turn: ask for an order, call its models until one gives a usable answer, and report how many were."""
    usable, costs = world.usable.tolist(), world.cost_usd.tolist()
    cost, is_usable = np.zeros(world.calls), np.zeros(world.calls, dtype=bool)
    for call in range(world.calls):
        chosen, tried, paid = order(call), 0, 0.0
        for model in chosen[:MAX_ATTEMPTS]:
            tried += 1
            paid += costs[call][model]
            if usable[call][model]:
                is_usable[call] = True
                break
        cost[call] = paid
        record(call, chosen, tried)
    return Outcome(cost, is_usable)


def request_of(world: World, kind: int) -> ChainRequest:
    """The facts of a call of one kind of work, as a deck gives them to its policy."""
    return ChainRequest(
        models=tuple(world.models),
        pack=f"pack{kind % 3}",
        answer="Plan" if kind % 2 else "text",
        size_bytes=(500, 4_000, 20_000)[kind // 2],
        max_attempts=MAX_ATTEMPTS,
        sample="hello",
    )


def adaptive(world: World, fleet: Fleet, seed: int, policy: AdaptivePolicy | None = None, **changes: Any) -> Outcome:
    """The product's policy, through its public methods."""
    policy = policy or make_policy(world, fleet, seed, **changes)
    requests = [request_of(world, kind) for kind in range(KINDS)]
    place = {model: number for number, model in enumerate(world.models)}
    orders: list[ChainOrder] = []
    kinds, usable = world.kinds.tolist(), world.usable.tolist()
    money, seconds = (world.cost_usd - fleet.usd_per_s * world.seconds).tolist(), world.seconds.tolist()

    def order(call: int) -> Sequence[int]:
        orders[:] = [policy.order(requests[kinds[call]])]
        return [place[model] for model in orders[0].models]

    def record(call: int, order: Sequence[int], tried: int) -> None:
        attempts = [
            Attempt(
                number=number + 1,
                model=world.models[model],
                cause=None if usable[call][model] else _FAILED,
                cost_usd=money[call][model],
                latency_s=seconds[call][model],
            )
            for number, model in enumerate(order[:tried])
        ]
        policy.record(orders[0], attempts)

    return follow(world, order, record)


def make_policy(
    world: World, fleet: Fleet, seed: int, prior_usable: float = PRIOR_USABLE, **changes: Any
) -> AdaptivePolicy:
    """The policy as a deck opens it, with the prices of the fleet."""
    options = ChainOptions(usd_per_s=fleet.usd_per_s, seed=seed, explore_usd_per_day=1e9, last_resort=())
    money = world.list_cost - fleet.usd_per_s * world.mean_seconds[0, :, 0]
    prices: dict[str, float] = dict(zip(world.models, money.tolist(), strict=True))

    def price(model: str, usage: Usage) -> float:
        return prices[model]

    return AdaptivePolicy(attrs.evolve(options, **changes), Learning(options, price, prior_usable), clock=lambda: 0.0)


Contestant = Callable[[World, Fleet, int], Outcome]

CONTESTANTS: Mapping[str, Contestant] = {
    "clairvoyant": clairvoyant,
    "adaptive": adaptive,
    "greedy": functools.partial(adaptive, explore_usd_per_day=0.0),
    "human": human,
    "cheapest first": cheapest,
    "random": at_random,
    "epsilon-greedy": epsilon_greedy,
    "difficulty threshold": difficulty,
}
