"""The agent loop: plan, run, and plan again with the outcome, with confirmations and limits.

``Agent`` runs a request with a deck. ``AgentLoop`` is the same without I/O, for other drivers.
"""

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
