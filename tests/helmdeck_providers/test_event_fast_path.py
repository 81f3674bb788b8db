"""The events that are read the quick way say the same as if they were read as any other, whatever else they hold."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import CallFailed, Disposition, StopReason
from helmdeck_providers import ReaderContext
from helmdeck_providers.wire_formats.anthropic.response import MessageAnswer
from helmdeck_providers.wire_formats.error_codes import ERROR_RULES, QUOTA_HEADERS
from helmdeck_providers.wire_formats.gemini.response import GeminiAnswer
from helmdeck_providers.wire_formats.ollama.response import OllamaAnswer
from helmdeck_providers.wire_formats.openai_chat.response import ChatAnswer
from helmdeck_providers.wire_formats.openai_responses.response import ResponsesAnswer

TERMS = ReaderContext(
    error_rules=ERROR_RULES,
    quota_headers=QUOTA_HEADERS,
    normalise=lambda raw: StopReason.END_TURN if raw else StopReason.UNKNOWN,
    dispose=lambda raw, reason: Disposition.FINAL,
)


def chunk(**fields):
    return {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None, **fields}]}


def gemini(*parts, **fields):
    return {"candidates": [{"index": 0, "content": {"role": "model", "parts": list(parts)}}], **fields}


def block(kind, **fields):
    return {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **fields}}


def begun(kind, **fields):
    return {"type": "content_block_start", "index": 0, "content_block": {"type": kind, **fields}}


def piece(kind, text, **fields):
    return {"type": f"response.{kind}.delta", "delta": text, **fields}


ITEM = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": "ab"}]}
ITEM_IS_DONE = {"type": "response.output_item.done", "output_index": 0, "item": ITEM}

EVENTS = {
    ChatAnswer: [
        chunk(),
        {**chunk(delta={"reasoning_content": "t", "content": None}), "id": "c", "model": "m"},
        {**chunk(delta={"reasoning": "r", "content": "b"}), "usage": {"completion_tokens": 3}},
        chunk(delta={}, usage={"prompt_tokens": 1}),
        chunk(delta={"role": "assistant", "content": ""}, finish_reason="stop"),
    ],
    ResponsesAnswer: [
        piece("output_text", "a", item_id="m", output_index=0),
        piece("output_text", "b", output_index=0),
        piece("reasoning_summary_text", "t", item_id="r", output_index=1),
        ITEM_IS_DONE,
    ],
    MessageAnswer: [
        block("text_delta", text="a"),
        begun("text", text=""),
        block("thinking_delta", thinking="t"),
        begun("thinking", thinking=""),
        block("signature_delta", signature="s"),
    ],
    GeminiAnswer: [
        gemini({"text": "a"}, modelVersion="m", responseId="r"),
        gemini({"text": "t", "thought": True}, usageMetadata={"promptTokenCount": 2}),
        gemini({"text": "b", "thoughtSignature": "s"}),
        gemini({"text": "a"}, {"text": "b"}),
        gemini({"functionCall": {"name": "f", "args": {}}}),
    ],
    OllamaAnswer: [
        {"model": "m", "created_at": "t", "message": {"role": "assistant", "content": "a"}, "done": False},
        {"message": {"content": "", "thinking": "t"}, "done": False},
        {"response": "b", "done": False},
        {"message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 2},
    ],
}
NAMES = (
    "error object usage model id content text thinking thought reasoning reasoning_content reasoning_details refusal index type "
    "finish_reason native_finish_reason tool_calls function_call x_groq message delta choices images audio executed_tools "
    "content_filter_results item_id output_index candidates parts finishReason finishMessage continuationToken functionCall "
    "promptFeedback usageMetadata modelVersion responseId thoughtSignature done done_reason eval_count created_at response"
)
VALUES = [
    None,
    "",
    "x",
    "error",
    0,
    1,
    True,
    False,
    {},
    {"a": 1},
    {"error": {}},
    {"text": "x"},
    [],
    ["x"],
    [{"text": "x"}],
]
VALUES += [{"prompt_tokens": 7}, {"message": "no"}, [{"index": 0, "delta": {"content": "z"}}], {"content": "y"}, 1.5]


def places(value):
    """Every object in an event."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from places(each)


@st.composite
def streams(draw, kind):
    """Events of a wire format, some of them with a field set to something else, or without one."""
    found = []
    for event in draw(st.lists(st.sampled_from(EVENTS[kind]), min_size=1, max_size=6)):
        event = copy.deepcopy(event)
        for _ in range(draw(st.integers(0, 2))):
            inside = draw(st.sampled_from(list(places(event))))
            name = draw(st.sampled_from([*inside, *NAMES.split()]))
            if draw(st.booleans()):
                inside[name] = copy.deepcopy(draw(st.sampled_from(VALUES)))
            else:
                inside.pop(name, None)
        found.append(json.dumps(event).encode())
    return found


def read(kind, events, *, quickly, together=False):
    answer = type("Slow", (kind,), {} if quickly else {"fast_decoder": None})(TERMS)
    deltas = []
    try:
        for event in [events] if together else events:
            for delta in answer.take_all(event) if together else () if answer.is_done else answer.take(event):
                deltas.append(delta)
    except CallFailed as exc:
        return deltas, type(exc), exc.to_dict()
    return deltas, answer.finish(), answer.opaque()


@pytest.mark.parametrize("kind", EVENTS)
def test_fast_path_and_general_path_yield_the_same(kind):
    @given(streams(kind))
    def law(events):
        assert read(kind, events, quickly=True) == read(kind, events, quickly=False)

    law()


@pytest.mark.parametrize("kind", EVENTS)
def test_events_that_arrive_together_yield_the_same(kind):
    @given(st.lists(st.sampled_from(EVENTS[kind]), min_size=2, max_size=6), streams(kind))
    def law(plain, changed):
        events = [json.dumps(event).encode() for event in plain]
        for found in (events, changed, events + changed):
            assert read(kind, found, quickly=True, together=True) == read(kind, found, quickly=False)

    law()


@pytest.mark.parametrize("kind", EVENTS)
def test_deltas_before_a_failure_of_the_same_batch_are_delivered(kind):
    answer = kind(TERMS)
    text = json.dumps(EVENTS[kind][0]).encode()
    for event in EVENTS[kind][:2]:
        list(answer.take(json.dumps(event).encode()))
    answer._chars_left = 3
    found = []
    with pytest.raises(CallFailed):
        found.extend(delta.text for delta in answer.take_all([text] * 5))
    assert found == ["a"] * 3


@pytest.mark.parametrize("kind", EVENTS)
def test_text_deltas_use_the_fast_path(kind, monkeypatch):
    answer = kind(TERMS)
    text = json.dumps(EVENTS[kind][0]).encode()
    for event in EVENTS[kind][:2]:
        list(answer.take(json.dumps(event).encode()))
    monkeypatch.setattr(kind, "feed", None)
    (delta,) = answer.take(text)
    assert delta.text == "a"
