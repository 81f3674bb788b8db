"""Ollama's chat API: requests and responses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import (
    CallFailed,
    ChatResponse,
    Disposition,
    ImagePart,
    InvalidRequest,
    ProviderSettings,
    ResponseFormat,
    Role,
    StopReason,
    ToolCall,
    ToolDefinition,
    TransientUnknown,
    Usage,
)
from helmdeck_providers.wire_formats.ollama.request import Options, context_window, render
from helmdeck_providers.wire_formats.ollama.response import OllamaAnswer
from tests.case_support import each_case
from tests.helmdeck_providers.natives_support import (
    answered,
    asking,
    body_of,
    message,
    read,
    spoiled,
    spoken,
    summed,
    terms,
    user,
)

LOOK = ToolDefinition("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})


def sent(request, **options):
    return body_of(render(request, Options(**options)))


def left_out(request):
    return render(request, Options()).downgrades


# -- requests -------------------------------------------------------------------------------------------------


def test_minimal_request_disables_streaming():
    assert sent(asking("ollama/library/qwen3:8b")) == {
        "model": "library/qwen3:8b",
        "messages": [{"role": "user", "content": "say hello"}],
        "stream": False,
    }


def test_settings_are_in_options():
    request = asking(
        "ollama/q", max_tokens=9, temperature=0.0, stop=("END",), extra={"options": {"seed": 7}, "think": True}
    )
    body = sent(request, num_ctx=8192)
    assert body["options"] == {"num_ctx": 8192, "num_predict": 9, "temperature": 0.0, "stop": ["END"], "seed": 7}
    assert body["think"] is True
    assert context_window(request, Options(num_ctx=8192)) == 8192
    assert context_window(asking("ollama/q", extra={"options": {"num_ctx": 512}}), Options(num_ctx=8192)) == 512


def test_calls_results_and_thinking_are_sent_back():
    call = ToolCall("c1", "look", '{"at": "sea"}')
    own = answered("ollama", {"message": {"content": "", "thinking": "hm"}, "done": True}).opaque
    body = sent(
        asking(
            "ollama/q",
            user("look"),
            message(Role.ASSISTANT, "ok", tool_calls=(call,), opaque=own),
            message(Role.TOOL, "a ship", tool_call_id="c1"),
        )
    )
    function = {"name": "look", "arguments": {"at": "sea"}}
    assert body["messages"][1:] == [
        {"role": "assistant", "content": "ok", "thinking": "hm", "tool_calls": [{"id": "c1", "function": function}]},
        {"role": "tool", "content": "a ship", "tool_name": "look", "tool_call_id": "c1"},
    ]


def test_image_is_sent_as_data_and_url_is_rejected():
    message = user("what?", ImagePart("image/png", b"x"), ImagePart("image/png", url="data:image/png;base64,eQ=="))
    assert sent(asking("ollama/q", message))["messages"][0]["images"] == ["eA==", "eQ=="]
    with pytest.raises(InvalidRequest, match="does not fetch images"):
        sent(asking("ollama/q", user(ImagePart("image/png", url="https://img.example/a.png"))))


def test_unsupported_tool_choice_is_reported_and_none_sends_no_tools():
    function = {"name": "look", "description": "Looks.", "parameters": LOOK.input_schema}
    for choice in (None, "auto", "look"):
        assert sent(asking("ollama/q", tools=(LOOK,), tool_choice=choice))["tools"] == [
            {"type": "function", "function": function}
        ]
    assert left_out(asking("ollama/q", tools=(LOOK,), tool_choice="look")) == ("tool_choice look -> auto",)
    assert "tools" not in sent(asking("ollama/q", tools=(LOOK,), tool_choice="none"))


CLOSED = {"type": "object", "properties": {}, "additionalProperties": False}


@each_case(
    ("response_format", "expected", "downgrades"),
    [
        (ResponseFormat("json_object", "a", {"type": "object"}), "json", ()),
        (ResponseFormat("json_schema", "a", {"type": "object"}), {"type": "object"}, ()),
        (ResponseFormat("json_object", "a", CLOSED), CLOSED, ()),
        (ResponseFormat("json_schema"), "json", ("response_format json_schema -> json_object",)),
        (ResponseFormat("yaml"), None, ("response_format yaml left out",)),
    ],
)
def test_format_is_json_or_a_schema(response_format, expected, downgrades):
    request = asking("ollama/q", response_format=response_format)
    assert sent(request).get("format") == expected
    assert left_out(request) == downgrades


def test_continued_answer_is_the_last_message():
    request = asking("ollama/q", user("count"), message(Role.ASSISTANT, "1 2"), continues=True)
    assert sent(request)["messages"][-1] == {"role": "assistant", "content": "1 2"}


@each_case("options", [{"colour": "red"}, {"num_ctx": 0}, {"num_ctx": True}, {"num_ctx": "8k"}])
def test_invalid_option_is_named(options):
    with pytest.raises(InvalidRequest, match=f"providers.ollama.options.{next(iter(options))}"):
        Options.read(ProviderSettings(name="ollama", options=options))


# -- responses ------------------------------------------------------------------------------------------------


def line(content="", done=False, **fields):
    message = {"role": "assistant", "content": content}
    message |= {name: fields.pop(name) for name in ("thinking", "tool_calls") if name in fields}
    return {"model": "q", "created_at": "2026-01-01T00:00:00Z", "message": message, "done": done, **fields}


LOOKED = {"function": {"name": "look", "arguments": {"at": "sea"}}}
COUNTS = {"prompt_eval_count": 29, "eval_count": 16}
WHOLE = line("Here it is.", thinking="let me see", tool_calls=[LOOKED], done=True, done_reason="stop", **COUNTS)
LINES = [
    line(thinking="let me "),
    line(thinking="see"),
    line("Here "),
    line("it is."),
    line(tool_calls=[LOOKED]),
    line(done=True, done_reason="stop", **COUNTS),
]


def test_streamed_and_whole_answers_are_equal():
    deltas, response = read("ollama", *LINES)
    assert response == answered("ollama", WHOLE)
    assert summed(deltas) == spoken(response)
    assert (response.text, response.reasoning_content, response.served_model) == ("Here it is.", "let me see", "q")
    assert response.usage == Usage(input_tokens=29, output_tokens=16)
    assert response.stop_reason is StopReason.TOOL_CALL
    assert response.tool_calls[0].arguments == '{"at":"sea"}'


def test_generate_api_response_is_read():
    response = answered("ollama", {"response": "He"}, {"response": "llo", "done": True, "done_reason": "stop"})
    assert (response.text, response.stop_reason) == ("Hello", StopReason.END_TURN)


@each_case(
    ("word", "reason", "disposition"),
    [
        ("stop", StopReason.END_TURN, Disposition.FINAL),
        ("length", StopReason.MAX_TOKENS, Disposition.LONGER),
        ("load", StopReason.UNKNOWN, Disposition.STOP),
        ("unload", StopReason.UNKNOWN, Disposition.STOP),
        ("new", StopReason.UNKNOWN, Disposition.RETRY),
        (None, StopReason.UNKNOWN, Disposition.RETRY),
    ],
)
def test_every_native_stop_reason_has_a_reason_and_a_disposition(word, reason, disposition):
    response = answered("ollama", line("x", done=True, done_reason=word))
    assert (response.stop_reason, response.disposition, response.raw_stop_reason) == (reason, disposition, word)


def test_missing_done_reason_and_incomplete_stream_are_unknown():
    assert answered("ollama", line("half", done=True)).stop_reason is StopReason.UNKNOWN
    assert answered("ollama", line("half")).stop_reason is StopReason.UNKNOWN


def filled(read_tokens, written, word="length", window=512, prompt_bytes=0):
    answer = OllamaAnswer(terms("ollama"), window=window, prompt_bytes=prompt_bytes)
    last = line("x", done=True, done_reason=word, prompt_eval_count=read_tokens, eval_count=written)
    assert list(answer.feed(last))
    return answer.finish()


def test_full_window_needs_a_smaller_prompt_and_not_more_output():
    full = filled(510, 2)
    assert (full.stop_reason, full.disposition) == (StopReason.MAX_TOKENS, Disposition.SHRINK)
    assert filled(100, 400).disposition is Disposition.LONGER
    assert filled(510, 2, window=None).disposition is Disposition.LONGER


def test_silently_truncated_prompt_is_reported():
    (hint,) = filled(512, 50, "stop").downgrades
    assert hint == "the start of the prompt may be left out: 512 tokens were read; see num_ctx"
    assert filled(2048, 50, "stop", window=None, prompt_bytes=100_000).downgrades
    assert filled(20_000, 50, "stop", window=None, prompt_bytes=100_000).downgrades == ()
    assert filled(0, 50, "stop", window=None, prompt_bytes=100_000).downgrades == ()


def test_error_line_keeps_received_text_and_usage():
    with pytest.raises(CallFailed, match="the runner has crashed") as caught:
        answered("ollama", line("half"), {"error": "the runner has crashed"})
    assert (caught.value.excerpt, caught.value.sub_cause) == ("half", "error_in_200")


@each_case("event", [None, 7, "x", [], {}, {"choices": []}])
def test_unrelated_json_line_is_a_failure(event):
    with pytest.raises(TransientUnknown, match="not one of Ollama's"):
        answered("ollama", event)


@given(st.one_of(spoiled(LINES), spoiled([WHOLE])))
def test_mutated_answer_is_a_response_or_a_failure(events):
    try:
        response = answered("ollama", *(events if isinstance(events, list) else [events]), max_tokens=5)
    except CallFailed:
        return
    assert isinstance(response, ChatResponse)
    assert isinstance(response.text, str)
