"""Gemini's generateContent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_testing.server_formats.base import ScriptedAnswer, ServerFormat, sse

_STOP_REASONS = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "content_filter": "SAFETY",
    "error": "OTHER",
    "tool_calls": "STOP",
}

_STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}


def _chunk(answer: ScriptedAnswer, *parts: Mapping[str, Any], is_last: bool = False) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0}
    if parts:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    chunk: dict[str, Any] = {"candidates": [candidate], "modelVersion": answer.model, "responseId": "r1"}
    if is_last:
        counts = {"promptTokenCount": answer.input_tokens, "candidatesTokenCount": answer.output_tokens}
        cached = {"cachedContentTokenCount": answer.cached_input_tokens} if answer.cached_input_tokens else {}
        chunk["usageMetadata"] = {**counts, **cached}
        if answer.stop is not None:
            candidate["finishReason"] = _STOP_REASONS[answer.stop]
    return chunk


def _calls(answer: ScriptedAnswer) -> Sequence[Mapping[str, Any]]:
    """Calls are never split, even in a stream."""
    return [
        {"functionCall": {"id": call.id, "name": call.name, "args": json.loads(call.arguments)}}
        for call in answer.tool_calls
    ]


def _whole(answer: ScriptedAnswer) -> Mapping[str, Any]:
    thought, text = {"text": answer.reasoning, "thought": True}, {"text": answer.text}
    parts = [part for part in (thought, text) if part["text"]]
    return _chunk(answer, *parts, *_calls(answer), is_last=True)


def _events(answer: ScriptedAnswer) -> Sequence[bytes]:
    events = [_chunk(answer, {"text": piece, "thought": True}) for piece in answer.reasoning_pieces]
    events += [_chunk(answer, {"text": piece}) for piece in answer.pieces]
    events += [_chunk(answer, call) for call in _calls(answer)]
    last = [] if answer.stop is None else [_chunk(answer, is_last=True)]
    return sse(*events, *last)


def _error(status: int, message: str) -> Mapping[str, Any]:
    return {"error": {"code": status, "message": message, "status": _STATUSES.get(status, "INTERNAL")}}


GEMINI = ServerFormat(
    name="gemini",
    whole=_whole,
    events=_events,
    limit=lambda body: body.get("generationConfig", {}).get("maxOutputTokens"),
    error=_error,
    error_event=lambda message: sse(_error(500, message))[0],
    models=lambda names: {"models": [{"name": f"models/{name}"} for name in names]},
    quota={"x-ratelimit-remaining": "41"},
    wants_stream=lambda request: "streamGenerateContent" in request.path,
)
"""Gemini's generateContent, in the Gemini API and in Vertex AI."""
