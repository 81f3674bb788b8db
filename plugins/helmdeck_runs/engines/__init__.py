"""The run engines: ``local`` executes runs in this process, ``dbos`` lets other processes continue them.

``[runs] engine`` chooses one. DBOS is an extra, and is imported when the engine is opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_core import RunEngineSpec, hookimpl

if TYPE_CHECKING:
    from helmdeck_runs.runs import RunEngine


@hookimpl
def helmdeck_run_engines() -> Sequence[RunEngineSpec]:
    """Both engines."""
    return (
        RunEngineSpec(name="local", open=_local, summary="in this process"),
        RunEngineSpec(name="dbos", open=_dbos, summary="durable, in this process and in workers", order=10),
    )


def _local(**fields: Any) -> RunEngine:
    from helmdeck_runs.engines.local import LocalEngine
    from helmdeck_runs.execution import RunSetup

    return LocalEngine(RunSetup(**fields))


def _dbos(**fields: Any) -> RunEngine:
    try:
        import aiosqlite as aiosqlite
        import dbos as dbos
    except ModuleNotFoundError as exc:
        from helmdeck_core import ConfigError, Mistake

        problem = f'the extra is not installed ({exc}): pip install "helmdeck[dbos]"'
        raise ConfigError((Mistake("runs.engine", problem, "'dbos'"),)) from exc
    from helmdeck_runs.engines.durable import DbosEngine
    from helmdeck_runs.execution import RunSetup

    return DbosEngine(RunSetup(**fields))
