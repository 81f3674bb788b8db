"""Responses of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from helmdeck_core import ChatDelta, ChatResponse, StopReason, ToolCall, ToolCallDelta, Usage
from helmdeck_gateway.conversations.opaque_store import OWN_PREFIX
from helmdeck_gateway.dialects.parsed import Parsed
from helmdeck_gateway.dialects.reply import EVENT_STREAM, CallsOut, DamagedCallError, Opening, Reply
from helmdeck_gateway.dialects.responses_tools import FUNCTION, Declared, call_item, declared_tools
from helmdeck_gateway.problems import Problem

INCOMPLETE: Final = {StopReason.SAFETY_BLOCKED: "content_filter"}
"""Why a response is incomplete; any other reason that is no clean end is the output limit."""

_ECHOED: Final[Mapping[str, Any]] = {
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "store": True,
    "temperature": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
    "truncation": "disabled",
    "user": None,
}
"""Fields of the request that the response repeats, with their defaults."""

_encode = msgspec.json.Encoder().encode


def usage_of(usage: Usage) -> dict[str, Any]:
    """Return token usage in the dialect."""
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_input_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def _skeleton(opening: Opening, model: str, parsed: Parsed) -> dict[str, Any]:
    body = parsed.body
    echoed = {name: default if body.get(name) is None else body[name] for name, default in _ECHOED.items()}
    return {
        "id": response_id(opening),
        "object": "response",
        "created_at": opening.created,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "model": model,
        "output": [],
        "usage": None,
        "conversation": {"id": name} if (name := conversation_id(body)) else None,
        **echoed,
    }


def conversation_id(body: Mapping[str, Any]) -> str:
    """Return the id of the conversation that a request belongs to; empty for none."""
    value = body.get("conversation")
    return str(value.get("id") or "") if isinstance(value, Mapping) else str(value or "")


def queued(opening: Opening, parsed: Parsed) -> dict[str, Any]:
    """Return a response in the background before it is started."""
    return {**_skeleton(opening, opening.model, parsed), "status": "queued"}


def first_events(payload: Mapping[str, Any]) -> tuple[bytes, ...]:
    """Return the events of a response in the background before it is started; a ``Writer`` writes the next ones."""
    kinds = ("response.created", "response.queued")
    return tuple(_sse(kind, number, response=payload) for number, kind in enumerate(kinds))


def last_event(payload: Mapping[str, Any], number: int) -> bytes:
    """Return the last event of a finished response."""
    ends = {"completed": "completed", "incomplete": "incomplete"}
    return _sse(f"response.{ends.get(payload['status'], 'failed')}", number, response=payload)


def _sse(kind: str, number: int, **fields: Any) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), _encode({"type": kind, "sequence_number": number, **fields}))


def response_id(opening: Opening) -> str:
    """Return the id of a response."""
    return f"resp_{opening.id}"


def whole(reply: Reply) -> dict[str, Any]:
    """Return a whole response."""
    response, opening = reply.response, reply.opening
    output: list[dict[str, Any]] = []
    if response.reasoning_content:
        output.append(_reasoning(opening, response.reasoning_content))
    if response.text or response.refusal or not response.tool_calls:
        output.append(_message(opening, response.text, response.refusal))
    declared = declared_tools(reply.parsed.body)
    for number, call in enumerate(response.tool_calls):
        output.append(call_item(f"{opening.id}{number}", call, declared.get(call.name, FUNCTION)))
    return _finished(reply, output)


def _finished(reply: Reply, output: list[dict[str, Any]]) -> dict[str, Any]:
    response = reply.response
    is_whole = is_complete(response)
    reason = None if is_whole else {"reason": INCOMPLETE.get(response.stop_reason, "max_output_tokens")}
    return {
        **_skeleton(reply.opening, reply.model, reply.parsed),
        "status": "completed" if is_whole else "incomplete",
        "incomplete_details": reason,
        "output": output,
        "usage": usage_of(response.usage),
    }


def is_complete(response: ChatResponse) -> bool:
    """Whether the response ended cleanly."""
    if response.stop_reason is StopReason.UNKNOWN:
        return response.is_complete
    return response.stop_reason in (StopReason.END_TURN, StopReason.TOOL_CALL)


def _reasoning(opening: Opening, text: str | None = None) -> dict[str, Any]:
    summary = [] if text is None else [{"type": "summary_text", "text": text}]
    own = f"{OWN_PREFIX}{opening.id}"
    return {"id": f"rs_{opening.id}", "type": "reasoning", "summary": summary, "encrypted_content": own}


def _message(opening: Opening, text: str | None, refusal: str = "") -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if text:
        content.append(_text(text))
    if refusal:
        content.append({"type": "refusal", "refusal": refusal})
    if text is not None and not content:
        content.append(_text(""))
    status = "in_progress" if text is None else "completed"
    return {"id": f"msg_{opening.id}", "type": "message", "role": "assistant", "status": status, "content": content}


def _text(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def error(problem: Problem) -> dict[str, Any]:
    """Return an error as a payload."""
    facts = {"message": problem.message, "type": problem.kind, "param": problem.param, "code": problem.code}
    return {"error": {**facts, **problem.details}}


class Writer:
    """Writes a streamed response: one output item after the other, with numbered events."""

    ping = b": keep-alive\n\n"
    content_type = EVENT_STREAM

    def __init__(self, opening: Opening, parsed: Parsed) -> None:
        self.opening = opening
        self._parsed = parsed
        self._declared = declared_tools(parsed.body)
        self._calls = CallsOut()
        self._number = 0
        self._open = ""
        self._text: list[str] = []
        self._output: list[dict[str, Any]] = []
        self._shown: set[str] = set()

    def start(self) -> bytes:
        """Return the first events."""
        response = _skeleton(self.opening, self.opening.model, self._parsed)
        if self._parsed.body.get("background"):
            self._number = len(first_events(response))
            return self._event("response.in_progress", response=response)
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def feed(self, delta: ChatDelta) -> bytes:
        """Return the events for a delta."""
        out = b""
        if delta.reasoning_content:
            out += self._begin("reasoning", _reasoning(self.opening))
            self._text.append(delta.reasoning_content)
            place = {"item_id": f"rs_{self.opening.id}", "output_index": self._index, "summary_index": 0}
            out += self._event("response.reasoning_summary_text.delta", **place, delta=delta.reasoning_content)
        if delta.text:
            out += self._begin("message", _message(self.opening, None))
            self._text.append(delta.text)
            out += self._event("response.output_text.delta", **self._text_place, delta=delta.text, logprobs=[])
        if delta.tool_call is not None:
            out += self._feed_call(self._calls.feed(delta.tool_call))
        return out

    def finish(self, reply: Reply) -> bytes:
        """Return the events that complete the stream."""
        response, out = reply.response, b""
        if response.reasoning_content and not self._shown:
            out += self.feed(ChatDelta("", response.reasoning_content))
        is_silent = not response.tool_calls and not self._calls.calls
        if (response.text or response.refusal or is_silent) and "message" not in self._shown:
            out += self.feed(ChatDelta(response.text or response.refusal))
            if not (response.text or response.refusal):
                out += self._begin("message", _message(self.opening, None))
        for delta in self._calls.rest(response.tool_calls):
            out += self._feed_call(delta)
        out += self._end()
        final = _finished(reply, self._output)
        return out + self._event(f"response.{final['status']}", response=final)

    def fail(self, problem: Problem) -> bytes:
        """Return the event that ends the stream with an error."""
        failed = _skeleton(self.opening, self.opening.model, self._parsed)
        failed |= {"status": "failed", "error": {"code": problem.code, "message": problem.message}}
        return self._event("response.failed", response=failed)

    # -- items -------------------------------------------------------------------------------------------------

    @property
    def _index(self) -> int:
        return len(self._output)

    @property
    def _text_place(self) -> dict[str, Any]:
        return {"item_id": f"msg_{self.opening.id}", "output_index": self._index, "content_index": 0}

    def _feed_call(self, delta: ToolCallDelta) -> bytes:
        key, out = f"call {delta.index}", b""
        if delta.id:
            item = self._call_item(delta.index, ToolCall(delta.id, delta.name, ""))
            out += self._begin(key, {**item, "status": "in_progress"})
        elif self._open != key:  # its item is complete, and items cannot be opened again
            raise DamagedCallError(self._calls.calls[delta.index].name)
        is_function = self._declared_as(self._calls.calls[delta.index].name).kind == "function"
        if delta.arguments and is_function:  # the other kinds are decoded as a whole
            place = {"item_id": f"fc_{self.opening.id}{delta.index}", "output_index": self._index}
            out += self._event("response.function_call_arguments.delta", **place, delta=delta.arguments)
        return out

    def _declared_as(self, name: str) -> Declared:
        return self._declared.get(name, FUNCTION)

    def _call_item(self, number: int, call: ToolCall) -> dict[str, Any]:
        return call_item(f"{self.opening.id}{number}", call, self._declared_as(call.name))

    def _begin(self, key: str, item: Mapping[str, Any]) -> bytes:
        """Open an output item, unless it is open."""
        if self._open == key:
            return b""
        out = self._end()
        self._open = key
        self._shown.add(key)
        out += self._event("response.output_item.added", output_index=self._index, item=item)
        if key == "message":
            out += self._event("response.content_part.added", **self._text_place, part=_text(""))
        elif key == "reasoning":
            place = {"item_id": item["id"], "output_index": self._index, "summary_index": 0}
            part = {"type": "summary_text", "text": ""}
            out += self._event("response.reasoning_summary_part.added", **place, part=part)
        return out

    def _end(self) -> bytes:
        """Complete the open item."""
        kind, text, out = self._open, "".join(self._text), b""
        if not kind:
            return out
        if kind == "message":
            item = _message(self.opening, text)
            out = self._event("response.output_text.done", **self._text_place, text=text, logprobs=[])
            out += self._event("response.content_part.done", **self._text_place, part=_text(text))
        elif kind == "reasoning":
            item = _reasoning(self.opening, text)
            place = {"item_id": item["id"], "output_index": self._index, "summary_index": 0}
            part = {"type": "summary_text", "text": text}
            out = self._event("response.reasoning_summary_text.done", **place, text=text)
            out += self._event("response.reasoning_summary_part.done", **place, part=part)
        else:
            number = int(kind.removeprefix("call "))
            call = self._calls.calls[number]
            item = self._call_item(number, call)
            place = {"item_id": item["id"], "output_index": self._index}
            if item["type"] == "function_call":
                done = {"arguments": call.arguments, "name": call.name}
                out = self._event("response.function_call_arguments.done", **place, **done)
            elif item["type"] == "custom_tool_call":
                out = self._event("response.custom_tool_call_input.delta", **place, delta=item["input"])
                out += self._event("response.custom_tool_call_input.done", **place, input=item["input"])
        out += self._event("response.output_item.done", output_index=self._index, item=item)
        self._output.append(item)
        self._open = ""
        self._text.clear()
        return out

    def _event(self, kind: str, **fields: Any) -> bytes:
        event = _sse(kind, self._number, **fields)
        self._number += 1
        return event
