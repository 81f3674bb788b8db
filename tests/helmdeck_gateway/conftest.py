"""The providers behind the gateways of this folder, for modules that define no other one."""

import contextlib

import pytest

from helmdeck_testing import OPENAI_CHAT, SERVER_FORMATS, ScriptedAnswer
from tests.helmdeck_gateway.gateway_support import FormatServer


@pytest.fixture(scope="module")
def server():
    running = FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello"))
    yield running
    running.close()


@pytest.fixture(scope="module")
def servers():
    """A provider of every family by name."""
    with contextlib.ExitStack() as stack:
        running = {name: FormatServer(server_format) for name, server_format in SERVER_FORMATS.items()}
        for each in running.values():
            stack.callback(each.close)
        yield running


@pytest.fixture
def sent(server):
    """The requests that the provider gets during a test."""
    server.requests.clear()
    return server.requests
