"""The built-in compaction ladder: what a small model can best do without goes first.

Steps are pure functions of one entry. None of them touches a name, an id or ``supersedes``; the core would put those
back anyway.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from helmdeck_core import Entry, EntryData, EntryKind, TrimStep, hookimpl

KNOWN_KEYS = frozenset(
    {
        "id",
        "name",
        "description",
        "metadata",
        "input_schema",
        "inputSchema",
        "output_schema",
        "steps",
        "inputs",
        "outputs",
    }
)
"""Keys of an entry that some step or prompt knows; all others are extras."""

STEP_KEYS = ("id", "name", "pack")

SCHEMA_KEYS = ("type", "enum", "const", "required", "properties", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs")
"""What of a JSON Schema says which arguments a tool takes; the rest describes them."""


@hookimpl
def helmdeck_trim_steps() -> Sequence[TrimStep]:
    """The ladder."""
    return (
        _step(
            10,
            "pack.intent_keywords[]",
            _without_metadata(EntryKind.PACK, "intent_keywords"),
            "phrases that ask for a pack",
        ),
        _step(
            20,
            "pack.typical_use",
            _without_metadata(EntryKind.PACK, "typical_use"),
            "what a pack is typically used for",
        ),
        _step(30, "pack.limitations[]", _without_metadata(EntryKind.PACK, "limitations"), "what a pack cannot do"),
        _step(40, "pipeline.steps[].body", _bare_steps, "all of a pipeline's steps but id, name and pack"),
        _step(
            50,
            "pipeline.inputs/outputs.schema",
            _field_names,
            "schemas of a pipeline's inputs and outputs; their field names stay",
        ),
        _step(60, "description.firstSentence", _first_sentence_only, "all of a description but its first sentence"),
        # Catalogs of tool servers carry schemas and annotations that the steps above know nothing of. They come last,
        # so that a catalog without them is trimmed by the six steps alone.
        _step(70, "entry.extra_fields", _without_extras, "annotations, titles and other keys that no prompt uses"),
        _step(80, "pack.input_schema.details", _schema_skeleton, "all of an input schema but names, types and choices"),
        _step(90, "pack.input_schema", _argument_names, "an input schema; its argument names stay"),
    )


def _step(order: int, name: str, trim: Callable[[Entry, EntryData], EntryData], cuts: str) -> TrimStep:
    return TrimStep(name=name, trim=trim, order=order, summary=f"cuts {cuts}")


def _without_metadata(kind: EntryKind, key: str) -> Callable[[Entry, EntryData], EntryData]:
    def trim(entry: Entry, data: EntryData) -> EntryData:
        metadata = data.get("metadata")
        if entry.kind is not kind or not isinstance(metadata, Mapping) or key not in metadata:
            return data
        return {**data, "metadata": {name: value for name, value in metadata.items() if name != key}}

    return trim


def _bare_steps(entry: Entry, data: EntryData) -> EntryData:
    def bare(steps: Any) -> Any:
        if not isinstance(steps, list):
            return steps
        return [{k: s[k] for k in STEP_KEYS if k in s} if isinstance(s, Mapping) else s for s in steps]

    return _in_pipeline(entry, data, ("steps",), bare)


def _field_names(entry: Entry, data: EntryData) -> EntryData:
    def names(schema: Any) -> Any:
        if not isinstance(schema, Mapping):
            return schema
        properties = schema.get("properties")
        return list(properties if isinstance(properties, Mapping) else schema)

    return _in_pipeline(entry, data, ("inputs", "outputs"), names)


def _in_pipeline(entry: Entry, data: EntryData, keys: Sequence[str], change: Callable[[Any], Any]) -> EntryData:
    """Change fields of a pipeline where they stand: in its metadata or beside it."""
    if entry.kind is not EntryKind.PIPELINE:
        return data
    result = {key: change(value) if key in keys else value for key, value in data.items()}
    if isinstance(metadata := data.get("metadata"), Mapping):
        result["metadata"] = {key: change(value) if key in keys else value for key, value in metadata.items()}
    return result


def _without_extras(_: Entry, data: EntryData) -> EntryData:
    return {key: value for key, value in data.items() if key in KNOWN_KEYS and key != "output_schema"}


def _schema_skeleton(_: Entry, data: EntryData) -> EntryData:
    return _with_schema(data, _skeleton)


def _skeleton(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_skeleton(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    lean: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs") and isinstance(value, Mapping):
            lean[key] = {name: _skeleton(each) for name, each in value.items()}
        elif key in ("items", "anyOf", "oneOf", "allOf"):
            lean[key] = _skeleton(value)
        elif key in SCHEMA_KEYS:
            lean[key] = value
    return lean


def _argument_names(_: Entry, data: EntryData) -> EntryData:
    def names(schema: Any) -> Any:
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        return list(properties) if isinstance(properties, Mapping) else []

    return _with_schema(data, names)


def _with_schema(data: EntryData, change: Callable[[Any], Any]) -> EntryData:
    key = next((key for key in ("input_schema", "inputSchema") if isinstance(data.get(key), Mapping)), None)
    return data if key is None else {**data, key: change(data[key])}


# -- first sentences ---------------------------------------------------------------------------------------

# A full stop, question or exclamation mark of any script. Those of Latin, Cyrillic, Devanagari … end a sentence only
# before a blank; the CJK and full-width ones stand without any.
_END = re.compile(r"[.!?…؟۔।॥։።]+[\"'”’)\]»]*(?=\s|$)|[。！？｡．]+[」』”’）]*")

# Abbreviations, lower case, by what must follow for their full stop not to end a sentence.
_ALWAYS = frozenset(
    (
        "e.g",
        "i.e",
        "a.k.a",
        "vs",
        "cf",
        "approx",
        "incl",
        "excl",
        "dr",
        "mr",
        "mrs",
        "ms",
        "prof",
        "z.b",
        "d.h",
        "u.a",
        "bzw",
        "p.ej",
        "p.ex",
    )
)
_BEFORE_FIGURE = frozenset(("no", "nr", "nos", "fig", "figs", "eq", "sec", "ch", "vol", "p", "pp", "max", "min"))
_BEFORE_SMALL_LETTER = frozenset(
    ("etc", "usw", "al", "inc", "ltd", "co", "corp", "dept", "est", "resp", "ca", "u.s", "u.k")
)


def first_sentence(text: str) -> str:
    """Return the first sentence with its full stop; the whole text when none ends.

    ``e.g.``, ``v1.2``, ``3.5``, ``etc.`` before a small letter, single initials and a figure's full stop do not end one.
    """
    for match in _END.finditer(text):
        if not _is_abbreviation(text, match.start(), match.end()):
            return text[: match.end()].strip()
    return text


# Pieces of the text are looked at where they stand: copies of the rest at every full stop would make long texts slow.
_WORD = re.compile(r"[^\s(\[\"'“]*\Z")
_INK = re.compile(r"\S")
_LONGEST_ABBREVIATION = 24


def _is_abbreviation(text: str, stop: int, end: int) -> bool:
    ink = _INK.search(text, end)
    if text[stop] not in ".…" or ink is None:
        return False
    following = ink[0]
    if text[stop] == "…" or text[stop : stop + 2] == "..":
        return following.islower()
    word = _WORD.search(text, max(0, stop - _LONGEST_ABBREVIATION), stop)
    last = word[0].lower() if word else ""
    if last in _ALWAYS:
        return True
    if last in _BEFORE_FIGURE and following.isdigit():
        return True
    if last in _BEFORE_SMALL_LETTER and following.islower():
        return True
    # An initial ("J. Smith"), or the number of an item at the very beginning ("1. Open").
    is_initial = len(last) == 1 and text[stop - 1].isupper() and last not in "ai"
    return is_initial or (last.isdigit() and stop <= 2)


def _first_sentence_only(_: Entry, data: EntryData) -> EntryData:
    description = data.get("description")
    if not isinstance(description, str):
        return data
    sentence = first_sentence(description)
    return data if sentence == description else {**data, "description": sentence}
