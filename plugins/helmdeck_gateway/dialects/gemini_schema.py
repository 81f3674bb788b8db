"""Gemini's names and schemas: fields may be written in snake case, and schemas in a subset of OpenAPI."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from helmdeck_gateway.problems import invalid

MAX_DEPTH: Final = 64
"""Levels of a schema; deeper ones are refused."""

_SNAKE: Final = re.compile(r"_([a-z0-9])")
_OWN: Final = frozenset(("nullable", "propertyOrdering", "example"))
"""Keywords of OpenAPI that JSON Schema does not have."""
_COUNTS: Final = frozenset(("maxItems", "minItems", "maxLength", "minLength", "maxProperties", "minProperties"))
_BY_NAME: Final = ("properties", "$defs", "defs")


def camel_case(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object whose own keys are in camel case; Google's API accepts both forms."""
    return {
        _SNAKE.sub(lambda found: found[1].upper(), key) if "_" in key else key: value for key, value in table.items()
    }


def json_schema(schema: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return a schema in OpenAPI's subset as a JSON Schema: types in lower case, and null as a type.

    :raises Problem: it is nested too deeply.
    """
    if depth > MAX_DEPTH:
        raise invalid(f"a schema has at most {MAX_DEPTH} levels")
    converted: dict[str, Any] = {}
    for key, value in camel_case(schema).items():
        if key in _OWN or value is None:
            continue
        if key == "type" and isinstance(value, str):
            if value != "TYPE_UNSPECIFIED":
                converted[key] = value.lower()
        elif key in _BY_NAME and isinstance(value, Mapping):
            converted["$defs" if key == "defs" else key] = {
                name: json_schema(each, depth + 1) if isinstance(each, Mapping) else each
                for name, each in value.items()
            }
        elif key in ("enum", "required", "default", "const"):
            converted[key] = value
        elif (
            key in _COUNTS and isinstance(value, str) and value.isdigit()
        ):  # 64-bit integers are strings in protobuf's JSON
            converted[key] = int(value)
        elif isinstance(value, Mapping):
            converted[key] = json_schema(value, depth + 1)
        elif isinstance(value, list):
            converted[key] = [json_schema(each, depth + 1) if isinstance(each, Mapping) else each for each in value]
        else:
            converted[key] = value
    if schema.get("nullable") is True and isinstance(converted.get("type"), str):
        converted["type"] = [converted["type"], "null"]
        if isinstance(converted.get("enum"), list) and None not in converted["enum"]:
            converted["enum"] = [*converted["enum"], None]
    return converted
