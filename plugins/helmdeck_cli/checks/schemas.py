"""Finds mistakes in the JSON Schemas of a catalog: invalid ones, misspelt keywords, required names without a property."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from helmdeck_cli.checks.line_numbers import Path
from helmdeck_core import describe_unknown_type

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")

KEYWORDS = frozenset(
    "$anchor $comment $defs $dynamicAnchor $dynamicRef $id $ref $schema $vocabulary additionalItems additionalProperties allOf "
    "anyOf const contains contentEncoding contentMediaType contentSchema default definitions dependencies dependentRequired "
    "dependentSchemas deprecated description else enum examples exclusiveMaximum exclusiveMinimum format if items maxContains "
    "maxItems maxLength maxProperties maximum minContains minItems minLength minProperties minimum multipleOf not oneOf pattern "
    "patternProperties prefixItems properties propertyNames readOnly required then title type unevaluatedItems "
    "unevaluatedProperties uniqueItems writeOnly".split()
)
TOLERATED = frozenset({"discriminator", "example", "externalDocs", "nullable", "propertyOrdering", "strict", "xml"})
"""Keywords of OpenAPI and of vendors, which schemas of servers contain."""

_MANY = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_ONE = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems",
    "unevaluatedProperties",
)  # fmt: skip
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_TEXTS = frozenset("$comment $ref contentEncoding contentMediaType description format pattern title".split())
_COUNTS = frozenset("maxContains maxItems maxLength maxProperties minContains minItems minLength minProperties".split())
_NUMBERS = frozenset("exclusiveMaximum exclusiveMinimum maximum minimum".split())
_FLAGS = frozenset("deprecated readOnly uniqueItems writeOnly".split())
_COMMON_DIALECTS = ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#")
_COMMON_DEPTH = 16
"""Levels of a common schema; deeper ones may be too deep for the library, which is reported."""

_MIN_SIMILARITY = 0.8
"""A key that is less similar to a known one was probably meant: entries and schemas may have keys of their own."""
_MAX_CHARS = 160
_MAX_ERRORS = 50


def misspelt(word: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` if the word is almost one of the known ones; the empty string otherwise."""
    matches = difflib.get_close_matches(word, sorted(known), n=1, cutoff=_MIN_SIMILARITY)
    return f" (did you mean {matches[0]!r}?)" if matches else ""


def schema_findings(schema: object, at: Path) -> Iterator[tuple[str, Path, str]]:
    """Yield the level (``error`` or ``warning``), path and problem of each mistake in the schema of a tool's arguments.

    :param at: the path of the schema in its file.
    """
    if not isinstance(schema, Mapping):
        if schema is not None and not isinstance(schema, bool):
            yield "error", at, "a JSON Schema is an object"
        return
    if schema.get("type", "object") in TYPES[:5] + TYPES[6:]:
        yield "error", (*at, "type"), "the arguments of a tool are an object; the type must be 'object'"
    yield from _invalid(schema, at)
    for path, each in _subschemas(schema, at):
        yield from _doubtful(each, path)


def _invalid(schema: Mapping[str, Any], at: Path) -> Iterator[tuple[str, Path, str]]:
    """What the meta-schema does not allow."""
    dialect = schema.get("$schema", _COMMON_DIALECTS[0])
    if dialect in _COMMON_DIALECTS and _is_common({key: schema[key] for key in schema if key != "$schema"}):
        return
    import itertools

    from jsonschema import validators

    cls: Any = validators.validator_for(schema, default=validators.Draft202012Validator)
    seen = set()
    try:
        for error in itertools.islice(cls(cls.META_SCHEMA).iter_errors(schema), _MAX_ERRORS):
            path = (*at, *error.absolute_path)
            if path and path[-1] == "type" and isinstance(error.instance, str):
                problem = describe_unknown_type(error.instance)
            else:
                problem = f"not valid in a JSON Schema: {str(error.message)[:_MAX_CHARS]}"
            if (path, problem) not in seen:
                seen.add((path, problem))
                yield "error", path, problem
    except RecursionError:
        yield "error", at, "the schema is nested too deeply"


def _is_common(schema: object, depth: int = _COMMON_DEPTH) -> bool:
    """Whether a schema consists of common keywords with valid values; ``False`` also for other valid schemas.

    Most schemas do. The library takes a tenth of a second to import and a hundred times as long per schema, because the
    meta-schema refers to itself through seven vocabularies for each subschema.
    """
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, Mapping) or not depth:
        return False
    return all(_is_common_keyword(key, value, depth - 1) for key, value in schema.items())


def _is_common_keyword(key: str, value: Any, depth: int) -> bool:
    if key in _TEXTS:
        return isinstance(value, str)
    if key in _FLAGS:
        return isinstance(value, bool)
    if key in _COUNTS:
        return type(value) is int and value >= 0
    if key in _NUMBERS:
        return type(value) in (int, float)
    if key == "type" and isinstance(value, str):
        return value in TYPES
    if key in ("required", "type"):
        is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
        return is_list and len(set(value)) == len(value) and (key == "required" or set() < set(value) <= {*TYPES})
    if key in _MANY:
        return isinstance(value, Mapping) and all(_is_common(each, depth) for each in value.values())
    if key in _LISTS:
        return isinstance(value, list) and bool(value) and all(_is_common(each, depth) for each in value)
    if key in _ONE:
        return _is_common(value, depth)
    if key in ("enum", "examples"):
        return isinstance(value, list)
    return key in ("const", "default") or not (key in KEYWORDS or key.startswith("$"))


def _subschemas(schema: Mapping[str, Any], at: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The schema and every schema inside it."""
    pending: list[tuple[Path, object]] = [(at, schema)]
    while pending:
        path, each = pending.pop()
        if not isinstance(each, Mapping):
            continue
        yield path, each
        for key in _MANY:
            if isinstance(inside := each.get(key), Mapping):
                pending += [((*path, key, name), value) for name, value in inside.items()]
        pending += [((*path, key), each[key]) for key in _ONE if key in each]
        for key in (*_LISTS, "items"):
            if isinstance(inside := each.get(key), list):
                pending += [((*path, key, number), value) for number, value in enumerate(inside)]


def _doubtful(schema: Mapping[str, Any], at: Path) -> Iterator[tuple[str, Path, str]]:
    """What is valid but does not do what it seems to."""
    for key in schema:
        if key in KEYWORDS or key in TOLERATED or key.startswith(("x-", "x_")):
            continue
        if meant := misspelt(key, KEYWORDS):
            yield "warning", (*at, key), f"unknown keyword {key!r}{meant}; it has no effect"
    properties, required = schema.get("properties"), schema.get("required")
    if isinstance(properties, Mapping) and isinstance(required, list):
        for number, name in enumerate(required):
            if isinstance(name, str) and name not in properties:
                meant = misspelt(name, properties)
                yield "warning", (*at, "required", number), f"{name!r} is required and not among the properties{meant}"
