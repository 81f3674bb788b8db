"""Fills an input that takes any fields: "add a row with Name 'Ada' and Age 36", "set Status to Archived"."""

from __future__ import annotations

from typing import Any, Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.property_words import REPLACING_VERBS, SETTING_VERBS

_VALUES: Final = (Kind.QUOTE, Kind.CODE, Kind.NUMBER, Kind.EMAIL, Kind.URL, Kind.DATE)
_JOINTS: Final = (":", "=")


def fill_objects(draft: Draft) -> None:
    """Set the only required input that takes any fields."""
    inputs = [each for each in draft.open_inputs() if each.is_object and each.is_required]
    if len(inputs) != 1:
        return
    fields: dict[str, Any] = {}
    places: list[int] = []
    place = draft.part.verb_place + 1
    while place < len(draft.tokens):
        if found := _field(draft, place):
            value, end = found
            fields[draft.tokens[place].value] = value
            places += range(place, end)
            place = end
        else:
            place += 1
    if fields:
        draft.set(inputs[0], fields, places)


def _field(draft: Draft, place: int) -> tuple[Any, int] | None:
    """Return the value of the field whose name is at a place, and the place after it."""
    token = draft.tokens[place]
    is_name = token.is_word and place not in draft.used_places and not draft.is_filler(place)
    if not is_name or draft.stems(place) & (frozenset(draft.profile.name) | draft.profile.verbs):
        return None
    start, is_set = place + 1, False
    while start < len(draft.tokens) and _joins(draft, start):
        is_set = True
        start += 1
    if start >= len(draft.tokens) or start in draft.used_places:
        return None
    following = draft.tokens[start]
    if following.kind in _VALUES and (is_set or token.value[:1].isupper() or following.kind is Kind.QUOTE):
        return _typed(following.value, following.kind), start + 1
    sets = draft.part.verb in REPLACING_VERBS | SETTING_VERBS
    if is_set and sets and following.is_word and not draft.is_filler(start):
        end = _phrase_end(draft, start)
        return draft.text(start, end - 1), end
    return None


def _joins(draft: Draft, place: int) -> bool:
    """Whether a token is between a field and its value: "is now", "to", "=" and the like."""
    return draft.tokens[place].value in _JOINTS or draft.is_one_of(place, "field_joints")


def _phrase_end(draft: Draft, start: int) -> int:
    end = start
    while end < len(draft.tokens) and end not in draft.used_places and draft.tokens[end].is_word:
        if draft.tokens[end].word in draft.wording.language.joints or draft.preposition(end):
            break
        end += 1
    return end


def _typed(text: str, kind: Kind) -> str | int | float:
    if kind is not Kind.NUMBER:
        return text
    try:
        return int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text
