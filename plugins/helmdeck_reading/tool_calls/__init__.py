"""Reads tool calls: recovers them from model text and decides which calls may be executed.

The formats are contributed data. Truncated calls are never completed; all searches are linear in the text length::

    formats -> scanner (one pattern) -> walker (left to right: what is a call, what only looks like one)
                                          -> regions (what follows a mark) -> payloads (JSON of a call)
                                        walk_result -> reader (names and arguments against the tools) -> ToolCalls
"""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import ToolCallContext, ToolCallReader, ToolCallReaderSpec, hookimpl


def open_reader(context: ToolCallContext) -> ToolCallReader:
    """Open the reader of the contributed formats."""
    from helmdeck_reading.tool_calls.reader import FormatReader

    return FormatReader(context)


@hookimpl
def helmdeck_tool_call_readers() -> Sequence[ToolCallReaderSpec]:
    """The reader of all contributed formats."""
    return [ToolCallReaderSpec(name="formats", open=open_reader)]
