"""What is not known about the models of a chain, as samples: usable shares and costs that agree with recorded attempts.

Recorded orders are not random, so a model is seen at some kinds of work, or only after another one failed. Three things tie what was
seen to what was not, and each is drawn once per sample and shared by all kinds of work, since an error in it does not average out:

- the usable share of a model over all work, around which those of the kinds spread widely (a Beta distribution of ``KIND_STRENGTH``);
- the ratio of the usable shares after a failure and before one, which follows from how unequally hard the requests are;
- the price of a model without calls, relative to the list, after that of the models with calls at this kind of work;
  and its seconds, relative to those of the models that were.

Attempts of different periods that differ by more than chance count for less: their number is divided by the dispersion.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import attrs

from helmdeck_chains.evidence import PRIOR_SECONDS, PRIOR_SPREAD
from helmdeck_chains.learning import Learning
from helmdeck_chains.sharing import kind_from
from helmdeck_chains.work import Kind
from helmdeck_history import EvidenceRow

EXPECTED_USABLE = 0.75
"""The usable share of a model without attempts, for advice: lower than that of the policy, since advice cannot try it."""

MODEL_STRENGTH = 8.0
"""Attempts that it counts for."""

KIND_STRENGTH = 4.0
"""Attempts that the share of all work counts for at one kind: shares of kinds differ widely."""

AFTER_STRENGTH = 4.0
"""Attempts that the shared ratio counts for where attempts after a failure were recorded."""

AFTER_RATIO, AFTER_RATIO_ERROR, AFTER_RATIO_LEAST = 0.85, 0.12, 0.5
"""The usable share after a failure, relative to the one without."""

UNPRICED_ERROR, PRICED_ERROR = 0.25, 0.5
"""Relative standard errors of the cost of a model without calls, and of one attempt."""

_Counts = tuple[float, float]


@attrs.frozen
class Sample:
    """One sample of what is expected of the models at one kind of work, in the order of the chain."""

    costs: Sequence[float]
    first: Sequence[float]
    after: Sequence[float]


@attrs.define
class Seen:
    """The attempts of one model at one kind of work: without and after a failure of another model, each with the usable ones."""

    first: _Counts = (0.0, 0.0)
    after: _Counts = (0.0, 0.0)
    priced: int = 0
    usd: float = 0.0
    attempts: int = 0
    seconds: float = 0.0

    def add(self, row: EvidenceRow) -> None:
        """Add a row."""
        name = "after" if row.is_after else "first"
        attempts, usable = getattr(self, name)
        setattr(self, name, (attempts + row.attempts, usable + row.usable))
        self.priced += row.priced
        self.usd += row.usd
        self.attempts += row.attempts
        self.seconds += row.seconds


class Posterior:
    """Draws samples for the models of a chain.

    :param learning: what is known about prices and times of models that were not called at a kind of work.
    """

    def __init__(self, learning: Learning, models: Sequence[str], rows: Iterable[EvidenceRow]) -> None:
        self._models = models
        self._seen: dict[Kind, dict[str, Seen]] = defaultdict(dict)
        own = [row for row in rows if row.model in models and row.attempts > 0]
        for row in own:
            self._seen[kind_from(row.kind)].setdefault(row.model, Seen()).add(row)
        self._weights = {model: 1 / dispersion([row for row in own if row.model == model]) for model in models}
        self._timed = {row.model for row in own}
        self._costs = {kind: self._expected_costs(learning, kind) for kind in self._seen}

    def draw(self, rng: random.Random) -> Mapping[Kind, Sample]:
        """Return one sample of all kinds of work."""
        ratio = min(max(rng.gauss(AFTER_RATIO, AFTER_RATIO_ERROR), AFTER_RATIO_LEAST), 1.0)
        overall = [self._overall(model, ratio, rng) for model in self._models]
        prices = [max(1 + rng.gauss(0.0, UNPRICED_ERROR), 0.2) for _ in self._models]
        paces = [
            1.0 if model in self._timed else math.exp(rng.gauss(-(PRIOR_SPREAD**2) / 2, PRIOR_SPREAD))
            for model in self._models
        ]
        found = {}
        for kind, seen in self._seen.items():
            first, after, costs = [], [], []
            for place, model in enumerate(self._models):
                each, weight = seen.get(model) or Seen(), self._weights[model]
                attempts, usable = self._as_first(each, ratio)
                share = _beta(rng, overall[place], KIND_STRENGTH, attempts * weight, usable * weight)
                first.append(share)
                after.append(_beta(rng, ratio * share, AFTER_STRENGTH, each.after[0] * weight, each.after[1] * weight))
                usd, timed_usd, error = self._costs[kind][place]
                price = max(1 + rng.gauss(0.0, error), 0.2) if each.priced else prices[place]
                costs.append(usd * price + timed_usd * paces[place])
            found[kind] = Sample(costs, first, after)
        return found

    def _overall(self, model: str, ratio: float, rng: random.Random) -> float:
        """One sample of a model's usable share of all work; a kind counts for as few attempts as it is evidence about other kinds."""
        attempts = usable = 0.0
        for seen in self._seen.values():
            if (each := seen.get(model)) is not None:
                count, good = self._as_first(each, ratio)
                told = count * (KIND_STRENGTH + 1) / (count + KIND_STRENGTH)
                attempts, usable = attempts + told, usable + told * good / count
        return _beta(rng, EXPECTED_USABLE, MODEL_STRENGTH, attempts, usable)

    @staticmethod
    def _as_first(seen: Seen, ratio: float) -> _Counts:
        """Attempts and usable ones, as if no other model had failed before."""
        return seen.first[0] + seen.after[0], seen.first[1] + min(seen.after[1] / ratio, seen.after[0])

    def _expected_costs(self, learning: Learning, kind: Kind) -> Sequence[tuple[float, float, float]]:
        """The price of an attempt of each model, the price of its seconds, and the relative standard error of the first."""
        seen = self._seen[kind]
        logs = [math.log(each.seconds / each.attempts) for each in seen.values() if each.seconds > 0]
        usual_s = math.exp(sum(logs) / len(logs)) if logs else PRIOR_SECONDS
        listed: dict[str, float] = {}
        for model in self._models:  # an unknown price is not 0, but at least that of the models before
            usd = learning.of(model).prior_usd
            listed[model] = max(listed.values(), default=0.0) if usd is None else usd
        paid = [(each.usd, each.priced * listed[model]) for model, each in seen.items() if each.priced]
        known = sum(due for _, due in paid)
        factor = sum(usd for usd, due in paid if due) / known if known else 1.0
        found = []
        for model in self._models:
            estimate, each = learning.of(model).estimate(kind), seen.get(model) or Seen()
            usd = each.usd / each.priced if each.priced else listed[model] * factor
            seconds = estimate.seconds if model in self._timed else usual_s
            seconds = each.seconds / each.attempts if each.attempts else seconds
            timed_usd = learning.cost(model, attrs.evolve(estimate, usd=0.0, seconds=seconds))
            found.append((usd, timed_usd, PRICED_ERROR / max(each.priced, 1) ** 0.5))
        return found


def dispersion(rows: Sequence[EvidenceRow]) -> float:
    """Return by how much usable shares differ between periods, relative to chance: Pearson's statistic per degree of freedom, at least 1."""
    groups: dict[tuple[str, bool], list[EvidenceRow]] = defaultdict(list)
    for row in rows:
        groups[row.kind, row.is_after].append(row)
    total, freedom = 0.0, 0
    for group in groups.values():
        attempts = sum(row.attempts for row in group)
        share = (sum(row.usable for row in group) + 0.5) / (attempts + 1)
        total += sum((row.usable - row.attempts * share) ** 2 / (row.attempts * share * (1 - share)) for row in group)
        freedom += len(group) - 1
    return max(total / freedom, 1.0) if freedom else 1.0


def _beta(rng: random.Random, mean: float, strength: float, attempts: float, usable: float) -> float:
    mean = min(max(mean, 0.01), 0.99)
    return rng.betavariate(mean * strength + usable, max((1 - mean) * strength + attempts - usable, 0.01))
