"""Orders a chain by expected cost per usable answer, within the floors of the operator; explores by Thompson sampling."""

from __future__ import annotations

import functools
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_chains.evidence import DOWN_FACTOR, TIMED_AFTER, Estimate
from helmdeck_chains.learning import Learning, Trial, trials_of
from helmdeck_chains.ordering import expected_cost, led_by, rest_costs, usable_share, with_usable_share
from helmdeck_chains.settings import ChainOptions
from helmdeck_chains.work import Kind, kind_of
from helmdeck_core import Attempt, ChainOrder, ChainRequest, Hedge, InvalidRequest

DAY_S = 86_400.0

SPREAD = 0.5
"""Standard errors of a sample per standard error of the estimate; the benchmark compares values."""

CALLS_PER_HEDGE = 20
"""Calls for each second request: 5 %, as in "The Tail at Scale" (Dean and Barroso, 2013)."""

MAX_HEDGES = 10
"""Second requests that earlier calls may leave: while a provider is slow, the load of the others does not double."""

LEAST = 0.002
"""The lowest probability of a sample."""


@attrs.frozen
class Figures:
    """The estimates for the models of a chain, without its last resort, in the configured order.

    :ivar unpriced: whether the price of each model is unknown although that of one before is known; it is not called first.
    :ivar held: whether each model ended a call a short time ago; it is called after the others.
    """

    models: Sequence[str]
    estimates: Sequence[Estimate]
    ups: Sequence[float]
    costs: Sequence[float]
    unpriced: Sequence[bool]
    held: Sequence[bool]

    def means(self) -> tuple[list[float], list[float]]:
        """Return the probabilities of a usable answer: as the first model, and after a failure."""
        first, after = [], []
        for each, up in zip(self.estimates, self.ups, strict=True):
            factor = up + (1 - up) * DOWN_FACTOR
            first.append(each.usable * factor)
            after.append(each.after * factor)
        return first, after

    def leads(self) -> Sequence[int]:
        """Return the places of the models that may be the first one, in the configured order."""
        places = range(len(self.models))
        free = [place for place in places if not self.held[place]]
        return [place for place in free if not self.unpriced[place]] or free or places


class AdaptivePolicy:
    """Implements ``ChainPolicy``. Thread-safe.

    :param learning: the evidence, restored from the history where there is one.
    :ivar explored_usd: expected cost that exploration added since the start of the day.
    """

    def __init__(
        self,
        options: ChainOptions,
        learning: Learning,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.options = options
        self.learning = learning
        self.explored_usd: float = 0.0
        self._share: Callable[[Kind, Sequence[Trial]], None] | None = None
        self._close: Callable[[], None] | None = None
        self._wait: Callable[[], None] | None = None
        self._clock = clock
        self._day = 0
        self._calls_without_hedge = 0
        self._random = random.Random(options.seed)  # noqa: S311 - exploration, not security
        self.lock: threading.Lock = threading.Lock()

    def order(self, request: ChainRequest) -> ChainOrder:
        """Implement ``ChainPolicy.order``."""
        return self.ordered(request, explores=self.options.explore_usd_per_day > 0)

    def explain(self, request: ChainRequest) -> ChainOrder:
        """Implement ``ChainPolicy.explain``; waits until the evidence of the history is restored."""
        if self._wait is not None:
            self._wait()
        return self.ordered(request, explores=False)

    def ordered(self, request: ChainRequest, *, explores: bool) -> ChainOrder:
        """Return the order with the least expected cost, within the floors; with exploration, a sampled first model."""
        allowed, resort = self.allowed(request)
        with self.lock:
            kind = kind_of(request)
            figures = self.figures(kind, allowed, request.size_bytes)
            order, is_explored = self._chosen(figures, request, explores=explores)
            hedge = self._hedge(figures, order, kind)
            calls = self.learning.calls
        models = tuple(allowed[place] for place in order) + resort
        thresholds = self._thresholds(figures, order, resort)
        return ChainOrder(
            models=models,
            thresholds=thresholds,
            hedge=hedge,
            reason="exploration" if is_explored else "least expected cost",
            details=functools.partial(details, figures, order, kind, calls, thresholds),
            state=kind,
        )

    def record(self, order: ChainOrder, attempts: Sequence[Attempt]) -> None:
        """Implement ``ChainPolicy.record``."""
        kind: Kind = order.state
        if trials := trials_of(attempts):
            with self.lock:
                counted = self.learning.record(kind, trials)
                self._calls_without_hedge = min(self._calls_without_hedge + 1, MAX_HEDGES * CALLS_PER_HEDGE)
            if counted and self._share is not None:
                self._share(kind, counted)

    def close(self) -> None:
        """Implement ``ChainPolicy.close``."""
        if self._close is not None:
            self._close()

    def share_with(
        self, share: Callable[[Kind, Sequence[Trial]], None], close: Callable[[], None], wait: Callable[[], None]
    ) -> None:
        """Set what receives each recorded call, what is called at the end, and what waits for restored evidence."""
        self._share, self._close, self._wait = share, close, wait

    # -- the order ---------------------------------------------------------------------------------------------

    def allowed(self, request: ChainRequest) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the models that may receive the data: those that are ordered, and the last resort.

        :raises InvalidRequest: no model may receive it.
        """
        models, options = request.models, self.options
        if options.data:
            models = tuple(each for each in models if options.may_receive(each, request.pack, request.caller))
            if not models:
                detail = f"no model of {', '.join(request.models)} has the tags that [chains.options.data] asks for"
                raise InvalidRequest("no model may receive this data", sub_cause="data_rules", detail=detail)
        if len(models) > 1 and models[-1].startswith(options.last_resort):
            return models[:-1], models[-1:]
        return models, ()

    def figures(self, kind: Kind, models: Sequence[str], size_bytes: int = 0) -> Figures:
        """Return what is known about models at a kind of work; the caller holds the lock."""
        learning = self.learning
        evidence = [learning.of(model, size_bytes) for model in models]
        estimates = [each.estimate(kind) for each in evidence]
        ups = [each.advance(learning.calls) for each in evidence]
        costs, unpriced = learning.costs(models, estimates)
        return Figures(models, estimates, ups, costs, unpriced, [learning.is_held(model) for model in models])

    def _chosen(self, figures: Figures, request: ChainRequest, *, explores: bool) -> tuple[list[int], bool]:
        """Return the order, and whether it explores."""
        first, after = figures.means()
        ordered, rest = rest_costs(figures.costs, after)
        totals = [cost + (1 - share) * other for cost, share, other in zip(figures.costs, first, rest, strict=True)]
        leads = figures.leads()
        lead, is_explored = min(leads, key=totals.__getitem__), False
        if explores:
            sample = self._sampled(figures, first, rest, leads)
            if sample != lead and self._may_spend(totals[sample] - totals[lead]):
                lead, is_explored = sample, True
        order = led_by(lead, ordered)
        if self.options.max_latency_s is not None or (request.max_attempts or len(order)) < len(order):
            order = self._within_floors(order, figures, first, after, request)
        if any(figures.held):
            order.sort(key=figures.held.__getitem__)
        return order, is_explored

    def _sampled(self, figures: Figures, first: Sequence[float], rest: Sequence[float], places: Sequence[int]) -> int:
        """Return the first model by Thompson sampling: the usable share of each is drawn from what is known about it."""
        gauss, best, least = self._random.gauss, places[0], float("inf")
        for place in places:
            drawn = first[place] + gauss(0.0, SPREAD) * figures.estimates[place].error
            drawn = LEAST if drawn < LEAST else min(drawn, 1.0)
            total = figures.costs[place] + (1 - drawn) * rest[place]
            if total < least:
                best, least = place, total
        return best

    def _within_floors(
        self, order: list[int], figures: Figures, first: list[float], after: list[float], request: ChainRequest
    ) -> list[int]:
        limit_s, options = self.options.max_latency_s, self.options
        if limit_s is not None:
            order.sort(key=lambda place: figures.estimates[place].p95_s > limit_s)
        attempts = request.max_attempts
        if attempts is not None and attempts < len(order):
            # Where not every model is reached, the share is also at least that of the configured order.
            configured = usable_share(range(attempts), first, after)
            order = with_usable_share(order, first, after, attempts, max(options.min_usable, configured))
        return order

    def _may_spend(self, usd: float) -> bool:
        day = int(self._clock() // DAY_S)
        if day != self._day:
            self._day, self.explored_usd = day, 0.0
        if self.explored_usd + usd > self.options.explore_usd_per_day:
            return False
        self.explored_usd += max(usd, 0.0)
        return True

    def _hedge(self, figures: Figures, order: Sequence[int], kind: Kind) -> Hedge | None:
        """Return when a second request is sent; ``None`` without the option, or while little is known about the first model."""
        if not self.options.hedges or len(order) < 2:
            return None
        first, model = figures.estimates[order[0]], figures.models[order[0]]
        first_token_s = self.learning.of(model).first_token_p95_s(kind)
        after_s = first.p95_s if first.attempts >= TIMED_AFTER else None
        if after_s is None and first_token_s is None:
            return None
        return Hedge(after_s=after_s, first_token_s=first_token_s, take=self._take_hedge)

    def _take_hedge(self) -> bool:
        """Whether a second request keeps their number within the share of the calls of this process."""
        with self.lock:
            is_allowed = self._calls_without_hedge >= CALLS_PER_HEDGE
            self._calls_without_hedge -= CALLS_PER_HEDGE if is_allowed else 0
        return is_allowed

    def _thresholds(self, figures: Figures, order: Sequence[int], resort: tuple[str, ...]) -> tuple[float, ...]:
        """Return the probabilities from which an answer is accepted; below, the rest of the chain is worth its cost.

        An answer that is right with probability p costs (1 - p) W for the wrong ones. The rest of the chain costs C and is
        right with probability q, so the answer is accepted from p = q - C / W.
        """
        wrong_usd = self.options.wrong_usd
        if wrong_usd is None:
            return ()
        _, after = figures.means()
        found = []
        for place in range(len(order)):
            rest = order[place + 1 :]
            gain = usable_share(rest, after, after) - expected_cost(rest, figures.costs, after, after) / wrong_usd
            found.append(max(0.0, gain) if rest else 0.0)
        return (*found, *([0.0] * len(resort)))


def details(
    figures: Figures, order: Sequence[int], kind: Kind, calls: int, thresholds: Sequence[float] = ()
) -> Mapping[str, Any]:
    """Return the figures behind an order as plain data, and what would have changed the first model."""
    first, after = figures.means()
    rows = []
    for place in order:
        each = figures.estimates[place]
        low, high = (end * first[place] / each.usable for end in each.interval)
        rows.append(
            {
                "model": figures.models[place],
                "usable": round(first[place], 4),
                "usable_low": round(low, 4),
                "usable_high": round(high, 4),
                "error": round(each.error, 4),
                "after_failure": round(after[place], 4),
                "up": round(figures.ups[place], 4),
                "cost_usd": figures.costs[place],
                "seconds": round(each.seconds, 3),
                "p95_s": round(each.p95_s, 3),
                "attempts": round(each.attempts, 1),
            }
        )
    for row, threshold in zip(rows, thresholds, strict=False):
        row["accepted_from"] = round(threshold, 4)
    shown: dict[str, Any] = {"kind": list(kind), "calls": calls, "models": rows}
    shown["expected_usd"] = expected_cost(order, figures.costs, first, after)
    if len(order) > 1 and (change := _change(figures, order, first, after)):
        shown["would_change"] = change
    return shown


def _change(figures: Figures, order: Sequence[int], first: list[float], after: list[float]) -> str:
    """Return the usable share of the first model below which the second one would be called first."""
    lead, other = order[0], order[1]
    swapped = [other, lead, *order[2:]]
    limit = expected_cost(swapped, figures.costs, first, after)
    rest = expected_cost(order[1:], figures.costs, after, after)
    if rest <= 0:
        return ""
    share = 1 - (limit - figures.costs[lead]) / rest
    if not 0 < share < 1:
        return ""
    return (
        f"{figures.models[other]} would be first if the usable share of {figures.models[lead]} were below {share:.0%}"
    )
