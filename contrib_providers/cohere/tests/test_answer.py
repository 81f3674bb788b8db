"""Cohere responses, whole and streamed."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import (
    CallFailed,
    ChatResponse,
    Disposition,
    FailureClass,
    ModelInfo,
    ProviderUnavailable,
    StopReason,
    ToolCall,
    TransientUnknown,
    Usage,
)
from helmdeck_provider_cohere.answer import ERROR_RULES, MODELS, QUOTA_HEADERS, REASONS, CohereAnswer, read_models
from helmdeck_providers import EventFeed, ReaderContext, decode_body

USAGE = {
    "billed_units": {"input_tokens": 3, "output_tokens": 2},
    "tokens": {"input_tokens": 50, "output_tokens": 9, "reasoning_tokens": 4},
    "cached_tokens": 32,
}
TEXT = {"type": "text", "text": "High tide."}
THOUGHT = {"type": "thinking", "thinking": "let me see"}


def call(arguments='{"port": "Oslo"}', name="get_tides", id="t1"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def body(*content, calls=(), stop="COMPLETE", **more):
    message = {"role": "assistant", "content": list(content), **({"tool_calls": list(calls)} if calls else {})}
    return {"id": "x", "message": message, "finish_reason": stop, "usage": USAGE, **more}


def reader(**fields):
    return CohereAnswer(
        ReaderContext(
            normalise=lambda raw: REASONS.get((raw or "").casefold(), StopReason.UNKNOWN),
            dispose=lambda raw, reason: Disposition.FINAL,
            error_rules=ERROR_RULES,
            quota_headers=QUOTA_HEADERS,
            **fields,
        )
    )


def unary(data, **fields):
    answer = reader(**fields)
    list(answer.read(data))
    return answer.finish()


def streamed(chunks, **fields):
    """Return the response and its deltas."""
    answer = reader(**fields)
    stream = EventFeed(answer, has_lines=False)
    deltas = [delta for chunk in chunks for delta in stream.feed(chunk)]
    deltas += stream.finish()
    return answer.finish(), deltas


def sse(*events):
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), json.dumps(event).encode()) for event in events
    )


def events_of(data):
    """Convert a body to stream events, with texts in chunks of two characters."""
    message = data["message"]
    yield {"type": "message-start", "id": "x", "delta": {"message": {"role": "assistant", "content": []}}}
    if plan := message.get("tool_plan"):
        for at in range(0, len(plan), 2):
            yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": plan[at : at + 2]}}}
    for index, block in enumerate(message["content"]):
        name = block["type"]
        yield {"type": "content-start", "index": index, "delta": {"message": {"content": {"type": name, name: ""}}}}
        for at in range(0, len(block[name]), 2):
            piece = {name: block[name][at : at + 2]}
            yield {"type": "content-delta", "index": index, "delta": {"message": {"content": piece}}}
        yield {"type": "content-end", "index": index}
    for index, each in enumerate(message.get("tool_calls", ())):
        text = each["function"]["arguments"]
        started = {**each, "function": {**each["function"], "arguments": ""}}
        yield {"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": started}}}
        for at in range(0, len(text), 2):
            piece = {"function": {"arguments": text[at : at + 2]}}
            yield {"type": "tool-call-delta", "index": index, "delta": {"message": {"tool_calls": piece}}}
        yield {"type": "tool-call-end", "index": index}
    yield {"type": "message-end", "delta": {"finish_reason": data["finish_reason"], "usage": data["usage"]}}


# -- whole responses ------------------------------------------------------------------------------------------


def test_text_and_reasoning_are_separated():
    response = unary(body(THOUGHT, TEXT, {"type": "text", "text": " Now."}))
    assert (response.text, response.reasoning_content) == ("High tide. Now.", "let me see")
    assert (response.stop_reason, response.raw_stop_reason) == (StopReason.END_TURN, "COMPLETE")


def test_usage_is_tokens_and_not_billed_units():
    assert unary(body(TEXT)).usage == Usage(
        input_tokens=50, output_tokens=9, cached_input_tokens=32, reasoning_tokens=4
    )


def test_tool_plan_is_neither_text_nor_reasoning():
    data = body(calls=[call(), call("", "now", "t2")], stop="TOOL_CALL")
    data["message"]["tool_plan"] = "I will look at the tides."
    response = unary(data)
    assert response.tool_calls == (ToolCall("t1", "get_tides", '{"port": "Oslo"}'), ToolCall("t2", "now", "{}"))
    assert (response.text, response.reasoning_content, response.stop_reason) == ("", "", StopReason.TOOL_CALL)
    assert response.opaque == {"cohere": {"tool_plan": "I will look at the tides."}}


def test_reasoning_is_kept_for_the_next_turn_only_with_calls():
    assert unary(body(THOUGHT, calls=[call()], stop="TOOL_CALL")).opaque == {"cohere": {"thinking": "let me see"}}
    assert unary(body(THOUGHT, TEXT)).opaque == {}


def test_every_tool_call_gets_a_unique_id():
    calls = unary(body(calls=[call(), call(), call(id=None)], stop="TOOL_CALL")).tool_calls
    assert calls[0].id == "t1" and len({each.id for each in calls} - {""}) == 3


def test_object_arguments_are_read():
    whole = {**call(), "function": {"name": "get_tides", "arguments": {"port": "Oslo"}}}
    start = {"type": "tool-call-start", "index": 0, "delta": {"message": {"tool_calls": whole}}}
    for response in (unary(body(calls=[whole])), streamed([sse(start)])[0]):
        assert json.loads(response.tool_calls[0].arguments) == {"port": "Oslo"}


def test_unknown_content_is_reported():
    block = {"type": "image_url", "image_url": {"url": "https://example.org/x"}}
    start = {"type": "content-start", "index": 0, "delta": {"message": {"content": block}}}
    for response in (unary(body(TEXT, block)), streamed([sse(start)])[0]):
        assert response.unread == ("image_url",)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("COMPLETE", StopReason.END_TURN),
        ("STOP_SEQUENCE", StopReason.END_TURN),
        ("MAX_TOKENS", StopReason.MAX_TOKENS),
        ("TOOL_CALL", StopReason.TOOL_CALL),
        ("ERROR", StopReason.UNKNOWN),
        ("TIMEOUT", StopReason.UNKNOWN),
        ("NEW_WORD", StopReason.UNKNOWN),
    ],
)
def test_stop_reason_is_normalised_and_the_native_one_kept(word, reason):
    response = unary(body(TEXT, stop=word))
    assert (response.stop_reason, response.strict_stop_reason, response.raw_stop_reason) == (reason, reason, word)


@pytest.mark.parametrize("stop", [None, "", 3])
def test_missing_stop_reason_is_unknown(stop):
    response = unary(body(TEXT, stop=stop))
    assert (response.stop_reason, response.raw_stop_reason) == (StopReason.UNKNOWN, None)


def test_tool_call_changes_only_a_clean_stop_reason():
    assert unary(body(calls=[call()])).stop_reason is StopReason.TOOL_CALL
    assert unary(body(calls=[call()], stop="MAX_TOKENS")).stop_reason is StopReason.MAX_TOKENS
    assert unary(body(calls=[call()], stop="ERROR")).stop_reason is StopReason.UNKNOWN


def test_tool_call_at_the_output_limit_is_truncated():
    assert unary(body(calls=[call()], stop="TOOL_CALL"), max_tokens=9).stop_reason is StopReason.MAX_TOKENS
    assert unary(body(calls=[call()], stop="TOOL_CALL"), max_tokens=10).stop_reason is StopReason.TOOL_CALL


def test_quota_and_warning_headers_are_kept():
    headers = {"x-trial-endpoint-call-remaining": "19", "x-api-warning": "model is deprecated", "x-request-id": "1"}
    assert dict(unary(body(TEXT), headers=headers).quota_metadata) == {
        "x-trial-endpoint-call-remaining": "19",
        "x-api-warning": "model is deprecated",
    }


@pytest.mark.parametrize("data", [[], {}, 3, None, {"message": "hello"}, {"choices": []}])
def test_unrelated_json_is_a_failure(data):
    with pytest.raises(TransientUnknown, match="not one of Cohere's chat"):
        unary(data)


@pytest.mark.parametrize("index", [0, 4])
def test_arguments_of_an_unknown_call_make_the_response_truncated(index):
    data = body(calls=[call("", "now")], stop="TOOL_CALL")
    written = {"message": {"tool_calls": {"function": {"arguments": '{"port": "Oslo"}'}}}}
    stray = {"type": "tool-call-delta", "index": index, "delta": written}
    *started, end, finish = events_of(data)
    response, _ = streamed([sse(*started, stray, end, finish)])
    assert response.stop_reason is (StopReason.MAX_TOKENS if index else StopReason.TOOL_CALL)
    assert [each.arguments for each in response.tool_calls] == ["{}" if index else '{"port": "Oslo"}']
    nameless = unary(body(calls=[call("{}", "now"), call(name="")], stop="TOOL_CALL"))
    assert nameless.stop_reason is StopReason.MAX_TOKENS


# -- as a stream ----------------------------------------------------------------------------------------------

TEXTS = st.builds(
    lambda kind, text: {"type": kind, kind: text}, st.sampled_from(["text", "thinking"]), st.text(max_size=9)
)
CALLS = st.builds(call, st.sampled_from(["", "null", "{}", '{"port": "Õslo"}', '{"po']), st.sampled_from(["a", "b"]))
STOPS = st.sampled_from(["COMPLETE", "TOOL_CALL", "MAX_TOKENS", "ERROR", "NEW"])


@given(
    st.lists(TEXTS, max_size=4),
    st.text(max_size=5),
    st.lists(CALLS, max_size=3),
    STOPS,
    st.lists(st.integers(0, 99_999), max_size=20),
)
def test_response_does_not_depend_on_chunk_boundaries(content, plan, calls, stop, cuts):
    calls = [{**each, "id": f"t{number}"} for number, each in enumerate(calls)]
    data = body(*content, calls=calls, stop=stop)
    data["message"]["tool_plan"] = plan
    stream = sse(*events_of(data)) + b"data: [DONE]\n\n"
    places = sorted({0, len(stream), *(place % len(stream) for place in cuts)})
    response, deltas = streamed(stream[start:end] for start, end in pairwise(places))
    assert response == unary(data)
    assert "".join(delta.text for delta in deltas) == response.text
    assert "".join(delta.reasoning_content for delta in deltas) == response.reasoning_content
    called = [delta.tool_call for delta in deltas if delta.tool_call]
    named = [(piece.index, piece.id, piece.name) for piece in called if piece.name]
    assert named == [(index, each.id, each.name) for index, each in enumerate(response.tool_calls)]


def test_stream_without_stop_reason_is_unknown_and_keeps_its_text():
    events = list(events_of(body(TEXT)))
    response, _ = streamed([sse(*events[:-1])])
    assert (response.text, response.stop_reason, response.raw_stop_reason) == ("High tide.", StopReason.UNKNOWN, None)
    assert streamed([sse(*events)[:-40]])[0].stop_reason is StopReason.UNKNOWN
    assert streamed([])[0].stop_reason is StopReason.UNKNOWN


def test_last_event_without_line_break_is_read():
    response, deltas = streamed([sse(*events_of(body(TEXT)))[:-2]])
    assert (response.stop_reason, len(deltas)) == (StopReason.END_TURN, 5)


def test_truncated_call_does_not_become_a_call_without_arguments():
    events = list(events_of(body(calls=[call("")], stop="TOOL_CALL")))
    assert streamed([sse(*events[:2])])[0].tool_calls[0].arguments == ""
    assert streamed([sse(*events[:3])])[0].tool_calls[0].arguments == "{}"


def test_unknown_events_are_ignored():
    citation = {"type": "citation-start", "index": 0, "delta": {"message": {"citations": {"text": "tide"}}}}
    plan = {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I will"}}}
    response, _ = streamed([sse(citation, plan, *events_of(body(TEXT)), {"type": "debug"})])
    assert (response.text, response.reasoning_content) == ("High tide.", "")


def test_error_at_the_end_is_a_failure_that_keeps_received_text():
    end = {"type": "message-end", "delta": {"error": "the model stopped", "finish_reason": "ERROR"}}
    with pytest.raises(CallFailed) as caught:
        streamed([sse(*list(events_of(body(TEXT)))[:-1], end)])
    failure = caught.value
    assert (failure.sub_cause, failure.status, failure.detail) == ("error_in_200", 200, "the model stopped")
    assert (failure.excerpt, failure.raw_length, failure.raw_stop_reason) == ("High tide.", 10, "ERROR")


@pytest.mark.parametrize(
    "event", [{"type": "error", "error": {"message": "it broke"}}, {"type": "x", "error": "it broke"}]
)
def test_error_event_is_a_failure(event):
    with pytest.raises(CallFailed, match="it broke"):
        streamed([sse(event)])


def test_event_must_be_json():
    start = sse(*list(events_of(body(TEXT)))[:-1])
    with pytest.raises(ProviderUnavailable, match="damaged") as caught:
        streamed([start + b"data: {oops\n\n"])
    assert caught.value.sub_cause == "cut_body"


# -- errors with a status -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "data", "cause"),
    [
        (400, {"message": "invalid field", "id": "x"}, FailureClass.INVALID_REQUEST),
        (400, {"message": "x", "error_type": "TOO_MANY_TOKENS"}, FailureClass.CONTEXT_WINDOW_EXCEEDED),
        (400, {"message": "too many tokens: size limit exceeded"}, FailureClass.CONTEXT_WINDOW_EXCEEDED),
        (401, {"message": "incorrect key"}, FailureClass.AUTH_FAILED),
        (402, {"message": "billing"}, FailureClass.QUOTA_EXHAUSTED),
        (404, {"message": "model 'x' not found"}, FailureClass.INVALID_REQUEST),
        (422, {"message": "cannot be processed"}, FailureClass.INVALID_REQUEST),
        (429, {"message": "Trial key: limited to 10 API calls / minute"}, FailureClass.RATE_LIMITED),
        (429, {"message": "Trial key: limited to 1000 API calls / month"}, FailureClass.QUOTA_EXHAUSTED),
        (498, {"message": "blocked"}, FailureClass.SAFETY_FILTERED),
        (499, {"message": "cancelled"}, FailureClass.CANCELLED),
        (500, {"message": "oh"}, FailureClass.PROVIDER_UNAVAILABLE),
        (503, {}, FailureClass.PROVIDER_UNAVAILABLE),
    ],
)
def test_error_is_classified_by_status_and_message(status, data, cause):
    with pytest.raises(CallFailed) as caught:
        decode_body(status, {}, json.dumps(data).encode(), ERROR_RULES, ())
    assert (caught.value.failure_class, caught.value.status) == (cause, status)


# -- models ---------------------------------------------------------------------------------------------------


def test_listed_models_have_their_context_window():
    page = {"models": [{"name": "a", "context_length": 256000.0}, {"name": "b"}, {}, 3], "next_page_token": "n"}
    assert read_models(page) == ([ModelInfo(id="a", input_tokens=256_000), ModelInfo(id="b")], f"{MODELS}&page_token=n")
    assert read_models({"models": None}) == ([], "")


# -- hostile answers ------------------------------------------------------------------------------------------

WORDS_OF_AN_ANSWER = "message content text thinking tool_calls function name arguments usage tokens error delta".split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS_OF_AN_ANSWER), inner, max_size=4),
    max_leaves=20,
)
KINDS = st.sampled_from("content-start content-delta tool-call-start tool-call-delta tool-call-end message-end".split())


@given(JSON)
def test_any_json_is_a_response_or_a_failure(data):
    try:
        assert isinstance(unary(data), ChatResponse)
    except CallFailed:
        pass
    read_models({"models": data, "next_page_token": data})


@given(st.lists(st.tuples(KINDS, JSON, JSON), max_size=5))
def test_any_stream_is_a_response_or_a_failure(events):
    try:
        response, _ = streamed(
            [sse(*({"type": kind, "index": index, "delta": delta} for kind, index, delta in events))]
        )
        assert isinstance(response, ChatResponse)
    except CallFailed:
        pass


@given(st.binary(max_size=100))
def test_any_bytes_are_a_response_or_a_failure(data):
    try:
        assert isinstance(streamed([data])[0], ChatResponse)
    except CallFailed:
        pass
