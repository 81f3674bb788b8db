"""Reads catalogs from JSON-like data in the shapes in which tools are described: packs and pipelines, tool definitions, servers' tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from helmdeck_core import Catalog, CatalogError, Mistake

_ENTRY_PATH: Final = re.compile(r"\$\.packs\[(\d+)\]\.(\w+)")


def read_catalog(data: object, source: str) -> Catalog:
    """Read a catalog from JSON-like data.

    Three shapes are supported: ``{"packs": [...], "pipelines": [...]}``; a list of tool definitions, each
    ``{"type": "function", "function": {...}}`` or with its fields at the top; and a server's list of tools,
    ``{"tools": [{"name", "description", "inputSchema"}, ...]}``, bare or inside ``{"result": ...}``.

    :raises CatalogError: with every mistake and its path.
    """
    path = "$"
    if isinstance(data, Mapping) and isinstance(data.get("result"), Mapping) and "tools" in data["result"]:
        data, path = data["result"], "$.result"
    if isinstance(data, list):
        return _from_tools(data, source, path)
    if isinstance(data, Mapping) and not {"packs", "pipelines"} & data.keys() and isinstance(data.get("tools"), list):
        return _from_tools(data["tools"], source, f"{path}.tools")
    return Catalog.from_data(data, source)


def _from_tools(tools: list[Any], source: str, path: str) -> Catalog:
    packs = [_tool_entry(tool) for tool in tools]
    try:
        return Catalog.from_data({"packs": packs}, source)
    except CatalogError as exc:
        mistakes = (
            Mistake(_place(m.where, tools, path), m.problem.replace("$.packs", path), m.found, m.allowed)
            for m in exc.mistakes
        )
        raise CatalogError(source, tuple(mistakes)) from None


def _place(where: str, tools: list[Any], path: str) -> str:
    """Return the path of a mistake in the tool definitions for its path in the entries that were made of them."""
    match = _ENTRY_PATH.match(where)
    if match is None:
        return where.replace("$.packs", path)
    number, key, rest = int(match[1]), match[2], where[match.end() :]
    function = tools[number].get("function") if isinstance(tools[number], Mapping) else None
    is_inside = isinstance(function, Mapping) and (key in function or key not in tools[number])
    return f"{path}[{number}]{'.function' if is_inside else ''}.{key}{rest}"


def _tool_entry(tool: Any) -> Any:
    if not isinstance(tool, Mapping):
        return tool
    if isinstance(function := tool.get("function"), Mapping):
        tool = {key: value for key, value in tool.items() if key not in ("function", "type")} | dict(function)
    elif tool.get("type") == "function":
        tool = {key: value for key, value in tool.items() if key != "type"}
    schema = tool.get("inputSchema", tool.get("parameters", tool.get("input_schema")))
    rest = {k: v for k, v in tool.items() if k not in ("inputSchema", "parameters", "input_schema")}
    entry = {key: rest.pop(key) for key in ("name", "description") if rest.get(key) is not None}
    if schema:
        entry["input_schema"] = schema
    # Other fields, such as annotations and output schemas, are kept and trimmed like every field.
    return {**entry, **{key: value for key, value in rest.items() if value is not None}}
