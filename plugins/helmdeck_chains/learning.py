"""The evidence of a deck: what calls add to it, and the estimates for the models of a chain."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import attrs

from helmdeck_chains.evidence import PRIOR_USABLE, Estimate, ModelEvidence
from helmdeck_chains.settings import ChainOptions
from helmdeck_chains.work import Kind
from helmdeck_core import Attempt, FailureClass, Usage

TYPICAL_OUTPUT_TOKENS = 400
BYTES_PER_TOKEN = 4
PROMPT_BYTES = 6_000
"""What a prompt adds to a request, for the expected cost before there is evidence."""

MAX_MODELS = 500
"""Models with evidence; ids come from callers, so their number is bounded."""

NOT_THE_MODEL = frozenset((FailureClass.INVALID_REQUEST,))
"""Causes that say nothing about a model that has answered before: another one would fail in the same way."""

ENDS_A_CALL = NOT_THE_MODEL | {FailureClass.AUTH_FAILED}
"""Causes after which no other model is called, so that a call whose first model has one fails: a wrong key or name of a model."""

HELD_CALLS = 250
"""Calls after which a model that ended a call is called again before the others."""


@attrs.frozen
class Trial:
    """All attempts of one model within one call.

    :ivar usable: whether it gave an answer; ``None`` for one that was cancelled.
    :ivar usd: US dollars; ``None`` where the cost is unknown.
    :ivar seconds: with the waits between the attempts.
    :ivar first_token_s: of the last attempt; 0 where it was not streamed.
    :ivar cause: of the last attempt; ``None`` for an answer.
    """

    model: str
    usable: bool | None
    usd: float | None
    seconds: float
    is_after: bool
    first_token_s: float = 0.0
    cause: FailureClass | None = None


def trials_of(attempts: Sequence[Attempt]) -> list[Trial]:
    """Return the trials of a call: consecutive attempts of a model are one, since retries are part of what it costs."""
    trials: list[Trial] = []
    for model, group in itertools.groupby(attempts, key=lambda attempt: attempt.model):
        own = list(group)
        main = [attempt for attempt in own if not attempt.purpose]
        if not any(attempt.is_sent for attempt in main):
            continue
        costs = [attempt.cost_usd for attempt in own if attempt.cost_usd is not None]
        trials.append(
            Trial(
                model=model,
                usable=None if main[-1].cause is FailureClass.CANCELLED else main[-1].cause is None,
                usd=sum(costs) if costs else None,
                seconds=sum(attempt.latency_s + attempt.waited_s for attempt in own),
                is_after=bool(trials),
                first_token_s=main[-1].first_token_s,
                cause=main[-1].cause,
            )
        )
    return trials


class Learning:
    """The evidence about all models. Not thread-safe: the policies hold a lock.

    :param price: US dollars of some tokens of a model; ``None`` if unknown.
    :param prior_usable: the usable share of a model without attempts.
    :ivar calls: calls that were recorded.
    """

    def __init__(
        self,
        options: ChainOptions,
        price: Callable[[str, Usage], float | None],
        prior_usable: float = PRIOR_USABLE,
    ) -> None:
        self._prior_usable = prior_usable
        self.options = options
        self.calls: int = 0
        self._price = price
        self._rates: dict[str, float] = {}
        self.models: dict[str, ModelEvidence] = {}
        self._held: dict[str, int] = {}

    def of(self, model: str, size_bytes: int = 0) -> ModelEvidence:
        """Return the evidence of a model; a new one starts with the price list."""
        found = self.models.get(model)
        if found is None:
            tokens = (size_bytes + PROMPT_BYTES) // BYTES_PER_TOKEN
            usd = self._price(model, Usage(input_tokens=tokens, output_tokens=TYPICAL_OUTPUT_TOKENS))
            found = ModelEvidence(usd, self._prior_usable)
            if len(self.models) < MAX_MODELS:
                self.models[model] = found
        return found

    def costs(self, models: Sequence[str], estimates: Sequence[Estimate]) -> tuple[list[float], list[bool]]:
        """Return the expected costs of attempts, and whether each is unknown although that of a model before is known.

        An unknown price is not 0: it counts as the highest of the models before, so that a model moves back but not forward.
        """
        costs, is_unknown, highest = list(map(self.cost, models, estimates)), [False] * len(models), None
        for place, estimate in enumerate(estimates):
            if estimate.usd is not None or self.options.of_model(models[place]).usd_per_s:
                highest = max(highest or 0.0, estimate.usd or 0.0)
            elif highest is not None:
                costs[place] += highest
                is_unknown[place] = True
        return costs, is_unknown

    def cost(self, model: str, estimate: Estimate) -> float:
        """Return the expected cost of an attempt: money, where it is known, and the price of its seconds."""
        rate = self._rates.get(model)
        if rate is None:
            rate = self.options.usd_per_s + self.options.of_model(model).usd_per_s
            if len(self._rates) < MAX_MODELS:
                self._rates[model] = rate
        return (estimate.usd or 0.0) + rate * estimate.seconds

    def is_held(self, model: str) -> bool:
        """Whether a model ended a call a short time ago, so that others are called before it."""
        return self.calls < self._held.get(model, 0)

    def record(self, kind: Kind, trials: Sequence[Trial]) -> Sequence[Trial]:
        """Add the trials of a call; return those that say something about their model."""
        trials = [each for each in trials if each.cause not in NOT_THE_MODEL or not self.of(each.model).has_answered]
        self.calls += any(trial.usable is not None for trial in trials)
        for trial in trials:
            model = self.of(trial.model)
            model.advance(self.calls)
            model.observe(
                kind,
                usable=int(trial.usable or 0),
                attempts=int(trial.usable is not None),
                usd=trial.usd,
                seconds=trial.seconds,
                first_token_s=trial.first_token_s,
                is_after=trial.is_after,
            )
            if trial.usable:
                self._held.pop(trial.model, None)
            elif trial.cause in ENDS_A_CALL and len(self._held) < MAX_MODELS:
                self._held[trial.model] = self.calls + HELD_CALLS
        return trials
