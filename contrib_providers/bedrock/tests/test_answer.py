"""Bedrock responses, whole and streamed."""

import copy
import json
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import (
    CallFailed,
    ChatResponse,
    Disposition,
    FailureClass,
    ProviderUnavailable,
    StopReason,
    ToolCall,
    TransientUnknown,
    Usage,
)
from helmdeck_provider_bedrock.answer import REASONS, ConverseAnswer
from helmdeck_provider_bedrock.faults import ERROR_RULES
from helmdeck_provider_bedrock.request import OPAQUE
from helmdeck_provider_bedrock.stream import FrameFeed
from helmdeck_providers import ReaderContext

TOOL = {"toolUse": {"toolUseId": "t1", "name": "get_tides", "input": {"port": "Oslo"}}}
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "let me see", "signature": "c2ln"}}}


def body(*content, stop="end_turn", **more):
    usage = {"inputTokens": 5, "outputTokens": 2, "totalTokens": 7}
    return {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": stop,
        "usage": usage,
        **more,
    }


def reader(**fields):
    return ConverseAnswer(
        ReaderContext(
            normalise=lambda raw: REASONS.get(raw or "", StopReason.UNKNOWN),
            dispose=lambda raw, reason: Disposition.STOP,
            error_rules=ERROR_RULES,
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
    stream = FrameFeed(answer)
    deltas = [delta for chunk in chunks for delta in stream.feed(chunk)]
    deltas += stream.finish()
    return answer.finish(), deltas


def cut(data, cuts):
    places = sorted({0, len(data), *(place % (len(data) + 1) for place in cuts)})
    return [data[start:end] for start, end in pairwise(places)]


# -- whole responses ------------------------------------------------------------------------------------------


def test_text_reasoning_and_tool_calls_are_separated():
    response = unary(body(THOUGHT, {"text": "I look. "}, {"text": "Now."}, TOOL, stop="tool_use"))
    assert (response.text, response.reasoning_content) == ("I look. Now.", "let me see")
    assert response.tool_calls == (ToolCall("t1", "get_tides", '{"port":"Oslo"}'),)
    assert (response.stop_reason, response.raw_stop_reason) == (StopReason.TOOL_CALL, "tool_use")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", StopReason.END_TURN),
        ("stop_sequence", StopReason.END_TURN),
        ("tool_use", StopReason.TOOL_CALL),
        ("max_tokens", StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", StopReason.CONTEXT_WINDOW_EXCEEDED),
        ("guardrail_intervened", StopReason.SAFETY_BLOCKED),
        ("content_filtered", StopReason.SAFETY_BLOCKED),
        ("malformed_model_output", StopReason.UNKNOWN),
        ("malformed_tool_use", StopReason.UNKNOWN),
        ("a_new_word", StopReason.UNKNOWN),
    ],
)
def test_stop_reason_is_normalised_and_the_native_one_kept(word, reason):
    response = unary(body({"text": "x"}, stop=word))
    assert (response.stop_reason, response.strict_stop_reason, response.raw_stop_reason) == (reason, reason, word)


@pytest.mark.parametrize("stop", [None, "", 7])
def test_missing_stop_reason_is_unknown(stop):
    response = unary(body({"text": "x"}, stop=stop))
    assert (response.stop_reason, response.raw_stop_reason) == (StopReason.UNKNOWN, None)


def test_tool_call_changes_only_a_clean_stop_reason():
    assert unary(body(TOOL)).stop_reason is StopReason.TOOL_CALL
    assert unary(body(TOOL)).strict_stop_reason is StopReason.END_TURN
    for word in ("max_tokens", "guardrail_intervened", "malformed_tool_use"):
        assert unary(body(TOOL, stop=word)).stop_reason not in (StopReason.TOOL_CALL, StopReason.END_TURN)


def test_tool_call_at_the_output_limit_is_truncated():
    assert unary(body(TOOL, stop="tool_use"), max_tokens=2).stop_reason is StopReason.MAX_TOKENS
    assert unary(body(TOOL, stop="tool_use"), max_tokens=3).stop_reason is StopReason.TOOL_CALL


def test_server_side_tool_call_is_not_returned():
    own = {"toolUse": {**TOOL["toolUse"], "type": "server_tool_use"}}
    named = {"toolUse": {**TOOL["toolUse"], "type": "tool_use"}}
    response = unary(body(own, {"toolResult": {"toolUseId": "t1"}}, named))
    assert [call.id for call in response.tool_calls] == ["t1"]
    assert response.unread == ("server_tool_use", "toolResult")


def test_unknown_content_is_reported(frame):
    image = {"image": {"format": "png", "source": {"bytes": "aQ=="}}}
    start = frame("contentBlockStart", {"contentBlockIndex": 0, "start": {"image": {"format": "png"}}})
    for response in (unary(body({"text": "x"}, image)), streamed([start])[0]):
        assert response.unread == ("image",)


def test_event_without_index_belongs_to_the_previous_block(frame):
    start = {"contentBlockIndex": 3, "start": {"toolUse": {"toolUseId": "t", "name": "now"}}}
    more = [{"delta": {"toolUse": {"input": piece}}} for piece in ('{"a":', "1}")]
    response, _ = streamed([frame("contentBlockStart", start), *(frame("contentBlockDelta", each) for each in more)])
    assert response.tool_calls[0].arguments == '{"a":1}'


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ({"toolUseId": "t", "name": "look", "type": "server_tool_use"}, StopReason.TOOL_CALL),
        ({"toolUseId": "t"}, StopReason.MAX_TOKENS),
    ],
)
def test_arguments_of_an_unknown_call_make_the_response_truncated(frame, start, reason):
    events = [
        ("contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "n", "name": "now"}}}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolUse": start}}),
        ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"a":1}'}}}),
        ("contentBlockStop", {"contentBlockIndex": 1}),
        ("messageStop", {"stopReason": "tool_use"}),
    ]
    response, _ = streamed([frame(*event) for event in events])
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("now", "{}")]
    assert response.stop_reason is reason


def test_every_tool_call_gets_a_unique_id():
    nameless = {"toolUse": {**TOOL["toolUse"], "toolUseId": None}}
    calls = unary(body(TOOL, TOOL, nameless)).tool_calls
    assert calls[0].id == "t1" and len({call.id for call in calls} - {""}) == 3


def test_missing_arguments_are_an_empty_object():
    for nothing in ({}, None, ""):
        call = {"toolUse": {"toolUseId": "t", "name": "now", "input": nothing}}
        assert unary(body(call)).tool_calls[0].arguments == "{}"


def test_cached_tokens_are_part_of_input_tokens():
    usage = {"inputTokens": 10, "outputTokens": 4, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 7}
    assert unary(body({"text": "x"}, usage=usage)).usage == Usage(
        input_tokens=117, output_tokens=4, cached_input_tokens=100, cache_write_tokens=7
    )
    twice = {**usage, "cacheReadInputTokenCount": 100, "cacheWriteInputTokenCount": 7}
    assert unary(body({"text": "x"}, usage=twice)).usage.input_tokens == 117
    older = {"inputTokens": 10, "outputTokens": 4, "cacheReadInputTokenCount": 100}
    assert unary(body({"text": "x"}, usage=older)).usage.cached_input_tokens == 100


def test_text_with_citations_is_read_as_text():
    cited = {"citationsContent": {"content": [{"text": "High "}, {"text": "tide."}], "citations": [{"title": "x"}]}}
    assert unary(body(cited)).text == "High tide."


def test_signed_and_redacted_reasoning_is_kept_for_the_next_turn():
    hidden = {"reasoningContent": {"redactedContent": "aGlkZGVu"}}
    unsigned = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
    response = unary(body(THOUGHT, hidden, unsigned, {"text": "x"}))
    assert response.reasoning_content == "let me seehm"
    assert response.opaque == {OPAQUE: [THOUGHT, hidden]}
    assert not unary(body(unsigned)).opaque


def test_redacted_reasoning_chunks_are_joined(frame):
    deltas = [
        {"contentBlockIndex": 0, "delta": {"reasoningContent": {"redactedContent": part}}} for part in ("aGk=", "IQ==")
    ]
    response, _ = streamed([frame("contentBlockDelta", delta) for delta in deltas])
    assert response.opaque == {OPAQUE: [{"reasoningContent": {"redactedContent": "aGkh"}}]}


def test_served_model_is_that_of_the_prompt_router():
    router = {"promptRouter": {"invokedModelId": "eu.model-small"}}
    assert unary(body({"text": "x"}, trace=router)).served_model == "eu.model-small"


# -- guardrails -----------------------------------------------------------------------------------------------


def guarded(*actions, **more):
    entities = [{"type": "ADDRESS", "match": "Harbour Lane 9", "action": action} for action in actions]
    assessment = {"outputAssessments": {"g": [{"sensitiveInformationPolicy": {"piiEntities": entities}}]}}
    trace = {"guardrail": {"modelOutput": ["they live in Harbour Lane 9"], **assessment}}
    return body({"text": "they live in {ADDRESS}"}, stop="guardrail_intervened", trace=trace, **more)


def test_response_is_final_if_the_guardrail_only_masked():
    response = unary(guarded("ANONYMIZED", "ANONYMIZED", "NONE"))
    assert (response.stop_reason, response.disposition) == (StopReason.SAFETY_BLOCKED, Disposition.FINAL)
    assert response.text == "they live in {ADDRESS}"


def test_response_is_not_final_if_the_guardrail_blocked_or_is_unclear():
    for data in (guarded("BLOCKED"), guarded("ANONYMIZED", "BLOCKED"), guarded(), body(stop="guardrail_intervened")):
        assert unary(data).disposition is Disposition.STOP


@pytest.mark.parametrize(
    ("reason", "disposition"),
    [
        ("No action.\nGuardrail masked.", Disposition.FINAL),
        ("Guardrail blocked.", Disposition.STOP),
        ("Masked. Blocked.", Disposition.STOP),
        (7, Disposition.STOP),
    ],
)
def test_masking_is_read_from_the_action_reason(reason, disposition):
    trace = {"guardrail": {"actionReason": reason}}
    assert unary(body(stop="guardrail_intervened", trace=trace)).disposition is disposition


def test_masked_text_is_nowhere_in_the_response():
    assert "Harbour" not in repr(unary(guarded("ANONYMIZED")))


# -- as a stream ----------------------------------------------------------------------------------------------


def events_of(data):
    """Convert a body to stream events, with text and arguments in chunks of two characters."""
    for index, block in enumerate(data["output"]["message"]["content"]):
        deltas = []
        if "text" in block:
            deltas = [{"text": block["text"][at : at + 2]} for at in range(0, len(block["text"]), 2)]
        elif "toolUse" in block:
            tool = block["toolUse"]
            yield "contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": {**tool, "input": None}}}
            text = msgspec.json.encode(tool["input"]).decode()
            deltas = [{"toolUse": {"input": text[at : at + 2]}} for at in range(0, len(text), 2)]
        elif "reasoningText" in (thought := block["reasoningContent"]):
            deltas = [{"reasoningContent": {name: value}} for name, value in thought["reasoningText"].items()]
        else:
            deltas = [{"reasoningContent": thought}]
        for delta in deltas:
            yield "contentBlockDelta", {"contentBlockIndex": index, "delta": delta}
        yield "contentBlockStop", {"contentBlockIndex": index}
    yield "messageStop", {"stopReason": data["stopReason"]}
    yield "metadata", {name: data[name] for name in ("usage", "trace") if name in data}


TEXTS = st.builds(lambda text: {"text": text}, st.text(max_size=20))
CALLS = st.builds(
    lambda name, port: {"toolUse": {"toolUseId": "t", "name": name, "input": {"port": port}}},
    st.sampled_from(["a", "b"]),
    st.text(max_size=10),
)
THOUGHTS = st.sampled_from(
    [
        THOUGHT,
        {"reasoningContent": {"redactedContent": "aGk="}},
        {"reasoningContent": {"reasoningText": {"text": "hm"}}},
    ]
)
STOPS = st.sampled_from(["end_turn", "tool_use", "max_tokens", "guardrail_intervened", "new_word"])


@given(st.lists(TEXTS | CALLS | THOUGHTS, max_size=6), STOPS, st.lists(st.integers(0, 100_000), max_size=20))
def test_response_does_not_depend_on_chunk_boundaries(frame, content, stop, cuts):
    for number, block in enumerate(content):
        if "toolUse" in block:
            block["toolUse"]["toolUseId"] = f"t{number}"
    data = body(*content, stop=stop, trace=guarded("ANONYMIZED")["trace"])
    stream = b"".join(frame(event, fields) for event, fields in events_of(data))
    response, deltas = streamed(cut(stream, cuts))
    assert response == unary(data)
    assert "".join(delta.text for delta in deltas) == response.text
    assert "".join(delta.reasoning_content for delta in deltas) == response.reasoning_content
    called = [delta.tool_call for delta in deltas if delta.tool_call]
    for index, call in enumerate(response.tool_calls):
        assert "".join(piece.arguments for piece in called if piece.index == index) == call.arguments
        assert [(piece.id, piece.name) for piece in called if piece.index == index and piece.name] == [
            (call.id, call.name)
        ]


def test_stream_without_stop_reason_is_unknown_and_keeps_its_text(text_frames):
    for missing in (2, 3, 4):
        response, _ = streamed(text_frames("High ", "tide")[:-missing])
        assert (response.stop_reason, response.raw_stop_reason) == (StopReason.UNKNOWN, None)
    assert streamed(text_frames("High ", "tide")[:-2])[0].text == "High tide"
    assert streamed([])[0].stop_reason is StopReason.UNKNOWN


def test_stream_that_ends_within_a_frame_is_unknown(text_frames):
    whole = b"".join(text_frames("High ", "tide")[:-1])
    response, _ = streamed([whole[:-5]])
    assert (response.text, response.stop_reason) == ("High tide", StopReason.UNKNOWN)


def test_truncated_call_does_not_become_a_call_without_arguments(frame):
    start = frame(
        "contentBlockStart", {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "t", "name": "now"}}}
    )
    stop = frame("contentBlockStop", {"contentBlockIndex": 0})
    assert streamed([start])[0].tool_calls[0].arguments == ""
    assert streamed([start, stop])[0].tool_calls[0].arguments == "{}"


def test_unknown_events_are_ignored(frame, text_frames):
    strange = frame("contentBlockSparkle", {"contentBlockIndex": 0, "delta": {"text": "no"}})
    assert streamed([strange, *text_frames("yes"), strange])[0].text == "yes"


@pytest.mark.parametrize(
    ("kind", "data", "cause"),
    [
        ("internalServerException", {"message": "oh"}, FailureClass.PROVIDER_UNAVAILABLE),
        ("serviceUnavailableException", {"message": "oh"}, FailureClass.PROVIDER_UNAVAILABLE),
        ("modelStreamErrorException", {"message": "oh", "originalMessage": "oom"}, FailureClass.PROVIDER_UNAVAILABLE),
        ("throttlingException", {"message": "Too many tokens, please wait"}, FailureClass.RATE_LIMITED),
        ("throttlingException", {"message": "Too many tokens per day"}, FailureClass.QUOTA_EXHAUSTED),
        ("throttlingException", {"message": "wait a day"}, FailureClass.RATE_LIMITED),
        ("validationException", {"message": "bad field"}, FailureClass.INVALID_REQUEST),
        (
            "validationException",
            {"message": "Input is too long for requested model."},
            FailureClass.CONTEXT_WINDOW_EXCEEDED,
        ),
        ("modelTimeoutException", {"message": "oh"}, FailureClass.LIKELY_TIMEOUT),
        ("sparkleException", {}, FailureClass.TRANSIENT_UNKNOWN),
    ],
)
def test_exception_frame_is_a_failure_that_keeps_received_text(frame, text_frames, kind, data, cause):
    with pytest.raises(CallFailed) as caught:
        streamed([*text_frames("High tide")[:2], frame(kind, data, kind="exception")])
    failure = caught.value
    assert (failure.failure_class, failure.sub_cause or "error_in_200", failure.status) == (cause, "error_in_200", 200)
    assert (failure.excerpt, failure.raw_length, failure.stop_reason) == ("High tide", 9, "Unknown")
    assert data.get("message", kind) in failure.detail


def test_stop_reason_before_an_exception_is_kept(frame, text_frames):
    with pytest.raises(CallFailed) as caught:
        streamed(
            [*text_frames("x", stop="max_tokens"), frame("throttlingException", {"message": "wait"}, kind="exception")]
        )
    assert (caught.value.stop_reason, caught.value.raw_stop_reason) == ("MaxTokens", "max_tokens")


def test_error_frame_is_a_failure(frame):
    told = frame("x", b"", kind="error", headers={":error-code": "InternalError", ":error-message": "it broke"}.items())
    with pytest.raises(CallFailed, match="it broke"):
        streamed([told])


@pytest.mark.parametrize("payload", [b"{", b"[]", b'"x"', b"\xff"])
def test_payload_must_be_an_object(frame, text_frames, payload):
    with pytest.raises(ProviderUnavailable, match="damaged") as caught:
        streamed([*text_frames("High tide")[:2], frame("contentBlockDelta", payload)])
    assert (caught.value.sub_cause, caught.value.excerpt) == ("damaged_frame", "High tide")


@pytest.mark.parametrize("data", [[], {}, "x", 3, None, {"output": {}}, {"choices": []}])
def test_unrelated_json_is_a_failure(data):
    with pytest.raises(TransientUnknown, match="not one of Converse"):
        unary(data)


# -- hostile answers ------------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                "output message content text toolUse name input usage inputTokens stopReason trace guardrail action".split()
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)
EVENTS = st.sampled_from("contentBlockStart contentBlockDelta contentBlockStop messageStop metadata x".split())


@given(JSON)
def test_any_json_is_a_response_or_a_failure(data):
    try:
        assert isinstance(unary(data), ChatResponse)
    except CallFailed:
        pass


@given(st.data())
def test_mutated_response_is_a_response_or_a_failure(data):
    answer = copy.deepcopy(body(THOUGHT, {"text": "x"}, TOOL, trace=guarded("ANONYMIZED")["trace"]))
    place = answer
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            place[key] = data.draw(JSON)
            break
        place = place[key]
    try:
        assert isinstance(unary(answer), ChatResponse)
    except CallFailed:
        pass


@given(st.lists(st.tuples(EVENTS, JSON), max_size=5))
def test_any_stream_is_a_response_or_a_failure(frame, events):
    try:
        response, _ = streamed([frame(event, json.dumps(data).encode()) for event, data in events])
        assert isinstance(response, ChatResponse)
    except CallFailed:
        pass
