"""Parts that request no more than the step before them: "open a.txt and show me what is in it", "compare a and b, show both"."""

from __future__ import annotations

from typing import Final

from helmdeck_core import EntryKind
from helmdeck_language import ACTIONS, READING
from helmdeck_planner.embedded.choice.weighing import weigh
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.pick import Pick
from helmdeck_planner.embedded.request.parts import Part, refers
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

_EVERY: Final = word_list("all_of_them")


def only_shows(part: Part, before: Pick, wording: Wording) -> bool:
    """Whether a part requests no more than the result of the step before: "open a.txt and show me what is in it"."""
    profile = before.profile
    is_reading = part.is_question or bool(ACTIONS.get(part.verb, frozenset()) & READING)
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
    return not has_object and bool(ACTIONS.get(profile.verb, frozenset()) & READING)


def asks_again(part: Part, profile: Profile | None, before: Pick, wording: Wording) -> bool:
    """Whether a question is about what the step before returns as well: "how big is it, and when was it changed"."""
    if before.profile is None or before.profile.writes or not (part.is_question and before.part.is_question):
        return False
    if any(token.is_value for token in part.tokens):
        return False
    return profile is before.profile or (profile is None and _describes(part, before.profile, wording))


def _describes(part: Part, profile: Profile, wording: Wording) -> bool:
    """Whether a question about "it" has only words that describe what an entry returns."""
    weighted = weigh(part, wording)
    stems = [*weighted.objects, *weighted.tail]
    return refers(part, wording) and bool(stems) and all(weighted.matches(each, profile.text) for each in stems)
