"""Joins the parts that state the objects of one step: "add a node: name 'Blue Heron', type 'boat'", "for Ada, add the note 'x'"."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from helmdeck_language import ACTIONS, Action, Kind, Token, stem
from helmdeck_planner.embedded.arguments.fill import drafted
from helmdeck_planner.embedded.arguments.item_fields import item_fields
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.choice.confidence import UNSURE
from helmdeck_planner.embedded.continuations import Chosen
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.pick import Pick
from helmdeck_planner.embedded.request.parts import Part


def joined_objects(
    parts: Sequence[Part], pick_of: Callable[[Part], Pick | None], sources: Sources, chosen: Chosen
) -> tuple[int, Pick] | None:
    """Return how many parts, from the first one on, state the objects of one step, and the step; ``None`` for one part."""
    for length in range(len(parts), 1, -1):
        run = parts[:length]
        picks = [pick for part in run if (pick := pick_of(part)) is not None]
        if not any(part.is_excluded for part in run) and (pick := _with_objects(run, picks, sources, chosen)):
            return length, pick
    return None


def _with_objects(run: Sequence[Part], picks: Sequence[Pick], sources: Sources, chosen: Chosen) -> Pick | None:
    """Return the step of all parts of a run, if one of them has an entry whose objects take all their values.

    :param picks: of the parts; one that only states where the others act has none.
    :param sources: with the parts before them as the earlier ones.
    """
    is_listing = bool(picks) and picks[0].part is run[0] and _is_before_colon(run[0], sources.request)
    is_listing = is_listing and not _is_complete(picks[0])
    head = picks[0] if is_listing else next((pick for pick in picks if _may_take_objects(pick)), None)
    if head is None:
        return None
    place = next(number for number, part in enumerate(run) if part is head.part)
    joined = _joined(run, place, sources.request)
    found = head.found if _may_take_objects(head) else chosen(joined, sources)
    if not found or any(part.verb for part in run[:place]):
        return None
    profile = found[0].profile
    is_free = is_listing or all(pick is head or _is_further(pick, head, profile) for pick in picks)
    others = [part for part in run if part is not head.part]
    if not (is_free and _takes_all(joined, others, profile, sources)):
        return None
    return Pick(joined, profile, [attrs.evolve(found[0], is_complete=True, unused=0.0), *found[1:]])


def _takes_all(joined: Part, others: Sequence[Part], profile: Profile, sources: Sources) -> bool:
    """Whether an entry with objects takes all values of a part, and something of each of the others that it was joined from."""
    draft = drafted(joined, profile, sources)
    used = {joined.tokens[place].start for place in draft.used_places}
    is_complete = _takes_objects(profile) and draft.is_complete
    is_taken = all(token.start in used for token in joined.tokens if token.is_value)
    # A part that states nothing for the step, such as "preview it", requests something else.
    return is_complete and is_taken and all(any(token.start in used for token in part.tokens) for part in others)


def _is_further(pick: Pick, head: Pick, profile: Profile) -> bool:
    """Whether a part has no step, lacks something for the same one, or starts with a field: "type 'boat', note 'old'"."""
    tokens = pick.part.tokens
    owners = [each for each in profile.required if each.fields]
    labels = {term for each in owners for term in item_fields(profile, each).labels}
    starts_field = len(tokens) > 1 and stem(tokens[0].word) in labels and tokens[1].is_value
    has_same_verb = tokens[:1] == head.part.tokens[:1]
    if pick.part.verb_place == 0 and _is_opposite(pick.part.verb, head.part.verb):
        return False
    return starts_field or (pick.profile in (None, profile) and (has_same_verb or not _is_complete(pick)))


def _is_opposite(verb: str, other: str) -> bool:
    """Whether one verb deletes and the other one does not: "delete the note 'a' and add 'b'"."""
    return (Action.DELETE in ACTIONS.get(verb, frozenset())) != (Action.DELETE in ACTIONS.get(other, frozenset()))


def _takes_objects(profile: Profile) -> bool:
    return any(each.takes_objects for each in profile.required)


def _is_complete(pick: Pick) -> bool:
    return pick.profile is not None and pick.found[0].is_complete


def _is_before_colon(part: Part, request: str) -> bool:
    return request[part.tokens[-1].end :].lstrip().startswith(":")


def _may_take_objects(pick: Pick) -> bool:
    """Whether a part has an entry that requires objects, or lacks nothing for it but them."""
    best = pick.profile or (pick.found[0].profile if pick.found and pick.score >= UNSURE else None)
    return best is not None and _takes_objects(best)


def _joined(run: Sequence[Part], place: int, request: str) -> Part:
    """Return one part with the verb of the one at a place, and the marks between the parts."""
    tokens: list[Token] = []
    verb_place = -1
    for number, part in enumerate(run):
        if tokens:
            start = tokens[-1].end
            mark = next((mark for mark in ":." if mark in request[start : part.tokens[0].start]), ",")
            tokens.append(Token(Kind.MARK, start, start, mark, mark))
        if number == place:
            verb_place = len(tokens) + part.verb_place if part.verb_place >= 0 else -1
        # A verb that a part has from the one before is no word of its own.
        tokens += [token for token in part.tokens if not tokens or token.start >= tokens[-1].end]
    text = request[tokens[0].start : tokens[-1].end]
    return attrs.evolve(run[place], text=text, tokens=tuple(tokens), verb_place=verb_place)
