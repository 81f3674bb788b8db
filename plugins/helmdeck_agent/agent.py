"""Runs a request with a deck: plans it, executes the steps, and plans again with their outcome."""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import attrs

from helmdeck_agent.loop import AgentLoop, Approval, Finish
from helmdeck_agent.policy import Policy
from helmdeck_agent.program import AgentTask, PackPlanner, drive, result_of, resumable
from helmdeck_agent.run_data import AgentLimits, AgentOutcome, AgentRun, AgentStep, Spent
from helmdeck_agent.services import DeckContext, MemorySteps
from helmdeck_agent.tool_turns import Toolbox, ToolPlanner, forget
from helmdeck_core import EMPTY, Helmdeck, PackError, PackErrorCode

ConfirmCallback = Callable[[AgentStep], bool | Awaitable[bool]]
"""Takes a step with its resolved arguments; only ``True`` confirms it."""


class Agent:
    """Executes requests with the packs, pipelines and MCP tools of a deck.

    ::

        async with Helmdeck() as deck:
            run = await Agent(deck, confirm=lambda step: step.entry_id != "blog.publish").arun("remember this: ...")

    Entries that are annotated as read-only run at once; every other step needs a confirmation, unless ``[agent.policy]``
    allows it. The decision depends on the configuration and the catalog alone, never on arguments or texts.

    :param model: the model for plans, and for calls of packs; the default model when left out.
    :param confirm: a function or coroutine function that confirms a step.
    :param approve_all: confirm every step, except what the policy denies.
    :param limits: left out: those of ``[agent]``.
    :param policy: rules that precede those of ``[agent.policy]``.
    :param mode: ``plan`` asks for plans, which any model can give; ``tools`` lets the model call tools natively, as many turns
        as it needs. Pipelines are available to plans only.
    :raises ValueError: a rule of the policy is not ``allow``, ``confirm`` or ``deny``.
    """

    def __init__(
        self,
        deck: Helmdeck,
        *,
        model: str | None = None,
        caller: str = "local",
        confirm: ConfirmCallback | None = None,
        approve_all: bool = False,
        limits: AgentLimits | None = None,
        policy: Mapping[str, str] = EMPTY,
        mode: Literal["plan", "tools"] = "plan",
    ) -> None:
        config = deck.runtime.config.agent
        self._deck = deck
        self._model = model
        self._caller = caller
        self._confirm = confirm
        self._approval = Approval.ALL if approve_all else Approval.ASK if confirm is not None else Approval.NONE
        self._limits = limits or configured_limits(deck)
        self._mode = mode
        self._policy = {**config.policy, **policy}
        if wrong := sorted(set(self._policy.values()) - {"allow", "confirm", "deny"}):
            raise ValueError(f"policy: allow, confirm or deny, found {', '.join(map(repr, wrong))}")

    async def arun(
        self,
        intent: str,
        *,
        context: str = "",
        defaults: Mapping[str, Any] = EMPTY,
        dry_run: bool = False,
        resume: AgentRun | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> AgentRun:
        """Run a request until it is done, or until a limit, a failure or a missing confirmation ends it.

        Cancelling it cancels the step that is under way; no other one starts.

        :param intent: the request in plain words; it may contain documents.
        :param dry_run: plan once, and execute nothing.
        :param resume: an earlier run of the same request: what succeeded is not executed again.
        :param progress: called with a short text before every plan and step.
        :raises PackError: the request is empty, or differs from that of the run to resume.
        :raises CatalogError: the catalog cannot be loaded.
        """
        if not intent.strip():
            raise PackError("agent", PackErrorCode.INVALID_INPUT, "the request is empty; describe what to do")
        if resume is not None and resume.intent != intent:
            raise PackError(
                "agent", PackErrorCode.INVALID_INPUT, "a run is resumed with the request that it started with"
            )
        task = AgentTask(
            intent=intent, context=context, defaults=defaults, limits=self._limits, confirm=self._as_coroutine
        )
        steps = MemorySteps(resumable(resume.record) if resume is not None else {})
        services = DeckContext(self._deck, self._model, self._caller, progress or _no_progress)
        catalog = await asyncio.to_thread(lambda: self._deck.catalog)  # its first use may start servers
        policy = Policy(catalog, self._policy)
        run_id = resume.id if resume is not None else uuid.uuid4().hex[:16]
        options: Any = {"approval": self._approval, "is_dry_run": dry_run, "stops_at_repetition": self._mode == "plan"}
        loop = AgentLoop(intent, policy, self._limits, **options)
        if self._mode == "plan":
            end = await drive(loop, task, PackPlanner(task), steps, services)
            return result_of(run_id, loop, task, end, steps.record)
        return await self._with_tools(loop, task, run_id, steps, services)

    async def _with_tools(
        self, loop: AgentLoop, task: AgentTask, run_id: str, steps: MemorySteps, services: DeckContext
    ) -> AgentRun:
        selection = await asyncio.to_thread(
            lambda: self._deck.select(task.intent, model=self._model, caller=self._caller)
        )
        planner = ToolPlanner(task, Toolbox.of(selection.entries), run_id)
        try:
            end = await drive(loop, task, planner, steps, services)
            if end.outcome in (AgentOutcome.STEP_LIMIT, AgentOutcome.NO_PROGRESS):
                result = await steps.run("summary", planner.summarize, loop.spent, tuple(loop.steps), services)
                loop.spent += Spent(**result["spent"])
                text = str((result["output"] or {}).get("text", "")).strip()
                return result_of(run_id, loop, task, end if text else _without_summary(end), steps.record, text)
        finally:
            forget(run_id)
        return result_of(run_id, loop, task, end, steps.record, planner.text)

    async def _as_coroutine(self, step: AgentStep) -> bool:
        assert self._confirm is not None
        answer = self._confirm(step)
        return (await answer if inspect.isawaitable(answer) else answer) is True


def configured_limits(deck: Helmdeck) -> AgentLimits:
    """Return the limits of ``[agent]``."""
    config, names = deck.runtime.config.agent, attrs.fields_dict(AgentLimits)
    return AgentLimits(**{name: getattr(config, name) for name in names if hasattr(config, name)})


def _without_summary(end: Finish) -> Finish:
    return Finish(end.outcome, f"{end.reason}; the model gave no summary")


def _no_progress(message: str) -> None:
    """No-op progress callback."""
