"""Prefers the entry whose objects take all that a part states: "delete the note 'old' from Ada" deletes a note, not Ada."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_language import stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fill import drafted
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.choice.choose import Scored
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.property_words import GENERIC_WORDS, PLAIN_WORDS, STORES
from helmdeck_planner.embedded.entries.units import NUMBER_WORDS
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.readings import reading

# What the odds of an entry are multiplied by if its objects leave no word of the part.
_WHOLE: Final = 15.0
_LEAST_FIELDS: Final = 2
# How likely a verb means what an entry does: "remember" adds, "tell" does not.
_CLOSE: Final = 0.8
_PLAIN: Final = frozenset(map(stem, PLAIN_WORDS | GENERIC_WORDS))


def by_shape(found: Sequence[Scored], part: Part, sources: Sources) -> list[Scored]:
    """Give an entry with objects the share of entries about the same things that take less of a part.

    :param found: the candidates with their evidence, the best first.
    """
    drafts = [drafted(part, each.profile, sources) for each in found]
    shaped = [
        place
        for place, draft in enumerate(drafts)
        # An entry for one thing does not take two.
        if _objects(draft) > (0 if found[place].is_complete else 1)
    ]
    if not shaped:
        return list(found)
    best = max(shaped, key=lambda place: (len(drafts[place].used_places), -place))
    own = found[best]
    less = [
        each
        for each, draft in zip(found, drafts, strict=True)
        if draft.used_places < drafts[best].used_places and _is_alike(each.profile, own.profile)
    ]
    share = (own.evidence or 0.0) + sum(each.evidence or 0.0 for each in less)
    meant = reading(part, sources.wording)
    verbs = {stem(part.verb), *(verb for verb, share in meant.verbs.items() if share >= _CLOSE)}
    names = {term for place in range(len(part.tokens)) for term in drafts[best].stems(place)} & _names(own.profile)
    is_act = any(each.is_complete and verbs & each.profile.verbs for each in (own, *less)) or bool(names)
    if is_act and meant.places.issuperset(_left(drafts[best])):
        share = share * _WHOLE / (1 + share * (_WHOLE - 1))
    chosen = attrs.evolve(own, evidence=share, is_named=own.is_named or is_act)
    return sorted(
        (chosen if each is own else each for each in found if each not in less),
        key=lambda each: -(each.evidence or 0.0),
    )


def _objects(draft: Draft) -> int:
    """Return how many objects of several fields a part states."""
    counts = (
        len(draft.args[each.name])
        for each in draft.profile.properties
        if each.name in draft.args and len([field for field in each.fields if field.is_required]) >= _LEAST_FIELDS
    )
    return max(counts, default=0)


def _names(profile: Profile) -> frozenset[str]:
    """Return the words for the objects that an entry takes, and for their fields."""
    fields = {stem(word) for each in profile.properties for field in each.fields for word in field.words}
    return (profile.nouns | fields) - _PLAIN


def _is_alike(profile: Profile, other: Profile) -> bool:
    """Whether two entries do the same kind of thing to the same things."""
    things = (profile.opening & other.opening) - profile.verbs - other.verbs - _PLAIN
    return profile.deletes == other.deletes and profile.writes == other.writes and bool(things)


def _left(draft: Draft) -> list[int]:
    """Return the places of the words and values that have no use."""
    return [
        place
        for place, token in enumerate(draft.tokens)
        if (token.is_value or (token.is_word and not draft.is_filler(place)))
        and place not in draft.used_places
        and place != draft.part.verb_place
        and token.word
        not in draft.wording.language.joints | draft.wording.language.naming | STORES | NUMBER_WORDS.keys()
        and not draft.stems(place) & draft.profile.nouns
    ]
