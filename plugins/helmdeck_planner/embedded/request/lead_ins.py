"""Removes words around a command that request nothing: list numbers, conjunctions, polite words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import ENGLISH, Kind, Language, Token
from helmdeck_planner.embedded.request.negation import phrase_length, starts_exclusion
from helmdeck_planner.embedded.request.tokens import token_at
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

_MAX_TRAILING: Final = 6
_STRESSED: Final = word_list("stressed_verbs")


def without_lead_ins(tokens: Sequence[Token], wording: Wording) -> list[Token]:
    """Remove list numbers, conjunctions and polite words from the beginning."""
    language = wording.language
    place = 0
    while place < len(tokens):
        token = tokens[place]
        is_numbered = (
            place + 1 < len(tokens)
            and (token.kind is Kind.NUMBER or (token.is_word and len(token.value) == 1))
            and tokens[place + 1].value in (".", ")")
        )
        if is_numbered:
            place += 2
        elif emphasizes(tokens, place, wording):
            place += 1
        elif place + 2 < len(tokens) and token.word == "no" and tokens[place + 1].value == ",":
            place += 2  # "no, just show it"
        elif length := phrase_length(tokens, place, language.positive):
            if "only" in tokens[place + length - 1].word:
                break
            place += length
        elif length := phrase_length(tokens, place, language.lead_in_phrases):
            if starts_exclusion(tokens, place, wording):
                break
            place += length
        elif (_is_lead_in(tokens, place, wording) and not _is_ordinal(tokens, place, wording)) or token.kind in (
            Kind.MARK,
            Kind.BREAK,
        ):
            place += 1
        else:
            break
    return list(tokens[place:])


def emphasizes(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether "do" only stresses the command behind it: "do tell me", "but do show me the files"."""
    following = tokens[place + 1 : place + 3]
    is_do = wording.language is ENGLISH and tokens[place].word == "do" and len(following) == 2
    return is_do and following[0].word in _STRESSED


def _is_ordinal(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether a word says which ones of a number are meant: "first 5 lines"."""
    following = token_at(tokens, place + 1)
    is_number = following is not None and following.kind is Kind.NUMBER
    return is_number and tokens[place].word in wording.language.ordinals


def _is_lead_in(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    language, token = wording.language, tokens[place]
    if starts_exclusion(tokens, place, wording):
        return False
    if token.word not in language.lead_ins and token.word not in language.joints:
        return False
    # "and", alone, is no lead-in of "first name": it is one before a verb, a question or another lead-in.
    return place + 1 < len(tokens) or token.word in language.joints


def without_trailing(tokens: Sequence[Token], wording: Wording) -> list[Token]:
    """Remove punctuation, polite words and conjunctions from the end."""
    end = len(tokens)
    language = wording.language
    while end:
        token = tokens[end - 1]
        length = next(
            (
                size
                for size in range(min(_MAX_TRAILING, end - 1), 1, -1)
                if _is_phrase(tokens[end - size : end], language)
            ),
            0,
        )
        is_mark = token.kind in (Kind.MARK, Kind.BREAK) and token.value not in ")]}%"
        if not (length or is_mark or token.word in language.trailing or token.word in language.joints):
            break
        end -= length or 1
    return list(tokens[:end])


def _is_phrase(tokens: Sequence[Token], language: Language) -> bool:
    return phrase_length(tokens, 0, language.trailing_phrases) == len(tokens)
