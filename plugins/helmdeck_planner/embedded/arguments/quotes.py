"""Values that words beside them describe: 'Spring sale' as the title, the regex "a+", "those with 'beta' in the name"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import PATTERN_WORDS

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
                draft.set(patterns[0], draft.tokens[place].value, [place])
    _fill_contained(draft)


def _named_behind(draft: Draft, place: int) -> Property | None:
    """Return the input that the words behind "as" name: "'Spring sale' as commit title"."""
    if place + 2 >= len(draft.tokens) or draft.tokens[place + 1].word != "as":
        return None
    start = place + 2 + (draft.tokens[place + 2].word in draft.wording.language.determiners)
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
        label = draft.tokens[place + 2].word in draft.wording.language.determiners
        is_inside = draft.preposition(place - 1) == "with" and draft.preposition(place + 1) == "in" and label
        is_free = draft.tokens[place].kind in _CONTAINED and not draft.is_filler(place)
        if is_inside and is_free and draft.stems(place + 3) & (queries[0].hints | queries[0].labels):
            draft.set(queries[0], draft.tokens[place].value, [place], _rest(place))


def _rest(place: int) -> Sequence[int]:
    return range(place + 1, place + 4)
