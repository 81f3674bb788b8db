"""How good the usable shares are that the policy estimates, after few attempts of simulated models whose shares are known.

::

    python -m benchmarks.chains.reliability           # two minutes
    python -m benchmarks.chains.reliability --write   # write the tables of docs/benchmarks/chains.md

A model has 24 kinds of work, of four tasks, three sizes and two scripts, whose usable shares spread around its own, by little or much. A
third of the attempts of every other model follow a failure of another one, after which it is usable less often. Before each of 50
attempts, the estimate is compared with the share of that attempt. Constants were chosen on seeds below 5,000.
"""

# ruff: noqa: ARG005  # all changes take the same arguments

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Mapping, Sequence

import attrs
import numpy as np

from benchmarks.chains.page import PAGE
from benchmarks.pages import write_between
from helmdeck_chains import ModelEvidence

SHAPE = (4, 3, 2)
ATTEMPTS = 51
FIRST_SEED, SEEDS = 5_000, 300
AFTER_SHARE = 0.35
COUNTS = (0, 1, 3, 6, 11, 21, 51)
"""Lower ends of the classes of earlier attempts."""
EDGES = (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 1.0)
CHANGES: Mapping[str, Callable[[int, int], float]] = {
    "steady": lambda attempt, start: 0.0,
    "step": lambda attempt, start: -2.0 if attempt >= start else 0.0,
    "drift": lambda attempt, start: -0.03 * attempt,
    "outage": lambda attempt, start: -6.0 if start <= attempt < start + 15 else 0.0,
}
"""What is added to the log-odds of a model, by attempt and start of the change."""


@attrs.frozen
class Row:
    """One attempt: how many were before, what was estimated, its interval, and the true share."""

    before: int
    stated: float
    low: float
    high: float
    actual: float
    is_after: bool


def rows(change: str, seed: int) -> Sequence[Row]:
    """Simulate one model."""
    rng = np.random.default_rng((seed, list(CHANGES).index(change)))
    spread = (0.5, 1.0, 1.8)[seed % 3]
    task, size, script = rng.normal(0, spread, 4), rng.normal(0, 0.5, SHAPE[:2]), rng.normal(0, 0.4, (4, 2))
    odds = rng.normal(1.1, 0.9) + task[:, None, None] + size[:, :, None] + script[:, None, :]
    harder, start = rng.normal(-0.7, 0.3), int(rng.integers(10, 35))
    kinds = rng.choice(odds.size, ATTEMPTS, p=rng.dirichlet(np.full(odds.size, 0.35)))
    evidence, found = ModelEvidence(0.001), []
    for attempt, number in enumerate(kinds):
        place = np.unravel_index(number, SHAPE)
        kind = (f"task{place[0]}", f"size{place[1]}", f"script{place[2]}")
        is_after = bool(seed % 2 and rng.random() < AFTER_SHARE)
        log_odds = odds[place] + CHANGES[change](attempt, start) + (harder if is_after else 0.0)
        actual = float(1 / (1 + np.exp(-log_odds)))
        estimate = evidence.estimate(kind)
        stated = estimate.after if is_after else estimate.usable
        found.append(Row(attempt, stated, *estimate.interval, actual, is_after))
        evidence.advance(attempt)
        evidence.observe(kind, usable=int(rng.random() < actual), is_after=is_after)
    return found


def by_count(found: Mapping[str, Sequence[Row]]) -> str:
    """The mean squared error of the estimates, and how much they are too high, by the number of earlier attempts."""
    lines = [
        "| models | "
        + " | ".join(f"{low} to {high - 1}" for low, high in itertools.pairwise(COUNTS))
        + " | in the 90 % interval |"
    ]
    lines.append("|---|" + "--:|" * len(COUNTS))
    for change, own in found.items():
        cells = []
        for low, high in itertools.pairwise(COUNTS):
            errors = np.array([row.stated - row.actual for row in own if low <= row.before < high])
            cells.append(f"{(errors**2).mean():.3f} ({errors.mean():+.2f})")
        inside = np.mean([row.low <= row.actual <= row.high for row in own if not row.is_after])
        lines.append(f"| {change} | {' | '.join(cells)} | {inside:.0%} |")
    return "\n".join(lines)


def by_share(own: Sequence[Row]) -> str:
    """The mean of the true shares by that of the estimated ones."""
    lines = ["| estimate | attempts | mean estimate | mean usable share |", "|---|--:|--:|--:|"]
    for low, high in itertools.pairwise(EDGES):
        pairs = [(row.stated, row.actual) for row in own if low <= row.stated < high]
        if pairs:
            stated, actual = np.mean(pairs, axis=0)
            lines.append(f"| {low:.0%} to {high:.0%} | {len(pairs):,} | {stated:.1%} | {actual:.1%} |")
    return "\n".join(lines)


def main() -> None:
    """Simulate, print, and write what is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    seeds = range(FIRST_SEED, FIRST_SEED + SEEDS)
    found = {change: [row for seed in seeds for row in rows(change, seed)] for change in CHANGES}
    for name, text in {"estimates": by_count(found), "reliability": by_share(found["steady"])}.items():
        print(text, end="\n\n")
        if arguments.write:
            write_between(PAGE, name, text)


if __name__ == "__main__":
    main()
