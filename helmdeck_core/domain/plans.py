"""The input of the planning packs, and their results: plans and routes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core.domain import EMPTY, present
from helmdeck_core.domain.questions import CallFacts
from helmdeck_core.domain.tasks import CompletedStep

PIPELINE_RUN = "helmdeck__pipeline-run"
"""The tool that runs a pipeline; its ``args.id`` says which."""

UNKNOWN_TOOL = "unknown"
"""The tool of a step for which the catalog has no entry."""

GAP = "gap:"
"""The prefix of such a step's rationale."""


class Complexity(enum.StrEnum):
    """The kind of a plan; derived from its steps, not from the model's claim."""

    SINGLE_ACTION = "single-action"
    PIPELINE_DIRECT = "pipeline-direct"
    PACK_CHAIN = "pack-chain"


class PlanOutcome(enum.StrEnum):
    """Whether a plan can be executed.

    ``planned``: every step names an existing entry. ``partial``: some steps are gaps. ``gap``: all steps are.
    ``complete``: nothing is left to do after the completed steps. ``no_steps``: the model returned no step.
    """

    PLANNED = "planned"
    PARTIAL = "partial"
    GAP = "gap"
    COMPLETE = "complete"
    NO_STEPS = "no_steps"


@attrs.frozen
class PlanRequest:
    """The typed input of ``helmdeck.plan`` and ``helmdeck.route``; ``from_dict`` takes what their input schema allows.

    :ivar intent: the request in plain words.
    :ivar model: ``provider/model``; ``None`` for the model of the caller.
    :ivar context: additional information for the planner.
    :ivar done: steps of an earlier plan for the same request that were executed already.
    :ivar defaults: default values by input name.

    >>> from helmdeck_core import PlanRequest
    >>> PlanRequest.from_dict({"intent": "draft a blog post"}).intent
    'draft a blog post'
    """

    intent: str
    model: str | None = None
    context: str = ""
    done: tuple[CompletedStep, ...] = ()
    defaults: Mapping[str, Any] = EMPTY

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PlanRequest:
        """Return the typed input of plain data that fits the input schema."""
        steps = data.get("done", ())
        done = tuple(CompletedStep(each["tool"], each.get("output", ""), each.get("failure", "")) for each in steps)
        return cls(**{**data, "done": done})

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form; empty fields are left out."""
        steps = [attrs.asdict(step, filter=lambda _, value: value) for step in self.done]
        wire = {"model": self.model, "context": self.context, "done": steps, "defaults": dict(self.defaults)}
        return {"intent": self.intent, **{name: value for name, value in wire.items() if value}}


MAX_ARGUMENT_CHARS = 80
"""Characters of an argument that are shown on one line."""


def _brief(value: Any) -> Any:
    if isinstance(value, str):
        short = f"{value[:MAX_ARGUMENT_CHARS]}… ({len(value):,} characters)"
        return value if len(value) <= MAX_ARGUMENT_CHARS else short
    if isinstance(value, Mapping):
        return {key: _brief(each) for key, each in value.items()}
    return [_brief(each) for each in value] if isinstance(value, (list, tuple)) else value


@attrs.frozen(kw_only=True)
class Step:
    """One step of a plan.

    :ivar tool: a pack's name, ``helmdeck__pipeline-run``, or ``unknown`` for a gap.
    :ivar problems: violations of the tool's input schema, each with the path of its field.
    :ivar missing: the required arguments among ``problems`` that are not given, such as ``text`` or ``target.id``.
    :ivar corrected_from: the name that the model wrote, where it was resolved to an existing one.
    :ivar suggestions: for a gap, the nearest existing names.
    :ivar probability: that the step is right, between 0 and 1, where the planner measures it.
    :ivar inferred_for: for a step that the request does not name, the arguments of a later step that its result has, such as
        ``channel_id``.

    >>> from helmdeck_core import Helmdeck
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     step = deck.plan("make an illustration of a lighthouse").steps[0]
    >>> step.order, step.tool, dict(step.args)
    (1, 'image.generate', {'prompt': 'lighthouse', 'style': 'illustration'})
    """

    order: int
    tool: str
    args: Mapping[str, Any] = EMPTY
    rationale: str = ""
    problems: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    corrected_from: str | None = None
    suggestions: tuple[str, ...] = ()
    probability: float | None = None
    inferred_for: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.is_gap:
            return f"{self.order}. {self.rationale}"
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.brief_args().items())
        missing = f"  # missing: {', '.join(self.missing)}" if self.missing else ""
        return f"{self.order}. {self.tool}({arguments}){missing}"

    @property
    def is_gap(self) -> bool:
        """Whether no existing entry is meant."""
        return self.tool == UNKNOWN_TOOL

    def brief_args(self) -> dict[str, Any]:
        """Return the arguments for display: long strings are shortened, with their length."""
        return {key: _brief(value) for key, value in self.args.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form; empty optional fields are left out."""
        wire = {"order": self.order, "tool": self.tool, "args": dict(self.args), "rationale": self.rationale}
        return wire | present(
            problems=list(self.problems),
            corrected_from=self.corrected_from,
            suggestions=list(self.suggestions),
            probability=self.probability,
            inferred_for=list(self.inferred_for),
        )


@attrs.frozen(kw_only=True)
class Plan(CallFacts):
    """A validated plan, with the facts of its call.

    :ivar rewritten_prompt: the steps as one numbered line each; rendered from them, so the two cannot differ.
    :ivar more_steps_likely: the request is not done with these steps: run them and plan again with their output.
    :ivar unseen_tools: tools of the plan that the selection did not show to the model.
    :ivar advice: what to do about gaps or unsure steps, in one line, if the model knows better than "add a tool".

    >>> from helmdeck_core import Helmdeck
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     plan = deck.plan("make an illustration of a lighthouse")
    >>> plan.outcome.value, [step.tool for step in plan.steps]
    ('planned', ['image.generate'])
    """

    steps: tuple[Step, ...]
    complexity: Complexity
    outcome: PlanOutcome
    rewritten_prompt: str
    reasoning: str
    prompt_variant_used: str
    more_steps_likely: bool = False
    unseen_tools: tuple[str, ...] = ()
    advice: str = ""

    def __str__(self) -> str:
        lines = [f"{self.outcome.value} by {self.model}", *map(str, self.steps)]
        return "\n".join([*lines, "more steps are likely"] if self.more_steps_likely else lines)

    @property
    def is_usable(self) -> bool:
        """Whether there is a step to execute, or nothing left to do."""
        return self.outcome in (PlanOutcome.PLANNED, PlanOutcome.PARTIAL, PlanOutcome.COMPLETE)

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form; optional fields only where they are set."""
        wire: dict[str, Any] = {
            "steps": [step.to_dict() for step in self.steps],
            "rewritten_prompt": self.rewritten_prompt,
            "complexity": self.complexity.value,
            "reasoning": self.reasoning,
            "model": self.model,
            "prompt_variant_used": self.prompt_variant_used,
            "outcome": self.outcome.value,
        }
        wire |= present(more_steps_likely=self.more_steps_likely or None, advice=self.advice)
        return wire | self.facts_to_dict() | present(unseen_tools=list(self.unseen_tools))


class RouteKind(enum.StrEnum):
    """What a route recommends."""

    PACK = "pack"
    PIPELINE = "pipeline"
    NONE = "none"


@attrs.frozen(kw_only=True)
class Recommendation:
    """One way to serve a request.

    >>> from helmdeck_core import Helmdeck
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     recommendation = deck.route("draft a blog post").recommendation
    >>> recommendation.kind.value, recommendation.id
    ('pack', 'blog.draft')
    """

    kind: RouteKind
    id: str
    why: str = ""
    suggested_inputs: Mapping[str, Any] = EMPTY

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        inputs = dict(self.suggested_inputs)
        return {"kind": self.kind.value, "id": self.id, "suggested_inputs": inputs, "why": self.why}


@attrs.frozen(kw_only=True)
class Route(CallFacts):
    """The one entry that serves a request, alternatives, and what no entry serves, with the facts of its call.

    >>> from helmdeck_core import Helmdeck
    >>> with Helmdeck(model="local/lexical") as deck:
    ...     route = deck.route("draft a blog post")
    >>> route.recommendation.id, route.gap_warning
    ('blog.draft', None)
    """

    recommendation: Recommendation
    alternatives: tuple[Recommendation, ...]
    gap_warning: str | None
    reasoning: str

    def __str__(self) -> str:
        best, others = self.recommendation, ", ".join(other.id for other in self.alternatives)
        lines = [f"{best.id or 'no entry'} by {self.model}", best.why, self.gap_warning]
        return "\n".join(filter(None, [*lines, f"alternatives: {others}" if others else ""]))

    def to_dict(self) -> dict[str, Any]:
        """Return the wire form."""
        return {
            "recommendation": self.recommendation.to_dict(),
            "alternatives": [{"kind": each.kind.value, "id": each.id, "why": each.why} for each in self.alternatives],
            "gap_warning": self.gap_warning,
            "reasoning": self.reasoning,
            "model": self.model,
            **self.facts_to_dict(),
        }
