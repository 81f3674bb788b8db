"""Completes what a request states in short: "same for b.log", "rename track 0 to Kick and track 1 to Snare", "don't let me forget"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helmdeck_language import ENGLISH, Kind, Token
from helmdeck_planner.embedded.request.negation import phrase_length
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

_SAME: Final = word_list("same")
_FORGETTING: Final = tuple(
    tuple(phrase.split("_")) for phrase in sorted(word_list("forgetting"), key=lambda phrase: -len(phrase))
)
_FORGETTING_PHRASES: Final = {
    first: tuple(phrase for phrase in _FORGETTING if phrase[0] == first) for first, *_ in _FORGETTING
}


def rephrased(tokens: Sequence[Token], wording: Wording) -> Sequence[Token]:
    """Return "remind me to" for "don't let me forget", which excludes nothing."""
    if wording.language is not ENGLISH:
        return tokens
    found: list[Token] = []
    place = 0
    while place < len(tokens):
        length = phrase_length(tokens, place, _FORGETTING_PHRASES)
        if not length:
            found.append(tokens[place])
            place += 1
            continue
        start, end = tokens[place].start, tokens[place + length - 1].end
        found += [Token(Kind.WORD, start, end, "remind", "remind")]
        found += [Token(Kind.WORD, end, end, word, word) for word in ("me", "to")]
        place += length
        while place < len(tokens) and tokens[place].value in (":", "to", ","):
            place += 1
    return found


def starts_repeat(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether "same for" starts at a place."""
    following = tokens[place + 1] if place + 2 < len(tokens) else None
    is_same = wording.language is ENGLISH and following is not None and tokens[place].word in _SAME
    return is_same and following is not None and bool(wording.preposition(following))


def repeated(tokens: Sequence[Token], before: Sequence[Token], wording: Wording) -> tuple[Token, ...]:
    """Return the tokens of the part before with the value that "same for" names; nothing for other parts."""
    if not starts_repeat(tokens, 0, wording):
        return ()
    new = tokens[2:]
    kinds = {token.kind for token in new if token.is_value} or {Kind.WORD}
    places = [place for place, token in enumerate(before) if token.kind in kinds]
    if not places or places[-1] == 0:
        return ()
    return (*before[: places[-1]], *new, *before[places[-1] + 1 :])


def repeats_object(tokens: Sequence[Token], place: int, current: Sequence[Token], wording: Wording) -> bool:
    """Whether a second object follows with a value of its own: "track 1 to Snare" after "rename track 0 to Kick"."""
    label, value, preposition = (*tokens[place : place + 3], None, None, None)[:3]
    if (
        wording.language is not ENGLISH
        or label is None
        or value is None
        or preposition is None
        or len(tokens) < place + 4
    ):
        return False
    if not (label.is_word and value.is_value and wording.preposition(preposition)):
        return False
    return any(
        [one.word, two.kind, three.word] == [label.word, value.kind, preposition.word] and at > 0
        for at, (one, two, three) in enumerate(zip(current, current[1:], current[2:], strict=False))
    )
