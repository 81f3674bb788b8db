"""The inputs whose values may be recorded: a closed list, which the schemas of the catalog declare.

An input is learnable if its schema lists its values (``enum`` or ``const``), if it is a boolean, or if it is marked with
``"x-helmdeck-learnable": true``; a marked value is recorded only if it is a number, or a string of one line and at most 64
characters. ``"x-helmdeck-learnable": false`` excludes an input. So what is recorded comes from the schema, not from the
request, unless a schema says otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from helmdeck_core import Catalog, Entry, schema_problems

MARK = "x-helmdeck-learnable"
MAX_CHARS = 64


def learnable_values(entry: Entry | None, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an entry that may be recorded."""
    inputs = _inputs(entry)
    return {name: value for name, value in arguments.items() if name in inputs and _is_recordable(inputs[name], value)}


def usable_defaults(catalog: Catalog, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults that every input of their name accepts; plans apply defaults by name."""
    schemas: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for entry in catalog.entries:
        for name, schema in _inputs(entry).items():
            if name in defaults:
                schemas[name].append(schema)
    return {
        name: value
        for name, value in defaults.items()
        if schemas[name] and not any(_problems(schema, value) for schema in schemas[name])
    }


def _inputs(entry: Entry | None) -> Mapping[str, Mapping[str, Any]]:
    properties = (entry.input_schema or {}).get("properties") if entry is not None else None
    if not isinstance(properties, Mapping):
        return {}
    return {name: schema for name, schema in properties.items() if isinstance(schema, Mapping)}


def _is_recordable(schema: Mapping[str, Any], value: object) -> bool:
    mark = schema.get(MARK)
    if mark is False or not isinstance(value, (str, int, float, bool)):
        return False
    if isinstance(value, str) and (len(value) > MAX_CHARS or not value.isprintable() or not value.strip()):
        return False
    if "enum" in schema or "const" in schema:
        choices = schema["enum"] if "enum" in schema else [schema["const"]]
        return isinstance(choices, (list, tuple)) and any(
            value == each and type(value) is type(each) for each in choices
        )
    return mark is True or (schema.get("type") == "boolean" and isinstance(value, bool))


def _problems(schema: Mapping[str, Any], value: object) -> bool:
    checked = {name: schema[name] for name in ("type", "enum", "const", "minimum", "maximum") if name in schema}
    return bool(schema_problems(checked, value))
