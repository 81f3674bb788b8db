"""The gateway's chat completions: whole and streamed, recovered, in the client's dialect."""

import json
import socket

import pytest

from helmdeck_testing import OPENAI_CHAT, failing_server
from tests.helmdeck_gateway.gateway_support import finish_of_chunks, running_gateway, text_of_chunks, upstream

TOOLS = [
    {
        "type": "function",
        "function": {"name": "look_up", "description": "d", "parameters": {"type": "object", "properties": {}}},
    }
]


@pytest.fixture(scope="module")
def primary():
    with failing_server(OPENAI_CHAT, text="answer #0") as server:
        yield server


@pytest.fixture(scope="module")
def backup():
    with failing_server(OPENAI_CHAT, text="backup #0") as server:
        yield server


@pytest.fixture(scope="module")
def gateway(primary, backup):
    config = {
        "providers": {"up": upstream(primary), "spare": upstream(backup), "alone": upstream(primary)},
        "fallback": {"up/": ["spare/m"]},
        "recovery": {"backoff_s": 0.01, "cool_down_after": 0, "max_wait_s": 0.0},
        "gateway": {"models": {"fast": "up/m"}},
    }
    with running_gateway(config=config) as running:
        yield running


@pytest.fixture(autouse=True)
def healthy(primary, backup):
    primary.mode = backup.mode = "good"
    primary.requests.clear()
    backup.requests.clear()


def test_whole_response_has_the_shape_of_a_chat_completion(gateway, primary):
    answer = gateway.chat(max_tokens=50, temperature=0.5, stop="END")
    assert answer.status == 200
    (choice,) = answer.body["choices"]
    assert choice["message"]["content"] == "answer #7"
    assert (choice["index"], choice["finish_reason"]) == (0, "stop")
    assert answer.body["object"] == "chat.completion"
    assert answer.body["model"] == "up/m"
    assert answer.body["usage"]["total_tokens"] == 7
    assert answer.headers["x-helmdeck-model"] == "up/m"
    assert len(answer.headers["x-helmdeck-call-id"]) == 16
    (sent,) = primary.requests
    assert (sent.body["max_tokens"], sent.body["temperature"], sent.body["stop"]) == (50, 0.5, ["END"])


def test_stream_ends_with_one_finish_reason_usage_and_the_end_mark(gateway):
    answer = gateway.chat(stream=True, stream_options={"include_usage": True})
    assert answer.status == 200
    assert text_of_chunks(answer.events) == "answer #7"
    assert finish_of_chunks(answer.events) == ["stop"]
    *chunks, end = answer.events
    assert end == "[DONE]"
    assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["prompt_tokens"] == 5
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert {chunk["id"] for chunk in chunks} == {chunks[0]["id"]}


@pytest.mark.parametrize("mode", ["empty_stop", "unavailable", "rate_limited", "html_page", "alien_json", "cut_body"])
@pytest.mark.parametrize("stream", [False, True])
def test_failing_model_is_replaced_before_the_client_sees_anything(gateway, primary, mode, stream):
    primary.mode = mode
    answer = gateway.chat(stream=stream)
    assert answer.status == 200
    text = text_of_chunks(answer.events) if stream else answer.body["choices"][0]["message"]["content"]
    # A part of the answer that arrived is continued, not replaced.
    assert text == ('{"answer": backup #7' if mode == "cut_body" else "backup #7")
    assert answer.headers["x-helmdeck-model"] in ("spare/m", "up/m")
    if stream:
        assert finish_of_chunks(answer.events) == ["stop"]
        assert answer.events[-1] == "[DONE]"


def test_fallback_that_answers_is_named_in_header_and_body(gateway, primary):
    primary.mode = "unavailable"
    answer = gateway.chat()
    assert answer.headers["x-helmdeck-model"] == answer.body["model"] == "spare/m"
    assert int(answer.headers["x-helmdeck-attempts"]) > 1


def test_alias_is_resolved_and_stays_the_name_of_the_model(gateway, primary):
    answer = gateway.chat(model="fast")
    assert answer.body["model"] == "fast"
    assert answer.headers["x-helmdeck-model"] == "up/m"
    assert primary.requests[0].body["model"] == "m"


@pytest.mark.parametrize("stream", [False, True])
def test_tool_call_keeps_id_index_name_and_arguments(gateway, primary, stream):
    primary.mode = "tool_call"
    answer = gateway.chat(stream=stream, tools=TOOLS, tool_choice="required")
    if stream:
        deltas = [
            call
            for chunk in answer.events[:-1]
            for choice in chunk["choices"]
            for call in choice["delta"].get("tool_calls", ())
        ]
        assert {delta["index"] for delta in deltas} == {0}
        assert [delta["id"] for delta in deltas if "id" in delta] == ["call_1"]
        arguments = "".join(delta["function"]["arguments"] for delta in deltas)
        assert finish_of_chunks(answer.events) == ["tool_calls"]
    else:
        (choice,) = answer.body["choices"]
        assert choice["finish_reason"] == "tool_calls"
        (call,) = choice["message"]["tool_calls"]
        assert (call["id"], call["type"], call["function"]["name"]) == ("call_1", "function", "look_up")
        arguments = call["function"]["arguments"]
    assert json.loads(arguments) == {"word": "tide", "most": 3}


def test_tool_turn_of_the_conversation_reaches_the_model_unchanged(gateway, primary):
    call = {"id": "call_9", "type": "function", "function": {"name": "look_up", "arguments": '{"word":"tide"}'}}
    messages = [
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "say #7"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_9", "content": "high"},
    ]
    answer = gateway.send("/v1/chat/completions", {"model": "up/m", "messages": messages, "tools": TOOLS})
    assert answer.status == 200
    sent = primary.requests[0].body["messages"]
    assert sent[2]["tool_calls"] == [call]
    assert sent[3] == {"role": "tool", "tool_call_id": "call_9", "content": "high"}


def test_unknown_fields_pass_through_to_the_same_dialect(gateway, primary):
    answer = gateway.chat(seed=3, top_p=0.1, reasoning_effort="low", acme_field={"a": 1})
    assert {name: primary.requests[0].body[name] for name in ("seed", "top_p", "reasoning_effort", "acme_field")} == {
        "seed": 3,
        "top_p": 0.1,
        "reasoning_effort": "low",
        "acme_field": {"a": 1},
    }
    assert "x-helmdeck-dropped" not in answer.headers


def test_fields_without_effect_are_named_in_a_header(gateway):
    assert gateway.chat(logprobs=True, store=True).headers["x-helmdeck-dropped"] == "logprobs, store"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": [{"type": "video_url"}]}]}, "messages[0].content[0].type"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].tool_call_id"),
        ({"messages": [{"role": "user", "content": "x"}], "n": 2}, "n"),
        ({"messages": [{"role": "user", "content": "x"}], "max_tokens": -7}, "max_tokens"),
        ({"messages": [{"role": "user", "content": "x"}], "temperature": "hot"}, "temperature"),
        ({"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "mystery"}]}, "tools[0].type"),
    ],
)
def test_invalid_request_is_rejected_with_the_name_of_the_field(gateway, primary, body, param):
    answer = gateway.send("/v1/chat/completions", {"model": "up/m", **body})
    assert answer.status == 400
    assert answer.body["error"]["param"] == param
    assert answer.body["error"]["type"] == "invalid_request_error"
    if body.get("max_tokens"):
        assert "found -7" in answer.body["error"]["message"]
    assert primary.requests == []


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"a":' * 50_000])
def test_body_that_is_not_a_json_object_is_rejected(gateway, data):
    answer = gateway.send("/v1/chat/completions", data)
    assert (answer.status, answer.body["error"]["code"]) == (400, "invalid_json")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("mode", "status", "code"),
    [
        ("unauthorized", 502, "upstream_authentication"),
        ("bad_request", 400, "invalid_request"),
        ("rate_limited", 429, "rate_limit_exceeded"),
        ("unavailable", 503, "provider_unavailable"),
        ("empty_stop", 504, "likely_timeout"),
        ("empty_content_filter", 400, "content_filter"),
    ],
)
def test_failure_before_the_first_token_is_a_typed_error_with_hint_and_next_action(
    gateway, primary, mode, status, code, stream
):
    primary.mode = mode
    answer = gateway.chat(model="alone/m", stream=stream)
    assert (answer.status, answer.body["error"]["code"]) == (status, code)
    for name in ("cause", "hint", "next_action", "call_id", "attempts"):
        assert answer.body["error"][name]
    assert answer.headers["x-helmdeck-call-id"] == answer.body["error"]["call_id"]
    if mode == "rate_limited":
        assert answer.headers["retry-after"] == "7"
    assert answer.headers["x-should-retry"] == ("true" if mode == "rate_limited" else "false")


def test_unknown_model_and_url_are_404_with_the_next_step(gateway):
    unknown = gateway.chat(model="nowhere/m")
    assert (unknown.status, unknown.body["error"]["code"]) == (404, "model_not_found")
    assert gateway.send("/v1/nothing", {}).status == 404
    assert gateway.send("/v1/chat/completions", method="GET").status == 405


def test_too_large_body_is_rejected_before_it_is_read(gateway):
    headers = {"content-length": str(10**9)}
    answer = gateway.send("/v1/chat/completions", b"{}", headers=headers)
    assert (answer.status, answer.body["error"]["code"]) == (413, "request_too_large")


@pytest.mark.parametrize("stream", [False, True])
def test_disconnected_client_cancels_the_call_upstream(gateway, primary, stream):
    primary.mode = "slow_think"
    primary.arrived.clear()
    primary.dropped.clear()
    body = json.dumps({"model": "alone/m", "stream": stream, "messages": [{"role": "user", "content": "x"}]}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    port = int(gateway.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(head + body)
        assert primary.arrived.wait(60)
    assert primary.dropped.wait(60)


def test_models_health_and_metrics_are_served(gateway):
    names = [row["id"] for row in gateway.send("/v1/models", method="GET").body["data"]]
    assert {"fast", "helmdeck/plan", "up/loopback"} <= set(names)
    assert gateway.send("/v1/models/up/loopback", method="GET").body["id"] == "up/loopback"
    assert gateway.send("/v1/models/up/none", method="GET").status == 404
    assert gateway.send("/healthz", method="GET").body == {"status": "ok"}
    assert gateway.send("/readyz", method="GET").body["status"] == "ready"
    gateway.chat()
    assert 'requests_total{endpoint="chat",status="200"}' in gateway.send("/metrics", method="GET").raw.decode()


def test_structured_output_is_decoded_whatever_the_model_writes(gateway, primary):
    primary.text = 'Sure! ```json\n{"name": "#0",}\n``` Anything else?'
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "P", "schema": schema, "strict": True}}
    try:
        for stream in (False, True):
            answer = gateway.chat(response_format=wanted, stream=stream)
            text = text_of_chunks(answer.events) if stream else answer.body["choices"][0]["message"]["content"]
            assert json.loads(text) == {"name": "#7"}
    finally:
        primary.text = "answer #0"
