"""Results of tool calls: plain data, or the failure that the server reports in one of five ways."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from helmdeck_mcp.client.failures import ToolError, tool_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.types import CallToolResult

MAX_ERROR_TEXT_CHARS = 2_000
"""A longer text is content, also when it starts with ``Error:``."""

_INVALID_PARAMS = "MCP error -32602"
_ARGUMENT_MARKS = (_INVALID_PARAMS, "Input validation error", "validation error for ")


def output_of(result: CallToolResult) -> dict[str, Any]:
    """Return a result as plain data.

    :returns: ``text``: all texts, separated by blank lines; ``structured``: the structured content; ``attachments``: images,
        audio, resources and links as the protocol writes them. Absent parts are left out.
    """
    texts = [block.text for block in result.content if block.type == "text"]
    others = [
        block.model_dump(mode="json", by_alias=True, exclude_none=True)
        for block in result.content
        if block.type != "text"
    ]
    output: dict[str, Any] = {"text": "\n\n".join(texts)} if texts else {}
    if result.structured_content is not None:
        output["structured"] = result.structured_content
    if others:
        output["attachments"] = others
    return output


def failure_of(entry_id: str, result: CallToolResult, quote: Callable[[str], str]) -> ToolError | None:
    """Return the failure that a result reports; ``None`` for a success.

    Servers do not agree on ``isError``: some report failures in it, some as a short text alone.

    :param quote: cleans and redacts a text.
    """
    texts = [block.text for block in result.content if block.type == "text"]
    text = "\n".join(texts).strip()
    if result.is_error:
        is_input = any(mark in text[:MAX_ERROR_TEXT_CHARS] for mark in _ARGUMENT_MARKS)
        cause = "invalid_arguments" if is_input else "tool_error"
        return tool_error(entry_id, cause, quote(text) or "the tool gives no reason")
    # Content may start with the same words, so a failure is the only text, short, and without structured content.
    if len(result.content) != 1 or not texts or result.structured_content is not None:
        return None
    if len(text) > MAX_ERROR_TEXT_CHARS:
        return None
    if text.startswith("Error: "):
        return tool_error(entry_id, "tool_error", quote(text.removeprefix("Error: ")))
    if text.startswith("{") and (problem := _error_member(text)):
        return tool_error(entry_id, "tool_error", quote(problem))
    return None


def _error_member(text: str) -> str:
    """The ``error`` of an object that has nothing else but details of the error; empty without one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    details = {"error", "code", "status", "message", "details", "success", "ok", "type"}
    if not isinstance(value, dict) or not value.get("error") or not value.keys() <= details:
        return ""
    error = value["error"]
    if isinstance(error, dict):
        error = error.get("message") or json.dumps(error, ensure_ascii=False)
    return error if isinstance(error, str) else str(value.get("message") or text)
