"""Reads a text without quotation marks: "tell #ops that the lift works again", "answer: see you on Monday"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_language import Kind, Token
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.word_lists import word_list

_REPORTING: Final = word_list("reporting_verbs")
_TELLING: Final = word_list("telling_verbs")
_STATEMENT_STARTS: Final = word_list("subjects") | word_list("statement_starts")


def with_text(part: Part, request: str) -> Part | None:
    """Return a command with all that is behind its colon, or behind the "that" of a verb of saying, as one quoted text.

    :returns: ``None`` for other parts, and if a value comes first there.
    """
    tokens = part.tokens
    if part.verb_place != 0 or part.is_question:
        return None
    marks = (":", "that") if tokens[0].word in _REPORTING else (":",)
    places = (place for place, token in enumerate(tokens[1:-1], 1) if token.value in marks)
    # "write a note that says: ..."
    start = next((place + 1 for place in places if tokens[min(place + 2, len(tokens) - 1)].value != ":"), 0)
    start = start or _after_person(tokens)
    if not start or not tokens[start].is_word or any(token.kind is Kind.QUOTE for token in tokens):
        return None
    first, last = tokens[start].start, tokens[-1].end
    last += request[last : last + 1] in ("?", "!")
    text = Token(Kind.QUOTE, first, last, request[first:last], "")
    return attrs.evolve(part, text=request[tokens[0].start : last], tokens=(*tokens[:start], text))


def _after_person(tokens: Sequence[Token]) -> int:
    """Return where a statement starts behind its receiver: "tell #ops we are live"; 0 without one."""
    has_receiver = len(tokens) > 3 and tokens[1].is_value and tokens[0].word in _TELLING
    return 2 if has_receiver and tokens[2].word in _STATEMENT_STARTS else 0
