"""Anthropic's messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_core import ToolCall
from helmdeck_testing.server_formats.base import REQUEST_ID, ScriptedAnswer, ServerFormat, in_chunks, sse

_WORDS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "content_filter": "refusal",
    "error": "error",
    "tool_calls": "tool_use",
}


_ERRORS = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}


def _message(said: ScriptedAnswer, *content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": list(content),
        "stop_reason": None,
        "usage": _counts(said, 0),
    }


def _counts(said: ScriptedAnswer, output_tokens: int) -> Mapping[str, int]:
    """Input that was read from the cache is not counted as input."""
    cached = said.cached_input_tokens
    given = {"input_tokens": said.input_tokens - cached, "cache_read_input_tokens": cached}
    return {**given, "output_tokens": output_tokens}


def _whole(said: ScriptedAnswer) -> Mapping[str, Any]:
    thought = {"type": "thinking", "thinking": said.reasoning, "signature": "c2ln"}
    text = {"type": "text", "text": said.text}
    content = [block for block, is_said in ((thought, said.reasoning), (text, said.text)) if is_said]
    content += [{**_tool_use(call), "input": json.loads(call.arguments)} for call in said.tool_calls]
    stop = None if said.stop is None else _WORDS[said.stop]
    return {**_message(said, *content), "stop_reason": stop, "usage": _counts(said, said.output_tokens)}


def _tool_use(call: ToolCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}


def _events(said: ScriptedAnswer) -> Sequence[bytes]:
    found: list[dict[str, Any]] = [{"type": "message_start", "message": _message(said)}]
    blocks: list[tuple[dict[str, Any], str, str, Sequence[str]]] = [
        ({"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", said.thoughts),
        ({"type": "text", "text": ""}, "text_delta", "text", said.pieces),
        *((_tool_use(call), "input_json_delta", "partial_json", in_chunks(call.arguments)) for call in said.tool_calls),
    ]
    index = 0
    for block, kind, field, pieces in blocks:
        if not pieces:
            continue
        place = {"index": index}
        found.append({"type": "content_block_start", **place, "content_block": block})
        deltas = [{"type": kind, field: piece} for piece in pieces]
        found += [{"type": "content_block_delta", **place, "delta": delta} for delta in deltas]
        index += 1
        if said.stop is not None:
            found.append({"type": "content_block_stop", **place})
    if said.stop is not None:
        delta, usage = {"stop_reason": _WORDS[said.stop]}, {"output_tokens": said.output_tokens}
        found += [{"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}]
    return sse(*found, named=True)


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
"""Anthropic's messages."""
