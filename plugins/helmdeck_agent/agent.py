"""Runs a request with a deck: plans it, executes the steps, and plans again with their outcome."""

from __future__ import annotations

import asyncio
import inspect
import uuid
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs

from helmdeck_agent.loop import AgentLoop, Approval
from helmdeck_agent.policy import Policy
from helmdeck_agent.program import AgentTask, drive, result_of, resumable
from helmdeck_agent.run_data import AgentLimits, AgentRun, AgentStep
from helmdeck_agent.services import DeckContext, MemorySteps
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
    ) -> None:
        config = deck.runtime.config.agent
        fields = attrs.fields_dict(AgentLimits)
        self._deck = deck
        self._model = model
        self._caller = caller
        self._confirm = confirm
        self._approval = Approval.ALL if approve_all else Approval.ASK if confirm is not None else Approval.NONE
        self._limits = limits or AgentLimits(**{name: getattr(config, name) for name in fields})
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
        loop = AgentLoop(intent, policy, self._limits, approval=self._approval, is_dry_run=dry_run)
        end = await drive(loop, task, steps, services)
        return result_of(resume.id if resume is not None else uuid.uuid4().hex[:16], loop, task, end, steps.record)

    async def _as_coroutine(self, step: AgentStep) -> bool:
        assert self._confirm is not None
        answer = self._confirm(step)
        return (await answer if inspect.isawaitable(answer) else answer) is True


def _no_progress(message: str) -> None:
    """No-op progress callback."""
