"""Sets open inputs from values that no rule uses, where the model of ``value_fit`` is sure.

The model decides less than the rules: where both choose an input for a value, the rules are right more often.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from helmdeck_language import ENGLISH, Kind, Token
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.free_text import has_reference
from helmdeck_planner.embedded.arguments.ids import COUNTED, takes_names
from helmdeck_planner.embedded.arguments.left_numbers import SURE_BESIDE, fill_left_numbers
from helmdeck_planner.embedded.arguments.stated_values import StatedValue, StatedValues
from helmdeck_planner.embedded.arguments.value_fit import ValueFit
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.request.parts import Part

# Probability from which an input is set from the part of the step, and from another part.
_SURE: Final = 0.6
_SURE_BESIDE: Final = 0.8
# The share of the probability of a value from which another one for the same input makes both unclear.
_UNCLEAR: Final = 0.8
_TEXT_ROLES: Final = frozenset(
    (
        Role.NAME, Role.TEXT, Role.QUERY, Role.CONTENT, Role.ID, Role.PLACE, Role.PATH, Role.URL, Role.EMAIL, Role.PATTERN,
        Role.OWNER, Role.REPO,
    )
)  # fmt: skip
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
    return [each for each in inputs if each.role in (*_TEXT_ROLES, Role.NUMBER) and not each.choices]


def _takes(each: Property, value: StatedValue, token: Token) -> bool:
    """Whether an input takes a value of a form.

    :param token: the first one of the value.
    """
    if each.choices or each.role not in _TEXT_ROLES:
        return False
    if each.role in _FORMS:
        return token.kind in _FORMS[each.role]
    if each.role is Role.QUERY:
        return not token.is_word  # ``fill_query`` finds where a topic starts and ends
    if each.role is Role.CONTENT:
        return not token.is_word or value.form == "unknown"
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
        stating = Draft(draft.source, part, draft.profile, draft.wording)
        is_set = fill_left_numbers(draft, stating, SURE_BESIDE)
        if _fill_from(draft, stating, _SURE_BESIDE) or is_set:
            draft.stated_by.append(part)


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
    ]
    inputs = draft.open_inputs()
    chosen: dict[str, list[StatedValue]] = {}
    while (best := _surest(stating, left, inputs)) and best.probability >= least:
        # All values of "a.css and b.css" belong to the same list.
        start = best.value.start if best.input.is_list else best.value.first
        for value in [value for value in left if start <= value.first <= best.value.first]:
            left.remove(value)
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


def _surest(stating: Draft, left: Sequence[StatedValue], inputs: Sequence[Property]) -> _Match | None:
    """Return the value with the most likely input; ``None`` if there is none, or if another value is about as likely."""
    fit = ValueFit(stating)
    found: list[_Match] = []
    for value in left:
        token = stating.tokens[value.first]
        fitting = [each for each in inputs if _takes(each, value, token) and fit.may_belong(value, each)]
        if fitting:
            shares = fit.probabilities(value, compared(inputs))
            best = max(fitting, key=lambda each: shares[each.name])
            found.append(_Match(shares[best.name], value, best))
    found.sort(key=lambda match: -match.probability)
    others = [match for match in found[1:] if match.input is found[0].input and not match.input.is_list]
    is_unclear = bool(others) and others[0].probability > _UNCLEAR * found[0].probability
    return found[0] if found and not is_unclear else None
