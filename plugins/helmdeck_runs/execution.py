"""Executes a run with the program of its kind, for engines."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs
import msgspec

from helmdeck_core import (
    COSTS,
    CallFailed,
    CallLimits,
    Catalog,
    HelmdeckError,
    PackError,
    PackErrorCode,
    RunProgram,
    RunsConfig,
    Usage,
    did_you_mean,
    non_finite_number,
    plain_type,
    undecodable_text,
)
from helmdeck_runs.runs import NO_LIMITS, PackOutcome, Run, RunSteps


@attrs.frozen(kw_only=True)
class RunSetup:
    """What a run engine is opened with.

    :ivar url: the database of the records; ``None`` keeps them in memory.
    :ivar config: ``[runs]``.
    :ivar programs: the contributed programs by name.
    :ivar run: runs a pack or an entry; takes the parameters of ``Helmdeck.arun``, and may return a ``PackOutput``.
    :ivar catalog: returns the catalog of the deck.
    """

    url: str | None = attrs.field(repr=False)
    config: RunsConfig
    programs: Mapping[str, RunProgram]
    run: Callable[..., Awaitable[Any]] = attrs.field(repr=False)
    catalog: Callable[[], Catalog] = attrs.field(repr=False)


def new_run_id() -> str:
    """Return a unique id that sorts by time.

    >>> from helmdeck_runs import new_run_id
    >>> new_run_id() == new_run_id()
    False
    """
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{uuid.uuid4().hex[:10]}"


def no_progress(message: str) -> None:
    """No-op progress callback.

    >>> from helmdeck_runs import no_progress
    >>> no_progress("half of the pages are read")
    """


def as_json(value: Any) -> Any:
    """Return a value as it is after it was stored as JSON, which it is in every engine.

    :raises ValueError: it contains NaN or an infinity, which would be stored as ``null``.
    """
    encoded = msgspec.json.encode(value, enc_hook=plain_type)
    if b"null" in encoded and (
        problem := non_finite_number(msgspec.to_builtins(value, str_keys=True, enc_hook=plain_type))
    ):
        raise ValueError(problem)
    return msgspec.json.decode(encoded)


async def execute(setup: RunSetup, run: Run, steps: RunSteps, progress: Callable[[str], None] = no_progress) -> Any:
    """Await the program of a run.

    :raises PackError: no plugin contributes a program of its kind.
    """
    program = setup.programs.get(run.kind)
    if program is None:
        known = ", ".join(setup.programs) or "none"
        hint = did_you_mean(run.kind, list(setup.programs))
        detail = f"no plugin of this process contributes runs of the kind {run.kind!r}{hint}; known kinds: {known}"
        raise PackError(run.name, PackErrorCode.INTERNAL, detail)
    return await program.run(run, steps, _Context(setup, run, progress))


@attrs.frozen
class _Context:
    """Implements ``RunContext``."""

    _setup: RunSetup
    _run: Run
    _progress: Callable[[str], None]

    @property
    def catalog(self) -> Catalog:
        return self._setup.catalog()

    async def run_pack(self, name: str, arguments: Mapping[str, Any], limits: CallLimits = NO_LIMITS) -> PackOutcome:
        run, start_s = self._run, time.monotonic()
        costs: list[float | None] = []
        outer = COSTS.get()  # of the step of another run that started this one
        token = COSTS.set(costs)
        output: dict[str, Any] = {}
        error: HelmdeckError | None = None
        try:
            value = await self._setup.run(
                name, arguments, model=run.model, caller=run.caller, progress=self._progress, limits=limits
            )
            found = dict(value) if isinstance(value, Mapping) else value.to_dict()
            if problem := undecodable_text(found):  # records of steps are JSON
                raise PackError(name, PackErrorCode.INVALID_OUTPUT, problem)
            output = found
        except HelmdeckError as exc:
            error = exc
            if isinstance(exc, CallFailed) and exc.usage != Usage():
                costs.append(exc.cost_usd)
        finally:
            COSTS.reset(token)
        cost_usd = None if None in costs else sum(cost for cost in costs if cost is not None)
        if outer is not None and costs:
            outer.append(cost_usd)
        return PackOutcome(output=output, error=error, cost_usd=cost_usd, duration_s=time.monotonic() - start_s)

    def progress(self, message: str) -> None:
        self._progress(message)
