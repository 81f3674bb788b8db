"""Calibrates simulated models behind a loopback server; not run by the test suite.

    python -m benchmarks.calibration [--models 200] [--write docs/benchmarks/calibration.md]

Each model answers plans over HTTP with a success rate per catalog size, of one of three shapes. The page lists how often a
claimed size truly works in less than 80 % of the trials, how far claims are from the largest size that works in at least 80 %,
and the calls.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs

from benchmarks.calibration.models import SHAPES, KnownTrials, SimulatedModel
from helmdeck_core import Helmdeck
from helmdeck_history.calibration.log import CalibrationLog, Header
from helmdeck_history.calibration.search import SIZES
from helmdeck_history.calibration.session import Calibration, Limits
from helmdeck_testing import chat_server, completion

WORKS = 0.80
PAGE = """\
# Calibration of simulated models

`helmdeck calibrate` measured {models} simulated models of each shape behind a loopback server, over HTTP, without probes. A model of
the shape *cliff* fails above one size, *gradual* declines over about two sizes, *slow* over about five; below, it is right in 99 %
of the plans. Sizes are 1.4 times apart, from 4 to 256 KB of catalog. The largest size that works is the largest one with a
success rate of at least 80 %.

{table}

Errors are claims that are too small: {low} of {total} claims were more than one size below the largest size that works, {high} more
than one above. `python -m benchmarks.calibration --write docs/benchmarks/calibration.md` makes this page.
"""


@attrs.frozen
class Run:
    """One calibrated model.

    :ivar claimed: position of the claimed size; -1 for none.
    :ivar truth: position of the largest size that works.
    """

    claimed: int
    truth: int
    rate: float
    calls: int
    sent: int


async def calibrated(shape: str, number: int) -> Run:
    """Calibrate one model."""
    rng = random.Random(f"{shape} {number}")
    rates, trials = SHAPES[shape](rng), KnownTrials(number)
    model = SimulatedModel(rates, rng, trials)
    with chat_server(lambda body: completion(model.answer(body))) as server:
        overrides = {
            ("providers", "vllm", "base_url"): server.base_url,
            ("budgets", "vllm/m", "input_tokens"): 10_000_000,
            ("recovery", "max_attempts"): 1,
            ("recovery", "cool_down_after"): 0,
            ("agent", "continuation_max_attempts"): 0,
        }
        log = CalibrationLog.open(None, Header(1, "vllm/m", "", number))
        async with Helmdeck(overrides=overrides, environ={}) as deck:
            calibration = Calibration(deck, "vllm/m", log, maker=trials, probes=(), limits=Limits(max_calls=10_000))
            outcome = await calibration.run()
    claimed = SIZES.index(outcome.claimed) if outcome.claimed else -1
    truth = max((place for place, rate in enumerate(rates) if rate >= WORKS), default=-1)
    sent = sum(each.trials * each.size for each in outcome.counts)
    return Run(claimed, truth, rates[claimed] if claimed >= 0 else 1.0, outcome.calls, sent)


def row(shape: str, runs: Sequence[Run]) -> str:
    """One row of the table."""
    calls = sorted(run.calls for run in runs)
    wrong = sum(run.rate < WORKS for run in runs) / len(runs)
    within = sum(abs(run.claimed - run.truth) <= 1 for run in runs) / len(runs)
    cells = (
        shape, f"{wrong:.1%}", f"{within:.1%}", f"{statistics.mean(calls):.0f}", str(calls[int(0.95 * len(calls))]),
        f"{statistics.mean(run.sent for run in runs) / 1e6:.1f} MB",
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Run and print or write the page."""
    parser = argparse.ArgumentParser(description="Calibrates simulated models behind a loopback server.")
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    rows, everything = [], []
    for shape in SHAPES:
        runs = []
        for number in range(arguments.models):
            print(f"\r{shape} {number + 1} of {arguments.models}", end="", file=sys.stderr, flush=True)
            runs.append(asyncio.run(calibrated(shape, number)))
        rows.append(row(shape, runs))
        everything += runs
    print(file=sys.stderr)
    head = "| shape | claimed size works in < 80 % | within one size | mean calls | 95 % of runs | catalogs sent |\n|---|--:|--:|--:|--:|--:|"
    page = PAGE.format(
        models=arguments.models,
        table="\n".join([head, *rows]),
        low=sum(run.claimed < run.truth - 1 for run in everything),
        high=sum(run.claimed > run.truth + 1 for run in everything),
        total=len(everything),
    )
    if arguments.write:
        arguments.write.write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
