"""The chooser ``ranker``: the best entry of the ranker, without asking the model.

It is for models that choose no better than the ranker does, and are worth their time for arguments and text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_core import Choice, ChoiceTask, Chooser, hookimpl
from helmdeck_planner.choosers.parts import Part, candidates, next_part, read_choice
from helmdeck_planner.choosers.probability import RANKER_ALONE, probabilities

NAME: Final = "ranker"
CANDIDATES: Final = 8


async def choose(task: ChoiceTask) -> Choice:
    """Choose the best entry for the next part of the request."""
    part = await next_part(task)
    return Choice(is_complete=True) if part is None else ranked(task, part)


def ranked(task: ChoiceTask, part: Part, reason: str = "") -> Choice:
    """The choice of the ranker for a part.

    :param reason: why no other chooser chose.
    """
    if settled := read_choice(part):
        return settled
    listed = candidates(task, part, CANDIDATES)
    if not listed:
        return Choice(
            part=part.text, has_more=part.has_more, is_sure=False, reason=reason or "no entry matches the request"
        )
    shares = probabilities(listed, None, RANKER_ALONE)
    return Choice(
        entry_id=listed[0].entry.id,
        probabilities=shares,
        part=part.text,
        is_sure=shares[listed[0].entry.id] >= RANKER_ALONE.sure and not listed[0].is_weak,
        has_more=part.has_more,
        reason=reason or "the best entry of the ranking",
    )


@hookimpl
def helmdeck_choosers() -> Sequence[Chooser]:
    """The chooser."""
    return (
        Chooser(name=NAME, choose=choose, summary="the best entry of the ranker, without asking the model", order=1),
    )
