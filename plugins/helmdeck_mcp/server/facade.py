"""The facade: four tools that stand for a catalog of hundreds, so that a client reads four descriptions."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from helmdeck_core import Entry, EntryKind, PackError, PackErrorCode
from helmdeck_mcp.server.entries import Tools, ToolSet, annotations_of, is_runnable
from helmdeck_mcp.server.search_effects import RERANKED, by_effect
from helmdeck_mcp.server.search_fit import CONSIDERED, by_family, by_numbers
from helmdeck_mcp.server.tools import OBJECT, PLAN, READS, TEXT, Tool, ToolCall, object_schema

SEARCH = "helmdeck__search"
DESCRIBE = "helmdeck__describe"
CALL = "helmdeck__call"

SHOWN = (SEARCH, DESCRIBE, CALL, PLAN)
"""The tools that a client of the facade sees."""

DEFAULT_MATCHES = 8
MAX_MATCHES = 25
MAX_DESCRIBED = 10
MAX_SENTENCE_CHARS = 160
"""Characters of a description in search results; ``helmdeck__describe`` returns all of it."""

FLAGS = (("read_only", "readOnlyHint"), ("destructive", "destructiveHint"))

_FOUND = object_schema(
    {
        "name": TEXT,
        "description": TEXT,
        "required": {"type": "array", "items": TEXT},
        "types": {"type": "object", "additionalProperties": TEXT},
        "read_only": {"type": "boolean"},
        "destructive": {"type": "boolean"},
        "runnable": {"type": "boolean"},
    },
    ("name", "description"),
    is_open=True,
)


def facade_tools(tools: Tools) -> Iterator[Tool]:
    """Return the tools of the facade, without the planner."""
    yield Tool(
        name=SEARCH,
        title="Search tools",
        description=(
            "Find tools for a task among all tools of this deployment. Returns the best matches with their required "
            "arguments, and the types or choices of those that are not strings; call them with helmdeck__call."
        ),
        input_schema=object_schema(
            {
                "query": {**TEXT, "minLength": 1, "description": "The task in plain words."},
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_MATCHES, "default": DEFAULT_MATCHES},
            },
            ("query",),
        ),
        output_schema=object_schema(
            {"tools": {"type": "array", "items": _FOUND}, "total": {"type": "integer"}},
            ("tools", "total"),
            is_open=True,
        ),
        hints={**READS, "openWorldHint": False},
        run=lambda call: asyncio.to_thread(_search, tools, call),
    )
    yield Tool(
        name=DESCRIBE,
        title="Describe tools",
        description="Return the whole description and the input schema of tools, by name.",
        input_schema=object_schema(
            {"names": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": MAX_DESCRIBED}}, ("names",)
        ),
        output_schema=object_schema({"tools": {"type": "array", "items": OBJECT}}, ("tools",), is_open=True),
        hints={**READS, "openWorldHint": False},
        run=lambda call: asyncio.to_thread(_describe, tools, call),
    )
    yield Tool(
        name=CALL,
        title="Call a tool",
        description="Run a tool by name with its arguments. Search results say which tools only read, and which destroy.",
        input_schema=object_schema({"name": TEXT, "arguments": OBJECT}, ("name",)),
        hints={"readOnlyHint": False, "destructiveHint": True, "openWorldHint": True},
        run=_Caller(tools),
    )


class _Caller:
    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def __call__(self, call: ToolCall) -> Mapping[str, Any]:
        name, arguments = call.arguments["name"], call.arguments.get("arguments", {})
        if name == CALL:
            raise PackError(CALL, PackErrorCode.INVALID_INPUT, f"{CALL} cannot call itself; name another tool")
        if name in self._tools.facade:
            raise PackError(CALL, PackErrorCode.INVALID_INPUT, f"{name} is called directly, not through {CALL}")
        entry = (await asyncio.to_thread(self._tools.current)).entry(name)
        if entry is not None and (entry.kind is EntryKind.PIPELINE or not is_runnable(call.deck, entry)):
            return await call.deck.arun(entry.id, arguments, **call.options)
        tool = self._tools.find(name)
        tool.check(arguments)
        return await tool.run(attrs.evolve(call, arguments=arguments))


def _search(tools: Tools, call: ToolCall) -> Mapping[str, Any]:
    current = tools.current()
    query, limit = call.arguments["query"], call.arguments.get("limit", DEFAULT_MATCHES)
    best = [score for score in call.deck.rank(query).scores[: max(limit, CONSIDERED)] if score.score > 0]
    fitting = by_numbers(by_family(best)[: max(limit, RERANKED)], current.catalog, query)
    scores = by_effect(fitting, current.catalog, query)[:limit]
    entries = (current.catalog.get(score.id) for score in scores)
    found = [_match(call, current, entry) for entry in entries if entry is not None]
    result: dict[str, Any] = {"tools": found, "total": len(current.catalog)}
    if not found:
        result["hint"] = "no tool matches; say what to do in other words, as to a colleague"
    return result


def _match(call: ToolCall, current: ToolSet, entry: Entry) -> dict[str, Any]:
    match: dict[str, Any] = {"name": current.wire_names[entry.id], "description": first_sentence(entry.description)}
    schema = entry.input_schema or {}
    required = schema.get("required")
    if isinstance(required, (list, tuple)) and required:
        match["required"] = [str(each) for each in required]
        if types := dict(_types(schema.get("properties"), match["required"])):
            match["types"] = types
    annotations = annotations_of(entry)
    match |= {flag: annotations[hint] for flag, hint in FLAGS if isinstance(annotations.get(hint), bool)}
    return match if is_runnable(call.deck, entry) else {**match, "runnable": False}


def _types(inputs: object, required: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the choices or the type of each required argument that is not any string."""
    if not isinstance(inputs, Mapping):
        return
    for name in required:
        schema = inputs.get(name)
        if not isinstance(schema, Mapping):
            continue
        kind, items, choices = schema.get("type"), schema.get("items"), schema.get("enum")
        listed = " | ".join(map(str, choices)) if isinstance(choices, (list, tuple)) else ""
        if 0 < len(listed) <= MAX_SENTENCE_CHARS:
            yield name, listed
        elif isinstance(kind, str) and kind != "string":
            of = items.get("type") if isinstance(items, Mapping) else None
            yield name, f"{kind} of {of}" if isinstance(of, str) else kind


def _describe(tools: Tools, call: ToolCall) -> Mapping[str, Any]:
    current = tools.current()
    return {"tools": list(_described(tools, current, dict.fromkeys(call.arguments["names"])))}


def _described(tools: Tools, current: ToolSet, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    for name in names:
        if (tool := current.get(name)) is not None:
            yield tool.to_wire()
        elif (entry := current.entry(name)) is not None:
            schema = {"inputSchema": dict(entry.input_schema)} if entry.input_schema else {}
            yield {"name": current.wire_names[entry.id], "description": entry.description, **schema, "runnable": False}
        else:
            raise tools.unknown(name, current)


def first_sentence(text: str) -> str:
    """Return the first sentence of a description, shortened where it is long."""
    flat = " ".join(text.split())
    sentence = re.split(r"(?<=[.!?])\s", flat, maxsplit=1)[0]
    return sentence if len(sentence) <= MAX_SENTENCE_CHARS else f"{sentence[: MAX_SENTENCE_CHARS - 1].rstrip()}…"
