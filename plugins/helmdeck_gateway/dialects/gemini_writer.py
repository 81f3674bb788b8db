"""Responses of Gemini's generateContent: streams as server-sent events, or as one JSON array."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from helmdeck_core import ChatDelta, ChatResponse, StopReason, Usage
from helmdeck_gateway.conversations.opaque_store import OWN_PREFIX
from helmdeck_gateway.dialects.gemini_schema import camel_case
from helmdeck_gateway.dialects.messages_writer import arguments_of
from helmdeck_gateway.dialects.parsed import Parsed
from helmdeck_gateway.dialects.reply import EVENT_STREAM, Opening, Reply
from helmdeck_gateway.problems import Problem

FINISH_REASONS: Final = {
    StopReason.END_TURN: "STOP",
    StopReason.TOOL_CALL: "STOP",
    StopReason.MAX_TOKENS: "MAX_TOKENS",
    StopReason.CONTEXT_WINDOW_EXCEEDED: "MAX_TOKENS",
    StopReason.SAFETY_BLOCKED: "SAFETY",
}
"""Any other reason is no clean end, and therefore ``MAX_TOKENS``."""

STATUSES: Final[Mapping[int, str]] = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "RESOURCE_EXHAUSTED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    413: "INVALID_ARGUMENT",
    422: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""Google's name for each status."""

DOMAIN: Final = "helmdeck"
"""The domain of the reasons of errors."""

_TYPE: Final = "type.googleapis.com/google.rpc."
_encode = msgspec.json.Encoder().encode


def usage_of(usage: Usage) -> dict[str, Any]:
    """Return token usage in the dialect: reasoning is not part of ``candidatesTokenCount``."""
    counts = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": max(0, usage.output_tokens - usage.reasoning_tokens),
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
    }
    more = {"cachedContentTokenCount": usage.cached_input_tokens, "thoughtsTokenCount": usage.reasoning_tokens}
    return counts | {name: value for name, value in more.items() if value}


def finish_reason(response: ChatResponse) -> str:
    """Return the finish reason; an unknown one is a clean end only where the provider is known to send none."""
    if response.stop_reason is StopReason.UNKNOWN and response.is_complete:
        return "STOP"
    return FINISH_REASONS.get(response.stop_reason, "MAX_TOKENS")


def shows_thoughts(parsed: Parsed) -> bool:
    """Whether the client takes reasoning; by default, the API does not return it."""
    config = camel_case(parsed.body.get("generationConfig") or {})
    return bool(camel_case(config.get("thinkingConfig") or {}).get("includeThoughts"))


def whole(reply: Reply) -> dict[str, Any]:
    """Return a whole response."""
    response = reply.response
    parts: list[dict[str, Any]] = []
    if response.reasoning_content and shows_thoughts(reply.parsed):
        parts.append({"text": response.reasoning_content, "thought": True})
    if response.text:
        parts.append({"text": response.text})
    parts += _calls(response, reply.opening)
    return _last(reply, parts)


def _last(reply: Reply, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """A response with the finish reason and the usage."""
    response = reply.response
    candidate: dict[str, Any] = {"finishReason": finish_reason(response)}
    if response.refusal:
        candidate["finishMessage"] = response.refusal
    if response.opaque and not response.tool_calls:
        parts = [*parts, {"text": "", "thoughtSignature": _signature(reply.opening)}]
    payload = _payload(reply.opening, reply.model, parts or [{"text": ""}], candidate)
    return {**payload, "usageMetadata": usage_of(response.usage)}


def _payload(opening: Opening, model: str, parts: list[dict[str, Any]], more: Mapping[str, Any]) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": parts}, **more, "index": 0}
    return {"candidates": [candidate], "modelVersion": model, "responseId": opening.id}


def _calls(response: ChatResponse, opening: Opening) -> Iterator[dict[str, Any]]:
    for number, call in enumerate(response.tool_calls):
        part: dict[str, Any] = {
            "functionCall": {"id": call.id, "name": call.name, "args": arguments_of(call.arguments)}
        }
        yield part if number else {**part, "thoughtSignature": _signature(opening)}


def _signature(opening: Opening) -> str:
    """The signature of a turn, by which the gateway finds the provider's own again."""
    return base64.b64encode(f"{OWN_PREFIX}{opening.id}".encode()).decode()


def error(problem: Problem) -> dict[str, Any]:
    """Return an error as a payload."""
    facts = {"param": problem.param, **problem.details}
    shown = {
        name: value if isinstance(value, str) else _encode(value).decode() for name, value in facts.items() if value
    }
    details: list[dict[str, Any]] = [
        {"@type": f"{_TYPE}ErrorInfo", "reason": problem.code.upper(), "domain": DOMAIN, "metadata": shown}
    ]
    if problem.retry_after_s is not None:
        details.append({"@type": f"{_TYPE}RetryInfo", "retryDelay": f"{problem.retry_after_s:g}s"})
    status = STATUSES.get(problem.status, "UNKNOWN")
    return {"error": {"code": problem.status, "message": problem.message, "status": status, "details": details}}


class Writer:
    """Writes a streamed response; function calls are sent as a whole, as Google's API does."""

    def __init__(self, opening: Opening, parsed: Parsed) -> None:
        self.opening = opening
        self._is_array = parsed.body.get("stream") == "array"
        self.content_type = b"application/json; charset=utf-8" if self._is_array else EVENT_STREAM
        self.ping = b"\n"  # Google's SDKs do not read comments
        self._shows_thoughts = shows_thoughts(parsed)
        self._has_text = False
        self._has_reasoning = False
        self._has_items = False
        self._is_started = False

    def start(self) -> bytes:
        """Return the start of an array."""
        self._is_started = True
        return b"[" if self._is_array else b""

    def feed(self, delta: ChatDelta) -> bytes:
        """Return the events for a delta."""
        parts: list[dict[str, Any]] = []
        if delta.reasoning_content and self._shows_thoughts:
            self._has_reasoning = True
            parts.append({"text": delta.reasoning_content, "thought": True})
        if delta.text:
            self._has_text = True
            parts.append({"text": delta.text})
        return self._item(_payload(self.opening, self.opening.model, parts, {})) if parts else b""

    def finish(self, reply: Reply) -> bytes:
        """Return the events that complete the stream."""
        response = reply.response
        parts: list[dict[str, Any]] = []
        if response.reasoning_content and self._shows_thoughts and not self._has_reasoning:
            parts.append({"text": response.reasoning_content, "thought": True})
        if response.text and not self._has_text:
            parts.append({"text": response.text})
        parts += _calls(response, self.opening)
        return self._item(_last(reply, parts)) + (b"]" if self._is_array else b"")

    def fail(self, problem: Problem) -> bytes:
        """Return the events that end the stream with an error."""
        start = b"" if self._is_started else self.start()
        return start + self._item(error(problem)) + (b"]" if self._is_array else b"")

    def _item(self, payload: Mapping[str, Any]) -> bytes:
        data = _encode(payload)
        if not self._is_array:
            return b"data: %b\n\n" % data
        separator = b",\n" if self._has_items else b""
        self._has_items = True
        return separator + data
