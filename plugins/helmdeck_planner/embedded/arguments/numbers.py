"""Assigns the numbers of a part to the inputs that take numbers, by the words beside them; units are in ``property_words.toml``."""

from __future__ import annotations

import re
from typing import Final

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.foreign_numbers import is_old
from helmdeck_planner.embedded.arguments.free_text import has_reference
from helmdeck_planner.embedded.arguments.left_numbers import SURE, fill_left_numbers
from helmdeck_planner.embedded.arguments.number_context import (
    bound,
    counts,
    is_limit,
    is_party,
    may_be_end,
    objects,
    words_beside,
)
from helmdeck_planner.embedded.arguments.number_words import digits_of
from helmdeck_planner.embedded.arguments.quantities import part_of_unit, quantity_at, unit_word
from helmdeck_planner.embedded.arguments.stated_numbers import StatedNumber, stated_numbers
from helmdeck_planner.embedded.arguments.times import fill_length
from helmdeck_planner.embedded.arguments.unit_parts import fill_unit_parts
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import (
    COMMON_WORDS,
    COUNT_WORDS,
    TECHNICAL_WORDS,
    UNITS,
)
from helmdeck_planner.embedded.entries.units import NUMBER_WORDS, PARTS_OF_UNITS, UNIT_OF, converted
from helmdeck_planner.embedded.request.parts import Part

# Evidence that an optional input needs, and that a required one needs if several numbers are left.
_ENOUGH: Final = 2.0
_COUNT_STEMS: Final = frozenset(stem(word) for word in COUNT_WORDS)
_OFTEN: Final = {"once": 1, "twice": 2, "thrice": 3}
_UNIT_STEMS: Final = {unit: frozenset(stem(word) for word in names) for unit, names in UNITS.items()}
# "90s", "2.5km"; a letter alone may be anything else.
_GLUED: Final = re.compile(
    rf"(\d{{1,9}}(?:\.\d{{1,9}})?)({'|'.join(sorted(UNIT_OF, key=len, reverse=True))})", re.IGNORECASE
)
_COMMON: Final = frozenset(map(stem, COMMON_WORDS))
_SIDES_OF: Final = frozenset({"width", "height"})
_MOST_DIGITS: Final = 12
_DECIMALS: Final = re.compile(r"\.\d\d$")
_AREA: Final = re.compile(
    r"(?<![\w.])(\d{1,5})(?:\s?[x\u00d7]\s?|\s?px\s?[x\u00d7]\s?|\s(?:pixels\s)?by\s)(\d{1,5})(?:\s?px)?(?!\w)"
)
_PEOPLE: Final = _UNIT_STEMS["guests"]
_BOUNDS: Final = frozenset(stem(word) for word in ("max", "min"))
_REPEATED: Final = frozenset(("interval", "period", "frequency", "every"))


def fill_numbers(draft: Draft) -> None:
    """Set the inputs that take numbers."""
    _fill_listed(draft)
    fill_unit_parts(draft)
    fill_length(draft)
    _fill_rate(draft)
    _fill_named(draft)
    _fill_new(draft)
    fill_left_numbers(draft, draft, SURE)
    _fill_by_evidence(draft)


def _fill_listed(draft: Draft) -> None:
    """Set the only list of numbers from all numbers in a row: "add up 1,000, 2,500 and 3"."""
    inputs = [each for each in draft.open_inputs() if each.role is Role.NUMBER and each.is_list]
    if len(inputs) != 1:
        return
    runs: list[list[StatedNumber]] = []
    for number in stated_numbers(draft):
        if not draft.used_places.isdisjoint(number.places):
            continue
        between = range(runs[-1][-1].last + 1, number.first) if runs else ()
        if between and all(map(draft.joins_list, between)):
            runs[-1].append(number)
        else:
            runs.append([number])
    listed = [run for run in runs if len(run) > 1]
    if len(listed) == 1:
        values = [number.in_unit_of(inputs[0]) for number in listed[0]]
        if None not in values:
            draft.set(inputs[0], values, [place for number in listed[0] for place in number.places])


def _fill_named(draft: Draft) -> None:
    """Set an input from the number behind all the words of its name: "before row 5" for ``before_row``."""
    for each in draft.open_inputs():
        size = len(each.words)
        if each.role is not Role.NUMBER or each.is_list or size < 2:
            continue
        places = [
            place
            for place in draft.free(Kind.NUMBER)
            if place >= size and tuple(token.word for token in draft.tokens[place - size : place]) == each.words
        ]
        if len(places) == 1:
            _set(draft, each, places[0])


def _fill_rate(draft: Draft) -> None:
    """Set the only number of times from "twice a day" and "3 times daily"."""
    inputs = [each for each in draft.open_inputs() if each.role is Role.NUMBER and "times" in each.words]
    for place, token in enumerate(draft.tokens) if len(inputs) == 1 else ():
        is_counted = place + 1 < len(draft.tokens) and draft.tokens[place + 1].word == "times"
        times = _OFTEN.get(token.word) or (_number(draft, place) if is_counted else None)
        if times is not None and draft.set(inputs[0], times, [place, *([place + 1] if is_counted else [])]):
            return


def fill_portions(draft: Draft, places: list[int]) -> list[int]:
    """Set the only count from the number before a thing, and return the places of the thing: "add 2 spring rolls"."""
    inputs = [
        each for each in draft.open_inputs() if each.role is Role.NUMBER and not COUNT_WORDS.isdisjoint(each.words)
    ]
    if len(inputs) == 1 and len(places) > 1 and _number(draft, places[0]) is not None:
        draft.set(inputs[0], _number(draft, places[0]), places[:1])
        return places[1:] if inputs[0].name in draft.args else places
    return places


def _fill_new(draft: Draft) -> None:
    """Set the only open required number from the second one of "change the price from 8.50 to 9"."""
    inputs = [each for each in draft.open_inputs() if each.is_required and each.role is Role.NUMBER]
    places = draft.free(Kind.NUMBER)
    if len(inputs) == 1 and len(places) == 2 and is_old(draft.tokens, places[0]) and places[1] == places[0] + 2:
        _set(draft, inputs[0], places[1])
        draft.used_places.add(places[0])


def _fill_by_evidence(draft: Draft) -> None:
    """Set the inputs that are left by the words beside the numbers."""
    inputs = [each for each in draft.open_inputs() if each.role is Role.NUMBER]
    if not inputs:
        return
    places = [place for place in range(len(draft.tokens)) if place not in draft.used_places]
    places = [place for place in places if _number(draft, place) is not None or part_of_unit(draft, place)]
    rows = [(_evidence(draft, each, place), each, place) for each in inputs for place in places]
    rows.sort(key=lambda row: (-row[0], row[2]))
    for evidence, each, place in rows:
        if evidence >= _ENOUGH and each.name not in draft.args and place not in draft.used_places:
            _set(draft, each, place)
    left = [place for place in places if place not in draft.used_places]
    needed = [each for each in inputs if each.is_required and each.name not in draft.args]
    if needed and len(left) == len(needed):
        for each, place in zip(needed, left, strict=True):
            if not _has_foreign_unit(draft, each, place):
                _set(draft, each, place)


def fill_limit(draft: Draft, part: Part) -> None:
    """Set an open input from an excluded part that states the most of something: "don't show more than 15 lines"."""
    own = Draft(draft.source, part, draft.profile, draft.wording, dict(draft.args))
    if any(bound(own, place) == "max" for place in own.free(Kind.NUMBER)):
        fill_numbers(own)
        for each in draft.open_inputs():
            if each.name in own.args and draft.set(each, own.args[each.name], []):
                draft.stated_by.append(part)


def _set(draft: Draft, each: Property, place: int) -> None:
    """Set a number, in the unit of the input; of cents without a unit, only "45.50" is clear."""
    quantity = quantity_at(draft, place)
    if quantity is not None and each.unit is not None:
        value = converted(quantity.value, quantity.unit, each.unit)
        if value is not None:
            draft.set(each, value, quantity.places[:1], quantity.places)
        return
    if each.unit is not None and draft.is_one_of(place, "articles"):
        return  # the "an" of "an hour early" is no minute
    value = _number(draft, place)
    if each.unit is not None and each.unit.name == "cent":
        if not _DECIMALS.search(draft.tokens[place].value):
            return
        value = converted(value or 0.0, UNIT_OF["dollar"], each.unit)
    # "3 papers": the unit or what is counted belongs to the number.
    has_unit = place + 1 < len(draft.tokens) and (_unit(draft, place) or draft.stems(place + 1) & objects(draft))
    draft.set(each, value, [place], [place + 1] if has_unit else ())


def fill_dimensions(draft: Draft) -> None:
    """Set a width and a height from "640x480" or "640 by 480"."""
    sides = {
        word: each for each in draft.open_inputs() if each.role is Role.NUMBER for word in _SIDES_OF & set(each.words)
    }
    if len(sides) != len(_SIDES_OF):
        return
    first, last = min(token.start for token in draft.tokens), max(token.end for token in draft.tokens)
    if has_reference(draft):
        first, last = 0, len(draft.source)  # "how does it look at 390 x 844? resize to that"
    found = list(_AREA.finditer(draft.source, first, last))
    if len(found) != 1:
        return
    start, end = found[0].span()
    places = [place for place, token in enumerate(draft.tokens) if start <= token.start and token.end <= end]
    draft.set(sides["width"], int(found[0][1]), places)
    draft.set(sides["height"], int(found[0][2]), [])


def fill_units(draft: Draft) -> None:
    """Set inputs whose choices are units: of "5 km to mi", ``km`` is the source and ``mi`` the target."""
    inputs = [
        each
        for each in draft.open_inputs()
        if each.role is Role.CHOICE
        and len(each.choices) > 1
        and all(str(choice).lower() in UNIT_OF for choice in each.choices)
    ]
    if not inputs:
        return
    quantities = [quantity for place in range(len(draft.tokens)) if (quantity := quantity_at(draft, place))]
    stated = {place for quantity in quantities for place in quantity.places}
    targets = [
        (unit, place)
        for place in range(len(draft.tokens))
        if place not in stated
        and (draft.preposition_before(place) in ("to", "in") or _is_counted(draft, place))
        and (unit := unit_word(draft, place))
    ]
    sources = [(quantity.unit, quantity.places[-1]) for quantity in quantities]
    for each in inputs:
        found = targets if each.side == "target" else sources
        choices = [choice for choice in each.choices if len(found) == 1 and UNIT_OF[str(choice).lower()] == found[0][0]]
        if len(choices) == 1:
            draft.set(each, choices[0], [found[0][1]])


def _is_counted(draft: Draft, place: int) -> bool:
    """Whether a question is about a number of such units: "how many feet are 3 km"."""
    return [token.word for token in draft.tokens[max(place - 2, 0) : place]] == ["how", "many"]


def _number(draft: Draft, place: int) -> int | float | None:
    token = draft.tokens[place]
    if token.is_word:
        if glued := _GLUED.fullmatch(token.value):
            return float(glued[1]) if "." in glued[1] else int(glued[1])
        if place > 1 and draft.tokens[place - 1].word == "of" and draft.tokens[place - 2].word in PARTS_OF_UNITS:
            return None  # "an" in "a quarter of an hour"
        if place and draft.tokens[place - 1].word in NUMBER_WORDS and not draft.is_one_of(place - 1, "articles"):
            return None  # "twenty five lines" are more than five
        is_number = token.word in NUMBER_WORDS and place + 1 < len(draft.tokens)
        following = draft.tokens[place + 1 : place + 3]
        is_unit = is_number and any(each.word in UNIT_OF for each in following[: 2 if token.word == "half" else 1])
        if not is_unit and not counts(draft, place) and not is_party(draft, place):
            return None
        number = NUMBER_WORDS[token.word]
        return int(number) if number.denominator == 1 else float(number)
    if token.kind not in (Kind.NUMBER, Kind.HASH):
        return None
    text = digits_of(token.value)
    if len(text) > _MOST_DIGITS and place + 1 < len(draft.tokens) and unit_word(draft, place + 1):
        return None  # no quantity, and no number without the unit
    try:
        value = float(text)
    except ValueError:
        return None
    return int(text) if text.lstrip("-").isdigit() else value


def _evidence(draft: Draft, each: Property, place: int) -> float:
    before, after, literal = words_beside(draft, place)
    language = draft.wording.language.values
    names = each.stems
    telling = names - {stem("number"), stem("max"), stem("min"), stem("count")}
    total = 0.0
    if telling & after:
        total += 3 + 0.1 * len(telling & after)  # "per page" is more than "page"
    elif telling & before:
        # "step" is all of ``step_number``, half of ``next_step``
        total += 2 + 0.5 * len(telling & before) / len(telling)
    beside = before | after
    total += 0.8 * len((each.hints - _COMMON) & beside) if each.hints & beside else 0.0
    if each.side and (preposition := draft.preposition_before(place)) in ("from", "to"):
        total += 2.5 if (preposition == "from") == (each.side == "source") else -5
    if _REPEATED & set(each.words) and place and draft.tokens[place - 1].word == "every":
        total += 2
    unit = _unit(draft, place)
    quantity = quantity_at(draft, place)
    if each.unit and each.unit.dimension == UNIT_OF["dollar"].dimension and _DECIMALS.search(draft.tokens[place].value):
        total += 2
    if quantity and each.unit and TECHNICAL_WORDS & set(each.words) and not total and not literal & language["at_most"]:
        # "record for 5 minutes" states a duration, not a timeout.
        return -5
    if quantity and each.unit:
        return total + (2 if quantity.unit.dimension == each.unit.dimension else -5)
    if is_party(draft, place):
        return _ENOUGH if _PEOPLE & names else -5
    if draft.tokens[place].is_word and not counts(draft, place):
        return -5
    if unit:
        takes = _UNIT_STEMS.get(unit, frozenset())
        if takes & names or (takes and stem(unit) in each.hints):
            total += 2
        elif takes and not telling & after:
            total -= 3
    if names & _COUNT_STEMS and (literal & language["counting"] or is_limit(draft, place)):
        total += 2.5
    if names & _COUNT_STEMS and after & objects(draft):
        total += 2.5
    total -= 0 if may_be_end(draft, each) else 5
    total += _told_by_neighbours(draft, each, place)
    side = bound(draft, place)
    if side and stem(side) in names:
        total += 2.5
    elif side and names & _BOUNDS:
        total -= 5
    return total


def _told_by_neighbours(draft: Draft, each: Property, place: int) -> float:
    """Return the evidence of a word right beside a number that describes only one input: "slot 2", "16 beats"."""
    others = [other for other in draft.profile.properties if other.role is Role.NUMBER and other is not each]
    elsewhere = frozenset[str]().union(*(other.hints | other.labels for other in others)) - _COMMON
    own = (each.hints | each.labels) - _COMMON
    is_count = bool(COUNT_WORDS & set(each.words))
    total = 0.0
    for near in (place - 1, place + 1):
        if not 0 <= near < len(draft.tokens) or near == draft.part.verb_place or draft.is_filler(near):
            continue
        if near > place and near + 1 < len(draft.tokens) and draft.tokens[near + 1].kind is Kind.NUMBER:
            continue  # the label of the next number
        stems = draft.stems(near)
        if near > place and stems & elsewhere - own:
            total -= 5
        elif stems & own - elsewhere and (near > place or not is_count):
            # "ticket 5561" does not count tickets.
            total += 2
    return total


def _unit(draft: Draft, place: int) -> str:
    token = draft.tokens[place]
    if token.value[:1] in "$\u20ac\u00a3\u00a5" and token.kind is Kind.NUMBER:
        return "dollars"
    if token.value.endswith("%"):
        return "percent"
    if place + 1 < len(draft.tokens) and draft.tokens[place + 1].is_word:
        word = draft.tokens[place + 1].word
        english = draft.wording.nouns(word)[0]
        return word if word in UNITS else (english if english in UNITS else "")
    return ""


def _has_foreign_unit(draft: Draft, each: Property, place: int) -> bool:
    """Whether a unit says that a number is for another kind of input."""
    quantity = quantity_at(draft, place)
    if quantity and each.unit:
        return quantity.unit.dimension != each.unit.dimension
    unit = _unit(draft, place)
    if place + 1 in draft.used_places:
        return False
    takes = _UNIT_STEMS.get(unit, frozenset())
    names = each.stems
    return bool(takes) and not takes & (names | each.hints)
