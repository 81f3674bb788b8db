"""Fits the weights of a choice by evidence on the requests that the rules of the planner were developed with.

::

    python -m benchmarks.first_use.evidence           # print the fitted weights
    python -m benchmarks.first_use.evidence --write   # write plugins/helmdeck_planner/embedded/choice/evidence.json

The model is a conditional logistic regression: the entries of a catalog and a gap are the choices for a part. Fitted are the dev halves of
all sets in English, and the first and third set of ``benchmarks/mcp``, of which only the tools are known. Each request is used once more
over its catalog without the tools that serve it, where the gap is right.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs
import numpy as np

import helmdeck_planner
from benchmarks.first_use.data import Request, load_catalogs, load_requests, mcp_folder, of_half, pooled
from benchmarks.mcp.catalogs import requests as server_requests
from helmdeck_core import Catalog
from helmdeck_language import ENGLISH
from helmdeck_planner.embedded.arguments.sources import Sources
from helmdeck_planner.embedded.choice.choose import choose
from helmdeck_planner.embedded.choice.evidence import Candidate, candidates
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.picks import understand
from helmdeck_selection import LexicalIndex

FILE = Path(helmdeck_planner.__file__).parent / "embedded" / "choice" / "evidence.json"
# How much a request of a set counts. The rules of the planner, and so the features, were made with the first sets, which makes words
# look surer than they are in other requests.
SETS = {
    "requests": 0.3,
    "classes": 0.3,
    "second": 0.5,
    "third": 1.0,
    "fourth": 2.0,
    "fifth": 2.0,
    "sixth": 2.0,
    "seventh": 2.0,
    "eighth": 2.0,
    "ninth": 3.0,
    "tenth": 4.0,
    "eleventh": 4.0,
    "twelfth": 4.0,
    "thirteenth": 4.0,
}
SERVER_SETS = {"first": 0.5, "third": 0.5}
# How much a request without its tools counts, relative to the others.
_MISSING = 0.1
_ROUNDS = 600
_RATE = 0.05
_PENALTY = 0.002
_FIRST, _SECOND = 0.9, 0.999


@attrs.frozen
class Row:
    """A part with its candidates, the tools that serve it, and how much it counts."""

    found: Sequence[Candidate]
    right: Sequence[str]
    weight: float


def samples() -> Iterator[tuple[str, str, Sequence[Sequence[str]], float]]:
    """Yield the catalog, the text, the tools of each step, and the weight of the requests to fit."""
    for folder, weight in SETS.items():
        for request in of_half(load_requests(folder), "dev"):
            if request.language == "en":
                yield request.catalog, request.text, _tools(request), weight
    for row in server_requests():
        if weight := SERVER_SETS.get(str(row["set"]), 0.0):
            names = [str(tool).partition(".") for tool in row["tools"]]
            yield names[0][0], str(row["request"]), [[name for _, _, name in names]], weight


def _tools(request: Request) -> Sequence[Sequence[str]]:
    return [step.tools for step in request.steps]


def rows(catalogs: Mapping[str, Catalog]) -> Iterator[Row]:
    """Yield a row for each part whose step is known, over the whole catalog and without the tools that serve the request."""
    whole: dict[str, tuple[LexicalIndex, Profiles]] = {}
    for name, text, steps, weight in samples():
        if any(part not in catalogs for part in name.split("+")):
            continue
        entries = pooled(catalogs, name)
        if name not in whole:
            whole[name] = _indexed(entries)
        yield from _parts(whole[name], text, steps, weight)
        served = {tool for tools in steps for tool in tools}
        left = [entry for entry in entries.entries if entry.id not in served]
        if served and left:
            yield from _parts(_indexed(Catalog(left)), text, (), _MISSING * weight)


def _indexed(catalog: Catalog) -> tuple[LexicalIndex, Profiles]:
    lexical = LexicalIndex(catalog)
    return lexical, Profiles(catalog.entries, lexical.lexicon)


def _parts(
    index: tuple[LexicalIndex, Profiles], text: str, steps: Sequence[Sequence[str]], weight: float
) -> Iterator[Row]:
    lexical, profiles = index
    understood = understand(text, lexical, profiles)
    if understood.is_foreign or understood.wording.language is not ENGLISH:
        return
    if steps and len(understood.picks) != len(steps):
        return
    for place, pick in enumerate(understood.picks):
        sources = Sources(understood.request, understood.wording, settings=understood.settings)
        rules = choose(pick.part, sources, lexical, profiles)
        found = candidates(pick.part, sources, lexical, profiles, rules)
        if found:
            yield Row(found, steps[place] if steps else (), weight)


def fit(train: Iterable[Row]) -> dict[str, float]:
    """Return the weights of the features, with the constant."""
    every = list(train)
    names = sorted({name for row in every for each in row.found for name in each.features})
    most = max(len(row.found) for row in every)
    values = np.zeros((len(every), most, len(names) + 1))
    is_there = np.zeros((len(every), most), bool)
    is_right = np.zeros((len(every), most), bool)
    for index, row in enumerate(every):
        for place, each in enumerate(row.found):
            values[index, place] = [*(each.features.get(name, 0.0) for name in names), 1.0]
            is_there[index, place] = True
            is_right[index, place] = each.scored.profile.entry.id in row.right
    shares = np.array([row.weight for row in every])
    shares /= shares.sum()
    weights, mean, square = (np.zeros(len(names) + 1) for _ in range(3))
    for step in range(1, _ROUNDS + 1):
        guess = _softmax(values @ weights, is_there)
        target = np.where(is_right, guess, 0.0)
        target /= np.maximum(target.sum(1, keepdims=True), 1e-12)
        slope = np.einsum("rcf,rc,r->f", values, guess - target, shares)
        slope[:-1] += _PENALTY * weights[:-1]
        mean = _FIRST * mean + (1 - _FIRST) * slope
        square = _SECOND * square + (1 - _SECOND) * slope**2
        weights = weights - _RATE * (mean / (1 - _FIRST**step)) / (np.sqrt(square / (1 - _SECOND**step)) + 1e-8)
    constant = {"constant": round(float(weights[-1]), 2)}
    return constant | {name: round(float(weight), 2) for name, weight in zip(names, weights, strict=False)}


def _softmax(scores: np.ndarray, is_there: np.ndarray) -> np.ndarray:
    """Return the probabilities of the candidates beside a gap, whose score is 0."""
    masked = np.where(is_there, scores, -np.inf)
    highest = np.maximum(masked.max(1, keepdims=True), 0.0)
    shares = np.exp(masked - highest)
    return np.asarray(shares / (shares.sum(1, keepdims=True) + np.exp(-highest)))


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    fitted = fit(rows(load_catalogs(mcp_folder())))
    print(json.dumps(fitted, indent=1))
    if arguments.write:
        FILE.write_text(json.dumps(fitted, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
