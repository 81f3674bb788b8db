"""Responses of Gemini's generateContent."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import (
    CallFailed,
    ChatResponse,
    Disposition,
    ProviderUnavailable,
    StopReason,
    TransientUnknown,
    Usage,
)
from tests.case_support import each_case
from tests.helmdeck_providers.natives_support import answered, read, spoiled, spoken, summed


def chunk(*parts, reason=None, **candidate):
    candidate |= {"content": {"role": "model", "parts": list(parts)}} if parts else {}
    candidate |= {"finishReason": reason} if reason is not None else {}
    return {"candidates": [{"index": 0, **candidate}], "modelVersion": "gemini-x", "responseId": "r1"}


def text(value, **fields):
    return {"text": value, **fields}


def call(name="look", args=None, **fields):
    return {"functionCall": {"name": name, **({} if args is None else {"args": args})}, **fields}


WHOLE = chunk(
    text("let me ", thought=True),
    text("see", thought=True),
    text("Here it is.", thoughtSignature="c2ln"),
    {"executableCode": {"language": "PYTHON", "code": "1"}},
    call(args={"at": "sea", "deep": [1, None]}, thoughtSignature="c2lnMg=="),
    call("stop"),
    reason="STOP",
)
CHUNKS = [
    *(chunk(part) for part in WHOLE["candidates"][0]["content"]["parts"][:-1]),
    chunk(call("stop"), reason="STOP"),
]


def test_streamed_and_whole_answers_are_equal():
    deltas, response = read("gemini", *CHUNKS)
    assert response == answered("gemini", WHOLE)
    assert summed(deltas) == spoken(response)
    assert (response.text, response.reasoning_content, response.served_model) == (
        "Here it is.",
        "let me see",
        "gemini-x",
    )
    assert [json.loads(each.arguments) for each in response.tool_calls] == [{"at": "sea", "deep": [1, None]}, {}]


def test_stream_can_be_one_json_array():
    assert answered("gemini", CHUNKS) == answered("gemini", *CHUNKS)


def test_text_chunks_are_joined_and_signed_parts_kept_for_the_next_turn():
    response = answered("gemini", *CHUNKS)
    parts = response.opaque["gemini"]["parts"]
    assert parts[:2] == [text("let me see", thought=True), text("Here it is.", thoughtSignature="c2ln")]
    assert parts[3]["thoughtSignature"] == "c2lnMg=="


def test_end_turn_with_a_call_is_a_tool_call():
    response = answered("gemini", chunk(call()), chunk(text("")), chunk(reason="STOP"))
    assert (response.strict_stop_reason, response.stop_reason) == (StopReason.END_TURN, StopReason.TOOL_CALL)
    assert response.disposition is Disposition.TOOLS


def test_generated_call_ids_are_unique_across_calls_and_answers():
    ids = [
        each.id
        for name in ("r1", "r2")
        for each in answered("gemini", {**chunk(call(), call()), "responseId": name}).tool_calls
    ]
    assert len(set(ids)) == 4
    assert all(len(each) == 9 and each.isalnum() for each in ids)
    assert answered("gemini", chunk({"functionCall": {"name": "look", "id": "own"}})).tool_calls[0].id == "own"


def test_usage_includes_tool_and_reasoning_tokens():
    usage = {
        "promptTokenCount": 10, "toolUsePromptTokenCount": 5, "cachedContentTokenCount": 4, "candidatesTokenCount": 7,
        "thoughtsTokenCount": 3, "totalTokenCount": 25,
    }  # fmt: skip
    response = answered("gemini", {**chunk(text("x"), reason="STOP"), "usageMetadata": usage})
    assert response.usage == Usage(input_tokens=15, output_tokens=10, cached_input_tokens=4, reasoning_tokens=3)


def test_last_usage_of_a_stream_wins():
    chunks = [
        {**chunk(text("x")), "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1}},
        {**chunk(text("y")), "usageMetadata": {"trafficType": "ON_DEMAND"}},
        {**chunk(reason="STOP"), "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 6}},
    ]
    assert answered("gemini", *chunks).usage == Usage(input_tokens=9, output_tokens=6)


@each_case(
    ("word", "reason", "disposition"),
    [
        ("STOP", StopReason.END_TURN, Disposition.FINAL),
        (1, StopReason.END_TURN, Disposition.FINAL),
        ("MAX_TOKENS", StopReason.MAX_TOKENS, Disposition.LONGER),
        (2, StopReason.MAX_TOKENS, Disposition.LONGER),
        ("CONTINUATION", StopReason.MAX_TOKENS, Disposition.RESUME),
        *((word, StopReason.SAFETY_BLOCKED, Disposition.STOP) for word in (
            "SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "RECITATION", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT",
            "IMAGE_RECITATION", "MODEL_ARMOR", "ESCALATION", 3, 4,
        )),
        ("LANGUAGE", StopReason.UNKNOWN, Disposition.STOP),
        ("MISSING_THOUGHT_SIGNATURE", StopReason.UNKNOWN, Disposition.STOP),
        ("PUP_LIMITED_DISABLED", StopReason.UNKNOWN, Disposition.ACCOUNT),
        *((word, StopReason.UNKNOWN, Disposition.RETRY) for word in (
            "OTHER", "IMAGE_OTHER", "FINISH_REASON_UNSPECIFIED", "NO_IMAGE", "MALFORMED_FUNCTION_CALL",
            "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "NEVER_HEARD_OF", 5, 0,
        )),
    ],
)  # fmt: skip
def test_every_native_stop_reason_has_a_reason_and_a_disposition(word, reason, disposition):
    response = answered("gemini", chunk(text("x"), reason=word))
    assert (response.stop_reason, response.disposition) == (reason, disposition)
    assert response.raw_stop_reason == str(word)


@each_case(
    "block", ["SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "MODEL_ARMOR", "JAILBREAK", 1]
)
def test_blocked_prompt_without_candidates_is_safety_blocked(block):
    response = answered("gemini", {"promptFeedback": {"blockReason": block, "blockReasonMessage": "no"}})
    assert (response.stop_reason, response.refusal) == (StopReason.SAFETY_BLOCKED, "no")
    assert response.raw_stop_reason == f"promptFeedback:{block}"


@each_case(
    ("body", "raw"),
    [
        ({"promptFeedback": {"blockReason": "BRAND_NEW"}}, "promptFeedback:BRAND_NEW"),
        ({"promptFeedback": {"safetyRatings": []}}, None),
        ({"candidates": []}, None),
        ({"candidates": None, "responseId": "x"}, None),
        ({"usageMetadata": {"promptTokenCount": 3}}, None),
        ({"candidates": [{"content": {}, "index": 0}]}, None),
    ],
)
def test_answer_without_candidates_and_reason_is_unknown(body, raw):
    response = answered("gemini", body)
    assert (response.stop_reason, response.raw_stop_reason, response.text) == (StopReason.UNKNOWN, raw, "")


def test_rejected_tool_call_is_not_executable():
    response = answered("gemini", chunk(call("list_files", {}), reason="UNEXPECTED_TOOL_CALL"))
    assert (len(response.tool_calls), response.stop_reason) == (1, StopReason.UNKNOWN)
    cut = answered("gemini", chunk(call(), reason="MAX_TOKENS"))
    assert cut.stop_reason is StopReason.MAX_TOKENS


def test_block_reason_message_is_kept():
    response = answered("gemini", {"candidates": [{"finishReason": "SAFETY", "finishMessage": "not that"}]})
    assert response.refusal == "not that"
    assert answered("gemini", {"candidates": [{"finishReason": "STOP", "finishMessage": "bye"}]}).refusal == ""


def test_only_the_first_candidate_is_read():
    body = {
        "candidates": [
            {**chunk(text("b"), reason="STOP")["candidates"][0], "index": 1},
            chunk(text("a"))["candidates"][0],
        ]
    }
    assert answered("gemini", body).text == "a"


# -- arguments that come place by place -----------------------------------------------------------------------


def grown(*calls, reason="STOP"):
    return [*(chunk({"functionCall": each}) for each in calls), chunk(reason=reason)]


def test_partial_args_are_assembled_by_json_path():
    deltas, response = read(
        "gemini",
        *grown(
            {"name": "look", "willContinue": True},
            {"partialArgs": [{"jsonPath": "$.at", "stringValue": "Ber", "willContinue": True}], "willContinue": True},
            {"partialArgs": [{"jsonPath": "$.at", "stringValue": "gen"}], "willContinue": True},
            {"partialArgs": [{"jsonPath": "$.list[0].n", "numberValue": 1}, {"jsonPath": "$.list[1]", "boolValue": True}], "willContinue": True},
            {"partialArgs": [{"jsonPath": "$['a.b']", "nullValue": "NULL_VALUE"}], "willContinue": True},
            {},
            {"name": "stop", "args": {}},
        ),
    )  # fmt: skip
    first, second = response.tool_calls
    assert json.loads(first.arguments) == {"at": "Bergen", "list": [{"n": 1}, True], "a.b": None}
    assert (second.name, second.arguments, response.stop_reason) == ("stop", "{}", StopReason.TOOL_CALL)
    assert summed(deltas) == spoken(response)


@pytest.mark.parametrize(
    "calls",
    [
        [{"name": "look", "willContinue": True}],
        [{"name": "look", "willContinue": True}, {"name": "stop", "args": {}}],
    ],
)
def test_unfinished_partial_args_are_a_truncation(calls):
    assert answered("gemini", *grown({"name": "first"}, *calls)).stop_reason is StopReason.MAX_TOKENS


@each_case("path", ["", "$", "nonsense", "$[5]", "$.a[99999]", "$.a[3].b", "$.s.t", "$.s[0]"])
def test_invalid_json_path_is_ignored(path):
    events = grown(
        {"name": "look", "args": {"s": "x"}, "partialArgs": [{"jsonPath": path, "stringValue": "y"}, {"jsonPath": 7}]},
    )
    assert answered("gemini", *events).tool_calls[0].name == "look"


@each_case(
    ("args", "expected"),
    [('{"at": "sea"}', '{"at":"sea"}'), ("", "{}"), ("at: sea", "at: sea"), ("[1]", "[1]"), ([1], "[1]")],
)
def test_arguments_in_another_form_are_never_replaced_by_empty_ones(args, expected):
    assert answered("gemini", chunk(call(args=args), reason="STOP")).tool_calls[0].arguments == expected


# -- failures -------------------------------------------------------------------------------------------------


def test_error_within_a_stream_keeps_received_text_and_usage():
    error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    with pytest.raises(ProviderUnavailable) as caught:
        answered("gemini", chunk(text("half")), error)
    assert (caught.value.excerpt, caught.value.detail) == ("half", "The model is overloaded.")


@each_case("event", [None, 7, "x", {}, {"choices": []}])
def test_unrelated_json_is_a_failure(event):
    with pytest.raises(TransientUnknown, match="not one of Gemini's"):
        answered("gemini", event)


@given(st.one_of(spoiled(CHUNKS), spoiled([WHOLE]), spoiled(grown(
    {"name": "look", "willContinue": True},
    {"partialArgs": [{"jsonPath": "$.a[0].b", "stringValue": "x", "willContinue": True}], "willContinue": True},
    {"partialArgs": [{"jsonPath": "$.a[1]", "numberValue": 3}]},
))))  # fmt: skip
def test_mutated_answer_is_a_response_or_a_failure(events):
    try:
        response = answered("gemini", *(events if isinstance(events, list) else [events]), max_tokens=5)
    except CallFailed:
        return
    assert isinstance(response, ChatResponse)
    assert isinstance(response.text, str)


def test_finish_message_of_a_malformed_call_is_kept():
    message = "Malformed function call: look(at="
    response = answered("gemini", chunk(reason="MALFORMED_FUNCTION_CALL", finishMessage=message))
    assert (response.stop_reason, response.refusal) == (StopReason.UNKNOWN, message)
    assert answered("gemini", chunk(text("ok"), reason="STOP", finishMessage="all is well")).refusal == ""


def test_unknown_parts_are_reported_and_text_fields_are_not():
    parts = [
        {"inlineData": {"mimeType": "image/png", "data": "x"}, "thoughtSignature": "c2ln"},
        {"executableCode": {"code": "1"}},
        text("ok", videoMetadata={"fps": 1}),
        call(),
        {},
    ]
    response = answered("gemini", chunk(*parts, reason="STOP"))
    assert response.unread == ("inlineData", "executableCode")
