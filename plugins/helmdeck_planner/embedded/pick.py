"""A part of a request with the entry that serves it."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from helmdeck_core import PIPELINE_RUN, UNKNOWN_TOOL, EntryKind
from helmdeck_planner.embedded.choice.choose import Scored
from helmdeck_planner.embedded.choice.confidence import ADVISED, UNSURE, probability, score
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.request.parts import Part


@attrs.frozen
class Pick:
    """A part with its entry, if any.

    :ivar found: the candidates, the best first; a gap has some where none is probable enough.
    """

    part: Part
    profile: Profile | None
    found: Sequence[Scored] = ()

    @property
    def probability(self) -> float | None:
        """The probability that the best candidate is right; ``None`` without one."""
        return probability(self.found) if self.found else None

    @property
    def score(self) -> float:
        """How well the best candidate serves the part; 0 without one."""
        return score(self.found) if self.found else 0.0

    @property
    def is_unsure(self) -> bool:
        """Whether the step is one to check."""
        if self.profile is None:
            return bool(self.found) and score(self.found) < UNSURE
        return probability(self.found) < ADVISED

    @property
    def tools(self) -> tuple[str, ...]:
        """Tool names that an executed step of this pick can have."""
        if self.profile is None:
            return (UNKNOWN_TOOL,)
        entry = self.profile.entry
        return (entry.id, PIPELINE_RUN) if entry.kind is EntryKind.PIPELINE else (entry.id,)


def is_risky(found: Sequence[Scored]) -> bool:
    """Whether an entry may change something that a part does not clearly request."""
    return found[0].profile.writes is not False and score(found) < UNSURE


def taking_all(found: Sequence[Scored]) -> Scored | None:
    """Return the entry that does what the best one does with all values at once: "read a.txt and the file b.txt"."""
    best = found[0]
    return next(
        (
            row
            for row in found[1:]
            if row.is_complete
            and row.unused < best.unused
            and row.unused == 0
            and row.profile.verb == best.profile.verb
            and set(best.profile.name) & set(row.profile.name)
            and any(each.is_list for each in row.profile.required)
        ),
        None,
    )
