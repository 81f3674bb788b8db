"""Quoted strings: those that a label or a word beside them describes, and then the others in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.ids import is_id
from helmdeck_planner.embedded.arguments.labels import is_labelled_otherwise, labelled, named
from helmdeck_planner.embedded.entries.properties import QUOTED_ROLES, Property, Role
from helmdeck_planner.embedded.entries.property_words import NAMING_VERBS, PATTERN_WORDS, TITLES

_QUOTES: Final = (Kind.QUOTE, Kind.CODE)

_TEXTS: Final = (Role.NAME, Role.CONTENT, Role.TEXT)
_CONTAINED: Final = (Kind.QUOTE, Kind.NUMBER, Kind.ID, Kind.WORD)
_MAX_LABEL: Final = 3


def fill_described_quotes(draft: Draft) -> None:
    """Set quoted strings that are named behind "as", regular expressions, and what the name of a searched thing contains."""
    for place in draft.free(Kind.QUOTE, Kind.CODE):
        if each := _named_behind(draft, place):
            label = range(place + 1, min(place + 2 + _MAX_LABEL, len(draft.tokens)))
            draft.set(
                each, draft.tokens[place].value, [place], [other for other in label if _labels(draft, each, other)]
            )
        elif place and draft.tokens[place - 1].word in PATTERN_WORDS:
            patterns = [each for each in draft.open_inputs() if each.role is Role.PATTERN and not each.is_list]
            if len(patterns) == 1:
                draft.set_text(patterns[0], [place])
    _fill_contained(draft)


def _named_behind(draft: Draft, place: int) -> Property | None:
    """Return the input that the words behind "as" name: "'Spring sale' as commit title"."""
    if place + 2 >= len(draft.tokens) or draft.tokens[place + 1].word != "as":
        return None
    start = place + 2 + (draft.is_determiner(place + 2))
    words = range(start, min(start + _MAX_LABEL, len(draft.tokens)))
    found = [
        (sum(_labels(draft, each, other) for other in words), each)
        for each in draft.open_inputs()
        if each.role in _TEXTS and not each.is_list
    ]
    best = max(found, key=lambda row: row[0], default=None)
    return best[1] if best is not None and best[0] else None


def _labels(draft: Draft, each: Property, place: int) -> bool:
    return bool(draft.stems(place) & each.labels)


def _fill_contained(draft: Draft) -> None:
    """Set an optional query from "with 'beta' in the name", if its description has the last word."""
    queries = [each for each in draft.open_inputs() if each.role is Role.QUERY and not each.is_required]
    for place in range(1, len(draft.tokens) - 3) if len(queries) == 1 else ():
        label = draft.is_determiner(place + 2)
        is_inside = draft.preposition(place - 1) == "with" and draft.preposition(place + 1) == "in" and label
        is_free = draft.tokens[place].kind in _CONTAINED and not draft.is_filler(place)
        if is_inside and is_free and draft.stems(place + 3) & (queries[0].hints | queries[0].labels):
            draft.set(queries[0], draft.tokens[place].value, [place], _rest(place))


def _rest(place: int) -> Sequence[int]:
    return range(place + 1, place + 4)


def fill_labelled_quotes(draft: Draft) -> None:
    """Set what a label names first: "with the subject 'Minutes' and the body 'See below'"."""
    for each in draft.open_inputs():
        if each.role not in (Role.NAME, Role.CONTENT, Role.QUERY, Role.TEXT, Role.ID):
            continue
        places = labelled(draft, each) or (named(draft, each) if each.role in (Role.CONTENT, Role.NAME) else [])
        kind = draft.tokens[places[0]].kind if places else Kind.WORD
        if each.role is Role.ID and places and not is_id(draft, each, places):
            continue
        if kind is Kind.QUOTE and each.is_list:
            places = [place for place in draft.free(Kind.QUOTE) if place >= places[0]]
            draft.set(each, [draft.tokens[place].value for place in places], places)
        elif kind in _QUOTES and not each.labels and _is_described_less(draft, each):
            continue  # of "the text" and "the text to disappear", the one that more words describe is meant
        elif kind in _QUOTES or (each.role is Role.NAME and kind is Kind.SLUG):
            draft.set(each, draft.tokens[places[0]].value, places[:1])


def _is_described_less(draft: Draft, each: Property) -> bool:
    own = _telling_words(draft, each)
    others = (other for other in draft.open_inputs() if other is not each and other.role in QUOTED_ROLES)
    return any(_telling_words(draft, other) > own for other in others)


def fill_quotes(draft: Draft) -> None:
    """Set the inputs that take a quoted string: required ones first, and those that the part describes."""
    if not draft.free(*_QUOTES):
        return
    only = _only_text(draft)
    _fill_purpose(draft)
    for each in sorted(draft.open_inputs(), key=lambda other: _quote_order(draft, other)):
        if not draft.free(*_QUOTES):
            return
        places = [place for place in draft.free(*_QUOTES) if not is_labelled_otherwise(draft, each, place)]
        if each.role is Role.NAME and draft.profile.writes:
            # "push a.md with 'hi'" names no branch.
            places = [place for place in places if draft.preposition_before(place) != "with"]
        if not places:
            continue
        if each.role not in QUOTED_ROLES or not (each.is_required or each is only):
            continue
        chosen = draft.own(places) if each.is_list else places[:1]
        values = [draft.tokens[place].value for place in chosen]
        draft.set(each, values if each.is_list else values[0], chosen)


def _fill_purpose(draft: Draft) -> None:
    """Set the only optional title from the only quoted string behind "for", if another one is no title: "book Aspen for 'Review'"."""
    titles = [each for each in draft.open_inputs() if each.role in QUOTED_ROLES and TITLES & set(each.words)]
    places = [place for place in draft.free(*_QUOTES) if draft.preposition_before(place) == "for"]
    if len(titles) == len(places) == 1 and not titles[0].is_required and draft.profile.writes:
        draft.set_text(titles[0], places)


def _quote_order(draft: Draft, each: Property) -> tuple[bool, int, int]:
    place = QUOTED_ROLES.index(each.role) if each.role in QUOTED_ROLES else len(QUOTED_ROLES)
    if each.role is Role.NAME and draft.part.verb in NAMING_VERBS:
        place = -1  # "rename issue 9 to 'Crash'"
    return not each.is_required, -_telling_words(draft, each), place


def _telling_words(draft: Draft, each: Property) -> int:
    """Return how many words of a part describe an input and none of the others that take a text."""
    own = 1 if each.role in QUOTED_ROLES else 0
    if len(draft.profile.texts) == own:
        return 0
    places = (place for place in range(len(draft.tokens)) if place != draft.part.verb_place)
    words = {term for place in places if not draft.is_filler(place) for term in draft.stems(place)}
    return sum(draft.profile.text_terms[term] <= own for term in (each.hints | each.labels) & words)


def _only_text(draft: Draft) -> Property | None:
    """Return the first input that takes a text, or the one that a part describes, of an entry that requires none."""
    if any(each.is_required for each in draft.profile.texts):
        return None
    return min(draft.profile.texts, key=lambda each: _quote_order(draft, each), default=None)
