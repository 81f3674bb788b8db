"""Fits and measures the probability of a step, on the requests that the rules of the planner were not developed with.

::

    python -m benchmarks.first_use.confidence          # fit on one half, print the weights and the table of the other half
    python -m benchmarks.first_use.confidence --write  # write the table of the present weights to docs/benchmarks/first-use.md

The requests are those of the held-out halves of ``requests`` and ``classes``, and of ``benchmarks/mcp``; a second hash divides them.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import attrs

from benchmarks.first_use.data import (
    ExpectedStep,
    Request,
    load_catalogs,
    load_requests,
    mcp_folder,
    of_half,
    pooled,
)
from benchmarks.first_use.scoring import right_steps
from benchmarks.mcp.catalogs import requests as server_requests
from benchmarks.pages import write_between
from helmdeck_core import Catalog, Step
from helmdeck_planner.embedded.choice.choose import Scored
from helmdeck_planner.embedded.choice.confidence import WEIGHTS, Weights, features, probability
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.steps import steps_of, understand
from helmdeck_selection import LexicalIndex

EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.01)
_ROUNDS = 4000
_RATE = 0.2
_PENALTY = 0.002


@attrs.frozen
class Row:
    """A planned step: its candidates, whether it is right, and whether the weights are fitted on it."""

    found: Sequence[Scored]
    is_right: bool
    is_fitted: bool


def unseen(catalogs: Mapping[str, Catalog]) -> list[Request]:
    """Return the requests whose failures were not looked at; of those of ``benchmarks/mcp`` only the tools are known."""
    own = of_half([*load_requests(), *load_requests("classes")], "held-out")
    others = []
    for row in server_requests():
        if row["set"] == "second":
            server = str(row["tools"][0]).partition(".")[0]
            tools = tuple(str(tool).partition(".")[2] for tool in row["tools"])
            others.append(Request(server, str(row["request"]), tags=("tools",), steps=(ExpectedStep(tools, {}, {}),)))
    return [each for each in (*own, *others) if all(name in catalogs for name in each.catalog.split("+"))]


def rows(requests: Iterable[Request], catalogs: Mapping[str, Catalog]) -> list[Row]:
    """Plan requests, and return a row for each planned step."""
    indexes: dict[str, tuple[LexicalIndex, Profiles]] = {}
    found = []
    for request in requests:
        if request.catalog not in indexes:
            catalog = pooled(catalogs, request.catalog)
            lexical = LexicalIndex(catalog)
            indexes[request.catalog] = lexical, Profiles(catalog.entries, lexical.lexicon)
        understood = understand(request.text, *indexes[request.catalog])
        picks = [pick for pick in understood.picks if pick.profile is not None]
        steps = [
            Step(order=order, tool=step["tool"], args=step["args"])
            for order, step in enumerate(steps_of(understood, {}, ()), 1)
            if "inferred_for" not in step
        ]
        planned = [step for step in steps if not step.is_gap]
        if understood.pipeline is not None or len(picks) != len(planned):
            continue
        is_fitted = hashlib.sha256(request.text.encode()).digest()[1] % 2 == 0
        right = right_steps(request, planned, with_arguments="tools" not in request.tags)
        found += [Row(pick.found, is_right, is_fitted) for pick, is_right in zip(picks, right, strict=True)]
    return found


def fit(train: Sequence[Row]) -> Weights:
    """Return the weights of a logistic regression."""
    data = [((1.0, *features(row.found)), float(row.is_right)) for row in train]
    weights = [0.0] * len(data[0][0])
    for _ in range(_ROUNDS):
        slopes = [0.0] * len(weights)
        for values, right in data:
            guess = 1 / (1 + math.exp(-sum(weight * value for weight, value in zip(weights, values, strict=True))))
            for place, value in enumerate(values):
                slopes[place] += (guess - right) * value
        weights = [
            weight - _RATE * (slope / len(data) + (_PENALTY * weight if place else 0.0))
            for place, (weight, slope) in enumerate(zip(weights, slopes, strict=True))
        ]
    constant, total, margin, stated, unused = (round(weight, 2) for weight in weights)
    return Weights(constant=constant, total=total, margin=margin, stated=stated, unused=unused)


def table(test: Sequence[Row], weights: Weights) -> str:
    """Return the share of right steps against their probability."""
    stated = [(probability(row.found, weights), row.is_right) for row in test]
    lines = ["| probability | steps | mean probability | right |", "|---|--:|--:|--:|"]
    for low, high in itertools.pairwise(EDGES):
        own = [pair for pair in stated if low <= pair[0] < high]
        if own:
            mean = sum(value for value, _ in own) / len(own)
            right = sum(is_right for _, is_right in own)
            lines.append(f"| {low:.2f} to {min(high, 1.0):.2f} | {len(own)} | {mean:.2f} | {right / len(own):.2f} |")
    count = max(1, len(stated))
    brier = sum((value - is_right) ** 2 for value, is_right in stated) / count
    share = sum(is_right for _, is_right in stated) / count
    lines.append("")
    lines.append(
        f"{len(stated)} steps, {share:.2f} right; Brier score {brier:.3f}, of the share alone {share * (1 - share):.3f}."
    )
    return "\n".join(lines)


def main() -> None:
    """Fit, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    catalogs = load_catalogs(mcp_folder())
    every = rows(unseen(catalogs), catalogs)
    test = [row for row in every if not row.is_fitted]
    print(fitted := fit([row for row in every if row.is_fitted]), table(test, fitted), sep="\n\n")
    print("\npresent weights:", table(test, WEIGHTS), sep="\n\n")
    if arguments.write:
        from benchmarks.first_use.__main__ import PAGE

        write_between(PAGE, "confidence", table(test, WEIGHTS))


if __name__ == "__main__":
    main()
