"""What is around a number: the words before it, what it counts, the prepositions, and cues such as "at most" or "last"."""

from __future__ import annotations

from typing import Final

import attrs

from helmdeck_language import Kind, Token
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.number_context import bound
from helmdeck_planner.embedded.arguments.stated_numbers import StatedNumber
from helmdeck_planner.embedded.entries.units import NUMBER_WORDS
from helmdeck_planner.embedded.request.tokens import token_at
from helmdeck_planner.embedded.request.word_lists import word_list

LIMITING: Final = word_list("limiting") | {"up", "stop", "just", "only", "than"}
"""Words that make a number the most of something."""
_NUMBERED: Final = frozenset({"no", "nr", "number", "num", "#"})
_LINKS: Final = ("of", "per", "a", "an", "each", "at", "on", "in")
_SHARES: Final = ("them", "those", "these", "which")
_MOST_BEFORE: Final = 5
_CUES_BEFORE: Final = 3
_MOST_FOLLOWING: Final = 2


@attrs.define
class Surroundings:
    """The words around a number.

    :ivar label: the place of the content word before it, -1 without one; ``is_near`` if no preposition is between them.
    :ivar following: the places of the content words right behind it.
    :ivar link: the word behind those, such as "per" or "of"; "of them" for a share.
    :ivar complement: the place of the content word behind the link, -1 without one.
    :ivar cues: what else is known of it: "limit", "last", "bare", "starts" and the like.
    """

    label: int = -1
    is_near: bool = False
    preposition: str = ""
    following: list[int] = attrs.Factory(list)
    link: str = ""
    complement: int = -1
    cues: set[str] = attrs.Factory(set)


def surroundings(draft: Draft, number: StatedNumber) -> Surroundings:
    """Return the words around a number."""
    found = Surroundings()
    _read_before(draft, number.first, found)
    if not found.preposition and _starts_range(draft, number.last):
        found.preposition = "from"
    place = _read_link(draft, _read_following(draft, number.last + 1, found), found)
    _read_borders(draft, number.first, place, found)
    return found


def _read_before(draft: Draft, first: int, found: Surroundings) -> None:
    is_near = True
    for place in range(first - 1, max(-1, first - 1 - _MOST_BEFORE), -1):
        token = draft.tokens[place]
        is_beside = first - place <= _CUES_BEFORE
        if token.word in _NUMBERED or token.value in ".:=#(":
            found.cues.add("numbered" if token.word in _NUMBERED or token.value == "#" else "mark")
        elif not token.is_word:
            break
        elif is_beside and (token.word in LIMITING or draft.is_one_of(place, "counting")):
            found.cues.add(_cue(draft, place, "last" if draft.is_one_of(place, "last") else "rank"))
        elif preposition := draft.preposition(place):
            found.preposition = found.preposition or preposition
            is_near = False
        elif not draft.is_filler(place):
            found.label, found.is_near = place, is_near
            break
        else:
            found.cues.add("determiner" if token.word in draft.wording.language.determiners else "filler")
    found.preposition = found.preposition or draft.preposition_before(first)


def _cue(draft: Draft, place: int, rank: str) -> str:
    return "limit" if draft.tokens[place].word in LIMITING else rank


def _starts_range(draft: Draft, last: int) -> bool:
    """Whether another number follows behind "to": "90 s to 215 s"."""
    tokens = draft.tokens
    return (
        last + 2 < len(tokens) and draft.preposition(last + 1) in ("to", "until") and _starts_number(tokens[last + 2])
    )


def _starts_number(token: Token) -> bool:
    return token.kind in (Kind.NUMBER, Kind.TIME) or token.word in NUMBER_WORDS


def _read_following(draft: Draft, place: int, found: Surroundings) -> int:
    """Read the words right behind a number, and return the place behind them."""
    tokens = draft.tokens
    while place < len(tokens) and tokens[place].is_word and len(found.following) < _MOST_FOLLOWING:
        word = tokens[place].word
        if word in LIMITING or draft.is_one_of(place, "counting"):
            found.cues.add(_cue(draft, place, "rank"))
        elif draft.is_filler(place) or draft.preposition(place) or draft.is_joint(place):
            break
        else:
            found.following.append(place)
        place += 1
    return place


def _read_link(draft: Draft, place: int, found: Surroundings) -> int:
    """Read "of context", "per page", "of them wheelchair spaces" or "at most", and return the place of the link."""
    tokens = draft.tokens
    words = [token.word for token in tokens[place : place + 3]]
    if not words or words[0] not in _LINKS:
        return place
    found.link = words[0]
    if words[1:] and words[1] in _SHARES:
        found.link = "of them"
        start = place + 2 + (words[2:] != [] and words[2] in ("with", "the", "a"))
        for other in range(start, min(start + _MOST_FOLLOWING, len(tokens))):
            if not tokens[other].is_word or draft.is_filler(other) or found.following:
                break
            found.following.append(other)
    elif words[0] == "at" and words[1:] and words[1] in ("most", "least", "max"):
        found.cues.add("limit")
        found.link = ""
    else:
        start = place + 1 + (words[1:] != [] and words[1] in ("a", "an", "the"))
        if start < len(tokens) and tokens[start].is_word and not draft.is_filler(start):
            found.complement = start
    return place


def _read_borders(draft: Draft, first: int, place: int, found: Surroundings) -> None:
    """Read what a number is next to.

    :param place: the one behind the words that follow it.
    """
    tokens = draft.tokens
    before = tokens[first - 1] if first else None
    after = token_at(tokens, place)
    is_bare = not found.following and found.complement < 0
    rows = (
        ("bare", is_bare and bool(after is None or not after.is_word or found.link)),
        ("starts", before is None or not (before.is_word or before.is_value)),
        ("ends", after is None),
        ("before value", after is not None and after.is_value),
        ("after value", before is not None and before.is_value),
        ("after capital", first > 1 and before is not None and before.is_word and before.is_capital),
    )
    found.cues.update(cue for cue, is_so in rows if is_so)
    if side := bound(draft, first):
        found.cues.add(side)
