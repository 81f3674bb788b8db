"""Reads sentences that say what must happen to a thing as commands: "ENG-4 can go to Done" moves it, "tell" for "let them know"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_language import Kind, Token
from helmdeck_planner.embedded.request.negation import phrase_length
from helmdeck_planner.embedded.request.states import is_thing
from helmdeck_planner.embedded.request.tokens import token_at
from helmdeck_planner.embedded.request.word_lists import phrase_list, phrase_table, word_list
from helmdeck_planner.embedded.request.wording import Wording

# Phrases behind the subject, the verbs that they stand for, and what stays behind the subject: "turn_off".
_RESTATED: Final = phrase_table("restated")
_LET: Final = "let"
_SPEAKERS: Final = ("me", "us")
_UNSUBSCRIBING: Final = phrase_list("no_longer_wanted")
_NOTING: Final = phrase_list("noting")
# Verbs whose object has its content behind a colon; a value follows; the subject is people.
_LED: Final = ("add_a",)
_LIMITING: Final = ("limit_to",)
_TELLING: Final = ("tell",)
_NEAR: Final = 4
_NO_MORE: Final = word_list("no_more")
_ENDS: Final = ".!?;:,"
# The longest subject: "issue 412 in acme/web".
_MOST: Final = 6


def restated(tokens: Sequence[Token], wording: Wording) -> list[Token]:
    """Return the tokens of a request with the verb of each such sentence before its subject."""
    found: list[Token] = []
    place = 0
    while place < len(tokens):
        is_start = place == 0 or tokens[place - 1].value in _ENDS or tokens[place - 1].kind is Kind.BREAK
        is_start = is_start or tokens[place - 1].word in wording.language.joints | wording.language.lead_ins
        words, length = _command(tokens, place, wording) if is_start else ([], 0)
        found += words or [tokens[place]]
        place += length or 1
    return found


def _command(tokens: Sequence[Token], start: int, wording: Wording) -> tuple[list[Token], int]:
    """Return the words of a command, and of how many tokens of a sentence they are."""
    if (informed := _informed(tokens, start))[1]:
        return informed
    if length := phrase_length(tokens, start, _UNSUBSCRIBING):
        end = next((place for place in range(start, len(tokens)) if tokens[place].value in _ENDS), len(tokens))
        is_ended = tokens[start].word == "no" or any(token.word in _NO_MORE for token in tokens[start + length : end])
        return ([_word(word, tokens[start]) for word in ("unsubscribe", "from")], length) if is_ended else ([], 0)
    if length := phrase_length(tokens, start, _NOTING):
        # "one for the memo: repeat buyers spend more"
        noun, colon = token_at(tokens, start + length), token_at(tokens, start + length + 1)
        is_noted = noun is not None and wording.is_of_catalog(noun.word) and colon is not None and colon.value == ":"
        return ([_word(word, tokens[start]) for word in ("note", "in", "the")], length) if is_noted else ([], 0)
    subject: list[Token] = []
    for place in range(start, min(start + _MOST + 1, len(tokens))):
        token = tokens[place]
        if subject and (found := _phrase_at(tokens, place)):
            verb, length = found
            last = tokens[place + length - 1]
            before, *behind = verb.split("_")
            is_named = _is_meant(verb, subject, tokens[place + length : place + length + _NEAR], wording)
            words = [
                _word(before, subject[0]),
                *subject,
                *(attrs.evolve(last, value=word, word=word) for word in behind),
            ]
            return (words, place + length - start) if is_named else ([], 0)
        is_verb = place == start and token.is_word and bool(wording.verb(token.word)) and not _labels(tokens, place)
        if token.value in _ENDS or token.kind is Kind.BREAK or is_verb or token.word in wording.language.questions:
            return [], 0
        subject.append(token)
    return [], 0


def _informed(tokens: Sequence[Token], start: int) -> tuple[list[Token], int]:
    """Return "tell the team" for "let the team know"."""
    if tokens[start].word != _LET:
        return [], 0
    end = next(
        (place for place in range(start + 2, min(start + _MOST, len(tokens))) if tokens[place].word == "know"), 0
    )
    whom = tokens[start + 1 : end]
    is_quoted = end + 1 < len(tokens) and tokens[end + 1].kind is Kind.QUOTE
    if not whom or is_quoted or whom[0].word in _SPEAKERS or any(token.kind is Kind.MARK for token in whom):
        return [], 0
    return [attrs.evolve(tokens[start], value="tell", word="tell"), *whom], end + 1 - start


def _phrase_at(tokens: Sequence[Token], place: int) -> tuple[str, int] | None:
    rows = ((verb, phrase_length(tokens, place, phrases)) for verb, phrases in _RESTATED.items())
    return max((row for row in rows if row[1]), key=lambda row: row[1], default=None)


def _is_meant(verb: str, subject: Sequence[Token], following: Sequence[Token], wording: Wording) -> bool:
    """Whether a subject and what follows the phrase are those of a command: an id, or for some verbs a word of the catalog."""
    if any(each.is_value or is_thing(each) for each in subject):
        return verb not in _LED or any(token.value == ":" for token in following)
    if verb in _LIMITING:
        return bool(following) and following[0].is_value
    return verb in _TELLING and wording.is_of_catalog(subject[-1].word)


def _labels(tokens: Sequence[Token], place: int) -> bool:
    """Whether a noun that may be a verb is the label of an id: "issue 412", "order A-7"."""
    following = tokens[place + 1 : place + 3]
    return any(token.is_value or is_thing(token) for token in following)


def _word(word: str, at: Token) -> Token:
    return Token(Kind.WORD, at.start, at.start, word, word)
