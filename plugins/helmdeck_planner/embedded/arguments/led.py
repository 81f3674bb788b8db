"""Sets two inputs from "connect this to that", where a description has the same form, and from "this is a duplicate of that"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import Action, Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.lead_prepositions import lead_prepositions
from helmdeck_planner.embedded.arguments.refs import takes_ref
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.request.states import is_thing

_ROLES: Final = (Role.NAME, Role.TEXT, Role.ID, Role.CONTENT, Role.PATH)
_KINDS: Final = (Kind.ID, Kind.SLUG, Kind.PATH)
# The places of both in "connect web to backend".
_DIRECT: Final = 1
_LED: Final = 3
_BEING: Final = ("is", "was", ",")


def fill_led(draft: Draft) -> None:
    """Set what an entry acts on and where to: "connect web to backend" for "Connect a container to a network".

    Where it comes from may be in between: "move t4 from Home to Work".
    """
    inputs = _needed(draft, _ROLES)
    tokens = draft.tokens
    if len(inputs) != 2 or draft.part.verb_place != 0 or len(tokens) <= _LED or draft.profile.writes is False:
        return
    is_moved = draft.preposition(_LED - 1) == "from" and draft.preposition(_LED + 1) == "to"
    led = _LED + 2 if is_moved and len(tokens) > _LED + 2 else _LED
    leads = lead_prepositions(draft.profile)
    own = [each for each in inputs if not leads[each.name]]
    others = [each for each in inputs if draft.preposition(led - 1) in leads[each.name]]
    ends = len(tokens) == led + 1 or bool(draft.preposition(led + 1)) or tokens[led + 1].kind is Kind.MARK
    if not (len(own) == len(others) == 1 and ends and _is_name(draft, led, others[0])):
        return
    if _is_name(draft, _DIRECT, own[0]) or (tokens[_DIRECT].kind is Kind.QUOTE and own[0].role is not Role.ID):
        draft.set(own[0], tokens[_DIRECT].value, [_DIRECT])
        draft.set(others[0], tokens[led].value, [led], range(led - 2, led - 1) if is_moved else ())


def fill_named_as(draft: Draft) -> None:
    """Set a new name and what it is for from "tag main as v2.0"."""
    inputs = _needed(draft, _ROLES)
    own = [each for each in inputs if each.labels & draft.profile.nouns]
    tokens = draft.tokens
    place = next((place for place, token in enumerate(tokens) if token.word == "as" and place > _DIRECT), -1) + 1
    makes = Action.CREATE in draft.profile.actions
    if not makes or len(own) != 1 or draft.part.verb_place != 0 or not 0 < place < len(tokens):
        return
    others = [each for each in inputs if each is not own[0] and takes_ref(draft.profile, each)]
    if len(others) == 1 and tokens[place].kind is not Kind.QUOTE and _is_name(draft, _DIRECT, others[0]):
        draft.set(own[0], tokens[place].value, [place])
        draft.set(others[0], tokens[_DIRECT].value, [_DIRECT])


def fill_related(draft: Draft) -> None:
    """Set two inputs from "c13 is a duplicate of c12", of which one is named so."""
    inputs = _needed(draft, (Role.ID,))
    tokens = draft.tokens
    for place in range(2, len(tokens) - 2) if len(inputs) == 2 else ():
        own = [each for each in inputs if draft.stems(place) & each.labels]
        is_of = tokens[place + 1].word == "of" and draft.is_one_of(place - 1, "articles")
        subject = place - 2 - (tokens[place - 2].word in _BEING)
        is_pair = len(own) == 1 and is_of and subject >= 0 and is_thing(tokens[subject]) and is_thing(tokens[place + 2])
        if is_pair:
            [other] = [each for each in inputs if each is not own[0]]
            draft.set(own[0], tokens[subject].value, [subject])
            draft.set(other, tokens[place + 2].value, [place + 2])
            return


def _needed(draft: Draft, roles: Sequence[Role]) -> list[Property]:
    return [each for each in draft.open_inputs() if each.is_required and each.role in roles and not each.is_list]


def _is_name(draft: Draft, place: int, each: Property) -> bool:
    """Whether a word or an id is free, and no label."""
    token = draft.tokens[place]
    is_name = token.kind in _KINDS or (token.is_word and not draft.is_filler(place))
    return is_name and place not in draft.used_places and not draft.stems(place) & (each.labels | draft.profile.text)
