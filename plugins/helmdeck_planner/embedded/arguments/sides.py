"""Fills inputs by the side of a preposition that their value is on: ``source`` after "from", ``target`` after "to"."""

from __future__ import annotations

import re
from typing import Final

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.labels import named
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import STATE_WORDS

_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d\S{0,12}")
_SWITCHES: Final = {"true": True, "on": True, "false": False, "off": False}
_TEXTS: Final = (Role.TEXT, Role.NAME, Role.CONTENT)
_ADDING: Final = ("add", "append", "attach")
_TIMES: Final = (Kind.DATE, Kind.TIME)
_TIMED: Final = frozenset(map(stem, ("date", "time", "day", "due", "when")))


def fill_sides(draft: Draft) -> None:
    """Set inputs such as ``source`` and ``destination`` from values after "from" and "to"."""
    inputs = [
        each for each in draft.open_inputs() if each.role in (Role.TEXT, Role.PLACE) and each.side and each.is_required
    ]
    _fill_words_of_sides(draft)
    kinds = (Kind.PATH, Kind.SLUG, Kind.ID, Kind.QUOTE, Kind.URL)
    for each in sorted(inputs, key=lambda other: other.side == "source"):
        for place in draft.free(*kinds):
            is_named = draft.is_naming(place - 1)
            # "rename a.md, it should be b.md"
            is_named = is_named or (draft.is_one_of(place - 1, "becoming"))
            is_target = is_named or draft.preposition_before(place) in ("to", "against")
            if is_target == (each.side == "target"):
                draft.set_text(each, [place])
                break


def _fill_words_of_sides(draft: Draft) -> None:
    """Set two inputs from the words after "from" and "to", or one from the word after "against": "from fix-cart into main"."""
    inputs = [each for each in draft.open_inputs() if each.role in (Role.TEXT, Role.NAME) and each.side]
    if not any(each.is_required for each in inputs):
        return
    needed = {each.side for each in inputs if each.is_required}
    sides = [each.side for each in inputs]
    known = {each.side for each in draft.profile.required if each.name in draft.args}
    prepositions = {"from": "source", "to": "target"}
    if sorted(sides) != ["source", "target"] and {*sides, *known} != {"source", "target"}:
        prepositions = {"against": "target"}
    found: dict[str, list[int]] = {}
    for place in range(draft.part.verb_place + 1, len(draft.tokens) - 1):
        side = prepositions.get(draft.preposition(place))
        if side and _is_free_word(draft, place + 1):
            found.setdefault(side, []).append(place + 1)
    is_whole = needed <= set(found) <= set(sides) and len(set(sides)) == len(sides)
    if is_whole and all(len(places) == 1 for places in found.values()):
        for each in [each for each in inputs if each.side in found]:
            draft.set_text(each, found[each.side])


def _is_free_word(draft: Draft, place: int) -> bool:
    """Whether a word or id is free, and the last one before another preposition or the end."""
    token = draft.tokens[place]
    is_name = (token.is_word and not draft.is_filler(place)) or token.kind in (Kind.ID, Kind.SLUG)
    following = place + 1
    ends = following >= len(draft.tokens) or not draft.tokens[following].is_word or bool(draft.preposition(following))
    return is_name and place not in draft.used_places and (ends or draft.is_naming(following))


def fill_words_beside_to(draft: Draft) -> None:
    """Set a new value from the words after "to", an old one from those before: "rename Old to New", "set key to 5"."""
    every = [place for place, token in enumerate(draft.tokens) if draft.wording.preposition(token) == "to"]
    to = every[0] if every else -1
    if to < 1:
        return
    # "assign ENG-5 to ann" sets no state.
    is_for_another = any(stem(draft.part.verb) in other.labels for other in draft.open_inputs())
    for each in draft.open_inputs():
        if each.role is Role.TEXT and STATE_WORDS & set(each.words) and draft.profile.writes and not is_for_another:
            any(_fill_state(draft, each, place) for place in every)
            continue
        # "point the record r1 to 198.51.100.23" for an optional "new value"
        is_meant = each.is_required or (
            "new" in each.hints and draft.tokens[to + 1 : to + 2] and draft.tokens[to + 1].is_value
        )
        if not is_meant or each.role not in (Role.NAME, Role.CONTENT, Role.TEXT):
            continue
        if each.role is Role.NAME and named(draft, each):
            continue
        # "add the record www to example.org" states where, and no value.
        is_value = "value" in each.words and draft.part.verb not in _ADDING
        is_new = (
            "new" in each.words
            or is_value
            or ("new" in each.hints and (each.role is Role.NAME or not each.is_required))
        )
        is_old = "old" in each.words
        if is_new and draft.tokens[min(to + 1, len(draft.tokens) - 1)].kind in _TIMES and _TIMED.isdisjoint(each.hints):
            continue  # "postpone 'File taxes' to Friday"
        if places := (_after_to(draft, to) if is_new else _before_to(draft, to) if is_old else []):
            draft.set_text(each, places)


def _fill_state(draft: Draft, each: Property, to: int) -> bool:
    """Set a state from the words after a "to", and return whether it was."""
    # "to state On Hold"
    start = bool(draft.stems(to + 1) & each.labels)
    places = _state_after(draft, to + start) or _after_to(draft, to + start)
    is_state = bool(places) and (draft.tokens[places[0]].is_word or draft.tokens[places[0]].kind is Kind.QUOTE)
    return is_state and draft.set_text(each, places)


def fill_field(draft: Draft) -> None:
    """Set the input that "the title of ENG-5 to 'Fix header'" names, and those of "set max_size to 5"."""
    for place, each in draft.assigned.items():
        token = draft.tokens[place]
        number = re.fullmatch(r"-?\d{1,12}", token.value)
        if each.role is Role.NUMBER and number and each.unit is None:
            draft.set(each, int(token.value), [place])
        elif each.role is Role.BOOLEAN and token.word in _SWITCHES:
            draft.set(each, _SWITCHES[token.word], [place])
        elif each.role in _TEXTS and not each.takes_objects and (token.is_value or token.is_word):
            draft.set(each, token.value, [place])
    field = draft.field
    if field is None:
        return
    places, text_input = list(field.places), field.text_input
    if text_input is not None and text_input.name not in draft.args:
        draft.set_text(text_input, places)
    token = draft.tokens[places[0]]
    if len(field.inputs) != 1 or field.inputs[0].name in draft.args:
        return
    other = field.inputs[0]
    if other.role is Role.CHOICE and token.value.isdecimal() and int(token.value) in other.choices:
        draft.set(other, int(token.value), places)
    elif other.role is Role.DATE and _MOMENT.fullmatch(token.value):
        draft.set(other, token.value, places)


def _state_after(draft: Draft, to: int) -> list[int]:
    """Return the words in capitals after "to": "In Review"."""
    end = to + 1
    while end < len(draft.tokens) and draft.tokens[end].is_word and draft.tokens[end].is_capital:
        end += 1
    return list(range(to + 1, end))


def _after_to(draft: Draft, to: int) -> list[int]:
    """Return the places of a value or a phrase after "to"; none of "to remember me", where a verb follows."""
    tokens = draft.tokens
    start = to + 1
    if start < len(tokens) and tokens[start].is_value:
        return [start]
    end = start
    while end < len(tokens) and tokens[end].is_word and not draft.is_filler(end) and end not in draft.used_places:
        end += 1
    has_object = start + 1 < len(tokens) and tokens[start + 1].is_word and not draft.preposition(start + 1)
    is_verb = has_object and not tokens[start].is_capital and draft.wording.verb(tokens[start].word)
    is_whole = end == len(tokens) or tokens[end].kind is Kind.MARK or bool(draft.preposition(end)) or end - start == 1
    return list(range(start, end)) if is_whole and not is_verb else []


def _before_to(draft: Draft, to: int) -> list[int]:
    """Return the place of a value or a word before "to", or all words of a name in capitals."""
    tokens = draft.tokens
    start = to - 1
    if draft.is_filler(start) or not tokens[start].is_word:
        return []
    while start - 1 > draft.part.verb_place and tokens[start].is_capital and tokens[start - 1].is_capital:
        start -= 1
    return list(range(start, to))
