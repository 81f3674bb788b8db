"""Gemini's generateContent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_core.testing.dialects.base import Dialect, Said, sse

_WORDS = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY", "error": "OTHER"}

_STATES = {429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}


def _chunk(said: Said, *parts: Mapping[str, Any], is_last: bool = False) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0}
    if parts:
        candidate["content"] = {"role": "model", "parts": list(parts)}
    chunk: dict[str, Any] = {"candidates": [candidate], "modelVersion": said.model, "responseId": "r1"}
    if is_last:
        counts = {"promptTokenCount": said.input_tokens, "candidatesTokenCount": said.output_tokens}
        chunk["usageMetadata"] = counts
        if said.stop is not None:
            candidate["finishReason"] = _WORDS[said.stop]
    return chunk


def _whole(said: Said) -> Mapping[str, Any]:
    thought, text = {"text": said.reasoning, "thought": True}, {"text": said.text}
    parts = [part for part in (thought, text) if part["text"]]
    return _chunk(said, *parts, is_last=True)


def _events(said: Said) -> Sequence[bytes]:
    found = [_chunk(said, {"text": piece, "thought": True}) for piece in said.thoughts]
    found += [_chunk(said, {"text": piece}) for piece in said.pieces]
    last = [] if said.stop is None else [_chunk(said, is_last=True)]
    return sse(*found, *last)


def _error(status: int, message: str) -> Mapping[str, Any]:
    return {"error": {"code": status, "message": message, "status": _STATES.get(status, "INTERNAL")}}


GEMINI = Dialect(
    name="gemini",
    whole=_whole,
    events=_events,
    limit=lambda body: body.get("generationConfig", {}).get("maxOutputTokens"),
    error=_error,
    error_event=lambda message: sse(_error(500, message))[0],
    wants_stream=lambda request: "streamGenerateContent" in request.path,
)
