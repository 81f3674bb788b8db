"""Fills switches and choices from words that no other value uses, by the words of their descriptions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

import attrs

from helmdeck_language import DELETING_WORDS, STOP_WORDS, split_identifier, stem, words
from helmdeck_planner.embedded.arguments.choices import is_request
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import CHOICE_WORDS, NEGATIVE_WORDS, SWITCHING_WORDS
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_planner.embedded.request.word_lists import stemmed, word_list
from helmdeck_selection import meaning_model, similarity

# Sentences and clauses of a description that do not say what a switch does.
_SENTENCE: Final = re.compile(r"(?<=[.;!])\s+|\n|\((?=default)|\)")
_ASIDE: Final = re.compile(
    r"\bdefault|\bcannot\b|\bcan't\b|\bmust not\b|\bdeprecated\b|\be\.?g\b|\buseful\b", re.IGNORECASE
)
_CONTRAST: Final = re.compile(
    r"\b(?:instead of|rather than|not just|unless|otherwise|except|without|if false)\b.*", re.IGNORECASE
)
_SWITCHING: Final = frozenset(map(stem, SWITCHING_WORDS))
_STOP_STEMS: Final = frozenset(map(stem, STOP_WORDS))
# The cosine of two words that mean much the same.
_ALIKE: Final = 0.4
_BY_NAME: Final = 2.0
_BY_DESCRIPTION: Final = 1.0
# A name says enough to leave a word unexplained.
_MAX_UNEXPLAINED: Final = 1
_PREFERRING: Final = word_list("preferring")
_KEEPING: Final = stemmed("keeping")
_DELETING: Final = frozenset(map(stem, DELETING_WORDS))
_LATER: Final = ("afterwards", "already")


@attrs.frozen
class Phrase:
    """Consecutive words of a part that no other value uses.

    :ivar is_negated: a word before them in the clause says that they are not requested: "without static assets".
    """

    places: tuple[int, ...]
    is_negated: bool


def fill_described(draft: Draft) -> None:
    """Set open switches and choices from the phrases of a part that their names and descriptions explain."""
    inputs = [each for each in draft.open_inputs() if _takes_phrase(each)]
    for phrase in _phrases(draft):
        found = [row for each in inputs if each.name not in draft.args and (row := _read(draft, each, phrase))]
        found.sort(key=lambda row: -row[0])
        if found and (len(found) == 1 or found[0][0] > found[1][0]):
            _, each, value = found[0]
            draft.set(each, value, phrase.places)


def _takes_phrase(each: Property) -> bool:
    return each.role in (Role.BOOLEAN, Role.CHOICE) and not each.is_list


def fill_excluded(draft: Draft, part: Part) -> None:
    """Set an open switch to false, or a choice to the only other one, from an excluded part: "leave out the scripts", "instead of a link"."""
    own = draft.beside(part)
    inputs = [each for each in draft.open_inputs() if _takes_phrase(each)]
    act = next((token.word for place, token in enumerate(own.tokens) if not _excludes(own, place)), "")
    verb = frozenset(map(stem, (part.verb, act, act.removesuffix("ing")))) - draft.profile.verbs
    switches = [each for each in inputs if each.role is Role.BOOLEAN and verb & each.stems]
    if len(switches) == 1 and draft.set(switches[0], not NEGATIVE_WORDS.isdisjoint(switches[0].words), []):
        draft.stated_by.append(part)  # "don't notify him"
        return
    rows = [row for phrase in _phrases(own) for each in inputs if (row := _read(own, each, phrase))]
    for _, each, value in sorted(rows, key=lambda row: -row[0])[:1]:
        draft.set(each, value, [])
        draft.stated_by.append(part)


def _excludes(draft: Draft, place: int) -> bool:
    return draft.leaves_out(place) or _is_contracted(draft.tokens[place].word)


def states_only_inputs(draft: Draft) -> bool:
    """Whether every word of a part that carries a meaning is used for an input: "hand me the full resource", "show those, at most 10"."""
    return bool(draft.used_places) and not any(
        # "biggest on top"
        token.is_value or (_is_content(draft, place) and not draft.is_one_of(place, "first"))
        for place, token in enumerate(draft.tokens)
        if place not in draft.used_places
    )


def _is_content(draft: Draft, place: int) -> bool:
    language = draft.wording.language
    token = draft.tokens[place]
    return token.is_word and not (
        place in draft.used_places
        or place == draft.part.verb_place
        or draft.is_filler(place)
        or token.word in language.joints | language.references
        or draft.is_one_of(place, "particles")
        or draft.is_one_of(place, "alone")
        or token.word in language.trailing
        or token.word in _LATER
    )


def _phrases(draft: Draft) -> list[Phrase]:
    """Return the phrases between prepositions and the like, and then whole clauses of several such."""
    short: list[Phrase] = []
    whole: list[Phrase] = []
    for clause in _clauses(draft):
        found = _phrases_of(draft, clause)
        short += found
        if len(found) > 1 and len({phrase.is_negated for phrase in found}) == 1:
            places = tuple(place for phrase in found for place in phrase.places)
            whole.append(Phrase(places, found[0].is_negated))
    return [*short, *whole]


def _clauses(draft: Draft) -> list[list[int]]:
    """Return the places of words and values between marks."""
    found: list[list[int]] = [[]]
    for place, token in enumerate(draft.tokens):
        if token.is_word or token.is_value:
            found[-1].append(place)
        else:
            found.append([])
    return found


def _phrases_of(draft: Draft, clause: Sequence[int]) -> list[Phrase]:
    """Return the phrases of a clause; "the coat of arms" is one."""
    found: list[Phrase] = []
    is_negated = draft.part.is_excluded
    is_open = False
    for place in clause:
        word = draft.tokens[place].word
        if word == "than" and any(draft.tokens[other].word in _PREFERRING for other in clause if other < place):
            is_negated, is_open = True, False  # "rather the whole text than a link"
            continue
        is_joint = word in draft.wording.language.joints
        if _excludes(draft, place):
            is_negated, is_open = True, False
        elif _is_content(draft, place):
            before = found.pop().places if is_open else ()
            found.append(Phrase((*before, place), is_negated))
            is_open = True
        elif (
            is_joint
            or draft.tokens[place].is_value
            or place in draft.used_places
            or draft.preposition(place) not in ("", "of")
        ):
            is_open = False
            is_negated &= word != "but"
    return found


def _is_contracted(word: str) -> bool:
    """Whether a word is a verb with "not": "don't"."""
    return word.replace("\u2019", "'").endswith("n't")


def _read(draft: Draft, each: Property, phrase: Phrase) -> tuple[float, Property, Any] | None:
    """Return how well a phrase states a value of an input, and the value; ``None`` if it does not."""
    if each.role is Role.BOOLEAN:
        names = frozenset(map(stem, set(each.words) - NEGATIVE_WORDS)) - _SWITCHING
        weight = _weight(draft, each, phrase, names, affirmed(each.text))
        removing = frozenset(map(stem, DELETING_WORDS.intersection(each.words))) - draft.profile.verbs
        if weight and removing:
            stems = frozenset(term for place in range(len(draft.tokens)) for term in draft.stems(place))
            if not _KEEPING.isdisjoint(stems):
                return weight, each, False  # "keep the branch" for ``remove_branch``
            if _DELETING.isdisjoint(stems):
                return None
        # "without the cache" sets ``no_cache``.
        is_negative = not NEGATIVE_WORDS.isdisjoint(each.words)
        return (weight, each, phrase.is_negated is is_negative) if weight else None
    rows = [
        (weight, choice)
        for choice in each.choices
        if isinstance(choice, str)
        and all(is_request(draft, each, place) for place in phrase.places)
        and (weight := _weight(draft, each, phrase, *_of_choice(each, choice)))
    ]
    rows.sort(key=lambda row: -row[0])
    if not rows or (len(rows) > 1 and rows[0][0] == rows[1][0]):
        return None
    weight, choice = rows[0]
    if phrase.is_negated:
        others = [other for other in each.choices if other != choice]
        return (weight, each, others[0]) if len(others) == 1 else None
    return weight, each, choice


def _weight(draft: Draft, each: Property, phrase: Phrase, names: frozenset[str], described: frozenset[str]) -> float:
    """Return the evidence that a phrase states a value: 0 unless words of it do so, and none or few say something else.

    :param names: stems of the name of the value.
    :param described: stems of what its description says.
    """
    profile = draft.profile
    own = profile.nouns | profile.verbs
    other_inputs = [other for other in profile.properties if other is not each]
    labels = own.union(*(other.labels for other in other_inputs))
    others = labels.union(_stems(profile.entry.description), *(other.hints for other in other_inputs))
    stems = {place: _with_adjective(draft, place) for place in phrase.places}
    telling = {place for place in stems if stems[place] & names - labels}
    if each.role is Role.CHOICE and not names <= labels.union(*stems.values()):
        telling = set()  # "release" is no "resolvedInNextRelease"
    described_at = {place for place in stems.keys() - telling if stems[place] & described - others - names}
    described_at = {place for place in described_at if not _is_predicate(draft, place)}
    if not telling and each.role is Role.BOOLEAN and len(stems) == 1:
        described_at |= {place for place in stems if _is_synonym(draft, place, names - others)}
    total = _BY_NAME * len(telling) + _BY_DESCRIPTION * len(described_at)
    if not total:
        return 0.0
    unexplained = [
        place
        for place in stems.keys() - telling - described_at
        if not (stems[place] & (described | own) or _is_like(draft, place, names | described))
    ]
    # "the current page" does not request the full page.
    is_named = bool(telling) and names <= labels.union(*stems.values())
    return total if len(unexplained) <= (_MAX_UNEXPLAINED if is_named else 0) else 0.0


def _with_adjective(draft: Draft, place: int) -> frozenset[str]:
    """Return the stems of a word, and of the adjective that an adverb is made from: "private" of "privately"."""
    word = draft.tokens[place].word
    return draft.stems(place) | ({stem(word[:-2])} if word.endswith("ly") else frozenset())


def _is_predicate(draft: Draft, place: int) -> bool:
    """Whether a word is the verb of a pronoun: "we ever release"."""
    return any(draft.is_one_of(before, "pronouns") for before in range(max(place - 2, 0), place))


def _is_synonym(draft: Draft, place: int, names: Iterable[str]) -> bool:
    """Whether a word behind "with" or "without" means the same as the name of a switch: "with the picture" for ``includeImage``."""
    is_added = draft.preposition_before(place) == "with" or draft.is_one_of(place - 1, "excluding")
    synonyms = draft.wording.lexicon.synonyms_of
    return is_added and any(term in synonyms.get(word, ()) for term in names for word in draft.stems(place))


def _is_like(draft: Draft, place: int, stems: Iterable[str]) -> bool:
    """Whether a word means much the same as one of a description."""
    synonyms = draft.wording.lexicon.synonyms_of
    own = draft.stems(place)
    if any(term in synonyms.get(word, ()) for term in stems for word in own):
        return True
    model = meaning_model()
    vector = model.of_features(sorted(own))
    return any(similarity(vector, model.of_features([term])) >= _ALIKE for term in stems)


@lru_cache(1_000)
def affirmed(text: str) -> frozenset[str]:
    """Return the stems of what a description says that a switch does; neither its default nor what it does instead."""
    sentences = [each for each in _SENTENCE.split(text) if not _ASIDE.search(each)]
    return _stems(" ".join(_CONTRAST.sub("", each) for each in sentences))


@lru_cache(1_000)
def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, words(text))) - _STOP_STEMS


def _of_choice(each: Property, choice: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of the name of a choice that no other one has, and those that describe it alone."""
    others = [other for other in map(str, each.choices) if other != choice]
    names = {other: _stems(" ".join(words(split_identifier(other)))) for other in (choice, *others)}
    described = {other: affirmed(_described(each, other)) | _related(other) for other in names}
    return (
        names[choice].difference(*(names[other] for other in others)),
        described[choice].difference(*(described[other] | names[other] for other in others)) | names[choice],
    )


def _related(choice: str) -> frozenset[str]:
    return _stems(" ".join(CHOICE_WORDS.get(choice.lower(), ())))


def _described(each: Property, choice: str) -> str:
    """Return what a description says behind a choice, up to the next one: "'resource' returns the whole resource"."""
    found = sorted(
        (*match.span(), other == choice)
        for other in map(str, each.choices)
        for match in re.finditer(rf"(?<![\w-]){re.escape(other)}(?![\w-])", each.text)
    )
    ends = [*(start for start, _, _ in found[1:]), len(each.text)]
    return " ".join(each.text[after:end] for (_, after, is_own), end in zip(found, ends, strict=False) if is_own)
