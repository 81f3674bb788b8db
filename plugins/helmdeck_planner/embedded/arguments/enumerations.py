"""Repeats a part for each of several values, if its entry takes one value at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_language import Kind, Token
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.wording import Wording

_KINDS: Final = {
    Role.URL: (Kind.URL,),
    Role.PATH: (Kind.PATH,),
    Role.ID: (Kind.ID,),
    Role.EXPRESSION: (Kind.EXPRESSION,),
    Role.ZONE: (Kind.SLUG,),
    Role.QUERY: (Kind.QUOTE,),
    Role.NAME: (Kind.QUOTE,),
    Role.PLACE: (Kind.WORD,),
}
_MAX_VALUES: Final = 20


def one_value_each(part: Part, profile: Profile, wording: Wording) -> list[Part]:
    """Return a part for each value in "cancel order A-1 and A-2"; the part itself if its entry takes a list, or one value."""
    for role, kinds in _KINDS.items():
        inputs = [each for each in profile.properties if each.role is role]
        if len(inputs) != 1 or inputs[0].is_list or not inputs[0].is_required or _shares_kind(inputs[0], profile):
            continue
        runs = _runs(part.tokens, kinds, wording)
        if 1 < len(runs) <= _MAX_VALUES:
            return [_with_value(part, runs, place) for place in range(len(runs))]
    return [part]


def _shares_kind(own: Property, profile: Profile) -> bool:
    """Whether another required input takes values of the same kind."""
    return any(
        each is not own and each.is_required and set(_KINDS.get(each.role, ())) & set(_KINDS[own.role])
        for each in profile.properties
    ) or any(each.role in (Role.CONTENT, Role.TEXT) and each.is_required for each in profile.properties)


def _runs(tokens: Sequence[Token], kinds: Sequence[Kind], wording: Wording) -> list[tuple[int, int]]:
    """Return the places of values that are joined by commas and conjunctions, each from its first to after its last token."""
    runs: list[tuple[int, int]] = []
    place = 0
    while place < len(tokens):
        if not _is_value(tokens, place, kinds):
            place += 1
            continue
        end = place + 1
        while kinds == (Kind.WORD,) and end < len(tokens) and _is_value(tokens, end, kinds):
            end += 1
        if runs and not _are_joined(tokens[runs[-1][1] : place], wording):
            return []
        runs.append((place, end))
        place = end
    return runs


def _is_value(tokens: Sequence[Token], place: int, kinds: Sequence[Kind]) -> bool:
    token = tokens[place]
    if token.kind not in kinds:
        return False
    return token.kind is not Kind.WORD or (place > 0 and token.value[:1].isupper())


def _are_joined(between: Sequence[Token], wording: Wording) -> bool:
    language = wording.language
    joints = language.joints | language.strong_joints
    has_joint = any(token.word in joints or token.value in ",&" for token in between)
    return has_joint and all(
        token.word in joints
        or token.value in ",&"
        or token.word in language.determiners
        or token.word in language.prepositions
        for token in between
    )


def _with_value(part: Part, runs: Sequence[tuple[int, int]], chosen: int) -> Part:
    """Return the part without the other values."""
    first, last = runs[0][0], runs[-1][1]
    own = runs[chosen]
    tokens = (*part.tokens[:first], *part.tokens[own[0] : own[1]], *part.tokens[last:])
    return attrs.evolve(part, tokens=tokens)
