"""Records of runs in SQLite or PostgreSQL, for the engine ``local``."""

from __future__ import annotations

import functools
import os
import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from helmdeck_runs.engines.database import RunsDatabase
from helmdeck_runs.failures import RunInUseError
from helmdeck_runs.runs import Run, RunRecord, RunState, StepRecord
from helmdeck_storage import DAY_S, PurgeSchedule, Schema, Session

TABLES = (
    """CREATE TABLE IF NOT EXISTS helmdeck_runs (id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL,
    caller TEXT NOT NULL, state TEXT NOT NULL, executor TEXT NOT NULL, started DOUBLE PRECISION NOT NULL,
    updated DOUBLE PRECISION NOT NULL, run TEXT NOT NULL, output TEXT, failure TEXT)""",
    "CREATE INDEX IF NOT EXISTS helmdeck_runs_started ON helmdeck_runs (started)",
    """CREATE TABLE IF NOT EXISTS helmdeck_run_steps (run_id TEXT NOT NULL, id TEXT NOT NULL, place INTEGER NOT NULL,
    result TEXT, failure TEXT, duration_s DOUBLE PRECISION NOT NULL, ended DOUBLE PRECISION NOT NULL, PRIMARY KEY (run_id, id))""",
)
# They may be in the file of the history. Version 0.1.0 stored no version, so the tables may exist.
SCHEMA = Schema(name="helmdeck_runs", version=1, tables=TABLES, has_own_file=False)

KEPT_IN_MEMORY = 200
"""Ended runs that are kept where no database is configured."""

TOKEN = secrets.token_hex(4)
"""Distinguishes this process from an earlier one with the same number, where ``/proc`` does not have its start time."""

_SELECT = "SELECT run, state, output, failure, started, updated, executor FROM helmdeck_runs"


def executor_id() -> str:
    """Return the id of this process."""
    return f"{socket.gethostname()}:{os.getpid()}:{process_token(os.getpid())}"


@functools.cache
def process_token(number: int) -> str:
    """Return what distinguishes this process from others with the same number; a fork has another number."""
    return started_at(number) or TOKEN


def started_at(number: int) -> str:
    """Return the boot and the clock tick at which a process started; an empty string if they cannot be read."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
        # The name of the program, in parentheses, may contain anything. The tick is field 22, and field 3 follows the name.
        fields = Path(f"/proc/{number}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return f"{boot}-{fields[19].decode()}" if fields[0] != b"Z" else "ended"


def is_here(executor: str) -> bool:
    """Whether a process is one of this host."""
    return executor.partition(":")[0] == socket.gethostname()


def is_dead(executor: str) -> bool:
    """Whether a process of this host does not exist any more; processes of other hosts count as alive.

    Numbers are reused: a process that started at another time is another one.
    """
    number, _, token = executor.partition(":")[2].partition(":")
    if not is_here(executor) or not number.isdigit():
        return False
    if int(number) == os.getpid():
        return token != process_token(int(number))
    if os.name == "nt":  # where the signal 0 interrupts the process
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:  # it belongs to another user
        pass
    return "-" in token and started_at(int(number)) not in ("", token)


class Records:
    """The records of one database; every coroutine ends when its change is committed."""

    def __init__(self, url: str | None, keep_days: float) -> None:
        self._database = RunsDatabase(url, SCHEMA)
        self._is_memory = url is None
        self._keep_s = keep_days * DAY_S
        self._purges = PurgeSchedule()

    async def add(self, run: Run) -> None:
        """Store a run that starts now, with the results that it has from an earlier one.

        :raises RunInUseError: another process resumes the same run.
        """
        now, data = time.time(), _encoded(run.to_dict())
        done = [
            (run.id, step_id, place, _encoded(result), 0.0, now)
            for place, (step_id, result) in enumerate(run.done.items())
        ]
        row = (run.id, run.kind, run.name, run.caller, RunState.RUNNING.value, executor_id(), now, now, data)

        def operation(session: Session) -> None:
            if run.resumes:
                _claim(session, run.resumes)
            session.change("INSERT INTO helmdeck_runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)", row)
            for step in done:
                session.change("INSERT INTO helmdeck_run_steps VALUES (?, ?, ?, ?, NULL, ?, ?)", step)

        await self._database.execute(operation)

    async def add_step(self, run_id: str, place: int, step: StepRecord) -> bool:
        """Store a step that ended; return whether the run continues, which is not the case after ``cancel``."""
        result = None if step.failure is not None else _encoded(step.result)
        failure = None if step.failure is None else _encoded(step.failure)
        now, running = time.time(), RunState.RUNNING.value
        row = (run_id, step.id, place, result, failure, step.duration_s, now)

        def operation(session: Session) -> bool:
            session.change("INSERT INTO helmdeck_run_steps VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            update = "UPDATE helmdeck_runs SET updated = ? WHERE id = ? AND state = ?"
            return session.change(update, (now, run_id, running)) > 0

        return await self._database.execute(operation)

    async def end(self, run_id: str, state: RunState, output: Any, failure: Mapping[str, Any] | None) -> None:
        """Store the end of a run."""
        row = (
            state.value,
            time.time(),
            None if output is None else _encoded(output),
            None if failure is None else _encoded(failure),
            run_id,
        )
        purges = self._purges.is_due()

        def operation(session: Session) -> None:
            session.change("UPDATE helmdeck_runs SET state = ?, updated = ?, output = ?, failure = ? WHERE id = ?", row)
            if purges:
                self._purge(session)

        await self._database.execute(operation)

    def _purge(self, session: Session) -> None:
        active = (RunState.RUNNING.value, RunState.QUEUED.value)
        old = "SELECT id FROM helmdeck_runs WHERE state NOT IN (?, ?) AND updated < ?"
        parameters: tuple[Any, ...] = (*active, time.time() - self._keep_s)
        if self._is_memory:
            old = "SELECT id FROM helmdeck_runs WHERE state NOT IN (?, ?) ORDER BY updated DESC LIMIT -1 OFFSET ?"
            parameters = (*active, KEPT_IN_MEMORY)
        for (run_id,) in session.rows(old, parameters):
            session.change("DELETE FROM helmdeck_run_steps WHERE run_id = ?", (run_id,))
            session.change("DELETE FROM helmdeck_runs WHERE id = ?", (run_id,))

    async def cancel(self, run_id: str) -> bool:
        """Store that a run is cancelled, unless it has ended; return whether it had not."""
        row = (RunState.CANCELLED.value, time.time(), run_id, RunState.RUNNING.value)
        update = "UPDATE helmdeck_runs SET state = ?, updated = ? WHERE id = ? AND state = ?"
        return await self._database.execute(lambda session: session.change(update, row)) > 0

    async def record(self, run_id: str) -> RunRecord | None:
        """Return the record of a run with its steps."""

        def operation(session: Session) -> tuple[Any, Any]:
            rows = session.rows(f"{_SELECT} WHERE id = ?", (run_id,))
            select = (
                "SELECT id, result, failure, duration_s, ended FROM helmdeck_run_steps WHERE run_id = ? ORDER BY place"
            )
            return rows, session.rows(select, (run_id,))

        rows, steps = await self._database.execute(operation)
        if not rows:
            return None
        records = (
            StepRecord(
                id=step_id, result=_decoded(result), failure=_decoded(failure), duration_s=duration_s, ended=ended
            )
            for step_id, result, failure, duration_s, ended in steps
        )
        return _record(rows[0], tuple(records))

    async def records(self, kind: str, caller: str, limit: int) -> Sequence[RunRecord]:
        """Return records without steps, the newest first."""
        select = f"{_SELECT} WHERE (? = '' OR kind = ?) AND (? = '' OR caller = ?)"
        parameters = (kind, kind, caller, caller, limit)
        rows = await self._database.execute(
            lambda session: session.rows(f"{select} ORDER BY started DESC, id DESC LIMIT ?", parameters)
        )
        return [_record(row, ()) for row in rows]

    def close(self) -> None:
        """Write what waits, and close the connection."""
        self._database.close()


def _claim(session: Session, run_id: str) -> None:
    """Refuse to resume a run while another one that resumes it is under way.

    :raises RunInUseError: there is one.
    """
    # In PostgreSQL, a second transaction waits here for the first one; in SQLite, transactions that write wait anyway.
    session.change("UPDATE helmdeck_runs SET updated = updated WHERE id = ?", (run_id,))
    select = "SELECT id, run, executor FROM helmdeck_runs WHERE state = ? AND run LIKE ?"
    parameters = (RunState.RUNNING.value, f'%"resumes":{_encoded(run_id)}%')
    for other, data, executor in session.rows(select, parameters):
        if _decoded(data).get("resumes") == run_id and not is_dead(executor):
            raise RunInUseError(run_id, other, executor)


def _record(row: tuple[Any, ...], steps: tuple[StepRecord, ...]) -> RunRecord:
    run, state, output, failure, started, updated, executor = row
    is_lost = state == RunState.RUNNING.value and is_dead(executor)
    return RunRecord(
        run=Run.from_dict(_decoded(run)),
        state=RunState.INTERRUPTED if is_lost else RunState(state),
        output=_decoded(output),
        failure=_decoded(failure),
        steps=steps,
        time=started,
        duration_s=max(0.0, updated - started),
        executor=executor,
    )


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _decoded(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)
