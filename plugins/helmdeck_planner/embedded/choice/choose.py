"""Chooses the entry for a part of a request, or none."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Final

from helmdeck_core import EntryKind
from helmdeck_language import ACTIONS, READING, Action, Kind, stem
from helmdeck_planner.embedded.choice.effects import is_allowed, requested_actions
from helmdeck_planner.embedded.choice.input_fit import KIND_ROLES, input_fit
from helmdeck_planner.embedded.choice.pipelines import does_only
from helmdeck_planner.embedded.choice.weighing import SYNONYM, Weighted, is_file, weigh
from helmdeck_planner.embedded.entries.profiles import Profile, Profiles
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.wording import Wording
from helmdeck_selection import LexicalIndex

_CANDIDATES: Final = 16
# Larger catalogs are searched by their words only.
_MAX_SEARCHED: Final = 300
# Minimum share of the object that an entry covers.
_MIN_COVER: Final = 0.45
_FILE: Final = (stem("file"),)
_OPENING_VERBS: Final = frozenset("read show get open view display fetch download load print".split())
_WEB: Final = frozenset(stem(word) for word in "web internet online".split())
_SEARCHING: Final = frozenset("search find look lookup query research google locate".split())
_FREE_TEXT: Final = (Role.QUERY, Role.CONTENT, Role.EXPRESSION, Role.CODE, Role.SQL)


def choose(part: Part, wording: Wording, lexical: LexicalIndex, profiles: Profiles) -> Profile | None:
    """Return the entry that does what a part requests; ``None`` if none does."""
    weighted = weigh(part, wording)
    scores = lexical.weighted_scores(weighted.query)
    if not scores:
        return None
    best = max(scores.values())
    leading = heapq.nlargest(_CANDIDATES, scores.items(), key=lambda row: (row[1], -row[0]))
    leading += _between_places(part, profiles, scores)
    found: list[tuple[float, int, Profile]] = []
    for index, score in leading:
        profile = profiles[index]
        if not is_allowed(part, profile, wording.lexicon) or not is_covered(part, weighted, profile):
            continue
        if profile.entry.kind is not EntryKind.PIPELINE or does_only(profile, weighted.every, profiles):
            found.append((score / best + fit(part, weighted, profile), -index, profile))
    return max(found, key=lambda row: row[:2])[2] if found else None


def _between_places(part: Part, profiles: Profiles, scores: Mapping[int, float]) -> list[tuple[int, float]]:
    """Return entries that take "from X to Y", for a question that names no tool."""
    words = {token.word for token in part.tokens}
    if not part.is_question or not {"from", "to"} <= words or len(profiles.entries) > _MAX_SEARCHED:
        return []
    every = range(len(profiles.entries))
    return [(index, 0.0) for index in every if index not in scores and _connects_places(part, profiles[index])]


# -- coverage ----------------------------------------------------------------------------------------------


def _name_stems(profile: Profile) -> frozenset[str]:
    return frozenset(profile.name) | profile.verbs


def is_covered(part: Part, weighted: Weighted, profile: Profile) -> bool:
    """Whether an entry is about the object of a part."""
    if any(set(phrase) <= weighted.every for phrase in profile.phrases if len(phrase) > 1):
        return True
    if weighted.verbs & profile.verb_phrases:
        return True
    if _connects_places(part, profile):
        return True
    has_verb = bool(weighted.verbs) and (
        weighted.matches(weighted.verbs, profile.verbs | profile.opening) > 0
        or bool(requested_actions(part) & ACTIONS.get(profile.verb, frozenset()))
    )
    if not weighted.objects:
        if part.is_question and _answers_with_file(part, profile):
            return True
        return _takes_value(part, profile, has_verb=has_verb) or _is_about_tail(weighted, profile)
    covered = [weighted.matches(stems, profile.text) for stems in weighted.objects]
    share = sum(covered) / len(covered)
    in_opening = max(weighted.matches(stems, profile.opening) for stems in weighted.objects)
    if share >= _MIN_COVER and in_opening > 0:
        return True
    if _names_entry(weighted, profile) or _reads_value(part, weighted, profile):
        return True
    if part.verb in _SEARCHING and profile.takes(Role.QUERY) and _is_about_tail(weighted, profile):
        return True
    # "echo good morning", "search tides": the verb is the whole name, and its object a text.
    if weighted.verbs & profile.verbs and not profile.name and share >= _MIN_COVER:
        return True
    # "refund 5 for order A-1": the verb is the entry's, and its object an input.
    labels = frozenset[str]().union(*(each.labels for each in profile.required))
    if weighted.verbs & {stem(profile.verb)} and any(stems & labels for stems in weighted.objects):
        return True
    is_named = bool(weighted.verbs & profile.verbs) or (part.verb in _SEARCHING and profile.verb in _SEARCHING)
    is_whole_name = is_named and not set(profile.name) - weighted.every - _WEB
    texts = profile.required or profile.properties
    return is_whole_name and any(each.role in _FREE_TEXT for each in texts)


def _names_entry(weighted: Weighted, profile: Profile) -> bool:
    """Whether the words before and after prepositions contain the whole name."""
    if not profile.name:
        return False
    words = [*weighted.objects, *weighted.tail]
    return all(any(weighted.matches(stems, frozenset({term})) == 1.0 for stems in words) for term in profile.name)


def _reads_value(part: Part, weighted: Weighted, profile: Profile) -> bool:
    """Whether the verb and the value fit an entry: "read every line of journal.txt" reads a file."""
    kinds = {token.kind for token in part.tokens if token.is_value} & KIND_ROLES.keys()
    takes = any(each.role in KIND_ROLES[kind] for kind in kinds for each in profile.required)
    if takes and weighted.verbs & profile.verbs and not set(profile.name) - weighted.hints:
        return True
    # "get the raw HTML of https://..."
    is_filled = all(any(each.role in KIND_ROLES[kind] for kind in kinds) for each in profile.required)
    is_reading = ACTIONS.get(profile.verb, frozenset()) & READING and not profile.writes
    return takes and is_filled and bool(is_reading) and part.verb in _OPENING_VERBS and Kind.URL in kinds


def _answers_with_file(part: Part, profile: Profile) -> bool:
    """Whether "what is in notes.txt" reads the file."""
    has_file = any(token.kind is Kind.PATH and is_file(token) for token in part.tokens)
    takes = any(each.role is Role.PATH for each in profile.required)
    return has_file and takes and profile.verb == "read" and profile.name == _FILE


def _connects_places(part: Part, profile: Profile) -> bool:
    """Whether "from X to Y" is what an entry takes, asked by a question: "how do I get from Leeds to York"."""
    words = {token.word for token in part.tokens}
    sides = {each.side for each in profile.required if each.role is Role.PLACE}
    return part.is_question and {"from", "to"} <= words and {"source", "target"} <= sides and not profile.writes


def _is_about_tail(weighted: Weighted, profile: Profile) -> bool:
    return bool(weighted.tail) and any(weighted.matches(stems, profile.opening) == 1.0 for stems in weighted.tail[:2])


def _takes_value(part: Part, profile: Profile, *, has_verb: bool) -> bool:
    kinds = {token.kind for token in part.tokens if token.is_value}
    for kind in kinds & KIND_ROLES.keys():
        if profile.takes(*KIND_ROLES[kind]):
            is_telling = kind in (Kind.SQL, Kind.EXPRESSION) or len(part.tokens) == 1
            return has_verb or is_telling
    return has_verb and not kinds & {Kind.SQL, Kind.URL}


# -- fit ---------------------------------------------------------------------------------------------------


def fit(part: Part, weighted: Weighted, profile: Profile) -> float:
    """Return how well an entry fits a part beyond its score: its name, its verb, its inputs."""
    every = weighted.every
    total = 0.0
    if profile.name:
        covered = [_best_match(term, weighted) for term in profile.name]
        total += 1.2 * sum(covered) / len(covered)
        total -= 0.25 * sum(value == 0 for value in covered)
        known = _name_stems(profile)
    else:
        # A name such as "git_log": what the description says first takes the place of the other words.
        total += 0.3
        known = profile.opening
        if weighted.objects:
            total += 0.7 * sum(weighted.matches(stems, known) for stems in weighted.objects) / len(weighted.objects)
    in_name = [
        max(weighted.matches(stems, known), 0.5 * weighted.matches(stems, profile.opening))
        for stems in weighted.objects
    ]
    if in_name:
        total += 0.8 * sum(in_name) / len(in_name)
    total += 0.3 * bool(profile.forms & {token.word for token in part.tokens if token.is_word})
    if _connects_places(part, profile):
        total += 0.8
    total += _verb_fit(part, weighted, profile)
    total += input_fit(part.tokens, profile) + _label_fit(part, weighted, profile)
    # The author of the catalog declares it.
    is_keyword = any(set(phrase) <= every for phrase in profile.phrases if len(phrase) > 1)
    if is_keyword or weighted.verbs & profile.verb_phrases:
        total += 1.6
    return total - (0.3 if profile.is_deprecated else 0.0)


def _best_match(term: str, weighted: Weighted) -> float:
    own = frozenset({term})
    if term in weighted.verbs:
        return 1.0
    words = [*weighted.objects, *weighted.tail]
    if any(term in stems for stems in words):
        return 1.0
    if any(any(term in weighted.lexicon.synonyms(each) for each in stems) for stems in words):
        return SYNONYM
    return SYNONYM if weighted.hints & own else 0.0


def _verb_fit(part: Part, weighted: Weighted, profile: Profile) -> float:
    searches = profile.takes(Role.QUERY, Role.PATTERN, Role.NAME, Role.SQL, Role.CONTENT, Role.PLACE)
    if part.verb == "search" and not part.is_question and not searches:
        return -1.2
    needs_id = any(each.role is Role.ID for each in profile.required)
    if part.verb == "search" and needs_id and Action.SEARCH not in ACTIONS.get(profile.verb, frozenset()):
        return -1.0
    if part.is_question and weighted.verbs & profile.verbs and weighted.objects:
        # "which columns does the table have" lists columns, not tables.
        return 0.6 if weighted.matches(weighted.objects[0], frozenset(profile.name)) else 0.2
    if weighted.verbs & profile.verbs:
        return 0.8 if stem(profile.verb) in weighted.verbs or not profile.name else 0.5
    actions, own = requested_actions(part), ACTIONS.get(profile.verb, frozenset())
    if actions & own:
        return 0.4
    if weighted.verbs & profile.opening:
        return 0.4
    if any(weighted.lexicon.synonyms(term) & profile.verbs for term in weighted.verbs):
        return 0.35
    if actions <= READING and own & READING and actions:
        return 0.2
    if part.verb and not part.is_question and not actions & READING and own and own <= READING:
        return -0.7
    if not own:
        return -0.5 if actions and not actions & READING else 0.0
    return -0.3 if actions or part.verb else 0.0


def _label_fit(part: Part, weighted: Weighted, profile: Profile) -> float:
    """Return how many required inputs a part names: "latitude 48.85 and longitude 2.35"."""
    states_value = any(token.is_value or token.value[:1].isupper() for token in part.tokens[1:])
    every = weighted.every
    known = set(profile.name)
    return min(
        0.9, (0.4 if states_value else 0.2) * sum(bool((each.labels - known) & every) for each in profile.required)
    )
