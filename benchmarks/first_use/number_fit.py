"""Fits the weights that say to which input of an entry a stated number belongs.

::

    python -m benchmarks.first_use.number_fit           # print the fitted weights
    python -m benchmarks.first_use.number_fit --write   # write plugins/helmdeck_planner/embedded/arguments/number_fit.json

The model is that of ``value_fit``, for the inputs that take numbers. A number is right for the inputs whose expected argument is the same in the
unit of the input. Numbers that something else of the part uses, such as an id, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import helmdeck_planner
from benchmarks.first_use.data import ExpectedStep, Request
from benchmarks.first_use.value_fit import Row, fitted_requests, planned, run
from helmdeck_core import Catalog
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fill import begun
from helmdeck_planner.embedded.arguments.number_fit import NumberFit
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.arguments.stated_numbers import StatedNumber, stated_numbers
from helmdeck_planner.embedded.entries.profiles import Profile
from helmdeck_planner.embedded.entries.properties import Property, Role
from helmdeck_planner.embedded.picks import Understood
from helmdeck_planner.embedded.request.parts import Part

FILE = Path(helmdeck_planner.__file__).parent / "embedded" / "arguments" / "number_fit.json"


def rows(catalogs: Mapping[str, Catalog]) -> Iterator[Row]:
    """Yield the rows for each number of the parts whose expected entry is planned."""
    for request, understood in fitted_requests(catalogs):
        yield from _of_request(request, understood)


def _of_request(request: Request, understood: Understood) -> Iterator[Row]:
    steps = list(planned(request, understood))
    own = {pick.part for pick in understood.picks if pick.profile is not None}
    left = [each for each in understood.parts if each not in own and len(request.steps) == 1]
    for step, profile, part in steps:
        for _, other_profile, other in steps:
            if other_profile is not profile and other is not part:
                # What another step states is nothing for this one.
                yield from (row for row in _of_step(understood, step, profile, other) if row.right == {""})
        yield from _of_step(understood, step, profile, part, left)


def _of_step(
    understood: Understood, step: ExpectedStep, profile: Profile, part: Part, others: Sequence[Part] = ()
) -> Iterator[Row]:
    """Yield the rows of a part and of others that have no step.

    A number is used once more without the inputs that it is right for, and without those that others are right for.
    """
    for each in (part, *others):
        if not each.tokens:
            continue
        alone = Draft(understood.request, each, profile, understood.wording)
        draft = begun(each, profile, Sources(understood.request, understood.wording)) if each is part else alone
        inputs = [other for other in draft.open_inputs() if other.role is Role.NUMBER]
        numbers = [number for number in stated_numbers(draft) if number.first not in draft.used_places]
        number_fit = NumberFit(draft, numbers, each is not part)
        found = [Row(number_fit.features(number, inputs), _right(number, inputs, step)) for number in numbers if inputs]
        yield from found
        taken = frozenset[str]().union(*(row.right for row in found)) - {""}
        for row in found:
            if "" not in row.right and len(row.features) > 1 + len(row.right):
                features = {name: value for name, value in row.features.items() if name not in row.right}
                yield Row(features, frozenset(("",)))
            if (elsewhere := taken - row.right) and len(elsewhere) < len(inputs):
                yield Row({name: value for name, value in row.features.items() if name not in elsewhere}, row.right)


def _right(number: StatedNumber, inputs: Sequence[Property], step: ExpectedStep) -> frozenset[str]:
    values = {each.name: number.in_unit_of(each) for each in inputs}
    stated = {name: value for name, value in values.items() if value is not None}
    right = {name for name, value in stated.items() if name in step.args and value in _values(step.args[name])}
    if right:
        return frozenset(right)
    allowed = (name for name in stated if name in step.optional and stated[name] in _values(step.optional[name]))
    return frozenset(("", *allowed))


def _values(value: Any) -> list[Any]:
    if isinstance(value, Mapping) and "any" in value:
        value = value["any"]
    return list(value) if isinstance(value, list) else [value]


if __name__ == "__main__":
    run(__doc__, rows, FILE)
