"""Pipelines: catalog entries with steps, which run packs with references to inputs and to outputs of earlier steps.

``helmdeck__pipeline-run`` runs them; an engine of ``[runs]`` executes and records the steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_core import PIPELINE_RUN, Pack, PackContext, RunProgram, hookimpl

if TYPE_CHECKING:
    from helmdeck_runs.runs import Run, RunContext, RunSteps


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The pack that runs a pipeline."""
    inputs = {"type": "object", "description": "the inputs of the pipeline"}
    return (
        Pack(
            name=PIPELINE_RUN,
            version="1",
            description="Run a pipeline by its id.",
            input_schema={
                "type": "object",
                "properties": {"id": {"type": "string", "description": "the id of the pipeline"}, "inputs": inputs},
                "required": ["id"],
                "additionalProperties": False,
            },
            run=_start,
            is_listed=False,
        ),
    )


@hookimpl
def helmdeck_run_programs() -> Sequence[RunProgram]:
    """The program of runs of the kind ``pipeline``."""
    return (RunProgram(name="pipeline", run=_program),)


async def _start(context: PackContext, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    from helmdeck_runs.pipelines.start import start

    return await start(context, arguments)


async def _program(run: Run, steps: RunSteps, context: RunContext) -> Any:
    from helmdeck_runs.pipelines.program import run_pipeline

    return await run_pipeline(run, steps, context)
