"""Fits the probability of a step on the requests that the rules of the planner were developed with, and measures it on others.

::

    python -m benchmarks.first_use.confidence          # print the fitted scales, and the tables of the present ones
    python -m benchmarks.first_use.confidence --write  # write these tables to docs/benchmarks/first-use.md

Fitted are the dev halves of all sets. As nearly all steps of the older sets are right, their requests count less, and each request is
planned once more over its catalog without the tools that serve it: every step is wrong there. Measured are the held-out halves of ``requests`` and ``classes``, and the
second set of ``benchmarks/mcp``, of which only the tools are known; the held-out halves of the fifth and the sixth set; and requests of
MetaTool and Seal-Tools, whose tools have no input schemas: every other one of those that ``benchmarks.choice`` draws. The remaining ones
were fitted (``choice/ranked.py``).
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

import attrs
import numpy as np

from benchmarks.choice.requests import catalog_of, drawn
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
from benchmarks.selection.data import data_folder
from helmdeck_core import Catalog, Step
from helmdeck_planner.embedded.choice.choose import Scored
from helmdeck_planner.embedded.choice.confidence import SCALES, Scale, Scales, log_odds, probability
from helmdeck_planner.embedded.choice.ranked import is_bare
from helmdeck_planner.embedded.entries.profiles import Profiles
from helmdeck_planner.embedded.picks import understand
from helmdeck_planner.embedded.steps import steps_of
from helmdeck_selection import LexicalIndex

EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.01)
_ROUNDS = 20
_MAX_SHIFT = 6.0
# How often a request needs a tool that is missing, relative to the others.
_MISSING = 0.2
# How much a request of a set that the rules were made with counts.
_SEEN = 0.15
SEEN = ("requests", "classes", "second", "third")
UNSEEN = (
    *("fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", "thirteenth"),
)
"""Sets by authors who had not seen the rules. The steps of the others are nearly all right, and count less."""
DRAWN = {"metatool-dev": 400, "sealtools-dev": 300}
"""Requests of data sets whose tools have no input schemas."""


@attrs.frozen
class Row:
    """A planned step: its candidates, whether it is right, and how much it counts for the scales."""

    found: Sequence[Scored]
    is_right: bool
    weight: float = 1.0


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
        right = right_steps(request, planned, with_arguments="tools" not in request.tags)
        found += [Row(pick.found, is_right) for pick, is_right in zip(picks, right, strict=True)]
    return found


def known(catalogs: Mapping[str, Catalog]) -> list[Row]:
    """Return the steps of the dev halves, also over the catalogs without the tools that serve them."""
    found = []
    for folder in (*SEEN, *UNSEEN):
        share = 1.0 if folder in UNSEEN else _SEEN
        requests = [
            each
            for each in of_half(load_requests(folder), "dev")
            if all(name in catalogs for name in each.catalog.split("+"))
        ]
        own = [*rows(requests, catalogs), *missing(requests, catalogs)]
        found += [attrs.evolve(row, weight=share * row.weight) for row in own]
    return found


def without_schemas(half: int) -> tuple[list[Request], dict[str, Catalog]]:
    """Return every other drawn request of the data sets that are there, only the tools of which are known, and their catalogs.

    :param half: 0 for those that are fitted, 1 for the others.
    """
    names = [name for name in DRAWN if (data_folder() / name / "queries.jsonl").is_file()]
    found = [
        Request(name, row["intent"], tags=("tools",), steps=(ExpectedStep(tuple(row["gold"]), {}, {}),))
        for name in names
        for row in drawn(DRAWN[name], name)[half::2]
    ]
    return found, {name: catalog_of(name) for name in names}


def missing(requests: Iterable[Request], catalogs: Mapping[str, Catalog]) -> list[Row]:
    """Plan requests over their catalogs without the tools that serve them, and return a row for each planned step: a wrong one."""
    found = []
    for request in requests:
        served = {tool for step in request.steps for tool in step.tools}
        left = [entry for entry in pooled(catalogs, request.catalog).entries if entry.id not in served]
        if not served or not left:
            continue
        lexical = LexicalIndex(Catalog(left))
        picks = understand(request.text, lexical, Profiles(left, lexical.lexicon)).picks
        found += [Row(pick.found, False, _MISSING) for pick in picks if pick.profile is not None]
    return found


def fit(train: Sequence[Row]) -> Scales:
    """Return the scales of the log-odds; steps of entries without input schemas are left out."""
    own = [row for row in train if not is_bare(row.found[0].profile)]
    by_evidence = [row for row in own if row.found[0].evidence is not None]
    return Scales(
        rules=_scale([row for row in own if row.found[0].evidence is None]),
        evidence=_scale([row for row in by_evidence if row.found[0].is_complete]),
        incomplete=_shifted([row for row in by_evidence if not row.found[0].is_complete], SCALES.evidence.slope),
    )


def _shifted(train: Sequence[Row], slope: float) -> Scale:
    """Return the shift for a given slope, by bisection: few steps lack inputs, and a slope of their own is worse on others."""
    low, high, shift = -_MAX_SHIFT, _MAX_SHIFT, 0.0
    for _ in range(_ROUNDS):
        shift = (low + high) / 2
        stated = sum(row.weight / (1 + math.exp(-slope * log_odds(row.found) - shift)) for row in train)
        low, high = (low, shift) if stated > sum(row.weight * row.is_right for row in train) else (shift, high)
    return Scale(slope=slope, shift=round(shift, 2))


def _scale(train: Sequence[Row]) -> Scale:
    """Return the slope and the shift of a logistic regression on the log-odds, by Newton's method."""
    values = np.array([[log_odds(row.found), 1.0] for row in train])
    is_right = np.array([row.is_right for row in train], float)
    shares = np.array([row.weight for row in train])
    weights = np.zeros(2)
    for _ in range(_ROUNDS):
        stated = 1 / (1 + np.exp(-values @ weights))
        slope = values.T @ (shares * (is_right - stated))
        curve = (values.T * (shares * stated * (1 - stated))) @ values
        weights = weights + np.linalg.solve(curve, slope)
    return Scale(slope=round(float(weights[0]), 2), shift=round(float(weights[1]), 2))


def table(test: Sequence[Row]) -> str:
    """Return the share of right steps against their probability."""
    stated = [(probability(row.found), row.is_right) for row in test]
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
    print(fit(known(catalogs)))
    tables = {
        "confidence": table(rows(unseen(catalogs), catalogs)),
        "confidence of others": table(rows(of_half(load_requests("fifth"), "held-out"), catalogs)),
        "confidence of the sixth set": table(rows(of_half(load_requests("sixth"), "held-out"), catalogs)),
        "confidence without schemas": table(rows(*without_schemas(1))),
    }
    for name, text in tables.items():
        print(f"\n{name}, present shifts:", text, sep="\n\n")
        if arguments.write:
            from benchmarks.first_use.__main__ import PAGE

            write_between(PAGE, name, text)


if __name__ == "__main__":
    main()
