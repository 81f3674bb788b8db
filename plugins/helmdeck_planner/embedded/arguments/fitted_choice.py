"""A conditional logistic model: how likely each of some choices is, by the weights of its features."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def weights(name: str) -> Mapping[str, float]:
    """Return the weights in ``NAME.json`` by feature."""
    found = json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))
    return {str(feature): float(weight) for feature, weight in found.items()}


def probabilities(features: Mapping[str, Mapping[str, float]], known: Mapping[str, float]) -> dict[str, float]:
    """Return the probability of each choice; a feature without a weight counts nothing."""
    scores = {
        choice: sum(known.get(name, 0.0) * value for name, value in found.items()) for choice, found in features.items()
    }
    highest = max(scores.values())
    powers = {choice: math.exp(score - highest) for choice, score in scores.items()}
    whole = sum(powers.values())
    return {choice: power / whole for choice, power in powers.items()}
