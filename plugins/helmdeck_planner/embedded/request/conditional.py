"""Finds the condition under which a command is requested: "if it rains, ...", "merge it when the checks pass"."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

from helmdeck_language import Token
from helmdeck_planner.embedded.request.clauses import base_form
from helmdeck_planner.embedded.request.negation import phrase_length
from helmdeck_planner.embedded.request.part import Part
from helmdeck_planner.embedded.request.word_lists import phrase_list, word_list
from helmdeck_planner.embedded.request.wording import Wording

_CONDITIONAL: Final = word_list("conditional")
# "when the checks pass"
_EVENTS: Final = phrase_list("events")
# "once it is open", but "once a day"; "after Bob left", but "after lunch"
_MAYBE_EVENTS: Final = word_list("maybe_events")
_POLITE: Final = word_list("polite_conditions")
_SHORT_POLITE: Final = word_list("short_polite_conditions")
_FINITE: Final = word_list("being") | word_list("finite") | word_list("past") | word_list("stating")
_ENDED: Final = word_list("ended")
_WATCHING: Final = word_list("watching")
# Words of "if that's ok".
_MOST_POLITE: Final = 4


def states_condition(part: Part) -> bool:
    """Whether a part is a condition of what follows it: "if it rains", but not "if you don't mind"."""
    is_clause = part.tokens[0].word in _CONDITIONAL and not part.is_question and len(part.tokens) > 2
    return is_clause and not _is_polite(part.tokens)


def trailing_condition(part: Part, wording: Wording) -> Sequence[Token]:
    """Return the words behind a command that say when it is requested: "unless one exists"; nothing without any."""
    if part.verb_place != 0 or part.is_question:
        return ()
    tokens = tuple(itertools.takewhile(lambda token: token.value != ":", part.tokens))
    for place in range(2, len(tokens) - 1):
        if tokens[place - 1].word in _WATCHING or tokens[0].word in _WATCHING:
            return ()
        clause = tokens[place:]
        if clause[0].word in _CONDITIONAL:
            return clause if len(clause) > 2 and not _is_polite(clause) else ()
        length = phrase_length(tokens, place, _EVENTS)
        if (length and len(clause) > length + 1) or (
            clause[0].word in _MAYBE_EVENTS and _has_verb(clause[2:], wording)
        ):
            return () if _only_orders(clause, wording) else clause
    return ()


def _only_orders(clause: Sequence[Token], wording: Wording) -> bool:
    """Whether a clause only refers to the end of what is requested before: "when that's done"."""
    words = {token.word.partition("'")[0] for token in clause}
    return bool(words & wording.language.references) and clause[-1].word in _ENDED


def _is_polite(clause: Sequence[Token]) -> bool:
    """Whether a condition only asks kindly: "if you have time", "if that's ok"."""
    words = [token.word for token in clause]
    return not _POLITE.isdisjoint(words) or (len(words) <= _MOST_POLITE and not _SHORT_POLITE.isdisjoint(words))


def _has_verb(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether words behind a subject have a verb: "checks pass", "approved it"."""
    return any(
        token.word in _FINITE or bool(wording.verb(token.word)) or bool(base_form(token.word, wording))
        for token in tokens
        if token.is_word
    )
