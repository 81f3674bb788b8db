"""The features of a choice by evidence: how well the words, the meaning and the values of a part fit an entry."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from helmdeck_language import READING, Action, Kind, stem, word_terms
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.choice.choose import Scored
from helmdeck_planner.embedded.choice.confidence import score
from helmdeck_planner.embedded.choice.effects import requested_actions
from helmdeck_planner.embedded.choice.input_fit import input_fit
from helmdeck_planner.embedded.choice.meanings import Meaning
from helmdeck_planner.embedded.choice.weighing import Weighted, is_catalog_word
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.entries.property_words import ATTRIBUTES
from helmdeck_planner.embedded.request.concepts import concepts, strength
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.readings import Reading
from helmdeck_planner.embedded.request.word_lists import word_list
from helmdeck_planner.embedded.request.wording import Wording

_LEAST: Final = -6.0
_MAX_COUNT: Final = 3
_MAX_MARGIN: Final = 1.5
_DEFINING: Final = re.compile(r"\s*(?:create|alter|drop|truncate)\b", re.IGNORECASE)
# "validate the file" is not to read it.
_SPECIFIC: Final = word_list("specific")
_PEOPLE: Final = frozenset({"who", "whose", "whom"})
# "how do I stream a file": a manual may say it.
_WAYS: Final = frozenset({"do", "does", "can", "to", "should", "would"})


@attrs.frozen
class Word:
    """A word that says what a part is about.

    :ivar is_name: a name in capitals that neither the catalog nor ``concepts.toml`` has.
    """

    place: int
    stems: frozenset[str]
    is_name: bool


@attrs.frozen
class WordFit:
    """How well the words of a part fit an entry.

    :ivar verb: how well its verb does, 0 to 1.
    :ivar order: what the entries are ordered by before their inputs are filled.
    """

    features: Mapping[str, float]
    verb: float
    order: float


@attrs.frozen
class Seen:
    """What all candidates of a part are compared with.

    :ivar direct_object: the words of the noun behind its verb, if any.
    """

    part: Part
    weighted: Weighted
    intended: Reading
    words: Sequence[Word]
    wording: Wording
    direct_object: Sequence[Word]

    @property
    def actions(self) -> frozenset[Action]:
        """The classes of its verb; none without one."""
        return requested_actions(self.part) if self.part.verb and not self.part.is_question else frozenset()

    @property
    def is_reading(self) -> bool:
        """Whether it is a question, or names no act."""
        return self.part.is_question or not (self.part.verb or self.intended.verbs)


def words_of(part: Part, intended: Reading, wording: Wording) -> list[Word]:
    """Return the words of a part without its verb, prepositions and fillers."""
    found = []
    for place, token in enumerate(part.tokens):
        is_own = is_catalog_word(token, wording)
        if not (token.is_word or is_own) or place in intended.places:
            continue
        if place == part.verb_place:
            if part.is_question and token.word in _PEOPLE:
                found.append(Word(place, frozenset({"who"}), False))
            if token.word == "how" and any(after.word in _WAYS for after in part.tokens[place + 1 : place + 2]):
                found.append(Word(place, frozenset({"how"}), False))
            if not part.is_question or token.word in wording.language.questions:
                continue
        word = token.value.lower() if is_own else token.word
        language = wording.language
        is_empty = word in language.naming or word in language.empty or wording.is_filler(word)
        if is_empty or wording.preposition(token):
            continue
        stems = {term for other in wording.nouns(word) for term in word_terms(other)} | {stem(word)}
        if part.is_question and place == 1:
            stems |= {stem(other) for other in ATTRIBUTES.get(word, ())}
        is_known = not stems.isdisjoint(wording.vocabulary.stems) or any(map(concepts, stems))
        found.append(Word(place, frozenset(stems), place > 0 and token.is_capital and not is_known))
    return found


def direct_object_of(part: Part, words: Sequence[Word], wording: Wording) -> list[Word]:
    """Return the words of the noun behind the verb of a command: "red label" of "add a red label to card 5"."""
    if part.is_question or not part.verb:
        return []
    own = {word.place: word for word in words}
    found: list[Word] = []
    for place, token in enumerate(part.tokens[part.verb_place + 1 :], part.verb_place + 1):
        if place in own:
            found.append(own[place])
        elif found or wording.preposition(token) or not token.is_word:
            break
    return found


def word_fit(seen: Seen, profile: Profile) -> WordFit:
    """Return how well the words of a part fit an entry, before its inputs are filled."""
    part, lexicon = seen.part, seen.weighted.lexicon
    verb, is_unnamed = _verb_fit(seen, profile)
    about = [word.stems for word in seen.words if not word.is_name]
    every = [*about, seen.weighted.hints]
    verbs = seen.weighted.verbs | seen.intended.verbs.keys()
    covered = [
        1.0 if term in verbs else max(strength(stems, frozenset({term}), lexicon) for stems in every)
        for term in profile.name
    ]
    named = sum(covered) / len(covered) if covered else 0.0
    in_name = [strength(stems, profile.nouns | profile.verbs, lexicon) for stems in about]
    in_text = [strength(stems, profile.text, lexicon) for stems in about]
    # Words that mean something in catalogs, and nothing in this entry.
    foreign = sum(not found and any(map(concepts, stems)) for found, stems in zip(in_text, about, strict=True))
    act = part.act
    agreed = {True: act.change, False: act.look_up, None: max(act.change, act.look_up)}[profile.writes]
    features = {
        "act_agreed": agreed,
        "unnamed_act": float(is_unnamed),
        "text": sum(in_text) / max(1, len(about)),
        "name_covered": named,
        "verb_name": verb * (named if covered else 0.5),
        "writes": float(bool(profile.writes)),
        "deprecated": float(profile.is_deprecated),
        "foreign_concepts": float(min(foreign, _MAX_COUNT)),
    }
    order = features["verb_name"] + named + max(in_name, default=0.0) + input_fit(part.tokens, profile)
    return WordFit(features, verb, order)


def _verb_fit(seen: Seen, profile: Profile) -> tuple[float, bool]:
    """Return how well the verb of a part fits an entry, 0 to 1, and whether it is none that the entry or an act of it names."""
    part, intended = seen.part, seen.intended
    own = profile.verbs | profile.choice_verbs
    verb = "" if part.is_question or (intended.is_phrase and stem(part.verb) not in intended.verbs) else stem(part.verb)
    literal = verb in own
    by_act = max((share for term, share in intended.verbs.items() if term in own), default=0.0)
    by_text = max(
        (share for term, share in intended.verbs.items() if term in profile.opening),
        default=float(verb in profile.opening),
    )
    actions = requested_actions(part)
    # "fetch me a snapshot": what reads needs no verb of its own.
    is_read = bool(actions) and actions <= READING and profile.writes is False and part.verb not in _SPECIFIC
    by_class = is_read or bool(actions & profile.actions)
    is_unnamed = bool(verb) and not (literal or by_act or is_read or names_statement(part, profile))
    if seen.is_reading and not profile.writes:
        return 0.5, is_unnamed
    return max(float(literal), 0.8 * by_act, 0.4 * by_class, 0.4 * by_text), is_unnamed


def names_statement(part: Part, profile: Profile) -> bool:
    """Whether an entry takes SQL, and its texts name what the statement of a part does: "CREATE TABLE" creates a table."""
    statement = next((token.value for token in part.tokens if token.kind is Kind.SQL), "")
    own = statement.lower().split()[: 2 if _DEFINING.match(statement) else 1]
    return bool(own) and profile.takes(Role.SQL) and all(stem(word) in profile.text for word in own)


def rule_features(rules: Sequence[Scored], profile: Profile) -> dict[str, float]:
    """Return what the rules of ``choose`` say of an entry.

    :param rules: the entries that they choose, the best first.
    """
    own = next((each for each in rules if each.profile is profile), None)
    if own is None:
        return {}
    is_first = own is rules[0]
    others = [each.total for each in rules if each is not own]
    margin = own.total - max(others) if others else 1.0
    return {
        "rule_score": score(rules) if is_first else 0.0,
        "rule_margin": max(-_MAX_MARGIN, min(_MAX_MARGIN, margin)),
    }


def meaning_features(seen: Seen, profile: Profile, close: Meaning) -> dict[str, float]:
    """Return how close the meaning of a part is to that of an entry."""
    own = profile.actions
    return {
        "meaning_share": close.share,
        "meaning_log": max(_LEAST, math.log(close.share)),
        "other_act": float(bool(seen.actions) and bool(own) and not seen.actions & own),
    }


def object_features(seen: Seen, profile: Profile, draft: Draft) -> dict[str, float]:
    """Return how well the object of a command fits the name of an entry, or only the words of its inputs: "label" of a card.

    The values of inputs are no names of objects: "replace cats with dogs".
    """
    if not seen.direct_object or any(word.place in draft.used_places for word in seen.direct_object):
        return {}
    stems, lexicon = seen.direct_object[-1].stems, seen.weighted.lexicon
    in_name = strength(stems, profile.nouns | profile.verbs, lexicon)
    inputs = frozenset(stem(word) for each in profile.properties for word in each.words)
    return {
        "object_other": 1 - in_name,
        "object_input": max(0.0, strength(stems, inputs, lexicon) - in_name),
    }


def value_features(profile: Profile, draft: Draft, unused: float) -> dict[str, float]:
    """Return how well the inputs of an entry take the values of a part.

    :param unused: the share of the values that none takes.
    """
    missing = [each for each in profile.required if each.name not in draft.args]
    return {
        "stated": draft.stated_share,
        "complete": float(not missing),
        "missing": float(min(len(missing), _MAX_COUNT)),
        "missing_ids": float(sum(each.role is Role.ID for each in missing)),
        "unused": unused,
        "arguments": float(min(len(draft.args), _MAX_COUNT)),
        "choices": float(sum(bool(each.choices) and each.name in draft.args for each in profile.properties)),
    }
