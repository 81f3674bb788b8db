"""Reads catalogs from JSON-like data in the shapes in which tools are described: packs and pipelines, tool definitions, servers' tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helmdeck_core import Catalog, CatalogError, Mistake


def read_catalog(data: object, source: str) -> Catalog:
    """Read a catalog from JSON-like data.

    Three shapes are supported: ``{"packs": [...], "pipelines": [...]}``; a list of tool definitions, each
    ``{"type": "function", "function": {...}}`` or with its fields at the top; and a server's list of tools,
    ``{"tools": [{"name", "description", "inputSchema"}, ...]}``, bare or inside ``{"result": ...}``.

    :raises CatalogError: with every mistake and its path.
    """
    if isinstance(data, Mapping) and isinstance(data.get("result"), Mapping) and "tools" in data["result"]:
        data = data["result"]
    if isinstance(data, list):
        return _from_tools(data, source, "$")
    if isinstance(data, Mapping) and not {"packs", "pipelines"} & data.keys() and isinstance(data.get("tools"), list):
        return _from_tools(data["tools"], source, "$.tools")
    return Catalog.from_data(data, source)


def _from_tools(tools: list[Any], source: str, path: str) -> Catalog:
    packs = [_tool_entry(tool) for tool in tools]
    try:
        return Catalog.from_data({"packs": packs}, source)
    except CatalogError as exc:
        mistakes = (
            Mistake(m.where.replace("$.packs", path), m.problem.replace("$.packs", path), m.found, m.allowed)
            for m in exc.mistakes
        )
        raise CatalogError(source, tuple(mistakes)) from None


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
