"""Adapts a JSON Schema to the dialect of a server: what the dialect cannot say is loosened, and never tightened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

import attrs
import msgspec

from helmdeck_providers.schemas.dialect import ANNOTATIONS, BOUNDS, SchemaDialect, measured, referred, types_of

_MAX_DEPTH: Final = 40
_MAX_NODES: Final = 20_000
"""References may be written out in place, so that a small schema may stand for an endless one."""

_NULL: Final[Mapping[str, Any]] = {"type": "null"}
_SAYS_NOTHING: Final = frozenset(
    ("$schema", "$id", "$comment", "$defs", "definitions", "default", "examples", "deprecated", "readOnly", "writeOnly")
)
_STRUCTURE: Final = frozenset(
    ("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "oneOf", "$ref")
)
_EVERY_BOUND: Final = frozenset(keyword for keywords in BOUNDS.values() for keyword in keywords)


class UnsupportedSchema(ValueError):
    """The schema allows what the dialect would forbid; the text says what."""


@attrs.frozen
class AdaptedSchema:
    """A schema in a dialect.

    :ivar lost: keywords that had to be left out.
    :ivar excess: limits of the dialect that it is beyond, in words.
    """

    schema: Mapping[str, Any]
    lost: tuple[str, ...] = ()
    excess: tuple[str, ...] = ()


def adapt_schema(schema: Mapping[str, Any], dialect: SchemaDialect, *, is_read_freely: bool = False) -> AdaptedSchema:
    """Return a schema adapted to a dialect; the result never allows less than the schema.

    :param is_read_freely: the reader of the response accepts ``null`` for an omitted optional value, and a JSON string for a
        value that the dialect cannot express.
    :raises UnsupportedSchema: every schema of the dialect would allow less.
    """
    if dialect.keywords is None:
        lost: dict[str, None] = {}
        found = _as_it_is(schema, dialect.most_length, lost)
    else:
        walk = _SchemaAdapter(schema, dialect, is_read_freely=is_read_freely)
        found, lost = walk.whole(), walk.lost
    return AdaptedSchema(found, tuple(lost), measured(found).beyond(dialect) if dialect.has_limits else ())


def _as_it_is(value: Any, most_length: int | None, lost: dict[str, None]) -> Any:
    """Return the schema without bounds above the limit."""
    if most_length is None:
        return value
    if isinstance(value, Mapping):
        length = value.get("maxLength")
        if isinstance(length, int) and length > most_length:
            lost["maxLength"] = None
            value = {name: each for name, each in value.items() if name != "maxLength"}
        return {name: _as_it_is(each, most_length, lost) for name, each in value.items()}
    return [_as_it_is(each, most_length, lost) for each in value] if isinstance(value, list) else value


class _SchemaAdapter:
    """Adapts one schema to a dialect."""

    def __init__(self, root: Mapping[str, Any], dialect: SchemaDialect, *, is_read_freely: bool) -> None:
        self.lost: dict[str, None] = {}
        self._root = root
        self._dialect = dialect
        self._keywords = dialect.keywords or frozenset()
        self._copied_keywords = sorted(self._keywords - _EVERY_BOUND - _STRUCTURE)
        self._is_read_freely = is_read_freely
        self._left = _MAX_NODES
        self._defs: dict[str, dict[str, Any] | None] = {}

    def whole(self) -> dict[str, Any]:
        found = self._part(self._root, 0)
        return {**found, "$defs": self._defs} if self._defs else found

    # -- one schema ----------------------------------------------------------------------------------------------

    def _part(self, schema: object, level: int) -> dict[str, Any]:
        """The schema of a place where a value stands, which needs a type."""
        found = self._of(schema, level)
        return {**self._anything(), "nullable": True} if self._dialect.null_keyword and found == _NULL else found

    def _of(self, schema: object, level: int) -> dict[str, Any]:
        """The schema in the dialect; ``level`` counts the objects and lists around it."""
        source = self._entered(schema, level)
        if source is None:
            return self._anything()
        if isinstance(source.get("$ref"), str):
            return dict(source)
        self._note_lost(source)
        kept = {name: source[name] for name in self._copied_keywords if name in source}
        kinds = types_of(source) or _implied(source)
        if isinstance(source.get("enum"), (list, tuple)) and source["enum"]:
            return kept | self._choices(source["enum"], kinds)
        if "const" in source:
            return kept | self._constant(source["const"], kinds)
        if not kinds:  # bounds beside ``anyOf``, or of no type
            self.lost |= dict.fromkeys(sorted(source.keys() & _EVERY_BOUND))
        options = next((source[name] for name in ("anyOf", "oneOf") if isinstance(source.get(name), (list, tuple))), ())
        if options and not kinds:
            return kept | self._any_of([self._of(option, level) for option in options])
        if options:
            self.lost["anyOf"] = None
        if not kinds and isinstance(source.get("allOf"), (list, tuple)) and len(source["allOf"]) == 1:
            return kept | self._of(source["allOf"][0], level)
        if len(kinds) > 1:
            alone = {name: value for name, value in source.items() if name not in self._copied_keywords}
            return kept | self._one_of_types([self._of({**alone, "type": kind}, level) for kind in kinds])
        if not kinds:
            return kept | self._anything()
        (kind,) = kinds
        if kind == "object":
            return kept | self._object(source, level + 1)
        if kind == "array":
            return kept | self._list(source, level + 1)
        return kept | {"type": kind} | self._bounds(source, kind)

    def _note_lost(self, source: Mapping[str, Any]) -> None:
        known = _STRUCTURE | _SAYS_NOTHING | _EVERY_BOUND | ANNOTATIONS | self._keywords
        self.lost |= dict.fromkeys(sorted(source.keys() - known))

    def _bounds(self, source: Mapping[str, Any], kind: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in BOUNDS.get(kind, ()):
            if name not in source:
                continue
            value, most = source[name], None
            if name == "minItems":
                most = self._dialect.most_min_items
            elif name == "maxLength" and isinstance(value, int) and value > (self._dialect.most_length or value):
                self.lost[name] = None
                continue
            is_known = name != "format" or self._dialect.formats is None or value in self._dialect.formats
            if name not in self._keywords or not is_known:
                self.lost[name] = None
            elif most is not None and isinstance(value, int) and value > most:
                self.lost[name] = None
                found[name] = most
            else:
                found[name] = value
        return found

    def _object(self, source: Mapping[str, Any], level: int) -> dict[str, Any]:
        dialect, properties = self._dialect, source.get("properties")
        more = source.get("additionalProperties")
        if self._is_too_deep(level):
            return self._as_text(f"it has more than {dialect.most_depth} levels")
        if not isinstance(properties, Mapping) or not properties:
            return self._object_without_properties(source)
        if dialect.closes_objects and (more not in (None, False) or "patternProperties" in source):
            return self._as_text("it has open objects")
        given = source.get("required")
        named = [name for name in given if isinstance(name, str)] if isinstance(given, (list, tuple)) else []
        required = [name for name in dict.fromkeys(named) if name in properties]
        if dialect.needs_required and not required:
            return self._as_text("it has objects that require nothing")
        made = {str(name): self._part(each, level) for name, each in properties.items()}
        if dialect.requires_all:
            for name in made.keys() - set(required):
                if not self._is_read_freely:
                    raise UnsupportedSchema("it has optional properties")
                made[name] = self._nullable(made[name])
            required = list(made)
        found: dict[str, Any] = {"type": "object", "properties": made, **self._bounds(source, "object")}
        if required or "required" in source or dialect.closes_objects:
            found["required"] = required
        if dialect.closes_objects:
            found["additionalProperties"] = False
        elif isinstance(more, bool) and "additionalProperties" in self._keywords:
            found["additionalProperties"] = more
        return found

    def _object_without_properties(self, source: Mapping[str, Any]) -> dict[str, Any]:
        """An object that is empty, or of which nothing is known."""
        dialect = self._dialect
        is_open = source.get("additionalProperties") is not False or "patternProperties" in source
        if is_open and dialect.closes_objects:
            return self._as_text("it has open objects")
        if not is_open and (dialect.needs_properties or dialect.needs_required):
            return self._as_text("it has empty objects", ("{}",))
        found: dict[str, Any] = {"type": "object"}
        return found if is_open else {**found, "properties": {}, "required": [], "additionalProperties": False}

    def _list(self, source: Mapping[str, Any], level: int) -> dict[str, Any]:
        if self._is_too_deep(level):
            return self._as_text(f"it has more than {self._dialect.most_depth} levels")
        items = source.get("items")
        found: dict[str, Any] = {"type": "array"}
        if isinstance(items, list):  # a schema for each item, as in drafts before 2020-12
            self.lost["items"] = None
        if isinstance(items, Mapping) or self._dialect.closes_objects:
            found["items"] = self._part(items, level)
        return found | self._bounds(source, "array")

    def _is_too_deep(self, level: int) -> bool:
        most = self._dialect.most_depth
        return most is not None and level > most

    # -- values --------------------------------------------------------------------------------------------------

    def _choices(self, values: Sequence[Any], kinds: Sequence[str]) -> dict[str, Any]:
        by_type: dict[str, list[Any]] = {}
        for value in values:
            by_type.setdefault(_type_of(value), []).append(value)
        if by_type.keys() & {"object", "array"} or (self._dialect.only_text_choices and by_type.keys() != {"string"}):
            self.lost["enum"] = None
            found = [{"type": kind} for kind in dict.fromkeys(kinds or by_type)]
            if {"type": "object"} in found or {"type": "array"} in found:
                return self._anything()
            return self._one_of_types(found)
        return self._one_of_types([_group(kind, group) for kind, group in by_type.items()])

    def _constant(self, value: Any, kinds: Sequence[str]) -> dict[str, Any]:
        if "const" in self._keywords and not isinstance(value, (Mapping, list)):
            return {"type": _type_of(value), "const": value}
        return self._choices([value], kinds)

    def _anything(self) -> dict[str, Any]:
        if self._dialect.has_any_value:
            return {}
        if self._dialect.anything is not None:
            self.lost |= dict.fromkeys(filter(None, [self._dialect.anything_lacks]))
            return dict(self._dialect.anything)
        return self._as_text("it says nothing at some place")

    def _as_text(self, why: str, choices: Sequence[str] = ()) -> dict[str, Any]:
        """A text that holds the JSON of what cannot be said."""
        if not self._is_read_freely:
            raise UnsupportedSchema(why)
        if choices:
            return {"type": "string", "enum": [*choices]}
        self.lost["structure"] = None
        note = self._dialect.json_string_note if "description" in self._keywords else ""
        return {"type": "string", **({"description": note} if note else {})}

    # -- unions --------------------------------------------------------------------------------------------------

    def _nullable(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        return self._any_of([schema, _NULL])

    def _one_of_types(self, schemas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        others = [schema for schema in schemas if schema != _NULL]
        if self._dialect.null_keyword and len(others) == 1 and len(others) < len(schemas):
            return {**others[0], "nullable": True}
        return self._any_of(schemas)

    def _any_of(self, schemas: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
        flat: list[Mapping[str, Any]] = []
        for schema in schemas:
            flat += schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]
        different = list({msgspec.json.encode(schema): schema for schema in flat}.values())
        if self._dialect.null_keyword and len(different) > 1 and _NULL in different:
            return {"anyOf": [schema for schema in different if schema != _NULL], "nullable": True}
        if self._dialect.distinguishes_by_first_property:
            different = self._distinguishable(different)
        return dict(different[0]) if len(different) == 1 else {"anyOf": different}

    def _distinguishable(self, schemas: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return the options, with those merged that their first property does not distinguish."""
        found: list[Mapping[str, Any]] = []
        by_first: dict[str, list[int]] = {}
        for schema in schemas:
            properties = self._resolved(schema).get("properties")
            if not isinstance(properties, Mapping):
                found.append(schema)
                continue
            first = next(iter(properties), "")
            places = by_first.setdefault(first, [])
            alike = [place for place in places if not _differ(self._resolved(found[place]), properties, first)]
            if not alike:
                places.append(len(found))
                found.append(schema)
            else:
                self.lost["anyOf"] = None
                found[alike[0]] = self._merged(self._resolved(found[alike[0]]), self._resolved(schema))
                if len(alike) > 1:  # the merged option may now match others
                    return self._distinguishable(found)
        return found

    def _merged(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        for name in dict.fromkeys((*one["properties"], *other["properties"])):
            both = [each["properties"][name] for each in (one, other) if name in each["properties"]]
            is_optional = self._dialect.requires_all and len(both) == 1
            properties[name] = self._any_of([*both, *([_NULL] if is_optional else ())])
        if self._dialect.requires_all and not self._is_read_freely:
            raise UnsupportedSchema("its objects are not distinguished by their first property")
        shared = [name for name in one.get("required", ()) if name in other.get("required", ())]
        return {**one, "properties": properties, "required": list(properties) if self._dialect.requires_all else shared}

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._defs.get(referred(schema) or "") or schema

    # -- references ----------------------------------------------------------------------------------------------

    def _entered(self, schema: object, level: int) -> Mapping[str, Any] | None:
        """Return the schema with its reference resolved, or a reference that is kept; ``None`` beyond the limits.

        Keywords beside a reference override those of its target.
        """
        self._left -= 1
        for _ in range(_MAX_DEPTH):
            if level > _MAX_DEPTH or self._left < 0:
                break
            if not isinstance(schema, Mapping):
                return None
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                return schema
            if reference == "#" and self._dialect.has_references and self._dialect.takes_recursion:
                return {"$ref": reference}
            target = self._target(reference)
            if target is None:
                self.lost["$ref"] = None
                return None
            beside = {name: value for name, value in schema.items() if name != "$ref"}
            name = referred(schema)
            if self._dialect.has_references and name is not None and beside.keys() <= ANNOTATIONS:
                return self._reference(name, target, level)
            schema = {**target, **beside}
        if not self._dialect.has_any_value and self._dialect.anything is None:
            raise UnsupportedSchema("it refers to itself")
        return None

    def _reference(self, name: str, target: Mapping[str, Any], level: int) -> Mapping[str, Any]:
        if name not in self._defs:
            self._defs[name] = None
            self._defs[name] = self._part(target, level)
        elif self._defs[name] is None and not self._dialect.takes_recursion:
            raise UnsupportedSchema("it refers to itself")
        return {"$ref": "#/$defs/" + name.replace("~", "~0").replace("/", "~1")}

    def _target(self, reference: str) -> Mapping[str, Any] | None:
        found: Any = self._root if reference.startswith("#") else None
        for step in filter(None, unquote(reference[1:]).split("/")):
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else None


def _implied(source: Mapping[str, Any]) -> tuple[str, ...]:
    """The type that a schema means without naming it."""
    if isinstance(source.get("properties"), Mapping):
        return ("object",)
    return ("array",) if isinstance(source.get("items"), Mapping) else ()


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int() | float():
            return "number"
        case list() | tuple():
            return "array"
    return "object"


def _group(kind: str, values: Sequence[Any]) -> dict[str, Any]:
    different = list(dict.fromkeys(values))
    if kind == "null" or (kind == "boolean" and len(different) == 2):
        return {"type": kind}
    if kind == "number" and all(isinstance(value, int) for value in different):
        kind = "integer"
    return {"type": kind, "enum": different}


def _differ(one: Mapping[str, Any], properties: Mapping[str, Any], first: str) -> bool:
    """Whether the value of the same first property distinguishes two objects."""
    if not first:
        return False
    theirs, ours = _values(one["properties"][first]), _values(properties[first])
    return bool(theirs and ours) and not theirs & ours


def _values(schema: Mapping[str, Any]) -> set[str]:
    """Return the possible values, if they are enumerated."""
    return set(map(repr, schema.get("enum", [schema["const"]] if "const" in schema else ())))
