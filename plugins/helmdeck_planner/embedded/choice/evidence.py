"""Chooses the entry for a part that no rule of ``choose`` covers, by all its words and values: a probability for each entry.

The rules of ``choose`` want the verb and the object in words that the catalog has. Here the verb is what an everyday verb may mean
(``acts.toml``), words stand for others (``concepts.toml``), and values count as much as words. A conditional logistic model weighs
the features of all entries, with a gap as one more choice; ``benchmarks/first_use/evidence.py`` fits its weights.
"""

from __future__ import annotations

import heapq
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import attrs

from helmdeck_core import EntryKind
from helmdeck_language import ACTIONS, DELETING_WORDS, READING, WRITING, Action, Kind, Lexicon, Token, stem, word_terms
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fill import Sources, drafted
from helmdeck_planner.embedded.choice.choose import Scored
from helmdeck_planner.embedded.choice.coverage import counts_others, lists_file
from helmdeck_planner.embedded.choice.effects import loses_content, requested_actions
from helmdeck_planner.embedded.choice.input_fit import input_fit
from helmdeck_planner.embedded.choice.meanings import MAX_COMPARED, Meaning, meanings
from helmdeck_planner.embedded.choice.shapes import by_shape
from helmdeck_planner.embedded.choice.weighing import Weighted, is_catalog_word, weigh
from helmdeck_planner.embedded.entries.profiles import Profile, Profiles
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.entries.property_words import ATTRIBUTES
from helmdeck_planner.embedded.request.concepts import concepts
from helmdeck_planner.embedded.request.opposites import OPPOSITES, requested_sides
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.readings import Reading, reading
from helmdeck_planner.embedded.request.wording import Wording
from helmdeck_selection import LexicalIndex

# Of a larger catalog, only the best entries by words and the closest ones by meaning are weighed.
_MAX_SEARCHED: Final = 60
_CANDIDATES: Final = 24
# So many of the closest entries may serve a part that shares no word with them.
_CLOSEST: Final = 3
# Probability by meaning from which the same holds for an entry that deletes something.
_DELETES: Final = 0.4
# Probability from which a part asks for a change, and for nothing.
_ASKED: Final = 0.35
_TOLD: Final = 0.5
_LEAST: Final = -6.0
# Probability by meaning from which an entry may leave out an id: "the page should be in dark mode, WEB-588".
_CLEAR: Final = 0.5
# Candidates whose inputs are filled on trial.
_TRIED: Final = 6
_READ_WEIGHT: Final = 0.3
_SYNONYM: Final = 0.7
_CONCEPT: Final = 0.6
_MIN_COMPOUND: Final = 5
_MAX_COUNT: Final = 3
_REFERRING: Final = (Kind.ID, Kind.PATH, Kind.URL)
_DELETING: Final = frozenset(stem(word) for word in DELETING_WORDS) | {stem("archive")}
_REMOVING: Final = frozenset({Action.DELETE})
_PEOPLE: Final = frozenset({"who", "whose", "whom"})


@attrs.frozen
class _Word:
    """A word that says what a part is about.

    :ivar is_name: a name in capitals that neither the catalog nor ``concepts.toml`` has.
    """

    place: int
    stems: frozenset[str]
    is_name: bool


@attrs.frozen
class Candidate:
    """An entry with its features.

    :ivar scored: what ``steps`` needs to know of a choice.
    """

    scored: Scored
    features: Mapping[str, float]


@cache
def weights() -> Mapping[str, float]:
    """Return the fitted weights of the features, and the constant."""
    found = json.loads(Path(__file__).with_name("evidence.json").read_text(encoding="utf-8"))
    return {str(name): float(weight) for name, weight in found.items()}


def choose_by_evidence(
    part: Part, sources: Sources, lexical: LexicalIndex, profiles: Profiles, context: Sequence[Token] = ()
) -> list[Scored]:
    """Return the entries that may do what a part requests with their probabilities, the best first.

    :param context: the part before, if this one refers to it and it has no entry of its own.
    """
    found = candidates(part, sources, lexical, profiles, context)
    rows = sorted(zip(probabilities(found), found, strict=True), key=lambda row: -row[0])
    return by_shape(_pooled([attrs.evolve(each.scored, evidence=share) for share, each in rows]), part, sources)


def _pooled(found: Sequence[Scored]) -> list[Scored]:
    """Replace entries that read the same by one of them: "cat a.txt" is served by ``read_text_file`` and by ``read_file``."""
    if not found or not _reads(found[0]):
        return list(found)
    best = found[0].profile
    same = [
        each
        for each in found
        if _reads(each) and each.profile.verb == best.verb and each.profile.name[-1:] == best.name[-1:]
    ]
    chosen = min(same, key=lambda each: each.profile.is_deprecated)
    pooled = attrs.evolve(chosen, evidence=sum(each.evidence or 0.0 for each in same))
    return [pooled, *(each for each in found if each not in same)]


def _reads(each: Scored) -> bool:
    """Whether an entry only reads, and takes all that a part states."""
    profile = each.profile
    return bool(profile.verb and profile.name) and profile.writes is False and each.is_complete and not each.unused


def probabilities(found: Sequence[Candidate]) -> list[float]:
    """Return the probability of each candidate; what they leave to 1 is that of a gap."""
    own = weights()
    scores = [
        own["constant"] + sum(own.get(name, 0.0) * value for name, value in each.features.items()) for each in found
    ]
    highest = max([0.0, *scores])
    shares = [math.exp(score - highest) for score in scores]
    whole = sum(shares) + math.exp(-highest)
    return [share / whole for share in shares]


def candidates(
    part: Part, sources: Sources, lexical: LexicalIndex, profiles: Profiles, context: Sequence[Token] = ()
) -> list[Candidate]:
    """Return the entries that a part may request, with their features."""
    if not part.tokens:
        return []
    wording = sources.wording
    intended = reading(part, wording)
    weighted = weigh(part, wording)
    query = dict(weighted.query)
    for term, share in intended.verbs.items():
        query.setdefault(term, _READ_WEIGHT * share)
    scores = lexical.weighted_scores(query)
    best = max(scores.values(), default=1.0)
    count = len(profiles.entries)
    indices: Sequence[int] = range(count)
    if count > _MAX_SEARCHED:
        indices = heapq.nlargest(_CANDIDATES, scores, key=lambda index: (scores[index], -index))
    close = meanings(part, range(count) if count <= MAX_COMPARED else indices, profiles, context)
    if count > _MAX_SEARCHED:
        indices = list(dict.fromkeys([*indices, *(index for index, own in close.items() if own.place < _CLOSEST)]))
    seen = _Seen(part, weighted, intended, _words(part, intended, wording), wording)
    undone = frozenset(word for word in OPPOSITES if stem(word) in intended.verbs)
    rough = []
    for index in indices:
        profile = profiles[index]
        is_entry = profile.entry.kind is not EntryKind.PIPELINE and not counts_others(part, weighted, profile)
        if is_entry and _is_safe(part, intended, undone, profile, close[index]):
            found = _word_features(seen, profile)
            # A verb that an entry has nothing to do with requests something else.
            if seen.is_reading or found["verb"] > 0 or close[index].place < _CLOSEST:
                found["score"] = scores.get(index, 0.0) / best
                found |= _meaning_features(seen, profile, close[index])
                rough.append((_rough(found), -index, profile, found))
    tried = [
        (profile, found, drafted(part, profile, sources)) for _, _, profile, found in heapq.nlargest(_TRIED, rough)
    ]
    return _with_values(seen, tried)


@attrs.frozen
class _Seen:
    """What all candidates of a part are compared with."""

    part: Part
    weighted: Weighted
    intended: Reading
    words: Sequence[_Word]
    wording: Wording

    @property
    def actions(self) -> frozenset[Action]:
        """The classes of its verb; none without one."""
        return requested_actions(self.part) if self.part.verb and not self.part.is_question else frozenset()

    @property
    def is_reading(self) -> bool:
        """Whether it is a question, or names no act."""
        return self.part.is_question or not (self.part.verb or self.intended.verbs)


def _rough(found: Mapping[str, float]) -> float:
    return (
        found["score"]
        + found["verb_name"]
        + found["name_covered"]
        + found["best_name"]
        + found["inputs"]
        + 4 * found["meaning_share"]
    )


def _is_safe(part: Part, intended: Reading, undone: frozenset[str], profile: Profile, close: Meaning) -> bool:
    """Whether an entry does no more than what a part may request; its verb may stand for the words ``undone`` of ``OPPOSITES``."""
    if loses_content(part, profile):
        return False
    sides = requested_sides(part)
    if any(OPPOSITES[side] in profile.sides for side in sides) and not sides & profile.sides:
        return False
    # "open the lock" may mean to unlock it, and never to lock it.
    if any(OPPOSITES[word] in profile.sides for word in undone) and not undone & profile.sides:
        return False
    own = profile.verbs | profile.choice_verbs
    # "get rid of a.txt" gets nothing.
    is_other = intended.is_phrase and stem(part.verb) not in intended.verbs
    verb = "" if is_other or (part.is_question and part.verb == "get") else stem(part.verb)
    is_intended = bool((intended.verbs.keys() | {verb}) & own)
    if profile.deletes:
        is_named = bool((intended.verbs.keys() | {verb}) & own & _DELETING)
        return not part.is_question and (is_named or (close.share >= _DELETES and _is_meant(part, profile, close)))
    if profile.writes and _is_meant(part, profile, close):
        return True
    if part.is_question or not (part.verb or intended.verbs):
        # "process 4 is stuck" kills none.
        may_act = profile.writes is None and bool(profile.verb) and not part.is_question and not part.is_wish
        may_act = may_act and part.act.nothing >= _TOLD
        return (not profile.writes and not may_act) or (part.is_question and verb in own)
    if profile.writes or is_other:
        return is_intended
    actions = requested_actions(part)
    return is_intended or not actions or not actions <= WRITING or profile.writes is None


def _is_meant(part: Part, profile: Profile, close: Meaning) -> bool:
    """Whether a part asks for a change, its wording may mean an entry, and its verb nothing else: "delete the branch" creates none."""
    asks = part.is_wish or part.act.change >= _ASKED
    if part.is_question or not asks or close.place >= _CLOSEST:
        return False
    actions, own = requested_actions(part), ACTIONS.get(profile.verb, frozenset())
    if not part.verb or not actions or not own:
        return True
    if actions <= READING or actions <= _REMOVING or own <= _REMOVING:
        return bool(actions & own)
    return True


def _words(part: Part, intended: Reading, wording: Wording) -> list[_Word]:
    """Return the words of a part without its verb, prepositions and fillers."""
    found = []
    for place, token in enumerate(part.tokens):
        is_own = is_catalog_word(token, wording)
        if not (token.is_word or is_own) or place in intended.places:
            continue
        if place == part.verb_place:
            if part.is_question and token.word in _PEOPLE:
                found.append(_Word(place, frozenset({"who"}), False))
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
        found.append(_Word(place, frozenset(stems), place > 0 and token.value[:1].isupper() and not is_known))
    return found


def _strength(stems: frozenset[str], known: frozenset[str], lexicon: Lexicon) -> float:
    """Return how well a word is among known stems."""
    if stems & known:
        return 1.0
    if any(lexicon.synonyms(term) & known for term in stems):
        return _SYNONYM
    if any(concepts(term) & known for term in stems):
        return _CONCEPT
    is_compound = any(len(term) >= _MIN_COMPOUND and other.endswith(term) for term in stems for other in known)
    return _CONCEPT if is_compound else 0.0


def _word_features(seen: _Seen, profile: Profile) -> dict[str, float]:
    """Return how well the words of a part fit an entry, before its inputs are filled."""
    part, intended, lexicon = seen.part, seen.intended, seen.weighted.lexicon
    own = profile.verbs | profile.choice_verbs
    verb = "" if part.is_question or (intended.is_phrase and stem(part.verb) not in intended.verbs) else stem(part.verb)
    literal = float(verb in own)
    by_act = max((share for term, share in intended.verbs.items() if term in own), default=0.0)
    by_text = max(
        (share for term, share in intended.verbs.items() if term in profile.opening),
        default=float(verb in profile.opening),
    )
    by_class = float(bool(requested_actions(part) & ACTIONS.get(profile.verb, frozenset())))
    is_reading = seen.is_reading and not profile.writes
    verb_fit = 0.5 if is_reading else max(literal, 0.8 * by_act, 0.4 * by_class, 0.4 * by_text)
    name = frozenset(profile.name)
    about = [word.stems for word in seen.words if not word.is_name]
    every = [*about, seen.weighted.hints]
    verbs = seen.weighted.verbs | intended.verbs.keys()
    covered = [
        1.0 if term in verbs else max(_strength(stems, frozenset({term}), lexicon) for stems in every)
        for term in profile.name
    ]
    named = sum(covered) / len(covered) if covered else 0.0
    in_name = [_strength(stems, name | profile.verbs, lexicon) for stems in about]
    best_name = max(in_name, default=0.0)
    count = max(1, len(about))
    kinds = Counter(token.kind for token in part.tokens if token.is_value)
    numbers = sum(each.role is Role.NUMBER for each in profile.required)
    stated = kinds[Kind.NUMBER] + kinds[Kind.HASH] + kinds[Kind.EXPRESSION]
    first = seen.words[0] if seen.words else None
    is_odd = (
        seen.is_reading
        and not part.is_question
        and first is not None
        and first.place == 0
        and not _strength(first.stems, profile.text, lexicon)
    )
    act = part.act
    is_unnamed = bool(verb) and not (literal or by_act)
    agreed = {True: act.change, False: act.look_up, None: max(act.change, act.look_up)}[profile.writes]
    return {
        "act_agreed": agreed,
        "act_nothing": act.nothing,
        "unnamed_act": float(is_unnamed),
        "literal": literal,
        "act_in_text": 0.0 if literal or by_act else by_text,
        "class": 0.0 if literal else by_class,
        "reading": float(is_reading),
        "verb": verb_fit,
        "odd": float(is_odd),
        "opening": sum(_strength(stems, profile.opening, lexicon) for stems in about) / count,
        "text": sum(_strength(stems, profile.text, lexicon) for stems in about) / count,
        "no_words": float(not about),
        "best_name": best_name,
        "name_covered": named,
        "no_name": float(not covered),
        "name_missing": float(min(sum(value == 0 for value in covered), _MAX_COUNT)),
        "verb_name": verb_fit * (named if covered else 0.5),
        "inputs": input_fit(part.tokens, profile),
        "numbers": float(0 < numbers == kinds[Kind.NUMBER]) - float(numbers > stated),
        "writes": float(bool(profile.writes)),
        "deprecated": float(profile.is_deprecated),
        "file_for_folder": float(lists_file(part, profile)),
    }


def _meaning_features(seen: _Seen, profile: Profile, close: Meaning) -> dict[str, float]:
    own = ACTIONS.get(profile.verb, frozenset())
    names_act = bool(seen.part.verb or seen.part.is_question)
    names_known_act = bool(seen.intended.verbs) or seen.part.is_question
    return {
        "meaning": close.similarity,
        "meaning_share": close.share,
        "meaning_log": max(_LEAST, math.log(close.share)),
        "meaning_without_act": 0.0 if names_act else close.similarity,
        "other_act": float(bool(seen.actions) and bool(own) and not seen.actions & own),
        "meaning_of_other_act": close.similarity if names_act and not names_known_act else 0.0,
        "closest": float(close.place == 0),
    }


def _with_values(seen: _Seen, tried: Sequence[tuple[Profile, dict[str, float], Draft]]) -> list[Candidate]:
    every = [_candidate(seen, profile, features, draft) for profile, features, draft in tried]
    # "what is on list 61bc" does not request all lists, and "forward mail 18c2" does not send another.
    found = [
        each
        for each in every
        if each.features["literal"]
        or not each.scored.leaves_ids
        or (each.features["meaning_share"] >= _CLEAR and not (each.scored.profile.writes and each.scored.is_other_act))
    ]
    exact = sum(map(_is_exact, found))
    return [
        attrs.evolve(each, features={**each.features, "sole": 1 / exact if _is_exact(each) else 0.0}) for each in found
    ]


def _is_exact(each: Candidate) -> bool:
    """Whether an entry takes all values of a part, and needs no others."""
    scored = each.scored
    return scored.is_complete and not scored.unused and bool(each.features["taken"])


def _candidate(seen: _Seen, profile: Profile, features: Mapping[str, float], draft: Draft) -> Candidate:
    """Return an entry with how well its inputs take the values of a part."""
    part, lexicon = seen.part, seen.weighted.lexicon
    required = [each for each in profile.required if each.role is not Role.CONTENT]
    stated = sum(each.name in draft.args for each in required) / len(required) if required else 1.0
    is_complete = all(each.name in draft.args for each in profile.required)
    values = [
        place for place, token in enumerate(part.tokens) if token.is_value and not is_catalog_word(token, seen.wording)
    ]
    left = [place for place in values if place not in draft.used_places]
    unused = len(left) / len(values) if values else 0.0
    ids = [place for place in values if part.tokens[place].kind in _REFERRING]
    leaves_ids = bool(ids) and draft.used_places.isdisjoint(ids)
    foreign = sum(
        word.place not in draft.used_places and not _strength(word.stems, profile.text, lexicon) for word in seen.words
    )
    total = len(seen.words) + len(values)
    unexplained = (foreign + len(left)) / total if total else 0.0
    return Candidate(
        Scored(
            profile,
            0.0,
            stated,
            unused,
            unexplained,
            leaves_ids,
            is_complete,
            is_named=features["best_name"] > 0,
            takes_any=bool(draft.used_places),
            meaning=features["meaning_share"],
            fits_act=seen.is_reading or features["verb"] > 0,
            is_other_act=bool(features["unnamed_act"]),
        ),
        {
            **features,
            "stated": stated,
            "complete": float(is_complete),
            "unused": unused,
            "taken": float(bool(values)) * (1 - unused),
            "unexplained": unexplained,
            "left": float(min(foreign + len(left), _MAX_COUNT)),
            "arguments": float(min(len(draft.args), _MAX_COUNT)),
            "choices": float(sum(bool(each.choices) and each.name in draft.args for each in profile.properties)),
            "needs": float(bool(profile.required)),
            "no_arguments": float(bool(profile.properties) and not draft.args),
            # Words that an entry does not have say less against it where its meaning is clear.
            "share_unexplained": features["meaning_share"] * unexplained,
            "share_left": features["meaning_share"] * min(foreign + len(left), _MAX_COUNT),
            "share_without_verb": features["meaning_share"] * (features["verb"] == 0),
            "share_unused": features["meaning_share"] * unused,
        },
    )
