"""Names that a list input takes, and those behind a verb that is named as an input: "label it bug and auth", "assign it to ana"."""

from __future__ import annotations

from typing import Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.labels import word_run
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.request.parts import Part

_NAMES: Final = (Kind.WORD, Kind.ID, Kind.SLUG, Kind.QUOTE, Kind.HASH)
_MIN_VERB: Final = 4


def set_names(draft: Draft, each: Property, places: list[int]) -> bool:
    """Set an input from a name; a list from all names that commas and "and" join to it."""
    runs = joined_names(draft, places) if each.is_list else [places]
    values = [draft.text(run[0], run[-1]) for run in runs]
    return draft.set(each, values if each.is_list else values[0], [place for run in runs for place in run])


def joined_names(draft: Draft, first: list[int]) -> list[list[int]]:
    """Return a name, and the names that commas and "and" join to it: "Anna, Ben and Zoe"."""
    runs, joints = [first], draft.wording.language.joints
    place = first[-1] + 1
    while place + 1 < len(draft.tokens) and (draft.tokens[place].value == "," or draft.tokens[place].word in joints):
        following = place + 1
        if is_name_of_list(draft, following):
            runs.append(word_run(draft, following))
            place = runs[-1][-1]
        place += 1
    return runs


def is_name_of_list(draft: Draft, place: int) -> bool:
    """Whether a word or value continues a list of names; in "label bug, assignee ana", the label of another input does not."""
    labels = frozenset[str]().union(*(each.labels for each in draft.profile.properties))
    is_free = draft.tokens[place].kind in _NAMES and place not in draft.used_places and not draft.is_filler(place)
    return is_free and not draft.stems(place) & labels


def fill_by_verb(draft: Draft, part: Part) -> bool:
    """Set the only open input that the verb of a part names, and return whether it was.

    :param part: the part of the step, or one behind it that refers to it.
    """
    own = draft if part is draft.part else Draft(draft.source, part, draft.profile, draft.wording)
    verb = part.verb_place
    inputs = [each for each in draft.open_inputs() if verb >= 0 and _is_named_by(own, each, verb)]
    if len(inputs) != 1:
        return False
    refers = verb + 1 < len(own.tokens) and own.tokens[verb + 1].word in own.wording.language.references
    starts = [
        place + 1
        for place in range(verb + 1, len(own.tokens) - 1)
        if own.preposition(place) in ("to", "with") or (refers and place == verb + 1 and not own.preposition(place + 1))
    ]
    starts = [place for place in starts if is_name_of_list(own, place)]
    if not starts or not (refers or own is draft):
        return False
    runs = joined_names(own, word_run(own, starts[-1]))
    end = runs[-1][-1] + 1
    ends = end >= len(own.tokens) or not own.tokens[end].is_word or bool(own.preposition(end))
    return ends and set_names(own, inputs[0], runs[0]) and (own is draft or _take(draft, inputs[0], own))


def _is_named_by(draft: Draft, each: Property, verb: int) -> bool:
    """Whether a verb is the name of an input, or its beginning: "label", "assign" for ``assignees``."""
    word = draft.tokens[verb].word
    is_start = len(word) >= _MIN_VERB and any(name.startswith(word) and name != word for name in each.words)
    return each.role in (Role.NAME, Role.TEXT) and bool(draft.stems(verb) & each.labels or is_start)


def _take(draft: Draft, each: Property, other: Draft) -> bool:
    """Take the value of an input from the draft of another part."""
    draft.stated_by.append(other.part)
    return draft.set(each, other.args[each.name], [])
