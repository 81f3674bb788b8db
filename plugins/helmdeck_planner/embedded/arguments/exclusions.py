"""Fills inputs that take what is left out: "the tree of src without node_modules"."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.property_words import EXCLUDING_WORDS
from helmdeck_planner.embedded.request.parts import Part


def fill_exclusions(draft: Draft, part: Part) -> None:
    """Set an open list from an excluded part: "but leave out node_modules"."""
    if _set(draft, part, range(part.verb_place + 1, len(part.tokens)), []):
        draft.stated_by.append(part)


def fill_own_exclusions(draft: Draft) -> None:
    """Set an open list from the words after "skip", "without" and the like in the part itself."""
    start = next((place for place in range(1, len(draft.tokens)) if draft.is_one_of(place, "excluding")), -1)
    if start > 0:
        _set(draft, draft.part, range(start + 1, len(draft.tokens)), range(start, len(draft.tokens)))


def _set(draft: Draft, part: Part, places: Sequence[int], used: Sequence[int]) -> bool:
    inputs = [each for each in draft.open_inputs() if each.is_list and EXCLUDING_WORDS & set(each.words)]
    if len(inputs) != 1:
        return False
    values = []
    for place in places:
        token, before = part.tokens[place], part.tokens[place - 1]
        # ".git" is a mark and a word.
        is_dotted = before.value == "." and before.end == token.start
        if token.is_value or (token.is_word and (is_dotted or not draft.wording.is_known(token.word))):
            values.append(f".{token.value}" if is_dotted else token.value)
    return bool(values) and draft.set(inputs[0], values, [], used)
