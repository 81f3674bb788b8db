"""Measures how well an entry fits a part, beyond the words that they share."""

from __future__ import annotations

from helmdeck_language import READING, Action, stem
from helmdeck_planner.embedded.choice.coverage import connects_places, name_stems, names_place, searches_places
from helmdeck_planner.embedded.choice.effects import requested_actions
from helmdeck_planner.embedded.choice.input_fit import input_fit
from helmdeck_planner.embedded.choice.weighing import SYNONYM, Weighted
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.request.parts import Part


def fit(part: Part, weighted: Weighted, profile: Profile) -> float:
    """Return how well an entry fits a part beyond its score: its name, its verb, its inputs."""
    every = weighted.every
    total = 0.0
    if profile.name:
        covered = [_best_match(term, weighted) for term in profile.name]
        total += 1.2 * sum(covered) / len(covered)
        total -= 0.25 * sum(value == 0 for value in covered)
        known = name_stems(profile)
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
    if connects_places(part, profile):
        total += 0.8
    if searches_places(profile):
        total += 0.4 if names_place(part) else -0.4
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
    if part.verb == "search" and needs_id and Action.SEARCH not in profile.actions:
        return -1.0
    if part.verb in ("find", "locate") and profile.verb == "read":
        return -1.0
    if part.is_question and weighted.verbs & profile.verbs and weighted.objects:
        # "which columns does the table have" lists columns, not tables.
        return 0.6 if weighted.matches(weighted.objects[0], profile.nouns) else 0.2
    if weighted.verbs & profile.choice_verbs:
        return 0.8
    if weighted.verbs & profile.verbs:
        return 0.8 if stem(profile.verb) in weighted.verbs or not profile.name else 0.5
    actions, own = requested_actions(part), profile.actions
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
    states_value = any(token.is_value or token.is_capital for token in part.tokens[1:])
    every = weighted.every
    known = set(profile.name)
    return min(
        0.9, (0.4 if states_value else 0.2) * sum(bool((each.labels - known) & every) for each in profile.required)
    )
