"""Which answers are stored: whole ones, in which nothing is missing, refused or damaged."""

from __future__ import annotations

from typing import Any

import msgspec

from helmdeck_core import ChatRequest, ChatResponse, StopReason


def problem_of_answer(request: ChatRequest, response: ChatResponse) -> str:
    """Return why an answer is not stored, in one word; empty if it is."""
    if response.refusal or response.stop_reason is StopReason.SAFETY_BLOCKED:
        return "refusal"
    if response.stop_reason not in (StopReason.END_TURN, StopReason.TOOL_CALL) or response.is_interrupted:
        return "incomplete"
    if not response.is_complete:
        return "incomplete"
    if response.downgrades or response.unread:
        return "degraded"
    if not response.text.strip() and not response.tool_calls:
        return "empty"
    names = {tool.name for tool in request.tools}
    if any(call.name not in names or not _is_object(call.arguments) for call in response.tool_calls):
        return "tool_calls"
    return ""


def _is_object(text: str) -> bool:
    try:
        value: Any = msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(value, dict)
