"""Reads clauses that are no plain command: questions inside a sentence, passives, gerunds, and the context before a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import ENGLISH, Kind, Token
from helmdeck_planner.embedded.request.acts import is_act
from helmdeck_planner.embedded.request.negation import phrase_length
from helmdeck_planner.embedded.request.tokens import token_at
from helmdeck_planner.embedded.request.word_lists import phrase_list, word_list
from helmdeck_planner.embedded.request.wording import Wording

_ENDINGS: Final = ("ing", "ed", "d")
_MIN_STEM: Final = 2
_SUBORDINATING: Final = word_list("subordinating")
_SUBJECTS: Final = word_list("subjects")
# "put that on record"
_RECORDING: Final = word_list("recording_verbs")
_RECORDED: Final = word_list("recorded")
_IN_RECORDS: Final = word_list("in_records")
_BELONGING: Final = word_list("belonging_verbs")
_NOTING: Final = phrase_list("recording_phrases")
_REFERRING: Final = (Kind.ID, Kind.PATH, Kind.SLUG, Kind.HASH, Kind.URL)


def embedded_question(tokens: Sequence[Token], wording: Wording) -> Sequence[Token]:
    """Return the question in "tell me what is in a.txt", without the words before it; nothing if there is none."""
    length = phrase_length(tokens, 0, wording.language.asking)
    while length and length < len(tokens) - 1 and tokens[length].word in wording.language.asking_fillers:
        length += 1
    rest = tokens[length:]
    if not length or len(rest) < 2 or not rest[0].is_word:
        return ()
    if rest[0].word in wording.language.conditions:
        rest = rest[1:]
        return rest if len(rest) > 1 else ()
    return rest if rest[0].word in wording.language.clause_questions else ()


def base_form(word: str, wording: Wording) -> str:
    """Return the verb of a participle or a gerund: "delete" for "deleted" and "deleting"; empty if none is known."""
    language = wording.language
    if language is not ENGLISH:
        return ""
    if found := language.participles.get(word):
        return found
    for ending in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest == word or len(rest) < _MIN_STEM:
            continue
        undoubled = rest[:-1] if rest[-1:] == rest[-2:-1] else rest
        for verb in (rest, f"{rest}e", undoubled, f"{rest[:-1]}y" if rest.endswith("i") else rest):
            if wording.verb(verb) or is_act(verb):
                return verb
    return ""


def passive_verb(tokens: Sequence[Token], wording: Wording) -> tuple[str, int]:
    """Return the verb and the place of the participle in "the stock has to be corrected"; empty and -1 without one."""
    for place in range(1, len(tokens)):
        before = tokens[place - 1]
        if (
            before.is_word
            and before.word in wording.language.passive
            and tokens[place].is_word
            and (found := base_form(tokens[place].word, wording))
        ):
            return found, place
    return "", -1


def is_clause(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether words are a clause that says when or why something is requested: "before I call her back"."""
    first, second = token_at(tokens, 0), token_at(tokens, 1)
    if first is None or second is None or wording.language is not ENGLISH or first.word not in _SUBORDINATING:
        return False
    # "before the audit" has no subject and verb of its own.
    return second.word in _SUBJECTS


def is_recording(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether words only request to record the sentence before: "write it down", "put that on record"."""
    if wording.language is not ENGLISH or len(tokens) < 2:
        return False
    words = [token.word for token in tokens]
    if words[0] in _RECORDED and words[1] in _BELONGING:
        rest = words[2:]  # "that belongs in the books"
    elif length := phrase_length(tokens, 0, _NOTING):
        rest = words[length:]  # "make a note of it"
    elif words[0] in _RECORDING and words[1] in _RECORDED:
        rest = words[2:]
    else:
        return False
    return all(word in _IN_RECORDS for word in rest)


def is_context(tokens: Sequence[Token], wording: Wording) -> bool:
    """Whether words only say where or on what something is to be done: "in the repo /srv/app", "OPS-12"."""
    own = [token for token in tokens if token.kind is not Kind.MARK]
    if not own or own[-1].kind not in _REFERRING:
        return False
    if not wording.preposition(own[0]) and len(own) > 1:
        return False
    return all(
        token.kind in _REFERRING
        or bool(wording.preposition(token))
        or wording.is_filler(token.word)
        or (
            token.is_word
            and token.value.islower()
            and wording.is_of_catalog(token.word)
            and not wording.verb(token.word)
        )
        for token in own
    )
