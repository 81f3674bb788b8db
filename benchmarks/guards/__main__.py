"""``python -m benchmarks.guards [--misses]``: prints precision and recall by kind, and the cost of guards."""

from __future__ import annotations

import argparse

from benchmarks.guards.costs import print_costs
from benchmarks.guards.labelled import KINDS, Counts, labelled, measure
from helmdeck_core import GuardServices, GuardSpec, SecretPattern
from helmdeck_testing import make_deck


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Measure guards.")
    parser.add_argument("--misses", action="store_true", help="print missed and wrong findings of the half for tuning")
    arguments = parser.parse_args()
    contributions = make_deck().runtime.contributions
    services = GuardServices(secret_patterns=contributions.values_of(SecretPattern))
    specs = {each.name: each for each in contributions.values_of(GuardSpec)}
    guards = [
        (specs["personal_data"].open(specs["personal_data"].options(), services), str),
        (specs["secrets"].open(specs["secrets"].options(), services), lambda _: "secret"),
    ]
    texts = labelled()
    halves = {"tuning": measure(texts[::2], guards), "held out": measure(texts[1::2], guards)}
    print(f"{len(texts)} texts, {sum(not each.spans for each in texts)} of them near-misses\n")
    print("| kind | half | marks | precision | recall |\n|---|---|---|---|---|")
    for kind in KINDS:
        for half, counts in halves.items():
            precision, recall = counts.rates(kind)
            marks = counts.right[kind] + counts.missed[kind]
            print(f"| {kind} | {half} | {marks} | {precision:.3f} | {recall:.3f} |")
    if arguments.misses:
        _print_misses(halves["tuning"])
    print()
    print_costs()


def _print_misses(counts: Counts) -> None:
    print(*["", *counts.texts], sep="\n")


if __name__ == "__main__":
    main()
