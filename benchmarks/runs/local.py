"""The engine ``local``: many concurrent runs, memory, and the time that the record of a step takes."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from helmdeck_core import Helmdeck, Pack, PackContext, Pipeline, hookimpl
from helmdeck_runs import RunState, runs_of

STEPS = 50


class Steps:
    """A plugin with a pack that does nothing, and a chain of 50 of them."""

    @hookimpl
    def helmdeck_packs(self) -> list[Pack]:
        """The pack of every step."""
        return [Pack(name="bench.nothing", version="1", description="Nothing.", run=_nothing)]

    @hookimpl
    def helmdeck_pipelines(self) -> list[Pipeline]:
        """The pipelines that are run."""
        chain: list[dict[str, Any]] = [
            {
                "id": f"s{place}",
                "pack": "bench.nothing",
                "with": {"x": "{{inputs.x}}"},
                "needs": [f"s{place - 1}"] * bool(place),
            }
            for place in range(STEPS)
        ]
        inputs = {"x": {"type": "integer"}}
        return [
            Pipeline(name="chain", data={"steps": chain, "inputs": inputs}),
            Pipeline(name="three", data={"steps": chain[:3], "inputs": inputs}),
        ]


async def _nothing(_: PackContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"x": arguments["x"]}


def make_deck(url: str | None) -> Helmdeck:
    """A deck with the engine ``local``."""
    overrides = {"runs.url": url} if url else {}
    return Helmdeck(plugins={"steps": Steps()}, autoload=False, overrides=overrides, environ={})


@attrs.frozen
class LocalOutcome:
    """What was measured.

    :ivar step_ms: milliseconds that a step of a pipeline takes more than a run of the pack alone.
    :ivar concurrent: runs at the same time; ``recorded`` is how many of them have a record, with all steps.
    :ivar growth_mb: growth of the process in the second half of ten rounds of concurrent runs.
    """

    store: str
    step_ms: float
    concurrent: int
    recorded: int
    seconds: float
    growth_mb: float


async def measured(store: str, url: str | None, *, concurrent: int = 1_000, rounds: int = 10) -> LocalOutcome:
    """Measure one database."""
    async with make_deck(url) as deck:
        await deck.arun("chain", {"x": 0})
        step_s = min([await _chain_s(deck) for _ in range(8)]) / STEPS
        alone_s = min([await _alone_s(deck) for _ in range(8)]) / STEPS
        start_s = time.monotonic()
        results = await asyncio.gather(*(deck.arun("three", {"x": number}) for number in range(concurrent)))
        seconds = time.monotonic() - start_s
        recorded = 0
        for result in results:
            record = await runs_of(deck).record(result["run_id"])
            # In memory, only the newest records are kept.
            recorded += record is not None and record.state is RunState.SUCCEEDED and len(record.steps) == 3
        sizes = []
        for number in range(rounds):
            await asyncio.gather(*(deck.arun("three", {"x": number * concurrent + each}) for each in range(concurrent)))
            sizes.append(_resident_mb())
        growth_mb = sizes[-1] - sizes[rounds // 2]
    return LocalOutcome(store, (step_s - alone_s) * 1000, concurrent, recorded, seconds, growth_mb)


async def _chain_s(deck: Helmdeck) -> float:
    start_s = time.perf_counter()
    await deck.arun("chain", {"x": 1})
    return time.perf_counter() - start_s


async def _alone_s(deck: Helmdeck) -> float:
    start_s = time.perf_counter()
    for _ in range(STEPS):
        await deck.arun("bench.nothing", {"x": 1})
    return time.perf_counter() - start_s


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
