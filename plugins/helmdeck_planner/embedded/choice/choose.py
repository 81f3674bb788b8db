"""Chooses the entry for a part of a request, or none."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from helmdeck_core import EntryKind
from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fill import drafted
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.choice.coverage import (
    SEARCHING,
    connects_places,
    is_covered,
    is_used_up,
    lists_file,
    names_place,
    searches_places,
)
from helmdeck_planner.embedded.choice.effects import is_allowed
from helmdeck_planner.embedded.choice.fit import fit
from helmdeck_planner.embedded.choice.pipelines import does_only
from helmdeck_planner.embedded.choice.weighing import Weighted, is_catalog_word, weigh
from helmdeck_planner.embedded.entries.profiles import Profile, Profiles
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.entries.property_words import ATTRIBUTES
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.wording import Wording
from helmdeck_selection import LexicalIndex

_CANDIDATES: Final = 16
# Candidates whose inputs are filled on trial, and what missing and unused values cost.
_TRIED: Final = 5
_STATED: Final = 0.4
_UNUSED: Final = 0.4
# What an input is worth that takes something that the part states.
_TAKEN: Final = 0.15
_MAX_TAKEN: Final = 3
_MIN_WORD: Final = 3
# Values that say which thing is meant.
_REFERRING: Final = (Kind.ID, Kind.PATH, Kind.URL)
# Larger catalogs are searched by their words only.
_MAX_SEARCHED: Final = 300
# Minimum share of the object that an entry covers.
_SEARCHED: Final = (Role.QUERY, Role.PATTERN, Role.NAME, Role.SQL, Role.CONTENT, Role.PLACE, Role.TEXT)


@attrs.frozen
class Scored:
    """A candidate of a part.

    :ivar total: how well it fits; candidates of one part are compared.
    :ivar stated: the share of its required inputs that the part states.
    :ivar is_complete: the part states all required inputs.
    :ivar is_named: the part has a word of its name, its verb, or one of its keyword phrases.
    :ivar takes_any: one of its inputs takes something of the part.
    :ivar unused: the share of the values of the part that none of its inputs takes.
    :ivar unexplained: the share of the words and values of the part that are neither taken nor words of the entry; 0 if the
        part states its whole name.
    :ivar evidence: the probability of a choice by evidence; ``None`` for one by the rules of ``choose``.
    :ivar leaves_ids: the part has ids, paths or URLs, and none of its inputs takes one: "forward mail 18c2f" does not send one.
    """

    profile: Profile
    total: float
    stated: float
    unused: float
    unexplained: float
    leaves_ids: bool
    is_complete: bool
    is_named: bool
    takes_any: bool
    evidence: float | None = None


def choose(part: Part, sources: Sources, lexical: LexicalIndex, profiles: Profiles) -> list[Scored]:
    """Return the entries that do what a part requests, the best first."""
    wording = sources.wording
    weighted = weigh(part, wording)
    scores = lexical.weighted_scores(weighted.query)
    best = max(scores.values(), default=1.0)
    leading = heapq.nlargest(_CANDIDATES, scores.items(), key=lambda row: (row[1], -row[0]))
    leading += _between_places(part, profiles, scores)
    found: list[tuple[float, int, Profile]] = []
    for index, score in leading:
        profile = profiles[index]
        if not is_allowed(part, profile, wording.lexicon) or lists_file(part, profile):
            continue
        if part.verb == "search" and not part.is_question and not profile.takes(*_SEARCHED):
            continue
        if not is_covered(part, weighted, profile) and not is_used_up(part, weighted, profile, sources):
            continue
        if profile.entry.kind is not EntryKind.PIPELINE or does_only(profile, weighted.every, profiles):
            found.append((score / best + fit(part, weighted, profile), -index, profile))
    if not found:
        indices = _by_place(part, leading, profiles) or _by_choice(part, wording, profiles, sources)
        found = [(0.0, -index, profiles[index]) for index in indices]
    found.sort(key=lambda row: row[:2], reverse=True)
    scored = [_tried(part, weighted, profile, total, sources) for total, _, profile in found[:_TRIED]]
    scored = [each for each in scored if _has_verb(weighted, each.profile) or not each.leaves_ids]
    return sorted(_without_deprecated(scored, profiles), key=lambda each: -each.total)


def _has_verb(weighted: Weighted, profile: Profile) -> bool:
    return bool(weighted.verbs & (profile.verbs | profile.opening | profile.verb_phrases))


def _markers(wording: Wording) -> frozenset[str]:
    return wording.language.naming | wording.language.lead_ins


def _unexplained(draft: Draft, weighted: Weighted) -> float:
    """Return the share of the words and values of a part that an entry neither takes nor has in its texts."""
    part, wording = draft.part, draft.wording
    known = draft.profile.text
    if not draft.profile.properties and not draft.profile.takes_nothing:
        return 0.0  # An entry without a schema may take any value.
    total = left = 0
    for place, token in enumerate(part.tokens):
        if place == part.verb_place or not (token.is_word or token.is_value):
            continue
        if place not in draft.used_places:
            is_empty = (
                len(token.value) < _MIN_WORD or token.word in wording.language.empty or token.word in _markers(wording)
            )
            if token.is_word and (draft.is_filler(place) or is_empty):
                continue
            if is_catalog_word(token, wording) and stem(token.word.lower()) in known:
                continue
            if part.is_question and (token.word in wording.language.questions or token.word in ATTRIBUTES):
                continue
            left += token.is_value or not weighted.matches(draft.stems(place), known)
        total += 1
    return left / total if total else 0.0


def _tried(part: Part, weighted: Weighted, profile: Profile, total: float, sources: Sources) -> Scored:
    """Score an entry by the values that its inputs take from a part, beside its words."""
    draft = drafted(part, profile, sources)
    stated = draft.stated_share
    # An entry without a schema may take any value; one with an empty schema takes none, though a number may only say how many.
    values = [
        place
        for place, token in enumerate(part.tokens)
        if token.is_value and (profile.properties or (profile.takes_nothing and token.kind in _REFERRING))
    ]
    values = [place for place in values if not is_catalog_word(part.tokens[place], draft.wording)]
    costs = [_cost(draft, place) for place in values]
    unused = sum(costs) / len(costs) if costs else 0.0
    ids = [place for place in values if part.tokens[place].kind in _REFERRING]
    leaves_ids = bool(ids) and draft.used_places.isdisjoint(ids)
    total += _STATED * (stated - 1) - _UNUSED * unused + _TAKEN * min(len(draft.args), _MAX_TAKEN)
    is_complete = draft.is_complete
    words = weighted.verbs.union(*weighted.objects, *weighted.tail)
    is_named = bool(words & {*profile.name, *profile.verbs, *profile.verb_phrases}) or any(
        set(phrase) <= words for phrase in profile.phrases
    )
    is_whole = bool(profile.name and weighted.verbs & profile.verbs) and set(profile.name) <= words
    unexplained = 0.0 if is_whole else _unexplained(draft, weighted)
    return Scored(
        profile, total, stated, unused, unexplained, leaves_ids, is_complete, is_named, bool(draft.used_places)
    )


def _cost(draft: Draft, place: int) -> float:
    """Return 1 for a value that no input takes, and a half for a number in a query: "coordinates 40.7, -73.9" is none."""
    if place not in draft.used_places:
        return 1.0
    token = draft.tokens[place]
    queries = [str(draft.args.get(each.name, "")) for each in draft.profile.properties if each.role is Role.QUERY]
    is_in_query = token.kind is Kind.NUMBER and any(token.value in query and token.value != query for query in queries)
    return 0.5 if is_in_query else 0.0


def _without_deprecated(scored: Sequence[Scored], profiles: Profiles) -> list[Scored]:
    """Replace deprecated entries by the ones that their descriptions name."""
    found: dict[str, Scored] = {}
    for each in scored:
        successor = profiles.of(each.profile.successor) if each.profile.successor else None
        row = each if successor is None else attrs.evolve(each, profile=successor)
        known = found.get(row.profile.entry.id)
        if known is None or known.total < row.total:
            found[row.profile.entry.id] = row
    return list(found.values())


def _between_places(part: Part, profiles: Profiles, scores: Mapping[int, float]) -> list[tuple[int, float]]:
    """Return entries that take "from X to Y", for a question that names no tool."""
    words = {token.word for token in part.tokens}
    if not part.is_question or not {"from", "to"} <= words or len(profiles.entries) > _MAX_SEARCHED:
        return []
    every = range(len(profiles.entries))
    return [(index, 0.0) for index in every if index not in scores and connects_places(part, profiles[index])]


def _by_place(part: Part, leading: Sequence[tuple[int, float]], profiles: Profiles) -> list[int]:
    """Return the entry that searches for places, for a search that names where: "find a vegan restaurant in Leipzig"."""
    is_search = part.verb in SEARCHING or (part.is_question and part.tokens[0].word in ("where", "where's"))
    if not is_search or not names_place(part) or any(token.is_value for token in part.tokens):
        return []
    fitting = [index for index, _ in leading if searches_places(profiles[index])]
    return fitting[:1]


def _by_choice(part: Part, wording: Wording, profiles: Profiles, sources: Sources) -> list[int]:
    """Return the entry whose choices and other inputs take every word: "mark OPS-4 as finished"."""
    if (
        part.is_question
        or not part.verb
        or not any(token.is_value for token in part.tokens)
        or len(profiles.entries) > _MAX_SEARCHED
    ):
        return []
    fitting = []
    for index in range(len(profiles.entries)):
        profile = profiles[index]
        if any(each.choices for each in profile.required) and is_allowed(part, profile, wording.lexicon):
            draft = drafted(part, profile, sources)
            left = [
                place
                for place, token in enumerate(part.tokens)
                if place not in draft.used_places and place != part.verb_place and (token.is_word or token.is_value)
            ]
            if draft.is_complete and all(draft.is_filler(place) for place in left):
                fitting.append(index)
    return fitting if len(fitting) == 1 else []
