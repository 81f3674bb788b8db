"""Reads numbers with units: "2 hours", "90s", "two and a half hours", "$5", "a 5-minute break", "1 hour and 20 minutes"."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

import attrs

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.number_words import counted, digits_of, scaled
from helmdeck_planner.embedded.entries.property_words import ATTRIBUTES
from helmdeck_planner.embedded.entries.units import NUMBER_WORDS, PARTS_OF_UNITS, SMALLER_UNITS, UNIT_OF, Unit

_SIGNS: Final = "%$\u20ac\u00a3\u00a5"
_MONEY: Final = "$\u20ac\u00a3\u00a5"
_UNITS: Final = "|".join(sorted(UNIT_OF, key=len, reverse=True))
# "90s", "5-minute"; a letter alone may be anything else.
_GLUED: Final = re.compile(rf"(\d{{1,9}}(?:\.\d{{1,9}})?)-?({_UNITS})", re.IGNORECASE)
# "1h30", "1h30m"
_CHAINED: Final = re.compile(r"(\d{1,3})h(\d{1,2})m?(?:in)?", re.IGNORECASE)
# "2m10s", "1h2m10s"
_CHAINED_SECONDS: Final = re.compile(r"(?:(\d{1,3})h)?(\d{1,3})m(\d{1,2})s(?:ec)?", re.IGNORECASE)
# "30m" behind "1h" and before "10s"; alone, it may be metres.
_MINUTES: Final = re.compile(r"(\d{1,2})m", re.IGNORECASE)
_SECONDS: Final = re.compile(r"\d{1,2}s(?:ecs?)?", re.IGNORECASE)
_DIGITS: Final = re.compile(r"-?\d{1,12}(?:\.\d{1,9})?")
# Before the "a" of "three times a day".
_OFTEN: Final = ("times", "once", "twice", "thrice")
# "an hour longer"
_LONGER: Final = ("longer", "shorter", "later", "earlier", "more")
_HALF: Final = Fraction(1, 2)
# Words of "and a half".
_AND_PART: Final = 3


@attrs.frozen
class Quantity:
    """A number with a unit in a request, and the places of both.

    :ivar largest: the first of several units: hours in "1 hour and 20 minutes", whose unit is minutes.
    """

    value: int | float | Fraction
    unit: Unit
    places: tuple[int, ...]
    largest: Unit | None = None


def quantity_at(draft: Draft, place: int) -> Quantity | None:
    """Return the quantity that starts at a place."""
    if (part := part_of_unit(draft, place)) is not None:
        return part
    if (whole := _in_one_token(draft, place)) is not None:
        return whole
    number = _number(draft, place)
    if number is None:
        return None
    value, end = number
    if more := _and_part(draft, end):
        value, end = value + more, end + _AND_PART
    if end >= len(draft.tokens):
        return None
    if draft.tokens[end].value == "%":
        return Quantity(value, UNIT_OF["percent"], tuple(range(place, end + 1)))
    if (unit := unit_word(draft, end)) is None:
        return None
    if more := _and_part(draft, end + 1):
        return Quantity(value + more, unit, tuple(range(place, end + 1 + _AND_PART)))
    return _with_smaller(draft, Quantity(value, unit, tuple(range(place, end + 1))))


def _in_one_token(draft: Draft, place: int) -> Quantity | None:
    token = draft.tokens[place]
    text = token.value
    if token.kind is Kind.NUMBER and (text[0] in _MONEY or text.endswith("%")):
        number = digits_of(text)
        if not _DIGITS.fullmatch(number):
            return None
        value, end = scaled(_value(number), draft.tokens, place + 1)
        return Quantity(value, UNIT_OF["percent" if text.endswith("%") else "dollar"], tuple(range(place, end)))
    if not (token.is_word or token.kind is Kind.ID):
        return None
    if found := _CHAINED.fullmatch(text):
        return Quantity(int(found[1]) * 60 + int(found[2]), UNIT_OF["minute"], (place,), UNIT_OF["hour"])
    if found := _CHAINED_SECONDS.fullmatch(text):
        hours, minutes, seconds = (int(each or 0) for each in found.groups())
        return Quantity(hours * 3600 + minutes * 60 + seconds, UNIT_OF["second"], (place,), UNIT_OF["minute"])
    in_words, _, name = text.lower().rpartition("-")
    if in_words in NUMBER_WORDS and name in UNIT_OF:
        return Quantity(NUMBER_WORDS[in_words], UNIT_OF[name], (place,))  # "ten-minute"
    if found := _GLUED.fullmatch(text):
        following = draft.tokens[place + 1 : place + 2]
        is_minutes = found[2].lower() == "m" and bool(following) and _SECONDS.fullmatch(following[0].value)
        unit = UNIT_OF["minute" if is_minutes else found[2].lower()]
        return _with_smaller(draft, Quantity(_value(found[1]), unit, (place,)))
    return None


def _number(draft: Draft, place: int) -> tuple[int | float | Fraction, int] | None:
    """Return the number before a unit, and the place behind it."""
    token, tokens = draft.tokens[place], draft.tokens
    if token.kind is Kind.NUMBER:
        text = digits_of(token.value)
        return scaled(_value(text), tokens, place + 1) if _DIGITS.fullmatch(text) else None
    if not token.is_word or (place and tokens[place - 1].word in NUMBER_WORDS and token.word != "half"):
        return None
    if place > 1 and tokens[place - 1].word == "of" and tokens[place - 2].word in PARTS_OF_UNITS:
        return None  # "an" in "a quarter of an hour"
    if token.word == "half":
        return _HALF, place + (2 if draft.is_one_of(place + 1, "articles") else 1)
    found = counted(tokens, place)
    if found is None and draft.is_one_of(place, "articles") and token.word in NUMBER_WORDS:
        # "200 a night", "a second tab"
        is_rate = place > 0 and (tokens[place - 1].kind is Kind.NUMBER or tokens[place - 1].word in _OFTEN)
        is_whole = (
            place + 2 >= len(tokens)
            or not tokens[place + 2].is_word
            or draft.is_filler(place + 2)
            or tokens[place + 2].word in ATTRIBUTES
            or tokens[place + 2].word in _LONGER
            or draft.is_joint(place + 2)
        )
        return None if is_rate or not is_whole else (1, place + 1)
    return found


def _value(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _and_part(draft: Draft, place: int) -> Fraction | None:
    """Return the part of "and a half" and "and a quarter"; none of "two hours and a third attempt"."""
    words = [token.word for token in draft.tokens[place : place + _AND_PART]]
    part = PARTS_OF_UNITS.get(words[2]) if words[:2] == ["and", "a"] and len(words) == _AND_PART else None
    end = place + _AND_PART
    is_whole = words[2:] == ["half"] or _counts_nothing(draft, end) or unit_word(draft, end) is not None
    return part if part and is_whole else None


def part_of_unit(draft: Draft, place: int) -> Quantity | None:
    """Return the quantity of "a quarter of an hour" and "three quarters of a mile"."""
    words = [token.word for token in draft.tokens[place : place + 5]]
    if len(words) < 4 or (size := PARTS_OF_UNITS.get(words[1])) is None or words[2] != "of":
        return None
    end = place + (4 if words[3] in ("a", "an", "the") else 3)
    count = NUMBER_WORDS.get(words[0]) or (Fraction(words[0]) if words[0].isdigit() else None)
    unit = unit_word(draft, end) if end < len(draft.tokens) else None
    return Quantity(count * size, unit, tuple(range(place, end + 1))) if count and unit else None


def _with_smaller(draft: Draft, first: Quantity) -> Quantity:
    """Return "1 hour and 20 minutes" or "1 hour 20" in the smaller unit; the quantity itself if no smaller one of its kind follows."""
    place = first.places[-1] + 1
    tokens = draft.tokens
    second = _without_unit(draft, place, first.unit)
    if second is not None:
        return _sum(first, second)
    while place < len(tokens) and tokens[place].word in ("and", ","):
        place += 1
    if place >= len(tokens):
        return first
    if tokens[place].kind is Kind.NUMBER:
        second = quantity_at(draft, place) if place + 1 < len(tokens) else None
    elif first.unit.name == "hour" and (minutes := _MINUTES.fullmatch(tokens[place].value)):
        second = _with_smaller(draft, Quantity(int(minutes[1]), UNIT_OF["minute"], (place,)))
    else:
        second = _in_one_token(draft, place)
    if second is None or second.unit.dimension != first.unit.dimension or second.unit.size >= first.unit.size:
        return first
    return _sum(first, second)


def _without_unit(draft: Draft, place: int, unit: Unit) -> Quantity | None:
    """Return the quantity of the number in "2 hours 15", which counts the unit below and nothing else."""
    smaller = SMALLER_UNITS.get(unit.name)
    number = _number(draft, place) if smaller and place < len(draft.tokens) else None
    if smaller is None or number is None:
        return None
    value, end = number
    is_less = value * smaller.size < unit.size and int(value) == value
    return Quantity(value, smaller, tuple(range(place, end))) if is_less and _counts_nothing(draft, end) else None


def _counts_nothing(draft: Draft, place: int) -> bool:
    """Whether nothing behind a number says what it counts."""
    if place >= len(draft.tokens):
        return True
    token = draft.tokens[place]
    is_mark = token.kind in (Kind.MARK, Kind.BREAK) and token.value not in _SIGNS
    return is_mark or bool(draft.preposition(place)) or token.word in draft.wording.language.joints


def _sum(first: Quantity, second: Quantity) -> Quantity:
    total = Fraction(str(first.value)) * first.unit.size / second.unit.size + Fraction(str(second.value))
    return Quantity(total, second.unit, (*range(first.places[0], second.places[0]), *second.places), first.unit)


def unit_word(draft: Draft, place: int) -> Unit | None:
    """Return the unit that a word names."""
    token = draft.tokens[place]
    if not token.is_word:
        return None
    return UNIT_OF.get(token.word) or UNIT_OF.get(draft.wording.nouns(token.word)[0])
