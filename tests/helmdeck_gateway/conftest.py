"""The provider behind the gateways of this folder, for modules that define no other one."""

import pytest

from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.helmdeck_gateway.gateway_support import FormatServer


@pytest.fixture(scope="module")
def server():
    running = FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello"))
    yield running
    running.close()


@pytest.fixture
def sent(server):
    """The requests that the provider gets during a test."""
    server.requests.clear()
    return server.requests
