"""The built-in compaction ladder: the fields that a small model needs least are removed first.

Steps are pure functions of one entry. None of them changes a name, an id or ``supersedes``; the core would restore them.
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
"""Keys of an entry that a step or a prompt uses; all others are extras."""

STEP_KEYS = ("id", "name", "pack")

SCHEMA_KEYS = ("type", "enum", "const", "required", "properties", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs")
"""JSON Schema keywords that define the arguments of a tool; all others only describe them."""


@hookimpl
def helmdeck_trim_steps() -> Sequence[TrimStep]:
    """The steps of the ladder."""
    return (
        _step(
            10,
            "pack.intent_keywords[]",
            _without_metadata(EntryKind.PACK, "intent_keywords"),
            "phrases that request a pack",
        ),
        _step(
            20,
            "pack.typical_use",
            _without_metadata(EntryKind.PACK, "typical_use"),
            "typical uses of a pack",
        ),
        _step(30, "pack.limitations[]", _without_metadata(EntryKind.PACK, "limitations"), "limitations of a pack"),
        _step(40, "pipeline.steps[].body", _bare_steps, "all fields of a pipeline's steps except id, name and pack"),
        _step(
            50,
            "pipeline.inputs/outputs.schema",
            _field_names,
            "schemas of a pipeline's inputs and outputs, except their field names",
        ),
        _step(60, "description.firstSentence", _first_sentence_only, "all of a description except its first sentence"),
        # Catalogs of tool servers contain schemas and annotations, which the steps above ignore. These steps come last, so
        # that a catalog without them is trimmed by the first six alone.
        _step(70, "entry.extra_fields", _without_extras, "annotations, titles and other keys that no prompt uses"),
        _step(
            80, "pack.input_schema.details", _schema_skeleton, "all of an input schema except names, types and choices"
        ),
        _step(90, "pack.input_schema", _argument_names, "an input schema, except its argument names"),
    )


def _step(order: int, name: str, trim: Callable[[Entry, EntryData], EntryData], removed: str) -> TrimStep:
    return TrimStep(name=name, trim=trim, order=order, summary=f"removes {removed}")


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
    """Change fields of a pipeline, in its metadata and at the top level."""
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

# A full stop, question mark or exclamation mark of any script. Those of Latin, Cyrillic, Devanagari … end a sentence only
# before whitespace; CJK and full-width marks need none.
_END = re.compile(r"[.!?…؟۔।॥։።]+[\"'”’)\]»]*(?=\s|$)|[。！？｡．]+[」』”’）]*")

# Abbreviations in lower case, grouped by the text after which their full stop does not end a sentence.
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
_BEFORE_NUMBER = frozenset(("no", "nr", "nos", "fig", "figs", "eq", "sec", "ch", "vol", "p", "pp", "max", "min"))
_BEFORE_LOWER_CASE = frozenset(
    ("etc", "usw", "al", "inc", "ltd", "co", "corp", "dept", "est", "resp", "ca", "u.s", "u.k")
)


def first_sentence(text: str) -> str:
    """Return the first sentence with its full stop; the whole string if no sentence ends.

    ``e.g.``, ``v1.2``, ``3.5``, ``etc.`` before a lower-case letter, single initials and item numbers do not end one.
    """
    for match in _END.finditer(text):
        if not _is_abbreviation(text, match.start(), match.end()):
            return text[: match.end()].strip()
    return text


# Patterns search the string in place: slicing the rest at every full stop would be quadratic.
_WORD = re.compile(r"[^\s(\[\"'“]*\Z")
_NON_BLANK = re.compile(r"\S")
_MAX_ABBREVIATION_CHARS = 24


def _is_abbreviation(text: str, stop: int, end: int) -> bool:
    next_char = _NON_BLANK.search(text, end)
    if text[stop] not in ".…" or next_char is None:
        return False
    following = next_char[0]
    if text[stop] == "…" or text[stop : stop + 2] == "..":
        return following.islower()
    word = _WORD.search(text, max(0, stop - _MAX_ABBREVIATION_CHARS), stop)
    last = word[0].lower() if word else ""
    if last in _ALWAYS:
        return True
    if last in _BEFORE_NUMBER and following.isdigit():
        return True
    if last in _BEFORE_LOWER_CASE and following.islower():
        return True
    # An initial ("J. Smith"), or an item number at the start ("1. Open").
    is_initial = len(last) == 1 and text[stop - 1].isupper() and last not in "ai"
    return is_initial or (last.isdigit() and stop <= 2)


def _first_sentence_only(_: Entry, data: EntryData) -> EntryData:
    description = data.get("description")
    if not isinstance(description, str):
        return data
    sentence = first_sentence(description)
    return data if sentence == description else {**data, "description": sentence}
