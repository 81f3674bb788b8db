"""Invariants of every wire format: unknown fields, key order, and chunking, framing and line ends of a stream change nothing."""

from __future__ import annotations

import json

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import CallFailed
from helmdeck_providers import EventFeed, ReaderContext
from helmdeck_providers.wire_formats.anthropic.response import MessageAnswer
from helmdeck_providers.wire_formats.error_codes import ERROR_RULES, QUOTA_HEADERS
from helmdeck_providers.wire_formats.gemini.response import GeminiAnswer
from helmdeck_providers.wire_formats.ollama.response import OllamaAnswer
from helmdeck_providers.wire_formats.openai_chat.response import ChatAnswer
from helmdeck_providers.wire_formats.openai_responses.response import ResponsesAnswer
from helmdeck_testing import make_deck
from tests.case_support import each_case
from tests.helmdeck_providers.natives_support import cut, ndjson, paths, replaced, sse

RUNTIME = make_deck().runtime
each = pytest.mark.parametrize("wire_format", ["openai", "openai-responses", "anthropic", "gemini", "ollama"])

ANSWERS = {
    "openai": ChatAnswer,
    "openai-responses": ResponsesAnswer,
    "anthropic": MessageAnswer,
    "gemini": GeminiAnswer,
    "ollama": OllamaAnswer,
}
THOUGHT, TEXT, WRITTEN = "først tænke", "Blåbær og 🫐\n", '{"at": "sø", "deep": [1, null]}'


def _chat(delta=None, reason=None, **more):
    return {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta or {}, "finish_reason": reason}], **more}


def _anthropic(index, block, *deltas):
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


_ITEMS = [
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": THOUGHT}], "encrypted_content": "x"},
    {"type": "message", "id": "m", "content": [{"type": "output_text", "text": TEXT}]},
    {"type": "function_call", "id": "f", "call_id": "c1", "name": "look", "arguments": WRITTEN},
]

STREAMS = {
    "openai": [
        _chat({"role": "assistant", "content": ""}),
        _chat({"reasoning_content": THOUGHT}),
        _chat({"content": TEXT[:3]}),
        _chat({"content": TEXT[3:]}),
        _chat({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": ""}}]}),
        _chat({"tool_calls": [{"index": 0, "function": {"arguments": WRITTEN}}]}),
        _chat(reason="tool_calls"),
        {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 7}},
    ],
    "openai-responses": [
        {"type": "response.created", "response": {"model": "m", "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**_ITEMS[0], "summary": []}},
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": "r", "delta": THOUGHT},
        {"type": "response.output_item.done", "output_index": 0, "item": _ITEMS[0]},
        {"type": "response.output_item.added", "output_index": 1, "item": {**_ITEMS[1], "content": []}},
        {"type": "response.output_text.delta", "output_index": 1, "item_id": "m", "delta": TEXT},
        {"type": "response.output_item.added", "output_index": 2, "item": {**_ITEMS[2], "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "output_index": 2, "item_id": "f", "delta": WRITTEN},
        {
            "type": "response.completed",
            "response": {"status": "completed", "output": _ITEMS, "usage": {"input_tokens": 9, "output_tokens": 7}},
        },
    ],
    "anthropic": [
        {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 9, "output_tokens": 1}}},
        *_anthropic(
            0,
            {"type": "thinking", "thinking": ""},
            {"type": "thinking_delta", "thinking": THOUGHT},
            {"type": "signature_delta", "signature": "x"},
        ),
        *_anthropic(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": TEXT}),
        *_anthropic(
            2,
            {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
            {"type": "input_json_delta", "partial_json": WRITTEN},
        ),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ],
    "gemini": [
        {"candidates": [{"content": {"parts": [{"text": THOUGHT, "thought": True}]}}], "responseId": "r"},
        {"candidates": [{"content": {"parts": [{"text": TEXT}]}}], "modelVersion": "m"},
        {
            "candidates": [
                {
                    "content": {"parts": [{"functionCall": {"id": "c1", "name": "look", "args": json.loads(WRITTEN)}}]},
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 7},
        },
    ],
    "ollama": [
        {"model": "m", "message": {"role": "assistant", "content": "", "thinking": THOUGHT}, "done": False},
        {"model": "m", "message": {"role": "assistant", "content": TEXT}, "done": False},
        {
            "model": "m",
            "message": {"tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": json.loads(WRITTEN)}}]},
            "done": False,
        },
        {"model": "m", "message": {}, "done": True, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 7},
    ],
}  # fmt: skip


def framed(wire_format, events, *, done=True):
    """The bytes of a stream."""
    if wire_format == "ollama":
        return ndjson(*events)
    body = sse(*events, named=wire_format in ("anthropic", "openai-responses"))
    return body + b"data: [DONE]\n\n" * (done and wire_format == "openai")


def reader_context(wire_format):
    return ReaderContext(
        error_rules=ERROR_RULES,
        quota_headers=QUOTA_HEADERS,
        normalise=lambda raw: RUNTIME.normalise_stop(raw, wire_format),
        dispose=lambda raw, reason: RUNTIME.disposition_of(raw, reason, wire_format),
    )


def read(wire_format, *pieces):
    """What a stream comes to; its arguments as values, since servers write them as they like."""
    answer = ANSWERS[wire_format](reader_context(wire_format))
    events = EventFeed(answer, has_lines=wire_format == "ollama")
    for piece in pieces:
        for _ in events.feed(piece):
            pass
    for _ in events.finish():
        pass
    response = attrs.evolve(answer.finish(), opaque={}, unread=())
    calls = [attrs.evolve(call, arguments=json.loads(call.arguments)) for call in response.tool_calls]
    return attrs.evolve(response, tool_calls=tuple(calls))


def expected(wire_format):
    return read(wire_format, framed(wire_format, STREAMS[wire_format]))


def test_all_formats_yield_the_same_response():
    found = [
        attrs.evolve(expected(wire_format), raw_stop_reason="", strict_stop_reason=None) for wire_format in STREAMS
    ]
    assert all(response == found[0] for response in found)
    assert (found[0].text, found[0].reasoning_content, found[0].served_model) == (TEXT, THOUGHT, "m")
    assert [(call.id, call.name, call.arguments) for call in found[0].tool_calls] == [
        ("c1", "look", json.loads(WRITTEN))
    ]
    assert (found[0].stop_reason, found[0].usage.input_tokens, found[0].usage.output_tokens) == ("ToolCall", 9, 7)


# -- fields ---------------------------------------------------------------------------------------------------

NEW = st.sampled_from(["new_field", "annotations", "service_tier", "citations", "logprobs", "x"])
VALUES = st.sampled_from([None, {}, [], "text", 7, {"type": "text", "text": "boo"}, [{"type": "text", "text": "boo"}]])


def _objects(stream):
    """The places of objects in a stream, without the arguments of calls, whose fields all count."""
    found = [path for path in paths(stream) if path and isinstance(_at(stream, path), dict)]
    return [path for path in found if not {"args", "arguments", "input"} & set(path)]


def _at(value, path):
    for step in path:
        value = value[step]
    return value


@each
@given(data=st.data())
def test_unknown_fields_are_ignored_everywhere(wire_format, data):
    stream = STREAMS[wire_format]
    for place in data.draw(st.lists(st.sampled_from(_objects(stream)), min_size=1, max_size=4)):
        name, value = data.draw(NEW), data.draw(VALUES)
        stream = replaced(stream, place, {name: value, **_at(stream, place)})
    assert read(wire_format, framed(wire_format, stream)) == expected(wire_format)


def _turned(value):
    if isinstance(value, dict):
        return {name: _turned(inner) for name, inner in reversed(value.items())}
    return [_turned(inner) for inner in value] if isinstance(value, list) else value


@each
def test_order_of_keys_is_ignored(wire_format):
    assert read(wire_format, framed(wire_format, _turned(STREAMS[wire_format]))) == expected(wire_format)


@each
@given(data=st.data())
def test_removed_data_never_adds_text_or_calls(wire_format, data):
    stream, whole = STREAMS[wire_format], expected(wire_format)
    places = [path for path in paths(stream) if len(path) > 1 and path[-1] != "thought"]
    for place in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3)):
        try:
            stream = replaced(stream, place, None)
        except (KeyError, IndexError, TypeError):  # another one took the place away
            continue
    try:
        response = read(wire_format, framed(wire_format, stream))
    except CallFailed:
        return
    except json.JSONDecodeError:  # of our own: a call whose arguments lost a piece
        return
    assert response.text in (TEXT, TEXT[:3], TEXT[3:], "")
    assert len(response.tool_calls) <= len(whole.tool_calls)


# -- framing --------------------------------------------------------------------------------------------------

PING = b": keep-alive\n\n"


@each
@given(places=st.lists(st.integers(0, 5_000), max_size=20), end=st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_chunk_boundaries_and_line_endings_are_ignored(wire_format, places, end):
    body = framed(wire_format, STREAMS[wire_format]).replace(b"\n", end)
    assert read(wire_format, *cut(body, places)) == expected(wire_format)


@each
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_byte_order_mark_and_missing_end_are_ignored(wire_format, bom):
    body = framed(wire_format, STREAMS[wire_format], done=False)
    for end in (b"", b"\n", b"\n\n"):
        assert read(wire_format, bom + body.rstrip(b"\n") + end) == expected(wire_format)


@each_case("wire_format", [wire_format for wire_format in STREAMS if wire_format != "ollama"])
def test_other_sse_fields_and_multi_line_data_are_handled(wire_format):
    pieces = [PING]
    for number, event in enumerate(STREAMS[wire_format]):
        written = json.dumps(event, indent=1).replace("\n", "\ndata: ")
        pieces += [
            f"id: {number}\nretry: 3000\ndata: {written}\n\n".encode(),
            b"event: ping\n\n",
            b"event: message\ndata:\n\n",
            PING,
        ]
    assert read(wire_format, b"".join(pieces)) == expected(wire_format)
    assert read(wire_format, *pieces) == expected(wire_format)
