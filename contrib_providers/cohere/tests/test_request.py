"""Requests to Cohere."""

import json

import pytest

from helmdeck_core import (
    ChatRequest,
    FilePart,
    ImagePart,
    InvalidRequest,
    Message,
    ResponseFormat,
    Role,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from helmdeck_provider_cohere.request import render

TIDES = ToolDefinition("get_tides", "The tides of a port.", {"type": "object"})
WINDS = ToolDefinition("get_winds", "", {"type": "object"})
CALL = ToolCall("t1", "get_tides", '{"port": "Oslo"}')


def user(*texts):
    return Message(Role.USER, tuple(TextPart(text) for text in texts))


def ask(*messages, **fields):
    return ChatRequest(model="cohere/command-x", messages=messages or (user("hi"),), **fields)


def sent(request):
    return json.loads(render(request).body)


def test_minimal_request_contains_model_and_messages_only():
    assert sent(ask()) == {"model": "command-x", "messages": [{"role": "user", "content": "hi"}], "stream": False}
    assert sent(ask(stream=True))["stream"] is True


def test_limits_have_cohere_field_names():
    body = sent(ask(max_tokens=9, temperature=0.0, stop=("END",)))
    assert (body["max_tokens"], body["temperature"], body["stop_sequences"]) == (9, 0.0, ["END"])


def test_tool_calls_and_results_are_sent():
    system = Message(Role.SYSTEM, (TextPart("be "), TextPart("brief", ends_prefix=True)))
    calls = Message(Role.ASSISTANT, (), (CALL,))
    result = Message(Role.TOOL, (TextPart("high"),), tool_call_id="t1")
    messages = sent(ask(system, user("a"), calls, result))["messages"]
    function = {"name": "get_tides", "arguments": '{"port": "Oslo"}'}
    assert messages == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "tool_calls": [{"id": "t1", "type": "function", "function": function}]},
        {"role": "tool", "content": "high", "tool_call_id": "t1"},
    ]


def test_plan_and_reasoning_are_sent_back_with_calls():
    opaque = {"cohere": {"tool_plan": "first the tides", "thinking": "let me see"}}
    turn = sent(ask(user("a"), Message(Role.ASSISTANT, (), (CALL,), opaque=opaque)))["messages"][1]
    assert turn["tool_plan"] == "first the tides"
    assert turn["content"] == [{"type": "thinking", "thinking": "let me see"}]
    message = sent(ask(user("a"), Message(Role.ASSISTANT, (TextPart("hm"),), (CALL,), opaque=opaque)))["messages"][1]
    assert message["content"][1] == {"type": "text", "text": "hm"}
    for strange in ({"cohere": 3}, {"other": {"tool_plan": "no"}}):
        turn = sent(ask(user("a"), Message(Role.ASSISTANT, (), (CALL,), opaque=strange)))["messages"][1]
        assert not turn.keys() & {"tool_plan", "content"}


def test_surplus_stop_sequences_are_left_out_and_reported():
    rendered = render(ask(stop=("a", "b", "c", "d", "e", "f", "g")))
    assert json.loads(rendered.body)["stop_sequences"] == ["a", "b", "c", "d", "e"]
    assert rendered.downgrades == ("2 of 7 stop sequences left out",)


def test_images_are_sent_in_user_messages_only():
    parts = (
        TextPart("what is it"),
        ImagePart("image/png", b"\x89"),
        ImagePart("image/png", url="https://example.org/x"),
    )
    content = sent(ask(Message(Role.USER, parts)))["messages"][0]["content"]
    assert [block["type"] for block in content] == ["text", "image_url", "image_url"]
    assert content[1]["image_url"]["url"] == "data:image/png;base64,iQ=="
    with pytest.raises(InvalidRequest, match="neither data nor a URL"):
        render(ask(Message(Role.USER, (ImagePart("image/png"),))))
    with pytest.raises(InvalidRequest, match="in user messages only") as caught:
        render(ask(Message(Role.TOOL, (ImagePart("image/png", b"x"),), tool_call_id="t1")))
    assert caught.value.sub_cause == "unsupported_media"  # the next model of a chain may take it
    with pytest.raises(InvalidRequest, match="Cohere does not accept audio/wav"):
        render(ask(Message(Role.USER, (FilePart("audio/wav", b"x"),))))


@pytest.mark.parametrize(
    ("choice", "written"), [(None, None), ("auto", None), ("required", "REQUIRED"), ("none", "NONE")]
)
def test_tool_choice_is_upper_case_or_left_out(choice, written):
    body = sent(ask(tools=(TIDES, WINDS), tool_choice=choice))
    assert body.get("tool_choice") == written
    assert [tool["function"]["name"] for tool in body["tools"]] == ["get_tides", "get_winds"]


def test_named_tool_choice_sends_only_this_tool():
    body = sent(ask(tools=(TIDES, WINDS), tool_choice="get_winds"))
    assert ([tool["function"]["name"] for tool in body["tools"]], body["tool_choice"]) == (["get_winds"], "REQUIRED")
    with pytest.raises(InvalidRequest, match="unknown tool 'get_moon'.*get_tides, get_winds"):
        render(ask(tools=(TIDES, WINDS), tool_choice="get_moon"))


@pytest.mark.parametrize(
    ("response_format", "written", "downgrades"),
    [
        (ResponseFormat("json_object"), {"type": "json_object"}, ()),
        (
            ResponseFormat("json_schema", "plan", {"type": "object"}),
            {"type": "json_object", "json_schema": {"type": "object"}},
            (),
        ),
        (ResponseFormat("json_schema"), {"type": "json_object"}, ("response_format json_schema -> json_object",)),
        (ResponseFormat("grammar"), None, ("response_format grammar left out",)),
    ],
)
def test_supported_response_format_is_sent(response_format, written, downgrades):
    rendered = render(ask(response_format=response_format))
    assert json.loads(rendered.body).get("response_format") == written
    assert rendered.downgrades == downgrades


def test_response_format_with_tools_is_left_out():
    rendered = render(ask(tools=(TIDES,), response_format=ResponseFormat("json_object")))
    assert "response_format" not in json.loads(rendered.body)
    assert rendered.downgrades == ("response_format json_object left out",)


def test_continuation_is_rejected():
    with pytest.raises(InvalidRequest, match="does not continue") as caught:
        render(ask(user("a"), Message(Role.ASSISTANT, (TextPart("b"),)), continues=True))
    assert caught.value.sub_cause == "prefill_unsupported"


def test_extra_fields_are_sent_unchanged():
    assert sent(ask(extra={"safety_mode": "OFF"}))["safety_mode"] == "OFF"
    with pytest.raises(InvalidRequest, match="cannot be encoded as JSON"):
        render(ask(extra={"x": object()}))


def test_lone_surrogate_is_replaced():
    assert sent(ask(user("a\ud800b")))["messages"][0]["content"] == "a?b"
