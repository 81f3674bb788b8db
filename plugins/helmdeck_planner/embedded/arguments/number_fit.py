"""How likely a stated number belongs to each input that takes numbers, by what it counts and the words around it.

A conditional logistic model weighs the features: the inputs and none of them are the choices for a number.
``benchmarks/first_use/number_fit.py`` fits the weights in ``number_fit.json``.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Final

import attrs

from helmdeck_language import ACTIONS, READING, Kind, stem
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.number_context import bound, measured, objects
from helmdeck_planner.embedded.arguments.stated_numbers import StatedNumber
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.property_words import COMMON_WORDS, COUNT_WORDS, GENERIC_WORDS, TECHNICAL_WORDS
from helmdeck_planner.embedded.entries.units import NUMBER_WORDS
from helmdeck_planner.embedded.request.concepts import strength
from helmdeck_planner.embedded.request.word_lists import word_list

_COMMON: Final = frozenset(map(stem, COMMON_WORDS | GENERIC_WORDS))
LIMITING: Final = word_list("limiting") | {"up", "stop", "just", "only", "than"}
_PAGES: Final = frozenset({"page", "offset", "start", "skip"})
_NUMBERED: Final = frozenset({"no", "nr", "number", "num", "#"})
_AMOUNTS: Final = frozenset("price amount cost budget money fee value payment sum total".split())
_KINDS: Final = (
    ("per", frozenset({"per"})),
    ("bound max", frozenset({"max", "maximum", "most", "below", "under"})),
    ("bound min", frozenset({"min", "minimum", "least", "above", "over"})),
    ("page", _PAGES),
    ("day", frozenset({"day", "days"})),
    ("end", frozenset({"tail", "head"})),
    ("id", frozenset({"id", "number", "index", "no", "key"})),
    ("amount", _AMOUNTS),
    ("year", frozenset({"year"})),
    ("people", frozenset("guests passengers adults people persons party travelers children seats".split())),
    ("count", COUNT_WORDS),
)
_LITERAL_BEFORE: Final = 3
_MAX_SKIPPED: Final = 2


@cache
def weights() -> Mapping[str, float]:
    """Return the fitted weights of the features."""
    found = json.loads(Path(__file__).with_name("number_fit.json").read_text(encoding="utf-8"))
    return {str(name): float(weight) for name, weight in found.items()}


@attrs.frozen
class _Around:
    """The words around a number.

    :ivar label: the place of the content word before it, -1 without one; ``is_near`` is it right before it.
    :ivar following: the places of the content words right behind it.
    :ivar complement: the place of the content word behind "of", "per" or "a" and those, -1 without one.
    :ivar link: the word before the complement.
    """

    label: int
    is_near: bool
    following: Sequence[int]
    complement: int
    link: str
    preposition: str
    cues: frozenset[str]


@attrs.define(slots=False)
class NumberFit:
    """Compares the numbers of a part with the inputs of an entry.

    :ivar draft: the part and the entry.
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
        return {each.name: frozenset(hint for hint in each.hints if count[hint] == 1) - _COMMON for each in self._inputs}

    @cached_property
    def _objects(self) -> frozenset[str]:
        return objects(self.draft)

    def may_belong(self, number: StatedNumber, each: Property) -> bool:
        """Whether the words around a number let an input have it.

        No optional input takes what a word right beside it calls something else: "street number 12" is no limit, and "the last 24 hours" is no
        timeout.
        """
        if number.in_unit_of(each) is None:
            return False
        draft, around = self.draft, self.around(number)
        known = each.labels | frozenset(map(stem, each.words))
        beside = [*around.following, *([around.label] if around.is_near else ())]
        is_named = any((draft.stems(place) | measured(draft, place)) & known for place in beside)
        if is_named or each.is_required:
            return True
        is_limit = bool(around.cues & {"limit", "max", "min"})
        if number.unit is not None and each.unit is not None and TECHNICAL_WORDS & set(each.words) and not is_limit:
            return False
        text = draft.profile.text | self._objects
        foreign = [place for place in beside if not draft.stems(place) & text]
        if around.link == "of them" and (foreign or number.form == "words" or draft.profile.writes):
            return False  # a share of what was named before
        if "after capital" in around.cues and not around.following:
            return False  # "Onboarding 2026"
        if around.is_near and around.label in foreign and around.label != draft.part.verb_place and not is_limit and not around.following:
            return False
        is_counted_otherwise = bool(around.following) and set(around.following) <= set(foreign) and number.unit is None
        return not (is_counted_otherwise and draft.profile.writes and not is_limit)

    def probabilities(self, number: StatedNumber, inputs: Sequence[Property]) -> dict[str, float]:
        """Return the probability of each of some inputs, by its name; "" is none of them."""
        around = self.around(number)
        scores = {"": _score(self.of_none(number, around))}
        scores |= {each.name: _score(self.of_input(number, each, around)) for each in inputs}
        highest = max(scores.values())
        powers = {name: math.exp(found - highest) for name, found in scores.items()}
        whole = sum(powers.values())
        return {name: power / whole for name, power in powers.items()}

    def named_places(self, number: StatedNumber, each: Property) -> list[int]:
        """Return the places of the words behind a number that say what it counts: "lines of context"."""
        draft, around = self.draft, self.around(number)
        known = frozenset(map(stem, each.words)) | each.hints | self._objects
        places = [*around.following, *([around.complement] if around.complement >= 0 else ())]
        return [place for place in places if (draft.stems(place) | measured(draft, place)) & known]

    def around(self, number: StatedNumber) -> _Around:
        """Return the words around a number."""
        draft, tokens = self.draft, self.draft.tokens
        first, last = number.first, number.last
        label, preposition, is_near = -1, "", True
        cues: set[str] = set()
        for place in range(first - 1, max(-1, first - 1 - 5), -1):
            token = tokens[place]
            if token.word in _NUMBERED or token.value in ".:=#(":
                cues.add("numbered" if token.word in _NUMBERED or token.value == "#" else "mark")
                continue
            if not token.is_word:
                break
            if token.word in LIMITING and first - place <= _LITERAL_BEFORE:
                cues.add("limit")
                continue
            if draft.is_one_of(place, "counting") and first - place <= _LITERAL_BEFORE:
                cues.add("last" if draft.is_one_of(place, "last") else "rank")
                continue
            if found := draft.preposition(place):
                preposition = preposition or found
                is_near = False
            elif not draft.is_filler(place):
                label = place
                break
            else:
                cues.add("determiner" if token.word in draft.wording.language.determiners else "filler")
        following: list[int] = []
        place = last + 1
        while place < len(tokens) and tokens[place].is_word and len(following) < 2:
            word = tokens[place].word
            if word in LIMITING or draft.is_one_of(place, "counting"):
                cues.add("limit" if word in LIMITING else "rank")
                place += 1
                continue
            if draft.is_filler(place) or draft.preposition(place) or word in draft.wording.language.joints:
                break
            following.append(place)
            place += 1
        preposition = preposition or draft.preposition_before(first)
        if not preposition and last + 2 < len(tokens) and draft.preposition(last + 1) in ("to", "until") and number_follows(tokens[last + 2]):
            preposition = "from"  # "90 s to 215 s"
        link, complement = "", -1
        words = [token.word for token in tokens[place : place + 2]]
        if words and words[0] in ("of", "per", "a", "an", "each", "at", "on", "in"):
            link = words[0]
            if words[1:] and words[1] in ("them", "those", "these", "which"):
                link = "of them"
                start = place + 2 + (place + 2 < len(tokens) and tokens[place + 2].word in ("with", "the", "a"))
                for other in range(start, min(start + 2, len(tokens))):
                    if not tokens[other].is_word or draft.is_filler(other) or following:
                        break
                    following.append(other)
            elif words[1:] and link == "at" and words[1] in ("most", "least", "max"):
                cues.add("limit")
                link = ""
            else:
                start = place + 1 + (len(words) > 1 and words[1] in ("a", "an", "the"))
                if start < len(tokens) and tokens[start].is_word and not draft.is_filler(start):
                    complement = start
        side = bound(draft, first)
        if side:
            cues.add(side)
        if not following and complement < 0 and (place >= len(tokens) or not tokens[place].is_word or link):
            cues.add("bare")
        if first == 0 or not (tokens[first - 1].is_word or tokens[first - 1].is_value):
            cues.add("starts")
        if place >= len(tokens):
            cues.add("ends")
        if place < len(tokens) and tokens[place].is_value:
            cues.add("before value")
        if first and tokens[first - 1].is_value:
            cues.add("after value")
        if first > 1 and tokens[first - 1].is_word and tokens[first - 1].value[:1].isupper():
            cues.add("after capital")
        return _Around(label, is_near and label >= 0, following, complement, link, preposition, frozenset(cues))

    def of_none(self, number: StatedNumber, around: _Around) -> dict[str, float]:
        """Return the features of no input at all."""
        draft = self.draft
        found = {"none": 1.0, f"none {number.form}": 1.0, f"none {around.preposition or 'bare'}": 1.0}
        found |= {f"none {cue}": 1.0 for cue in around.cues}
        if number.form == "words":
            found["none one"] = float(number.value == 1)
        if number.form == "quantity":
            word = draft.tokens[number.first].word
            found["none article"] = float(word in ("a", "an"))
        text = draft.profile.text
        if self.is_beside:
            found["none beside"] = 1.0
            found["none beside excluded"] = float(draft.part.is_excluded)
            found["none beside act"] = float(bool(draft.part.verb) and not ACTIONS.get(draft.part.verb, frozenset()) <= READING)
            found["none beside question"] = float(draft.part.is_question)
            found["none beside values"] = float(sum(token.is_value for token in draft.tokens) > 1)
            content = [place for place in range(len(draft.tokens)) if draft.tokens[place].is_word and not draft.is_filler(place) and place != draft.part.verb_place]
            found["none beside foreign"] = float(sum(not draft.stems(place) & text for place in content) > 1)
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
        found["none repeated"] = float(
            any(other.value == number.value and other is not number for other in self.numbers)
            or number.value in draft.args.values()
        )
        found[f"none link {around.link}"] = 1.0
        found[f"none {_size(number.value)}"] = 1.0
        return found

    def of_input(self, number: StatedNumber, each: Property, around: _Around) -> dict[str, float]:
        """Return the features of an input."""
        draft = self.draft
        kind = self._kinds[each.name]
        value = number.in_unit_of(each)
        names = frozenset(map(stem, each.words)) - {stem(word) for word in ("max", "min", "number", "count", "limit", "per")}
        hints = self._hints[each.name]
        found = {
            "input": 1.0,
            "required": float(each.is_required),
            "only": float(len(self._inputs) == 1),
            "only of kind": float(self._kind_counts[kind] == 1),
            f"kind {kind}": 1.0,
            f"{number.form} {kind}": 1.0,
            f"{_size(number.value)} {kind}": 1.0,
            f"{around.preposition or 'bare'} {kind}": 1.0,
            f"link {around.link} {kind}": 1.0,
        }
        rivals = [other for other in self._inputs if self._kinds[other.name] == kind]
        alike = [other for other in self.numbers if other.unit == number.unit]
        if len(rivals) > 1 and number in alike:
            found["order"] = float(alike.index(number) == rivals.index(each))
        ends = {"head": "rank", "tail": "last"}
        for word, cue in ends.items():
            if word in each.words:
                found[f"{cue} end"] = float(cue in around.cues)
                found[f"not {cue} end"] = float(cue not in around.cues and bool(around.cues & {"rank", "last"}))
        if COUNT_WORDS & set(each.words):
            found |= {f"{cue} countish": 1.0 for cue in around.cues}
            found[f"{number.form} countish"] = 1.0
            found[f"link {around.link} countish"] = 1.0
            if around.following:
                stems = frozenset[str]().union(*(draft.stems(place) for place in around.following))
                is_counted = bool(stems & self._objects)
                found["countish counted"] = float(is_counted)
                found["countish plural"] = float(draft.tokens[around.following[-1]].word.endswith("s") and number.value != 1)
                found["countish described"] = float(bool(stems & draft.profile.text))
                found["countish foreign"] = float(not stems & draft.profile.text)
        if "per" in each.words:
            found["per link"] = float(around.link in ("per", "a", "an", "each", "on", "of them"))
        if self.is_beside:
            found[f"beside {kind}"] = 1.0
        if self._kind_counts[kind] == 1:
            found |= {f"{cue} {kind}": 1.0 for cue in around.cues}
        if each.is_required:
            found |= {"required digits": float(number.form == "digits"), "required only": float(sum(other.is_required for other in self._inputs) == 1)}
        if each.side:
            found[f"{around.preposition or 'bare'} {each.side}"] = 1.0
        is_out = value is not None and (
            (each.least is not None and value < each.least) or (each.most is not None and value > each.most)
        )
        found["out of range"] = float(is_out)
        if number.unit is not None:
            if each.unit is None:
                found["unit without"] = 1.0
                found["unit named"] = float(number.unit.name in each.text.lower())
            else:
                found["unit same" if number.unit == each.unit else "unit fits" if value is not None else "unit differs"] = 1.0
                found["unit technical"] = float(bool(TECHNICAL_WORDS & set(each.words)))
        elif each.unit is not None:
            found[f"no unit {each.unit.dimension}"] = 1.0
        wording = draft.wording.lexicon
        own = frozenset(draft.profile.name)
        if kind.startswith("bound"):
            side = "max" if "max" in around.cues else "min" if "min" in around.cues else {"from": "min", "to": "max"}.get(around.preposition, "")
            found["side"] = float(bool(side) and kind.endswith(side))
            found["other side"] = float(bool(side) and not kind.endswith(side))
        if around.label >= 0:
            stems = draft.stems(around.label)
            near = "near" if around.is_near else "far"
            if "per" in each.words and draft.tokens[around.label - 1].word != "per":
                near = f"per {near}"
            found[f"{near} label"] = _naming(stems, names, own, wording)
            found[f"{near} exact label"] = float(bool(stems & names))
            found[f"{near} label hint"] = float(bool(stems & hints))
        if around.following:
            stems = frozenset[str]().union(*(draft.stems(place) | measured(draft, place) for place in around.following))
            first = draft.stems(around.following[0]) | measured(draft, around.following[0])
            found["after"] = _naming(stems, names, own, wording)
            found["after exact"] = float(bool(stems & names))
            found["after first exact"] = float(bool(first & names))
            found["after hint"] = float(bool(stems & hints))
            found["after own text"] = float(bool(stems & each.hints - _COMMON))
            is_counted = bool(stems & self._objects)
            found[f"counted {kind}"] = float(is_counted)
            found[f"uncounted {kind}"] = float(not is_counted and not stems & (names | each.hints))
            word = draft.tokens[around.following[-1]].word
            found[f"plural {kind}"] = float(word.endswith("s") and number.value != 1)
            found[f"described {kind}"] = float(bool(stems & draft.profile.text))
        if around.complement >= 0:
            stems = draft.stems(around.complement)
            found["complement"] = _naming(stems, names, own, wording)
            found["complement hint"] = float(bool(stems & hints))
            found[f"{around.link} counted {kind}"] = float(bool(stems & self._objects))
        unique = names - frozenset[str]().union(*(map(stem, other.words) for other in self._inputs if other is not each), ())
        found["somewhere before unique"] = float(bool(before_stems & unique)) if (before_stems := _before(draft, number)) else 0.0
        found["after unique"] = float(any(draft.stems(place) & unique for place in around.following))
        found["label unique"] = float(around.label >= 0 and bool(draft.stems(around.label) & unique))
        before_stems = {stem(token.word) for token in draft.tokens[max(0, number.first - 6) : number.first] if token.is_word}
        found["somewhere before"] = float(bool(before_stems & names))
        found["somewhere before hint"] = float(bool(before_stems & hints))
        return found


def number_follows(token) -> bool:
    return token.kind is Kind.NUMBER or token.word in NUMBER_WORDS


def _naming(stems: frozenset[str], names: frozenset[str], own: frozenset[str], lexicon) -> float:
    is_own = not stems.isdisjoint(own)
    return float(bool(stems & names)) if is_own else strength(stems, names, lexicon)


def _before(draft: Draft, number: StatedNumber) -> set[str]:
    return {term for place in range(max(0, number.first - 4), number.first) for term in draft.stems(place)}


def _kind(each: Property) -> str:
    words = set(each.words)
    return next((name for name, known in _KINDS if words & known), each.unit.dimension if each.unit else "other")


def _size(value: float) -> str:
    if value != int(value):
        return "decimal"
    if 1900 <= value <= 2100:
        return "year"
    return "negative" if value < 0 else "zero" if value == 0 else f"e{len(str(int(value)))}"


def _score(features: Mapping[str, float]) -> float:
    known = weights()
    return sum(known.get(name, 0.0) * value for name, value in features.items())
