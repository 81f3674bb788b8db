"""Sets a required switch from what a command turns on or off: "turn dark mode on in staging", "disable it"."""

from __future__ import annotations

from typing import Final

from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.request.opposites import requested_sides
from helmdeck_planner.embedded.request.word_lists import word_list

_STATES: Final = frozenset(("on", "enabled", "enable", "active", "activated", "power", "powered"))
_ON: Final = frozenset(("on", "enable", "activate", "start"))
_OFF: Final = frozenset(("off", "disable", "deactivate", "stop"))
_TURNING: Final = word_list("switching")


def fill_turned(draft: Draft) -> None:
    """Set the only open required switch that is named as a state, from the verb and from "on" or "off"."""
    inputs = [
        each
        for each in draft.open_inputs()
        if each.is_required and each.role is Role.BOOLEAN and not _STATES.isdisjoint(each.words)
    ]
    if len(inputs) != 1 or draft.part.is_question:
        return
    stated = requested_sides(draft.part)
    if draft.part.verb in _TURNING:
        stated |= {draft.tokens[place].word for place in range(1, len(draft.tokens)) if _is_particle(draft, place)}
    is_on, is_off = not _ON.isdisjoint(stated), not _OFF.isdisjoint(stated)
    if is_on != is_off:
        draft.set(inputs[0], is_on, [])


def _is_particle(draft: Draft, place: int) -> bool:
    """Whether "on" or "off" belongs to the verb, and leads no noun: "turn x on in staging", not "on the server"."""
    following = draft.tokens[place + 1] if place + 1 < len(draft.tokens) else None
    ends = following is None or not following.is_word or bool(draft.preposition(place + 1))
    word = draft.tokens[place].word
    return word == "off" or (word == "on" and ends)
