"""Dates in the form that a schema wants, with the time beside them, and ranges of them: "from 11 to 13 September 2027"."""

from __future__ import annotations

import re
from typing import Final

from helmdeck_language import Kind, iso_date
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.refused import DATE_AND_TIME
from helmdeck_planner.embedded.arguments.times import Time
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.request.parts import Part

_ENDING: Final = ("to", "until")
# What is left out of a range: "nothing older than", "nothing after".
_EARLIER: Final = ("older", "earlier", "before")
_LATER: Final = ("newer", "later", "after", "younger")
_MONTH_LENGTH: Final = 31
_MINUTES: Final = 60
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d")
_FORM: Final = re.compile(r"\biso.?8601\b", re.IGNORECASE)
_DAYS: Final = re.compile(r"\b(?:date|day)s?\b", re.IGNORECASE)
_SPACED: Final = re.compile(r"\byyyy-mm-dd hh:mm\b", re.IGNORECASE)
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d\S*")


def in_iso(each: Property, text: str) -> str:
    """Return a date as ``YYYY-MM-DD`` if the schema states that form and the date has a year; otherwise unchanged."""
    return (iso_date(text) if each.wants_iso_date else "") or text


def is_moment(draft: Draft, place: int) -> bool:
    """Whether a token is a date with a time: "2027-03-01T09:00"."""
    return draft.tokens[place].kind is Kind.DATE and bool(_MOMENT.fullmatch(draft.tokens[place].value))


def takes_moment(each: Property) -> bool:
    """Whether a date may have a time: "YYYY-MM-DD HH:MM", "Date and time", "When to send it, ISO 8601"."""
    is_stated = _SPACED.search(each.text) or DATE_AND_TIME.search(each.text)
    return bool(is_stated or (_FORM.search(each.text) and not _DAYS.search(each.text)))


def with_date(draft: Draft, each: Property, time: Time) -> tuple[str, list[int]] | None:
    """Return a time with the date right beside it in ISO 8601, and the places of both; ``None`` if one of them is not clear.

    An input that takes a time, of an entry that takes no date, takes both: "on 3 May 2027 at 14:30".
    """
    if each.clock is not None or time.minutes is None or draft.profile.takes(Role.DATE) != takes_moment(each):
        return None
    before, after = time.places[0] - 1, time.places[-1] + 1
    before -= draft.preposition(before) in ("at", "from") or draft.tokens[before].value == ","
    after += draft.preposition(after) == "on"
    for place in (before, after):
        if not 0 <= place < len(draft.tokens) or place in draft.used_places:
            continue
        token = draft.tokens[place]
        date = token.value if _ISO.fullmatch(token.value) else iso_date(token.value)
        if date and token.kind is Kind.DATE:
            hour, minute = divmod(time.minutes, _MINUTES)
            text = f"{date}{' ' if _SPACED.search(each.text) else 'T'}{hour:02}:{minute:02}"
            return text, sorted((place, *time.places))
    return None


def fill_date_limit(draft: Draft, part: Part) -> None:
    """Set the first or the last date of a range from an excluded part: "nothing older than 2025-03-01", "nothing after 4 May"."""
    own = draft.beside(part)
    places = own.free(Kind.DATE)
    if len(places) != 1 or places[0] == 0:
        return
    [place] = places
    is_compared = own.tokens[place - 1].word == "than" and place > 1
    word = own.tokens[place - 2].word if is_compared else own.tokens[place - 1].word
    side = "source" if word in _EARLIER else "target" if word in _LATER else ""
    inputs = [each for each in draft.open_inputs() if side and each.role is Role.DATE and each.side == side]
    if len(inputs) == 1 and draft.set(inputs[0], in_iso(inputs[0], own.tokens[place].value), []):
        draft.stated_by.append(part)


def fill_month(draft: Draft) -> None:
    """Set a year and a month from "March 2025"."""
    inputs = {
        word: each
        for word in ("year", "month")
        for each in draft.open_inputs()
        if each.role is Role.NUMBER and each.words == (word,)
    }
    for place in draft.free(Kind.WORD, Kind.DATE):
        following = draft.tokens[place + 1 : place + 2]
        is_pair = bool(following) and following[0].kind is Kind.NUMBER and draft.tokens[place].is_word
        text = f"{draft.tokens[place].value} {following[0].value}" if is_pair else draft.tokens[place].value
        date = iso_date(f"1 {text}")
        if date and len(inputs) == 2:
            draft.set(inputs["year"], int(date[:4]), [place, place + 1] if is_pair else [place])
            draft.set(inputs["month"], int(date[5:7]), [])
            return


def fill_date_range(draft: Draft) -> None:
    """Set the first and the last date of a range that states the month once."""
    sides = {each.side: each for each in draft.open_inputs() if each.role is Role.DATE and each.wants_iso_date}
    dates = draft.free(Kind.DATE)
    if sides.keys() != {"source", "target"}:
        return
    if len(dates) == 2 and (last := iso_date(draft.tokens[dates[1]].value)):
        # "between 2 February and 6 February 2026"
        first_date = iso_date(f"{draft.tokens[dates[0]].value} {last[:4]}")
        if first_date and first_date <= last:
            draft.set(sides["source"], first_date, dates[:1])
        return
    if len(dates) != 1:
        return
    [place] = dates
    last = iso_date(draft.tokens[place].value)
    first = draft.tokens[place - 2] if place > 1 and draft.preposition(place - 1) in _ENDING else None
    if not last or first is None or first.kind is not Kind.NUMBER or not first.value.isdigit():
        return
    if 0 < int(first.value) < int(last[-2:]) <= _MONTH_LENGTH:
        draft.set(sides["source"], f"{last[:-2]}{int(first.value):02}", [place - 2])
        draft.set(sides["target"], last, [place])
