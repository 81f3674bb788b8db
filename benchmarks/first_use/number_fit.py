"""Fits the weights that say to which input of an entry a stated number belongs.

::

    python -m benchmarks.first_use.number_fit           # print the fitted weights, and how often they are right
    python -m benchmarks.first_use.number_fit --write   # write plugins/helmdeck_planner/embedded/arguments/number_fit.json

The model is that of ``value_fit``, for the inputs that take numbers. A number is right for the inputs whose expected argument is the same in the
unit of the input. Numbers that something else of the part uses, such as an id, are left out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import helmdeck_planner
from benchmarks.first_use.__main__ import SETS
from benchmarks.first_use.data import ExpectedStep, Request, load_catalogs, load_requests, mcp_folder, of_half, pooled
from benchmarks.first_use.value_fit import FURTHER, VALIDATION, Row, _planned, fit
from helmdeck_core import Catalog
from helmdeck_language import ENGLISH
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.fill import Sources, begun
from helmdeck_planner.embedded.arguments.number_fit import NumberFit
from helmdeck_planner.embedded.arguments.stated_numbers import stated_numbers
from helmdeck_planner.embedded.entries.profiles import Profile, Profiles
from helmdeck_planner.embedded.entries.properties import Role
from helmdeck_planner.embedded.picks import Understood, understand
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_selection import LexicalIndex

FILE = Path(helmdeck_planner.__file__).parent / "embedded" / "arguments" / "number_fit.json"
INFO = []


def rows(catalogs: Mapping[str, Catalog], names) -> Iterator[Row]:
    """Yield a row for each number of the parts whose expected entry is planned."""
    indexed: dict[str, tuple[LexicalIndex, Profiles]] = {}
    for name in names:
        for request in load_requests(name) if name == FURTHER else of_half(load_requests(name), "dev"):
            if request.language != "en":
                continue
            if request.catalog not in indexed:
                entries = pooled(catalogs, request.catalog)
                lexical = LexicalIndex(entries)
                indexed[request.catalog] = lexical, Profiles(entries.entries, lexical.lexicon)
            understood = understand(request.text, *indexed[request.catalog])
            if understood.wording.language is ENGLISH and understood.pipeline is None:
                planned = list(_planned(request, understood))
                for step, profile, part in planned:
                    for other_step, other_profile, other in planned:
                        if other_profile is not profile and other is not part:
                            found = [(row, info) for row, info in _of_step(request, understood, step, profile, other, False) if row.right == {""}]
                            for row, info in found:
                                INFO.append((name, request.text, info, row))
                                yield row
                    for row, info in _of_step(request, understood, step, profile, part):
                        INFO.append((name, request.text, info, row))
                        yield row


def _of_step(
    request: Request, understood: Understood, step: ExpectedStep, profile: Profile, part: Part, is_own=True
) -> Iterator[tuple[Row, Any]]:
    inputs = [each for each in profile.properties if each.role is Role.NUMBER]
    if not inputs:
        return
    own = {pick.part for pick in understood.picks if pick.profile is not None}
    others = [each for each in understood.parts if each not in own and len(request.steps) == 1 and is_own]
    for each in (part, *others):
        if not each.tokens:
            continue
        draft = begun(each, profile, Sources(understood.request, understood.wording)) if each is part else Draft(understood.request, each, profile, understood.wording)
        numbers = [number for number in stated_numbers(draft) if number.first not in draft.used_places]
        number_fit = NumberFit(draft, numbers, each is not part)
        open_inputs = [other for other in inputs if other.name not in draft.args]
        found = []
        for number in numbers if open_inputs else ():
            right, maybe = set(), set()
            for other in open_inputs:
                value = number.in_unit_of(other)
                if value is None:
                    continue
                if other.name in step.args and value in _values(step.args[other.name]):
                    right.add(other.name)
                elif other.name in step.optional and value in _values(step.optional[other.name]):
                    maybe.add(other.name)
            if not right and maybe:
                right = {"", *maybe}
            around = number_fit.around(number)
            features = {"": number_fit.of_none(number, around)} | {
                other.name: number_fit.of_input(number, other, around) for other in open_inputs if number.in_unit_of(other) is not None
            }
            found.append((Row(features, frozenset(right or {""})), (profile.entry.id, " ".join(t.value for t in each.tokens), number)))
        yield from found
        taken = frozenset[str]().union(*(row.right for row, _ in found)) - {""}
        for row, info in found:
            others_of = {name: value for name, value in row.features.items() if name not in row.right}
            if "" not in row.right and others_of:
                yield Row({"": row.features[""], **others_of}, frozenset({""})), info
            if (elsewhere := taken - row.right) and len(elsewhere) < len(open_inputs):
                yield Row({name: value for name, value in row.features.items() if name not in elsewhere}, row.right), info


def _values(value: Any) -> list[Any]:
    if isinstance(value, Mapping) and "any" in value:
        value = value["any"]
    return value if isinstance(value, list) else [value]


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    names = (*(each for each in SETS if each != VALIDATION), FURTHER)
    fitted = fit(list(rows(load_catalogs(mcp_folder()), names)))
    print(json.dumps(fitted, indent=1))
    if arguments.write:
        FILE.write_text(json.dumps(fitted, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
