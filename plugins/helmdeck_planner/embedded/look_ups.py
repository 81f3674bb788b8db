"""Adds the step that looks up an id: a request names "the channel releases", and a tool requires ``channel_id``.

A look-up is added only if an argument would stay open without it, the request names the thing, one entry of the same server is clearly
the one that returns the id, and everything that this entry requires is stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.profiles import Profile, Profiles
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_selection import LexicalIndex

# How much better than the second one the entry that returns an id must fit.
_CLEAR: Final = 0.5
_TEXTS: Final = (Role.QUERY, Role.NAME, Role.TEXT, Role.PLACE)


@attrs.frozen
class LookUp:
    """A step that a request does not name.

    :ivar needed: the arguments of the other step that its result has.
    :ivar thing: what is looked up, as the request names it.
    """

    profile: Profile
    args: dict[str, Any]
    needed: tuple[str, ...]
    thing: str


def look_up(draft: Draft, lexical: LexicalIndex, profiles: Profiles) -> Sequence[LookUp]:
    """Return the steps that find the ids that a step requires and a request only describes, in order; none without a clear one.

    There are two where the look-up requires an id itself: the cards of a list need the id of the list.
    """
    missing = [each for each in draft.profile.required if each.name not in draft.args]
    found: dict[str, tuple[Sequence[LookUp], list[str]]] = {}
    for each in missing:
        thing = _labelled_thing(draft, each.labels) or _thing(draft, each)
        producers = profiles.producers(draft.profile, each.name, lexical) if thing else ()
        rows = [
            (fit, (LookUp(profile, args, (), thing),))
            for profile, fit in producers
            if (args := _arguments(draft, profile, thing)) is not None
        ]
        chain = _clear(rows) if rows else _chain(draft, producers, thing, lexical, profiles)
        if chain:
            names = found.setdefault(chain[-1].profile.entry.id, (chain, []))[1]
            names.append(each.name)
    if len(found) != 1:
        return ()
    chain, names = next(iter(found.values()))
    return (*chain[:-1], attrs.evolve(chain[-1], needed=tuple(names)))


def _clear(rows: Sequence[tuple[float, Sequence[LookUp]]]) -> Sequence[LookUp]:
    """Return the best look-up, if it fits much better than the second one."""
    return rows[0][1] if rows and (len(rows) == 1 or rows[0][0] - rows[1][0] >= _CLEAR) else ()


def _chain(
    draft: Draft,
    producers: Sequence[tuple[Profile, float]],
    thing: str,
    lexical: LexicalIndex,
    profiles: Profiles,
) -> Sequence[LookUp]:
    """Return two look-ups, the second of which needs one id that the first returns; none unless each of them is the only one.

    What the first one looks up is named by its own label, "in the list Doing", or is the thing itself.
    """
    chains: list[tuple[float, Sequence[LookUp]]] = []
    for profile, fit in producers:
        needed = [
            each for each in profile.required if each.name not in draft.args and not _takes_thing(draft, profile, each)
        ]
        if len(needed) != 1 or needed[0].is_list or not _is_identifier(needed[0]):
            continue
        own = needed[0]
        name = _labelled_thing(draft, own.labels)
        is_passed_on = not name and profile.required == (own,)
        args = _arguments(draft, profile, thing, without=own.name)
        if args is None or name == thing or not (name or is_passed_on):
            continue
        firsts = [
            (its_fit, (LookUp(first, its_args, (own.name,), name or thing),))
            for first, its_fit in profiles.producers(profile, own.name, lexical)
            if first is not draft.profile
            and (its_args := _arguments(draft, first, name or thing)) is not None
            # Without a name of its own, the thing is what the first one searches for.
            and (name or thing in its_args.values())
        ]
        if first := _clear(firsts):
            chains.append((fit, (*first, LookUp(profile, args, (), thing))))
    return _clear(chains)


def _is_identifier(each: Property) -> bool:
    return each.role is Role.ID


def _takes_thing(draft: Draft, profile: Profile, each: Property) -> bool:
    texts = [other for other in profile.required if other.role in _TEXTS and other.name not in draft.args]
    return texts == [each] and not each.is_list and _is_sought(draft, each)


def _labelled_thing(draft: Draft, labels: frozenset[str]) -> str:
    """Return what a label names: "Doing" in "in the list Doing"; empty without one."""
    for place in range(draft.part.verb_place + 1, len(draft.tokens) - 1):
        following = place + 1
        token = draft.tokens[following]
        if place == draft.part.verb_place or not draft.stems(place) & labels or following in draft.used_places:
            continue
        if token.kind in (Kind.QUOTE, Kind.HASH):
            return token.value.lstrip("#")
        if token.is_word and token.is_capital:
            names = [other for other in range(following, len(draft.tokens)) if draft.tokens[other].is_capital]
            return draft.text(following, _end(names, following))
    return ""


def _arguments(draft: Draft, profile: Profile, thing: str, without: str = "") -> dict[str, Any] | None:
    """Return the required arguments of a look-up; ``None`` if it changes something, or one of them is not stated.

    :param without: an argument that another look-up returns.
    """
    if profile.writes or profile.entry.source != draft.profile.entry.source:
        return None
    args: dict[str, Any] = {}
    for each in profile.required:
        if each.name == without:
            continue
        if each.name in draft.args:
            args[each.name] = draft.args[each.name]
        elif each.role is Role.PLACE and (place := _place(draft)):
            args[each.name] = place
        elif _takes_thing(draft, profile, each):
            args[each.name] = thing
        else:
            return None
    return args


def _is_sought(draft: Draft, each: Property) -> bool:
    """Whether an input takes what is looked up; the name of a workspace is not that of a task."""
    return each.role is Role.QUERY or each.labels <= draft.profile.nouns


def _thing(draft: Draft, each: Property) -> str:
    """Return what a part names in place of an id: a quoted string, "#general", a name in capitals, the word after the label."""
    for place in draft.free(Kind.QUOTE, Kind.HASH):
        return draft.tokens[place].value.lstrip("#")
    tokens = draft.tokens
    known = draft.profile.nouns | draft.profile.verbs | each.labels
    free = [
        place
        for place, token in enumerate(tokens)
        if token.is_word
        and place not in draft.used_places
        and place != draft.part.verb_place
        and not draft.is_filler(place)
        and not draft.stems(place) & known
    ]
    for place in free:
        if place and tokens[place].is_capital:
            return draft.text(place, _end(free, place))
    for place in free:
        before = place - 1
        if before >= 0 and (draft.stems(before) & each.labels or draft.is_naming(before)):
            return draft.text(place, _end(free, place))
    starts = [place for place, token in enumerate(tokens) if draft.preposition(place) == "about"]
    after = [place for place in free if starts and place > starts[0]]
    return draft.text(after[0], _end(after, after[0])) if after else ""


def _place(draft: Draft) -> str:
    """Return the name in capitals after "in", "near" and the like; of a part without a quoted string, any such name."""
    tokens = draft.tokens
    names = [
        place
        for place, token in enumerate(tokens)
        if place > draft.part.verb_place + 1 and token.is_word and token.is_capital
    ]
    located = [place for place in names if draft.preposition_before(place) in ("in", "near", "at", "of", "for")]
    has_quote = any(token.kind is Kind.QUOTE for token in tokens)
    chosen = located or ([] if has_quote else names)
    return draft.text(chosen[0], _end(names, chosen[0])) if chosen else ""


def _end(free: Sequence[int], start: int) -> int:
    """Return the last of consecutive places."""
    end = start
    while end + 1 in free:
        end += 1
    return end
