"""Reads requests that state how a thing is to be: "light.kitchen off", "br-77ac09 can be thrown away", "BK-77120 has to go"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import ENGLISH, Kind, Token
from helmdeck_planner.embedded.request.clauses import base_form
from helmdeck_planner.embedded.request.lead_ins import without_lead_ins
from helmdeck_planner.embedded.request.tokens import token_at
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

_SIDES: Final = word_list("sides")
# "A-2217 is off", "br-58d1f0 goes to production"
_STATING: Final = word_list("stating")
_REFERRING: Final = (Kind.ID, Kind.PATH, Kind.HASH)
_NEVER_VERBS: Final = word_list("never_verbs")
_LEAVING: Final = word_list("leaving")
_MODALS: Final = word_list("modals")
_ADVERB_VERBS: Final = word_list("adverb_like_verbs")


def is_thing(token: Token) -> bool:
    """Whether a token is the id of a thing: "br-58d1f0", "light.kitchen"."""
    return token.kind in _REFERRING or (token.is_word and not token.value.replace("'", "").replace("-", "").isalpha())


def is_never_verb(token: Token) -> bool:
    """Whether a word cannot be the verb that starts a command: an id, or an adverb such as "luckily"."""
    word = token.word
    is_adverb = word.endswith("ly") and word not in _ADVERB_VERBS
    return is_adverb or word in _NEVER_VERBS or (token.is_word and "." in word.strip("."))


def starts_state(tokens: Sequence[Token], place: int, current: Sequence[Token], wording: Wording) -> bool:
    """Whether the state of another thing starts at a place, after a command or another state.

    :param current: the tokens of the part so far.
    """
    if wording.language is not ENGLISH or place >= len(tokens):
        return False
    is_label = tokens[place].is_word and not is_thing(tokens[place]) and wording.is_of_catalog(tokens[place].word)
    first = place + is_label  # "booking HB-5520 is off"
    thing, state = token_at(tokens, first), token_at(tokens, first + 1)
    if thing is None or state is None or not is_thing(thing) or not state.is_word:
        return False
    if state.word in _STATING:
        # "A-1 and A-2 are done" has one subject.
        own = without_lead_ins(current, wording)
        is_one = bool(own) and state.word == "are" and all(is_thing(token) or token.value == "," for token in own)
        return first + 2 < len(tokens) and not is_one
    follows_state = any(is_thing(token) for token in current[:2])
    return follows_state and first == place and _is_state(tokens, place + 1, wording)


def state_verb(tokens: Sequence[Token], wording: Wording) -> tuple[str, int]:
    """Return the verb of "lock.gate locked" and its place; empty and -1 without one."""
    if wording.language is not ENGLISH or len(tokens) < 2:
        return "", -1
    last = len(tokens) - 1
    things = [place for place in range(min(2, last)) if is_thing(tokens[place])]
    if (
        things
        and tokens[last].word in _LEAVING
        and all(token.word in _MODALS for token in tokens[things[0] + 1 : last])
    ):
        return "remove", last  # "BK-77120 has to go"
    if things == [1] and [token.word for token in tokens[2:4]] == ["is", "off"]:
        return "cancel", 3  # "booking HB-5520 is off"
    if (
        tokens[0].word in wording.language.determiners
        and any(token.is_value or is_thing(token) for token in tokens)
        and tokens[last].word.endswith("ed")
    ):
        # "I want the branch fix/a deleted"
        return (verb, last) if (verb := base_form(tokens[last].word, wording)) else ("", -1)
    if is_thing(tokens[0]) and tokens[1].is_word:
        verb = base_form(tokens[1].word, wording)
        if verb and tokens[1].word.endswith("ed"):
            return verb, 1
    return "", -1


def _is_state(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether a state is at a place behind a thing: "off", "locked", "to 17 degrees"."""
    token = tokens[place]
    if token.word in _SIDES - {"in"} or (token.word.endswith("ed") and base_form(token.word, wording)):
        return True
    return token.word == "to" and place + 1 < len(tokens) and tokens[place + 1].kind is Kind.NUMBER
