"""Messages of servers on their way to the MCP library: bounded in size, and tolerant of malformed tools."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

import attrs
import msgspec

RAW_KEY = "helmdeck.raw"
"""Where a listed tool carries what the server sent."""

TOO_LARGE = -32_000_413
"""Error code for an answer of the server that was not read."""

UNREADABLE = -32_000_422
"""Error code for an answer of the server that is not a message."""

SESSION_LOST = -32_000_404
"""Error code for a request that a server refused because its session has ended, or that did not reach it."""

CALL_LOST = -32_000_410
"""Error code for a request over HTTP whose response was truncated."""

UNAUTHORIZED = -32_000_401
"""Error code for a request over HTTP whose credentials the server rejected."""

UNAVAILABLE = -32_000_503
"""Error code for a request over HTTP that the server refuses at the moment, such as for its rate limit."""

PROGRESS_PAUSE_S = 0.1
"""Seconds between two reports of progress of one call; those between them are dropped."""

MAX_TOKENS = 1_000

MAX_TOOL_BYTES = 200_000
"""A larger tool is malformed; the pages of a list together are not limited."""

MAX_NAME_CHARS = 200
"""Of the name of a tool that is too large."""

_ID = re.compile(rb'"id"\s*:\s*(\d{1,18})')
_KEPT_BYTES = 512


class ByteStream(Protocol):
    """A stream such as the output of a process."""

    async def read(self, n: int) -> bytes:
        """Return the next bytes; empty at the end."""
        ...


@attrs.frozen
class LongLine:
    """A line that exceeds the limit and was skipped.

    :ivar request_id: the id of the message, if it is near an end of the line.
    :ivar size: bytes of the line.
    """

    request_id: int | None
    size: int

    def __len__(self) -> int:
        return self.size


async def read_lines(stream: ByteStream, limit: int) -> AsyncIterator[bytes | LongLine]:
    """Yield the lines of a stream; of a line of more than ``limit`` bytes nothing is kept."""
    line, head, size = bytearray(), b"", 0
    while chunk := await stream.read(65_536):
        *complete, rest = chunk.split(b"\n")
        for part in complete:
            line += part
            size += len(part)
            yield _long_line(head or line, line, size) if head or len(line) > limit else bytes(line)
            line, head, size = bytearray(), b"", 0
        line += rest
        size += len(rest)
        if len(line) > limit:
            head = head or bytes(line[:_KEPT_BYTES])
            del line[:-_KEPT_BYTES]


def _long_line(head: bytes | bytearray, tail: bytes | bytearray, size: int) -> LongLine:
    return LongLine(request_id_of(bytes(head[:_KEPT_BYTES] + tail[-_KEPT_BYTES:])), size)


def request_id_of(line: bytes) -> int | None:
    """Return the id of a message that is not read as a whole; libraries write it first or last."""
    found = _ID.search(line[:_KEPT_BYTES]) or _ID.search(line[-_KEPT_BYTES:])
    return int(found[1]) if found and line.lstrip()[:1] == b"{" else None


def _is_small(tool: object) -> bool:
    try:
        return len(msgspec.json.encode(tool)) <= MAX_TOOL_BYTES
    except (TypeError, ValueError, RecursionError):
        return False


class Thinner:
    """Drops notifications that arrive faster than anyone reads them, and log messages, which are not used."""

    def __init__(self) -> None:
        self._last_s: dict[object, float] = {}  # by progress token

    def keeps(self, message: Any) -> bool:
        """Whether a message is passed on."""
        inner = getattr(message, "message", None)
        method, params = getattr(inner, "method", None), getattr(inner, "params", None)
        if method != "notifications/progress" or not isinstance(params, dict):
            return bool(method != "notifications/message")
        token, now_s = str(params.get("progressToken")), time.monotonic()
        if now_s - self._last_s.get(token, float("-inf")) < PROGRESS_PAUSE_S:
            return False
        if len(self._last_s) >= MAX_TOKENS:
            self._last_s.clear()
        self._last_s[token] = now_s
        return True


def tolerant(message: Any) -> Any:
    """Return a message whose listed tools are all valid for the library; each carries the original in its metadata.

    The library rejects a whole list for one malformed tool, and checks results against output schemas without a limit.
    """
    result = getattr(getattr(message, "message", None), "result", None)
    if isinstance(result, dict) and isinstance(result.get("tools"), list):
        result["tools"] = [_valid_tool(tool) for tool in result["tools"]]
    return message


def _valid_tool(tool: object) -> dict[str, Any]:
    name = tool.get("name") if isinstance(tool, Mapping) else None
    if not _is_small(tool):
        tool = {"name": name[:MAX_NAME_CHARS]} if isinstance(name, str) else None
    schema = tool.get("inputSchema") if isinstance(tool, Mapping) else None
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    return {
        "name": name if isinstance(name, str) else "malformed",
        # The library looks for arguments that are sent as headers, which are among the properties.
        "inputSchema": {"type": "object", "properties": properties if _is_object_of_objects(properties) else {}},
        "_meta": {RAW_KEY: tool if isinstance(tool, Mapping) else {}},
    }


def _is_object_of_objects(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(each, Mapping) for each in value.values())
