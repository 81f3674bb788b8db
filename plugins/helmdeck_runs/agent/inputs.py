"""Arguments that a planned step requires and the plan does not give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from helmdeck_core import Catalog, EntryKind, find_problems
from helmdeck_runs.agent.references import has_references

MAX_DESCRIPTION_CHARS = 120


def argument_problems(catalog: Catalog, entry_id: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what does not match the input schema of an entry; references to outputs match everything."""
    entry = catalog.get(entry_id)
    if entry is None or entry.kind is not EntryKind.PACK or not entry.input_schema:
        return ()
    found = find_problems(entry.input_schema, arguments)
    return tuple(str(problem) for problem in found if problem.is_missing or not has_references(arguments))


def missing_inputs(catalog: Catalog, entry_id: str, arguments: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the schemas of the required arguments that are not given, by name."""
    entry = catalog.get(entry_id)
    if entry is None or entry.kind is not EntryKind.PACK or not entry.input_schema:
        return {}
    properties = entry.input_schema.get("properties")
    schemas = properties if isinstance(properties, Mapping) else {}
    required = entry.input_schema.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, (list, tuple)) else []
    return {name: _object(schemas.get(name)) for name in names if name not in arguments}


def missing_text(entry_id: str, missing: Mapping[str, Mapping[str, Any]]) -> str:
    """Return what a step needs, and how to give it."""
    described = ", ".join(f"{name}{_description(schema)}" for name, schema in missing.items())
    options = " ".join(f"--default {name}=VALUE" for name in missing)
    return (
        f"{entry_id} needs {described}: add it to the request, pass {options} (Python: defaults), or run in a terminal"
    )


def _description(schema: Mapping[str, Any]) -> str:
    text = str(schema.get("description") or schema.get("type") or "").rstrip(".")[:MAX_DESCRIPTION_CHARS]
    return f" ({text})" if text else ""


def _object(schema: Any) -> Mapping[str, Any]:
    return schema if isinstance(schema, Mapping) else {}
