"""Sets inputs from the numbers of a part, where the model of ``number_fit`` is sure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from helmdeck_language import Kind
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.number_fit import NumberFit
from helmdeck_planner.embedded.arguments.number_surroundings import LIMITING, surroundings
from helmdeck_planner.embedded.arguments.stated_numbers import StatedNumber, stated_numbers
from helmdeck_planner.embedded.entries.properties import Property, Role

# Probability from which an input is set from the part of the step, and from another part.
SURE: Final = 0.6
SURE_BESIDE: Final = 0.8


@attrs.frozen
class _Match:
    probability: float
    number: StatedNumber
    input: Property


def fill_left_numbers(draft: Draft, stating: Draft, least: float) -> bool:
    """Set open inputs from the unused numbers of a part, the surest first, and return whether any was set.

    :param stating: the draft of the part that states the numbers.
    """
    inputs = [each for each in draft.open_inputs() if each.role is Role.NUMBER]
    if not inputs:
        return False
    numbers = [each for each in stated_numbers(stating) if each.first not in stating.used_places]
    fit = NumberFit(stating, tuple(numbers), is_beside=stating is not draft)
    is_set = False
    while numbers and (best := _surest(fit, numbers, inputs)) and best.probability >= least:
        numbers.remove(best.number)
        inputs.remove(best.input)
        number, value = best.number, best.number.in_unit_of(best.input)
        if stating is not draft:
            is_set |= _is_all_of(fit, number) and draft.set(best.input, value, ())
        else:
            beside = (*number.places, *fit.named_places(number, best.input))
            is_set |= draft.set(best.input, value, number.places[:1], beside)
    return is_set


def _is_all_of(fit: NumberFit, number: StatedNumber) -> bool:
    """Whether a part states a number and what it counts, and nothing else: "8 lines of context", "stop after 60 people"."""
    draft = fit.draft
    around = surroundings(draft, number)
    language = draft.wording.language
    is_act = draft.part.verb_place >= 0 and draft.tokens[draft.part.verb_place].word not in LIMITING
    # "paint 10 fences at most" is an act of its own.
    counted = () if is_act else (*around.following, around.complement)
    explained = {*number.places, *counted, draft.part.verb_place}
    return all(
        place in explained
        or token.kind is Kind.MARK
        or (token.is_word and (draft.is_filler(place) or token.word in LIMITING | language.joints | language.trailing))
        or draft.is_one_of(place, "counting")
        or draft.is_one_of(place, "at_most")
        or bool(draft.stems(place) & draft.profile.text)
        for place, token in enumerate(draft.tokens)
    )


def _surest(fit: NumberFit, numbers: Sequence[StatedNumber], inputs: Sequence[Property]) -> _Match | None:
    return max(_matches(fit, numbers, inputs), key=lambda match: match.probability, default=None)


def _matches(fit: NumberFit, numbers: Sequence[StatedNumber], inputs: Sequence[Property]) -> Iterator[_Match]:
    for number in numbers:
        fitting = [each for each in inputs if fit.may_belong(number, each)]
        if fitting:
            shares = fit.probabilities(number, inputs)
            best = max(fitting, key=lambda each: shares[each.name])
            yield _Match(shares[best.name], number, best)
