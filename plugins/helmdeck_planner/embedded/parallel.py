"""Divides a part with one verb for several objects that have values of their own: "add a card 'A' to list L1 and 'B' to list L2".

The schema decides: each object must state all that an entry requires, by the same inputs as the first one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from helmdeck_language import ENGLISH, Token, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fill import drafted
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.choice.choose import Scored
from helmdeck_planner.embedded.choice.confidence import is_gap
from helmdeck_planner.embedded.continuations import Chosen
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.property_words import REPLACING_VERBS, SEARCHING_VERBS
from helmdeck_planner.embedded.pick import Pick, is_risky, taking_all
from helmdeck_planner.embedded.request.parts import Part, split_parts
from helmdeck_planner.embedded.request.states import is_thing
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

# Objects with values of their own, and inputs that each of them states.
_MOST_OBJECTS: Final = 20
# Joints that are tried, from the first one on, so that a long list takes no long time.
_MOST_JOINTS: Final = 3
_LEAST_INPUTS: Final = 2
# Tokens of what has no input, the value included: "to Turin".
_LEAST_BEHIND: Final = 2
_TAKING_TWO: Final = word_list("taking_two")
_ONE_ACT: Final = frozenset(("drag drop", "copy paste", "cut paste"))
# Two verbs with "and" between them, and an object.
_LEAST_OF_TWO: Final = 4


def named_objects(part: Part, by_rules: Callable[[Part], Sequence[Scored]], wording: Wording) -> Sequence[Part]:
    """Return a part for each object of "list the containers and images", if each of them is the name of another entry.

    :param by_rules: returns the candidates of a part, the best first.
    """
    joints = [
        place
        for place in range(part.verb_place + 2, len(part.tokens) - 1)
        if part.tokens[place].word in wording.language.joints and not part.tokens[place - 1].is_value
    ]
    if part.verb_place != 0 or part.is_question or len(joints) != 1:
        return [part]
    first = attrs.evolve(part, tokens=part.tokens[: joints[0]])
    second = attrs.evolve(part, tokens=(part.tokens[0], *part.tokens[joints[0] + 1 :]))
    names: list[tuple[Profile, frozenset[str]]] = []
    for own in (first, second):
        found = by_rules(own)
        stems = frozenset(stem(word) for token in own.content if token.is_word for word in wording.nouns(token.word))
        if not found:
            return [part]
        names.append((found[0].profile, stems))
    (one, its_words), (other, other_words) = names
    is_apart = one is not other and its_words & set(one.name) and other_words & set(other.name)
    is_mixed = its_words & set(other.name) or other_words & set(one.name)
    return [first, second] if is_apart and not is_mixed else [part]


def several_acts(part: Part, sources: Sources, chosen: Chosen) -> Sequence[Part]:
    """Return a part for each verb of "stop and remove the container web", if an entry serves one of them and none both; else the part."""
    tokens, wording = part.tokens, sources.wording
    if part.verb_place != 0 or part.is_question or len(tokens) < _LEAST_OF_TWO or wording.language is not ENGLISH:
        return [part]
    first, second = tokens[0].word, tokens[2].word if tokens[1].word in wording.language.joints else ""
    is_pair = bool(wording.verb(second)) and first != second and f"{first} {second}" not in _ONE_ACT
    if not is_pair or wording.preposition(tokens[3]):
        return [part]
    parts = split_parts(sources.request, tokens[2:], wording)
    if len(parts) != 1 or parts[0].verb_place != 0:
        return [part]
    if first in SEARCHING_VERBS:
        return parts if second in REPLACING_VERBS else [part]  # "find and replace"
    acts = (_with_tokens(part, (tokens[0], *tokens[3:]), sources), parts[0])
    found = [chosen(each, attrs.evolve(sources, is_chosen=True)) for each in acts]
    served = [each[0].profile for each in found if not (is_gap(each) or is_risky(each))]
    does_both = any({stem(first), stem(second)} <= each.verbs | each.choice_verbs for each in served)
    return acts if served and not does_both and served[:1] != served[1:] else [part]


def parallel(part: Part, found: Sequence[Scored], sources: Sources, chosen: Chosen) -> Sequence[Pick]:
    """Return a step for each object of a part that states the same inputs; none for a part with one object.

    :param found: the candidates of the whole, the best first; a clear one that takes all values is one step.
    """
    wording = sources.wording
    if part.is_excluded or part.verb_place > 0 or wording.language is not ENGLISH:
        return ()
    alone = _alone(sources)
    joints = _joints(part.tokens, wording)
    if not joints or (not is_gap(found) and _takes_all(drafted(part, found[0].profile, alone))):
        return ()
    for joint in joints:
        behind = part.tokens[joint + 1 :]
        for tail in ((), *_tails(behind, wording)):
            # "add the comment 'a' to issue 5 and 'b' to issue 7 in acme/web"
            first = _with_tokens(part, (*part.tokens[:joint], *tail), alone)
            left = chosen(first, sources)
            if is_gap(left) or is_risky(left):
                continue
            before = Pick(first, left[0].profile, left)
            if others := _objects(before, behind, alone):
                return (before, *others)
    return ()


def with_rest(part: Part, found: Sequence[Scored], sources: Sources, chosen: Chosen) -> Sequence[Pick]:
    """Return the step of the words before a joint, and what those behind it ask for, of which no input takes anything; none for one step.

    :param found: the candidates of the whole.
    """
    is_request = (part.verb_place == 0 or part.is_wish) and part.verb not in _TAKING_TWO
    if part.is_excluded or not is_request or sources.wording.language is not ENGLISH:
        return ()
    joints = _joints(part.tokens, sources.wording)
    alone = _alone(sources)
    if not joints or (found and (taking_all(found) or _takes_all(drafted(part, found[0].profile, alone)))):
        return ()
    for joint in joints:
        if not part.tokens[joint].is_word or len(part.tokens) - joint - 1 < _LEAST_BEHIND:
            continue  # "delete A-1 and A-2" has a list
        first = _with_tokens(part, part.tokens[:joint], sources)
        left = chosen(first, sources)
        if is_gap(left) or is_risky(left):
            continue
        own, whole = (drafted(each, left[0].profile, alone) for each in (first, part))
        is_apart = whole.used_places.isdisjoint(range(joint, len(whole.tokens)))
        if _takes_values(own) and (is_apart or (own.is_complete and not whole.is_complete)):
            return Pick(first, left[0].profile, left), _rest(part, part.tokens[joint + 1 :], sources, chosen)
    return ()


def _rest(part: Part, behind: Sequence[Token], sources: Sources, chosen: Chosen) -> Pick:
    """Return the step that words without a verb clearly ask for, if it only reads; else a gap."""
    rest = _with_tokens(part, behind, sources)
    rest = attrs.evolve(rest, verb="", verb_place=-1, is_wish=True, is_other_object=True)
    found = chosen(rest, sources)
    if is_gap(found) or is_risky(found) or found[0].profile.writes is not False:
        return Pick(rest, None)
    return Pick(rest, found[0].profile if _takes_all(drafted(rest, found[0].profile, sources)) else None, found)


def _objects(first: Pick, behind: Sequence[Token], sources: Sources) -> Sequence[Pick]:
    """Return the steps of the objects behind the first one; none if some words state no such object."""
    assert first.profile is not None
    own = drafted(first.part, first.profile, sources)
    found: list[Pick] = []
    while behind and len(found) < _MOST_OBJECTS:
        ends = (*_joints(behind, sources.wording, first=0), len(behind))
        following = ((side, end) for end in reversed(ends) if (side := _alike(first, own, behind[:end], sources)))
        side, end = next(following, (None, 0))
        if side is None:
            return ()
        found.append(side)
        behind = behind[end + 1 :]
    return found


def _alike(first: Pick, own: Draft, behind: Sequence[Token], sources: Sources) -> Pick | None:
    """Return the step of the words behind a joint, with the verb of the first one and the words before its first value."""
    tokens = first.part.tokens
    if not _takes_all(own) or len(_stated(own)) < _LEAST_INPUTS:
        return None
    values = (place for place in range(1, len(tokens)) if place in own.used_places or _is_stated(tokens[place]))
    leads = [tokens[:end] for end in range(1, next(values, 1) + 1)]
    parts = [_with_tokens(first.part, (*lead, *behind), sources) for lead in leads]
    for end, part in enumerate(parts, 1):
        draft = drafted(part, own.profile, sources)
        if _is_like(draft, own) and all(place >= end for places in _stated(draft).values() for place in places):
            return Pick(part, own.profile, first.found)
    return None


def _is_like(draft: Draft, own: Draft) -> bool:
    """Whether two objects state the same inputs, one of them with another value that cannot be in one list with the first."""
    differing = [each for each in draft.profile.properties if draft.args.get(each.name) != own.args.get(each.name)]
    is_other = any(not each.is_list for each in differing)
    return is_other and _stated(draft).keys() == _stated(own).keys() and _takes_all(draft)


def _stated(draft: Draft) -> Mapping[str, Sequence[int]]:
    """Return the places of the arguments that a part states behind its verb."""
    return {name: places for name, places in draft.stated_at.items() if any(places)}


def _alone(sources: Sources) -> Sources:
    """Return sources for the arguments of a step that takes nothing from the parts before it."""
    return attrs.evolve(sources, earlier=(), is_chosen=True)


def _with_tokens(part: Part, tokens: Sequence[Token], sources: Sources) -> Part:
    written = sources.request[tokens[0].start : tokens[-1].end]
    return attrs.evolve(part, text=written, tokens=tuple(tokens))


def _joints(tokens: Sequence[Token], wording: Wording, first: int = 1) -> Sequence[int]:
    """Return the places of the words and commas between two objects with values, of the first ones."""
    found = (
        place
        for place, token in enumerate(tokens)
        if (token.word in wording.language.joints or token.value in ("&", ","))
        and any(map(_is_stated, tokens[first:place]))
        and any(map(_is_stated, tokens[place + 1 :]))
    )
    return tuple(itertools.islice(found, _MOST_JOINTS))


def _tails(tokens: Sequence[Token], wording: Wording) -> Iterator[Sequence[Token]]:
    """Yield what the last preposition says, if it is not the only one: "in acme/web"."""
    places = [place for place, token in enumerate(tokens) if wording.preposition(token)]
    if len(places) > 1:
        yield tokens[places[-1] :]


def _is_stated(token: Token) -> bool:
    return token.is_value or is_thing(token) or (token.is_word and token.is_capital)


def _takes_values(draft: Draft) -> bool:
    """Whether an entry takes every value of its part, names left out."""
    stated = [place for place, token in enumerate(draft.tokens) if place and (token.is_value or is_thing(token))]
    return draft.used_places.issuperset(stated)


def _takes_all(draft: Draft) -> bool:
    """Whether an entry has all it requires, and takes every value of its part."""
    stated = [place for place, token in enumerate(draft.tokens) if place and _is_stated(token)]
    return draft.is_complete and draft.used_places.issuperset(stated)
