"""Reads the arguments that a model wrote, and undoes the workarounds of a provider's schema dialect.

Where every property is required, a model writes ``null`` for an omitted one; where a dialect has no objects, it writes a
string that contains one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from helmdeck_core import Entry, schema_problems

_SHOWN_CHARS = 80

MAX_NESTING = 100
"""Levels of lists and objects in arguments; everything that handles a plan recurses into them."""


def check_nesting(value: object) -> None:
    """Reject arguments that are nested too deeply.

    :raises ValueError: more than ``MAX_NESTING`` levels.
    """
    level = [value]
    for _ in range(MAX_NESTING + 1):
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise ValueError(f"arguments of at most {MAX_NESTING} levels")


def inputs_of(entry: Entry) -> Mapping[str, Any]:
    """Return the declared inputs of an entry by name; without a schema, those of its metadata."""
    if entry.input_schema is not None:
        found = entry.input_schema.get("properties")
    else:
        found = entry.metadata.get("inputs") or entry.metadata.get("accepts")
    if isinstance(found, Mapping):
        return found
    return dict.fromkeys((n for n in found if isinstance(n, str)) if isinstance(found, (list, tuple)) else ())


def parse_arguments(written: Mapping[str, Any] | str | None) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Return the arguments and their problems: a string must contain an object."""
    if not isinstance(written, str):
        return written or {}, ()
    found = _decoded(written) if written.strip() else {}
    if isinstance(found, dict):
        return found, ()
    shown = written if len(written) <= _SHOWN_CHARS else written[: _SHOWN_CHARS - 3] + "..."
    return {}, (f"$: not an object of arguments, found the text {shown!r}",)


def as_declared(entry: Entry, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the arguments of an entry as its schema declares them.

    ``null`` is removed where a value is optional and cannot be null; a string is decoded where an object or a list is due.
    """
    if not args:
        return args
    root = entry.input_schema or {}
    found: Mapping[str, Any] = _converted([{**root, "properties": inputs_of(entry)}], dict(args), root)
    return found


def _converted(schemas: Sequence[object], value: Any, root: Mapping[str, Any]) -> Any:
    """Convert a value to fit one of some schemas."""
    options = list(_options(schemas))
    if isinstance(value, str) and options and all(_is_structure(option) for option in options):
        read = _decoded(value)
        value = read if isinstance(read, (dict, list)) else value
    if isinstance(value, list):
        items = [option["items"] for option in options if "items" in option]
        return [_converted(items, each, root) for each in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, each in value.items():
        declaring = [option for option in options if name in _table(option.get("properties"))]
        declared = [option["properties"][name] for option in declaring]
        if each is None and declaring and not _takes_null(name, declaring, root):
            continue
        found[name] = _converted(declared, each, root)
    return found


def _options(schemas: Iterable[object]) -> Iterator[Mapping[str, Any]]:
    for schema in schemas:
        if not isinstance(schema, Mapping):
            continue
        choices = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(choices, (list, tuple)):
            yield from _options(choices)
        else:
            yield schema


def _is_structure(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type")
    named = {kinds} if isinstance(kinds, str) else {*kinds} if isinstance(kinds, (list, tuple)) else set()
    return bool(named) and named <= {"object", "array", "null"}


def _takes_null(name: str, schemas: Iterable[Mapping[str, Any]], root: Mapping[str, Any]) -> bool:
    """Whether ``null`` may be intended: one of the schemas allows it, or requires the property."""
    for schema in schemas:
        required = schema.get("required")
        if isinstance(required, (list, tuple)) and name in required:
            return True
        if _allows_null(schema["properties"][name], root):
            return True
    return False


def _allows_null(schema: object, root: Mapping[str, Any]) -> bool:
    if not isinstance(schema, Mapping):
        return False  # a name alone
    if schema.keys() <= {"type", "title", "description", "default"} and isinstance(schema.get("type"), str):
        return bool(schema["type"] == "null")
    defs = {name: root[name] for name in ("$defs", "definitions") if name in root}
    return not schema_problems({**defs, **schema}, None)


def _decoded(text: str) -> Any:
    try:
        value = json.loads(text, strict=False)  # a string inside the string often has raw line breaks
        check_nesting(value)
        return value
    except (ValueError, RecursionError):
        return None


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
