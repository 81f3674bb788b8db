"""Dates in the form that a schema wants, and ranges of them: "from 11 to 13 September 2027"."""

from __future__ import annotations

from typing import Final

from helmdeck_language import Kind, iso_date
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.properties import Property, Role

_ENDING: Final = ("to", "until")
_MONTH_LENGTH: Final = 31


def in_iso(each: Property, text: str) -> str:
    """Return a date as ``YYYY-MM-DD`` if the schema states that form and the date has a year; otherwise unchanged."""
    return (iso_date(text) if each.wants_iso_date else "") or text


def fill_date_range(draft: Draft) -> None:
    """Set the first and the last date of a range that states the month once."""
    sides = {each.side: each for each in draft.open_inputs() if each.role is Role.DATE and each.wants_iso_date}
    dates = draft.free(Kind.DATE)
    if sides.keys() != {"source", "target"} or len(dates) != 1:
        return
    [place] = dates
    last = iso_date(draft.tokens[place].value)
    first = draft.tokens[place - 2] if place > 1 and draft.preposition(place - 1) in _ENDING else None
    if not last or first is None or first.kind is not Kind.NUMBER or not first.value.isdigit():
        return
    if 0 < int(first.value) < int(last[-2:]) <= _MONTH_LENGTH:
        draft.set(sides["source"], f"{last[:-2]}{int(first.value):02}", [place - 2])
        draft.set(sides["target"], last, [place])
