"""The part of the contract of providers that is about requests: all that is asked is sent, or it is said that it was not."""

from __future__ import annotations

import base64
import contextlib
import json
from typing import Any
from urllib.parse import unquote

import attrs
import pytest

from helmdeck_core import (
    CallFailed,
    ChatRequest,
    ChatResponse,
    ImagePart,
    InvalidRequest,
    Message,
    Provider,
    ResponseFormat,
    Role,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from helmdeck_testing.contract_runner import ContractBench, answered
from helmdeck_testing.fault_server import FailingServer
from helmdeck_testing.servers import Recorded

_SCHEMA = {
    "type": "object",
    "properties": {"mark_field": {"type": "string"}},
    "required": ["mark_field"],
    "additionalProperties": False,
}
TOOL = ToolDefinition("look_up", "mark-about", _SCHEMA)

_TALK = (
    Message(Role.SYSTEM, (TextPart("mark-system"),)),
    Message(Role.USER, (TextPart("mark-first"),)),
    Message(
        Role.ASSISTANT, (TextPart("mark-answer"),), (ToolCall("call_1", "look_up", '{"mark_field": "mark-given"}'),)
    ),
    Message(Role.TOOL, (TextPart("mark-result"),), tool_call_id="call_1"),
    Message(Role.USER, (TextPart("mark-last"),)),
)

_WISHES: dict[str, dict[str, Any]] = {
    "temperature": {"temperature": 0.25},
    "stop": {"stop": ("mark-stop",)},
    "a tool that has to be called": {"tools": (TOOL,), "tool_choice": "look_up"},
    "no tool to be called": {"tools": (TOOL,), "tool_choice": "none"},
    "json_object": {"response_format": ResponseFormat("json_object")},
    "json_schema": {"response_format": ResponseFormat("json_schema", "answer", _SCHEMA)},
    "a format that nobody knows": {"response_format": ResponseFormat("mark_format")},
}

_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class RequestContract(ContractBench):
    """What is asked. The server's answers are good ones, but for the last tests."""

    def sent(self, request: ChatRequest) -> tuple[Recorded, ChatResponse]:
        """What the server got for a request, and what came of it."""
        response = self.run("good", lambda provider, _: answered(provider, request, streams=False))
        assert isinstance(response, ChatResponse)
        return self._server.requests[-1], response

    def test_everything_that_is_asked_is_sent(self) -> None:
        recorded, _ = self.sent(attrs.evolve(self.request(), messages=_TALK, tools=(TOOL,)))
        wire = _wire(recorded)
        marks = ("system", "first", "answer", "given", "result", "last", "about")
        missing = [mark for mark in (*(f"mark-{mark}" for mark in marks), "look_up", "mark_field") if mark not in wire]
        assert missing == []
        assert self.server_format.limit(recorded.body) == self.request().max_tokens
        assert "loopback" in wire
        assert f"{self.name}/loopback" not in wire, "the provider's own name is no part of the model's"

    def test_who_said_what_is_told_apart(self) -> None:
        def talk(role: Role, *others: Role) -> str:
            said = [Message(each, (TextPart(f"mark-{number}"),)) for number, each in enumerate((role, *others))]
            return json.dumps(self.sent(attrs.evolve(self.request(), messages=tuple(said)))[0].body)

        assert talk(Role.SYSTEM, Role.USER) != talk(Role.USER, Role.USER)
        assert talk(Role.USER, Role.ASSISTANT, Role.USER) != talk(Role.USER, Role.USER, Role.USER)

    @pytest.mark.parametrize("wish", _WISHES)
    def test_what_is_wished_is_sent_or_said_to_be_left_out(self, wish: str) -> None:
        fields = _WISHES[wish]
        plain, _ = self.sent(self.request(tools=fields.get("tools", ())))
        recorded, response = self.sent(self.request(**fields))
        assert recorded.body != plain.body or response.downgrades, f"{wish}: neither sent nor in downgrades"

    def test_fields_of_the_callers_own_are_sent_as_they_are(self) -> None:
        recorded, _ = self.sent(self.request(extra={"mark_extra": {"depth": 17}}))
        assert recorded.body["mark_extra"] == {"depth": 17}

    def test_an_image_is_sent_or_refused(self) -> None:
        message = Message(Role.USER, (TextPart("what is this"), ImagePart("image/png", _PIXEL)))
        try:
            recorded, response = self.sent(attrs.evolve(self.request(), messages=(message,)))
        except InvalidRequest:
            return
        assert base64.b64encode(_PIXEL).decode() in _wire(recorded) or response.downgrades

    def test_the_key_is_read_for_every_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        keys = [name for name, value in self.environ.items() if value == self.SECRET]

        async def act(provider: Provider, server: FailingServer) -> list[Recorded]:
            for secret in (self.SECRET, self.SECRET[::-1]):
                for name in keys:
                    monkeypatch.setenv(name, secret)
                await provider.complete(self.request())
            return server.requests[-2:]

        if not keys:
            pytest.skip(f"no variable of environ holds the secret: {self.name} needs no key")
        first, second = self.run("good", act)
        assert (first.headers, first.path, first.body) != (second.headers, second.path, second.body)

    @pytest.mark.parametrize("mode", ["rate_limited", "unavailable", "error_in_200", "redirect", "empty_stop"])
    def test_it_asks_once_and_goes_nowhere_else(self, mode: str) -> None:
        for streams in self.ways:
            before = len(self._server.requests)
            with contextlib.suppress(CallFailed):
                self.ask(mode, streams=streams)
            assert len(self._server.requests) - before == 1


def _wire(recorded: Recorded) -> str:
    return f"{unquote(recorded.path)} {json.dumps(recorded.body, ensure_ascii=False)}"
