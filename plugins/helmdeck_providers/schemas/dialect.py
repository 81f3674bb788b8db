"""``SchemaDialect``: what a server takes of JSON Schema, and how large a schema is by its measures; the dialects are ``server_dialects``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

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
    """The subset of JSON Schema that a wire format supports.

    An adapted schema never allows less than the original, except for what ``anything_lacks``. Unsupported parts are left out, or expressed in a form that the
    reader of the response reverses: ``null`` for an omitted optional value, a JSON string for any other value.

    :ivar keywords: supported keywords besides the structural ones, such as ``title``, ``maxLength`` or ``const``; ``None`` to
        send every schema unchanged.
    :ivar formats: supported values of ``format``; ``None`` for all.
    :ivar most_length: the largest ``maxLength``; a larger one is left out.
    :ivar most_min_items: the largest ``minItems``; a larger one is reduced.
    :ivar is_strict: send the schema in strict mode.
    :ivar closes_objects: every object must list its properties and forbid others.
    :ivar requires_all: every property must be required; an optional one may be ``null`` instead.
    :ivar needs_required: every object must require at least one property.
    :ivar needs_properties: every object must list at least one property.
    :ivar has_references: ``$ref`` to ``$defs`` is supported; otherwise references are resolved in place.
    :ivar takes_recursion: a schema may refer to itself.
    :ivar distinguishes_by_first_property: the objects of an ``anyOf`` must differ in their first property: in its name, or in
        the values of an enumeration.
    :ivar has_any_value: ``{}``, which allows any value, is supported; ``anything`` is an alternative form, and ``anything_lacks``
        names the values that it does not allow.
    :ivar json_string_note: description of a string that holds JSON in place of a value that the dialect cannot express; empty
        for none.
    :ivar only_text_choices: ``enum`` supports strings only.
    :ivar null_keyword: ``nullable`` replaces the type ``null``.
    :ivar takes_whole: a caller's schema that cannot be adapted is sent unchanged, without strict mode.
    :ivar is_slow: compiling a new schema takes seconds or minutes, so that only repeated schemas pay off.
    :ivar most_depth: maximum nesting of objects and lists.
    :ivar most_properties: maximum properties in total.
    :ivar most_properties_each: maximum properties of one object.
    :ivar most_optional: maximum optional properties in total.
    :ivar most_unions: maximum uses of ``anyOf`` or several types.
    :ivar most_choices: maximum enumeration values in total.
    :ivar most_text: maximum characters of names and enumeration values in total.
    :ivar most_choice_text: maximum characters of one enumeration with more than ``MANY_CHOICES`` values.
    :ivar most_size: maximum size in UTF-8 bytes.
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
    distinguishes_by_first_property: bool = False
    has_any_value: bool = False
    anything: Mapping[str, Any] | None = attrs.field(default=None, hash=False)
    anything_lacks: str = ""
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
    """Yield the direct subschemas of a schema, except its definitions."""
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
            return unquote(name).replace("~1", "/").replace("~0", "~")
    return None
