"""Reads the numbers of a part: "25", "2.5k", "twenty-five", "half a dozen", "#7", "the 15th", with a unit behind them or without."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

import attrs

from helmdeck_language import Kind, Token
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.number_words import counted, digits_of, ordinal, scaled
from helmdeck_planner.embedded.arguments.quantities import quantity_at
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import COUNT_WORDS
from helmdeck_planner.embedded.entries.units import NUMBER_WORDS, UNIT_OF, Unit, converted

_DIGITS: Final = re.compile(r"-?\d{1,12}(?:\.\d{1,9})?")
_THOUSANDS: Final = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)k", re.IGNORECASE)
_NUMBERED: Final = re.compile(r"(\d{1,3})(?:st|nd|rd|th)", re.IGNORECASE)
_COUNTED: Final = re.compile(r"(\d{1,3})-([a-z]{2,12})", re.IGNORECASE)
# "3:05", "1:02:30"
_STOPWATCH: Final = re.compile(r"(?:(\d{1,2}):(?=\d\d:))?(\d{1,3}):([0-5]\d)")
_POSITIONS: Final = frozenset(("position", "offset"))
_OF_DAY: Final = ("at", "by", "since")
_POINTING: Final = ("this", "that", "the", "which", "another", "each", "every")
_NOT_COUNTED: Final = ("and", "or", "is", "in", "with", "on", "for", "to")
_CENTS: Final = re.compile(r"\.\d\d$")


@attrs.frozen
class StatedNumber:
    """A number that a part states.

    :ivar form: "digits", "words", "hash", "ordinal" or "counted"; "quantity" with a unit.
    :ivar places: of its tokens, its unit included.
    """

    value: int | float | Fraction
    form: str
    places: Sequence[int]
    unit: Unit | None = None
    has_cents: bool = False

    @property
    def first(self) -> int:
        """The place of its first token."""
        return self.places[0]

    @property
    def last(self) -> int:
        """The place of its last token."""
        return self.places[-1]

    def in_unit_of(self, each: Property) -> int | float | None:
        """Return the number in the unit that an input takes; ``None`` if it cannot be converted."""
        if self.unit is not None and each.unit is not None:
            return converted(self.value, self.unit, each.unit)
        if each.unit is not None and each.unit.name == "cent":
            # "45" may be in either unit
            return converted(self.value, UNIT_OF["dollar"], each.unit) if self.has_cents else None
        if self.value < 0 and COUNT_WORDS & set(each.words):
            return int(-self.value)  # "head -20"
        if isinstance(self.value, Fraction):
            return int(self.value) if self.value.denominator == 1 else float(self.value)
        return self.value


def stated_numbers(draft: Draft) -> Iterator[StatedNumber]:
    """Yield the numbers of a part in order."""
    place = 0
    while place < len(draft.tokens):
        found = number_at(draft, place)
        if found is not None:
            yield found
        place = found.last + 1 if found is not None else place + 1


def _may_start(token: Token) -> bool:
    """Whether a number may start with a token; this alone excludes most words."""
    if not token.is_word:
        return token.kind in (Kind.NUMBER, Kind.HASH, Kind.ID, Kind.TIME)
    word = token.word
    return word[:1].isdigit() or word.partition("-")[0] in NUMBER_WORDS or ordinal(word) is not None


def number_at(draft: Draft, place: int) -> StatedNumber | None:
    """Return the number that starts at a place."""
    if not _may_start(draft.tokens[place]):
        return None
    if (quantity := quantity_at(draft, place)) is not None:
        return StatedNumber(quantity.value, "quantity", quantity.places, quantity.unit)
    if (thousands := _in_thousands(draft, place)) is not None:
        return thousands
    token = draft.tokens[place]
    if token.kind is Kind.TIME:
        return _on_stopwatch(draft, place)
    if token.is_word:
        return _in_words(draft.tokens, place)
    if token.kind is Kind.ID and (found := _COUNTED.fullmatch(token.value)):
        return StatedNumber(int(found[1]), "counted", (place,))
    text = digits_of(token.value)
    if token.kind not in (Kind.NUMBER, Kind.HASH) or not _DIGITS.fullmatch(text):
        return None
    form = "hash" if token.kind is Kind.HASH or token.value.startswith("#") else "digits"
    value, end = scaled(float(text) if "." in text else int(text), draft.tokens, place + 1)
    return StatedNumber(value, form, range(place, end), has_cents=bool(_CENTS.search(text)))


def _on_stopwatch(draft: Draft, place: int) -> StatedNumber | None:
    """Return the seconds of "3:05", for an entry that takes a position in seconds and no time of day, as "at 3:05" may be."""
    found = _STOPWATCH.fullmatch(draft.tokens[place].value)
    inputs = [each for each in draft.profile.properties if each.role is Role.NUMBER and each.unit == UNIT_OF["second"]]
    takes_position = any(each.side or _POSITIONS & set(each.words) for each in inputs)
    is_of_day = draft.profile.takes(Role.TIME) or draft.preposition_before(place) in _OF_DAY
    if not found or not takes_position or is_of_day:
        return None
    total = 0
    for count in found.groups("0"):
        total = 60 * total + int(count)
    return StatedNumber(total, "quantity", (place,), UNIT_OF["second"])


def _in_thousands(draft: Draft, place: int) -> StatedNumber | None:
    """Return the number of "2.5k", whose parts are tokens of their own."""
    end = place + 3
    tokens = draft.tokens[place:end]
    text = draft.source[tokens[0].start : tokens[-1].end]
    found = _THOUSANDS.fullmatch(text) if len(tokens) == 3 and tokens[1].value == "." else None
    return StatedNumber(Fraction(found[1]) * 1000, "digits", range(place, end)) if found else None


def _in_words(tokens: Sequence[Token], place: int) -> StatedNumber | None:
    token = tokens[place]
    if found := _THOUSANDS.fullmatch(token.value):
        return StatedNumber(Fraction(found[1]) * 1000, "digits", (place,))
    if found := _NUMBERED.fullmatch(token.value):
        return StatedNumber(int(found[1]), "ordinal", (place,))
    if (number := ordinal(token.word)) is not None:
        return StatedNumber(number, "ordinal", (place,))
    words = counted(tokens, place)
    if words is None or (token.word == "one" and _is_pronoun(tokens, place)):
        return None
    return StatedNumber(words[0], "words", range(place, words[1]))


def _is_pronoun(tokens: Sequence[Token], place: int) -> bool:
    """Whether "one" stands for a thing: "this one", "cancel one of them"."""
    before = tokens[place - 1].word if place else ""
    following = [token.word if token.is_word else "" for token in (*tokens[place + 1 : place + 4],)]
    is_share = following[:1] == ["of"] and not any(following[2:])
    return before in _POINTING or following[:1] in ([], [""]) or following[0] in _NOT_COUNTED or is_share
