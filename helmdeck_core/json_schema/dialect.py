"""What interfaces take of JSON Schema, as data, and how large a schema is by their measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs
import msgspec

ANNOTATIONS: Final = frozenset(("title", "description"))
"""Keywords that say something to the model and forbid nothing."""

BOUNDS: Final[Mapping[str, tuple[str, ...]]] = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("minItems", "maxItems", "uniqueItems"),
    "object": ("minProperties", "maxProperties"),
}
"""Keywords that bound a value, by the type that they bound."""

TYPES: Final = frozenset(("object", "array", "string", "integer", "number", "boolean", "null"))

_NAMES_OF_REFERENCES = ("#/$defs/", "#/definitions/")


@attrs.frozen(kw_only=True, cache_hash=True)
class SchemaDialect:
    """What one interface takes of JSON Schema.

    A schema that is put into the dialect only ever allows more. What the dialect cannot say at all is left out, or said
    another way where whoever reads the answer undoes it: ``None`` in the place of something optional that is left out, and a
    text that holds JSON in the place of a value.

    :ivar keywords: keywords that are taken beside the structure, such as ``title``, ``maxLength`` or ``const``; ``None`` for
        an interface to which every schema goes as it is.
    :ivar formats: values of ``format`` that are taken; ``None`` is every one.
    :ivar most_length: the largest ``maxLength``; a larger one is left out.
    :ivar most_min_items: the largest ``minItems``; a larger one becomes this one.
    :ivar is_strict: the interface has a mark for schemas that hold without exception, and it is set.
    :ivar closes_objects: every object has to list its properties and forbid others.
    :ivar requires_all: every property has to be required; one that is optional may be ``None`` instead.
    :ivar needs_required: every object has to require one property at least.
    :ivar needs_properties: every object has to list one property at least.
    :ivar has_references: ``$ref`` to ``$defs`` is taken; else what is referred to stands in its place.
    :ivar takes_recursion: a schema may refer to itself.
    :ivar tells_objects_apart: objects of one ``anyOf`` are told apart by their first property: by its name, or by different
        values of an enumeration.
    :ivar has_any_value: ``{}``, which any value fits, is taken; ``anything`` is another way to say it.
    :ivar json_string_note: description of a string that holds JSON in place of a value that the dialect cannot express; empty
        for none.
    :ivar only_text_choices: an ``enum`` holds texts.
    :ivar null_keyword: there is no type ``null`` but the keyword ``nullable``.
    :ivar takes_whole: a schema of the caller's own that cannot be said goes as it is, without the mark of ``is_strict``.
    :ivar is_slow: a new schema is compiled before the first answer, for seconds or minutes; it pays only where many requests
        have the same.
    :ivar most_depth: objects and lists within one another, the outermost counted.
    :ivar most_properties: of all objects together.
    :ivar most_properties_each: of one object.
    :ivar most_optional: properties that are not required, of all objects together.
    :ivar most_unions: places with ``anyOf`` or several types.
    :ivar most_choices: values of all enumerations together.
    :ivar most_text: characters of all names of properties and definitions and of all values of enumerations together.
    :ivar most_choice_text: characters of the texts of one enumeration of more than ``MANY_CHOICES``.
    :ivar most_size: bytes of the schema, in UTF-8.
    """

    name: str
    keywords: frozenset[str] | None = None
    formats: frozenset[str] | None = None
    most_length: int | None = None
    most_min_items: int | None = None
    is_strict: bool = False
    closes_objects: bool = False
    requires_all: bool = False
    needs_required: bool = False
    needs_properties: bool = False
    has_references: bool = True
    takes_recursion: bool = False
    tells_objects_apart: bool = False
    has_any_value: bool = False
    anything: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    json_string_note: str = ""
    only_text_choices: bool = False
    null_keyword: bool = False
    takes_whole: bool = False
    is_slow: bool = False
    most_depth: int | None = None
    most_properties: int | None = None
    most_properties_each: int | None = None
    most_optional: int | None = None
    most_unions: int | None = None
    most_choices: int | None = None
    most_text: int | None = None
    most_choice_text: int | None = None
    most_size: int | None = None

    @property
    def has_limits(self) -> bool:
        """Whether there is a largest schema."""
        return any(getattr(self, f"most_{name}") is not None for name in _MEASURED)


MANY_CHOICES: Final = 250
"""Up to so many texts of an enumeration may be of any length."""


@attrs.define
class Measures:
    """How large a schema is. What is referred to counts wherever it is referred to."""

    depth: int = 0
    properties: int = 0
    properties_each: int = 0
    optional: int = 0
    unions: int = 0
    choices: int = 0
    text: int = 0
    choice_text: int = 0
    size: int = 0

    def beyond(self, dialect: SchemaDialect) -> tuple[str, ...]:
        """What is more than a dialect takes, in words."""
        found = []
        for field, what in _MEASURED.items():
            value, most = getattr(self, field), getattr(dialect, f"most_{field}")
            if most is not None and value > most:
                found.append(f"{value:,} {what}, at most {most:,}")
        return tuple(found)


_MEASURED: Final[Mapping[str, str]] = {
    "depth": "levels",
    "properties": "properties",
    "properties_each": "properties of one object",
    "optional": "optional properties",
    "unions": "unions",
    "choices": "values of enumerations",
    "text": "characters of names and values",
    "choice_text": "characters of one enumeration",
    "size": "bytes",
}


def measured(schema: Mapping[str, Any]) -> Measures:
    """Measure a schema that does not refer to itself, or that does: each definition is entered once on each way down."""
    found = Measures(size=len(msgspec.json.encode(schema)))
    defs = schema.get("$defs")
    named: Mapping[str, Any] = defs if isinstance(defs, Mapping) else {}
    found.text += sum(map(len, named))
    _Measuring(found, named).enter(schema, 0, frozenset())
    return found


class _Measuring:
    def __init__(self, found: Measures, defs: Mapping[str, Any]) -> None:
        self._found = found
        self._defs = defs

    def enter(self, schema: Mapping[str, Any], depth: int, within: frozenset[str]) -> None:
        name = referred(schema)
        if name is not None:
            target = self._defs.get(name)
            if name not in within and isinstance(target, Mapping):
                self.enter(target, depth, within | {name})
            return
        found, properties, choices = self._found, schema.get("properties"), schema.get("enum")
        kinds = types_of(schema)
        if "object" in kinds or "array" in kinds:
            depth += 1
            found.depth = max(found.depth, depth)
        if len(kinds) > 1 or isinstance(schema.get("anyOf"), list):
            found.unions += 1
        if isinstance(choices, list):
            length = sum(len(choice) if isinstance(choice, str) else len(str(choice)) for choice in choices)
            found.choices += len(choices)
            found.text += length
            if len(choices) > MANY_CHOICES:
                found.choice_text = max(found.choice_text, length)
        if isinstance(properties, Mapping):
            required = schema.get("required")
            found.properties += len(properties)
            found.properties_each = max(found.properties_each, len(properties))
            found.optional += len(properties) - len(required if isinstance(required, list) else ())
            found.text += sum(map(len, properties))
        for each in parts_of(schema):
            self.enter(each, depth, within)


def parts_of(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The schemas that stand in a schema, but for its definitions."""
    properties, items = schema.get("properties"), schema.get("items")
    found = [*properties.values()] if isinstance(properties, Mapping) else []
    for choice in ("anyOf", "oneOf", "allOf"):
        found += schema[choice] if isinstance(schema.get(choice), list) else []
    yield from (each for each in (*found, items) if isinstance(each, Mapping))


def types_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The types that a schema names, each once; what is none is passed over."""
    kinds = schema.get("type")
    named = kinds if isinstance(kinds, (list, tuple)) else [kinds]
    return tuple(dict.fromkeys(kind for kind in named if isinstance(kind, str) and kind in TYPES))


def referred(schema: Mapping[str, Any]) -> str | None:
    """The name of the definition that a schema refers to; ``None`` where it refers to none, or to something else."""
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return None
    for start in _NAMES_OF_REFERENCES:
        name = reference.removeprefix(start)
        if name != reference and "/" not in name:
            return name.replace("~1", "/").replace("~0", "~")
    return None
