"""Responses of Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from helmdeck_core import ChatDelta, ChatResponse, StopReason, ToolCallDelta, Usage
from helmdeck_gateway.conversations.opaque_store import OWN_PREFIX
from helmdeck_gateway.dialects.parsed import Parsed
from helmdeck_gateway.dialects.reply import EVENT_STREAM, CallsOut, DamagedCallError, Opening, Reply
from helmdeck_gateway.problems import Problem

STOP_REASONS: Final = {
    StopReason.END_TURN: "end_turn",
    StopReason.TOOL_CALL: "tool_use",
    StopReason.MAX_TOKENS: "max_tokens",
    StopReason.CONTEXT_WINDOW_EXCEEDED: "max_tokens",
    StopReason.SAFETY_BLOCKED: "refusal",
}
"""Any other reason is no clean end, and therefore ``max_tokens``."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def usage_of(usage: Usage) -> dict[str, Any]:
    """Return token usage in the dialect: cached tokens are not part of ``input_tokens``."""
    cached = usage.cached_input_tokens + usage.cache_write_tokens
    return {
        "input_tokens": max(0, usage.input_tokens - cached),
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_input_tokens,
        "output_tokens": usage.output_tokens,
    }


def stop_reason(response: ChatResponse) -> str:
    """Return the stop reason; an unknown one is a clean end only where the provider is known to send none."""
    if response.stop_reason is StopReason.UNKNOWN and response.is_complete:
        return "tool_use" if response.tool_calls else "end_turn"
    return STOP_REASONS.get(response.stop_reason, "max_tokens")


def ending(reply: Reply) -> dict[str, str | None]:
    """Return the fields for the end of a response. Responses do not carry the matched sequence: it is known if one was requested."""
    response, sequences = reply.response, set(reply.parsed.request.stop)
    native = (response.raw_stop_reason or "").strip().casefold()
    if response.stop_reason is not StopReason.END_TURN or native != "stop_sequence":
        return {"stop_reason": stop_reason(response), "stop_sequence": None}
    return {"stop_reason": "stop_sequence", "stop_sequence": sequences.pop() if len(sequences) == 1 else None}


def shows_thinking(parsed: Parsed) -> bool:
    """Whether the client takes reasoning."""
    thinking = parsed.body.get("thinking")
    return not isinstance(thinking, Mapping) or (
        thinking.get("type") != "disabled" and thinking.get("display") != "omitted"
    )


def own_signature(opening: Opening) -> str:
    """Return the signature of reasoning, by which the gateway finds the provider's own again."""
    return f"{OWN_PREFIX}{opening.id}"


def arguments_of(text: str) -> Any:
    """Return the arguments of a call as an object."""
    try:
        value = _decode(text.encode("utf-8", "replace")) if text.strip() else {}
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {"value": value}


def whole(reply: Reply) -> dict[str, Any]:
    """Return a whole response."""
    response = reply.response
    content: list[dict[str, Any]] = []
    if response.reasoning_content and shows_thinking(reply.parsed):
        signature = own_signature(reply.opening)
        content.append({"type": "thinking", "thinking": response.reasoning_content, "signature": signature})
    if text := response.text or response.refusal:
        content.append({"type": "text", "text": text})
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments_of(call.arguments)}
        for call in response.tool_calls
    ]
    return {
        **_message(reply.opening, reply.model),
        "content": content,
        **ending(reply),
        "usage": usage_of(response.usage),
    }


def _message(opening: Opening, model: str) -> dict[str, Any]:
    return {
        "id": f"msg_{opening.id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def error(problem: Problem) -> dict[str, Any]:
    """Return an error as a payload."""
    facts = {"type": problem.kind, "message": problem.message, "code": problem.code, "param": problem.param}
    return {
        "type": "error",
        "error": {**{name: value for name, value in facts.items() if value is not None}, **problem.details},
        "request_id": problem.details.get("call_id"),
    }


class Writer:
    """Writes a streamed response: one content block after the other."""

    ping = b'event: ping\ndata: {"type":"ping"}\n\n'
    content_type = EVENT_STREAM

    def __init__(self, opening: Opening, parsed: Parsed) -> None:
        self.opening = opening
        self._shows_thinking = shows_thinking(parsed)
        self._calls = CallsOut()
        self._index = -1
        self._open = ""
        self._shown: set[str] = set()

    def start(self) -> bytes:
        """Return the first event."""
        message = {**_message(self.opening, self.opening.model), "usage": usage_of(Usage())}
        return self._event("message_start", message=message)

    def feed(self, delta: ChatDelta) -> bytes:
        """Return the events for a delta."""
        out = b""
        if delta.reasoning_content and self._shows_thinking:
            out += self._block("thinking", {"type": "thinking", "thinking": "", "signature": ""})
            out += self._delta(type="thinking_delta", thinking=delta.reasoning_content)
        if delta.text:
            out += self._block("text", {"type": "text", "text": ""})
            out += self._delta(type="text_delta", text=delta.text)
        if delta.tool_call is not None:
            out += self._call(self._calls.feed(delta.tool_call))
        return out

    def finish(self, reply: Reply) -> bytes:
        """Return the events that complete the stream."""
        response, out = reply.response, b""
        if response.reasoning_content and "thinking" not in self._shown and not self._shown:
            out += self.feed(ChatDelta("", response.reasoning_content))
        if (text := response.text or response.refusal) and "text" not in self._shown:
            out += self.feed(ChatDelta(text))
        for delta in self._calls.rest(response.tool_calls):
            out += self._call(delta)
        out += self._close()
        out += self._event("message_delta", delta=ending(reply), usage=usage_of(response.usage))
        return out + self._event("message_stop")

    def fail(self, problem: Problem) -> bytes:
        """Return the event that ends the stream with an error."""
        return b"event: error\ndata: %b\n\n" % _encode(error(problem))

    def _call(self, delta: ToolCallDelta) -> bytes:
        key, out = f"call {delta.index}", b""
        if delta.id:
            out += self._block(key, {"type": "tool_use", "id": delta.id, "name": delta.name, "input": {}})
        elif self._open != key:  # its block is closed, and blocks cannot be opened again
            raise DamagedCallError(self._calls.calls[delta.index].name)
        return out + (self._delta(type="input_json_delta", partial_json=delta.arguments) if delta.arguments else b"")

    def _block(self, key: str, block: Mapping[str, Any]) -> bytes:
        """Open a content block, unless it is open."""
        if self._open == key:
            return b""
        out = self._close()
        self._index += 1
        self._open = key
        self._shown.add(key)
        return out + self._event("content_block_start", index=self._index, content_block=block)

    def _close(self) -> bytes:
        if not self._open:
            return b""
        out = b""
        if self._open == "thinking":
            out = self._delta(type="signature_delta", signature=own_signature(self.opening))
        self._open = ""
        return out + self._event("content_block_stop", index=self._index)

    def _delta(self, **delta: Any) -> bytes:
        return self._event("content_block_delta", index=self._index, delta=delta)

    @staticmethod
    def _event(kind: str, **fields: Any) -> bytes:
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), _encode({"type": kind, **fields}))
