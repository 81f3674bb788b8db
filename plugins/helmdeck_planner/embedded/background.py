"""Tells what a request only says from what it requests: "my disk is full", "I'm looking at it", "black friday is coming"."""

from __future__ import annotations

from typing import Final

import attrs

from helmdeck_language import ENGLISH, Kind
from helmdeck_planner.embedded.choice.confidence import UNSURE, score
from helmdeck_planner.embedded.pick import Pick, is_gap, is_risky
from helmdeck_planner.embedded.request.negation import states_fact
from helmdeck_planner.embedded.request.parts import Part, refers
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

_STATED: Final = (Kind.SQL, Kind.CODE)
# "c01d55ee20 should be on strict" is requested; "I have a fair in Ghent" is told.
_REQUESTING: Final = word_list("requesting")


def is_statement(part: Part, wording: Wording) -> bool:
    """Whether a part may request nothing: a greeting, or a sentence about somebody."""
    words = [token.word for token in part.tokens if token.is_word]
    return not words or not wording.lexicon.statements.isdisjoint(words) or len(part.tokens) == 1


def tells_fact(part: Part, wording: Wording) -> bool:
    """Whether a part tells something, and names neither an act nor a need: "we counted again", "we can't come"."""
    if wording.language is not ENGLISH or part.is_question or part.is_wish or len(part.tokens) < 2:
        return False
    if any(token.kind in _STATED or token.word in _REQUESTING for token in part.tokens):
        return False
    if part.verb:
        return part.verb_place > 0 and states_fact(part.tokens, 0, wording)
    return is_statement(part, wording)


def without_background(picks: tuple[Pick, ...], wording: Wording) -> tuple[Pick, ...]:
    """Remove what requests nothing, beside parts that do, as in "My disk is full. List the files", and greetings.

    What is told has a step only if nothing else has one. A part without an entry that refers to it is quoted with it.
    """
    told = [pick for pick in picks if pick.profile is None and tells_fact(pick.part, wording)]
    if told and all(pick.profile is None for pick in picks):
        picks = tuple(_with_step(pick) if any(pick is each for each in told) else pick for pick in picks)
    asking = tuple(pick for pick in _with_facts(picks, wording) if _asks(pick, wording))
    return asking or picks


def _asks(pick: Pick, wording: Wording) -> bool:
    """Whether a part requests something; a sentence about somebody needs a step that is likely."""
    if pick.part.verb or not is_statement(pick.part, wording):
        return pick.profile is not None or not tells_fact(pick.part, wording)
    return pick.profile is not None and pick.found[0].is_complete and score(pick.found) >= UNSURE


def _with_step(pick: Pick) -> Pick:
    found = pick.found
    if not found or is_gap(found) or is_risky(found) or not found[0].is_complete:
        return pick
    return attrs.evolve(pick, profile=found[0].profile)


def _with_facts(picks: tuple[Pick, ...], wording: Wording) -> tuple[Pick, ...]:
    """Quote a fact with the part without an entry that refers to it: "I forgot my password, reset it"."""
    found: list[Pick] = []
    for pick in picks:
        before = found[-1] if found else None
        is_about = before is not None and before.profile is None and tells_fact(before.part, wording)
        if before is not None and is_about and pick.profile is None and refers(pick.part, wording):
            text = f"{before.part.text}, {pick.part.text}"
            found[-1] = attrs.evolve(pick, part=attrs.evolve(pick.part, text=text))
        else:
            found.append(pick)
    return tuple(found)
