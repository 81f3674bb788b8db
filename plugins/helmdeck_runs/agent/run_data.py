"""The data of an agent run: limits, what was spent, steps, and the result."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from helmdeck_core import EMPTY
from helmdeck_runs.agent.outputs import failure_text, output_text

TURN_PACK = "helmdeck.agent_turn"
"""The pack of native tool turns, which no plan may name."""


class AgentOutcome(enum.StrEnum):
    """How a run ended."""

    DONE = "done"
    """Every planned step was executed, and the planner wants nothing else."""
    PARTIAL = "partial"
    """It ended, but a step failed for good, or a part of the request is a gap."""
    GAP = "gap"
    """No entry of the catalog serves the request."""
    NO_STEPS = "no_steps"
    DRY_RUN = "dry_run"
    NEEDS_CONFIRMATION = "needs_confirmation"
    """A step needs a confirmation, and nothing can give it: not ``--yes``, not a callback, not a terminal."""
    NEEDS_INPUT = "needs_input"
    """A step lacks a required argument that neither the planner nor the caller gives; it was not executed."""
    DECLINED = "declined"
    """The confirmation of a step was declined; nothing after it was executed."""
    FAILED = "failed"
    """A planning call failed, or the same tool failed twice."""
    NO_PROGRESS = "no_progress"
    STEP_LIMIT = "step_limit"
    TIME_LIMIT = "time_limit"
    TOKEN_LIMIT = "token_limit"  # noqa: S105
    COST_LIMIT = "cost_limit"

    @property
    def is_success(self) -> bool:
        """Whether the request is done, as far as its planner can tell."""
        return self in (AgentOutcome.DONE, AgentOutcome.DRY_RUN)


@attrs.frozen(kw_only=True)
class AgentLimits:
    """Limits of one run; 0 is no limit.

    :ivar max_steps: executed steps.
    :ivar max_seconds: seconds of planning calls and steps together.
    :ivar max_tokens: input and output tokens of planning calls.
    :ivar max_cost_usd: US dollars of all model calls whose price is known.
    :ivar max_failures: failures of one tool that end the run; all but the last are given back to the model.
    """

    max_steps: int = 20
    max_seconds: float = 600.0
    max_tokens: int = 0
    max_cost_usd: float = 0.0
    max_failures: int = 2


@attrs.frozen(kw_only=True)
class Spent:
    """What a part of a run used.

    :ivar cost_usd: US dollars; ``None`` if a price is unknown, which counts as 0 for the limit.
    """

    seconds: float = 0.0
    tokens: int = 0
    cost_usd: float | None = 0.0

    def __add__(self, other: Spent) -> Spent:
        costs = (self.cost_usd, other.cost_usd)
        known = None if None in costs else sum(cost for cost in costs if cost is not None)
        return Spent(seconds=self.seconds + other.seconds, tokens=self.tokens + other.tokens, cost_usd=known)


@attrs.frozen(kw_only=True)
class AgentStep:
    """One step of a run.

    :ivar number: its place in the run, from 1; references use it.
    :ivar tool: the tool of the plan; ``entry_id`` is what runs, which differs for a pipeline.
    :ivar arguments: as executed, with resolved references.
    :ivar decision: why it was executed or not, such as ``annotated as read-only``.
    :ivar output: plain data; ``None`` if it did not run or failed.
    :ivar failure: the failure as plain data with ``cause``, ``code`` and ``message``.
    :ivar warning: what the loop detector noticed.
    :ivar call_id: the call of a native tool turn that it answers.
    """

    number: int
    tool: str
    entry_id: str
    arguments: Mapping[str, Any] = EMPTY
    rationale: str = ""
    decision: str = ""
    output: Any = None
    failure: Mapping[str, Any] | None = None
    warning: str = ""
    call_id: str = ""
    seconds: float = 0.0
    cost_usd: float | None = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form; empty fields are left out."""
        wire = attrs.asdict(self, recurse=False, filter=lambda _, value: value not in ("", None, 0.0))
        return {**wire, "arguments": dict(self.arguments)}


@attrs.frozen(kw_only=True)
class AgentRun:
    """The result of a run, and its record.

    :ivar id: the name of the run.
    :ivar reason: the outcome in words, with what to do next.
    :ivar plans: facts of every planning call: model, variant, outcome, tokens, id of the call, notices.
    :ivar text: the last text of the model; only native tool turns have one.
    """

    id: str
    intent: str
    outcome: AgentOutcome
    reason: str
    steps: tuple[AgentStep, ...] = ()
    plans: tuple[Mapping[str, Any], ...] = ()
    gaps: tuple[str, ...] = ()
    spent: Spent = Spent()
    text: str = ""

    @property
    def outputs(self) -> Mapping[int, Any]:
        """The outputs of successful steps by number."""
        return {step.number: step.output for step in self.steps if step.output is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form; empty fields are left out."""
        wire: dict[str, Any] = {
            "run": self.id,
            "intent": self.intent,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "steps": [step.to_dict() for step in self.steps],
            "plans": [dict(plan) for plan in self.plans],
            "spent": {"seconds": round(self.spent.seconds, 3), "tokens": self.spent.tokens},
        }
        if self.spent.cost_usd:
            wire["spent"]["cost_usd"] = self.spent.cost_usd
        wire |= {"gaps": list(self.gaps)} if self.gaps else {}
        return wire | ({"text": self.text} if self.text else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AgentRun:
        """Return the run of its wire form."""
        return cls(
            id=data["run"],
            intent=data["intent"],
            outcome=AgentOutcome(data["outcome"]),
            reason=data["reason"],
            steps=tuple(AgentStep(**step) for step in data["steps"]),
            plans=tuple(data["plans"]),
            gaps=tuple(data.get("gaps", ())),
            spent=Spent(**data["spent"]),
            text=data.get("text", ""),
        )

    def explain(self) -> Iterator[tuple[str, str]]:
        """Yield what happened, and why, as labels and texts."""
        for plan in self.plans:
            call = f", call {plan['call_id']}" if plan.get("call_id") else ""
            tokens = f", {plan['tokens']:,} tokens" if plan.get("tokens") else ""
            yield "plan", f"{plan.get('model', '')} ({plan.get('variant', '')}): {plan['outcome']}{tokens}{call}"
        for notice in dict.fromkeys(notice for plan in self.plans for notice in plan.get("notices", ())):
            yield "notice", notice
        for step in self.steps:
            why = "; ".join(filter(None, [step.rationale, step.decision, step.warning]))
            yield f"step {step.number}", f"{step.entry_id}: {why}"
            if step.failure is not None:
                yield "failed", failure_text(step.failure)
            elif step.output is not None:
                yield "output", output_text(step.output)
        for gap in self.gaps:
            yield "gap", gap
        yield "outcome", f"{self.outcome.value}: {self.reason}"
