"""The engine ``local``: runs are tasks of the caller's event loop, and every step that ends is recorded."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_runs.engines.database import checked_url
from helmdeck_runs.engines.records import Records
from helmdeck_runs.execution import RunSetup, as_json, execute, new_run_id, no_progress
from helmdeck_runs.failures import RunInUseError, StepFailedError, UnsupportedError, failure_data
from helmdeck_runs.runs import Run, RunRecord, RunState, StepRecord


@attrs.define(eq=False)
class _Active:
    """A run of this process."""

    run: Run
    loop: asyncio.AbstractEventLoop
    ended: concurrent.futures.Future[RunRecord] = attrs.field(factory=concurrent.futures.Future)
    waiting: int = 0
    task: asyncio.Task[None] | None = None

    def cancel(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(lambda: self.task and self.task.cancel())


class LocalEngine:
    """Implements ``RunEngine``."""

    def __init__(self, setup: RunSetup) -> None:
        self._setup = setup
        self._records = Records(checked_url(setup.url), setup.config.keep_days)
        self._lock = threading.Lock()
        self._active: dict[str, _Active] = {}  # by id
        self._by_key: dict[str, _Active] = {}

    async def execute(
        self,
        run: Run,
        progress: Callable[[str], None] | None = None,
        started: Callable[[str], None] | None = None,
    ) -> RunRecord:
        """Start a run, or join one with the same key, and wait for its end."""
        active, is_joined = self._joined(run, progress or no_progress, started or no_progress)
        if is_joined and started is not None:
            started(active.run.id)
        try:
            record = await asyncio.shield(asyncio.wrap_future(active.ended))
            return attrs.evolve(record, is_joined=True) if is_joined else record
        except asyncio.CancelledError:
            if active.waiting == 1 and not active.ended.done():
                active.cancel()
                # The record of the end is written before the caller continues.
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.shield(asyncio.wrap_future(active.ended))
            raise
        finally:
            with self._lock:
                active.waiting -= 1

    def _joined(
        self, run: Run, progress: Callable[[str], None], started: Callable[[str], None]
    ) -> tuple[_Active, bool]:
        with self._lock:
            active = self._by_key.get(run.key) if run.key else None
            is_joined = active is not None
            if active is None:
                run = attrs.evolve(run, id=run.id or new_run_id())
                active = self._active[run.id] = _Active(run, asyncio.get_running_loop())
                if run.key:
                    self._by_key[run.key] = active
                # A run does not belong to the caller: another one may join it.
                work = self._run(active, progress, started)
                active.task = active.loop.create_task(work, context=contextvars.copy_context())
            active.waiting += 1
        return active, is_joined

    async def _run(self, active: _Active, progress: Callable[[str], None], started: Callable[[str], None]) -> None:
        run, start, start_s = active.run, time.time(), time.monotonic()
        state, output, failure = RunState.SUCCEEDED, None, None
        try:
            try:
                await self._records.add(run)
                started(run.id)
                steps = _Steps(run, self._records)
                output = as_json(await execute(self._setup, run, steps, progress))
            except RunInUseError:  # nothing was recorded
                raise
            except asyncio.CancelledError as exc:
                state, failure = RunState.CANCELLED, failure_data(exc)
            except Exception as exc:
                state, failure = RunState.FAILED, failure_data(exc)
            self._forget_key(active)  # a run that ended is not joined
            duration_s = time.monotonic() - start_s
            record = RunRecord(run=run, state=state, output=output, failure=failure, time=start, duration_s=duration_s)
            await self._records.end(run.id, state, output, failure)
            active.ended.set_result(record)
        except BaseException as exc:
            active.ended.set_exception(exc if isinstance(exc, Exception) else RuntimeError("the event loop was closed"))
            if not isinstance(exc, Exception):
                raise
        finally:
            self._forget_key(active)
            self._active.pop(run.id, None)

    def _forget_key(self, active: _Active) -> None:
        with self._lock:
            if self._by_key.get(active.run.key) is active:
                del self._by_key[active.run.key]

    async def submit(self, run: Run) -> str:  # noqa: ARG002
        """Raise ``UnsupportedError``: runs end with this process."""
        raise UnsupportedError(_NO_QUEUE)

    async def work(self) -> None:
        """Raise ``UnsupportedError``: runs end with this process."""
        raise UnsupportedError(_NO_QUEUE)

    async def cancel(self, run_id: str) -> bool:
        """Cancel a run of this process now, and one of another process after its current step."""
        active = self._active.get(run_id)
        if active is None:
            return await self._records.cancel(run_id)
        active.cancel()
        return True

    async def record(self, run_id: str) -> RunRecord | None:
        """Return the record of a run with its steps; ``None`` without one."""
        return await self._records.record(run_id)

    async def records(self, *, kind: str = "", caller: str = "", limit: int = 20) -> Sequence[RunRecord]:
        """Return records without steps, the newest first."""
        return await self._records.records(kind, caller, limit)

    def close(self) -> None:
        """Stop the runs of this process, and close the records."""
        for active in list(self._active.values()):
            active.cancel()
        self._records.close()


_NO_QUEUE = (
    "the run engine 'local' has no queue: its runs end with their process; "
    'set [runs] engine = "dbos" for durable runs and workers'
)


class _Steps:
    """Implements ``RunSteps``."""

    def __init__(self, run: Run, records: Records) -> None:
        self._run = run
        self._records = records
        self._started: set[str] = set(run.done)
        self._place = len(run.done)

    def reserve(self, *step_ids: str) -> None:
        """Steps are found by their ids, so their order does not matter."""

    async def run(self, step_id: str, function: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """Await a step and record its end."""
        if step_id in self._run.done:
            return self._run.done[step_id]
        if step_id in self._started:
            raise ValueError(f"two steps of the run {self._run.id} have the id {step_id!r}")
        self._started.add(step_id)
        start_s = time.monotonic()
        try:
            result = as_json(await function(*arguments))
        except Exception as exc:
            failure = failure_data(exc)
            await self._add(step_id, start_s, failure=failure)
            raise StepFailedError(step_id, failure) from exc
        await self._add(step_id, start_s, result=result)
        return result

    async def _add(
        self, step_id: str, start_s: float, *, result: Any = None, failure: Mapping[str, Any] | None = None
    ) -> None:
        duration_s = time.monotonic() - start_s
        self._place += 1
        step = StepRecord(id=step_id, result=result, failure=failure, duration_s=duration_s)
        if not await self._records.add_step(self._run.id, self._place, step):
            raise asyncio.CancelledError("the run was cancelled")
