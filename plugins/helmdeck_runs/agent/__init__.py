"""The agent loop: plan, run, and plan again with the outcome, with confirmations and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_core import Pack, PackContext, RunProgram, hookimpl
from helmdeck_runs.agent.run_data import TURN_PACK


async def _run(context: PackContext, data: Mapping[str, Any]) -> Mapping[str, Any]:
    from helmdeck_runs.agent.tool_turns import run_turn

    return await run_turn(context, data)


async def _run_agent(run: Any, steps: Any, context: Any) -> Any:
    from helmdeck_runs.agent.run_program import run_agent

    return await run_agent(run, steps, context)


@hookimpl
def helmdeck_run_programs() -> Sequence[RunProgram]:
    """Contribute the program of agent runs."""
    return (RunProgram(name="agent", run=_run_agent),)


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """Contribute the pack; it is not listed, because a plan must never name it."""
    return (
        Pack(
            name=TURN_PACK,
            version="1",
            description="Sends one turn of a conversation with tools.",
            run=_run,
            input_schema={"type": "object", "required": ["intent", "messages", "tools", "run", "is_last"]},
            is_listed=False,
        ),
    )
