"""Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_core import ToolCall
from helmdeck_testing.server_formats.base import REQUEST_ID, ScriptedAnswer, ServerFormat, in_chunks, sse

_STOP_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "error": "error",
    "tool_calls": "tool_use",
}


_ERRORS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}


def _message(answer: ScriptedAnswer, *content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": list(content),
        "stop_reason": None,
        "usage": _counts(answer, 0),
    }


def _counts(answer: ScriptedAnswer, output_tokens: int) -> Mapping[str, int]:
    """Cached input tokens are not part of ``input_tokens``."""
    cached = answer.cached_input_tokens
    counts = {"input_tokens": answer.input_tokens - cached, "cache_read_input_tokens": cached}
    return {**counts, "output_tokens": output_tokens}


def _whole(answer: ScriptedAnswer) -> Mapping[str, Any]:
    thought = {"type": "thinking", "thinking": answer.reasoning, "signature": "c2ln"}
    text = {"type": "text", "text": answer.text}
    content = [block for block, is_present in ((thought, answer.reasoning), (text, answer.text)) if is_present]
    content += [{**_tool_use(call), "input": json.loads(call.arguments)} for call in answer.tool_calls]
    stop = None if answer.stop is None else _STOP_REASONS[answer.stop]
    return {**_message(answer, *content), "stop_reason": stop, "usage": _counts(answer, answer.output_tokens)}


def _tool_use(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}


def _events(answer: ScriptedAnswer) -> Sequence[bytes]:
    events: list[dict[str, Any]] = [{"type": "message_start", "message": _message(answer)}]
    blocks: list[tuple[dict[str, Any], str, str, Sequence[str]]] = [
        ({"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", answer.reasoning_pieces),
        ({"type": "text", "text": ""}, "text_delta", "text", answer.pieces),
        *(
            (_tool_use(call), "input_json_delta", "partial_json", in_chunks(call.arguments))
            for call in answer.tool_calls
        ),
    ]
    index = 0
    for block, kind, field, pieces in blocks:
        if not pieces:
            continue
        position = {"index": index}
        events.append({"type": "content_block_start", **position, "content_block": block})
        deltas = [{"type": kind, field: piece} for piece in pieces]
        events += [{"type": "content_block_delta", **position, "delta": delta} for delta in deltas]
        index += 1
        if answer.stop is not None:
            events.append({"type": "content_block_stop", **position})
    if answer.stop is not None:
        delta, usage = {"stop_reason": _STOP_REASONS[answer.stop]}, {"output_tokens": answer.output_tokens}
        events += [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]
    return sse(*events, named=True)


def _error(status: int, message: str) -> Mapping[str, Any]:
    kind = _ERRORS.get(status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


ANTHROPIC = ServerFormat(
    name="anthropic",
    whole=_whole,
    events=_events,
    limit=lambda body: body.get("max_tokens"),
    error=_error,
    error_event=lambda message: sse(_error(200, message), named=True)[0],
    models=lambda names: {"data": [{"type": "model", "id": name} for name in names], "has_more": False},
    headers={"request-id": REQUEST_ID},
    quota={"anthropic-ratelimit-requests-remaining": "41"},
)
"""Anthropic's Messages API."""
