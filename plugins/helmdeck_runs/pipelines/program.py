"""Executes a pipeline: steps start as soon as what they need has ended; every step that ends is recorded."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Mapping
from typing import Any

from helmdeck_core import CallLimits, PackError, PackErrorCode, args_sha
from helmdeck_runs.failures import StepFailedError, failure_data
from helmdeck_runs.pipelines.definition import START, Definition, PipelineStep, read_definition
from helmdeck_runs.pipelines.references import MissingValueError, expanded
from helmdeck_runs.pipelines.validation import dependencies
from helmdeck_runs.runs import PackOutcome, Run, RunContext, RunSteps

WITHIN: contextvars.ContextVar[tuple[str, ...]] = contextvars.ContextVar("helmdeck_runs_within", default=())
"""The pipelines whose steps are executed here, the outermost first."""


async def run_pipeline(run: Run, steps: RunSteps, context: RunContext) -> dict[str, Any]:
    """Run a pipeline; return its outputs.

    :raises StepFailedError: a step failed; steps that were under way have ended, no other one was started.
    """
    definition = read_definition(run.name, run.definition, [])
    WITHIN.set((*run.within, run.name))  # of the task of this run
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
        wait_s, spent_usd = step.retry.wait_s, 0.0
        while True:
            facts["attempts"] += 1
            outcome = await self._attempt(step, arguments, spent_usd)
            spent_usd += outcome.cost_usd or 0.0
            is_known = facts["cost_usd"] is not None and outcome.cost_usd is not None
            facts["cost_usd"] = spent_usd if is_known else None
            if outcome.error is None:
                return {**facts, "output": outcome.output, "duration_s": round(outcome.duration_s, 4)}
            failure = failure_data(outcome.error)
            if facts["attempts"] >= step.retry.attempts or not _is_worth_it(step, failure):
                raise StepFailedError(step.id, {**failure, **facts}) from None
            if (limit := self._used_up(step, spent_usd, wait_s)) is not None:
                failure["message"] = f"{failure['message']}; not tried again: {limit.detail}"
                raise StepFailedError(step.id, {**failure, **facts}) from None
            self.context.progress(f"{step.id}: attempt {facts['attempts']} failed ({failure['cause']}); trying again")
            await asyncio.sleep(wait_s)
            wait_s *= 2

    async def _attempt(self, step: PipelineStep, arguments: Mapping[str, Any], spent_usd: float) -> PackOutcome:
        if (limit := self._used_up(step, spent_usd)) is not None:
            return PackOutcome(error=limit)
        left_s, left_usd = self._left(spent_usd)
        deadline_s = min((each for each in (left_s, step.timeout_s) if each is not None), default=None)
        return await self.context.run_pack(
            step.pack, arguments, CallLimits(deadline_s=deadline_s, max_cost_usd=left_usd)
        )

    def _used_up(self, step: PipelineStep, spent_usd: float, wait_s: float = 0.0) -> PackError | None:
        """Return the limit that allows no attempt after some seconds; ``None`` if there is none.

        :param spent_usd: the cost of the earlier attempts of the step.
        """
        left_s, left_usd = self._left(spent_usd)
        if left_s is not None and left_s <= wait_s:
            end = f"ends before the wait of {wait_s:g} s" if wait_s else "is used up"
            detail = f"the time limit of the pipeline, {self.definition.timeout_s:g} s, {end}"
            return PackError(step.pack, PackErrorCode.TIMEOUT, detail)
        if left_usd is not None and left_usd <= 0:
            whose = "pipeline" if self.max_cost_usd == self.definition.max_cost_usd else "caller"
            detail = f"the cost limit of the {whose}, {self.max_cost_usd:g} US dollars, is used up"
            return PackError(step.pack, PackErrorCode.HANDLER_FAILED, detail)
        return None

    def _left(self, spent_usd: float) -> tuple[float | None, float | None]:
        """Return the seconds and the US dollars that are left of the limits, each of which may be missing."""
        limit_s, limit_usd = self.definition.timeout_s, self.max_cost_usd
        left_s = None if limit_s is None else self.started + limit_s - time.time()
        return left_s, None if limit_usd is None else limit_usd - self.spent_usd - spent_usd


def _is_worth_it(step: PipelineStep, failure: Mapping[str, Any]) -> bool:
    causes = (failure.get("cause"), failure.get("code"))
    return any(cause in step.retry.on for cause in causes) if step.retry.on else bool(failure.get("retryable"))
