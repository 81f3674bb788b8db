"""Executes a pipeline: steps start as soon as what they need has ended; every step that ends is recorded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from helmdeck_core import CallLimits, PackError, PackErrorCode, args_sha
from helmdeck_runs.failures import StepFailedError, failure_data
from helmdeck_runs.pipelines.definition import START, Definition, PipelineStep, read_definition
from helmdeck_runs.pipelines.references import MissingValueError, expanded
from helmdeck_runs.pipelines.validation import dependencies
from helmdeck_runs.runs import PackOutcome, Run, RunContext, RunSteps


async def run_pipeline(run: Run, steps: RunSteps, context: RunContext) -> dict[str, Any]:
    """Run a pipeline; return its outputs.

    :raises StepFailedError: a step failed; steps that were under way have ended, no other one was started.
    """
    definition = read_definition(run.name, run.definition, [])
    started = await steps.run(START, _now) if definition.timeout_s is not None else 0.0
    execution = _Execution(definition, run, steps, context, started)
    return await execution.run()


async def _now() -> float:
    return time.time()


class _Execution:
    def __init__(self, definition: Definition, run: Run, steps: RunSteps, context: RunContext, started: float) -> None:
        self.definition = definition
        self.steps = steps
        self.context = context
        self.started = started
        self.values: dict[str, dict[str, Any]] = {"inputs": dict(run.inputs), "steps": {}}
        self.spent_usd = 0.0
        costs = [each for each in (definition.max_cost_usd, run.max_cost_usd) if each is not None]
        self.max_cost_usd = min(costs, default=None)
        self.failure: BaseException | None = None
        self.places = asyncio.Semaphore(definition.max_parallel)

    async def run(self) -> dict[str, Any]:
        definition, needs = self.definition, dependencies(self.definition)
        self.steps.reserve(*(step.id for step in definition.steps))
        tasks: dict[str, asyncio.Task[None]] = {}
        try:
            for step in definition.steps:  # what a step needs comes before it
                waits_for = [tasks[name] for name in needs[step.id]]
                tasks[step.id] = asyncio.create_task(self._step(step, waits_for))
            await asyncio.gather(*tasks.values())
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
        if self.failure is not None:
            raise self.failure
        try:
            outputs: dict[str, Any] = expanded(definition.outputs, self.values)
        except MissingValueError as exc:
            raise PackError(definition.id, PackErrorCode.INVALID_OUTPUT, str(exc)) from None
        return outputs if definition.outputs else dict(self.values["steps"])

    async def _step(self, step: PipelineStep, waits_for: list[asyncio.Task[None]]) -> None:
        if waits_for:
            await asyncio.wait(waits_for)
        async with self.places:
            if self.failure is not None:
                return
            try:
                result: Mapping[str, Any] = await self.steps.run(step.id, self._attempts, step)
            except asyncio.CancelledError:
                raise
            except Exception as exc:
                self.failure = self.failure or exc
                return
        self.spent_usd += result["cost_usd"] or 0.0
        self.values["steps"][step.id] = result["output"]

    async def _attempts(self, step: PipelineStep) -> dict[str, Any]:
        """Run the pack of a step, again after a failure if the step allows it; this is what is recorded."""
        facts: dict[str, Any] = {"pack": step.pack, "attempts": 0, "cost_usd": 0.0}
        try:
            arguments = expanded(step.arguments, self.values)
        except MissingValueError as exc:
            error = PackError(step.pack, PackErrorCode.INVALID_INPUT, str(exc))
            raise StepFailedError(step.id, {**failure_data(error), **facts}) from None
        facts["input_sha"] = args_sha(arguments)
        self.context.progress(f"{step.id}: {step.name or step.pack}")
        wait_s = step.retry.wait_s
        while True:
            facts["attempts"] += 1
            outcome = await self._attempt(step, arguments)
            spent_usd: float | None = facts["cost_usd"]
            is_known = spent_usd is not None and outcome.cost_usd is not None
            facts["cost_usd"] = (spent_usd or 0.0) + (outcome.cost_usd or 0.0) if is_known else None
            if outcome.error is None:
                return {**facts, "output": outcome.output, "duration_s": round(outcome.duration_s, 4)}
            failure = failure_data(outcome.error)
            if facts["attempts"] >= step.retry.attempts or not _is_worth_it(step, failure):
                raise StepFailedError(step.id, {**failure, **facts}) from None
            self.context.progress(f"{step.id}: attempt {facts['attempts']} failed ({failure['cause']}); trying again")
            await asyncio.sleep(wait_s)
            wait_s *= 2

    async def _attempt(self, step: PipelineStep, arguments: Mapping[str, Any]) -> PackOutcome:
        deadline_s, definition = step.timeout_s, self.definition
        if definition.timeout_s is not None:
            left_s = self.started + definition.timeout_s - time.time()
            if left_s <= 0:
                detail = f"the time limit of the pipeline, {definition.timeout_s:g} s, is used up"
                return PackOutcome(error=PackError(step.pack, PackErrorCode.TIMEOUT, detail))
            deadline_s = min(left_s, deadline_s or left_s)
        cost_usd = None
        if self.max_cost_usd is not None:
            cost_usd = self.max_cost_usd - self.spent_usd
            if cost_usd <= 0:
                whose = "pipeline" if self.max_cost_usd == definition.max_cost_usd else "caller"
                detail = f"the cost limit of the {whose}, {self.max_cost_usd:g} US dollars, is used up"
                return PackOutcome(error=PackError(step.pack, PackErrorCode.HANDLER_FAILED, detail))
        limits = CallLimits(deadline_s=deadline_s, max_cost_usd=cost_usd)
        return await self.context.run_pack(step.pack, arguments, limits)


def _is_worth_it(step: PipelineStep, failure: Mapping[str, Any]) -> bool:
    causes = (failure.get("cause"), failure.get("code"))
    return any(cause in step.retry.on for cause in causes) if step.retry.on else bool(failure.get("retryable"))
