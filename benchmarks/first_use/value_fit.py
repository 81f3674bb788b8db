"""Fits the weights that say to which input of an entry a stated value belongs.

::

    python -m benchmarks.first_use.value_fit           # print the fitted weights
    python -m benchmarks.first_use.value_fit --write   # write plugins/helmdeck_planner/embedded/arguments/value_fit.json

The model is a conditional logistic regression: the inputs of the expected entry and none of them are the choices for a value that a part
states. Fitted are the dev halves of all sets in English but ``UNFITTED``, and ``FURTHER`` as a whole. A
value is right for the inputs whose expected arguments have the same text; each
is used once more without the inputs that other values of the part are right for, since those are set when a value is left.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

import helmdeck_planner
from benchmarks.first_use.__main__ import SETS
from benchmarks.first_use.data import ExpectedStep, Request, load_catalogs, load_requests, mcp_folder, of_half, pooled
from helmdeck_core import Catalog
from helmdeck_language import ENGLISH
from helmdeck_planner.embedded.arguments.draft import Draft
from helmdeck_planner.embedded.arguments.left_values import compared
from helmdeck_planner.embedded.arguments.stated_values import StatedValue, StatedValues
from helmdeck_planner.embedded.arguments.value_fit import ValueFit
from helmdeck_planner.embedded.entries.profiles import Profile, Profiles
from helmdeck_planner.embedded.picks import Understood, understand
from helmdeck_planner.embedded.request.parts import Part
from helmdeck_selection import LexicalIndex

FILE = Path(helmdeck_planner.__file__).parent / "embedded" / "arguments" / "value_fit.json"
# Requests for the fit alone.
FURTHER = "further_values"
# Sets that show whether the weights hold for other requests.
UNFITTED = ("fourteenth", *SETS[SETS.index("sixteenth") :])
_POSSESSIVE = re.compile(r"['\u2019]s$")
_ROUNDS = 500
_RATE = 0.05
_PENALTY = 0.0001
_FIRST, _SECOND = 0.9, 0.999


@attrs.frozen
class Row:
    """A stated value: the features of no input and of each input, and the inputs that it is right for, by name; "" is none."""

    features: Mapping[str, Mapping[str, float]]
    right: frozenset[str]


def rows(catalogs: Mapping[str, Catalog]) -> Iterator[Row]:
    """Yield a row for each value of the parts whose expected entry is planned."""
    for request, understood in fitted_requests(catalogs):
        for step, profile, part in planned(request, understood):
            yield from _of_step(request, understood, step, profile, part)


def fitted_requests(catalogs: Mapping[str, Catalog]) -> Iterator[tuple[Request, Understood]]:
    """Yield the requests that weights are fitted with, as the planner understands them."""
    indexed: dict[str, tuple[LexicalIndex, Profiles]] = {}
    for name in (*(each for each in SETS if each not in UNFITTED), FURTHER):
        for request in load_requests(name) if name == FURTHER else of_half(load_requests(name), "dev"):
            if request.language != "en":
                continue
            if request.catalog not in indexed:
                entries = pooled(catalogs, request.catalog)
                lexical = LexicalIndex(entries)
                indexed[request.catalog] = lexical, Profiles(entries.entries, lexical.lexicon)
            understood = understand(request.text, *indexed[request.catalog])
            if understood.wording.language is ENGLISH and understood.pipeline is None:
                yield request, understood


def planned(request: Request, understood: Understood) -> Iterator[tuple[ExpectedStep, Profile, Part]]:
    """Yield the expected steps whose tools are chosen, with their parts in order."""
    left = [pick for pick in understood.picks if pick.profile is not None]
    for step in request.steps:
        pick = next((each for each in left if each.profile and each.profile.entry.id in step.tools), None)
        if pick is not None and pick.profile is not None:
            left.remove(pick)
            yield step, pick.profile, pick.part


def _of_step(
    request: Request, understood: Understood, step: ExpectedStep, profile: Profile, part: Part
) -> Iterator[Row]:
    expected = {**step.optional, **step.args}
    by_text: dict[str, set[str]] = {}
    for name, value in expected.items():
        for text in _texts(value):
            by_text.setdefault(_POSSESSIVE.sub("", text.strip()), set()).add(name)
    slugs = {f"{first}/{second}" for first in by_text for second in by_text}
    inputs = compared(profile.properties)
    own = {pick.part for pick in understood.picks if pick.profile is not None}
    others = [each for each in understood.parts if each not in own and not each.is_excluded and len(request.steps) == 1]
    found: list[tuple[ValueFit, StatedValue, frozenset[str]]] = []
    for each in (part, *others):
        draft = Draft(understood.request, each, profile, understood.wording)
        fit = ValueFit(draft)
        for value in StatedValues(draft).all() if each.tokens else ():
            text = _POSSESSIVE.sub("", draft.text(value.first, value.last).strip())
            if text and text not in slugs:
                right = frozenset(by_text.get(text, ())) & {other.name for other in inputs}
                found.append((fit, value, right or frozenset(("",))))
    lists = {each.name for each in inputs if each.is_list}
    taken = frozenset[str]().union(*(right for _, _, right in found)) - lists - {""}
    for fitted, value, right in found:
        yield Row(fitted.features(value, inputs), right)
        if elsewhere := taken - right:
            yield Row(fitted.features(value, [other for other in inputs if other.name not in elsewhere]), right)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping) and "any" in value:
        value = value["any"]
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts(each)
    else:
        yield str(value)


def fit(train: Sequence[Row]) -> dict[str, float]:
    """Return the weights of the features."""
    names = sorted({name for row in train for each in row.features.values() for name in each})
    place = {name: index for index, name in enumerate(names)}
    count = sum(len(row.features) for row in train)
    values = np.zeros((count, len(names)), np.float32)
    is_right = np.zeros(count, np.float32)
    starts, index = [], 0
    for row in train:
        starts.append(index)
        for name, features in row.features.items():
            for feature, value in features.items():
                values[index, place[feature]] = value
            is_right[index] = name in row.right
            index += 1
    start = np.array(starts)
    of_row = np.repeat(np.arange(len(train)), np.diff([*starts, count]))
    weights, mean, square = (np.zeros(len(names), np.float32) for _ in range(3))
    for step in range(1, _ROUNDS + 1):
        scores = values @ weights
        powers = np.exp(scores - np.maximum.reduceat(scores, start)[of_row])
        guess = powers / np.add.reduceat(powers, start)[of_row]
        target = guess * is_right
        target /= np.maximum(np.add.reduceat(target, start)[of_row], 1e-12)
        slope = values.T @ (guess - target) / len(train) + _PENALTY * weights
        mean = _FIRST * mean + (1 - _FIRST) * slope
        square = _SECOND * square + (1 - _SECOND) * slope**2
        weights = weights - _RATE * (mean / (1 - _FIRST**step)) / (np.sqrt(square / (1 - _SECOND**step)) + 1e-8)
    rounded = {name: round(float(weight), 2) for name, weight in zip(names, weights, strict=True)}
    return {name: weight for name, weight in rounded.items() if weight}


def run(doc: str | None, rows_of: Callable[[Mapping[str, Catalog]], Iterator[Row]], file: Path) -> None:
    """Fit, print and write the weights of a model.

    :param doc: the description of the command.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    fitted = fit(list(rows_of(load_catalogs(mcp_folder()))))
    print(json.dumps(fitted, indent=1))
    if arguments.write:
        file.write_text(json.dumps(fitted, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    run(__doc__, rows, FILE)
