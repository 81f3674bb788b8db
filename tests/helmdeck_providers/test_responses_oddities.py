"""Undocumented behaviour of Responses servers: indexes, ids, states and other item types."""

from __future__ import annotations

import json

import attrs
import pytest

from helmdeck_core import Message, Role, StopReason, TextPart
from helmdeck_providers.wire_formats.openai_responses.request import Options, render
from helmdeck_providers.wire_formats.openai_responses.response import ResponsesAnswer
from tests.case_support import each_case
from tests.helmdeck_providers.openai_support import REQUEST, ask, events, joined, read_stream, terms


def reading(read):
    answer = ResponsesAnswer(terms(wire_format="openai-responses"))
    deltas = list(read(answer))
    response = answer.finish()
    assert joined(deltas)[:2] == (response.text, response.reasoning_content)
    return response


def whole(*output, **more):
    return reading(lambda answer: answer.read({"status": "completed", "output": list(output), **more}))


def stream(*data):
    return reading(lambda answer: read_stream(answer, events(*data, done=False)))


def event(kind, **fields):
    return {"type": f"response.{kind}", **fields}


def message(text, **fields):
    return {"type": "message", "content": [{"type": "output_text", "text": text}], **fields}


def call(name="look", arguments="{}", **fields):
    return {"type": "function_call", "name": name, "arguments": arguments, **fields}


def facts(response):
    return response.text, [(each.name, each.arguments) for each in response.tool_calls]


# -- numbers and ids ------------------------------------------------------------------------------------------

PIECES = [
    event("output_item.added", output_index=0, item={"type": "message", "id": "m1"}),
    event("output_text.delta", output_index=0, item_id="m1", delta="one "),
    event("output_item.added", output_index=1, item=call(arguments="", id="f1", call_id="a")),
    event("function_call_arguments.delta", output_index=1, item_id="f1", delta='{"x":1}'),
    event("output_item.added", output_index=2, item={"type": "message", "id": "m2"}),
    event("output_text.delta", output_index=2, item_id="m2", delta="two"),
]
OUTPUT = [
    {"type": "reasoning", "id": "r", "summary": []},
    message("one ", id="m1"),
    call(arguments='{"x":1}', id="f1", call_id="a"),
    message("two", id="m2"),
]


@each_case("ids", ["same", "other", None])
@each_case("has_reasoning_in_front", [False, True])
def test_repeated_items_are_recognised_with_other_numbers_and_ids(ids, has_reasoning_in_front):
    output = [{**item, "id": item["id"] if ids == "same" else ids and f"other-{item['id']}"} for item in OUTPUT]
    end = event("completed", response={"status": "completed", "output": output[not has_reasoning_in_front :]})
    response = stream(*PIECES, end)
    assert facts(response) == ("one two", [("look", '{"x":1}')])
    assert response.tool_calls[0].id == "a"


def test_items_without_number_and_id_are_separated_by_order():
    response = stream(
        event("output_item.added", item=call("look", "")),
        event("function_call_arguments.delta", delta='{"x":1}'),
        event("output_item.done", item=call("look", '{"x":1}')),
        event("output_item.added", item=call("see", "")),
        event("function_call_arguments.delta", delta="{}"),
        event("output_item.done", item=call("see", "{}")),
        event("completed", response={"status": "completed"}),
    )
    assert facts(response) == ("", [("look", '{"x":1}'), ("see", "{}")])
    assert len({each.id for each in response.tool_calls}) == 2


@pytest.mark.parametrize("arguments", ['{"x":1}', {"x": 1}])
def test_object_arguments_are_read(arguments):
    assert facts(whole(call(arguments=arguments))) == ("", [("look", '{"x":1}')])


@each_case("arguments", [None, "", {}, "null", "{}"])
def test_missing_arguments_are_an_empty_object(arguments):
    assert facts(whole(call(arguments=arguments))) == ("", [("look", "{}")])


def test_content_can_be_a_string():
    assert whole({"type": "message", "content": "hello"}).text == "hello"


# -- states ---------------------------------------------------------------------------------------------------


@each_case(
    ("kind", "why", "reason", "raw"),
    [
        ("completed", None, StopReason.END_TURN, "completed"),
        ("incomplete", {"reason": "max_output_tokens"}, StopReason.MAX_TOKENS, "incomplete:max_output_tokens"),
        ("incomplete", None, StopReason.UNKNOWN, "incomplete"),
        ("cancelled", None, StopReason.CANCELLED, "cancelled"),
    ],
)
def test_final_event_name_is_the_status_if_the_response_has_none(kind, why, reason, raw):
    response = stream(event(kind, response={"incomplete_details": why}))
    assert (response.stop_reason, response.raw_stop_reason) == (reason, raw)


# -- items of other kinds -------------------------------------------------------------------------------------


def test_server_side_tools_are_reported_and_not_tool_calls():
    search = {"type": "custom_tool_call", "id": "s", "call_id": "s", "name": "x_keyword_search", "input": '{"q":"x"}'}
    output = [
        {"type": "web_search_call", "id": "w"},
        {"type": "mcp_call", "name": "ask", "arguments": "{}"},
        search,
        message("ok"),
    ]
    pieces = [
        event("output_item.added", output_index=0, item={**search, "input": ""}),
        event("custom_tool_call_input.delta", output_index=0, item_id="s", delta='{"q":"x"}'),
        event("output_item.done", output_index=0, item=search),
    ]
    end = event("completed", response={"status": "completed", "output": output})
    for response in (whole(*output), stream(*pieces, end)):
        assert facts(response) == ("ok", [])
        assert response.stop_reason is StopReason.END_TURN
        assert sorted(response.unread) == ["custom_tool_call", "mcp_call", "web_search_call"]


def test_unsupported_content_is_reported():
    content = [{"type": "output_text", "text": "here"}, {"type": "output_image", "url": "x"}]
    assert whole({"type": "message", "content": content}).unread == ("output_image",)


def test_compacted_history_is_sent_back():
    short = {"type": "compaction", "id": "cmp", "encrypted_content": "xyz"}
    response = whole(short, message("ok"))
    answer = Message(Role.ASSISTANT, (TextPart(response.text),), opaque=response.opaque)
    sent = json.loads(render(attrs.evolve(REQUEST, messages=(answer,)), Options()).body)["input"]
    assert sent == [short, {"role": "assistant", "content": "ok"}]


@pytest.mark.parametrize(
    ("model", "includes", "temperature"),
    [
        ("openai-responses/gpt-5-mini", ["reasoning.encrypted_content"], None),
        ("openai-responses/gpt-4.1", None, 0.5),
        ("xai-responses/grok-4", ["reasoning.encrypted_content"], 0.5),
        ("xai-responses/grok-3", None, 0.5),
    ],
)
def test_encrypted_reasoning_is_requested_from_supporting_models(chat_server, model, includes, temperature):
    server = chat_server(lambda _: {"status": "completed", "output": [message("ok")]})
    ask(server.base_url, attrs.evolve(REQUEST, model=model, temperature=0.5), preset=model.partition("/")[0])
    body = server.requests[0].body
    assert (body.get("include"), body.get("temperature"), body["store"]) == (includes, temperature, False)
