"""Decides whether a pipeline does what was requested, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from helmdeck_core import Entry, EntryKind
from helmdeck_language import stem
from helmdeck_planner.embedded.choice.weighing import weigh
from helmdeck_planner.embedded.entries.profiles import Profile, Profiles
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.wording import Wording
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


def does_only(profile: Profile, words: frozenset[str], profiles: Profiles, chosen: Collection[str] = ()) -> bool:
    """Whether a pipeline is what a request names, and every step of it that changes something is requested.

    :param words: stems of the request.
    :param chosen: the entries of its parts.
    """
    if not is_named(profile, words) and not chosen:
        return False
    for pack in step_packs(profile.entry):
        step = profiles.of(pack)
        if step is None or not step.writes or pack in chosen:
            continue
        if words.isdisjoint({*step.name, *step.verbs, *(term for phrase in step.phrases for term in phrase)}):
            return False
    return True


def is_named(profile: Profile, words: frozenset[str]) -> bool:
    """Whether a request contains a keyword phrase of an entry, or its whole name."""
    return any(set(phrase) <= words for phrase in profile.phrases if len(phrase) > 1) or (
        len(profile.name) > 1 and {stem(profile.verb), *profile.name} <= words
    )
