"""Schemas of tools as one object: many APIs reject alternatives at the root of a tool's schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from helmdeck_core import ToolDefinition
from helmdeck_providers.schemas.dialect import referred

_ALTERNATIVES: Final = ("anyOf", "oneOf")
_REJECTED: Final = ("allOf", *_ALTERNATIVES, "enum", "not")


def tool_schema(tool: ToolDefinition, downgrades: list[str]) -> dict[str, Any]:
    """Return the schema of a tool as one object with the properties of all alternatives at its root.

    It allows more than the original; what is left out is reported as a downgrade.

    >>> from helmdeck_core import ToolDefinition
    >>> from helmdeck_providers import tool_schema
    >>> downgrades = []
    >>> tool_schema(ToolDefinition("find", "", {"anyOf": [{"properties": {"id": {}}, "required": ["id"]}]}), downgrades)
    {'type': 'object', 'properties': {'id': {}}, 'required': ['id']}
    >>> downgrades
    ["schema of tool 'find' loosened: anyOf"]
    """
    schema = tool.input_schema
    left_out = [name for name in _REJECTED if name in schema]
    root = {"type": "object", **{name: value for name, value in schema.items() if name not in left_out}}
    if not left_out:
        return root
    downgrades.append(f"schema of tool {tool.name!r} loosened: {', '.join(left_out)}")
    own = root.get("properties")
    properties = dict(own) if isinstance(own, Mapping) else {}
    required = dict.fromkeys(_names(root))
    for part in _parts(schema, "allOf"):
        _add(properties, part)
        required |= dict.fromkeys(_names(part))
    for keyword in _ALTERNATIVES:
        parts = list(_parts(schema, keyword))
        for part in parts:
            _add(properties, part)
        # What every alternative requires.
        first, *others = [_names(part) for part in parts] or [[]]
        required |= dict.fromkeys(name for name in first if all(name in other for other in others))
    root |= {"properties": properties}
    return root | {"required": list(required)} if required else root


def _parts(schema: Mapping[str, Any], keyword: str) -> Iterator[Mapping[str, Any]]:
    """Yield the schemas of a keyword, references to definitions resolved."""
    parts = schema.get(keyword)
    for part in parts if isinstance(parts, list | tuple) else ():
        if not isinstance(part, Mapping):
            continue
        name = referred(part)
        tables = (schema.get(key) for key in ("$defs", "definitions"))
        found = [table[name] for table in tables if isinstance(table, Mapping) and name in table]
        yield found[0] if found and isinstance(found[0], Mapping) else part


def _add(properties: dict[str, Any], part: Mapping[str, Any]) -> None:
    """Add the properties of an alternative; one that differs from an earlier one may be either."""
    added = part.get("properties")
    for name, value in added.items() if isinstance(added, Mapping) else ():
        if name not in properties or properties[name] == value:
            properties[name] = value
        else:
            properties[name] = {"anyOf": [properties[name], value]}


def _names(schema: Mapping[str, Any]) -> list[str]:
    """Return the required properties of a schema."""
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list | tuple) else []
