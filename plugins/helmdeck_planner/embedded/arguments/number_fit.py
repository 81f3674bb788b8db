"""How likely a stated number belongs to each input that takes numbers, by what it counts and the words around it.

A conditional logistic model weighs the features: the inputs and none of them are the choices for a number.
``benchmarks/first_use/number_fit.py`` fits the weights in ``number_fit.json``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

import attrs

from helmdeck_language import READING, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fitted_choice import probabilities, weights
from helmdeck_planner.embedded.arguments.number_context import may_be_end, measured, objects
from helmdeck_planner.embedded.arguments.number_surroundings import Surroundings, surroundings
from helmdeck_planner.embedded.arguments.stated_numbers import StatedNumber
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import COMMON_WORDS, COUNT_WORDS, GENERIC_WORDS, TECHNICAL_WORDS
from helmdeck_planner.embedded.request.concepts import strength

_COMMON: Final = frozenset(map(stem, COMMON_WORDS | GENERIC_WORDS))
_UNTELLING: Final = frozenset(map(stem, ("max", "min", "number", "count", "limit", "per")))
# Kinds of inputs, by words of their names, tried in this order.
_KINDS: Final = (
    *tuple(
        (kind, frozenset(words.split()))
        for kind, words in (
            ("per", "per"),
            ("bound max", "max maximum most below under"),
            ("bound min", "min minimum least above over"),
            ("page", "page offset start skip"),
            ("day", "day days"),
            ("end", "tail head"),
            ("id", "id number index no key"),
            ("amount", "price amount cost budget money fee value payment sum total"),
            ("year", "year"),
            ("people", "guests passengers adults people persons party travelers children seats"),
        )
    ),
    ("count", COUNT_WORDS),
)
# Words of names of the inputs that take the first and the last ones = the cue for these.
_ENDS: Final = {"head": "rank", "tail": "last"}
_EACH: Final = ("per", "a", "an", "each", "on", "of them")
_BEFORE: Final = 4
_FAR_BEFORE: Final = 6
_YEARS: Final = range(1900, 2101)


@attrs.define(slots=False)
class NumberFit:
    """Compares the numbers of a part with the inputs of an entry.

    :ivar draft: the part and the entry.
    :ivar numbers: all that have no other use.
    :ivar is_beside: the part is not that of the step.
    """

    draft: Draft
    numbers: Sequence[StatedNumber] = ()
    is_beside: bool = False

    @cached_property
    def _inputs(self) -> Sequence[Property]:
        return [each for each in self.draft.profile.properties if each.role is Role.NUMBER]

    @cached_property
    def _kinds(self) -> Mapping[str, str]:
        return {each.name: _kind(each) for each in self._inputs}

    @cached_property
    def _kind_counts(self) -> Counter[str]:
        return Counter(self._kinds.values())

    @cached_property
    def _hints(self) -> Mapping[str, frozenset[str]]:
        """The stems that only the description of one input has."""
        count = Counter(hint for each in self.draft.profile.properties for hint in each.hints)
        return {
            each.name: frozenset(hint for hint in each.hints if count[hint] == 1) - _COMMON for each in self._inputs
        }

    @cached_property
    def _objects(self) -> frozenset[str]:
        return objects(self.draft)

    def named_places(self, number: StatedNumber, each: Property) -> list[int]:
        """Return the places of the words behind a number that say what it counts: "lines of context"."""
        around = surroundings(self.draft, number)
        known = each.stems | each.hints | self._objects
        places = [*around.following, *([around.complement] if around.complement >= 0 else ())]
        return [place for place in places if self._stems([place]) & known]

    def may_belong(self, number: StatedNumber, each: Property) -> bool:
        """Whether the words around a number let an input have it.

        No optional input takes what a word right beside it calls something else: "street number 12" is no limit, and "the last 24 hours" is
        no timeout.
        """
        if number.in_unit_of(each) is None:
            return False
        draft, around = self.draft, surroundings(self.draft, number)
        if not may_be_end(draft, each):
            return False
        beside = [*around.following, *([around.label] if around.is_near else ())]
        if each.is_required or self._stems(beside) & (each.stems):
            return True
        is_limit = bool(around.cues & {"limit", "max", "min"})
        known = draft.profile.text | self._objects
        foreign = [place for place in beside if not draft.stems(place) & known]
        is_label_foreign = around.is_near and around.label in foreign and around.label != draft.part.verb_place
        is_duration = number.unit is not None and each.unit is not None and bool(TECHNICAL_WORDS & set(each.words))
        # "two of them at the aisle" is a share of what was named before.
        is_share = around.link == "of them" and bool(foreign or number.form == "words" or draft.profile.writes)
        # "Onboarding 2026"
        is_of_name = "after capital" in around.cues and not around.following
        # "update the order with 3 apples"
        is_other = bool(draft.profile.writes) and number.unit is None and bool(around.following)
        is_other = is_other and set(around.following) <= set(foreign)
        is_foreign = is_duration or is_other or (is_label_foreign and not around.following)
        return not (is_share or is_of_name or (is_foreign and not is_limit))

    def probabilities(self, number: StatedNumber, inputs: Iterable[Property]) -> dict[str, float]:
        """Return the probability of each of some inputs, by its name; "" is none of them."""
        return probabilities(self.features(number, inputs), weights("number_fit"))

    def features(self, number: StatedNumber, inputs: Iterable[Property]) -> dict[str, dict[str, float]]:
        """Return the features of no input at all, and of each input that can take a number."""
        around = surroundings(self.draft, number)
        fitting = [each for each in inputs if number.in_unit_of(each) is not None]
        return {"": self._of_none(number, around)} | {
            each.name: self._of_input(number, each, around) for each in fitting
        }

    def _of_none(self, number: StatedNumber, around: Surroundings) -> dict[str, float]:
        draft = self.draft
        text = draft.profile.text
        found = {"none": 1.0, f"none {number.form}": 1.0, f"none {around.preposition or 'bare'}": 1.0}
        found |= {f"none {cue}": 1.0 for cue in around.cues}
        if number.form == "words":
            found["none one"] = float(number.value == 1)
        if number.form == "quantity":
            found["none article"] = float(draft.tokens[number.first].word in ("a", "an"))
        if self.is_beside:
            found |= self._of_other_part()
        if around.label >= 0:
            found["none label"] = 1.0
            found["none foreign label"] = float(not draft.stems(around.label) & text)
            found["none verb label"] = float(around.label == draft.part.verb_place)
        if around.following:
            found["none following"] = 1.0
            found["none foreign following"] = float(not any(draft.stems(place) & text for place in around.following))
        if around.complement >= 0:
            found["none complement"] = 1.0
            found["none foreign complement"] = float(not draft.stems(around.complement) & text)
        is_repeated = any(other.value == number.value and other is not number for other in self.numbers)
        found["none repeated"] = float(is_repeated or number.value in draft.args.values())
        found[f"none link {around.link}"] = 1.0
        found[f"none {_size(number)}"] = 1.0
        return found

    def _of_other_part(self) -> dict[str, float]:
        """Return the features of a part that is not that of the step."""
        draft, part = self.draft, self.draft.part
        foreign = [
            place
            for place, token in enumerate(draft.tokens)
            if token.is_word and not draft.is_filler(place) and not draft.stems(place) & draft.profile.text
        ]
        return {
            "none beside": 1.0,
            "none beside excluded": float(part.is_excluded),
            "none beside act": float(bool(part.verb) and not part.actions <= READING),
            "none beside question": float(part.is_question),
            "none beside values": float(sum(token.is_value for token in draft.tokens) > 1),
            "none beside foreign": float(sum(place != part.verb_place for place in foreign) > 1),
        }

    def _of_input(self, number: StatedNumber, each: Property, around: Surroundings) -> dict[str, float]:
        kind = self._kinds[each.name]
        names = each.stems - _UNTELLING
        return {
            **self._of_kind(number, each, around, kind),
            **self._of_form(number, each, around, kind),
            **self._of_label(each, around, names),
            **self._of_counted(number, each, around, kind, names),
            **self._of_words_before(number, each, around, names),
        }

    def _of_kind(self, number: StatedNumber, each: Property, around: Surroundings, kind: str) -> dict[str, float]:
        """Return how often inputs of a kind take numbers of this form and with these words around them."""
        is_only_of_kind = self._kind_counts[kind] == 1
        required = sum(other.is_required for other in self._inputs)
        preposition = around.preposition or "bare"
        found = {
            "input": 1.0,
            "required": float(each.is_required),
            "only": float(len(self._inputs) == 1),
            "only of kind": float(is_only_of_kind),
            f"kind {kind}": 1.0,
            f"{number.form} {kind}": 1.0,
            f"{_size(number)} {kind}": 1.0,
            f"{preposition} {kind}": 1.0,
            f"link {around.link} {kind}": 1.0,
        }
        if is_only_of_kind:
            found |= {f"{cue} {kind}": 1.0 for cue in around.cues}
        if each.is_required:
            found |= {"required digits": float(number.form == "digits"), "required only": float(required == 1)}
        if each.side:
            found[f"{preposition} {each.side}"] = 1.0
        rivals = [other for other in self._inputs if self._kinds[other.name] == kind]
        alike = [other for other in self.numbers if other.unit == number.unit]
        if len(rivals) > 1 and len(rivals) == len(alike) and number in alike:
            found["order"] = float(alike.index(number) == rivals.index(each))
        if self.is_beside:
            found[f"beside {kind}"] = 1.0
        return found

    def _of_form(self, number: StatedNumber, each: Property, around: Surroundings, kind: str) -> dict[str, float]:
        """Return how a number fits the unit, the range and the side that an input takes."""
        found: dict[str, float] = {}
        value = number.in_unit_of(each)
        is_small = value is not None and each.least is not None and value < each.least
        is_large = value is not None and each.most is not None and value > each.most
        found["out of range"] = float(is_small or is_large)
        if number.unit is not None and each.unit is not None:
            found["unit same" if number.unit == each.unit else "unit fits"] = 1.0
            found["unit technical"] = float(bool(TECHNICAL_WORDS & set(each.words)))
        elif number.unit is not None:
            found["unit without"] = 1.0
            found["unit named"] = float(number.unit.name in each.text.lower())
        elif each.unit is not None:
            found[f"no unit {each.unit.dimension}"] = 1.0
        for word, cue in _ENDS.items():
            if word in each.words:
                found[f"{cue} end"] = float(cue in around.cues)
                found[f"not {cue} end"] = float(cue not in around.cues and bool(around.cues & {"rank", "last"}))
        if "per" in each.words:
            found["per link"] = float(around.link in _EACH)
        if kind.startswith("bound"):
            side = next((cue for cue in ("max", "min") if cue in around.cues), "")
            side = side or {"from": "min", "to": "max"}.get(around.preposition, "")
            found["side"] = float(bool(side) and kind.endswith(side))
            found["other side"] = float(bool(side) and not kind.endswith(side))
        return found

    def _of_label(self, each: Property, around: Surroundings, names: frozenset[str]) -> dict[str, float]:
        if around.label < 0:
            return {}
        stems = self.draft.stems(around.label)
        near = "near" if around.is_near else "far"
        if "per" in each.words and self.draft.tokens[around.label - 1].word != "per":
            near = f"per {near}"  # "page 3" is not 3 per page
        return {
            f"{near} label": self._naming(stems, names),
            f"{near} exact label": float(bool(stems & names)),
            f"{near} label hint": float(bool(stems & self._hints[each.name])),
        }

    def _of_counted(
        self, number: StatedNumber, each: Property, around: Surroundings, kind: str, names: frozenset[str]
    ) -> dict[str, float]:
        """Return how well the words behind a number name an input or what the entry returns."""
        draft, hints = self.draft, self._hints[each.name]
        found: dict[str, float] = {}
        is_count = bool(COUNT_WORDS & set(each.words))
        if is_count:
            found |= {f"{cue} countish": 1.0 for cue in around.cues}
            found |= {f"{number.form} countish": 1.0, f"link {around.link} countish": 1.0}
        if around.following:
            stems = self._stems(around.following)
            is_counted = bool(stems & self._objects)
            is_plural = draft.tokens[around.following[-1]].word.endswith("s") and number.value != 1
            is_described = bool(stems & draft.profile.text)
            found |= {
                "after": self._naming(stems, names),
                "after exact": float(bool(stems & names)),
                "after first exact": float(bool(self._stems(around.following[:1]) & names)),
                "after hint": float(bool(stems & hints)),
                "after own text": float(bool(stems & each.hints - _COMMON)),
                f"counted {kind}": float(is_counted),
                f"uncounted {kind}": float(not is_counted and not stems & (names | each.hints)),
                f"plural {kind}": float(is_plural),
                f"described {kind}": float(is_described),
            }
            if is_count:
                found |= {
                    "countish counted": float(is_counted),
                    "countish plural": float(is_plural),
                    "countish described": float(is_described),
                    "countish foreign": float(not is_described),
                }
        if around.complement >= 0:
            stems = draft.stems(around.complement)
            found["complement"] = self._naming(stems, names)
            found["complement hint"] = float(bool(stems & hints))
            found[f"{around.link} counted {kind}"] = float(bool(stems & self._objects))
        return found

    def _of_words_before(
        self, number: StatedNumber, each: Property, around: Surroundings, names: frozenset[str]
    ) -> dict[str, float]:
        draft = self.draft
        others = (map(stem, other.words) for other in self._inputs if other is not each)
        unique = names.difference(*others)
        before = self._stems(range(max(0, number.first - _BEFORE), number.first))
        far = {stem(token.word) for token in draft.tokens[max(0, number.first - _FAR_BEFORE) : number.first]}
        return {
            "somewhere before": float(bool(far & names)),
            "somewhere before hint": float(bool(far & self._hints[each.name])),
            "somewhere before unique": float(bool(before & unique)),
            "after unique": float(bool(self._stems(around.following) & unique)),
            "label unique": float(around.label >= 0 and bool(draft.stems(around.label) & unique)),
        }

    def _stems(self, places: Iterable[int]) -> frozenset[str]:
        """Return the stems of some words, and of what an adjective among them measures."""
        return frozenset[str]().union(*(self.draft.stems(place) | measured(self.draft, place) for place in places))

    def _naming(self, stems: frozenset[str], names: frozenset[str]) -> float:
        """Return how well words name an input; a word of the name of the entry has no other meaning."""
        is_own = not stems.isdisjoint(self.draft.profile.nouns)
        return float(bool(stems & names)) if is_own else strength(stems, names, self.draft.wording.lexicon)


def _kind(each: Property) -> str:
    words = set(each.words)
    return next((name for name, known in _KINDS if words & known), each.unit.dimension if each.unit else "other")


def _size(number: StatedNumber) -> str:
    """Return the kind of a size: "decimal", "zero", "negative", "year", or the number of digits."""
    value = number.value
    whole = int(value)
    if value != whole:
        return "decimal"
    if whole in _YEARS:
        return "year"
    return "negative" if whole < 0 else "zero" if whole == 0 else f"e{len(str(whole))}"
