"""Runs a request with a deck: plans it, executes the steps, and plans again with their outcome."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

import attrs

from helmdeck_core import EMPTY, Helmdeck, PackError, PackErrorCode
from helmdeck_runs.agent.actions import Approval
from helmdeck_runs.agent.driver import resumable
from helmdeck_runs.agent.program import CALLBACKS, KIND, AgentInputs
from helmdeck_runs.agent.run_data import AgentLimits, AgentRun, AgentStep
from helmdeck_runs.agent.tool_turns import Toolbox
from helmdeck_runs.deck_runs import runs_of
from helmdeck_runs.engines.records import is_here
from helmdeck_runs.execution import new_run_id
from helmdeck_runs.failures import failure_error
from helmdeck_runs.runs import Run, RunRecord, RunState

ConfirmCallback = Callable[[AgentStep], bool | Awaitable[bool]]
"""Takes a step with its resolved arguments; only ``True`` confirms it."""

_Inputs = Mapping[str, Any] | None
InputsCallback = Callable[[AgentStep, Mapping[str, Mapping[str, Any]]], _Inputs | Awaitable[_Inputs]]
"""Takes a step and the schemas of its missing arguments by name; returns their values, or ``None`` to end the run."""


class Agent:
    """Executes requests with the packs, pipelines and MCP tools of a deck.

    ::

        async with Helmdeck() as deck:
            run = await Agent(deck, confirm=lambda step: step.entry_id != "blog.publish").arun("remember this: ...")

    Entries that are annotated as read-only run at once; every other step needs a confirmation, unless ``[agent.policy]``
    allows it. The decision depends on the configuration and the catalog alone, never on arguments or texts.

    :param model: the model for plans, and for calls of packs; the default model when left out.
    :param confirm: a function or coroutine function that confirms a step.
    :param ask: a function or coroutine function that gives required arguments which a plan leaves out.
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
        ask: InputsCallback | None = None,
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
        self._ask = ask
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
        resume: AgentRun | str | None = None,
        progress: Callable[[str], None] | None = None,
        started: Callable[[str], None] | None = None,
    ) -> AgentRun:
        """Run a request until it is done, or until a limit, a failure or a missing confirmation ends it.

        Cancelling it cancels the step that is under way; no other one starts.

        :param intent: the request in plain words; it may contain documents.
        :param dry_run: plan once, and execute nothing.
        :param resume: an earlier run of the same request, or its id: what succeeded is not executed again.
        :param progress: called with a short text before every plan and step.
        :param started: called with the id of the run before its first step.
        :raises PackError: the request is empty, or differs from that of the run to resume.
        :raises CatalogError: the catalog cannot be loaded.
        """
        if not intent.strip():
            raise PackError("agent", PackErrorCode.INVALID_INPUT, "the request is empty; describe what to do")
        resumed = None if resume is None else await self._record(resume)
        if resumed is not None and resumed.run.inputs["intent"] != intent:
            raise PackError(
                "agent", PackErrorCode.INVALID_INPUT, "a run is resumed with the request that it started with"
            )
        await asyncio.to_thread(lambda: self._deck.catalog)  # its first use may start servers
        engine = runs_of(self._deck)
        done: Mapping[str, Any] = {}
        if resumed is not None:
            done = resumable({step.id: step.result for step in resumed.steps if step.failure is None})
        inputs = AgentInputs(
            intent=intent,
            context=context,
            defaults=dict(defaults),
            limits=attrs.asdict(self._limits),
            policy=self._policy,
            approval=self._approval.value,
            is_dry_run=dry_run,
            tools=await self._tools(intent) if self._mode == "tools" else None,
        )
        run = Run(
            id=new_run_id(),
            kind=KIND,
            name=self._mode,
            inputs=attrs.asdict(inputs),
            caller=self._caller,
            model=self._model,
            done=done,
            resumes=resumed.run.id if resumed is not None else "",
        )
        if self._confirm is not None or self._ask is not None:
            confirm = None if self._confirm is None else self._as_coroutine
            CALLBACKS[run.id] = confirm, None if self._ask is None else self._inputs
        try:
            record = await engine.execute(run, progress, started)
        finally:
            CALLBACKS.pop(run.id, None)
        if record.state is not RunState.SUCCEEDED:
            raise failure_error("agent", record.failure or {"message": record.state.value})
        return AgentRun.from_dict(record.output)

    async def aresume(
        self,
        run_id: str,
        *,
        progress: Callable[[str], None] | None = None,
        started: Callable[[str], None] | None = None,
    ) -> AgentRun:
        """Resume a recorded run with its own request, as a new run: what succeeded is not executed again.

        :raises PackError: there is no such run.
        """
        inputs = AgentInputs(**(await self._record(run_id)).run.inputs)
        options: Any = {"context": inputs.context, "defaults": inputs.defaults}
        return await self.arun(inputs.intent, resume=run_id, progress=progress, started=started, **options)

    async def _tools(self, intent: str) -> Mapping[str, Any]:
        selection = await asyncio.to_thread(lambda: self._deck.select(intent, model=self._model, caller=self._caller))
        return Toolbox.of(selection.entries).to_data()

    async def _record(self, resume: AgentRun | str) -> RunRecord:
        run_id = resume if isinstance(resume, str) else resume.id
        record = await runs_of(self._deck).record(run_id)
        if record is None or record.run.kind != KIND:
            raise PackError("agent", PackErrorCode.INVALID_INPUT, f"there is no agent run {run_id!r}")
        if record.state.is_active and is_here(record.executor):  # a process of another host may have ended
            detail = f"the run {run_id} is {record.state.value} in the process {record.executor}; only a run that ended is resumed"
            raise PackError("agent", PackErrorCode.INVALID_INPUT, detail)
        return record

    async def _as_coroutine(self, step: AgentStep) -> bool:
        assert self._confirm is not None
        answer = self._confirm(step)
        return (await answer if inspect.isawaitable(answer) else answer) is True

    async def _inputs(self, step: AgentStep, missing: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any] | None:
        assert self._ask is not None
        answer = self._ask(step, missing)
        return await answer if inspect.isawaitable(answer) else answer


def configured_limits(deck: Helmdeck) -> AgentLimits:
    """Return the limits of ``[agent]``."""
    config, names = deck.runtime.config.agent, attrs.fields_dict(AgentLimits)
    return AgentLimits(**{name: getattr(config, name) for name in names if hasattr(config, name)})
