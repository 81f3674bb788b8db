"""Time zones of cities: "Tokyo" is ``Asia/Tokyo``, by the IANA names that the platform provides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final
from zoneinfo import available_timezones

from helmdeck_language import Kind, Token, fold
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.times import times_of
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.entries.property_words import NO_CITIES, ZONE_CODES

_AREAS: Final = frozenset("Africa America Antarctica Asia Atlantic Australia Europe Indian Pacific".split())
_MAX_WORDS: Final = 4


@lru_cache(1)
def _zones() -> Mapping[str, str]:
    """The zones by the folded name of their city; of two with the same city, they are links, the one with the shorter path."""
    found: dict[str, str] = {}
    for name in sorted(available_timezones(), key=lambda name: (-name.count("/"), name)):
        area, _, rest = name.partition("/")
        city = fold(rest.rpartition("/")[2].replace("_", " "))
        if area in _AREAS and city not in NO_CITIES:
            found[city] = name
    return found


def zone_places(draft: Draft) -> Iterator[tuple[str, list[int]]]:
    """Yield the time zones that a part names by a city, with the places of its words."""
    zones = _zones()
    place = 0
    while place < len(draft.tokens):
        for end in range(min(place + _MAX_WORDS, len(draft.tokens)), place, -1):
            own = draft.tokens[place:end]
            name = " ".join(fold(token.value.removesuffix("'s").removesuffix("\u2019s")) for token in own)
            # "tokyo is at 09:30"
            is_place = not place or own[0].is_capital or bool(draft.wording.preposition(draft.tokens[place - 1]))
            if place != draft.part.verb_place and is_place and all(token.is_word for token in own) and name in zones:
                yield zones[name], list(range(place, end))
                place = end - 1
                break
        place += 1


def fill_zones(draft: Draft) -> None:
    """Set the inputs that take a time zone: names and codes of zones, and cities where the schema wants IANA names."""
    inputs = [each for each in draft.open_inputs() if each.role is Role.ZONE]
    if not inputs:
        return
    stated = [(token.value, [place]) for place, token in enumerate(draft.tokens) if _is_zone(draft, place)]
    cities = list(zone_places(draft)) if all(each.wants_iana for each in inputs) else []
    found = sorted([*stated, *cities], key=lambda row: row[1])
    if len(inputs) == 1 or not all(each.side for each in inputs):
        for each, (value, places) in zip(inputs, found, strict=False):
            draft.set(each, value, places)
        return
    source = _source(draft, found)
    for each in inputs:
        left = [row for row in found if (row is source) == (each.side == "source")]
        if len(left) == 1:
            draft.set(each, *left[0])


def _is_zone(draft: Draft, place: int) -> bool:
    token = draft.tokens[place]
    return token.value in ZONE_CODES or (token.kind is Kind.SLUG and token.is_capital)


def _source(draft: Draft, found: Sequence[tuple[str, list[int]]]) -> tuple[str, list[int]] | None:
    """Return the zone of a stated time: after "from", else the one beside the time."""
    for row in found:
        if draft.preposition_before(row[1][0]) == "from":
            return row
    others = [row for row in found if draft.preposition_before(row[1][0]) != "to"]
    times = times_of(draft)
    if not others or not times:
        return None
    # By the text: a joined part has the question before the fact.
    time = [draft.tokens[place] for place in times[0].places]
    return min(others, key=lambda row: _distance(time, [draft.tokens[place] for place in row[1]]))


def _distance(time: Sequence[Token], zone: Sequence[Token]) -> int:
    is_behind = zone[0].start > time[0].start
    return zone[0].start - time[-1].end if is_behind else time[0].start - zone[-1].end
