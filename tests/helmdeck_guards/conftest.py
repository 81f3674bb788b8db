"""Runs one request through a session of guards."""

import asyncio

import pytest

from helmdeck_core import ChatRequest, Message, Role, TextPart


class Run:
    """Returns the text of a request after the guards."""

    def __call__(self, session, parts):
        return self.request(session, parts).messages[0].text

    def request(self, session, parts, tool_calls=(), **fields):
        """Return the whole request."""
        message = Message(Role.USER, tuple(map(TextPart, parts)), tool_calls)
        return asyncio.run(session.check_request(ChatRequest(model="up/m", messages=(message,), **fields)))


@pytest.fixture
def run():
    return Run()
