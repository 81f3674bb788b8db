"""Runs, their programs and their engines: the interface between what runs and where it is recorded."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from helmdeck_core import EMPTY, CallLimits, Catalog

NO_LIMITS = CallLimits()


@attrs.frozen(kw_only=True)
class Run:
    """One run, as data that JSON can represent: any process with the same configuration can execute it.

    :ivar id: unique; the engine chooses one if it is empty.
    :ivar kind: the program, such as ``pipeline`` or ``agent``.
    :ivar name: what runs, such as the id of a pipeline.
    :ivar inputs: the inputs. ``definition`` is what the program executes, so that a later change of a file does not matter.
    :ivar key: a run with this key that has not ended is joined instead of starting another one; empty for none.
    :ivar max_cost_usd: US dollars that the caller allows for the run; ``None`` is no limit.
    :ivar within: the pipelines whose steps started this run, the outermost first.
    :ivar done: results of steps of an earlier run by step id, which are not executed again; ``resumes`` is its id.
    """

    id: str = ""
    kind: str
    name: str
    inputs: Mapping[str, Any] = EMPTY
    definition: Mapping[str, Any] = EMPTY
    caller: str = "local"
    model: str | None = None
    key: str = ""
    max_cost_usd: float | None = None
    within: tuple[str, ...] = ()
    done: Mapping[str, Any] = EMPTY
    resumes: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the run as plain data."""
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in _fields(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Run:
        """Return the run of plain data."""
        return cls(**{**data, "within": tuple(data.get("within", ()))})  # JSON has lists


def _fields(run: Run) -> dict[str, Any]:
    return attrs.asdict(run, recurse=False)


class RunSteps(Protocol):
    """Executes the steps of one run, and records them."""

    def reserve(self, *step_ids: str) -> None:
        """Announce steps that may start in any order or side by side, in an order that is the same in every process.

        Other steps are awaited one after the other.
        """
        ...

    async def run(self, step_id: str, function: Callable[..., Awaitable[Any]], *arguments: Any) -> Any:
        """Return the recorded result of a step; without one, await ``function(*arguments)`` and record its result.

        :param step_id: unique in the run, and the same when another process continues the run.
        :param function: returns data that JSON can represent. It runs again if the process ends before its result is recorded.
        :raises StepFailedError: the function raised; then the step is not recorded as done.
        """
        ...


@attrs.frozen(kw_only=True)
class PackOutcome:
    """How a pack ended within a run.

    :ivar output: plain data; empty after a failure.
    :ivar error: the failure; ``None`` after a success.
    :ivar cost_usd: US dollars of its model calls; ``None`` if a price is unknown.
    :ivar duration_s: seconds.
    """

    output: Mapping[str, Any] = EMPTY
    error: Exception | None = None
    cost_usd: float | None = 0.0
    duration_s: float = 0.0


class RunContext(Protocol):
    """What a program works with in the process that executes it."""

    @property
    def catalog(self) -> Catalog:
        """The catalog of the deck."""
        ...

    async def run_pack(self, name: str, arguments: Mapping[str, Any], limits: CallLimits = NO_LIMITS) -> PackOutcome:
        """Run a pack or an entry like ``Helmdeck.arun``, with the caller and the model of the run.

        Failures of the pack and of its calls are returned, not raised.
        """
        ...

    def progress(self, message: str) -> None:
        """Report progress to the caller that waits for the run, if it is in this process."""
        ...


class RunState(enum.StrEnum):
    """Where a run is. ``interrupted``: its process ended, and no other one has continued it."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def is_active(self) -> bool:
        """Whether the run has not ended."""
        return self in (RunState.QUEUED, RunState.RUNNING)


@attrs.frozen(kw_only=True)
class StepRecord:
    """One step of a run that ended.

    :ivar result: what the step returned; ``None`` after a failure.
    :ivar failure: the failure as plain data, with ``cause``, ``code``, ``retryable`` and ``message``.
    :ivar duration_s: seconds.
    :ivar ended: when it ended, in seconds since 1970 UTC.
    """

    id: str
    result: Any = None
    failure: Mapping[str, Any] | None = None
    duration_s: float = 0.0
    ended: float = 0.0


@attrs.frozen(kw_only=True)
class RunRecord:
    """The record of a run.

    :ivar output: what the program returned; ``None`` unless it succeeded.
    :ivar failure: the failure of the run as plain data.
    :ivar steps: the steps that ended, in the order of their end; empty in lists.
    :ivar time: when it was started or queued, in seconds since 1970 UTC; ``duration_s`` is the time until its last change.
    :ivar executor: the process that executes it, or executed it last.
    :ivar is_joined: ``execute`` joined a run that was under way.
    """

    run: Run
    state: RunState
    output: Any = None
    failure: Mapping[str, Any] | None = None
    steps: tuple[StepRecord, ...] = ()
    time: float = 0.0
    duration_s: float = 0.0
    executor: str = ""
    is_joined: bool = False


class RunEngine(Protocol):
    """Executes and records runs. Coroutines may be called from any event loop."""

    async def execute(
        self,
        run: Run,
        progress: Callable[[str], None] | None = None,
        started: Callable[[str], None] | None = None,
    ) -> RunRecord:
        """Start a run, or join one with the same key, and wait for its end.

        Cancelling the only caller that waits cancels the run.

        :param started: called once with the id of the run, when it is recorded and none of its steps has started.

        :returns: the record without steps; its run has an id. It may have failed.
        """
        ...

    async def submit(self, run: Run) -> str:
        """Queue a run for a worker; return its id.

        :raises UnsupportedError: the engine has no queue.
        """
        ...

    async def cancel(self, run_id: str) -> bool:
        """Cancel a run; return whether it had not ended. A step that is under way may be completed, but no other one starts."""
        ...

    async def record(self, run_id: str) -> RunRecord | None:
        """Return the record of a run with its steps; ``None`` without one."""
        ...

    async def records(self, *, kind: str = "", caller: str = "", limit: int = 20) -> Sequence[RunRecord]:
        """Return records without steps, the newest first."""
        ...

    async def work(self) -> None:
        """Execute queued runs, and those of processes that ended, until it is cancelled.

        :raises UnsupportedError: the engine has no queue.
        """
        ...

    def close(self) -> None:
        """Stop the runs of this process, and close the records."""
        ...
