"""What was planned before gains weight in a ranking; it never drives out what the request itself says."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import attrs

from helmdeck_core.domain.ranking import LazyScores, Ranking

LABEL = "history:planned before"


def with_prior(ranking: Ranking, planned: Mapping[int, float], weights: Mapping[str, float]) -> Ranking:
    """The ranking with higher scores for planned entries; the order of all other entries stays as it is.

    :param planned: weights of positions of entries, 0 to 1, the highest first.
    :param weights: ``history.gain`` and ``history.entries``.
    """
    favoured = dict(itertools.islice(planned.items(), int(weights["history.entries"])))
    if not favoured or not weights["history.gain"]:
        return ranking
    best = next((score for _, score in ranking.leading(1)), 0.0)
    # Where the request matches nothing at all, what was planned before is all that is known.
    gains = {index: weight * (best * weights["history.gain"] or 1.0) for index, weight in favoured.items()}
    if isinstance(ranking.scores, LazyScores):
        return attrs.evolve(ranking, scores=ranking.scores.raised(gains, LABEL))
    scores = [
        attrs.evolve(score, score=score.score + gains[score.index], matched=(*score.matched, LABEL))
        if score.index in gains
        else score
        for score in ranking.scores
    ]
    return attrs.evolve(ranking, scores=tuple(sorted(scores, key=lambda score: (-score.score, score.id))))
