"""OpenAI's two interfaces: chat completions and Responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_core import ToolCall
from helmdeck_testing.server_formats.base import ScriptedAnswer, ServerFormat, in_chunks, sse

_ERRORS: Mapping[int, tuple[str, str | None]] = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    429: ("requests", "rate_limit_exceeded"),
}


def _counts(said: ScriptedAnswer) -> Mapping[str, Any]:
    total = said.input_tokens + said.output_tokens
    counts = {"prompt_tokens": said.input_tokens, "completion_tokens": said.output_tokens, "total_tokens": total}
    return {**counts, "prompt_tokens_details": {"cached_tokens": said.cached_input_tokens}}


def _error(status: int, message: str) -> Mapping[str, Any]:
    kind, code = _ERRORS.get(status, ("server_error", None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _models(names: Sequence[str]) -> Mapping[str, Any]:
    return {
        "object": "list",
        "data": [{"id": name, "object": "model", "created": 1, "owned_by": "us"} for name in names],
    }


def _frame(said: ScriptedAnswer, kind: str, choice: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": 1_700_000_000,
        "model": said.model,
        "choices": [{"index": 0, **choice}],
    }


def _call(call: ToolCall, arguments: str) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _whole(said: ScriptedAnswer) -> Mapping[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.reasoning:
        message["reasoning_content"] = said.reasoning
    if said.tool_calls:
        message["tool_calls"] = [_call(call, call.arguments) for call in said.tool_calls]
    frame = _frame(said, "chat.completion", {"message": message, "finish_reason": said.stop})
    return {**frame, "usage": _counts(said)}


def _events(said: ScriptedAnswer) -> Sequence[bytes]:
    def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
        return _frame(said, "chat.completion.chunk", {"delta": delta, "finish_reason": finish})

    found = [chunk(role="assistant", content="")]
    found += [chunk(reasoning_content=piece) for piece in said.thoughts]
    found += [chunk(content=piece) for piece in said.pieces]
    for index, call in enumerate(said.tool_calls):
        found.append(chunk(tool_calls=[{"index": index, **_call(call, "")}]))
        pieces = in_chunks(call.arguments)
        found += [chunk(tool_calls=[{"index": index, "function": {"arguments": piece}}]) for piece in pieces]
    if said.stop is None:
        return sse(*found)
    last = {**_frame(said, "chat.completion.chunk", {}), "choices": [], "usage": _counts(said)}
    return sse(*found, chunk(said.stop), last, "[DONE]")


OPENAI_CHAT = ServerFormat(
    name="openai-chat",
    whole=_whole,
    events=_events,
    limit=lambda body: body.get("max_completion_tokens") or body.get("max_tokens"),
    error=_error,
    error_event=lambda message: sse(_error(500, message))[0],
    models=_models,
    quota={"x-ratelimit-remaining-requests": "41"},
)
"""Chat completions, as OpenAI and everybody who is compatible writes them."""


_STATES: Mapping[str, tuple[str, Mapping[str, str] | None]] = {
    "stop": ("completed", None),
    "length": ("incomplete", {"reason": "max_output_tokens"}),
    "content_filter": ("incomplete", {"reason": "content_filter"}),
    "tool_calls": ("completed", None),
    "error": ("incomplete", None),
}


def _fault(message: str) -> Mapping[str, Any]:
    return {"code": "server_error", "message": message}


def _response(said: ScriptedAnswer) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if said.reasoning:
        summary = [{"type": "summary_text", "text": said.reasoning}]
        output.append({"type": "reasoning", "id": "rs_1", "summary": summary})
    if said.text:
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        output.append(
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        )
    output += [_function_call(number, call, call.arguments) for number, call in enumerate(said.tool_calls, 1)]
    usage = {
        "input_tokens": said.input_tokens,
        "input_tokens_details": {"cached_tokens": said.cached_input_tokens},
        "output_tokens": said.output_tokens,
    }
    base = {"id": "resp_1", "object": "response", "model": said.model, "output": output, "usage": usage}
    if said.stop is None:
        return base
    state, details = _STATES[said.stop]
    return {**base, "status": state, "incomplete_details": details}


def _function_call(number: int, call: ToolCall, arguments: str) -> dict[str, Any]:
    item = {"type": "function_call", "id": f"fc_{number}", "call_id": call.id, "name": call.name}
    return {**item, "arguments": arguments, "status": "completed"}


def _response_events(said: ScriptedAnswer) -> Sequence[bytes]:
    begun = {"id": "resp_1", "object": "response", "model": said.model, "status": "in_progress", "output": []}
    found: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    output = _response(said)["output"]

    def done(index: int) -> Mapping[str, Any] | None:
        """The item when it is complete; one that nothing follows is not, where no reason ends it."""
        return output[index] if said.stop is not None or output[index] is not output[-1] else None

    if said.thoughts:
        item: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
        place = {"item_id": "rs_1", "summary_index": 0}
        found += _item(0, item, place, "reasoning_summary", {"type": "summary_text"}, said.thoughts, done(0))
    if said.pieces:
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
        place = {"item_id": "msg_1", "content_index": 0}
        part = {"type": "output_text", "annotations": []}
        found += _item(1 if said.reasoning else 0, item, place, "output", part, said.pieces, done(-1))
    before = len(output) - len(said.tool_calls)
    for number, call in enumerate(said.tool_calls, 1):
        at = {"output_index": before + number - 1}
        begun = {**_function_call(number, call, ""), "status": "in_progress"}
        found.append({"type": "response.output_item.added", **at, "item": begun})
        of = {**at, "item_id": f"fc_{number}"}
        kind = "response.function_call_arguments"
        found += [{"type": f"{kind}.delta", **of, "delta": piece} for piece in in_chunks(call.arguments)]
        found.append({"type": f"{kind}.done", **of, "name": call.name, "arguments": call.arguments})
        item = _function_call(number, call, call.arguments)
        found.append({"type": "response.output_item.done", **at, "item": item})
    if said.stop is not None:
        whole = _response(said)
        found.append({"type": f"response.{whole['status']}", "response": whole})
    return sse(*({**event, "sequence_number": number} for number, event in enumerate(found)), named=True)


def _item(
    index: int,
    item: Mapping[str, Any],
    place: Mapping[str, Any],
    kind: str,
    part: Mapping[str, Any],
    pieces: Sequence[str],
    done: Mapping[str, Any] | None,
) -> Sequence[dict[str, Any]]:
    """The events of one item of the output."""
    at = {"output_index": index, **place}
    parts = "content" if kind == "output" else kind
    found = [
        {"type": "response.output_item.added", "output_index": index, "item": item},
        {"type": f"response.{parts}_part.added", **at, "part": {**part, "text": ""}},
        *({"type": f"response.{kind}_text.delta", **at, "delta": piece} for piece in pieces),
    ]
    if done:
        text = "".join(pieces)
        found += [
            {"type": f"response.{kind}_text.done", **at, "text": text},
            {"type": f"response.{parts}_part.done", **at, "part": {**part, "text": text}},
            {"type": "response.output_item.done", "output_index": index, "item": done},
        ]
    return found


OPENAI_RESPONSES = ServerFormat(
    name="openai-responses",
    whole=_response,
    events=_response_events,
    limit=lambda body: body.get("max_output_tokens"),
    error=_error,
    error_event=lambda message: sse({"type": "error", **_fault(message)}, named=True)[0],
    failed=lambda message: {**_response(ScriptedAnswer()), "status": "failed", "output": [], "error": _fault(message)},
    models=_models,
    quota={"x-ratelimit-remaining-requests": "41"},
)
"""OpenAI's Responses."""
