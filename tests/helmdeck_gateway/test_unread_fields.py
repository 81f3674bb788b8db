"""Fields inside of messages and tools that no model gets are named in a header; fields that the gateway itself writes are not."""

import contextlib

import pytest

from helmdeck_core import ToolCall
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.helmdeck_gateway.gateway_support import FormatServer, running_gateway, upstream

MARKER = {"type": "ephemeral"}
PIXEL = "data:image/png;base64,iVBORw0KGgo="
SCHEMA = {"type": "object", "properties": {}}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


@pytest.fixture
def scripted():
    with contextlib.closing(FormatServer(OPENAI_CHAT)) as server:
        yield server


@pytest.fixture
def gateway(scripted):
    scripted.answer = ScriptedAnswer(text="hello")
    with running_gateway(config={"providers": {"up": upstream(scripted)}}) as gateway:
        yield gateway


def dropped(answer):
    assert answer.status == 200, answer.body
    return [each for each in answer.headers.get("x-helmdeck-dropped", "").split(", ") if each]


def user(*parts, **fields):
    return [{"role": "user", "content": list(parts), **fields}]


def chat_tool(function=(), **fields):
    return {"type": "function", "function": {"name": "look", "parameters": SCHEMA, **dict(function)}, **fields}


@pytest.mark.parametrize(
    ("messages", "fields", "names"),
    [
        (user({"type": "image_url", "image_url": {"url": PIXEL, "detail": "high"}}), {}, ["image_url.detail"]),
        (user({"type": "text", "text": "x", "cache_control": MARKER}, name="Ann"), {}, ["text.cache_control", "messages.name"]),
        (user({"type": "image_url", "image_url": PIXEL, "cache_control": MARKER}), {}, ["image_url.cache_control"]),
        (user({"type": "text", "text": "x"}, cache_control=MARKER) * 2, {}, ["messages.cache_control"]),
        (user({"type": "text", "text": "x"}), {"tools": [chat_tool({"acme": 1}, cache_control=MARKER)]},
         ["tools.cache_control", "tools.function.acme"]),
        ([*user({"type": "text", "text": "x"}), {"role": "assistant", "tool_calls": [{**CALL, "extra_content": {"a": 1}}]},
          {"role": "tool", "tool_call_id": "c1", "content": "found", "name": "look"}], {},
         ["tool_calls.extra_content", "messages.name"]),
        ([*user({"type": "text", "text": "x"}), {"role": "assistant", "content": "y", "reasoning_content": "hm"}], {},
         ["messages.reasoning_content"]),
    ],
    ids=["detail", "text and name", "image", "message", "tool", "call and result", "reasoning"],
)  # fmt: skip
def test_fields_of_chat_messages_and_tools_are_named(gateway, messages, fields, names):
    assert dropped(gateway.chat(messages=messages, **fields)) == names


@pytest.mark.parametrize(
    ("item", "names"),
    [
        ({"role": "user", "content": [{"type": "input_image", "image_url": PIXEL, "detail": "low"}]}, ["input_image.detail"]),
        ({"role": "user", "content": "x", "name": "Ann"}, ["message.name"]),
        ({"role": "user", "content": [{"type": "input_text", "text": "x", "cache_control": MARKER}]},
         ["input_text.cache_control"]),
    ],
    ids=["detail", "name", "text"],
)  # fmt: skip
def test_fields_of_response_items_are_named(gateway, item, names):
    assert dropped(gateway.send("/v1/responses", {"model": "up/m", "input": [item]})) == names


def test_fields_of_response_tools_are_named(gateway):
    tool = {"type": "function", "name": "look", "parameters": SCHEMA, "strict": False, "defer_loading": True}
    custom = {"type": "custom", "name": "draw", "format": {"type": "text"}, "acme": 1}
    answer = gateway.send("/v1/responses", {"model": "up/m", "input": "x", "tools": [tool, custom]})
    assert dropped(answer) == ["tools.defer_loading", "tools.acme"]


@pytest.mark.parametrize("name", ["snake", "camel"])
def test_fields_of_gemini_contents_and_tools_are_named(gateway, name):
    video, data, config = (
        ("video_metadata", "inline_data", "retrieval_config")
        if name == "snake"
        else ("videoMetadata", "inlineData", "retrievalConfig")
    )
    pixel = {"mimeType": "image/png", "data": PIXEL.partition(",")[2], "acme": 1}
    result = {"name": "look", "response": {"n": 1}, "scheduling": "SILENT"}
    contents = [
        {"role": "user", "parts": [{data: pixel, video: {"fps": 1}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}, "willContinue": True}}]},
        {"role": "user", "parts": [{"functionResponse": result}]},
    ]
    body = {
        "contents": contents,
        "tools": [{"functionDeclarations": [{"name": "look", "behavior": "BLOCKING", "response": {"type": "OBJECT"}}]}],
        "toolConfig": {config: {"languageCode": "de"}, "functionCallingConfig": {"mode": "AUTO", "acme": 1}},
    }
    assert sorted(dropped(gateway.send("/v1beta/models/up%2Fm:generateContent", body))) == [
        "functionCall.willContinue", "functionResponse.scheduling", "inlineData.acme", "parts.videoMetadata",
        "toolConfig.functionCallingConfig.acme", "toolConfig.retrievalConfig",
        "tools.functionDeclarations.behavior", "tools.functionDeclarations.response",
    ]  # fmt: skip


def test_answers_that_a_client_sends_back_drop_nothing(gateway, scripted):
    scripted.answer = ScriptedAnswer(text="I look", stop="tool_calls", tool_calls=(ToolCall("c1", "look", "{}"),))
    first = gateway.chat(tools=[chat_tool()])
    message = first.body["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": "c1", "content": "found"}
    assert (
        dropped(gateway.chat(messages=[{"role": "user", "content": "x"}, message, result], tools=[chat_tool()])) == []
    )
    tools = [{"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "look", "parameters": SCHEMA}]}]
    first = gateway.send("/v1/responses", {"model": "up/m", "input": "x", "tools": tools})
    items = [*first.body["output"], {"type": "function_call_output", "call_id": "c1", "output": "found"}]
    assert dropped(gateway.send("/v1/responses", {"model": "up/m", "input": items, "tools": tools})) == []
