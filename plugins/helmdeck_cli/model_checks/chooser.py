"""Decides what should choose the tools for a model, from its right choices and those of the ranker on the same requests."""

from __future__ import annotations

from typing import Final

from helmdeck_core import CHOSEN_BY_MODEL

RANKER: Final = "ranker"
LOGPROBS: Final = "logprobs"

SLIPS: Final = 1
"""Requests by which a model may be behind the ranker and still choose itself."""


def proposed_chooser(*, ranker_only: int, model_only: int, has_likelihoods: bool) -> str:
    """Return the chooser for the budget of a model: ``model`` only if it has shown that it chooses as well as the ranker.

    No test of twenty requests shows a small difference, so a model that may be worse does not choose.

    :param ranker_only: requests for which the ranker has the right tool and the model a wrong one.
    :param model_only: the reverse.
    :param has_likelihoods: the server computes the likelihood of a text, by which even a model that cannot choose improves the ranking.

    >>> from helmdeck_cli import proposed_chooser
    >>> proposed_chooser(ranker_only=12, model_only=1, has_likelihoods=False)
    'ranker'
    >>> proposed_chooser(ranker_only=1, model_only=12, has_likelihoods=False)
    'model'
    """
    if ranker_only - model_only <= SLIPS:
        return CHOSEN_BY_MODEL
    return LOGPROBS if has_likelihoods else RANKER
