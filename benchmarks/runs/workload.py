"""The pipelines of the durability benchmark, and a worker: ``python -m benchmarks.runs.workload URL LOG SECONDS``."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helmdeck_core import Helmdeck, Pack, PackContext, Pipeline, hookimpl
from helmdeck_runs import runs_of

PIPELINE = "durable"
STEPS = 5


class Workload:
    """A plugin with a pipeline whose steps append one line to a log when they start.

    :param step_s: the longest duration of a step, in seconds; the shortest one is a fifth of it.
    """

    def __init__(self, log: Path, step_s: float) -> None:
        self.log = log
        self.step_s = step_s

    @hookimpl
    def helmdeck_packs(self) -> list[Pack]:
        """The pack of every step."""
        return [Pack(name="bench.step", version="1", description="Count.", run=self._step)]

    @hookimpl
    def helmdeck_pipelines(self) -> list[Pipeline]:
        """The pipelines that are run."""
        return [Pipeline(name=PIPELINE, data=definition())]

    async def _step(self, _: PackContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        line = {"run": arguments["run"], "step": arguments["step"], "time": time.time(), "process": os.getpid()}
        with self.log.open("ab", buffering=0) as file:  # one write, so that a kill leaves no partial line
            file.write(json.dumps(line).encode() + b"\n")
        await asyncio.sleep(random.uniform(self.step_s / 5, self.step_s))
        return {"count": arguments["count"] + 1}


def definition() -> dict[str, Any]:
    """A chain of steps, each of which needs the output of the one before."""
    steps = []
    for place in range(STEPS):
        count = f"{{{{steps.s{place - 1}.count}}}}" if place else 0
        steps.append(
            {
                "id": f"s{place}",
                "pack": "bench.step",
                "with": {"run": "{{inputs.run}}", "step": f"s{place}", "count": count},
            }
        )
    outputs = {"count": {"from": f"{{{{steps.s{STEPS - 1}.count}}}}"}}
    return {"description": "Count to five.", "steps": steps, "inputs": {"run": {"type": "integer"}}, "outputs": outputs}


def make_deck(url: str, log: Path, step_s: float = 0.4, concurrency: int = 4) -> Helmdeck:
    """A deck with the engine ``dbos``."""
    overrides = {"runs.engine": "dbos", "runs.url": url, "runs.worker_concurrency": concurrency}
    return Helmdeck(plugins={"workload": Workload(log, step_s)}, autoload=False, overrides=overrides, environ={})


async def work(url: str, log: Path, step_s: float) -> None:
    async with make_deck(url, log, step_s) as deck:
        await runs_of(deck).work()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(work(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])))
