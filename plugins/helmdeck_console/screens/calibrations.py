"""Calibrations that operators started, with their progress; at most one per model, and all of one process."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import time
from collections.abc import Coroutine
from typing import Any, Final

import attrs

from helmdeck_core import HelmdeckError, LoadedConfig
from helmdeck_core.log import logger
from helmdeck_history import Calibration, Limits, LogMismatch, calibrate_model

MAX_RUNNING: Final = 2
MAX_CALLS: Final = 150
"""Calls of a calibration, as for ``helmdeck calibrate``."""


@attrs.define
class RunningCalibration:
    """A calibration, running or ended.

    :ivar calls: calls so far.
    :ivar doing: the phase and size, or the probe.
    :ivar ended: how it ended; empty while it runs.
    :ivar is_cancelled: an operator cancelled it; it ends when the call that is under way has ended.
    """

    model: str
    started_s: float
    calls: int = 0
    max_calls: int = MAX_CALLS
    doing: str = "starting"
    ended: str = ""
    is_cancelled: bool = False
    task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return not self.ended


class Calibrations:
    """The calibrations of a console."""

    def __init__(self) -> None:
        self._by_model: dict[str, RunningCalibration] = {}

    def of(self, model: str) -> RunningCalibration | None:
        """Return the running or the last calibration of a model."""
        return self._by_model.get(model)

    @property
    def running(self) -> list[RunningCalibration]:
        """The calibrations that run."""
        return [each for each in self._by_model.values() if each.is_running]

    def start(self, loaded: LoadedConfig, model: str, max_cost_usd: float | None = None) -> str:
        """Start a calibration; return why it cannot start, or an empty string."""
        known = self._by_model.get(model)
        if known is not None and known.is_running:
            return f"{model} is being calibrated."
        if len(self.running) >= MAX_RUNNING:
            return f"At most {MAX_RUNNING} calibrations run at a time."
        state = RunningCalibration(model, time.time())
        state.task = asyncio.create_task(self._run(loaded, state, max_cost_usd))
        self._by_model[model] = state
        return ""

    def cancel(self, model: str) -> bool:
        """Cancel a calibration; what it has measured is kept. Return whether it was running."""
        state = self._by_model.get(model)
        if state is None or state.task is None or not state.is_running:
            return False
        state.is_cancelled, state.doing = True, "cancelling"
        state.task.cancel()
        return True

    async def _run(self, loaded: LoadedConfig, state: RunningCalibration, max_cost_usd: float | None) -> None:
        def progress(run: Calibration) -> None:
            size = run.search.size
            state.calls = run.calls
            state.doing = f"{run.search.phase} {size / 1024:.0f} KB" if size else f"probe {run.probe.replace('_', ' ')}"

        limits = Limits(max_calls=state.max_calls, max_cost_usd=max_cost_usd)
        try:
            outcome = await _in_thread(calibrate_model(loaded, state.model, limits=limits, on_progress=progress))
            state.calls = outcome.calls
            state.ended = f"stopped by {outcome.stopped}" if outcome.stopped else "complete"
        except asyncio.CancelledError:
            state.ended = "cancelled; what was measured is kept, and a new start continues from there"
        except (HelmdeckError, LogMismatch, OSError) as exc:
            state.ended = f"failed: {exc}"
        except Exception as exc:
            logger().opt(exception=exc).error("a calibration failed")
            state.ended = f"failed: {type(exc).__name__}"


async def _in_thread(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on a loop of its own, so that its prompts, of up to 256 KB, do not delay the requests of this one.

    :raises CancelledError: it was cancelled, and has ended.
    """
    started: concurrent.futures.Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = (
        concurrent.futures.Future()
    )

    async def main() -> Any:
        task = asyncio.ensure_future(work)
        started.set_result((asyncio.get_running_loop(), task))
        return await task

    future = asyncio.get_running_loop().run_in_executor(None, lambda: asyncio.run(main()))
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        loop, task = await asyncio.wrap_future(started)
        with contextlib.suppress(RuntimeError):  # the loop is closed: the work has ended
            loop.call_soon_threadsafe(task.cancel)
        await asyncio.wait([future])
        raise
