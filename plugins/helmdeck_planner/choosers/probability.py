"""Turns the scores of the ranker and of a model into probabilities of the candidates and of none of them.

The scores are joined by a conditional logit whose weights were fitted on one half of the requests of the choice benchmark; the page of
that benchmark reports the other half.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from helmdeck_planner.choosers.parts import Candidate


@attrs.frozen(kw_only=True)
class Weights:
    """Weights of one way to choose.

    :ivar rank: of the logarithm of a candidate's score relative to the best one.
    :ivar model: of what the model says about a candidate, as the distance to the mean of the candidates.
    :ivar none: the score of none of the candidates.
    :ivar sure: the probability from which a choice is sure.
    """

    rank: float
    model: float = 0.0
    none: float = 0.0
    sure: float = 0.5


RANKER_ALONE: Final = Weights(rank=3.45, none=-1.46)
"""Weights of the ranker alone, for eight candidates."""


def probabilities(
    listed: Sequence[Candidate], by_model: Sequence[float] | None, weights: Weights
) -> Mapping[str, float]:
    """Return the probabilities of candidates by id, the most probable first; the rest to 1 is none of them.

    :param by_model: what the model says about each candidate, higher is better; ``None`` for nothing.
    """
    best = max((each.score for each in listed), default=0.0)
    scores = [weights.rank * math.log(max(each.score, 1e-9) / max(best, 1e-9)) for each in listed]
    if by_model is not None:
        mean = sum(by_model) / max(1, len(by_model))
        scores = [score + weights.model * (each - mean) for score, each in zip(scores, by_model, strict=True)]
    highest = max(*scores, weights.none) if scores else weights.none
    powers = [math.exp(score - highest) for score in scores]
    total = sum(powers) + math.exp(weights.none - highest)
    shares = {each.entry.id: power / total for each, power in zip(listed, powers, strict=True)}
    return dict(sorted(shares.items(), key=lambda item: -item[1]))
