"""Repeats a part for each of several values, if its entry takes one value at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from helmdeck_language import ACTIONS, Action, Kind, Token
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fill import drafted
from helmdeck_planner.embedded.arguments.screen import elements
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.arguments.zones import zone_places
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import ORDINALS
from helmdeck_planner.embedded.entries.roles import NAME_OF
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.states import is_thing
from helmdeck_planner.embedded.request.wording import Wording

# Kinds of values that are listed: "issues 12 and 15" has two of a kind.
_KINDS: Final = (
    (Kind.NUMBER, Kind.HASH),
    (Kind.ID, Kind.SLUG, Kind.PATH),
    (Kind.URL,),
    (Kind.EXPRESSION,),
    (Kind.QUOTE, Kind.CODE),
    (Kind.EMAIL, Kind.PHONE),
)
_MAX_VALUES: Final = 20
# Inputs of which a name in capitals is a value.
_WORD_ROLES: Final = (Role.PLACE, Role.NAME, Role.ZONE, Role.ID, Role.KEY, Role.LANGUAGE, Role.CURRENCY)


Run = tuple[int, int]


def one_value_each(part: Part, profile: Profile, request: str, wording: Wording) -> list[Part]:
    """Return a part for each value in "cancel order A-1 and A-2"; the part itself if its entry takes all of them, or one value."""
    sources = Sources(request, wording, is_chosen=True)
    args = drafted(part, profile, sources).args
    if any(each.takes_objects and each.name in args for each in profile.properties):
        return [part]
    for runs in _listed(part, profile, request, wording):
        if not 1 < len(runs) <= _MAX_VALUES:
            continue
        values = [request[part.tokens[first].start : part.tokens[end - 1].end].strip("\"'`#") for first, end in runs]
        if sum(_has(drafted(part, profile, sources).args, value) for value in values) > 1:
            continue
        parts = [_with_value(part, runs, place) for place in range(len(runs))]
        drafts = [drafted(each, profile, sources) for each in parts]
        if all(_takes_one(each, value) for each, value in zip(drafts, values, strict=True)):
            return parts
    return [part]


def one_id_each(part: Part, wording: Wording) -> list[Part]:
    """Return a part for each id in "get OPS-1, OPS-2 and OPS-3", whatever serves it; nothing for a part with fewer than two."""
    places = [(place, place + 1) for place, token in enumerate(part.tokens) if token.kind is Kind.ID or is_thing(token)]
    runs = next(iter(_joined(part.tokens, places, wording)), [])
    return [_with_value(part, runs, place) for place in range(min(len(runs), _MAX_VALUES))]


def _has(args: Any, value: str) -> bool:
    """Whether an argument is a value, or contains it as one of several."""
    if isinstance(args, dict):
        return any(_has(each, value) for each in args.values())
    if isinstance(args, list):
        return any(_has(each, value) for each in args)
    return str(args).casefold() == value.casefold()


def _takes_one(draft: Draft, value: str) -> bool:
    """Whether an input that takes one value has it, as it is written or as its time zone."""
    city = value.replace(" ", "_")
    is_number = value.replace(".", "").isdigit()
    return any(
        not each.is_list
        # "what is at 48.1, 11.5" has one topic.
        and not (is_number and each.role is Role.QUERY)
        and (_has(argument := draft.args.get(each.name), value) or str(argument).endswith(f"/{city}"))
        for each in draft.profile.properties
    )


def _listed(part: Part, profile: Profile, request: str, wording: Wording) -> Iterator[list[Run]]:
    """Yield lists of values of one kind that are joined by commas and conjunctions."""
    tokens = part.tokens
    # One message to two people is not two messages.
    is_sent = Action.SEND in ACTIONS.get(profile.verb, frozenset())
    for kinds in _KINDS[:-1] if is_sent else _KINDS:
        places = [
            (place, place + 1)
            for place, token in enumerate(tokens)
            # "light.hall" may look like a path, and "light.cellar" like a word.
            if token.kind in kinds or (Kind.ID in kinds and is_thing(token))
        ]
        yield from _joined(tokens, places, wording)
    roles = {each.role for each in profile.required}
    if Role.TARGET in roles:
        own = elements(Draft(request, part, profile, wording))
        yield from _joined(tokens, [(row[0], row[-1] + 1) for row in own], wording)
    for each in profile.required:
        if each.choices and not each.is_list:
            choices = {str(choice).casefold() for choice in each.choices}
            named = [(place, place + 1) for place, token in enumerate(tokens) if token.value.casefold() in choices]
            yield from _joined(tokens, named, wording, by_comma=False, has_noun=True)
    if Role.ZONE in roles:
        found = [
            (places[0], places[-1] + 1) for _, places in zone_places(drafted(part, profile, Sources(request, wording)))
        ]
        yield from _joined(tokens, found, wording)
    if roles & set(_WORD_ROLES) or any(_takes_name(each) for each in profile.required):
        yield from _joined(tokens, _names(tokens, part.verb_place, wording), wording, by_comma=False)


def _takes_name(each: Property) -> bool:
    """Whether a text is the name of a thing: "Name of the package"."""
    return each.role is Role.TEXT and not each.is_list and bool(NAME_OF.match(each.text))


def _names(tokens: Sequence[Token], verb_place: int, wording: Wording) -> list[Run]:
    """Return the names in capitals, and the words before and after "and"."""
    runs: list[Run] = []
    for place, token in enumerate(tokens):
        if place == verb_place or not token.is_word or wording.is_filler(token.word) or wording.preposition(token):
            continue
        if token.is_capital and place:
            is_name = bool(runs) and tokens[runs[-1][0]].is_capital
            # "Tarn & Reed"
            start = place - (tokens[place - 1].value == "&")
            if is_name and runs[-1][1] == start:
                runs[-1] = (runs[-1][0], place + 1)
            else:
                runs.append((place, place + 1))
        elif _beside_joint(tokens, place, wording):
            runs.append((place, place + 1))
    return runs


def _beside_joint(tokens: Sequence[Token], place: int, wording: Wording) -> bool:
    """Whether a word is one of a list such as "orders and customers"."""
    near = [tokens[other] for other in (place - 1, place + 1) if 0 <= other < len(tokens)]
    return any(token.word in wording.language.joints or token.value == "," for token in near)


def _joined(
    tokens: Sequence[Token], runs: Sequence[Run], wording: Wording, *, by_comma: bool = True, has_noun: bool = False
) -> Iterator[list[Run]]:
    """Yield the runs that follow each other with nothing but a comma or a conjunction in between.

    :param has_noun: the noun behind the first one may be behind the others as well: "the left lamp and the right lamp".
    """
    found: list[Run] = []
    joints: list[str] = []
    for run in runs:
        between = tokens[found[-1][1] : run[0]] if found else ()
        around = {tokens[found[0][0] - 1].word} if found and found[0][0] else set()
        if found and has_noun and tokens[found[0][1]].word not in wording.language.joints:
            around.add(tokens[found[0][1]].word)
        if found and _are_joined([token for token in between if token.word not in around - {""}], wording):
            joints += [token.word for token in between]
            found.append(run)
            continue
        if len(found) > 1 and (by_comma or _has_conjunction(joints, wording)):
            yield found
        found, joints = [run], []
    if len(found) > 1 and (by_comma or _has_conjunction(joints, wording)):
        yield found


def _has_conjunction(words: Sequence[str], wording: Wording) -> bool:
    return any(word in wording.language.joints or word == "&" for word in words)


def _are_joined(between: Sequence[Token], wording: Wording) -> bool:
    language = wording.language
    joints = language.joints | language.strong_joints
    # "from next in acme/web": a word after a preposition joins nothing.
    has_joint = any(
        (token.word in joints or token.value in ",&") and not (place and wording.preposition(between[place - 1]))
        for place, token in enumerate(between)
    )
    return has_joint and all(
        token.word in joints
        or token.value in ",&"
        or token.word in language.determiners
        or token.word in language.prepositions
        for token in between
    )


def _with_value(part: Part, runs: Sequence[Run], chosen: int) -> Part:
    """Return the part without the other values."""
    first, last = runs[0][0], runs[-1][1]
    own = runs[chosen]
    tail = part.tokens[last:]
    # "create 'A' and 'B', the second one for Ada"
    meant = [ORDINALS[token.word] % len(runs) for token in tail if token.word in ORDINALS]
    tail = tail if not meant or meant == [chosen] else ()
    tokens = (*part.tokens[:first], *part.tokens[own[0] : own[1]], *tail)
    return attrs.evolve(part, tokens=tokens)
