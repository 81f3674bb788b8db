"""OpenAI's two APIs: chat completions and Responses."""

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


def _counts(answer: ScriptedAnswer) -> Mapping[str, Any]:
    total = answer.input_tokens + answer.output_tokens
    counts = {"prompt_tokens": answer.input_tokens, "completion_tokens": answer.output_tokens, "total_tokens": total}
    return {**counts, "prompt_tokens_details": {"cached_tokens": answer.cached_input_tokens}}


def _error(status: int, message: str) -> Mapping[str, Any]:
    kind, code = _ERRORS.get(status, ("server_error", None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _models(names: Sequence[str]) -> Mapping[str, Any]:
    return {
        "object": "list",
        "data": [{"id": name, "object": "model", "created": 1, "owned_by": "us"} for name in names],
    }


def _frame(answer: ScriptedAnswer, kind: str, choice: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": 1_700_000_000,
        "model": answer.model,
        "choices": [{"index": 0, **choice}],
    }


def _call(call: ToolCall, arguments: str) -> dict[str, Any]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _whole(answer: ScriptedAnswer) -> Mapping[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.tool_calls:
        message["tool_calls"] = [_call(call, call.arguments) for call in answer.tool_calls]
    frame = _frame(answer, "chat.completion", {"message": message, "finish_reason": answer.stop})
    return {**frame, "usage": _counts(answer)}


def _events(answer: ScriptedAnswer) -> Sequence[bytes]:
    def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
        return _frame(answer, "chat.completion.chunk", {"delta": delta, "finish_reason": finish})

    events = [chunk(role="assistant", content="")]
    events += [chunk(reasoning_content=piece) for piece in answer.reasoning_pieces]
    events += [chunk(content=piece) for piece in answer.pieces]
    for index, call in enumerate(answer.tool_calls):
        events.append(chunk(tool_calls=[{"index": index, **_call(call, "")}]))
        pieces = in_chunks(call.arguments)
        events += [chunk(tool_calls=[{"index": index, "function": {"arguments": piece}}]) for piece in pieces]
    if answer.stop is None:
        return sse(*events)
    last = {**_frame(answer, "chat.completion.chunk", {}), "choices": [], "usage": _counts(answer)}
    return sse(*events, chunk(answer.stop), last, "[DONE]")


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
"""Chat completions of OpenAI and compatible servers."""


_STATUSES: Mapping[str, tuple[str, Mapping[str, str] | None]] = {
    "stop": ("completed", None),
    "length": ("incomplete", {"reason": "max_output_tokens"}),
    "content_filter": ("incomplete", {"reason": "content_filter"}),
    "tool_calls": ("completed", None),
    "error": ("incomplete", None),
}


def _fault(message: str) -> Mapping[str, Any]:
    return {"code": "server_error", "message": message}


def _response(answer: ScriptedAnswer) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if answer.reasoning:
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        output.append({"type": "reasoning", "id": "rs_1", "summary": summary})
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        output.append(
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
        )
    output += [_function_call(number, call, call.arguments) for number, call in enumerate(answer.tool_calls, 1)]
    usage = {
        "input_tokens": answer.input_tokens,
        "input_tokens_details": {"cached_tokens": answer.cached_input_tokens},
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }
    base = {"id": "resp_1", "object": "response", "model": answer.model, "output": output, "usage": usage}
    if answer.stop is None:
        return base
    state, details = _STATUSES[answer.stop]
    return {**base, "status": state, "incomplete_details": details}


def _function_call(number: int, call: ToolCall, arguments: str) -> dict[str, Any]:
    item = {"type": "function_call", "id": f"fc_{number}", "call_id": call.id, "name": call.name}
    return {**item, "arguments": arguments, "status": "completed"}


def _response_events(answer: ScriptedAnswer) -> Sequence[bytes]:
    started = {"id": "resp_1", "object": "response", "model": answer.model, "status": "in_progress", "output": []}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": started}]
    output = _response(answer)["output"]

    def done(index: int) -> Mapping[str, Any] | None:
        """Return a completed item; without a stop reason the last item is incomplete."""
        return output[index] if answer.stop is not None or output[index] is not output[-1] else None

    before = len(output) - len(answer.tool_calls)
    if answer.reasoning_pieces:
        item: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
        position = {"item_id": "rs_1", "summary_index": 0}
        events += _item(
            0, item, position, "reasoning_summary", {"type": "summary_text"}, answer.reasoning_pieces, done(0)
        )
    if answer.pieces:
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
        position = {"item_id": "msg_1", "content_index": 0}
        part = {"type": "output_text", "annotations": []}
        events += _item(1 if answer.reasoning else 0, item, position, "output", part, answer.pieces, done(before - 1))
    for number, call in enumerate(answer.tool_calls, 1):
        position_fields = {"output_index": before + number - 1}
        started = {**_function_call(number, call, ""), "status": "in_progress"}
        events.append({"type": "response.output_item.added", **position_fields, "item": started})
        call_fields = {**position_fields, "item_id": f"fc_{number}"}
        kind = "response.function_call_arguments"
        events += [{"type": f"{kind}.delta", **call_fields, "delta": piece} for piece in in_chunks(call.arguments)]
        events.append({"type": f"{kind}.done", **call_fields, "name": call.name, "arguments": call.arguments})
        item = _function_call(number, call, call.arguments)
        events.append({"type": "response.output_item.done", **position_fields, "item": item})
    if answer.stop is not None:
        whole = _response(answer)
        events.append({"type": f"response.{whole['status']}", "response": whole})
    return sse(*({**event, "sequence_number": number} for number, event in enumerate(events)), named=True)


def _item(
    index: int,
    item: Mapping[str, Any],
    position: Mapping[str, Any],
    kind: str,
    part: Mapping[str, Any],
    pieces: Sequence[str],
    done: Mapping[str, Any] | None,
) -> Sequence[dict[str, Any]]:
    """Return the events of one output item."""
    position_fields = {"output_index": index, **position}
    parts = "content" if kind == "output" else kind
    events = [
        {"type": "response.output_item.added", "output_index": index, "item": item},
        {"type": f"response.{parts}_part.added", **position_fields, "part": {**part, "text": ""}},
        *({"type": f"response.{kind}_text.delta", **position_fields, "delta": piece} for piece in pieces),
    ]
    if done:
        text = "".join(pieces)
        events += [
            {"type": f"response.{kind}_text.done", **position_fields, "text": text},
            {"type": f"response.{parts}_part.done", **position_fields, "part": {**part, "text": text}},
            {"type": "response.output_item.done", "output_index": index, "item": done},
        ]
    return events


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
"""OpenAI's Responses API."""
