"""Leaves out the steps whose condition no step of the plan checks: "if it rains, delete the task", "merge it when the checks pass"."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from helmdeck_language import scan
from helmdeck_planner.embedded.arguments.fill import fill
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.pick import Pick
from helmdeck_planner.embedded.request.wording import Wording


def without_unchecked(picks: Sequence[Pick], sources: Sources) -> tuple[Pick, ...]:
    """Return picks without the entry of each that changes something under a condition, unless an earlier one reads what it depends on."""
    wording = sources.wording
    return tuple(
        attrs.evolve(pick, profile=None, found=())
        if pick.part.condition and _acts(pick, sources) and not _is_checked(pick.part.condition, picks[:place], wording)
        else pick
        for place, pick in enumerate(picks)
    )


def _acts(pick: Pick, sources: Sources) -> bool:
    """Whether a step changes something; a condition in one of its texts is none of the step: "note that I come when I can"."""
    if pick.profile is None or pick.profile.answers:
        return False
    texts = (str(value) for value in fill(pick.part, pick.profile, sources).values())
    return not any(pick.part.condition in text for text in texts)


def _is_checked(condition: str, before: Sequence[Pick], wording: Wording) -> bool:
    """Whether a step reads what a condition names, or what it refers to: "check order 7, and if it has not been sent, cancel it"."""
    reading = [pick.part for pick in before if pick.profile is not None and pick.profile.answers]
    refers = any(token.word in wording.language.references for token in scan(condition))
    return bool(reading) and (refers or any(condition in part.text for part in reading))
