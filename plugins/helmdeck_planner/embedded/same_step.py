"""Parts that add to the step before them or repeat it: "reserve 6 seats. Under the name Brandt", "open a.txt and show it"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_core import EntryKind
from helmdeck_language import READING
from helmdeck_planner.embedded.arguments.fill import arguments_of, drafted, fill
from helmdeck_planner.embedded.arguments.labels import labels_of
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.continuations import together
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.pick import Pick
from helmdeck_planner.embedded.request.parts import Part, refers
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

_ANOTHER: Final = word_list("another")
# Of inputs that identify what a step acts on.
_THINGS: Final = (Role.PATH, Role.ID, Role.URL)
_EVERY: Final = word_list("all_of_them")


def adds_nothing(part: Part, profile: Profile | None, before: Pick, wording: Wording) -> bool:
    """Whether a part requests no more than the step before, whatever its values.

    :param profile: the entry of the part, if any.
    """
    return _only_shows(part, before, wording) or _asks_again(part, profile, before)


def of_same_step(before: Pick, after: Pick, sources: Sources) -> Sequence[Pick]:
    """Return one pick for two parts with the same entry where the second one states more of the same step.

    "read a.txt and read b.txt" are two steps, "create an issue 'Crash'. Label it bug" is one. Where the step cannot take what the second
    part states, that part becomes a gap.

    :param sources: with the parts before both as the earlier ones.
    :returns: both picks unchanged if they are two steps.
    """
    if field := _with_field(before, after, sources):
        return (field,)
    both, profile, tokens = (before, after), before.profile, after.part.tokens
    if profile is None or after.profile is not profile or not profile.properties:
        return both
    if (after.part.verb and after.part.verb == before.part.verb) or any(token.word in _ANOTHER for token in tokens):
        return both
    args = fill(before.part, profile, sources)
    own = arguments_of(drafted(after.part, profile, attrs.evolve(sources, earlier=(), settings=())))
    things = [each.name for each in profile.required if each.role in _THINGS and each.name in own]
    if any(args.get(name, own[name]) != own[name] for name in things):
        return both  # "read a.txt and the tail of b.txt, 60 lines of that"
    if any(args.get(name, value) != value for name, value in own.items()):
        return (before, attrs.evolve(after, profile=None)) if refers(after.part, sources.wording) else both
    if profile.writes is not False and own and own.keys() <= args.keys():
        return both  # "press Tab, then press Tab"
    joined = together(before.part, after.part, sources.request, sources.wording)
    more = fill(joined, profile, sources)
    if all(more.get(name) == value for name, value in {**own, **args}.items()):
        return (attrs.evolve(before, part=joined),)
    return (before, attrs.evolve(after, profile=None)) if own else (before,)


def _with_field(before: Pick, after: Pick, sources: Sources) -> Pick | None:
    """Return the step of two parts with one verb that states inputs of it by their labels: "set the brightness to 50 and the color to red".

    "set the lamp to 20% and the volume to 30%" names two things.
    """
    first, second = before.part, after.part
    profile = before.profile or after.profile
    has_one_verb = first.verb_place >= 0 and first.tokens[first.verb_place].start == second.tokens[0].start
    if profile is None or not has_one_verb or after.profile not in (None, profile):
        return None
    # "remove the containers web and api, by force" has two
    stated_first, stated_second = (fill(part, profile, sources) for part in (first, second))
    needed = [each.name for each in profile.required]
    if any(
        name in stated_first and stated_second.get(name, stated_first[name]) != stated_first[name] for name in needed
    ):
        return None
    own = attrs.evolve(second, tokens=second.tokens[1:])
    joined = together(first, own, sources.request, sources.wording)
    draft = drafted(joined, profile, sources)
    start = len(first.tokens)
    stated = [
        each
        for each in profile.properties
        if each.role not in _THINGS and any(place >= start for place in draft.stated_at.get(each.name, ()))
    ]
    words = frozenset[str]().union(*(draft.stems(place) for place in range(start, len(joined.tokens))))
    is_named = bool(stated) and all(words & labels_of(draft, each) for each in stated)
    is_taken = all(place in draft.used_places for place, token in enumerate(joined.tokens) if token.is_value)
    if not (is_named and is_taken and draft.is_complete):
        return None
    return Pick(joined, profile, before.found if before.profile is not None else after.found)


def _only_shows(part: Part, before: Pick, wording: Wording) -> bool:
    """Whether a part requests no more than the result of the step before: "open a.txt and show me what is in it"."""
    profile = before.profile
    is_reading = part.is_question or bool(part.actions & READING)
    if (
        profile is None
        or profile.writes
        or not is_reading
        or not (refers(part, wording) or any(token.word in _EVERY for token in part.tokens))
        or profile.entry.kind is EntryKind.PIPELINE
    ):
        return False
    has_object = any(
        token.is_value
        or (
            token.is_word
            and not wording.is_filler(token.word)
            and token.word not in wording.language.references | _EVERY
        )
        for token in part.content
    )
    return not has_object and bool(profile.actions & READING)


def _asks_again(part: Part, profile: Profile | None, before: Pick) -> bool:
    """Whether a question is about what the step before returns as well: "how big is it, and when was it changed"."""
    if before.profile is None or before.profile.writes or not (part.is_question and before.part.is_question):
        return False
    asked = {token.value for token in before.part.tokens}
    if any(token.is_value or (token.value.istitle() and token.value not in asked) for token in part.tokens[1:]):
        return False  # "what time is it in Denver, and what time is it in Tokyo?"
    return profile is before.profile
