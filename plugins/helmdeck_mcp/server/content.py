"""Results as content: what a model is to see is sent as text, images, audio and resources, and not as JSON about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
import pydantic

from helmdeck_core.cli import inline_json

TOOL_OUTPUT = frozenset(("text", "structured", "attachments"))
"""The keys of the output of a tool of an MCP server."""

_BLOCKS: pydantic.TypeAdapter[list[types.ContentBlock]] = pydantic.TypeAdapter(list[types.ContentBlock])


def result_of(data: Mapping[str, Any]) -> types.CallToolResult:
    """Return the result for the output of a tool, which is plain data.

    The output of a tool of an MCP server is sent as that server sent it: its texts, and each attachment as a block of its own.
    Another output is one block of JSON, or of text if it has nothing else.
    """
    blocks = _blocks_of(data)
    if not blocks:
        return types.CallToolResult(content=[text_block(inline_json(data))], structured_content=dict(data))
    structured = {key: data[key] for key in data if key != "attachments"}
    return types.CallToolResult(content=blocks, structured_content=structured or None)


def text_block(text: str) -> types.TextContent:
    """Return a block of text."""
    return types.TextContent(type="text", text=text)


def _blocks_of(data: Mapping[str, Any]) -> list[types.ContentBlock] | None:
    """The blocks of the output of an MCP server; ``None`` for another output."""
    text, attachments = data.get("text"), data.get("attachments", [])
    if not data.keys() <= TOOL_OUTPUT or not (text is None or isinstance(text, str)):
        return None
    try:
        others = _BLOCKS.validate_python(attachments, by_name=False)
    except pydantic.ValidationError:
        return None
    if text is None and "structured" in data:
        text = inline_json(data["structured"])
    return [*([text_block(text)] if text is not None else []), *others]
