"""What the agent loop asks of its driver, and the settings of a loop."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from helmdeck_runs.agent.run_data import AgentOutcome, AgentStep


class Approval(enum.Enum):
    """Who confirms steps."""

    ALL = "all"
    ASK = "ask"
    NONE = "none"


class AtMissing(enum.Enum):
    """What happens before a step whose required arguments are missing."""

    ASK = "ask"
    PLAN_AGAIN = "plan_again"
    """The planner gets one more chance to give them, and nothing is executed meanwhile; then the run ends."""
    RUN = "run"
    """The step runs and fails, and the planner gets its failure."""


@attrs.frozen
class MakePlan:
    """Ask the planner.

    :ivar number: of the planning call, from 1.
    :ivar done: executed steps in the wire form of ``PlanRequest``.
    """

    number: int
    done: Sequence[Mapping[str, str]]


@attrs.frozen
class Confirm:
    """Ask for a confirmation of a step; ``key`` identifies the entry and its arguments."""

    step: AgentStep
    key: str


@attrs.frozen
class AskInputs:
    """Ask for arguments of a step that its plan does not give; ``missing`` has their schemas by name."""

    step: AgentStep
    missing: Mapping[str, Mapping[str, Any]]


@attrs.frozen
class RunStep:
    """Execute a step."""

    step: AgentStep


@attrs.frozen
class Finish:
    """The run is over."""

    outcome: AgentOutcome
    reason: str


Action = MakePlan | Confirm | AskInputs | RunStep | Finish
