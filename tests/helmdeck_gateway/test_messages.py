"""The gateway's Messages and Responses beyond what the matrix shows: errors, streams, tokens, stored conversations."""

import json

import pytest

from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer, failing_server
from tests.helmdeck_gateway.gateway_support import (
    DIALECTS,
    FormatServer,
    read_message_events,
    read_response,
    running_gateway,
    upstream,
)


@pytest.fixture(scope="module")
def failing():
    with failing_server(OPENAI_CHAT, text="answer #0") as server:
        yield server


@pytest.fixture(scope="module")
def scripted():
    server = FormatServer(OPENAI_CHAT)
    yield server
    server.close()


@pytest.fixture(scope="module")
def gateway(failing, scripted):
    config = {
        "providers": {"up": upstream(failing), "scripted-up": upstream(scripted)},
        "recovery": {"backoff_s": 0.01, "cool_down_after": 0, "max_wait_s": 0.0},
        "gateway": {"models": {"*": "up/m"}},
    }
    with running_gateway(config=config) as running:
        yield running


@pytest.fixture(autouse=True)
def healthy(failing, scripted):
    failing.mode = "good"
    failing.requests.clear()
    scripted.requests.clear()
    scripted.answer = ScriptedAnswer(text="hello")


def send(gateway, name, model="up/m", prompt="say #7", **fields):
    return gateway.send(DIALECTS[name].path, {"model": model, **DIALECTS[name].body(prompt), **fields})


@pytest.mark.parametrize(
    ("mode", "status", "kind"),
    [
        ("rate_limited", 429, "rate_limit_error"),
        ("unavailable", 503, "overloaded_error"),
        ("unauthorized", 502, "api_error"),
        ("bad_request", 400, "invalid_request_error"),
        ("empty_stop", 504, "timeout_error"),
    ],
)
@pytest.mark.parametrize("name", ["messages", "responses"])
@pytest.mark.parametrize("stream", [False, True])
def test_failure_before_the_first_token_has_the_status_and_shape_of_the_dialect(
    gateway, failing, name, mode, status, kind, stream
):
    failing.mode = mode
    answer = send(gateway, name, stream=stream)
    assert answer.status == status
    assert answer.body["error"]["type"] == kind
    assert answer.body["error"]["next_action"]
    if name == "messages":
        assert answer.body["type"] == "error"
        assert answer.body["request_id"] == answer.headers["x-helmdeck-call-id"]


@pytest.mark.parametrize(("name", "last"), [("chat", "error"), ("messages", "error"), ("responses", "response.failed")])
def test_stream_that_cannot_be_completed_ends_with_an_error_event(gateway, failing, name, last):
    failing.mode = "error_in_200"
    answer = send(gateway, name, stream=True)
    assert answer.status == 200
    events = [event for event in answer.events if event != "[DONE]"]
    if name == "chat":
        assert events[-1]["error"]["code"] == "provider_unavailable"
        assert not any(choice["finish_reason"] for event in events[:-1] for choice in event["choices"])
    elif name == "messages":
        assert (events[-1]["type"], events[-1]["error"]["type"]) == (last, "overloaded_error")
    else:
        assert (events[-1]["type"], events[-1]["response"]["status"]) == (last, "failed")
        assert events[-1]["response"]["error"]["code"] == "provider_unavailable"


@pytest.mark.parametrize(
    ("name", "body", "param"),
    [
        ("messages", {}, "messages"),
        ("messages", {"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "messages[0].content[0].type"),
        ("messages", {"messages": [{"role": "user", "content": "x"}], "tool_choice": {"type": "odd"}}, "tool_choice.type"),
        ("responses", {}, "input"),
        ("responses", {"input": [{"type": "function_call", "name": "f"}]}, "input[0].call_id"),
        ("responses", {"input": "x", "previous_response_id": "resp_none"}, "previous_response_id"),
    ],
)  # fmt: skip
def test_invalid_request_names_the_field(gateway, name, body, param):
    answer = gateway.send(DIALECTS[name].path, {"model": "up/m", **body})
    assert answer.status in (400, 404)
    assert answer.body["error"]["param"] == param


def test_request_of_claude_code_is_accepted_and_reported(gateway, scripted):
    text = {"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}
    body = {
        "model": "claude-x",
        "max_tokens": 32_000,
        "system": [text],
        "messages": [{"role": "user", "content": [text]}, {"role": "system", "content": [text]}],
        "thinking": {"type": "adaptive", "display": "omitted"},
        "context_management": {"edits": []},
        "output_config": {"effort": "high"},
        "metadata": {"user_id": "u"},
        "tools": [{"name": "T", "description": "d", "input_schema": {"type": "object"}, "defer_loading": True}],
        "stream": True,
    }
    answer = gateway.send("/v1/messages?beta=true", body, headers={"x-api-key": "anything"})
    assert read_message_events(answer.events).finish == "end_turn"
    assert set(answer.headers["x-helmdeck-dropped"].split(", ")) == {
        "tools.defer_loading", "thinking", "context_management", "metadata",
    }  # fmt: skip
    assert gateway.send("/api/hello", method="HEAD").status == 200


def test_tokens_are_estimated_without_a_call(gateway, failing):
    body = {"model": "up/m", "messages": [{"role": "user", "content": "hi " * 300}]}
    answer = gateway.send("/v1/messages/count_tokens", body)
    assert 300 <= answer.body["input_tokens"] <= 400
    assert failing.requests == []


def test_models_have_the_shape_of_the_client(gateway):
    answer = gateway.send("/v1/models", method="GET", headers={"anthropic-version": "2023-06-01"})
    assert answer.body["data"][0]["type"] == "model"


def test_namespace_of_a_tool_returns_with_its_call(gateway, scripted):
    from helmdeck_core import ToolCall

    scripted.answer = ScriptedAnswer(stop="tool_calls", tool_calls=(ToolCall("c1", "spawn", "{}"),))
    tool = {"type": "function", "name": "spawn", "description": "d", "parameters": {"type": "object"}}
    tools = [{"type": "namespace", "name": "agents", "tools": [tool]}, {"type": "web_search"}]
    for stream in (False, True):
        answer = send(gateway, "responses", "scripted-up/m", tools=tools, stream=stream)
        payload = answer.events[-1]["response"] if stream else answer.body
        (call,) = payload["output"]
        assert (call["name"], call["namespace"]) == ("spawn", "agents")
        assert answer.headers["x-helmdeck-dropped"] == "tools.web_search"


@pytest.mark.parametrize("stream", [False, True])
def test_stored_response_is_continued_without_its_instructions(gateway, scripted, stream):
    scripted.answer = ScriptedAnswer(text="Bond")
    first = send(gateway, "responses", "scripted-up/m", "my name is Bond", instructions="be brief", stream=stream)
    payload = first.events[-1]["response"] if stream else first.body
    scripted.requests.clear()
    send(gateway, "responses", "scripted-up/m", "who am I?", previous_response_id=payload["id"], instructions="rhyme")
    assert [(each["role"], each["content"]) for each in scripted.requests[0].body["messages"]] == [
        ("system", "rhyme"),
        ("user", "my name is Bond"),
        ("assistant", "Bond"),
        ("user", "who am I?"),
    ]
    shown = gateway.send(f"/v1/responses/{payload['id']}", method="GET")
    assert read_response(shown.body).text == "Bond"
    assert gateway.send(f"/v1/responses/{payload['id']}", method="DELETE").body["deleted"]
    assert gateway.send(f"/v1/responses/{payload['id']}", method="GET").status == 404


def test_response_that_is_not_to_be_stored_is_not(gateway, scripted):
    answer = send(gateway, "responses", "scripted-up/m", store=False)
    assert gateway.send(f"/v1/responses/{answer.body['id']}", method="GET").status == 404


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_structured_output_is_enforced_in_every_dialect(gateway, failing, name, stream):
    schema = {
        "type": "object",
        "properties": {"n": {"type": "string"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    fields = {
        "chat": {"response_format": {"type": "json_schema", "json_schema": {"name": "P", "schema": schema}}},
        "messages": {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
        "responses": {"text": {"format": {"type": "json_schema", "name": "P", "schema": schema}}},
    }[name]
    failing.text = "Here it is: {'n': '#0',}"
    try:
        answer = send(gateway, name, stream=stream, **fields)
        read = DIALECTS[name].streamed(answer.events) if stream else DIALECTS[name].whole(answer.body)
        assert json.loads(read.text) == {"n": "#7"}
    finally:
        failing.text = "answer #0"
