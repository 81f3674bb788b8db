"""Gemini's generateContent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_testing.server_formats.base import ScriptedAnswer, ServerFormat, sse

_WORDS = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", "error": "OTHER", "tool_calls": "STOP"}

_STATES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}


def _chunk(said: ScriptedAnswer, *parts: Mapping[str, Any], is_last: bool = False) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0}
    if parts:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    chunk: dict[str, Any] = {"candidates": [candidate], "modelVersion": said.model, "responseId": "r1"}
    if is_last:
        counts = {"promptTokenCount": said.input_tokens, "candidatesTokenCount": said.output_tokens}
        cached = {"cachedContentTokenCount": said.cached_input_tokens} if said.cached_input_tokens else {}
        chunk["usageMetadata"] = {**counts, **cached}
        if said.stop is not None:
            candidate["finishReason"] = _WORDS[said.stop]
    return chunk


def _calls(said: ScriptedAnswer) -> Sequence[Mapping[str, Any]]:
    """A call comes whole, also in a stream."""
    return [
        {"functionCall": {"id": call.id, "name": call.name, "args": json.loads(call.arguments)}}
        for call in said.tool_calls
    ]


def _whole(said: ScriptedAnswer) -> Mapping[str, Any]:
    thought, text = {"text": said.reasoning, "thought": True}, {"text": said.text}
    parts = [part for part in (thought, text) if part["text"]]
    return _chunk(said, *parts, *_calls(said), is_last=True)


def _events(said: ScriptedAnswer) -> Sequence[bytes]:
    found = [_chunk(said, {"text": piece, "thought": True}) for piece in said.thoughts]
    found += [_chunk(said, {"text": piece}) for piece in said.pieces]
    found += [_chunk(said, call) for call in _calls(said)]
    last = [] if said.stop is None else [_chunk(said, is_last=True)]
    return sse(*found, *last)


def _error(status: int, message: str) -> Mapping[str, Any]:
    return {"error": {"code": status, "message": message, "status": _STATES.get(status, "INTERNAL")}}


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
"""Gemini's generateContent, in its own and in Vertex AI's form."""
