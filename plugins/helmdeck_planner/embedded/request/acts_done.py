"""Finds acts that a request says were done: "Ann merged PR 7", "the lamp was turned off". An entry that does the same is not requested."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from helmdeck_language import ENGLISH, Token
from helmdeck_planner.embedded.request.clauses import base_form
from helmdeck_planner.embedded.request.part import ActDone
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

_PERSONS: Final = word_list("speakers") | word_list("persons")
_OWNERS: Final = word_list("owners")
_BETWEEN: Final = word_list("before_past_verbs")
_PAST_PASSIVES: Final = word_list("past_passives")
_REQUESTING: Final = word_list("requesting")
_SIDES: Final = word_list("sides")


def acts_done(tokens: Sequence[Token], wording: Wording) -> Iterator[ActDone]:
    """Yield the acts that a sentence says a person did."""
    if wording.language is not ENGLISH:
        return
    for place in range(1, len(tokens)):
        if tokens[place].word in _REQUESTING:
            return  # "it should have been closed"
        verb = base_form(tokens[place].word, wording) if tokens[place].is_word else ""
        if verb and not tokens[place].word.endswith("ing") and _is_past(tokens, place):
            behind = [token.word for token in tokens[place + 1 :] if token.word in _SIDES]
            yield ActDone(wording.verb(verb) or verb, behind[0] if behind else "")


def _is_past(tokens: Sequence[Token], place: int) -> bool:
    """Whether the subject of a verb in the past, or "was", is before a place."""
    before = place - 1
    while before >= 0 and tokens[before].word in _BETWEEN:
        before -= 1
    if before < 0:
        return False
    subject, owner = tokens[before], tokens[before - 1] if before else None
    if subject.word in _PAST_PASSIVES:
        return before > 0
    is_name = subject.is_word and subject.is_capital and (owner is None or owner.value in ".,;:!?")
    return is_name or subject.word in _PERSONS or (subject.is_word and owner is not None and owner.word in _OWNERS)
