"""Ollama's own chat API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_core import FailureClass, ToolCall
from helmdeck_testing.server_formats.base import ScriptedAnswer, ServerFormat

_STOP_REASONS = {"tool_calls": "stop"}


def _line(
    answer: ScriptedAnswer,
    content: str = "",
    thinking: str = "",
    calls: Sequence[ToolCall] = (),
    *,
    is_last: bool = False,
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content, **({"thinking": thinking} if thinking else {})}
    if calls:
        # Calls are never split, even in a stream.
        message["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": json.loads(call.arguments)}} for call in calls
        ]
    line = {"model": answer.model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False}
    if is_last and answer.stop is not None:
        counts = {"prompt_eval_count": answer.input_tokens, "eval_count": answer.output_tokens}
        line |= {"done": True, "done_reason": _STOP_REASONS.get(answer.stop, answer.stop), **counts}
    return line


def _written(*lines: Mapping[str, Any]) -> Sequence[bytes]:
    return [json.dumps(line).encode() + b"\n" for line in lines]


def _events(answer: ScriptedAnswer) -> Sequence[bytes]:
    lines = [_line(answer, thinking=piece) for piece in answer.reasoning_pieces]
    lines += [_line(answer, piece) for piece in answer.pieces]
    lines += [_line(answer, calls=[call]) for call in answer.tool_calls]
    return _written(*lines, *([] if answer.stop is None else [_line(answer, is_last=True)]))


OLLAMA = ServerFormat(
    name="ollama",
    whole=lambda answer: _line(answer, answer.text, answer.reasoning, answer.tool_calls, is_last=True),
    events=_events,
    limit=lambda body: body.get("options", {}).get("num_predict"),
    error=lambda _, message: {"error": message},
    error_event=lambda message: _written({"error": message})[0],
    # Streaming is the default.
    wants_stream=lambda request: request.body.get("stream") is not False,
    content_type="application/x-ndjson",
    causes={"error_in_200": FailureClass.TRANSIENT_UNKNOWN},  # its errors have no type
    models=lambda names: {"models": [{"name": name, "model": name} for name in names]},
    lacks=frozenset(("empty_content_filter", "cached")),  # it has no filter, and does not report cached tokens
)
"""Ollama's own chat API."""
