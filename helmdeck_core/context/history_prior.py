"""What was planned before gains weight in a ranking; it never drives out what the request itself says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import attrs

from helmdeck_core.domain.ranking import LazyScores, Ranking

LABEL = "history:planned before"


def with_prior(ranking: Ranking, planned: Mapping[int, float], weights: Mapping[str, float]) -> Ranking:
    """The ranking with higher scores for planned entries; the order of all other entries stays as it is.

    :param planned: weights of positions of entries, 0 to 1, the highest first.
    :param weights: ``history.gain`` and ``history.entries``.
    """
    first = itertools.islice(planned.items(), int(weights["history.entries"]))
    favoured = {index: weight for index, weight in first if weight > 0}  # that of an old plan is rounded to 0
    if not favoured or not weights["history.gain"]:
        return ranking
    best = next((score for _, score in ranking.leading(1)), 0.0)

    def raised(score: float, weight: float) -> float:
        """Return the score with its gain.

        An entry outranks what the request ranks first only in proportion to its own score: plans for "deploy the service" do
        not make that the first entry for "roll back the service", whose words are nearly the same.
        """
        share = weight * weights["history.gain"]
        # Where the request matches nothing at all, what was planned before is all that is known.
        return max(score * (1 + share), min(score + share * best, math.nextafter(best, 0.0))) if best else weight

    if isinstance(ranking.scores, LazyScores):
        matches = ranking.scores.matches
        known = {index: matches.get(index, 0.0) for index in favoured}
        gains = {index: raised(score, favoured[index]) - score for index, score in known.items()}
        return attrs.evolve(ranking, scores=ranking.scores.raised(gains, LABEL))
    scores = [
        attrs.evolve(score, score=raised(score.score, favoured[score.index]), matched=(*score.matched, LABEL))
        if score.index in favoured
        else score
        for score in ranking.scores
    ]
    return attrs.evolve(ranking, scores=tuple(sorted(scores, key=lambda score: (-score.score, score.id))))
