"""What is made of answers in the form of Gemini's generateContent."""

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
from tests.plugins.natives_support import answered, read, spoiled, spoken, summed


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


def test_a_stream_comes_to_what_the_whole_answer_says():
    deltas, response = read("gemini", *CHUNKS)
    assert response == answered("gemini", WHOLE)
    assert summed(deltas) == spoken(response)
    assert (response.text, response.reasoning_content, response.served_model) == (
        "Here it is.",
        "let me see",
        "gemini-x",
    )
    assert [json.loads(each.arguments) for each in response.tool_calls] == [{"at": "sea", "deep": [1, None]}, {}]


def test_a_stream_may_be_one_list():
    assert answered("gemini", CHUNKS) == answered("gemini", *CHUNKS)


def test_pieces_of_a_text_go_back_as_one_part_and_signed_ones_as_they_came():
    response = answered("gemini", *CHUNKS)
    parts = response.opaque["gemini"]["parts"]
    assert parts[:2] == [text("let me see", thought=True), text("Here it is.", thoughtSignature="c2ln")]
    assert parts[3]["thoughtSignature"] == "c2lnMg=="


def test_a_call_may_come_before_the_reason_and_an_end_with_a_call_is_a_tool_call():
    response = answered("gemini", chunk(call()), chunk(text("")), chunk(reason="STOP"))
    assert (response.strict_stop_reason, response.stop_reason) == (StopReason.END_TURN, StopReason.TOOL_CALL)
    assert response.disposition is Disposition.TOOLS


def test_a_call_without_an_id_gets_one_that_differs_from_call_to_call_and_answer_to_answer():
    ids = [
        each.id
        for name in ("r1", "r2")
        for each in answered("gemini", {**chunk(call(), call()), "responseId": name}).tool_calls
    ]
    assert len(set(ids)) == 4
    assert all(len(each) == 9 and each.isalnum() for each in ids)
    assert answered("gemini", chunk({"functionCall": {"name": "look", "id": "own"}})).tool_calls[0].id == "own"


def test_tokens_of_tools_are_read_and_tokens_of_thoughts_are_written():
    usage = {
        "promptTokenCount": 10, "toolUsePromptTokenCount": 5, "cachedContentTokenCount": 4, "candidatesTokenCount": 7,
        "thoughtsTokenCount": 3, "totalTokenCount": 25,
    }  # fmt: skip
    response = answered("gemini", {**chunk(text("x"), reason="STOP"), "usageMetadata": usage})
    assert response.usage == Usage(input_tokens=15, output_tokens=10, cached_input_tokens=4, reasoning_tokens=3)


def test_the_last_counts_of_a_stream_count():
    chunks = [
        {**chunk(text("x")), "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 1}},
        {**chunk(text("y")), "usageMetadata": {"trafficType": "ON_DEMAND"}},
        {**chunk(reason="STOP"), "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 6}},
    ]
    assert answered("gemini", *chunks).usage == Usage(input_tokens=9, output_tokens=6)


@pytest.mark.parametrize(
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
def test_every_word_has_its_reason_and_what_can_be_done(word, reason, disposition):
    response = answered("gemini", chunk(text("x"), reason=word))
    assert (response.stop_reason, response.disposition) == (reason, disposition)
    assert response.raw_stop_reason == str(word)


@pytest.mark.parametrize(
    "block", ["SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "MODEL_ARMOR", "JAILBREAK", 1]
)
def test_a_prompt_that_was_refused_is_blocked_though_there_is_no_candidate(block):
    response = answered("gemini", {"promptFeedback": {"blockReason": block, "blockReasonMessage": "no"}})
    assert (response.stop_reason, response.refusal) == (StopReason.SAFETY_BLOCKED, "no")
    assert response.raw_stop_reason == f"promptFeedback:{block}"


@pytest.mark.parametrize(
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
def test_an_answer_without_candidates_or_reason_is_unknown(body, raw):
    response = answered("gemini", body)
    assert (response.stop_reason, response.raw_stop_reason, response.text) == (StopReason.UNKNOWN, raw, "")


def test_a_call_that_was_rejected_is_told_and_never_to_be_run():
    response = answered("gemini", chunk(call("list_files", {}), reason="UNEXPECTED_TOOL_CALL"))
    assert (len(response.tool_calls), response.stop_reason) == (1, StopReason.UNKNOWN)
    cut = answered("gemini", chunk(call(), reason="MAX_TOKENS"))
    assert cut.stop_reason is StopReason.MAX_TOKENS


def test_the_words_of_a_verdict_are_kept():
    response = answered("gemini", {"candidates": [{"finishReason": "SAFETY", "finishMessage": "not that"}]})
    assert response.refusal == "not that"
    assert answered("gemini", {"candidates": [{"finishReason": "STOP", "finishMessage": "bye"}]}).refusal == ""


def test_only_the_first_of_several_candidates_is_read():
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


def test_arguments_that_come_place_by_place_are_put_together():
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
def test_arguments_that_never_end_are_a_truncation(calls):
    assert answered("gemini", *grown({"name": "first"}, *calls)).stop_reason is StopReason.MAX_TOKENS


@pytest.mark.parametrize("path", ["", "$", "nonsense", "$[5]", "$.a[99999]", "$.a[3].b", "$.s.t", "$.s[0]"])
def test_a_place_that_there_cannot_be_is_passed_over(path):
    events = grown(
        {"name": "look", "args": {"s": "x"}, "partialArgs": [{"jsonPath": path, "stringValue": "y"}, {"jsonPath": 7}]},
    )
    assert answered("gemini", *events).tool_calls[0].name == "look"


# -- what is no answer ----------------------------------------------------------------------------------------


def test_an_error_in_the_middle_fails_and_tells_what_came_before():
    error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    with pytest.raises(ProviderUnavailable) as caught:
        answered("gemini", chunk(text("half")), error)
    assert (caught.value.excerpt, caught.value.detail) == ("half", "The model is overloaded.")


@pytest.mark.parametrize("event", [None, 7, "x", {}, {"choices": []}])
def test_json_that_is_no_answer_fails(event):
    with pytest.raises(TransientUnknown, match="not one of Gemini's"):
        answered("gemini", event)


@given(st.one_of(spoiled(CHUNKS), spoiled([WHOLE]), spoiled(grown(
    {"name": "look", "willContinue": True},
    {"partialArgs": [{"jsonPath": "$.a[0].b", "stringValue": "x", "willContinue": True}], "willContinue": True},
    {"partialArgs": [{"jsonPath": "$.a[1]", "numberValue": 3}]},
))))  # fmt: skip
def test_whatever_is_spoiled_an_answer_is_a_response_or_a_failure(events):
    try:
        response = answered("gemini", *(events if isinstance(events, list) else [events]), max_tokens=5)
    except CallFailed:
        return
    assert isinstance(response, ChatResponse)
    assert isinstance(response.text, str)


def test_what_is_said_about_a_call_that_came_to_nothing_is_kept():
    message = "Malformed function call: look(at="
    response = answered("gemini", chunk(reason="MALFORMED_FUNCTION_CALL", finishMessage=message))
    assert (response.stop_reason, response.refusal) == (StopReason.UNKNOWN, message)
    assert answered("gemini", chunk(text("ok"), reason="STOP", finishMessage="all is well")).refusal == ""


def test_parts_of_other_kinds_are_named_and_what_belongs_to_a_text_is_not():
    parts = [
        {"inlineData": {"mimeType": "image/png", "data": "x"}, "thoughtSignature": "c2ln"},
        {"executableCode": {"code": "1"}},
        text("ok", videoMetadata={"fps": 1}),
        call(),
        {},
    ]
    response = answered("gemini", chunk(*parts, reason="STOP"))
    assert response.unread == ("inlineData", "executableCode")
