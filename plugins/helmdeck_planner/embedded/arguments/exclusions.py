"""Fills inputs that take what is left out: "the tree of src without node_modules"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.refused import NEGATED_NAMES, is_negation
from helmdeck_planner.embedded.entries.property_words import EXCLUDED, EXCLUDING_WORDS, FOLDER_WORDS
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.word_lists import word_list

_MODALS: Final = word_list("modals")


def fill_exclusions(draft: Draft, part: Part) -> None:
    """Set an open list from an excluded part: "but leave out node_modules"."""
    own = draft.beside(part)
    if _set(draft, own, own.tokens[0].start, []):
        draft.stated_by.append(part)


def fill_passive_exclusion(draft: Draft, part: Part) -> None:
    """Set an open list from what a sentence says to leave out: "the folder build can be skipped"."""
    own = draft.beside(part)
    inputs = [each for each in draft.open_inputs() if each.is_list and EXCLUDING_WORDS & set(each.words)]
    end = next((place for place, token in enumerate(part.tokens) if token.word in _MODALS), -1)
    is_left_out = part.tokens[-1].word in EXCLUDED and part.tokens[-2].word == "be"
    if len(inputs) != 1 or end < 0 or not is_left_out:
        return
    values = [token.value for place, token in enumerate(part.tokens[:end]) if token.is_value or _is_name(own, place)]
    if values and draft.set(inputs[0], values, []):
        draft.stated_by.append(part)


def fill_own_exclusions(draft: Draft) -> None:
    """Set an open list from the words after "skip", "without" and the like in the part itself."""
    fill_negated(draft)
    start = next((place for place in range(1, len(draft.tokens)) if draft.is_one_of(place, "excluding")), -1)
    if start > 0:
        _set(draft, draft, draft.tokens[start].start, range(start, len(draft.tokens)))


def fill_negated(draft: Draft) -> None:
    """Set ``not_contains`` from the value behind "not containing"."""
    for each in draft.open_inputs():
        labels = frozenset(stem(word) for word in each.words if word not in NEGATED_NAMES)
        if NEGATED_NAMES.isdisjoint(each.words) or not labels or each.is_list:
            continue
        for place in range(2, len(draft.tokens)):
            is_label = bool(draft.stems(place - 1) & labels) and is_negation(draft.tokens[place - 2])
            if is_label and draft.tokens[place].is_value:
                draft.set_text(each, [place])


def _set(draft: Draft, own: Draft, start: int, used: Sequence[int]) -> bool:
    """Set a list from the words after the first one of an exclusion."""
    inputs = [each for each in draft.open_inputs() if each.is_list and EXCLUDING_WORDS & set(each.words)]
    first = next(
        (
            place
            for place, token in enumerate(own.tokens)
            if token.start >= start and any(own.is_one_of(place, key) for key in ("excluding", "including_verbs"))
        ),
        -1,
    )
    if len(inputs) != 1 or first < 0:
        return False
    values = []
    for place in range(first + 1, len(own.tokens)):
        token, before = own.tokens[place], own.tokens[place - 1]
        if before.word in draft.wording.language.joints and (own.is_one_of(place, "pronouns") or token.word == "also"):
            break  # "without tmp, and I also want ..."
        # ".git" is a mark and a word.
        is_dotted = before.value == "." and before.end == token.start
        if token.is_value or (token.is_word and (is_dotted or _is_name(own, place))):
            values.append(f".{token.value}" if is_dotted else token.value)
    return bool(values) and draft.set(inputs[0], values, [], used)


def _is_name(draft: Draft, place: int) -> bool:
    """Whether a word can be the name of what is left out: "node_modules" and "vendor", but not "the folder"."""
    word = draft.tokens[place].word
    language = draft.wording.language
    empty = language.empty | language.joints | language.references | FOLDER_WORDS
    is_particle = draft.is_one_of(place, "particles") or draft.is_one_of(place, "files")
    return not (draft.is_filler(place) or is_particle or word in empty)
