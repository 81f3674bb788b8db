"""The program of agent runs, which a run engine executes: their inputs as plain data, then the loop with its driver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_runs.agent.actions import Approval, AtMissing, Finish
from helmdeck_runs.agent.driver import AgentTask, AskStep, ConfirmStep, PackPlanner, drive, result_of
from helmdeck_runs.agent.loop import AgentLoop
from helmdeck_runs.agent.policy import Policy
from helmdeck_runs.agent.run_data import AgentLimits, AgentOutcome, Spent
from helmdeck_runs.agent.tool_turns import Toolbox, ToolPlanner, forget
from helmdeck_runs.runs import Run, RunContext, RunSteps

KIND = "agent"

CALLBACKS: dict[str, tuple[ConfirmStep | None, AskStep | None]] = {}
"""The callbacks of runs that this process started: for confirmations, and for missing arguments. In another process, a step that
needs one ends the run."""


@attrs.frozen(kw_only=True)
class AgentInputs:
    """The inputs of a run, which are plain data.

    :ivar tools: the data of a ``Toolbox``, for native tool turns; ``None`` for plans.
    """

    intent: str
    context: str = ""
    defaults: Mapping[str, Any] = attrs.field(factory=dict)
    limits: Mapping[str, Any] = attrs.field(factory=dict)
    policy: Mapping[str, str] = attrs.field(factory=dict)
    approval: str = Approval.NONE.value
    is_dry_run: bool = False
    tools: Mapping[str, Any] | None = None


async def run_agent(run: Run, steps: RunSteps, context: RunContext) -> dict[str, Any]:
    """Execute a run; return it as plain data."""
    inputs = AgentInputs(**run.inputs)
    confirm, ask = CALLBACKS.get(run.id, (None, None))
    approval = Approval(inputs.approval)
    if approval is Approval.ASK and confirm is None:
        approval = Approval.NONE
    limits = AgentLimits(**inputs.limits)
    task = AgentTask(
        intent=inputs.intent, context=inputs.context, defaults=inputs.defaults, limits=limits, confirm=confirm, ask=ask
    )
    policy = Policy(context.catalog, inputs.policy)
    options: Any = {"is_dry_run": inputs.is_dry_run, "stops_at_repetition": inputs.tools is None}
    if inputs.tools is not None:
        options["at_missing"] = AtMissing.RUN
    elif ask is not None:
        options["at_missing"] = AtMissing.ASK
    loop = AgentLoop(inputs.intent, policy, limits, approval=approval, **options)
    if inputs.tools is None:
        end = await drive(loop, task, PackPlanner(task), steps, context)
        return result_of(run.id, loop, task, end).to_dict()
    planner = ToolPlanner(task, Toolbox.from_data(inputs.tools), run.id)
    try:
        end = await drive(loop, task, planner, steps, context)
        text = planner.text
        if end.outcome in (AgentOutcome.STEP_LIMIT, AgentOutcome.NO_PROGRESS):
            result = await steps.run("summary", planner.summarize, loop.spent, tuple(loop.steps), context)
            loop.spent += Spent(**result["spent"])
            text = str((result["output"] or {}).get("text", "")).strip()
            end = end if text else Finish(end.outcome, f"{end.reason}; the model gave no summary")
    finally:
        forget(run.id)
    return result_of(run.id, loop, task, end, text).to_dict()
