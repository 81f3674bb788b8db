"""Decides whether a pipeline does what was requested, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Entry, EntryKind
from helmdeck_planner.embedded.effects import does_only, is_named
from helmdeck_planner.embedded.parts import Part
from helmdeck_planner.embedded.profiles import Profile, Profiles
from helmdeck_planner.embedded.weighing import weigh
from helmdeck_planner.embedded.wording import Wording
from helmdeck_selection import step_packs


def covering_pipeline(
    parts: Sequence[Part], chosen: Sequence[Profile | None], wording: Wording, profiles: Profiles
) -> Entry | None:
    """Return the pipeline that covers all parts and does nothing that they do not request."""
    wanted = {profile.entry.id for profile in chosen if profile is not None}
    if not parts or None in chosen:
        return None
    words = frozenset[str]().union(*(weigh(part, wording).every for part in parts))
    fitting: list[tuple[int, Entry]] = []
    for index, entry in enumerate(profiles.entries):
        if entry.kind is not EntryKind.PIPELINE:
            continue
        steps = set(step_packs(entry)) or set(entry.supersedes)
        is_whole = wanted == {entry.id} or (len(wanted) > 1 and steps == wanted)
        is_part = is_named(profiles[index], words) and wanted <= steps | {entry.id, *entry.supersedes}
        if (is_whole or is_part) and does_only(profiles[index], words, profiles, wanted):
            fitting.append((len(steps - wanted), entry))
    return min(fitting, key=lambda row: row[0])[1] if fitting else None
