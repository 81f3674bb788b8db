"""Fills inputs that take places and languages: the words after "in", "from" and "to", and street addresses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import is_in_topic
from helmdeck_planner.embedded.arguments.name_words import is_inside_name, word_run
from helmdeck_planner.embedded.arguments.times import time_at
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import FILE_TYPES

_TARGET: Final = ("to",)
_SOURCE: Final = ("from",)
_PLACES: Final = ("in", "at", "near", "for", "of", "to", "from", "on")
_ADDRESS: Final = re.compile(r"\baddress|\bcity, ", re.IGNORECASE)
_WHERE: Final = re.compile(r"where\b(?! to\b)", re.IGNORECASE)
_HOUSE_NUMBER: Final = re.compile(r"\d{1,6}[A-Za-z]?")
_ORDINAL: Final = re.compile(r"\d{1,3}(?:st|nd|rd|th)", re.IGNORECASE)


def fill_places(draft: Draft) -> None:
    """Set places and languages: the words after "in", "from", "to"."""
    _fill_where(draft)
    inputs = [each for each in draft.open_inputs() if each.role in (Role.PLACE, Role.LANGUAGE)]
    for each in inputs:
        if each.role is Role.LANGUAGE:
            prepositions: Sequence[str] = ("to", "in") if each.side != "source" else _SOURCE
        elif len(inputs) > 1 and each.side:
            prepositions = _SOURCE if each.side == "source" else _TARGET
        else:
            prepositions = _PLACES
        if each.role is Role.PLACE and not each.is_required and draft.profile.writes:
            prepositions = [other for other in prepositions if other != "for"]  # "two hours for writing"
        places = _after_label(draft, each) or _after_preposition(draft, each, prepositions)
        if not places and each.role is Role.LANGUAGE and each.side == "source":
            places = _before_language(draft, each)
        if not places and each.role is Role.PLACE and each.side == "source" and len(inputs) > 1:
            places = _before_to(draft)
        if not places and each.role is Role.PLACE and each.is_required and len(inputs) == 1:
            places = _capitalised(draft, each)
        if places and each.is_list and each.role is Role.PLACE:
            runs = _places_of_list(draft, each, places)
            draft.set(each, [draft.text(run[0], run[-1]) for run in runs], [place for run in runs for place in run])
        elif places:
            draft.set_text(each, places)


def _after_label(draft: Draft, each: Property) -> list[int]:
    """Return the name in capitals behind the label of a place: "location Room 12"."""
    for place in range(len(draft.tokens) - 1) if each.role is Role.PLACE else ():
        start = place + 1 + (draft.tokens[place + 1].value == ":")
        is_label = bool(draft.stems(place) & each.labels) and place != draft.part.verb_place
        if is_label and start < len(draft.tokens) and draft.tokens[start].is_capital:
            return _place_run(draft, start, each)
    return []


def _fill_where(draft: Draft) -> None:
    """Set the only text whose description asks where something happened from a name behind "at": "spent 8 at Bo's Grill"."""
    inputs = [each for each in draft.open_inputs() if each.role in (Role.TEXT, Role.NAME) and _WHERE.match(each.text)]
    for place in range(1, len(draft.tokens)) if len(inputs) == 1 and not inputs[0].is_list else ():
        is_name = draft.tokens[place].is_word and draft.tokens[place].is_capital
        if is_name and draft.tokens[place - 1].word == "at" and not draft.is_filler(place):
            run = word_run(draft, place)
            draft.set_text(inputs[0], run)
            return


def _after_preposition(draft: Draft, each: Property, prepositions: Sequence[str]) -> list[int]:
    """Return the words behind the first preposition that has some; "to fly from Graz to Porto" leads to the name."""
    for preposition in prepositions:
        found: list[list[int]] = []
        for place in range(len(draft.tokens)):
            if draft.preposition(place) != preposition or place == draft.part.verb_place:
                continue
            start = place + 1
            while draft.is_determiner(start):
                start += 1
            run = _place_run(draft, start, each)
            if run and not may_be_place(draft, each, run[0]):
                continue
            labels_number = run and run[-1] + 1 < len(draft.tokens) and draft.tokens[run[-1] + 1].kind is Kind.NUMBER
            if run and not labels_number:
                found.append(run)
        if found:
            return next((run for run in found if not draft.tokens[run[0]].value[:1].islower()), found[0])
    return []


def _before_to(draft: Draft) -> list[int]:
    """Return the name in capitals right before "to" and another one: "Porto to Lyon"."""
    for place in range(1, len(draft.tokens) - 1):
        end = draft.tokens[place + 1]
        if draft.tokens[place].word != "to" or not (end.is_word and end.is_capital):
            continue
        start = place
        while start > 0 and draft.tokens[start - 1].is_word and draft.tokens[start - 1].is_capital:
            start -= (
                1 if start - 1 not in draft.used_places and start - 1 != draft.part.verb_place else len(draft.tokens)
            )
        if 0 <= start < place:
            return list(range(start, place))
    return []


def _before_language(draft: Draft, each: Property) -> list[int]:
    """Return the language before "to" and another one: "Italian into Swedish"."""
    places = [place for place in draft.free(Kind.WORD) if _is_language(draft, each, place)]
    return [place for place in places if draft.preposition(place + 1) == "to" and place + 2 in places][:1]


def may_be_place(draft: Draft, each: Property, place: int) -> bool:
    """Whether the words at a place can be that of an input: "in detail" and "for my trip" name no city, "to Bob" no language."""
    token = draft.tokens[place]
    if not each.is_required and is_in_topic(draft, place):
        return False
    if each.role is Role.LANGUAGE:
        return _is_language(draft, each, place)
    if token.kind is Kind.QUOTE or not token.value[:1].islower():
        return True
    if time_at(draft, place) is not None:
        return False
    # What is near, or at an end of a way, may be any place: "from the station". Names in lower case are in no word list.
    has_article = draft.is_determiner(place - 1)
    is_name = not has_article and not draft.wording.is_known(token.word)
    is_near = draft.preposition_before(place) == "near"
    return is_near or bool(each.side) or is_name or bool(draft.stems(place) & each.hints)


def _is_language(draft: Draft, each: Property, place: int) -> bool:
    token = draft.tokens[place]
    names = draft.wording.language.values["languages"]
    is_name = any(token.word[:end] in names for end in (len(token.word), -1, -2))  # "ins Englische"
    return token.kind is Kind.QUOTE or is_name or token.word in FILE_TYPES or bool(draft.stems(place) & each.hints)


def _place_run(draft: Draft, start: int, each: Property) -> list[int]:
    is_language = each.role is Role.LANGUAGE
    is_address = takes_address(each) or (not is_language and _starts_address(draft, start))
    run: list[int] = []
    for place in range(start, len(draft.tokens)):
        token = draft.tokens[place]
        if is_address and place not in draft.used_places and continues_address(draft, place, run):
            run.append(place)
            continue
        if run and not is_language and _is_number_of_place(draft, place):
            run += [place, *_after_comma(draft, place + 1)]
            break
        if place in draft.used_places or draft.wording.preposition(token) or token.kind not in (Kind.WORD, Kind.QUOTE):
            break
        if run and is_inside_name(draft, place):
            run.append(place)
            continue
        if token.word in draft.wording.language.joints or (run and draft.is_filler(place)):
            break
        if not run and draft.stems(place) & (draft.profile.nouns | draft.profile.verbs):
            return []
        run.append(place)
        if token.kind is Kind.QUOTE or is_language:
            break
        if token.is_capital and not each.is_list and (region := _after_comma(draft, place + 1)):
            run += region
            break
    if run and all(draft.is_filler(place) for place in run):
        return []
    return run


def _starts_address(draft: Draft, place: int) -> bool:
    """Whether a house number and a street in capitals start at a place: "3 Dock Road"; "2 km" is none."""
    tokens = draft.tokens
    if place + 2 >= len(tokens) or not _HOUSE_NUMBER.fullmatch(tokens[place].value):
        return False
    return all(token.is_word and token.is_capital for token in tokens[place + 1 : place + 3])


def _is_number_of_place(draft: Draft, place: int) -> bool:
    """Whether a number ends a name: "Room 4"; "Oslo 3 days" has none."""
    before, token = draft.tokens[place - 1], draft.tokens[place]
    is_house = bool(_HOUSE_NUMBER.fullmatch(token.value)) and token.kind in (Kind.NUMBER, Kind.WORD)
    if is_house and before.is_capital and _after_comma(draft, place + 1):
        return place not in draft.used_places
    is_last = place + 1 >= len(draft.tokens) or not (
        draft.tokens[place + 1].is_word or draft.tokens[place + 1].is_value
    )
    return token.kind is Kind.NUMBER and place not in draft.used_places and is_last and before.is_capital


def _after_comma(draft: Draft, comma: int) -> list[int]:
    """Return a comma and the only name in capitals behind it, which says where a place is: ", Lisbon"; empty without one."""
    tokens = draft.tokens
    if comma >= len(tokens) or tokens[comma].value != ",":
        return []
    end = comma + 1
    while end < len(tokens) and tokens[end].is_word and tokens[end].is_capital and not draft.is_filler(end):
        end += 1
    is_free = draft.used_places.isdisjoint(range(comma, end))
    ends = end == len(tokens) or (tokens[end].kind is Kind.MARK and tokens[end].value not in ",:")
    ends = ends or bool(draft.preposition(end))
    is_name = end > comma + 1 and not draft.stems(comma + 1) & (draft.profile.text | draft.profile.verbs)
    return list(range(comma, end)) if is_free and ends and is_name else []


def takes_address(each: Property) -> bool:
    """Whether a place may have a number and a comma: "221B Baker Street, London"."""
    return "address" in each.words or bool(_ADDRESS.search(each.text))


def continues_address(draft: Draft, place: int, run: Sequence[int]) -> bool:
    """Whether a token is a house number, or a comma, of a street name."""
    token = draft.tokens[place]
    following = draft.tokens[place + 1] if place + 1 < len(draft.tokens) else None
    names_next = following is not None and (following.is_capital or bool(_ORDINAL.fullmatch(following.value)))
    if _HOUSE_NUMBER.fullmatch(token.value):
        return bool(run) or names_next
    return (
        bool(run)
        and token.value == ","
        and following is not None
        and (names_next or bool(_HOUSE_NUMBER.fullmatch(following.value)))
    )


def _places_of_list(draft: Draft, each: Property, run: list[int]) -> list[list[int]]:
    """Return a place and those that are joined to it: "to Bremen and Kiel"."""
    runs = [run]
    while runs[-1][-1] + 2 < len(draft.tokens) and draft.joins_list(runs[-1][-1] + 1):
        if draft.preposition(runs[-1][-1] + 1):
            break
        following = _place_run(draft, runs[-1][-1] + 2, each)
        if not following:
            break
        runs.append(following)
    return runs


def _capitalised(draft: Draft, each: Property) -> list[int]:
    """Return the only name in capitals."""
    runs: list[list[int]] = []
    is_address = takes_address(each)
    for place in range(len(draft.tokens)):
        if (
            is_address
            and place not in draft.used_places
            and continues_address(draft, place, runs[-1] if runs and runs[-1][-1] == place - 1 else [])
        ):
            if runs and runs[-1][-1] == place - 1:
                runs[-1].append(place)
            else:
                runs.append([place])
            continue
        if draft.tokens[place].kind is not Kind.WORD or place in draft.used_places:
            continue
        if place == draft.part.verb_place or draft.is_filler(place) or not draft.tokens[place].is_capital:
            continue
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs[0] if len(runs) == 1 else []
