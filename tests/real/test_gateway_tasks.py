"""Unmodified agents correct a file over ``helmdeck serve`` and a weak model that fails at every step.

``GATEWAY_TEST_CLIENTS`` names folders with the agents, which ``benchmarks/gateway_clients/install.sh FOLDER`` installs.
"""

import pytest

from benchmarks.gateway_agents.__main__ import run_task
from benchmarks.gateway_agents.model import FAULTS
from benchmarks.gateway_clients.programs import AGENTS


@pytest.mark.parametrize("name", AGENTS)
def test_agent_corrects_a_file_although_every_step_fails_first(tmp_path, name):
    agent = AGENTS[name]
    if reason := agent.reason():
        pytest.skip(reason)
    result = run_task(agent, tmp_path)
    assert (result.passes, result.ran.status) == (True, 0), result
    faults = [step.partition(": ")[2] for step in result.steps if ": " in step]
    assert faults == FAULTS["file"], result.steps
