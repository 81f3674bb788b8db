"""The request tests of the provider contract: every field is sent, or reported as a downgrade."""

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
from helmdeck_testing.fault_server import FailingServer
from helmdeck_testing.provider_contract_runner import ContractBench, answered
from helmdeck_testing.servers import Recorded

_SCHEMA = {
    "type": "object",
    "properties": {"mark_field": {"type": "string"}},
    "required": ["mark_field"],
    "additionalProperties": False,
}
TOOL = ToolDefinition("look_up", "mark-about", _SCHEMA)

_CONVERSATION = (
    Message(Role.SYSTEM, (TextPart("mark-system"),)),
    Message(Role.USER, (TextPart("mark-first"),)),
    Message(
        Role.ASSISTANT, (TextPart("mark-answer"),), (ToolCall("call_1", "look_up", '{"mark_field": "mark-given"}'),)
    ),
    Message(Role.TOOL, (TextPart("mark-result"),), tool_call_id="call_1"),
    Message(Role.USER, (TextPart("mark-last"),)),
)

_OPTIONAL_FIELDS: dict[str, dict[str, Any]] = {
    "temperature": {"temperature": 0.25},
    "stop": {"stop": ("mark-stop",)},
    "forced tool call": {"tools": (TOOL,), "tool_choice": "look_up"},
    "no tool call": {"tools": (TOOL,), "tool_choice": "none"},
    "json_object": {"response_format": ResponseFormat("json_object")},
    "json_schema": {"response_format": ResponseFormat("json_schema", "answer", _SCHEMA)},
    "unknown format": {"response_format": ResponseFormat("mark_format")},
}

_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class RequestContract(ContractBench):
    """Tests of requests. The server's responses are good, except in the last test."""

    def sent(self, request: ChatRequest) -> tuple[Recorded, ChatResponse]:
        """Return the request that the server received, and the response."""
        response = self.run("good", lambda provider, _: answered(provider, request, streams=False))
        assert isinstance(response, ChatResponse)
        return self._server.requests[-1], response

    def test_request_contains_messages_tools_and_limit(self) -> None:
        recorded, _ = self.sent(attrs.evolve(self.request(), messages=_CONVERSATION, tools=(TOOL,)))
        wire = _wire(recorded)
        marks = ("system", "first", "answer", "given", "result", "last", "about")
        missing = [mark for mark in (*(f"mark-{mark}" for mark in marks), "look_up", "mark_field") if mark not in wire]
        assert missing == []
        assert self.server_format.limit(recorded.body) == self.request().max_tokens
        assert "loopback" in wire
        assert f"{self.name}/loopback" not in wire, "the model name contains the provider name"

    def test_roles_are_distinguished(self) -> None:
        def body(role: Role, *others: Role) -> str:
            messages = [Message(each, (TextPart(f"mark-{number}"),)) for number, each in enumerate((role, *others))]
            return json.dumps(self.sent(attrs.evolve(self.request(), messages=tuple(messages)))[0].body)

        assert body(Role.SYSTEM, Role.USER) != body(Role.USER, Role.USER)
        assert body(Role.USER, Role.ASSISTANT, Role.USER) != body(Role.USER, Role.USER, Role.USER)

    @pytest.mark.parametrize("field", _OPTIONAL_FIELDS)
    def test_optional_field_is_sent_or_reported_as_downgrade(self, field: str) -> None:
        fields = _OPTIONAL_FIELDS[field]
        plain, _ = self.sent(self.request(tools=fields.get("tools", ())))
        recorded, response = self.sent(self.request(**fields))
        assert recorded.body != plain.body or response.downgrades, f"{field}: neither sent nor in downgrades"

    def test_extra_fields_are_sent_unchanged(self) -> None:
        recorded, _ = self.sent(self.request(extra={"mark_extra": {"depth": 17}}))
        assert recorded.body["mark_extra"] == {"depth": 17}

    def test_image_is_sent_or_rejected(self) -> None:
        message = Message(Role.USER, (TextPart("what is this"), ImagePart("image/png", _PIXEL)))
        try:
            recorded, response = self.sent(attrs.evolve(self.request(), messages=(message,)))
        except InvalidRequest:
            return
        assert base64.b64encode(_PIXEL).decode() in _wire(recorded) or response.downgrades

    def test_key_is_read_for_every_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        keys = [name for name, value in self.environ.items() if value == self.SECRET]

        async def act(provider: Provider, server: FailingServer) -> list[Recorded]:
            for secret in (self.SECRET, self.SECRET[::-1]):
                for name in keys:
                    monkeypatch.setenv(name, secret)
                await provider.complete(self.request())
            return server.requests[-2:]

        if not keys:
            pytest.skip(f"no value of environ is SECRET: {self.name} needs no key")
        first, second = self.run("good", act)
        assert (first.headers, first.path, first.body) != (second.headers, second.path, second.body)

    @pytest.mark.parametrize("mode", ["rate_limited", "unavailable", "error_in_200", "redirect", "empty_stop"])
    def test_provider_sends_one_request_without_retry_or_redirect(self, mode: str) -> None:
        for streams in self.ways:
            before = len(self._server.requests)
            with contextlib.suppress(CallFailed):
                self.ask(mode, streams=streams)
            assert len(self._server.requests) - before == 1


def _wire(recorded: Recorded) -> str:
    return f"{unquote(recorded.path)} {json.dumps(recorded.body, ensure_ascii=False)}"
