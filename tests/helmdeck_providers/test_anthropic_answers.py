"""Responses of Anthropic's Messages API."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import (
    CallFailed,
    ChatResponse,
    Disposition,
    ProviderUnavailable,
    StopReason,
    ToolCall,
    TransientUnknown,
    Usage,
)
from tests.case_support import each_case
from tests.helmdeck_providers.natives_support import answered, read, spoiled, spoken, summed


def message(*content, stop_reason="end_turn", **fields):
    usage = {"input_tokens": 10, "output_tokens": 5}
    return {
        "type": "message", "model": "claude-x", "content": list(content), "stop_reason": stop_reason, "usage": usage, **fields,
    }  # fmt: skip


def text(value):
    return {"type": "text", "text": value}


def tool_use(arguments, id="t1", name="look"):
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def start(**usage):
    return {"type": "message_start", "message": message(stop_reason=None, usage={"input_tokens": 10, **usage})}


def block(index, first, *deltas, closed=True):
    pieces = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    end = [{"type": "content_block_stop", "index": index}] * closed
    return [{"type": "content_block_start", "index": index, "content_block": first}, *pieces, *end]


def end(stop_reason="end_turn", output_tokens=5, **usage):
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    return {"type": "message_delta", "delta": delta, "usage": {"output_tokens": output_tokens, **usage}}


STOP = {"type": "message_stop"}


def events_of(body, size=3):
    """Convert a whole message to stream events."""
    events = [start()]
    for index, each in enumerate(body["content"]):
        kind = each["type"]
        if kind == "text":
            deltas = [
                {"type": "text_delta", "text": each["text"][at : at + size]} for at in range(0, len(each["text"]), size)
            ]
            events += block(index, {**each, "text": ""}, *deltas)
        elif kind == "thinking":
            deltas = [
                *(
                    {"type": "thinking_delta", "thinking": each["thinking"][at : at + size]}
                    for at in range(0, len(each["thinking"]), size)
                ),
                {"type": "signature_delta", "signature": each["signature"]},
            ]
            events += block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas)
        elif kind == "tool_use":
            written = msgspec.json.encode(each["input"]).decode() if each["input"] else ""
            deltas = [
                {"type": "input_json_delta", "partial_json": written[at : at + size]}
                for at in range(0, len(written), size)
            ]
            events += block(index, {**each, "input": {}}, *deltas)
        else:
            events += block(index, each)
    return [*events, end(body["stop_reason"]), STOP]


WHOLE = message(
    {"type": "thinking", "thinking": "let me see", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "eA=="},
    text("Here "),
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
    text("it is."),
    tool_use({"at": "sea", "deep": [1, 2]}),
    tool_use({}, "t2", "stop"),
    stop_reason="tool_use",
)


@each_case("size", [1, 2, 5, 1000])
def test_streamed_and_whole_messages_are_equal(size):
    deltas, response = read("anthropic", *events_of(WHOLE, size))
    assert response == answered("anthropic", WHOLE)
    assert summed(deltas) == spoken(response)


def test_deltas_of_a_whole_message_add_up_to_it():
    deltas, response = read("anthropic", WHOLE)
    assert summed(deltas) == spoken(response)
    assert response.text == "Here it is."
    assert response.reasoning_content == "let me see"
    assert response.tool_calls == (ToolCall("t1", "look", '{"at":"sea","deep":[1,2]}'), ToolCall("t2", "stop", "{}"))
    assert response.stop_reason is StopReason.TOOL_CALL
    assert response.opaque == {"anthropic": {"content": WHOLE["content"]}}


def test_input_includes_cached_tokens_and_output_includes_reasoning():
    usage = {
        "input_tokens": 4, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 30,
        "output_tokens_details": {"thinking_tokens": 12},
    }  # fmt: skip
    assert answered("anthropic", message(text("x"), usage=usage)).usage == Usage(
        input_tokens=124, output_tokens=30, cached_input_tokens=100, cache_write_tokens=20, reasoning_tokens=12
    )


def test_stream_usage_is_cumulative_and_missing_counters_stay():
    events = [
        start(cache_read_input_tokens=7, output_tokens=1),
        *block(0, text("x")),
        end(input_tokens=40, output_tokens=9),
    ]
    assert answered("anthropic", *events).usage == Usage(input_tokens=47, output_tokens=9, cached_input_tokens=7)


@each_case(
    ("word", "reason", "disposition"),
    [
        ("end_turn", StopReason.END_TURN, Disposition.FINAL),
        ("stop_sequence", StopReason.END_TURN, Disposition.FINAL),
        ("max_tokens", StopReason.MAX_TOKENS, Disposition.LONGER),
        ("model_context_window_exceeded", StopReason.CONTEXT_WINDOW_EXCEEDED, Disposition.SHRINK),
        ("refusal", StopReason.SAFETY_BLOCKED, Disposition.STOP),
        ("pause_turn", StopReason.UNKNOWN, Disposition.RESUME),
        ("compaction", StopReason.UNKNOWN, Disposition.RESUME),
        ("brand_new", StopReason.UNKNOWN, Disposition.RETRY),
        (None, StopReason.UNKNOWN, Disposition.RETRY),
    ],
)
def test_every_native_stop_reason_has_a_reason_and_a_disposition(word, reason, disposition):
    response = answered("anthropic", message(text("x"), stop_reason=word))
    assert (response.stop_reason, response.disposition, response.raw_stop_reason) == (reason, disposition, word)
    assert response.strict_stop_reason is reason


def test_refusal_keeps_its_explanation_and_the_text():
    details = {"type": "refusal", "category": "bio", "explanation": "not that"}
    events = [
        start(),
        *block(0, text("Well")),
        {**end("refusal"), "delta": {"stop_reason": "refusal", "stop_details": details}},
    ]
    response = answered("anthropic", *events)
    assert (response.text, response.stop_reason, response.refusal) == ("Well", StopReason.SAFETY_BLOCKED, "not that")
    bare = answered("anthropic", message(stop_reason="refusal", stop_details={"type": "refusal", "category": "cyber"}))
    assert bare.refusal == "cyber"


def test_refusal_overrides_end_turn():
    response = answered("anthropic", message(stop_details={"type": "refusal", "category": None}))
    assert (response.strict_stop_reason, response.stop_reason) == (StopReason.END_TURN, StopReason.SAFETY_BLOCKED)


def test_tool_calls_of_a_truncated_turn_are_not_executable():
    events = [
        start(),
        *block(0, tool_use({}), {"type": "input_json_delta", "partial_json": '{"at": "s'}),
        end("max_tokens"),
        STOP,
    ]
    response = answered("anthropic", *events)
    assert response.stop_reason is StopReason.MAX_TOKENS
    assert response.tool_calls == (ToolCall("t1", "look", '{"at": "s'),)


def test_truncated_call_with_a_clean_stop_reason_is_a_truncation():
    events = [start(), *block(0, tool_use({}), {"type": "input_json_delta", "partial_json": '{"at"'}), end("tool_use")]
    response = answered("anthropic", *events)
    assert (response.strict_stop_reason, response.stop_reason) == (StopReason.TOOL_CALL, StopReason.MAX_TOKENS)


def test_tool_call_at_the_output_limit_is_a_truncation():
    body = message(tool_use({}), stop_reason="tool_use")
    assert answered("anthropic", body, max_tokens=5).stop_reason is StopReason.MAX_TOKENS
    assert answered("anthropic", body, max_tokens=6).stop_reason is StopReason.TOOL_CALL


def test_incomplete_stream_is_unknown_and_keeps_its_text():
    events = [start(), *block(0, text(""), {"type": "text_delta", "text": "half"}, closed=False)]
    response = answered("anthropic", *events)
    assert (response.text, response.stop_reason, response.raw_stop_reason) == ("half", StopReason.UNKNOWN, None)
    assert answered("anthropic").stop_reason is StopReason.UNKNOWN


def test_unsigned_thinking_is_not_sent_back():
    thinking = block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "h"},
        closed=False,
    )
    response = answered("anthropic", start(), *thinking)
    assert response.reasoning_content == "h"
    assert response.opaque == {"anthropic": {"content": []}}


def test_compaction_and_citations_are_sent_back():
    events = [
        start(),
        *block(0, {"type": "compaction", "content": None}, {"type": "compaction_delta", "content": "so far"}),
        *block(1, text(""), {"type": "text_delta", "text": "x"}, {"type": "citations_delta", "citation": {"n": 1}}),
        end(),
    ]
    assert answered("anthropic", *events).opaque["anthropic"]["content"] == [
        {"type": "compaction", "content": "so far"},
        {"type": "text", "text": "x", "citations": [{"n": 1}]},
    ]


def test_served_model_is_the_fallback_model():
    fallback = {"type": "fallback", "from": {"model": "claude-x"}, "to": {"model": "claude-y"}}
    assert answered("anthropic", message(fallback, text("x"))).served_model == "claude-y"


def test_server_side_tools_are_not_tool_calls():
    response = answered("anthropic", message({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}))
    assert (response.tool_calls, response.stop_reason) == ((), StopReason.END_TURN)


def test_counters_that_a_proxy_repeats_as_zero_stay():
    events = [start(cache_read_input_tokens=7), *block(0, text(""), {"type": "text_delta", "text": "x"})]
    events += [end(input_tokens=0, cache_read_input_tokens=0), STOP]
    assert answered("anthropic", *events).usage == Usage(input_tokens=17, output_tokens=5, cached_input_tokens=7)


def test_error_within_a_stream_keeps_received_text_and_usage():
    events = [start(), *block(0, text("half of it"), closed=False)]
    with pytest.raises(ProviderUnavailable) as caught:
        answered(
            "anthropic", *events, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        )
    assert (caught.value.excerpt, caught.value.raw_length, caught.value.sub_cause) == ("half of it", 10, "error_in_200")


def test_error_event_without_error_object_is_a_failure():
    with pytest.raises(CallFailed):
        answered("anthropic", start(), {"type": "error"})


@each_case("event", [None, 7, "x", [], {}, {"hello": 1}, {"type": 3}])
def test_unrelated_json_event_is_a_failure(event):
    with pytest.raises(TransientUnknown, match="not one of Anthropic's messages"):
        answered("anthropic", event)


def test_unknown_events_and_deltas_are_ignored():
    odd = block(0, {"type": "hologram", "x": 1}, {"type": "hologram_delta", "x": 2})
    response = answered("anthropic", start(), {"type": "ping"}, {"type": "weather"}, *odd, *block(1, text("x")), end())
    assert (response.text, response.stop_reason) == ("x", StopReason.END_TURN)


def test_deltas_without_start_event_are_read():
    lost = {"type": "content_block_delta", "index": 4, "delta": {"type": "text_delta", "text": "x"}}
    assert answered("anthropic", start(), lost, end()).text == "x"


@given(st.one_of(spoiled(events_of(WHOLE, 9)), spoiled([WHOLE])))
def test_mutated_answer_is_a_response_or_a_failure(events):
    try:
        response = answered("anthropic", *(events if isinstance(events, list) else [events]), max_tokens=5)
    except CallFailed:
        return
    assert isinstance(response, ChatResponse)
    assert isinstance(response.text, str)
