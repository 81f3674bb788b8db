"""Validates values against JSON Schema. References are never fetched."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import attrs
import msgspec

MAX_PROBLEMS = 20
MAX_MESSAGE_CHARS = 200
MAX_CACHED_VALIDATORS = 512


@attrs.frozen(order=True)
class SchemaProblem:
    """One thing in a value that does not match its schema.

    :ivar path: where it is, such as ``$.steps[0].tool``; for a missing property, the path that it should have.
    :ivar message: what is wrong.
    :ivar is_missing: whether a required property is missing.
    """

    path: str
    message: str
    is_missing: bool = False

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


def schema_problems(schema: Mapping[str, Any], value: object, *, is_trusted: bool = False) -> tuple[str, ...]:
    """Return one string for each thing in ``value`` that does not match the schema, its path first; see ``find_problems``."""
    return tuple(map(str, find_problems(schema, value, is_trusted=is_trusted)))


def find_problems(schema: Mapping[str, Any], value: object, *, is_trusted: bool = False) -> tuple[SchemaProblem, ...]:
    """Return everything in ``value`` that does not match the schema, by path; empty when it matches.

    :param is_trusted: the schema is part of the program. Patterns of other schemas are not evaluated: a bad regular expression
        and a value from a model can block a process forever.

    Every value matches a schema that is itself malformed, as some servers publish.
    """
    if not schema:
        return ()
    try:
        if _matches_simple_schema(schema, value):
            return ()
        checker = _checker(msgspec.json.encode(schema), is_trusted)
        problems = set(_problems(checker.iter_errors(value))) if checker is not None else set()
    except Exception as exc:
        # The library's exception for an unresolvable reference has no public name, and values may be nested too deeply.
        if isinstance(exc, (RecursionError, TypeError, ValueError)) or "Referenc" in type(exc).__name__:
            return ()
        raise
    return tuple(sorted(problems))


_NOTES = frozenset({"title", "description", "default", "examples"})
TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def _matches_simple_schema(schema: object, value: object) -> bool:
    """Whether a value matches a schema of common keywords; ``False`` also for every other schema.

    Most values match, and the library takes a tenth of a second to import and ten times as long per value.
    """
    if not isinstance(schema, Mapping):
        return False
    for keyword, wanted in schema.items():
        match keyword:
            case "type":
                matches = type(value) in TYPES.get(wanted, ()) if isinstance(wanted, str) else False
            case "properties":
                matches = isinstance(wanted, Mapping) and (
                    not isinstance(value, dict)
                    or all(_matches_simple_schema(wanted[name], value[name]) for name in wanted if name in value)
                )
            case "required":
                matches = (
                    isinstance(wanted, list | tuple)
                    and isinstance(value, dict)
                    and all(name in value for name in wanted)
                )
            case "additionalProperties":
                declared = schema.get("properties", {})
                matches = wanted is False and isinstance(value, dict) and all(name in declared for name in value)
            case "items":
                matches = isinstance(value, list) and all(_matches_simple_schema(wanted, item) for item in value)
            case "enum":
                matches = isinstance(value, str) and isinstance(wanted, list | tuple) and value in wanted
            case _:
                matches = keyword in _NOTES
        if not matches:
            return False
    return True


@functools.lru_cache(MAX_CACHED_VALIDATORS)
def _checker(encoded: bytes, is_trusted: bool) -> Any:
    """A validator; ``None`` for a malformed schema. Construction takes a hundred times as long as validation."""
    # Imported here, because the import takes longer than most commands.
    from jsonschema import exceptions, validators
    from referencing import Registry

    schema = msgspec.json.decode(encoded)
    cls: Any = validators.validator_for(schema, default=validators.Draft202012Validator)
    try:
        cls.check_schema(schema)
    except exceptions.SchemaError:
        return None
    if not is_trusted:
        cls = cast(Any, validators).extend(cls, dict.fromkeys(_pattern_keywords(encoded), _ignore))
    # An empty registry keeps the library from fetching references.
    return cls(schema, registry=Registry())


def _ignore(*_: Any) -> tuple[()]:
    return ()


def _pattern_keywords(encoded: bytes) -> list[str]:
    """The keywords that evaluate regular expressions of the schema."""
    skipped = ["pattern", "patternProperties"]
    if b"patternProperties" in encoded:
        skipped += ["additionalProperties", "unevaluatedProperties"]  # they evaluate the same patterns
    return skipped


def _problems(errors: Iterable[Any]) -> Iterator[SchemaProblem]:
    """At most ``MAX_PROBLEMS`` errors of the library as data."""
    for error in itertools.islice(errors, MAX_PROBLEMS):
        path = "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in error.absolute_path)
        if error.validator == "required" and isinstance(error.validator_value, list):
            # The library reports each missing property separately, with its name in the message only.
            for name in error.validator_value:
                if name not in error.instance:
                    yield SchemaProblem(f"{path}.{name}", "required property is missing", is_missing=True)
        else:
            text = str(error.message)
            is_short = len(text) <= MAX_MESSAGE_CHARS
            yield SchemaProblem(path, text if is_short else text[: MAX_MESSAGE_CHARS - 3] + "...")
