"""Decides whether a pipeline does what was requested, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import Entry, EntryKind
from helmdeck_plugins.lexical.choice import weigh
from helmdeck_plugins.lexical.fields import step_packs
from helmdeck_plugins.lexical.parts import Part
from helmdeck_plugins.lexical.profiles import Profile, Profiles
from helmdeck_plugins.lexical.wording import Wording


def covering_pipeline(
    parts: Sequence[Part], chosen: Sequence[Profile | None], wording: Wording, profiles: Profiles
) -> Entry | None:
    """Return the pipeline that covers all parts and does nothing that they do not request."""
    entries = [profile.entry for profile in chosen if profile is not None]
    if not parts or len(entries) < len(parts):
        return None
    every = frozenset[str]().union(*(weigh(part, wording).every for part in parts))
    wanted = {entry.id for entry in entries}
    fitting: list[tuple[int, Entry]] = []
    for index, entry in enumerate(profiles.entries):
        if entry.kind is not EntryKind.PIPELINE:
            continue
        steps = set(step_packs(entry)) or set(entry.supersedes)
        named = any(set(phrase) <= every for phrase in profiles[index].phrases if len(phrase) > 1)
        is_whole = wanted == {entry.id} or (len(wanted) > 1 and steps == wanted)
        if not is_whole and not (named and wanted <= steps | {entry.id} | set(entry.supersedes)):
            continue
        if does_only(entry, wanted, every, profiles):
            fitting.append((len(steps - wanted), entry))
    return min(fitting, key=lambda row: row[0])[1] if fitting else None


def does_only(pipeline: Entry, wanted: set[str], every: frozenset[str], profiles: Profiles) -> bool:
    """Whether every step of a pipeline that changes something is requested."""
    for pack in step_packs(pipeline):
        step = profiles.of(pack)
        if step is None or not step.writes or pack in wanted:
            continue
        words = {*step.name, *step.verbs, *(term for phrase in step.phrases for term in phrase)}
        if not words & every:
            return False
    return True
