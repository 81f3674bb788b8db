"""What a planner gives back: plans and routes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.domain.catalog import TrimRecord
from helmdeck_core.domain.chat import Usage
from helmdeck_core.domain.questions import FilterCall
from helmdeck_core.errors import Attempt

PIPELINE_RUN = "helmdeck__pipeline-run"
"""The tool that runs a pipeline; its ``args.id`` says which."""

UNKNOWN_TOOL = "unknown"
"""What a step's tool becomes when nothing in the catalog is meant by it."""

GAP = "gap:"
"""How the rationale of such a step starts."""


class Complexity(enum.StrEnum):
    """What kind of plan it is; derived from the steps, whatever a model claims."""

    SINGLE_ACTION = "single-action"
    PIPELINE_DIRECT = "pipeline-direct"
    PACK_CHAIN = "pack-chain"


class PlanOutcome(enum.StrEnum):
    """Whether a plan can be run.

    ``planned``: every step names something that exists. ``partial``: some steps are gaps. ``gap``: all are.
    ``complete``: nothing is left to do after the steps that were run. ``no_steps``: the model gave no step at all.
    """

    PLANNED = "planned"
    PARTIAL = "partial"
    GAP = "gap"
    COMPLETE = "complete"
    NO_STEPS = "no_steps"


LONGEST_IN_A_LINE = 80
"""Characters of a text that a line for people shows."""


def _brief(value: Any) -> Any:
    if isinstance(value, str):
        cut = f"{value[:LONGEST_IN_A_LINE]}… ({len(value):,} characters)"
        return value if len(value) <= LONGEST_IN_A_LINE else cut
    if isinstance(value, Mapping):
        return {key: _brief(each) for key, each in value.items()}
    return [_brief(each) for each in value] if isinstance(value, (list, tuple)) else value


@attrs.frozen(kw_only=True)
class Step:
    """One step of a plan.

    :ivar tool: a pack's name, ``helmdeck__pipeline-run``, or ``unknown`` for a gap.
    :ivar problems: what does not fit the tool's input schema, each with its field's path.
    :ivar missing: the required arguments among ``problems`` that are not given, such as ``text`` or ``target.id``.
    :ivar corrected_from: the name as the model wrote it, where it was resolved to a real one.
    :ivar suggestions: for a gap, the nearest names that exist.
    """

    order: int
    tool: str
    args: Mapping[str, Any] = EMPTY
    rationale: str = ""
    problems: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    corrected_from: str | None = None
    suggestions: tuple[str, ...] = ()

    @property
    def is_gap(self) -> bool:
        """Whether nothing that exists is meant."""
        return self.tool == UNKNOWN_TOOL

    def brief_args(self) -> dict[str, Any]:
        """The arguments for a line that people read: long texts are cut, with their length."""
        return {key: _brief(value) for key, value in self.args.items()}

    def to_dict(self) -> dict[str, Any]:
        """The wire form; what is empty among the additions is left out."""
        wire: dict[str, Any] = {
            "order": self.order,
            "tool": self.tool,
            "args": dict(self.args),
            "rationale": self.rationale,
        }
        if self.problems:
            wire["problems"] = list(self.problems)
        if self.corrected_from is not None:
            wire["corrected_from"] = self.corrected_from
        if self.suggestions:
            wire["suggestions"] = list(self.suggestions)
        return wire


@attrs.frozen(kw_only=True)
class Plan:
    """A validated plan.

    :ivar rewritten_prompt: the steps as one numbered line each; rendered from them, so the two cannot differ.
    :ivar model: the model that was asked; ``served_model`` is who answered, in the provider's words.
    :ivar more_steps_likely: the request is not done with these steps: run them and ask again with their output.
    :ivar compaction: what was cut from the catalog; ``None`` when the model saw all of it.
    :ivar unseen_tools: tools that the plan uses although the selection had not shown them to the model.
    :ivar usage: tokens of all calls, the filter call included; ``latency_s`` likewise.
    :ivar repairs: decode steps that had to repair the answer.
    :ivar filter: the call before that settled which entries to send; ``None`` when there was none.
    :ivar requested_model: the model that was asked for; another one than ``model`` where a fallback answered.
    :ivar attempts: everything that was tried, the one that gave the plan last.
    :ivar rejected_usage: tokens of the attempts that gave nothing usable; ``usage`` does not count them.
    :ivar cost_usd: US dollars of all attempts; ``None`` where a price is not known.
    :ivar saved_usd: US dollars that the input would have cost more without the provider's cache; ``None`` likewise.
    :ivar call_id: what log lines and other events of the call have in common.
    """

    steps: tuple[Step, ...]
    complexity: Complexity
    outcome: PlanOutcome
    rewritten_prompt: str
    reasoning: str
    model: str
    prompt_variant_used: str
    more_steps_likely: bool = False
    compaction: TrimRecord | None = None
    served_model: str = ""
    usage: Usage = Usage()
    latency_s: float = 0.0
    unseen_tools: tuple[str, ...] = ()
    repairs: tuple[str, ...] = ()
    downgrades: tuple[str, ...] = ()
    filter: FilterCall | None = None
    requested_model: str = ""
    attempts: tuple[Attempt, ...] = ()
    rejected_usage: Usage = Usage()
    cost_usd: float | None = None
    saved_usd: float | None = None
    call_id: str = ""

    @property
    def is_usable(self) -> bool:
        """Whether there is a step to run, or nothing left to do."""
        return self.outcome in (PlanOutcome.PLANNED, PlanOutcome.PARTIAL, PlanOutcome.COMPLETE)

    def to_dict(self) -> dict[str, Any]:
        """The wire form: additions only where they say something."""
        wire: dict[str, Any] = {
            "steps": [step.to_dict() for step in self.steps],
            "rewritten_prompt": self.rewritten_prompt,
            "complexity": self.complexity.value,
            "reasoning": self.reasoning,
            "model": self.model,
            "prompt_variant_used": self.prompt_variant_used,
            "outcome": self.outcome.value,
        }
        if self.more_steps_likely:
            wire["more_steps_likely"] = True
        wire.update(_additions(self))
        if self.unseen_tools:
            wire["unseen_tools"] = list(self.unseen_tools)
        return wire


class RouteKind(enum.StrEnum):
    """What a route recommends."""

    PACK = "pack"
    PIPELINE = "pipeline"
    NONE = "none"


@attrs.frozen(kw_only=True)
class Recommendation:
    """One way to serve a request."""

    kind: RouteKind
    id: str
    why: str = ""
    suggested_inputs: Mapping[str, Any] = EMPTY

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "kind": self.kind.value,
            "id": self.id,
            "suggested_inputs": dict(self.suggested_inputs),
            "why": self.why,
        }


@attrs.frozen(kw_only=True)
class Route:
    """The one entry that serves a request, others that could, and what none of them can do."""

    recommendation: Recommendation
    alternatives: tuple[Recommendation, ...]
    gap_warning: str | None
    reasoning: str
    model: str
    compaction: TrimRecord | None = None
    served_model: str = ""
    usage: Usage = Usage()
    latency_s: float = 0.0
    repairs: tuple[str, ...] = ()
    downgrades: tuple[str, ...] = ()
    filter: FilterCall | None = None
    requested_model: str = ""
    attempts: tuple[Attempt, ...] = ()
    rejected_usage: Usage = Usage()
    cost_usd: float | None = None
    saved_usd: float | None = None
    call_id: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "recommendation": self.recommendation.to_dict(),
            "alternatives": [
                {"kind": other.kind.value, "id": other.id, "why": other.why} for other in self.alternatives
            ],
            "gap_warning": self.gap_warning,
            "reasoning": self.reasoning,
            "model": self.model,
            **_additions(self),
        }


def _additions(result: Plan | Route) -> dict[str, Any]:
    wire: dict[str, Any] = {}
    if result.compaction is not None:
        wire["compaction"] = result.compaction.to_dict()
    if result.filter is not None:
        wire["filter"] = result.filter.to_dict()
    if result.served_model and result.served_model not in (result.model, result.model.partition("/")[2]):
        wire["served_model"] = result.served_model
    if result.usage != Usage():
        wire["usage"] = attrs.asdict(result.usage)
    if result.requested_model and result.requested_model != result.model:
        wire["requested_model"] = result.requested_model
    if len(result.attempts) > 1:
        wire["attempts"] = [attempt.to_dict() for attempt in result.attempts]
    if result.rejected_usage != Usage():
        wire["rejected_usage"] = attrs.asdict(result.rejected_usage)
    if result.cost_usd is not None:
        wire["cost_usd"] = result.cost_usd
    if result.saved_usd:
        wire["saved_usd"] = result.saved_usd
    if result.call_id:
        wire["call_id"] = result.call_id
    for name in ("repairs", "downgrades"):
        if value := getattr(result, name):
            wire[name] = list(value)
    return wire
