"""Sets open inputs from values that no rule uses, where the model of ``value_fit`` is sure.

The model decides less than the rules: where both choose an input for a value, the rules are right more often.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_language import ENGLISH, Kind, Token
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.examples import is_example
from helmdeck_planner.embedded.arguments.free_text import has_reference
from helmdeck_planner.embedded.arguments.ids import COUNTED, takes_names
from helmdeck_planner.embedded.arguments.left_numbers import SURE_BESIDE, fill_left_numbers
from helmdeck_planner.embedded.arguments.stated_values import StatedValue, StatedValues
from helmdeck_planner.embedded.arguments.value_fit import ValueFit
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.request.parts import Part

# Probability from which an input is set, from the part of the step, and from another part.
_SURE: Final = 0.6
_SURE_BESIDE: Final = 0.8
# The same for a value that nothing around it names, and for words that others of their run follow.
_SURE_UNNAMED: Final = 0.75
# Probability up to which a value that a rule chose gives way to another one, and from which that one takes its place.
_DOUBTFUL: Final = 0.3
_BETTER: Final = 0.7
# The share of the probability of a value from which another one for the same input makes both unclear.
_UNCLEAR: Final = 0.8
_COMPARED_ROLES: Final = frozenset(
    (
        Role.NAME, Role.TEXT, Role.QUERY, Role.CONTENT, Role.ID, Role.PLACE, Role.PATH, Role.URL, Role.EMAIL, Role.PATTERN,
        Role.OWNER, Role.REPO,
    )
)  # fmt: skip
_REPLACED: Final = (Role.NAME, Role.TEXT, Role.PLACE, Role.PATTERN)
_FORMS: Final = {Role.URL: (Kind.URL,), Role.EMAIL: (Kind.EMAIL,)}
_NO_PATHS: Final = (Kind.QUOTE, Kind.NUMBER)
_KNOWN_WORDS: Final = ("word", "words", "capital", "capitals")


@attrs.frozen
class _Match:
    probability: float
    value: StatedValue
    input: Property


def compared(inputs: Sequence[Property]) -> list[Property]:
    """Return the inputs that a value is compared with: those of texts and numbers."""
    return [each for each in inputs if each.role in (*_COMPARED_ROLES, Role.NUMBER) and not each.choices]


def _takes(each: Property, value: StatedValue, token: Token) -> bool:
    """Whether an input takes a value of a form.

    :param token: the first one of the value.
    """
    if each.choices or each.role not in _COMPARED_ROLES:
        return False
    if each.role in _FORMS:
        return token.kind in _FORMS[each.role]
    if each.role is Role.QUERY:
        return not token.is_word  # ``fill_query`` finds where a topic starts and ends
    if each.role is Role.CONTENT:
        return not token.is_word or value.form not in ("word", "words")
    if each.role is Role.PATH:
        return not token.is_word and token.kind not in _NO_PATHS
    is_count = COUNTED.fullmatch(token.value) or (token.kind is Kind.NUMBER and value.following >= 0)
    if each.role is Role.ID and is_count:
        return False  # "a project with 200 users"
    if each.role is Role.ID and (token.kind is Kind.QUOTE or value.form in _KNOWN_WORDS):
        return takes_names(each) and value.first == value.last and token.is_word and value.label >= 0
    return True


def fill_left(draft: Draft) -> None:
    """Set open inputs from the unused values of the part."""
    _fill_from(draft, draft, _SURE)


def fill_left_beside(draft: Draft, parts: Sequence[Part]) -> None:
    """Set open inputs from the values of parts that have no step of their own."""
    for part in parts:
        if part.is_excluded or part.is_question or not part.tokens:
            continue
        is_earlier = bool(draft.tokens) and part.tokens[0].start < draft.tokens[0].start
        if is_earlier and part.verb_place == 0 and not has_reference(draft):
            continue  # what another request states
        stating = draft.beside(part)
        is_set = fill_left_numbers(draft, stating, SURE_BESIDE)
        if _fill_from(draft, stating, _SURE_BESIDE) or is_set:
            draft.stated_by.append(part)


def replace_doubtful(draft: Draft) -> None:
    """Replace a value that a rule chose, and that is unlikely for its input, by a likely one: "season" by "Dark" in "season 2 of Dark"."""
    if draft.wording.language is not ENGLISH:
        return
    stated, fit = StatedValues(draft), ValueFit(draft)
    inputs = compared(draft.profile.properties)
    for each in [each for each in inputs if draft.stated_at.get(each.name) and each.role in _REPLACED]:
        own = frozenset(draft.stated_at[each.name])
        if is_example(each, draft.tokens[min(own)].word):
            continue  # "delete the pod web-1" for "Type of resource (e.g., pods)"
        if any(draft.is_filler(place) for place in own if place > min(own)):
            continue  # "Waiting for parts", "oil the winch": the model has no such values
        if each.is_list or fit.probabilities(stated.at(min(own), max(own)), inputs)[each.name] > _DOUBTFUL:
            continue
        others = draft.used_places - own
        rows = [
            (fit.probabilities(value, inputs)[each.name], value)
            for value in stated.all()
            if others.isdisjoint(value.places) and draft.part.verb_place not in value.places
            if own != frozenset(value.places) and _takes(each, value, draft.tokens[value.first])
        ]
        share, best = max(rows, key=lambda row: row[0], default=(0.0, None))
        if best is not None and share >= _BETTER:
            draft.used_places -= own
            draft.set(each, draft.text(best.first, best.last), best.places)


def _fill_from(draft: Draft, stating: Draft, least: float) -> bool:
    """Set open inputs from the unused values of a part, the surest first, and return whether any was set.

    :param stating: the draft of the part that states the values.
    """
    if stating.wording.language is not ENGLISH:
        return False
    left = [
        value
        for value in StatedValues(stating).all()
        if stating.used_places.isdisjoint(value.places) and stating.part.verb_place not in value.places
        if not (value.start in stating.used_places or _describes(stating, value))
        if stating is draft or not _is_taken(draft, stating.text(value.first, value.last))
    ]
    inputs = draft.open_inputs()
    chosen: dict[str, list[StatedValue]] = {}
    while (best := _surest(stating, left, inputs, least)) is not None:
        for value in _listed(best, left, stating, inputs) if best.input.is_list else [best.value]:
            left = [other for other in left if not _overlap(value, other)]
            chosen.setdefault(best.input.name, []).append(value)
        if not best.input.is_list:
            inputs.remove(best.input)
    is_set = False
    for each in draft.open_inputs():
        values = sorted(chosen.get(each.name, ()), key=lambda value: value.first)
        texts = [stating.text(value.first, value.last) for value in values]
        places = [place for value in values for place in value.places]
        if values and draft.set(each, texts if each.is_list else texts[0], places if stating is draft else ()):
            is_set = True
    return is_set


def _is_taken(draft: Draft, text: str) -> bool:
    """Whether a text is an argument already."""
    return any(text == value or (isinstance(value, list) and text in value) for value in draft.args.values())


def _describes(stating: Draft, value: StatedValue) -> bool:
    """Whether a word only says which thing of the entry is meant: "new" of "a new list"."""
    described = stating.profile.text.union(*(each.hints for each in stating.profile.properties))
    is_own = value.form == "word" and bool(stating.stems(value.first) & described)
    after = value.last + 1
    return is_own and after < len(stating.tokens) and bool(stating.stems(after) & stating.profile.nouns)


def _overlap(value: StatedValue, other: StatedValue) -> bool:
    return value.first <= other.last and other.first <= value.last


def _listed(best: _Match, left: Sequence[StatedValue], stating: Draft, inputs: Sequence[Property]) -> list[StatedValue]:
    """Return a value with the others of its list: all values of "a.css and b.css" belong to the same input."""
    fit, found = ValueFit(stating), [best.value]
    others = [value for value in left if value.start == best.value.start]
    shares = [fit.probabilities(value, compared(inputs))[best.input.name] for value in others]
    for _, value in sorted(zip(shares, others, strict=True), key=lambda row: -row[0]):
        if not any(_overlap(value, other) for other in found):
            found.append(value)
    return found


def _surest(stating: Draft, left: Sequence[StatedValue], inputs: Sequence[Property], least: float) -> _Match | None:
    """Return the value with the most likely input; ``None`` if none is likely, or if another value is about as likely.

    :param least: the probability that it needs.
    """
    fit = ValueFit(stating)
    found: list[_Match] = []
    for value in left:
        token = stating.tokens[value.first]
        fitting = [each for each in inputs if _takes(each, value, token)]
        if fitting and not (
            value.left_after and value.label == value.first - 1
        ):  # "subject Final" of "subject Final count"
            shares = fit.probabilities(value, compared(inputs))
            best = max(fitting, key=lambda each: shares[each.name])
            if not token.is_word and fit.is_named_otherwise(value, best):
                continue
            is_named = fit.is_named(value, best) and not (token.is_word and value.left_after)
            needed = least if is_named else max(least, _SURE_UNNAMED)
            if shares[best.name] >= needed:
                found.append(_Match(shares[best.name], value, best))
    found.sort(key=lambda match: -match.probability)
    others = [
        match
        for match in found[1:]
        if match.input is found[0].input and not (match.input.is_list or _overlap(match.value, found[0].value))
    ]
    is_unclear = bool(others) and others[0].probability > _UNCLEAR * found[0].probability
    return found[0] if found and not is_unclear else None
