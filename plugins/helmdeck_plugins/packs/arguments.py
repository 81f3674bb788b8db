"""Reads the arguments that a model wrote: undoes what a provider's dialect of schemas made it write in another way.

Where every property is required, a model writes ``null`` for what it leaves out; where an object cannot be said, it writes
a text that holds one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from helmdeck_core import Entry, schema_problems

_SHOWN_CHARS = 80


def inputs_of(entry: Entry) -> Mapping[str, Any]:
    """The inputs of an entry by name, as it declares them; those of an entry without a schema are what it accepts."""
    if entry.input_schema is not None:
        found = entry.input_schema.get("properties")
    else:
        found = entry.metadata.get("inputs") or entry.metadata.get("accepts")
    if isinstance(found, Mapping):
        return found
    return dict.fromkeys((n for n in found if isinstance(n, str)) if isinstance(found, (list, tuple)) else ())


def given_arguments(written: Mapping[str, Any] | str | None) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The arguments, and what is wrong with them: none can be read from a text that holds no object."""
    if not isinstance(written, str):
        return written or {}, ()
    found = _decoded(written) if written.strip() else {}
    if isinstance(found, dict):
        return found, ()
    shown = written if len(written) <= _SHOWN_CHARS else written[: _SHOWN_CHARS - 3] + "..."
    return {}, (f"$: not an object of arguments, found the text {shown!r}",)


def as_declared(entry: Entry, args: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of an entry, as its schema means them.

    Without ``null`` for what is optional and cannot be null, and with what a text holds where an object or a list is due.
    """
    if not args:
        return args
    root = entry.input_schema or {}
    found: Mapping[str, Any] = _meant([{**root, "properties": inputs_of(entry)}], dict(args), root)
    return found


def _meant(schemas: Sequence[object], value: Any, root: Mapping[str, Any]) -> Any:
    """A value as it is meant where it has to fit one of some schemas."""
    options = list(_options(schemas))
    if isinstance(value, str) and options and all(_is_structure(option) for option in options):
        read = _decoded(value)
        value = read if isinstance(read, (dict, list)) else value
    if isinstance(value, list):
        items = [option["items"] for option in options if "items" in option]
        return [_meant(items, each, root) for each in value]
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, each in value.items():
        declaring = [option for option in options if name in _table(option.get("properties"))]
        declared = [option["properties"][name] for option in declaring]
        if each is None and declaring and not _takes_null(name, declaring, root):
            continue
        found[name] = _meant(declared, each, root)
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
    """Whether ``null`` may be meant: one of the schemas allows it, or misses the property without it."""
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
        return json.loads(text, strict=False)  # a text within the text often has its line breaks as they are
    except (ValueError, RecursionError):
        return None


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
