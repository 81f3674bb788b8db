"""Sets the inputs of one quantity that are in several units: hours and minutes of "1 hour and 20 minutes"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.foreign_numbers import takes_whole
from helmdeck_planner.embedded.arguments.quantities import Quantity, quantity_at
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.entries.units import UNIT_OF


def fill_unit_parts(draft: Draft) -> None:
    """Set inputs whose names differ in their unit alone, as ``hours`` and ``minutes`` do, from the only quantity that they take.

    Of "90 minutes", ``minutes`` is 90; of "2.5 hours", ``hours`` is 2 and ``minutes`` 30.
    """
    for inputs in _inputs_in_units(draft):
        dimension = _size(inputs[0])[0]
        found = [quantity for quantity in _quantities(draft) if quantity.unit.dimension == dimension]
        if len(found) == 1:
            _fill(draft, inputs, found[0])


def _inputs_in_units(draft: Draft) -> Sequence[Sequence[Property]]:
    """Return the open inputs of each quantity, the one in the largest unit first."""
    groups: dict[tuple[object, ...], list[Property]] = defaultdict(list)
    for each in draft.open_inputs():
        units = [word for word in each.words if len(word) > 1 and word in UNIT_OF]
        if each.role is Role.NUMBER and each.unit is not None and len(units) == 1:
            others = tuple(word for word in each.words if word not in units)
            groups[each.unit.dimension, others].append(each)
    return [
        sorted(group, key=_size, reverse=True)
        for group in groups.values()
        if len({_size(each) for each in group}) == len(group) > 1
    ]


def _size(each: Property) -> tuple[str, Fraction]:
    assert each.unit is not None
    return each.unit.dimension, each.unit.size


def _quantities(draft: Draft) -> Sequence[Quantity]:
    found: list[Quantity] = []
    place = 0
    while place < len(draft.tokens):
        quantity = quantity_at(draft, place) if place not in draft.used_places else None
        if quantity is not None:
            found.append(quantity)
        place = quantity.places[-1] + 1 if quantity is not None else place + 1
    return found


def _fill(draft: Draft, inputs: Sequence[Property], quantity: Quantity) -> None:
    """Set the parts of a quantity, if they are whole numbers that make up all of it."""
    left = Fraction(str(quantity.value)) * quantity.unit.size
    largest = (quantity.largest or quantity.unit).size
    if not quantity.largest and any(
        _size(each)[1] == largest and not takes_whole(draft.profile, each) for each in inputs
    ):
        return  # it takes 2.5 as it is
    parts: list[tuple[Property, int]] = []
    for each in inputs:
        size = _size(each)[1]
        if size <= largest and (count := left // size):
            parts.append((each, count))
            left -= count * size
    if left or len(parts) < 1:
        return
    for number, (each, count) in enumerate(parts):
        places = quantity.places[:1] if not number else ()
        draft.set(each, count, places, quantity.places)
