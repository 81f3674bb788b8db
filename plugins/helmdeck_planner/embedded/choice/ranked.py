"""Chooses an entry without an input schema by the score of the ranker: values show nothing where every value fits."""

from __future__ import annotations

import math
from typing import Final

from helmdeck_core import EntryKind
from helmdeck_planner.embedded.choice.choose import Scored
from helmdeck_planner.embedded.choice.effects import is_allowed
from helmdeck_planner.embedded.entries.profiles import Profile, Profiles
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_selection import LexicalIndex

_CANDIDATES: Final = 8
# Of the logarithm of a score relative to the best one, and the score of a gap. Fitted on every other one of 700 requests of MetaTool
# and Seal-Tools; ``benchmarks/first_use/confidence.py`` measures the others.
_RANK: Final = 5.5
_NONE: Final = -0.75


def is_bare(profile: Profile) -> bool:
    """Whether an entry has no input schema."""
    is_entry = profile.entry.kind is not EntryKind.PIPELINE
    return is_entry and not profile.properties and not profile.takes_nothing


def choose_by_rank(part: Part, lexical: LexicalIndex, profiles: Profiles) -> list[Scored]:
    """Return the best entries of the ranking with their probabilities; none if the first one has an input schema."""
    leading = lexical.rank(part.text).leading(_CANDIDATES)
    if not leading or not is_bare(profiles[leading[0][0]]):
        return []
    best = leading[0][1]
    powers = [(score / best) ** _RANK for _, score in leading]
    whole = sum(powers) + math.exp(_NONE)
    return [
        Scored(
            profile,
            total=power,
            stated=1.0,
            unused=0.0,
            unexplained=0.0,
            leaves_ids=False,
            is_complete=is_bare(profile),
            is_named=True,
            takes_any=False,
            evidence=power / whole,
        )
        for (index, _), power in zip(leading, powers, strict=True)
        if not (profile := profiles[index]).deletes or is_allowed(part, profile, lexical.lexicon)
    ]
