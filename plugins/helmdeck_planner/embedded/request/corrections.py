"""Replaces values that a request corrects: "to 6, sorry, 8 replicas", "in hall A4, no wait, in hall B2"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import ENGLISH, Kind, Token
from helmdeck_planner.embedded.request.negation import phrase_length
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

_PHRASES: Final = {
    first: tuple(
        sorted((tuple(row.split("_")) for row in word_list("correcting") if row.split("_")[0] == first), key=len)[::-1]
    )
    for first in {row.split("_")[0] for row in word_list("correcting")}
}
_LEADS: Final = word_list("correction_leads")
_ENDS: Final = frozenset(".!?\u2026")
# How far before its correction a value may be.
_NEAR: Final = 10


def without_corrections(tokens: Sequence[Token], wording: Wording) -> Sequence[Token]:
    """Return the tokens with the last value in place of the one that it corrects, without the words between them."""
    if wording.language is not ENGLISH:
        return tokens
    found = list(tokens)
    place = 1
    while place < len(found):
        # Of a run of marks, only the first may start a cue: a line of dots is looked at once.
        end = 0 if _is_border(found[place - 1]) else _end_of_cue(found, place)
        start = _after_leads(found, place, end, wording) if end else 0
        # "Merge PR 9 ... scratch that. List the open ones": a new command is not a name.
        is_command = bool(start) and found[start - 1].value in _ENDS and bool(wording.verb(found[start].word))
        new = _name(found, start) if start and not is_command else []
        old = _corrected(found, place, new, wording, preposition=found[start - 1] if start > end else None)
        if not old:
            place += 1
            continue
        found = [*found[: old[0]], *(found[other] for other in new), *found[old[-1] + 1 : place], *found[new[-1] + 1 :]]
        place = old[0] + len(new)
    return found


def _end_of_cue(tokens: Sequence[Token], place: int) -> int:
    """Return the place after words such as ", no wait," at a mark; 0 without them."""
    if not _is_border(tokens[place]):
        return 0
    end, has_phrase = place, False
    while end < len(tokens):
        if _is_border(tokens[end]):
            end += 1
        elif length := phrase_length(tokens, end, _PHRASES):
            # ", no, 43" corrects, ", no 43" excludes.
            is_bare = length == 1 and tokens[end].word == "no" and not has_phrase
            end += length
            if is_bare and (end == len(tokens) or tokens[end].kind is not Kind.MARK):
                return 0
            has_phrase = True
        else:
            break
    return end if has_phrase and end < len(tokens) else 0


def _is_border(token: Token) -> bool:
    return token.kind in (Kind.MARK, Kind.BREAK)


def _after_leads(tokens: Sequence[Token], cue: int, place: int, wording: Wording) -> int:
    """Return the place of the new value, behind a preposition, an article or the label of the old one."""
    labels = {
        token.word
        for before, token in enumerate(tokens[1:cue])
        # "PR 8, no, PR 9", but not "read a.txt and move b.txt, no, read c.txt"
        if token.is_word and (token.value.islower() or tokens[before + 2].is_value)
        if not (_is_border(tokens[before]) or tokens[before].word in wording.language.joints)
    } - {tokens[0].word}
    while place < len(tokens) - 1 and (
        tokens[place].word in _LEADS | labels
        or wording.preposition(tokens[place])
        or tokens[place].word in wording.language.determiners
    ):
        place += 1
    return place


def _corrected(
    tokens: Sequence[Token], cue: int, new: Sequence[int], wording: Wording, *, preposition: Token | None
) -> list[int]:
    """Return the places of the last value before a cue that is like the new one; none without one."""
    wanted = wording.preposition(preposition) if new and preposition is not None else ""
    for place in range(cue - 1, max(cue - 1 - _NEAR, 0), -1) if new else ():
        if tokens[place].kind is not tokens[new[0]].kind or not _is_name(tokens[place]):
            continue
        start = place
        while tokens[start].is_word and start > 1 and tokens[start - 1].is_word and _is_name(tokens[start - 1]):
            start -= 1
        if not wanted or wording.preposition(tokens[start - 1]) == wanted:
            return list(range(start, place + 1))
    return []


def _name(tokens: Sequence[Token], start: int) -> list[int]:
    """Return the places of a value, or of a name in capitals."""
    end = start
    while (
        end < len(tokens)
        and _is_name(tokens[end])
        and (end == start or tokens[start].is_word == tokens[end].is_word is True)
    ):
        end += 1
    return list(range(start, end))


def _is_name(token: Token) -> bool:
    return token.is_value or (token.is_word and token.is_capital)
