"""What the words around a number say: what it counts, whether it is a bound, and labels beside it."""

from __future__ import annotations

from typing import Final

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import (
    ABOVE_WORDS,
    ATTRIBUTES,
    BELOW_WORDS,
    PLAIN_WORDS,
    RESULT_WORDS,
    UNITS,
)
from helmdeck_planner.embedded.entries.units import NUMBER_WORDS
from helmdeck_planner.embedded.request.word_lists import word_list

_RESULTS: Final = frozenset(map(stem, RESULT_WORDS))
_RANKED: Final = frozenset("newest latest last first top best worst oldest recent final".split())
# How far behind a number "at most" may be.
_NEAR: Final = 5
# Words of inputs that take a number of the first or the last things = the words of requests for them.
_ENDS: Final = {"head": word_list("first_ones"), "tail": word_list("last_ones")}
_LIMITING: Final = word_list("limiting")


def words_beside(draft: Draft, place: int) -> tuple[set[str], set[str], set[str]]:
    """Return the stems right before a number, after it, and the literal words on both sides."""
    tokens = draft.tokens
    before: set[str] = set()
    after: set[str] = set()
    literal: set[str] = set()
    for other in range(place - 1, max(place - 4, -1), -1):
        if not tokens[other].is_word:
            if tokens[other].value in "#:=":
                continue
            break
        before |= draft.stems(other)
        literal.add(tokens[other].word)
    start = counted_place(draft, place) if _is_share(draft, place) else place + 1
    for other in range(start, min(start + 2, len(tokens))):
        token = tokens[other]
        if not token.is_word or draft.wording.preposition(token) or token.word in draft.wording.language.joints:
            break
        after |= draft.stems(other) | measured(draft, other)
        literal.add(tokens[other].word)
    return before, after, literal


def measured(draft: Draft, place: int) -> frozenset[str]:
    """Return the stems of what an adjective behind a number measures: "depth" of "two levels deep"."""
    word = draft.word(place)
    return frozenset(map(stem, ATTRIBUTES.get(word, ())))


def counted_place(draft: Draft, place: int) -> int:
    """Return the place of what a number counts, after one adjective or "of them"; it may be behind the last token."""
    start = place + 1
    if _is_share(draft, place):
        start += 2
        while start < len(draft.tokens) - 1 and draft.is_filler(start):
            start += 1
        return start
    is_adjective = start < len(draft.tokens) - 1 and (
        start in draft.used_places or draft.tokens[start].word in PLAIN_WORDS
    )
    return start + 1 if is_adjective and not draft.stems(start) & objects(draft) else start


def _is_share(draft: Draft, place: int) -> bool:
    """Whether a number counts some of what was named before: "two of them wheelchair seats"."""
    following = [token.word for token in draft.tokens[place + 1 : place + 3]]
    return len(following) == 2 and following[0] == "of" and following[1] in ("them", "these", "those", "which")


def is_limit(draft: Draft, place: int) -> bool:
    """Whether a clause states the most of something, and not of what: "max 25", "25 will do", "no more than 10"."""
    first, last = place, place
    while first > 0 and _is_beside(draft, first - 1):
        first -= 1
    while last < len(draft.tokens) - 1 and _is_beside(draft, last + 1):
        last += 1
    before, after = range(first, place), range(place + 1, last + 1)
    words = [draft.tokens[other].word for other in (*before, *after)]
    negated = any(draft.is_one_of(other, "none_of") for other in before)
    is_most = bool(_LIMITING & set(words)) or ((negated or draft.part.is_excluded) and "more" in words)
    return is_most and all(
        word in _LIMITING
        or draft.is_filler(other)
        or other == draft.part.verb_place
        or (other == place + 1 and not draft.wording.verb(word))  # "20 people are enough"
        # "don't show more than 15"
        or (draft.part.is_excluded and draft.wording.verb(word))
        for word, other in zip(words, (*before, *after), strict=True)
    )


def _is_beside(draft: Draft, place: int) -> bool:
    """Whether a word belongs to the clause of a number beside it."""
    return draft.tokens[place].is_word and place not in draft.used_places


def bound(draft: Draft, place: int) -> str:
    """Return "max" for "at most 5", "nothing over 5" and "5 or less", "min" for their opposites; empty for neither."""
    is_negated = draft.part.is_excluded or any(
        draft.is_one_of(other, "none_of") for other in range(max(place - 3, 0), place)
    )
    if place > 1 and draft.tokens[place - 1].word == "than":
        compared = draft.tokens[place - 2].word
        if compared in BELOW_WORDS | ABOVE_WORDS:
            # "no further than 2 km"
            return "max" if (compared in BELOW_WORDS) is not is_negated else "min"
    before = [other for other in range(max(place - 3, 0), place) if draft.tokens[other].is_word]
    after = [other for other in range(place + 1, min(place + 3, len(draft.tokens))) if draft.tokens[other].is_word]
    if not (after and draft.tokens[after[0]].word in (*draft.wording.language.joints, "at")):
        after = []
    beside = [*before, *after, *_after_at(draft, place)]
    for key, found in (("at_most", "max"), ("at_least", "min")):
        if any(draft.is_one_of(other, key) for other in beside):
            return {"max": "min", "min": "max"}[found] if is_negated else found
    return ""


def _after_at(draft: Draft, place: int) -> list[int]:
    """Return the place of "most" in "4 levels deep at the most"."""
    for other in range(place + 1, min(place + _NEAR, len(draft.tokens) - 1)):
        if not draft.tokens[other].is_word:
            return []
        if draft.tokens[other].word == "at":
            return [other + 1 + (draft.tokens[other + 1].word == "the" and other + 2 < len(draft.tokens))]
    return []


def counts(draft: Draft, place: int) -> bool:
    """Whether a number is written as a word before what it counts: "three sentences", "one guest"."""
    number = NUMBER_WORDS.get(draft.tokens[place].word)
    if number is None or draft.is_one_of(place, "articles") or place + 1 >= len(draft.tokens):
        return False
    start = counted_place(draft, place)
    if start >= len(draft.tokens):
        return False  # "cancel one of them"
    following = draft.tokens[start]
    labels = frozenset[str]().union(*(each.labels for each in draft.profile.properties if each.role is Role.NUMBER))
    # "the five newest entries", "the ten best"
    is_ranked = number > 1 and following.word in _RANKED
    stems = draft.stems(start) | measured(draft, start + 1)
    counted = is_ranked or following.word in UNITS or bool(stems & (labels | objects(draft)))
    return following.is_word and number.denominator == 1 and counted


def is_party(draft: Draft, place: int) -> bool:
    """Whether a number counts people: "a room for two", "three of us"."""
    token = draft.tokens[place]
    is_number = NUMBER_WORDS.get(token.word, 0) > 1 if token.is_word else token.value.isdigit() and len(token.value) < 3
    is_of_us = [each.word for each in draft.tokens[place + 1 : place + 3]] == ["of", "us"]
    if not is_number or is_of_us or draft.preposition(place - 1) != "for":
        return is_number and is_of_us
    following = draft.tokens[place + 1] if place + 1 < len(draft.tokens) else None
    return following is None or following.kind in (Kind.MARK, Kind.DATE) or bool(draft.preposition(place + 1))


def may_be_end(draft: Draft, each: Property) -> bool:
    """Whether an input takes no number of the first or the last things, or a part says which: "60 lines" of two such inputs does not."""
    ends = {word for word in _ENDS if any(word in other.words for other in draft.profile.properties)}
    own = ends & set(each.words)
    return len(ends) < len(_ENDS) or all(any(token.word in _ENDS[end] for token in draft.tokens) for end in own)


def objects(draft: Draft) -> frozenset[str]:
    """Return the stems of what an entry returns: the words of its name, and "results" and the like."""
    return draft.profile.nouns | _RESULTS
