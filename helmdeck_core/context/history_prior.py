"""What was planned before gains weight in a ranking; it never drives out what the request itself says."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from helmdeck_core.domain.ranking import LazyScores, Ranking

PRIOR_WEIGHT = 0.25
"""What an entry that was planned before gains, in parts of the best score: enough to come before entries that match a little,
too little to pass one that is what the request asks for."""

MOST_PRIORS = 3
"""Entries that gain anything; whoever comes up pushes somebody out at the end, and that must stay a few."""

LABEL = "history:planned before"


def with_prior(ranking: Ranking, planned: Sequence[int]) -> Ranking:
    """The ranking with the weight of what was planned before; the order of all other entries stays as it is.

    :param planned: positions of entries, the most often planned first.
    """
    favoured = dict.fromkeys(planned[:MOST_PRIORS])
    if not favoured:
        return ranking
    best = next((score for _, score in ranking.leading(1)), 0.0)
    # Where the request matches nothing at all, what was planned before is all that is known.
    gain = best * PRIOR_WEIGHT or 1.0
    if isinstance(ranking.scores, LazyScores):
        return attrs.evolve(ranking, scores=ranking.scores.raised(dict.fromkeys(favoured, gain), LABEL))
    scores = [
        attrs.evolve(score, score=score.score + gain, matched=(*score.matched, LABEL))
        if score.index in favoured
        else score
        for score in ranking.scores
    ]
    return attrs.evolve(ranking, scores=tuple(sorted(scores, key=lambda score: (-score.score, score.id))))
