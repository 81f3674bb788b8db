"""Kills workers with SIGKILL while they execute pipelines, and checks that nothing is lost and no recorded step runs twice."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import attrs

from benchmarks.runs.workload import PIPELINE, STEPS, definition, make_deck
from helmdeck_runs import Run, RunEngine, RunState, runs_of

ROOT = Path(__file__).resolve().parents[2]


@attrs.frozen
class Outcome:
    """What a trial measured.

    :ivar repeated: steps that started again after a kill, because their result was not recorded.
    :ivar repeated_done: steps that started again although their result was recorded.
    """

    store: str
    runs: int
    kills: int
    seconds: float
    finished: int
    right: int
    steps: int
    repeated: int
    repeated_done: int


async def trial(
    store: str, url: str, folder: Path, *, runs: int = 200, kills: int = 20, workers: int = 2, step_s: float = 0.6,
    pause_s: tuple[float, float] = (1.0, 3.5), timeout_s: float = 600.0, seed: int = 1,
) -> Outcome:  # fmt: skip
    """Queue runs, kill workers at random moments, and read the records."""
    log, choose = folder / f"{store}.log", random.Random(seed)
    log.touch()
    command = [sys.executable, "-m", "benchmarks.runs.workload", url, str(log), str(step_s)]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "plugins")))}
    start_s = time.monotonic()
    async with make_deck(url, log) as deck:
        engine = runs_of(deck)
        for number in range(runs):
            run = Run(
                kind="pipeline",
                name=PIPELINE,
                inputs={"run": number},
                definition=definition(),
                key=f"{store}{number:06d}",
            )
            await engine.submit(run)
        processes = [_worker(command, environ) for _ in range(workers)]
        done_kills = 0
        try:
            while await _active(engine, runs) and time.monotonic() - start_s < timeout_s:
                await asyncio.sleep(choose.uniform(*pause_s))
                if done_kills < kills:
                    place = choose.randrange(workers)
                    processes[place].kill()
                    processes[place].wait()
                    processes[place] = _worker(command, environ)
                    done_kills += 1
            seconds = time.monotonic() - start_s
        finally:
            for process in processes:
                process.kill()
                process.wait()
        return await _measured(store, engine, runs, done_kills, seconds, log)


def _worker(command: list[str], environ: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env=environ)


async def _active(engine: RunEngine, runs: int) -> bool:
    ended = (RunState.SUCCEEDED, RunState.FAILED, RunState.CANCELLED)
    return any(record.state not in ended for record in await engine.records(limit=runs))


def _started(log: Path) -> dict[tuple[int, str], list[float]]:
    """The times at which each step started."""
    started: dict[tuple[int, str], list[float]] = {}
    for line in log.read_text().splitlines():
        row = json.loads(line)
        started.setdefault((row["run"], row["step"]), []).append(row["time"])
    return started


async def _measured(store: str, engine: RunEngine, runs: int, kills: int, seconds: float, log: Path) -> Outcome:
    started = _started(log)
    states: Counter[RunState] = Counter()
    right = steps = repeated_done = 0
    for record in await engine.records(limit=runs):
        states[record.state] += 1
        right += record.output == {"count": STEPS}
        full = await engine.record(record.run.id)
        assert full is not None
        steps += len(full.steps)
        for step in full.steps:
            # A step that was recorded before it started (again) would have run twice; its end is in milliseconds.
            times = started[record.run.inputs["run"], step.id]
            repeated_done += sum(time_s > step.ended + 0.002 for time_s in times)
    repeated = sum(len(times) - 1 for times in started.values())
    return Outcome(store, runs, kills, seconds, states[RunState.SUCCEEDED], right, steps, repeated, repeated_done)
