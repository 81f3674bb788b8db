"""Divides a part whose joint no rule takes for one, where its sides clearly request something of their own.

"kick record 99b0 out of zone c01d and wipe what's cached there" has no second verb that a word list knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import attrs

from helmdeck_language import ENGLISH, Kind, Token
from helmdeck_planner.embedded.arguments.fill import arguments_of, drafted
from helmdeck_planner.embedded.arguments.item_words import is_coined
from helmdeck_planner.embedded.arguments.sources import Earlier, Sources
from helmdeck_planner.embedded.choice.choose import Scored
from helmdeck_planner.embedded.choice.confidence import is_gap, score
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.pick import is_risky
from helmdeck_planner.embedded.request.parts import Part, refers, split_parts
from helmdeck_planner.embedded.request.segments import limits
from helmdeck_planner.embedded.request.states import is_thing
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

Chosen = Callable[[Part, Sources], Sequence[Scored]]

# What the entries of both sides need, and by how much more than that of the whole.
_LIKELY: Final = 0.6
_MORE: Final = 0.1
# A part whose entry is this likely, and takes all its values, stays whole.
_CLEAR: Final = 0.8
# Joints that are tried, and words and values on each side.
_MOST_JOINTS: Final = 4
_LEAST_TOKENS: Final = 2
_TAKING_TWO: Final = word_list("taking_two")
_CONDITIONS: Final = word_list("conditions")
# How the things of a list start.
_THING_STARTS: Final = word_list("possessives")
_MARKS: Final = frozenset(",:;\u2014\u2013")


def divided(part: Part, found: Sequence[Scored], sources: Sources, chosen: Chosen) -> tuple[Part, Part] | None:
    """Return both sides of the best joint of a part, if each has an entry that is more likely than that of the whole.

    If the whole has none, one side is enough: the other is a fact, or a gap.

    :param found: the candidates of the whole, the best first.
    """
    wording = sources.wording
    whole = 0.0 if is_gap(found) else score(found)
    if (
        wording.language is not ENGLISH
        or part.is_excluded
        or part.verb in _TAKING_TWO
        or (whole >= _CLEAR and not found[0].unused)
    ):
        return None
    best, sides = 0.0, None
    alone: tuple[float, tuple[Part, Part] | None] = (0.0, None)
    for first, second in _sides(part, sources.request, wording):
        left = chosen(first, sources)
        profile = left[0].profile if left and not is_gap(left) and score(left) >= _LIKELY else None
        if profile is None and whole:
            continue
        args = arguments_of(drafted(first, profile, sources)) if profile is not None else {}
        before = Earlier(first, args, profile)
        right = chosen(second, attrs.evolve(sources, earlier=(*sources.earlier, before)))
        if not whole:
            for own, own_found, other in ((first, left, second), (second, right, first)):
                if (likely := _alone(own, own_found, other, wording)) > max(alone[0], _LIKELY):
                    alone = likely, (first, second)
        if profile is None or is_gap(right) or not _is_apart(first, left[0], second, right[0], sources):
            continue
        # The entry of one side, which takes the other for a part of it, says nothing against two entries.
        is_side = bool(found) and profile is not right[0].profile and found[0].profile in (profile, right[0].profile)
        likely = min(score(left), score(right))
        if likely >= max(_LIKELY, best, 0.0 if is_side else whole + _MORE):
            best, sides = likely, (first, second)
    return sides or alone[1]


def enumerated(part: Part, sources: Sources, chosen: Chosen) -> Sequence[Part]:
    """Return a part for each thing of "I need the log of web-1, its events and the last deploys"; none if they have one entry.

    Each needs an entry of its own that only reads.
    """
    wording = sources.wording
    things = _things(part.tokens, wording)
    if wording.language is not ENGLISH or part.is_excluded or len(things) < 2 or part.verb_place >= len(things[0]):
        return ()
    found: list[Part] = []
    profiles: list[Profile] = []
    for tokens in things:
        text = sources.request[tokens[0].start : tokens[-1].end]
        own = attrs.evolve(part, text=text, tokens=tuple(tokens))
        if found:
            own = attrs.evolve(own, verb="", verb_place=-1, is_question=False, is_wish=True)
        best = next(iter(chosen(own, sources)), None)
        if best is None or is_gap([best]) or score([best]) < _LIKELY or best.profile.writes is not False:
            return ()
        if not best.is_complete or best.unused or best.profile in profiles:
            return ()
        found.append(own)
        profiles.append(best.profile)
        before = Earlier(own, arguments_of(drafted(own, best.profile, sources)), best.profile)
        sources = attrs.evolve(sources, earlier=(*sources.earlier, before))
    return found


def _things(tokens: Sequence[Token], wording: Wording) -> Sequence[Sequence[Token]]:
    """Return the tokens up to each comma or "and" before an article, without these."""
    found: list[list[Token]] = [[]]
    for place, token in enumerate(tokens):
        following = next((other for other in tokens[place:] if not _is_joint(other, wording)), None)
        is_end = _is_joint(token, wording) and following is not None and following.word in _THING_STARTS
        if is_end and found[-1]:
            found.append([])
        elif not is_end:
            found[-1].append(token)
    return found


def _is_joint(token: Token, wording: Wording) -> bool:
    return token.value == "," if token.kind is Kind.MARK else token.is_word and token.word in wording.language.joints


def _alone(part: Part, found: Sequence[Scored], other: Part, wording: Wording) -> float:
    """Return how likely the entry of a side is beside one that has none; 0 if it is not clear without that."""
    is_clear = not (is_gap(found) or is_risky(found)) and found[0].is_complete and not found[0].unused
    asks = bool(part.verb) or part.is_wish or part.is_question
    stated = [token for token in other.tokens if token.is_value or is_thing(token)]
    is_free = refers(part, wording) or all(token.kind is Kind.DATE for token in stated)
    # "who is next in line" has no second clause, and what depends on a condition is not requested without it.
    is_clause = _count(other.tokens) > _LEAST_TOKENS and other.tokens[0].word not in _CONDITIONS
    return score(found) if is_clear and asks and is_free and is_clause else 0.0


def _sides(part: Part, request: str, wording: Wording) -> Iterator[tuple[Part, Part]]:
    """Yield what is before and behind each joint, where each is one part."""
    joints = [
        place
        for place, token in enumerate(part.tokens)
        if not (limits(part.tokens, place, wording) or limits(part.tokens, place + 1, wording))
        and (token.value in _MARKS if token.kind is Kind.MARK else token.is_word and token.word in _words(wording))
    ]
    for place in joints[:_MOST_JOINTS]:
        before, behind = part.tokens[:place], part.tokens[place + 1 :]
        if min(_count(before), _count(behind)) < _LEAST_TOKENS:
            continue
        if part.tokens[place].is_word and is_coined(before[-1].value) and is_coined(behind[0].value):
            continue  # "forget legacy-ftp and smtp-relay" has one verb
        if not part.tokens[place].is_word and wording.preposition(behind[0]):
            continue  # "an event on 2027-03-04, with ann@example.org"
        first, second = split_parts(request, before, wording), split_parts(request, behind, wording)
        if len(first) == len(second) == 1 and not (first[0].is_excluded or second[0].is_excluded):
            # What only the whole text shows stays: a wish, a question.
            own = attrs.evolve(first[0], is_wish=part.is_wish or first[0].is_wish)
            yield own, second[0]


def _words(wording: Wording) -> frozenset[str]:
    return wording.language.joints | wording.language.strong_joints


def _count(tokens: Sequence[Token]) -> int:
    return sum(token.is_word or token.is_value for token in tokens)


def _is_apart(first: Part, left: Scored, second: Part, right: Scored, sources: Sources) -> bool:
    """Whether two parts have two steps: of different entries, or of one with other arguments."""
    if left.profile is not right.profile:
        return True
    own, other = (arguments_of(drafted(part, left.profile, sources)) for part in (first, second))
    return left.is_complete and right.is_complete and own != other
