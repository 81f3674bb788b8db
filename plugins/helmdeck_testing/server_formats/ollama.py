"""Ollama's own chat."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from helmdeck_core import FailureClass, ToolCall
from helmdeck_testing.server_formats.base import ScriptedAnswer, ServerFormat

_WORDS = {"tool_calls": "stop"}


def _line(
    said: ScriptedAnswer,
    content: str = "",
    thinking: str = "",
    calls: Sequence[ToolCall] = (),
    *,
    is_last: bool = False,
) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content, **({"thinking": thinking} if thinking else {})}
    if calls:
        # A call comes whole, also in a stream.
        message["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": json.loads(call.arguments)}} for call in calls
        ]
    line = {"model": said.model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": False}
    if is_last and said.stop is not None:
        counts = {"prompt_eval_count": said.input_tokens, "eval_count": said.output_tokens}
        line |= {"done": True, "done_reason": _WORDS.get(said.stop, said.stop), **counts}
    return line


def _written(*lines: Mapping[str, Any]) -> Sequence[bytes]:
    return [json.dumps(line).encode() + b"\n" for line in lines]


def _events(said: ScriptedAnswer) -> Sequence[bytes]:
    lines = [_line(said, thinking=piece) for piece in said.thoughts]
    lines += [_line(said, piece) for piece in said.pieces]
    lines += [_line(said, calls=[call]) for call in said.tool_calls]
    return _written(*lines, *([] if said.stop is None else [_line(said, is_last=True)]))


OLLAMA = ServerFormat(
    name="ollama",
    whole=lambda said: _line(said, said.text, said.reasoning, said.tool_calls, is_last=True),
    events=_events,
    limit=lambda body: body.get("options", {}).get("num_predict"),
    error=lambda _, message: {"error": message},
    error_event=lambda message: _written({"error": message})[0],
    # It streams unless it is told not to.
    wants_stream=lambda request: request.body.get("stream") is not False,
    content_type="application/x-ndjson",
    causes={"error_in_200": FailureClass.TRANSIENT_UNKNOWN},  # its errors have no kind
    models=lambda names: {"models": [{"name": name, "model": name} for name in names]},
    lacks=frozenset(("empty_content_filter", "cached")),  # it filters nothing, and does not tell what it kept
)
"""Ollama's own chat."""
