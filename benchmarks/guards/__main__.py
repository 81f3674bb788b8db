"""Measures guards: precision and recall by kind on labelled texts, and the cost of guards.

python -m benchmarks.guards             # --misses prints the errors of the half for tuning, --write writes the page
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.guards.costs import costs
from benchmarks.guards.labelled import KINDS, Counts, labelled, measure
from benchmarks.pages import write_between
from helmdeck_core import Guard, GuardServices, GuardSpec, SecretPattern
from helmdeck_testing import make_deck

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "guards.md"


def halves() -> dict[str, Counts]:
    """Return the counts of both halves."""
    contributions = make_deck().runtime.contributions
    services = GuardServices(secret_patterns=contributions.values_of(SecretPattern))
    specs = {each.name: each for each in contributions.values_of(GuardSpec)}
    guards: list[tuple[Guard, Callable[[str], str]]] = [
        (specs["secrets"].open(specs["secrets"].options(), services), lambda _: "secret"),
        (specs["personal_data"].open(specs["personal_data"].options(), services), str),
    ]
    texts = labelled()
    return {"tuning": measure(texts[::2], guards), "held out": measure(texts[1::2], guards)}


def table(measured: dict[str, Counts]) -> Iterator[str]:
    """Yield the lines of the table."""
    texts = labelled()
    yield f"{len(texts)} texts, {sum(not each.spans for each in texts)} of them without a value.\n"
    yield "| kind | half | values | wrong | missed | precision | recall |\n|---|---|--:|--:|--:|--:|--:|"
    for kind in KINDS:
        for half, counts in measured.items():
            precision, recall = counts.rates(kind)
            missed = counts.missed[kind]
            values = counts.right[kind] + missed
            yield f"| {kind} | {half} | {values} | {counts.wrong[kind]} | {missed} | {precision:.3f} | {recall:.3f} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Measure guards.")
    parser.add_argument("--misses", action="store_true", help="print missed and wrong findings of the half for tuning")
    parser.add_argument("--write", action="store_true", help="write the tables to the page")
    arguments = parser.parse_args()
    measured = halves()
    text = "\n".join([*table(measured), "", *costs()])
    print(text)
    if arguments.misses:
        print(*["", *measured["tuning"].texts], sep="\n")
    if arguments.write:
        write_between(PAGE, "measured", text)


if __name__ == "__main__":
    main()
