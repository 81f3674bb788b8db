"""Joins what a model says with the ranker's scores: fits the weights on one half of the requests, measures on the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from benchmarks.choice.requests import Choice

Array = np.ndarray[Any, np.dtype[np.float64]]
BINS = 10
COVERAGES = (0.5, 0.8, 1.0)
PENALTY = 0.5
"""Of squared weights, so that a method without signal gets none."""


@attrs.frozen
class Fitted:
    """Weights of the ranker's log score, of what the model says, and of none of the candidates."""

    rank: float
    model: float
    none: float


@attrs.frozen
class Figures:
    """Figures on the reported half.

    :ivar right: share of right choices; ``none`` is right where the right tool is not a candidate.
    :ivar chosen_right: share of requests for which the right tool is the most probable candidate.
    :ivar ece: expected calibration error of the probability of the most probable candidate, in ten bins.
    :ivar at: share of right candidates among the requests with the highest probabilities, by coverage.
    """

    n: int
    chosen_right: float
    ece: float
    at: Mapping[float, float]
    low: float
    high: float


def _features(choice: Choice, by_model: Sequence[float] | None) -> Array:
    rank = np.log(np.maximum(np.array(choice.scores), 1e-9) / choice.scores[0])
    model = np.zeros(len(rank)) if by_model is None else np.array(by_model) - np.mean(by_model)
    rows = np.stack([rank, model, np.zeros(len(rank))], axis=1)
    return np.vstack([rows, [0.0, 0.0, 1.0]])


def shares(choice: Choice, by_model: Sequence[float] | None, weights: Fitted) -> Array:
    """Probabilities of the candidates, and last of none of them."""
    scores = _features(choice, by_model) @ np.array([weights.rank, weights.model, weights.none])
    powers = np.exp(scores - scores.max())
    normed: Array = powers / powers.sum()
    return normed


def fit(pairs: Sequence[tuple[Choice, Sequence[float] | None]], uses: tuple[bool, bool]) -> Fitted:
    """Fit a conditional logit by Newton's method.

    :param uses: whether the score of the ranker counts, and what the model says.
    """
    mask = np.array([*map(float, uses), 1.0])
    weights = np.zeros(3)
    data = [
        (_features(choice, by_model) * mask, choice.right if choice.right is not None else len(choice.names))
        for choice, by_model in pairs
    ]
    for _ in range(40):
        gradient, hessian = -PENALTY * weights, -PENALTY * np.eye(3)
        for rows, right in data:
            scores = rows @ weights
            powers = np.exp(scores - scores.max())
            probabilities = powers / powers.sum()
            mean = probabilities @ rows
            gradient += rows[right] - mean
            hessian -= (rows * probabilities[:, None]).T @ rows - np.outer(mean, mean)
        weights = weights - np.linalg.solve(hessian, gradient)
    return Fitted(*map(float, weights * mask))


def measure(pairs: Sequence[tuple[Choice, Sequence[float] | None]], weights: Fitted) -> Figures:
    """Measure choices with these weights."""
    tops, rights = [], []
    for choice, by_model in pairs:
        candidates = shares(choice, by_model, weights)[:-1]
        best = int(np.argmax(candidates))
        tops.append(float(candidates[best]))
        rights.append(choice.right == best)
    order = np.argsort(-np.array(tops))
    right = np.array(rights, dtype=float)
    at = {each: float(right[order[: max(1, round(each * len(order)))]].mean()) for each in COVERAGES}
    low, high = wilson(int(right.sum()), len(right))
    return Figures(len(right), float(right.mean()), _ece(np.array(tops), right), at, low, high)


def _ece(tops: Array, right: Array) -> float:
    places = np.minimum((tops * BINS).astype(int), BINS - 1)
    parts = [(places == each) for each in range(BINS)]
    return float(
        sum(part.sum() * abs(tops[part].mean() - right[part].mean()) for part in parts if part.any()) / len(right)
    )


def wilson(successes: int, trials: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson interval of a share."""
    share, square = successes / trials, z * z / trials
    middle, half = share + square / 2, z * math.sqrt(share * (1 - share) / trials + square / (4 * trials))
    return (middle - half) / (1 + square), (middle + half) / (1 + square)


def paired(first: Sequence[bool], second: Sequence[bool]) -> float:
    """One-sided probability of the differences if the second were not better (sign test on the requests that differ)."""
    wins = sum(b and not a for a, b in zip(first, second, strict=True))
    losses = sum(a and not b for a, b in zip(first, second, strict=True))
    n = wins + losses
    return sum(math.comb(n, k) for k in range(wins, n + 1)) / 2**n if n else 1.0
