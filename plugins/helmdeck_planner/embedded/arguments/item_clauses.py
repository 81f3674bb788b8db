"""Texts and relations in words: "that she plays chess and lives in Bern", "Anna works at Acme"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.request.acts import is_act
from helmdeck_planner.embedded.request.word_lists import word_list

PERSONS: Final = frozenset("he she him her".split())
"""Words for a person that is named before."""
_VERBS: Final = frozenset("is are was were has have had can will does".split())
_ENDS: Final = frozenset(".;!?(")
_MAX_LINK: Final = 4
_LEAST_WORDS: Final = 2
_SO: Final = word_list("consequences")
_SNAKE: Final = re.compile(r"[a-z]{2,20}(?:_[a-z]{1,20}){1,4}")
_NAMES: Final = (Kind.QUOTE, Kind.ID)


def clauses(draft: Draft, start: int) -> list[tuple[int, int]]:
    """Return the first and last places of the clauses from a place to the end of its sentence; none if it has quoted strings."""
    tokens = draft.tokens
    while start < len(tokens) and tokens[start].value in (",", ":"):
        start += 1
    end = start
    while end < len(tokens) and tokens[end].kind is not Kind.BREAK and tokens[end].value not in _ENDS:
        is_behind = end == start or tokens[end].start >= tokens[end - 1].end
        if not is_behind:
            break
        if end in draft.used_places or tokens[end].kind in (Kind.QUOTE, Kind.CODE):
            return []
        end += 1
    while end > start and tokens[end - 1].kind is Kind.MARK:
        end -= 1
    if end - start < _LEAST_WORDS:
        return []
    starts = [start, *(place + 1 for place in range(start + 1, end - 2) if _is_joint(draft, place))]
    ends = [*(first - 2 for first in starts[1:]), end - 1]
    return [(first, last - (draft.tokens[last].value == ",")) for first, last in zip(starts, ends, strict=True)]


def _is_joint(draft: Draft, place: int) -> bool:
    """Whether another clause follows "and": "and runs in rack 12", but not "and coffee"."""
    if not draft.is_joint(place):
        return False
    following = place + 1 + draft.is_one_of(place + 1, "pronouns")
    word = draft.word(following)
    base = word.removesuffix("s")
    is_finite = base != word and bool(draft.wording.verb(base) or is_act(base) or draft.preposition(following + 1))
    return word in _VERBS or is_finite


def statement(
    draft: Draft, place: int, name_at: Callable[[int], list[int]]
) -> tuple[Sequence[int], Sequence[int], Sequence[int]] | None:
    """Return the places of two names and of what joins them: "Anna", "works at" and "Acme"."""
    first = [place] if draft.tokens[place].word in PERSONS else _name(draft, place, name_at)
    between = first[-1] + 1 if first else len(draft.tokens)
    end = between
    if between < len(draft.tokens) and _SNAKE.fullmatch(draft.tokens[between].value) and _joins(draft, between):
        end += 1  # "Anna works_at Acme"
    while end < len(draft.tokens) and end - between <= _MAX_LINK and _joins(draft, end) and not name_at(end):
        end += 1
    second = _name(draft, end, name_at) if first and between < end < len(draft.tokens) else []
    words = range(between, end)
    if not second or len(words) > _MAX_LINK or all(draft.preposition(each) for each in words):
        return None
    return first, words, second


def _joins(draft: Draft, place: int) -> bool:
    token = draft.tokens[place]
    is_quote = token.kind is Kind.QUOTE and draft.tokens[place - 1].kind is not Kind.QUOTE
    is_free = (token.is_word or is_quote) and place not in draft.used_places and place != draft.part.verb_place
    is_free = is_free and token.word not in _SO  # "link her so that Anna works_on Ward 7"
    return is_free and token.word not in draft.wording.language.joints and "-" not in token.value


def _name(draft: Draft, place: int, name_at: Callable[[int], list[int]]) -> list[int]:
    token = draft.tokens[place]
    if place in draft.used_places:
        return []
    return [place] if token.kind in _NAMES else name_at(place)
