"""The engine ``dbos``: runs are workflows of DBOS, which another process continues after the end of this one."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import attrs
import dbos

from helmdeck_runs.engines.database import checked_url
from helmdeck_runs.engines.durable_host import BEAT_S, QUEUE, SILENT_AFTER_S, WORKFLOW, Host, release_host, shared_host
from helmdeck_runs.engines.records import executor_id, is_dead
from helmdeck_runs.execution import RunSetup, as_json, execute, new_run_id, no_progress
from helmdeck_runs.failures import StepFailedError, failure_data
from helmdeck_runs.runs import Run, RunRecord, RunState, StepRecord

ACTIVE = ("ENQUEUED", "PENDING", "DELAYED")

STATES = {
    "ENQUEUED": RunState.QUEUED,
    "DELAYED": RunState.QUEUED,
    "PENDING": RunState.RUNNING,
    "SUCCESS": RunState.SUCCEEDED,
    "CANCELLED": RunState.CANCELLED,
}
"""Every other status is a failure."""

PAGE = 200
"""Records that are read at once, at most."""

MAX_RECOVERIES = 1_000
"""Processes that may end during one run before it fails."""


class RunFailedError(Exception):
    """The end of a workflow whose run failed; ``data`` is stored."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        super().__init__(str(data.get("message", "failed")))


_engines: list[DbosEngine] = []
"""The engines of this process; the newest executes runs that no deck of this process started."""


@dbos.DBOS.workflow(name=WORKFLOW, max_recovery_attempts=MAX_RECOVERIES)
async def _workflow(data: dict[str, Any]) -> Any:
    run = attrs.evolve(Run.from_dict(data), id=dbos.DBOS.workflow_id or "")
    engine = next((each for each in _engines if run.id in each.waiting), None) or _engines[-1]
    try:
        output = await execute(engine.setup, run, _Steps(run), engine.waiting.get(run.id, no_progress))
        return {"output": as_json(output)}
    except Exception as exc:
        raise RunFailedError(failure_data(exc)) from None


class _Steps:
    """Implements ``RunSteps``."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._reserved: dict[str, dbos.StepReservation] = {}

    def reserve(self, *step_ids: str) -> None:
        """Fix the numbers of steps, by which DBOS finds their results."""
        for step_id in step_ids:
            if step_id not in self._run.done:
                self._reserved[step_id] = dbos.DBOS.reserve_step()

    async def run(self, step_id: str, function: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """Return the recorded result of a step, or await and record it."""
        if step_id in self._run.done:
            return self._run.done[step_id]

        async def step() -> dict[str, Any]:
            try:
                return {"result": as_json(await function(*arguments))}
            except Exception as exc:
                return {"failure": failure_data(exc)}

        options: dbos.StepOptions = {"name": step_id, "preemptible": True}
        reservation = self._reserved.pop(step_id, None)
        started = (
            dbos.DBOS.run_step_async(options, step) if reservation is None else reservation.run_async(options, step)
        )
        outcome = await started
        if "failure" in outcome:
            raise StepFailedError(step_id, outcome["failure"])
        return outcome["result"]


class DbosEngine:
    """Implements ``RunEngine``.

    :ivar waiting: the progress callbacks of the runs that a caller of this engine waits for, by id.
    """

    def __init__(self, setup: RunSetup) -> None:
        self.setup = setup
        self.waiting: dict[str, Callable[[str], None]] = {}
        self._callers: dict[str, int] = {}
        self._lock = threading.Lock()
        self._host = shared_host(self, checked_url(setup.url), setup.config)
        _engines.append(self)

    async def _in_host(self, work: Callable[[Host], Any], *, is_worker: bool = False) -> Any:
        """Await a coroutine in the loop of the host, outside of the workflow that may be around the caller."""
        await self._host.launch(is_worker=is_worker)
        future: concurrent.futures.Future[Any] = contextvars.Context().run(lambda: self._host.start(work(self._host)))
        return await asyncio.wrap_future(future)

    async def execute(
        self,
        run: Run,
        progress: Callable[[str], None] | None = None,
        started: Callable[[str], None] | None = None,
    ) -> RunRecord:
        """Start a run, or join one with the same key, and wait for its end."""
        run_id, is_joined = await self._in_host(lambda _: self._identify(run))
        report, report_start = _in_this_loop(progress), _in_this_loop(started)

        with self._lock:
            self._callers[run_id] = self._callers.get(run_id, 0) + 1
            self.waiting.setdefault(run_id, report)
        try:
            handle = await self._in_host(lambda _: self._start(run, run_id))
            report_start(run_id)
            await self._in_host(lambda _: self._await_end(handle, report if is_joined else None))
            record = await self.record(run_id, steps=False)
            assert record is not None
            return attrs.evolve(record, is_joined=is_joined)
        except asyncio.CancelledError:
            if self._callers[run_id] == 1 and not is_joined:
                await asyncio.shield(asyncio.ensure_future(self.cancel(run_id)))
            raise
        finally:
            with self._lock:
                self._callers[run_id] -= 1
                if not self._callers[run_id]:
                    self._callers.pop(run_id)
                    self.waiting.pop(run_id, None)

    async def _identify(self, run: Run) -> tuple[str, bool]:
        """The id of a run, and whether it has been started: the number after the key says which run with it this is.

        DBOS starts an id once, so that two processes with the same number join.
        """
        if not run.key:
            return run.id or new_run_id(), False
        last = await dbos.DBOS.list_workflows_async(
            workflow_id_prefix=f"{run.key}-", limit=1, sort_desc=True, load_input=False, load_output=False
        )
        if not last:
            return f"{run.key}-1", False
        if last[0].status in ACTIVE:
            return last[0].workflow_id, True
        return f"{run.key}-{int(last[0].workflow_id.rpartition('-')[2]) + 1}", False

    async def _start(self, run: Run, run_id: str) -> dbos.WorkflowHandleAsync[Any]:
        with dbos.SetWorkflowID(run_id):
            return await dbos.DBOS.start_workflow_async(_workflow, run.to_dict())

    async def _await_end(self, handle: dbos.WorkflowHandleAsync[Any], report: Callable[[str], None] | None) -> None:
        """Wait for the end of a run.

        :param report: for a run that was joined: its process may have ended, and nothing is reported until it is continued.
        """
        # Cancelling the caller does not cancel the workflow in the middle of a record.
        ended = asyncio.ensure_future(handle.get_result())
        ended.add_done_callback(lambda each: each.cancelled() or each.exception())  # the record has the failure
        while not (await asyncio.wait([ended], timeout=BEAT_S))[0]:
            if report is not None:
                await self._recover(handle.workflow_id, report)

    async def _recover(self, run_id: str, report: Callable[[str], None]) -> None:
        """Continue a run whose process ended; no worker may be there to do it."""
        found = await dbos.DBOS.list_workflows_async(workflow_ids=[run_id], load_input=False, load_output=False)
        executor = (found[0].executor_id or "") if found and found[0].status == "PENDING" else ""
        if not executor or executor == executor_id():
            return
        if executor in await self._host.ended():
            report(f"continuing the run of the process {executor}, which ended")
            await self._host.recover(executor)
        elif is_dead(executor):
            report(
                f"the process {executor} is gone; its run is continued {SILENT_AFTER_S:g} s after its last heartbeat"
            )
        else:
            report(f"waiting for the process {executor}, which executes the run")

    async def submit(self, run: Run) -> str:
        """Queue a run for a worker; return its id."""
        return str(await self._in_host(lambda _: self._submit(run)))

    async def _submit(self, run: Run) -> str:
        run_id, is_joined = await self._identify(run)
        if not is_joined:
            with dbos.SetWorkflowID(run_id):
                await dbos.DBOS.enqueue_workflow_async(QUEUE, _workflow, run.to_dict())
        return run_id

    async def cancel(self, run_id: str) -> bool:
        """Cancel a run wherever it is executed."""

        async def work() -> bool:
            found = await dbos.DBOS.list_workflows_async(workflow_ids=[run_id], load_input=False, load_output=False)
            if not found or found[0].status not in ACTIVE:
                return False
            await dbos.DBOS.cancel_workflow_async(run_id)
            return True

        return bool(await self._in_host(lambda _: work()))

    async def record(self, run_id: str, *, steps: bool = True) -> RunRecord | None:
        """Return the record of a run with its steps; ``None`` without one."""

        async def work() -> RunRecord | None:
            found = await dbos.DBOS.list_workflows_async(workflow_ids=[run_id])
            if not found or found[0].name != WORKFLOW:
                return None
            infos = await dbos.DBOS.list_workflow_steps_async(run_id) if steps else None
            return _record(found[0], infos)

        record: RunRecord | None = await self._in_host(lambda _: work())
        return record

    async def records(self, *, kind: str = "", caller: str = "", limit: int = 20) -> Sequence[RunRecord]:
        """Return records without steps, the newest first."""

        async def work() -> list[RunRecord]:
            # SQLite cannot filter by what DBOS knows about a run. Records may be large, so few are read if most are wanted.
            found: list[RunRecord] = []
            offset, size = 0, min(limit, PAGE)
            while len(found) < limit:
                page = await dbos.DBOS.list_workflows_async(name=WORKFLOW, limit=size, offset=offset, sort_desc=True)
                records = (_record(status) for status in page)
                found += [each for each in records if _is_wanted(each.run, kind, caller)]
                if len(page) < size:
                    break
                offset, size = offset + size, min(2 * size, PAGE)
            return found[:limit]

        records: list[RunRecord] = await self._in_host(lambda _: work())
        return records

    async def work(self) -> None:
        """Execute queued runs, and those of processes that ended, until it is cancelled."""
        await self._host.launch(is_worker=True)
        await asyncio.get_running_loop().create_future()

    def close(self) -> None:
        """End this engine's part; the host is closed with its last engine."""
        release_host(self)  # a run that starts meanwhile still has an engine
        if self in _engines:
            _engines.remove(self)


def _in_this_loop(callback: Callable[[str], None] | None) -> Callable[[str], None]:
    """Return a callback for other threads, which calls one in the running event loop."""
    loop = asyncio.get_running_loop()

    def call(text: str) -> None:
        if callback is not None and not loop.is_closed():
            loop.call_soon_threadsafe(callback, text)

    return call


def _is_wanted(run: Run, kind: str, caller: str) -> bool:
    return (not kind or run.kind == kind) and (not caller or run.caller == caller)


def _record(status: dbos.WorkflowStatus, infos: Sequence[dbos.StepInfo] | None = None) -> RunRecord:
    """The record of a run, with its steps if they were read."""
    data = status.input["args"][0] if status.input else {"kind": "", "name": ""}
    run = attrs.evolve(Run.from_dict(data), id=status.workflow_id)
    state = STATES.get(status.status, RunState.FAILED)
    executor = status.executor_id or ""
    if state is RunState.RUNNING and is_dead(executor):
        state = RunState.INTERRUPTED
    failure = getattr(status.error, "data", None)
    if state is RunState.FAILED and not isinstance(failure, dict):
        failure = {"cause": "internal", "code": "internal", "message": str(status.error or status.status)}
    ended = (status.completed_at or status.updated_at or 0) / 1000
    time = (status.created_at or 0) / 1000
    done = (StepRecord(id=step_id, result=result) for step_id, result in run.done.items())
    return RunRecord(
        run=run,
        state=state,
        output=status.output.get("output") if isinstance(status.output, dict) else None,
        failure=failure if state is RunState.FAILED else None,
        steps=() if infos is None else (*done, *map(_step, infos)),
        time=time,
        duration_s=max(0.0, ended - time),
        executor=executor,
    )


def _step(info: dbos.StepInfo) -> StepRecord:
    outcome = info["output"] if isinstance(info["output"], dict) else {}
    start, end = info.get("started_at_epoch_ms") or 0, info.get("completed_at_epoch_ms") or 0
    return StepRecord(
        id=info["function_name"],
        result=outcome.get("result"),
        failure=outcome.get("failure"),
        duration_s=max(0.0, (end - start) / 1000),
        ended=end / 1000,
    )
