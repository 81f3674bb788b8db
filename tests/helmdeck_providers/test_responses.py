"""The Responses wire format: events add up to the final response, and nothing is read twice."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import (
    CallFailed,
    ChatRequest,
    ImagePart,
    InvalidRequest,
    Message,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
    ResponseFormat,
    Role,
    SafetyFiltered,
    StopReason,
    TextPart,
    ToolCall,
    ToolDefinition,
    TransientUnknown,
)
from helmdeck_providers.wire_formats.openai_responses.response import ResponsesAnswer
from helmdeck_testing import Chunks
from tests.case_support import each_case
from tests.helmdeck_providers.openai_support import ask, events, joined, read_stream, streamed, terms

USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 3},
}
REASONING = {
    "type": "reasoning",
    "id": "rs",
    "encrypted_content": "xyz",
    "summary": [{"type": "summary_text", "text": "hm"}],
}
MESSAGE = {
    "type": "message",
    "id": "msg",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Grüße an"}],
}
CALL = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "look", "arguments": '{"x": 1}'}


def whole(*output, status="completed", **more):
    return {"object": "response", "model": "m", "status": status, "output": list(output), "usage": USAGE, **more}


def answer_of(read):
    answer = ResponsesAnswer(terms(wire_format="openai-responses"))
    deltas = list(read(answer))
    response = answer.finish()
    calls = [(call.id, call.name, call.arguments) for call in response.tool_calls]
    text, reasoning, said = joined(deltas)
    assert (text, reasoning) == (response.text, response.reasoning_content)
    assert [(*named, arguments or "{}") for *named, arguments in said] == calls
    return response


def read(body):
    return answer_of(lambda answer: answer.read(body))


def stream(*data):
    return answer_of(lambda answer: read_stream(answer, events(*data, done=False)))


def failing(body):
    with pytest.raises(CallFailed) as caught:
        read(body)
    return caught.value


def event(kind, **fields):
    return {"type": f"response.{kind}", **fields}


STREAM = [
    event("created", response={"model": "m", "status": "in_progress"}),
    event("output_item.added", output_index=0, item={**REASONING, "summary": []}),
    event("reasoning_summary_text.delta", output_index=0, item_id="rs", delta="h"),
    event("reasoning_summary_text.delta", output_index=0, item_id="rs", delta="m"),
    event("output_item.done", output_index=0, item=REASONING),
    event("output_item.added", output_index=1, item={**MESSAGE, "content": []}),
    event("output_text.delta", output_index=1, item_id="msg", delta="Grüße"),
    event("output_text.delta", output_index=1, item_id="msg", delta=" an"),
    event("output_text.done", output_index=1, item_id="msg", text="Grüße an"),
    event("output_item.done", output_index=1, item=MESSAGE),
    event("output_item.added", output_index=2, item={**CALL, "arguments": ""}),
    event("function_call_arguments.delta", output_index=2, item_id="fc", delta='{"x"'),
    event("function_call_arguments.delta", output_index=2, item_id="fc", delta=": 1}"),
    event("function_call_arguments.done", output_index=2, item_id="fc", arguments='{"x": 1}'),
    event("output_item.done", output_index=2, item=CALL),
    event("completed", response=whole(REASONING, MESSAGE, CALL)),
]


def test_response_contains_all_output_items():
    found = read(whole(REASONING, MESSAGE, CALL))
    assert (found.text, found.reasoning_content, found.served_model) == ("Grüße an", "hm", "m")
    assert found.tool_calls == (ToolCall("c1", "look", '{"x": 1}'),)
    assert (found.stop_reason, found.strict_stop_reason) == (StopReason.TOOL_CALL, StopReason.END_TURN)
    usage = found.usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.cache_write_tokens) == (9, 4, 2)
    assert (usage.output_tokens, usage.reasoning_tokens) == (7, 3)


@given(st.sets(st.integers(1, len(STREAM) - 2)))
def test_streamed_and_whole_responses_are_equal_if_events_are_missing(left_out):
    # Without its first delta the text would differ.
    left_out |= {number + 1 for number in left_out & {2, 6, 11}}
    kept = [each for number, each in enumerate(STREAM) if number not in left_out]
    assert stream(*kept) == read(whole(REASONING, MESSAGE, CALL))


@given(st.lists(st.integers(0, 3_000), max_size=20))
def test_response_does_not_depend_on_chunk_boundaries(places):
    body = events(*STREAM, done=False)
    bounds = [0, *sorted(place % len(body) for place in places), len(body)]
    found = answer_of(
        lambda answer: read_stream(answer, *(body[start:stop] for start, stop in itertools.pairwise(bounds)))
    )
    assert found == stream(*STREAM)


def test_items_with_new_numbers_or_ids_at_the_end_are_read_once():
    said = [event("output_text.delta", output_index=0, item_id="msg", delta="Grüße an")]
    assert stream(*said, event("completed", response=whole(REASONING, MESSAGE))).text == "Grüße an"
    assert stream(*said, event("completed", response=whole({**MESSAGE, "id": "other"}))).text == "Grüße an"


def test_stream_without_final_event_is_unknown():
    found = stream(*STREAM[:-1])
    assert (found.text, found.stop_reason, found.raw_stop_reason) == ("Grüße an", StopReason.UNKNOWN, None)


@each_case(
    ("status", "details", "expected", "raw"),
    [
        ("completed", None, StopReason.END_TURN, "completed"),
        ("incomplete", {"reason": "max_output_tokens"}, StopReason.MAX_TOKENS, "incomplete:max_output_tokens"),
        ("incomplete", {"reason": "content_filter"}, StopReason.SAFETY_BLOCKED, "incomplete:content_filter"),
        ("incomplete", None, StopReason.UNKNOWN, "incomplete"),
        ("cancelled", None, StopReason.CANCELLED, "cancelled"),
        ("news", None, StopReason.UNKNOWN, "news"),
    ],
)
def test_status_is_the_stop_reason(status, details, expected, raw):
    found = read(whole(MESSAGE, status=status, incomplete_details=details))
    assert (found.stop_reason, found.raw_stop_reason) == (expected, raw)


def test_tool_call_in_a_truncated_turn_stays_truncated():
    found = read(
        whole({**CALL, "arguments": '{"x'}, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    )
    assert (found.stop_reason, found.tool_calls[0].arguments) == (StopReason.MAX_TOKENS, '{"x')


def test_refusal_is_safety_blocked_and_kept():
    refused = {**MESSAGE, "content": [{"type": "refusal", "refusal": "I cannot"}]}
    pieces = [
        event("refusal.delta", output_index=0, item_id="msg", delta="I "),
        event("refusal.delta", output_index=0, item_id="msg", delta="cannot"),
        event("completed", response=whole(refused)),
    ]
    for found in (read(whole(refused)), stream(*pieces)):
        assert (found.text, found.refusal, found.stop_reason) == ("", "I cannot", StopReason.SAFETY_BLOCKED)


def test_custom_tool_accepts_any_string():
    custom = {"type": "custom_tool_call", "id": "ct", "call_id": "c9", "name": "sql", "input": "SELECT 1"}
    assert read(whole(custom)).tool_calls == (ToolCall("c9", "sql", "SELECT 1"),)


@each_case(
    ("code", "kind"),
    [
        ("server_error", ProviderUnavailable),
        ("server_is_overloaded", ProviderUnavailable),
        ("service_unavailable_error", ProviderUnavailable),
        ("slow_down", RateLimited),
        ("rate_limit_exceeded", RateLimited),
        ("invalid_prompt", InvalidRequest),
        ("image_too_large", InvalidRequest),
        ("image_content_policy_violation", SafetyFiltered),
        ("bio_policy", SafetyFiltered),
        ("insufficient_quota", QuotaExhausted),
        ("news", TransientUnknown),
    ],
)
def test_failed_response_has_the_failure_class_of_its_code(code, kind):
    error = {"code": code, "message": "it broke"}
    found = failing(whole(status="failed", error=error))
    assert type(found) is kind
    assert (found.detail, found.raw_stop_reason, found.stop_reason) == ("it broke", "failed", "Unknown")
    for last in (
        event("failed", response=whole(status="failed", error=error)),
        {"type": "error", **error},
        {"error": error},
    ):
        with pytest.raises(kind) as caught:
            stream(*STREAM[:8], last)
        assert caught.value.excerpt == "Grüße an"


def test_failed_status_without_error_is_a_failure():
    assert "without an error message" in failing(whole(status="failed")).detail


@pytest.mark.parametrize("status", ["queued", "in_progress"])
def test_unfinished_response_is_pending(status):
    found = failing(whole(status=status))
    assert (type(found), found.sub_cause, found.raw_stop_reason) == (TransientUnknown, "pending", status)
    assert found.retryable


@each_case("body", [[], "hello", None, {}, {"choices": []}])
def test_unrelated_json_is_reported(body):
    assert failing(body).sub_cause == "wrong_shape"


FIELDS = st.sampled_from(
    [
        "type",
        "item",
        "output",
        "response",
        "status",
        "usage",
        "content",
        "summary",
        "text",
        "delta",
        "output_index",
        "id",
    ]
)
ANYTHING = st.recursive(
    st.none() | st.integers(0, 2) | st.sampled_from([each["type"] for each in (*STREAM, REASONING, MESSAGE, CALL)]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(FIELDS, ANYTHING), max_size=4))
def test_any_stream_is_a_response_or_a_failure(data):
    try:
        stream(*data)
    except CallFailed as failure:
        assert failure.raw_stop_reason == "failed" or failure.sub_cause == "pending"  # noqa: PT017


# -- requests -------------------------------------------------------------------------------------------------


def sent(chat_server, request, preset="openai-responses", **settings):
    server = chat_server(lambda body: whole(MESSAGE))
    (response,) = ask(server.base_url, request, preset=preset, **settings)
    return server.requests[0], response


def test_images_of_the_assistant_follow_in_a_message_of_the_user(chat_server):
    messages = (Message(Role.ASSISTANT, (TextPart("drawn"), ImagePart("image/png", b"\x89"))),)
    drawn, shown = sent(chat_server, ChatRequest(model="openai-responses/gpt-4.1", messages=messages))[0].body["input"]
    assert drawn == {"role": "assistant", "content": "drawn"}
    assert (shown["role"], [part["type"] for part in shown["content"]]) == ("user", ["input_text", "input_image"])


def test_request_has_the_format_of_the_api(chat_server):
    look = ToolDefinition("look", "looks", {"type": "object"})
    messages = (
        Message(Role.SYSTEM, (TextPart("be kind"),)),
        Message(Role.USER, (TextPart("see"), ImagePart("image/png", b"\x89"))),
        Message(Role.ASSISTANT, (TextPart("ok"),), (ToolCall("c1", "look", "{}"),)),
        Message(Role.TOOL, (TextPart("seen"),), tool_call_id="c1"),
    )
    closed = {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    request = ChatRequest(
        model="openai-responses/gpt-4.1",
        messages=messages,
        max_tokens=50,
        temperature=0.5,
        tools=(look,),
        tool_choice="look",
        response_format=ResponseFormat("json_schema", schema=closed),
        stop=("END",),
        extra={"user": "u"},
    )
    found, response = sent(chat_server, request)
    assert found.path == "/v1/responses"
    assert found.body == {
        "model": "gpt-4.1",
        "input": [
            {"role": "system", "content": "be kind"},
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "see"},
                    {"type": "input_image", "image_url": "data:image/png;base64,iQ=="},
                ],
            },
            {"role": "assistant", "content": "ok"},
            {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": "seen"},
        ],
        "store": False,
        "max_output_tokens": 50,
        "temperature": 0.5,
        "tools": [
            {
                "type": "function",
                "name": "look",
                "description": "looks",
                "parameters": {"type": "object"},
                "strict": False,
            }
        ],
        "tool_choice": {"type": "function", "name": "look"},
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": closed, "strict": True}},
        "user": "u",
    }
    assert response.downgrades == ("stop left out",)


@pytest.mark.parametrize(
    ("response_format", "form", "downgrades"),
    [
        (ResponseFormat("json_object"), {"type": "json_object"}, ()),
        (ResponseFormat("json_schema"), {"type": "json_object"}, ("response_format json_schema -> json_object",)),
        (ResponseFormat("poem"), None, ("response_format poem left out",)),
    ],
)
def test_response_format_is_translated_or_left_out_and_reported(chat_server, response_format, form, downgrades):
    request = ChatRequest(
        model="xai-responses/m", messages=(Message(Role.USER, (TextPart("x"),)),), response_format=response_format
    )
    found, response = sent(chat_server, request, preset="xai-responses")
    assert found.body.get("text", {}).get("format") == form
    assert response.downgrades == downgrades


def test_encrypted_reasoning_is_sent_back_in_its_position():
    second = {**REASONING, "id": "rs2", "encrypted_content": "uvw"}
    found = read(whole(REASONING, MESSAGE, second, CALL))
    turn = Message(Role.ASSISTANT, (TextPart(found.text),), found.tool_calls, opaque=found.opaque)
    request = ChatRequest(model="r/gpt-5", messages=(turn,))
    from helmdeck_providers.wire_formats.openai_responses.request import Options, render

    written = json.loads(render(request, Options(encrypting_models=("gpt-5",))).body)
    kinds = [(item.get("type") or item.get("role"), item.get("encrypted_content")) for item in written["input"]]
    assert kinds == [("reasoning", "xyz"), ("assistant", None), ("reasoning", "uvw"), ("function_call", None)]
    assert written["include"] == ["reasoning.encrypted_content"]
    assert "xyz" not in repr(found)


def phased(text, phase):
    return {**MESSAGE, "id": f"m {phase}", "phase": phase, "content": [{"type": "output_text", "text": text}]}


@pytest.mark.parametrize(
    ("items", "edited", "texts"),
    [
        ([phased("Done.", "final_answer")], None, [("Done.", "final_answer")]),
        (
            [phased("I look. ", "commentary"), CALL, phased("Done.", "final_answer")],
            None,
            [("I look. ", "commentary"), ("Done.", "final_answer")],
        ),
        (
            [phased("I look. ", "commentary"), phased("Done.", "final_answer")],
            "I look, and it is done.",
            [("I look, and it is done.", "final_answer")],
        ),
        ([MESSAGE], None, [("Grüße an", None)]),
    ],
    ids=["one", "two", "edited", "none"],
)
def test_phases_of_texts_are_sent_back(items, edited, texts):
    from helmdeck_providers.wire_formats.openai_responses.request import Options, render

    found = read(whole(*items))
    turn = Message(Role.ASSISTANT, (TextPart(edited or found.text),), found.tool_calls, opaque=found.opaque)
    sent = json.loads(render(ChatRequest(model="r/m", messages=(turn,)), Options()).body)["input"]
    assert [(each["content"], each.get("phase")) for each in sent if each.get("role")] == texts
    assert [each.get("type", "text") for each in sent] == [
        "function_call" if item is CALL else "text" for item in (items if edited is None else items[:1])
    ]


def test_continuation_is_rejected_before_sending(chat_server):
    request = ChatRequest(
        model="openai-responses/m", messages=(Message(Role.ASSISTANT, (TextPart("so"),)),), continues=True
    )
    server = chat_server(lambda body: whole(MESSAGE))
    with pytest.raises(InvalidRequest) as caught:
        ask(server.base_url, request, preset="openai-responses")
    assert caught.value.sub_cause == "prefill_unsupported"
    assert server.requests == []


def test_provider_streams_responses(chat_server):
    server = chat_server(lambda body: Chunks([events(each, done=False, name=each["type"]) for each in STREAM]))
    request = ChatRequest(model="azure-responses/gpt-5", messages=(Message(Role.USER, (TextPart("x"),)),))
    deltas, response = streamed(server.base_url, request, preset="azure-responses", api_key=lambda: "the-key")
    assert joined(deltas) == ("Grüße an", "hm", [("c1", "look", '{"x": 1}')])
    assert response.stop_reason is StopReason.TOOL_CALL
    (found,) = server.requests
    assert found.body["stream"] is True
    assert found.headers["api-key"] == "the-key"
    assert "authorization" not in found.headers
