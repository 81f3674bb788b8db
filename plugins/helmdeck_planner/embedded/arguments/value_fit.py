"""How likely a stated value belongs to each input of an entry, by its form and the words around it.

A conditional logistic model weighs the features: the inputs and none of them are the choices for a value.
``benchmarks/first_use/value_fit.py`` fits the weights in ``value_fit.json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Final

import attrs

from helmdeck_language import Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fitted_choice import probabilities, weights
from helmdeck_planner.embedded.arguments.labels import is_act_of
from helmdeck_planner.embedded.arguments.lead_prepositions import lead_prepositions
from helmdeck_planner.embedded.arguments.stated_values import StatedValue
from helmdeck_planner.embedded.entries.properties import Property
from helmdeck_planner.embedded.entries.property_words import COMMON_WORDS, GENERIC_WORDS, HONORIFICS
from helmdeck_planner.embedded.request.concepts import strength
from helmdeck_selection import meaning_model, similarity

_COMMON: Final = frozenset(map(stem, COMMON_WORDS | GENERIC_WORDS))
_NAMING: Final = (
    "label", "far label", "hint", "far hint", "derived", "far derived", "after", "after hint", "complement", "complement hint",
    "prefix", "honorific person", "form named", "lead preposition",
)  # fmt: skip
_MAX_HINTS: Final = 12
_MAX_ORDER: Final = 5
_MIN_STEM: Final = 4


@attrs.define(slots=False)
class ValueFit:
    """Compares the values of a part with the inputs of an entry.

    :ivar draft: the part and the entry.
    """

    draft: Draft

    @cached_property
    def _properties(self) -> Sequence[Property]:
        return self.draft.profile.properties

    @cached_property
    def _hints(self) -> Mapping[str, frozenset[str]]:
        """The stems that only the description of one input has."""
        count = Counter(hint for each in self._properties for hint in each.hints)
        own = _COMMON | self.draft.profile.nouns
        return {
            each.name: frozenset(hint for hint in each.hints if count[hint] == 1) - own for each in self._properties
        }

    @cached_property
    def _roles(self) -> Counter[str]:
        return Counter(each.role.value for each in self._properties)

    def is_named(self, value: StatedValue, each: Property) -> bool:
        """Whether a word around a value names an input, or the input is required, or the only one that takes its form."""
        found = self.of_input(value, each)
        is_formed = value.form == each.role.value and self._roles[each.role.value] == 1
        return each.is_required or is_formed or any(found.get(name) for name in _NAMING)

    def is_named_otherwise(self, value: StatedValue, each: Property) -> bool:
        """Whether the word right before a value calls it something else: "the list 61bc" is no card."""
        draft, label = self.draft, value.label
        if not 0 <= label == value.first - 1 or draft.stems(label) & draft.profile.text:
            return False
        found = self.of_input(value, each)
        is_object = label == draft.part.verb_place and each.is_required
        return not (is_object or any(found.get(name) for name in _NAMING))

    def probabilities(self, value: StatedValue, inputs: Sequence[Property]) -> dict[str, float]:
        """Return the probability of each of some inputs, by its name; "" is none of them."""
        return probabilities(self.features(value, inputs), weights("value_fit"))

    def features(self, value: StatedValue, inputs: Sequence[Property]) -> dict[str, dict[str, float]]:
        """Return the features of each of some open inputs, by its name, and of none of them."""
        needed = [each for each in inputs if each.is_required]
        found = {"": self.of_none(value)}
        for each in inputs:
            found[each.name] = self.of_input(value, each)
            found[each.name]["only needed"] = float(needed == [each])
            found[each.name]["only open"] = float(len(inputs) == 1)
        return found

    def of_none(self, value: StatedValue) -> dict[str, float]:
        """Return the features of no input at all."""
        draft = self.draft
        found = {"none": 1.0, f"none {value.form}": 1.0}
        if draft.tokens[value.first].is_word:
            stems = frozenset[str]().union(*(draft.stems(place) for place in value.places))
            found |= {
                "none first": float(value.first == 0),
                "none verb": float(bool(draft.wording.verb(draft.tokens[value.first].word))),
                "none of entry": float(bool(stems & draft.profile.text)),
                "none ends": float(
                    value.last + 1 == len(draft.tokens) or draft.tokens[value.last + 1].kind is Kind.MARK
                ),
                "none length": float(value.last - value.first),
                "none left before": float(value.left_before > 0),
                "none left after": float(value.left_after > 0),
                f"none cut {value.form}": float(value.left_before > 0 or value.left_after > 0),
                "none has verb": float(any(self._is_verb(place) for place in value.places)),
                "none bare": float(value.label < 0 and not value.preposition),
                "none determiner": float(value.first > 0 and draft.is_determiner(value.first - 1)),
            }
        if value.preposition:
            found[f"none {value.preposition}"] = 1.0
        if value.label >= 0:
            found["none label"] = 1.0
            found["none foreign label"] = float(not draft.stems(value.label) & draft.profile.text)
        return found

    def _is_verb(self, place: int) -> bool:
        token = self.draft.tokens[place]
        return token.value.islower() and bool(self.draft.wording.verb(token.word))

    def _naming(self, stems: frozenset[str], names: frozenset[str]) -> float:
        """Return how well a word names an input; a word of the name of the entry has no other meaning."""
        is_own = not stems.isdisjoint(self.draft.profile.nouns)
        return float(bool(stems & names)) if is_own else strength(stems, names, self.draft.wording.lexicon)

    def _is_followed(self, value: StatedValue) -> bool:
        """Whether another value of a list follows."""
        tokens, joint = self.draft.tokens, value.last + 1
        if joint + 1 >= len(tokens):
            return False
        is_joint = tokens[joint].value in ",&" or tokens[joint].word in self.draft.wording.language.joints
        return is_joint and (tokens[joint + 1].is_value or not self.draft.is_filler(joint + 1))

    def of_input(self, value: StatedValue, each: Property) -> dict[str, float]:
        """Return the features of an input."""
        draft, role = self.draft, each.role.value
        names = each.labels or each.stems
        hints = self._hints[each.name]
        is_label = value.label >= 0 and not is_act_of(draft.tokens[value.label].word, each)
        before = draft.stems(value.label) if is_label else frozenset[str]()
        after = draft.stems(value.following)
        far = "far " if value.preposition else ""
        found = {
            "input": 1.0,
            f"{value.form} {role}": 1.0,
            f"{value.preposition or ('label' if before else 'bare')} {role}": 1.0,
            "required": float(each.is_required),
            f"required {role}": float(each.is_required),
            "order": float(min(_MAX_ORDER, self._properties.index(each))),
            "only": float(self._roles[role] == 1),
            f"{far}listed": float(value.is_listed and each.is_list),
        }
        place, length = value.first, value.last - value.first
        if draft.is_one_of(place - 1, "articles") if place else False:
            place -= 1
        is_object = 0 <= draft.part.verb_place == place - 1
        after_place = value.last + 1
        before_mark = self.draft.tokens[value.first - 1].value if value.first else ""
        found[f"colon {role}"] = float(before_mark == ":")
        is_named = value.first > 0 and draft.is_naming(value.first - 1)
        found[f"naming {role}"] = float(is_named)
        is_noun = bool(draft.stems(after_place) & draft.profile.nouns)
        found[f"modifier {role}"] = float(is_noun and draft.tokens[value.first].is_word)
        found[f"object {role}"] = float(is_object)
        found["object required"] = float(is_object and each.is_required)
        found["first"] = float(place == 0 and each.is_required)
        is_person = each.takes_people
        found["first person"] = float(place == 0 and is_person)
        found[f"several {each.is_list}"] = float(value.is_listed or self._is_followed(value))
        if draft.tokens[value.first].is_word:
            found[f"length {role}"] = float(length)
            own = frozenset[str]().union(*(draft.stems(other) for other in value.places))
            found["example"] = float(bool(own & hints))
            inside = _vector(tuple(sorted(own)))
            found["own name"] = max(0.0, similarity(inside, _vector(tuple(map(stem, each.words)))))
            found["own text"] = max(0.0, similarity(inside, _vector(_hints_of(each))))
        if each.side:
            found[f"{value.preposition or 'bare'} {each.side}"] = 1.0
        found["form named"] = float(stem(value.form) in each.labels | each.hints)
        if is_person:
            found[f"{value.preposition or 'bare'} person"] = 1.0
            found["honorific person"] = float(draft.tokens[value.first].word in HONORIFICS)
        found["lead preposition"] = float(value.preposition in lead_prepositions(draft.profile)[each.name])
        if before:
            label = self._naming(before, names)
            found[f"{far}label"] = label
            found[f"{far}exact label"] = float(label == 1.0)
            if not label:
                found[f"{far}hint"] = float(bool(before & hints))
                found[f"{far}derived"] = float(_is_derived(before, names))
        if after:
            found["after"] = self._naming(after, names)
            found["after hint"] = float(bool(after & hints))
        if value.complement >= 0:
            complement = draft.stems(value.complement)
            found["complement"] = self._naming(complement, names)
            found["complement hint"] = float(bool(complement & hints))
        if before or after:
            context = _vector(tuple(sorted(before | after)))
            found["close name"] = max(0.0, similarity(context, _vector(tuple(map(stem, each.words)))))
            found["close text"] = max(0.0, similarity(context, _vector(_hints_of(each))))
        prefix = draft.tokens[value.first].value.rpartition(":")[0]
        if prefix and not draft.tokens[value.first].is_word:
            found["prefix"] = float(f"{prefix}:".lower() in each.text.lower())
        return found


def _is_derived(stems: frozenset[str], names: frozenset[str]) -> bool:
    """Whether a name is made from a word: "assignee" from "assign"."""
    return any(len(term) >= _MIN_STEM and name.startswith(term) for term in stems for name in names)


def _hints_of(each: Property) -> tuple[str, ...]:
    return tuple(sorted(each.hints - _COMMON))[:_MAX_HINTS]


@lru_cache(2_000)
def _vector(stems: tuple[str, ...]) -> Sequence[float]:
    return meaning_model().of_features(stems)
