"""Requests to Bedrock."""

import base64
import json
import re

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
from helmdeck_provider_bedrock.request import OPAQUE, path, render

CLAUDE = "bedrock/eu.anthropic.claude-x-v1:0"
TIDES = ToolDefinition("get_tides", "The tides of a port.", {"type": "object"})
CALL = ToolCall("t1", "get_tides", '{"port": "Oslo"}')


def user(*texts):
    return Message(Role.USER, tuple(TextPart(text) for text in texts))


def ask(*messages, model=CLAUDE, **fields):
    return ChatRequest(model=model, messages=messages or (user("hi"),), **fields)


def sent(request, **options):
    return json.loads(render(request, cache_models=("anthropic.claude",), **options).body)


def test_minimal_request_contains_only_messages():
    assert sent(ask()) == {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}


def test_model_is_quoted_as_one_path_segment():
    assert path(ask()) == "/model/eu.anthropic.claude-x-v1%3A0/converse"
    assert path(ask(stream=True)).endswith("/converse-stream")
    profile = ask(model="bedrock/arn:aws:bedrock:eu-north-1:1:inference-profile/eu.model")
    assert path(profile) == "/model/arn%3Aaws%3Abedrock%3Aeu-north-1%3A1%3Ainference-profile%2Feu.model/converse"


def test_limits_are_in_inference_config():
    limits = sent(ask(max_tokens=9, temperature=0.0, stop=("END",)))["inferenceConfig"]
    assert limits == {"maxTokens": 9, "temperature": 0.0, "stopSequences": ["END"]}


def test_system_messages_are_a_separate_field():
    body = sent(ask(Message(Role.SYSTEM, (TextPart("be brief"),)), user("hi")))
    assert body["system"] == [{"text": "be brief"}]
    assert [message["role"] for message in body["messages"]] == ["user"]


def test_cached_prefix_ends_with_a_cache_point():
    system = Message(Role.SYSTEM, (TextPart("be brief", ends_prefix=True), TextPart("today")))
    point = {"cachePoint": {"type": "default"}}
    assert sent(ask(system, user("hi")))["system"] == [{"text": "be brief"}, point, {"text": "today"}]
    other = ask(system, user("hi"), model="bedrock/meta.llama-x")
    assert sent(other)["system"] == [{"text": "be brief"}, {"text": "today"}]


def test_consecutive_messages_of_one_role_are_joined():
    results = [Message(Role.TOOL, (TextPart(text),), tool_call_id=text) for text in ("t1", "t2")]
    calls = Message(Role.ASSISTANT, (), (CALL, ToolCall("t2", "get_tides", "")))
    messages = sent(ask(user("a"), calls, *results, user("b")))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert [block["toolUse"]["input"] for block in messages[1]["content"]] == [{"port": "Oslo"}, {}]
    assert [next(iter(block)) for block in messages[2]["content"]] == ["toolResult", "toolResult", "text"]
    assert messages[2]["content"][0]["toolResult"] == {"toolUseId": "t1", "content": [{"text": "t1"}]}


def test_ids_that_the_api_does_not_accept_are_replaced_and_stay_different():
    given = ["call-1", "call|1.é", "call|1.è", "", "x" * 70 + "1", "x" * 70 + "2"]
    calls = Message(Role.ASSISTANT, (), tuple(ToolCall(each, "get_tides", "{}") for each in given))
    results = [Message(Role.TOOL, (TextPart("x"),), tool_call_id=each) for each in given]
    _, called, answered = sent(ask(user("a"), calls, *results))["messages"]
    ids = [block["toolUse"]["toolUseId"] for block in called["content"]]
    assert ids == [block["toolResult"]["toolUseId"] for block in answered["content"]]
    assert ids[0] == "call-1"
    assert len(set(ids)) == len(given)
    assert all(re.fullmatch("[a-zA-Z0-9_-]{1,64}", each) for each in ids)


def test_whitespace_only_texts_are_left_out():
    body = sent(ask(user("", " \n"), Message(Role.ASSISTANT, (TextPart(""),)), user("hi")))
    assert body["messages"] == [{"role": "user", "content": [{"text": "hi"}]}]
    empty = Message(Role.TOOL, (), tool_call_id="t1")
    assert sent(ask(empty))["messages"][0]["content"][0]["toolResult"]["content"] == [{"text": "(empty)"}]


def test_images_are_sent_as_data_or_s3_location():
    parts = (ImagePart("image/png", b"\x89"), ImagePart("image/jpeg", url="s3://bucket/tide.jpg"))
    first, second = sent(ask(Message(Role.USER, parts)))["messages"][0]["content"]
    assert first == {"image": {"format": "png", "source": {"bytes": base64.b64encode(b"\x89").decode()}}}
    assert second == {"image": {"format": "jpeg", "source": {"s3Location": {"uri": "s3://bucket/tide.jpg"}}}}
    whole = Message(Role.USER, (ImagePart("image/png", url="data:image/gif;base64,iQ=="),))
    assert sent(ask(whole))["messages"][0]["content"] == [{"image": {"format": "gif", "source": {"bytes": "iQ=="}}}]


def test_documents_have_a_format_a_valid_name_of_their_own_and_a_text_beside_them():
    parts = (
        FilePart("application/pdf", b"%PDF", name="tide table_2026.v2.pdf"),
        FilePart("text/csv", b"a", name="x.csv"),
    )
    again = Message(Role.TOOL, (FilePart("text/csv", url="s3://bucket/x.csv", name="x.csv"),), tool_call_id="c1")
    first, second, result, text = sent(ask(Message(Role.USER, parts), again))["messages"][0]["content"]
    data = base64.b64encode(b"%PDF").decode()
    assert first == {"document": {"format": "pdf", "name": "tide table 2026 v2", "source": {"bytes": data}}}
    assert second["document"]["name"] == "x"
    assert text["text"]
    (third,) = result["toolResult"]["content"]
    assert third["document"] == {
        "format": "csv",
        "name": "x (2)",
        "source": {"s3Location": {"uri": "s3://bucket/x.csv"}},
    }
    named = sent(ask(Message(Role.USER, (TextPart("sum"), FilePart("text/plain; charset=utf-8", b"1")))))["messages"]
    assert [list(block) for block in named[0]["content"]] == [["text"], ["document"]]
    assert named[0]["content"][1]["document"]["name"] == "document"


def test_images_of_other_roles_are_in_the_next_message_of_the_user():
    drawn = Message(Role.ASSISTANT, (TextPart("A tide."), ImagePart("image/png", b"x")))
    shown = Message(Role.SYSTEM, (TextPart("The logo:"), ImagePart("image/png", b"y")))
    written = sent(ask(shown, user("draw"), drawn, user("bluer")))
    assert written["system"] == [{"text": "The logo:"}]
    kinds = [(turn["role"], [next(iter(block)) for block in turn["content"]]) for turn in written["messages"]]
    assert kinds == [("user", ["text", "image", "text"]), ("assistant", ["text"]), ("user", ["text", "image", "text"])]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (FilePart("application/pdf", url="https://example.org/x.pdf"), "does not fetch documents"),
        (ImagePart("image/tiff", b"x"), "does not accept image/tiff: supported: text, gif images, jpeg images"),
        (ImagePart("image/png", url="https://example.org/x.png"), "does not fetch images"),
        (ImagePart("image/png"), "neither data nor a URL"),
        (FilePart("audio/wav", b"x"), "Bedrock does not accept audio/wav"),
    ],
)
def test_unsupported_image_is_rejected_before_sending(part, message):
    with pytest.raises(InvalidRequest, match=message) as caught:
        render(ask(Message(Role.USER, (part,))))
    # A model of another provider may take it, but not an image that does not exist.
    assert caught.value.sub_cause == ("" if "neither" in message else "unsupported_media")


@pytest.mark.parametrize(
    ("choice", "written"),
    [
        (None, None),
        ("auto", {"auto": {}}),
        ("required", {"any": {}}),
        ("get_tides", {"tool": {"name": "get_tides"}}),
    ],
)
def test_tools_and_tool_choice_are_sent(choice, written):
    config = sent(ask(tools=(TIDES,), tool_choice=choice))["toolConfig"]
    spec = {"name": "get_tides", "description": "The tides of a port.", "inputSchema": {"json": {"type": "object"}}}
    assert config["tools"] == [{"toolSpec": spec}]
    assert config.get("toolChoice") == written


def test_tool_choice_none_sends_no_tools_unless_there_are_calls():
    assert "toolConfig" not in sent(ask(tools=(TIDES,), tool_choice="none"))
    rendered = render(ask(user("a"), Message(Role.ASSISTANT, (), (CALL,)), tools=(TIDES,), tool_choice="none"))
    assert "toolChoice" not in json.loads(rendered.body)["toolConfig"]
    assert rendered.downgrades == ("tool_choice none left out",)


def test_tools_of_earlier_calls_are_declared_where_a_request_has_none():
    rendered = render(ask(user("a"), Message(Role.ASSISTANT, (), (CALL, CALL)), user("b")))
    spec = {"name": "get_tides", "inputSchema": {"json": {"type": "object"}}}
    assert json.loads(rendered.body)["toolConfig"] == {"tools": [{"toolSpec": spec}]}
    assert rendered.downgrades == ("tools of earlier calls declared",)
    assert "toolConfig" not in sent(ask())


def test_schema_of_a_tool_is_one_object():
    find = ToolDefinition("find", "", {"anyOf": [{"properties": {"id": {}}, "required": ["id"]}]})
    rendered = render(ask(tools=(ToolDefinition("now", "", {}), find)))
    now, found = (tool["toolSpec"]["inputSchema"]["json"] for tool in json.loads(rendered.body)["toolConfig"]["tools"])
    assert (now, found) == ({"type": "object"}, {"type": "object", "properties": {"id": {}}, "required": ["id"]})
    assert rendered.downgrades == ("schema of tool 'find' loosened: anyOf",)


def test_whitespace_only_stop_sequences_are_left_out():
    rendered = render(ask(stop=("\n", "END", "")))
    assert json.loads(rendered.body)["inferenceConfig"] == {"stopSequences": ["END"]}
    assert rendered.downgrades == ("whitespace-only stop sequence left out",)
    assert "inferenceConfig" not in sent(ask(stop=("\n",)))


def test_non_object_arguments_are_wrapped():
    for text in ('{"port": "Os', "[1]", '"x"', "[" * 100_000):
        turn = sent(ask(Message(Role.ASSISTANT, (), (ToolCall("t1", "get_tides", text),))))["messages"][0]
        assert turn["content"][0]["toolUse"]["input"] == {"INVALID_JSON": text}


def test_schema_is_sent_as_string_in_output_config():
    response_format = ResponseFormat("json_schema", "plan", {"type": "object"})
    written = sent(ask(response_format=response_format))["outputConfig"]["textFormat"]
    assert written == {
        "type": "json_schema",
        "structure": {"jsonSchema": {"name": "plan", "schema": '{"type":"object"}'}},
    }


@pytest.mark.parametrize(
    ("response_format", "options"),
    [
        (ResponseFormat("json_object"), {}),
        (ResponseFormat("json_schema"), {}),
        (ResponseFormat("grammar"), {}),
        (ResponseFormat("json_schema", "plan", {"type": "object"}), {"has_schemas": False}),
    ],
)
def test_unsupported_response_format_is_left_out_and_reported(response_format, options):
    rendered = render(ask(response_format=response_format), **options)
    assert "outputConfig" not in json.loads(rendered.body)
    assert rendered.downgrades == (f"response_format {response_format.kind} left out",)


def test_signed_reasoning_is_sent_back_first_and_unchanged():
    block = {"reasoningContent": {"reasoningText": {"text": "let me see", "signature": "c2ln"}}}
    message = Message(Role.ASSISTANT, (TextPart("I look."),), (CALL,), opaque={OPAQUE: [block], "other": 1})
    content = sent(ask(user("a"), message))["messages"][1]["content"]
    assert content[0] == block
    assert [next(iter(each)) for each in content] == ["reasoningContent", "text", "toolUse"]


def test_continued_answer_has_no_trailing_whitespace():
    started = Message(Role.ASSISTANT, (TextPart("The tide is \n"),))
    assert sent(ask(user("a"), started, continues=True))["messages"][1]["content"] == [{"text": "The tide is"}]


def test_extra_fields_are_merged_unchanged():
    extra = {"inferenceConfig": {"topP": 0.5}, "guardrailConfig": {"guardrailIdentifier": "g1"}}
    body = sent(ask(max_tokens=9, extra=extra))
    assert body["inferenceConfig"] == {"maxTokens": 9, "topP": 0.5}
    assert body["guardrailConfig"] == {"guardrailIdentifier": "g1"}


def test_lone_surrogate_is_replaced():
    assert sent(ask(user("a\ud800b")))["messages"][0]["content"] == [{"text": "a?b"}]


def test_value_that_is_not_json_is_rejected():
    with pytest.raises(InvalidRequest, match="cannot be encoded as JSON"):
        render(ask(extra={"x": object()}))
