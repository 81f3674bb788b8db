"""Times of day: "9:15", "2pm", "half past two pm", and the form in which a schema wants them."""

from __future__ import annotations

import re
from typing import Final

import attrs

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Clock, Property, Role
from helmdeck_planner.embedded.entries.units import NUMBER_WORDS, UNIT_OF, converted

_CLOCK: Final = re.compile(
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?::\d{2})?\ ?(?:(?P<half>[ap])\.?m\.?)?", re.IGNORECASE
)
_POSITION: Final = re.compile(r"\d{1,2}:\d{2}")
_WITH_SECONDS: Final = re.compile(r"\d{1,2}:\d{2}:(\d{2})")
_MEDIA: Final = frozenset(
    map(stem, ("video", "audio", "film", "movie", "song", "clip", "recording", "podcast", "footage"))
)
_NOON: Final = 12
_HOURS: Final = 24
_MINUTES: Final = 60
_HALF: Final = 30
# Tokens of a time: "9 o'clock", "half past two pm".
_LONGEST: Final = 4


@attrs.frozen
class Time:
    """A time of day in a part.

    :ivar text: as it is written.
    :ivar minutes: after midnight; ``None`` if the half of the day is neither stated nor clear.
    :ivar places: its tokens.
    """

    text: str
    minutes: int | None
    places: tuple[int, ...]


def times_of(draft: Draft) -> list[Time]:
    """Return the times of a part in order."""
    found: list[Time] = []
    place = 0
    while place < len(draft.tokens):
        time = time_at(draft, place)
        if time is None:
            place += 1
            continue
        found.append(time)
        place = time.places[-1] + 1
    return found


def time_at(draft: Draft, place: int) -> Time | None:
    """Return the time that starts at a place; ``None`` without one.

    "Half past two" alone is in no half of the day, and stays as it is; "14:30" and "9 o'clock" are in the one that their digits say.
    """
    tokens = draft.tokens
    moment = _hour(draft, place) or _beside_hour(draft, place)
    if moment is None:
        return None
    minutes, end, is_numeric = moment
    following = end + 1
    if following + 1 < len(tokens) and draft.preposition(following) == "in":
        # "in the afternoon"
        following += 1 + (draft.is_determiner(following + 1))
    is_before_noon = draft.is_one_of(following, "before_noon")
    is_after_noon = draft.is_one_of(following, "after_noon")
    if is_before_noon or is_after_noon:
        end = following
        if 0 < minutes // _MINUTES <= _NOON:
            minutes = minutes % (_NOON * _MINUTES) + (_NOON * _MINUTES if is_after_noon else 0)
    is_clear = is_numeric or is_before_noon or is_after_noon or minutes // _MINUTES > _NOON
    return Time(draft.text(place, end), minutes if is_clear else None, tuple(range(place, end + 1)))


def range_start(draft: Draft, end: Time) -> Time | None:
    """Return the first time of "from 10 to 11:30"; ``None`` for a time that ends no such range."""
    to = end.places[0] - 1
    if end.minutes is None or draft.preposition(to) != "to":
        return None
    for place in range(max(to - _LONGEST, 1), to):
        if draft.preposition(place - 1) != "from":
            continue
        time = time_at(draft, place)
        if time is not None and time.minutes is not None and time.places[-1] == to - 1:
            return time if time.minutes < end.minutes else None
        hour = _count(draft, place)
        if hour is not None and place == to - 1 and hour * _MINUTES < end.minutes:
            return Time(draft.tokens[place].value, hour * _MINUTES, (place,))
    return None


def fill_length(draft: Draft) -> None:
    """Set the only required number of minutes or hours from both ends of "from 10 to 11:30"."""
    inputs = [each for each in draft.open_inputs() if each.is_required and each.role is Role.NUMBER]
    inputs = [each for each in inputs if each.unit is not None and each.unit.dimension == UNIT_OF["minute"].dimension]
    ranges = [(start, end) for end in times_of(draft) if (start := range_start(draft, end))]
    if len(inputs) == len(ranges) == 1 and inputs[0].unit is not None:
        [(start, end)] = ranges
        if start.minutes is not None and end.minutes is not None:
            length = converted(end.minutes - start.minutes, UNIT_OF["minute"], inputs[0].unit)
            draft.set(inputs[0], length, [])


def _hour(draft: Draft, place: int) -> tuple[int, int, bool] | None:
    """Return the minutes of "9:15", "2pm", "noon" or "9 o'clock", the last place, and whether they are clear."""
    token = draft.tokens[place]
    if draft.is_one_of(place, "noon") or draft.is_one_of(place, "midnight"):
        return (_NOON * _MINUTES if draft.is_one_of(place, "noon") else 0, place, True)
    if token.kind is Kind.TIME:
        found = _CLOCK.fullmatch(token.value.strip())
        minutes = _minutes(found) if found else None
        return None if minutes is None else (minutes, place, True)
    following = place + 1
    if draft.is_one_of(following, "whole_hour"):
        hour = _count(draft, place)
        return None if hour is None else (hour * _MINUTES, following, token.kind is Kind.NUMBER)
    return None


def _beside_hour(draft: Draft, place: int) -> tuple[int, int, bool] | None:
    """Return the same of "half past two", "quarter to 3 pm", "ten past nine"."""
    tokens = draft.tokens
    start = place + 1 if draft.is_determiner(place) else place
    if start + 2 >= len(tokens):
        return None
    is_half, is_quarter = draft.is_one_of(start, "half"), draft.is_one_of(start, "quarter")
    minutes = _HALF if is_half else _HALF // 2 if is_quarter else _count(draft, start, _MINUTES)
    is_after = draft.is_one_of(start + 1, "after_hour")
    is_before = draft.is_one_of(start + 1, "before_hour") and not is_half and draft.preposition_before(start) != "from"
    if minutes is None or not (is_after or is_before):
        return None
    whole = _hour(draft, start + 2)
    hour = _count(draft, start + 2)
    # "set ten to nine" states no time: "quarter to nine" and "ten to 9 pm" do.
    if whole is None and (hour is None or not (is_half or is_quarter)):
        return None
    total, end, is_clear = whole or ((hour or 0) * _MINUTES, start + 2, False)
    return (total + (minutes if is_after else -minutes)) % (_HOURS * _MINUTES), end, is_clear


def _count(draft: Draft, place: int, limit: int = _HOURS) -> int | None:
    token = draft.tokens[place]
    is_number_word = token.is_word and token.word not in draft.wording.language.determiners
    number = NUMBER_WORDS.get(token.word) if is_number_word else None
    if token.kind is Kind.NUMBER and token.value.isdigit():
        return int(token.value) if len(token.value) <= 2 and int(token.value) < limit else None
    return int(number) if number is not None and number.denominator == 1 and number < limit else None


def _minutes(found: re.Match[str]) -> int | None:
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    if hour >= _HOURS or minute >= _MINUTES:
        return None
    if found["half"]:
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if found["half"].lower() == "p" else 0)
    elif found["minute"] is None:
        return None
    return hour * _MINUTES + minute


def in_form_of(each: Property, time: Time, profile: Profile) -> str:
    """Return a time in the form that a schema states, such as HH:MM; as it is written if it states none, or the time is not clear."""
    if time.minutes is None or each.clock is None:
        return time.text
    if each.clock is Clock.SECONDS and _POSITION.fullmatch(time.text) and not _MEDIA.isdisjoint(profile.text):
        minutes, _, seconds = time.text.partition(":")
        return f"00:{int(minutes):02}:{seconds}"  # "0:30" of a video
    hour, minute = divmod(time.minutes, _MINUTES)
    stated = _WITH_SECONDS.fullmatch(time.text)
    if each.clock is Clock.SECONDS and stated:
        return f"{hour:02}:{minute:02}:{stated[1]}"
    if each.clock is Clock.TWELVE_HOURS:
        return f"{(hour - 1) % _NOON + 1}:{minute:02} {'PM' if hour >= _NOON else 'AM'}"
    return f"{hour:02}:{minute:02}{':00' if each.clock is Clock.SECONDS else ''}"
