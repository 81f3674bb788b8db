"""Decides what should choose the tools for a model, from its right choices and those of the ranker on the same requests."""

from __future__ import annotations

import math
from typing import Final

from helmdeck_core import CHOSEN_BY_MODEL

RANKER: Final = "ranker"
LOGPROBS: Final = "logprobs"

MOST_CHANCE: Final = 0.1
"""Probability, one-sided, up to which a difference does not count as chance; twenty requests can hardly show less."""


def chance(wins: int, losses: int) -> float:
    """Return the probability of at least so many wins if both sides were equally good (sign test).

    :param wins: requests that only the one side has right; ``losses`` are those of the other side.
    """
    trials = wins + losses
    favourable = sum(math.comb(trials, count) for count in range(wins, trials + 1))
    return float(favourable / 2**trials)


def proposed_chooser(*, ranker_only: int, model_only: int, has_likelihoods: bool) -> str:
    """Return the chooser for the budget of a model; ``model`` unless the ranker is certainly better.

    A model that is no worse than the ranker chooses itself: requests on which both are right tell nothing about harder ones.

    :param ranker_only: requests for which the ranker has the right tool and the model a wrong one.
    :param model_only: the reverse.
    :param has_likelihoods: the server computes the likelihood of a text, by which even a model that cannot choose improves the ranking.

    >>> from helmdeck_cli import proposed_chooser
    >>> proposed_chooser(ranker_only=12, model_only=1, has_likelihoods=False)
    'ranker'
    >>> proposed_chooser(ranker_only=1, model_only=12, has_likelihoods=False)
    'model'
    """
    if chance(ranker_only, model_only) > MOST_CHANCE:
        return CHOSEN_BY_MODEL
    return LOGPROBS if has_likelihoods else RANKER
