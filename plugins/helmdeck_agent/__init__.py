"""The agent loop: plan, run, and plan again with the outcome, with confirmations and limits.

``Agent`` runs a request with a deck. ``AgentLoop`` is the same without I/O, for other drivers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from helmdeck_agent.agent import Agent as Agent
    from helmdeck_agent.agent import ConfirmCallback as ConfirmCallback
    from helmdeck_agent.detector import LoopDetector as LoopDetector
    from helmdeck_agent.loop import AgentLoop as AgentLoop
    from helmdeck_agent.loop import Approval as Approval
    from helmdeck_agent.loop import Confirm as Confirm
    from helmdeck_agent.loop import Finish as Finish
    from helmdeck_agent.loop import MakePlan as MakePlan
    from helmdeck_agent.loop import RunStep as RunStep
    from helmdeck_agent.policy import Policy as Policy
    from helmdeck_agent.run_data import AgentLimits as AgentLimits
    from helmdeck_agent.run_data import AgentOutcome as AgentOutcome
    from helmdeck_agent.run_data import AgentRun as AgentRun
    from helmdeck_agent.run_data import AgentStep as AgentStep
    from helmdeck_agent.run_data import Spent as Spent

_MODULES = {
    "agent": ("Agent", "ConfirmCallback"),
    "detector": ("LoopDetector",),
    "loop": ("AgentLoop", "Approval", "Confirm", "Finish", "MakePlan", "RunStep"),
    "policy": ("Policy",),
    "run_data": ("AgentLimits", "AgentOutcome", "AgentRun", "AgentStep", "Spent"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}
"""The modules are imported at the first use of a name, since the command line imports this package to find its commands."""


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
