"""Simulated models: each answers a trial correctly with a probability that depends on the size of the catalog."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from helmdeck_history.calibration.search import SIZES
from helmdeck_history.calibration.trials import Trial, TrialMaker

NUMBER = re.compile(r"[A-Z]-\d{5,8}")
CEILING = 0.99
"""Success rate far below a model's limit."""


def cliff(rng: random.Random) -> list[float]:
    """A model that fails above one size."""
    last = rng.randrange(-1, len(SIZES))
    return [CEILING if place <= last else 0.03 for place in range(len(SIZES))]


def gradual(rng: random.Random) -> list[float]:
    """A model that declines over two sizes."""
    middle = rng.uniform(0, len(SIZES))
    return [CEILING / (1 + math.exp((place - middle) * 2.5)) for place in range(len(SIZES))]


def slow(rng: random.Random) -> list[float]:
    """A model that declines over five sizes."""
    middle = rng.uniform(0, len(SIZES))
    return [CEILING / (1 + math.exp(place - middle)) for place in range(len(SIZES))]


SHAPES: Mapping[str, Callable[[random.Random], list[float]]] = {"cliff": cliff, "gradual": gradual, "slow": slow}


class KnownTrials(TrialMaker):
    """Remembers the answer of each trial, which a simulated model cannot find by itself."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed=seed)
        self.by_number: dict[str, tuple[Trial, int]] = {}

    def trial(self, size: int) -> Trial:
        """Return a trial and remember it with its size."""
        trial = super().trial(size)
        self.by_number[trial.number] = (trial, size)
        return trial


class SimulatedModel:
    """Answers chat requests with a success rate per size.

    :param rates: success rate by position in ``SIZES``.
    """

    def __init__(self, rates: Sequence[float], rng: random.Random, trials: KnownTrials) -> None:
        self.rates = rates
        self._random = rng
        self._trials = trials

    def answer(self, body: Mapping[str, Any]) -> str:
        """Return the text for a request: the right step, a wrong one, nothing, or cut JSON."""
        text = str(body["messages"][-1]["content"])
        match = NUMBER.search(text)
        known = self._trials.by_number.get(match[0]) if match else None
        if known is None:
            return "Yes."
        trial, size = known
        right = json.dumps({"steps": [{"tool": trial.tool, "args": {"number": trial.number}}]})
        if self._random.random() < self.rates[SIZES.index(size)]:
            return right
        return self._random.choice(("", right[:-9], right.replace(trial.tool, "invoice.frobnicate")))
