"""Checks values against JSON Schema, and says what is wrong by path. Nothing is ever fetched to resolve a reference."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import attrs
import msgspec

MOST_PROBLEMS = 20
LONGEST_MESSAGE = 200
MOST_CHECKERS = 512


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

    :param is_trusted: the schema comes with the program. Patterns of others are not tried: one bad regular expression
        and a value that a model wrote can keep a process busy for years.

    A schema that is itself broken, as some servers publish, fits everything: it says nothing that could be checked.
    """
    if not schema:
        return ()
    try:
        if _plainly_fits(schema, value):
            return ()
        checker = _checker(msgspec.json.encode(schema), is_trusted)
        problems = set(_problems(checker.iter_errors(value))) if checker is not None else set()
    except Exception as exc:
        # What the library raises for a reference to nowhere has no public name, and values may be nested without end.
        if isinstance(exc, (RecursionError, TypeError, ValueError)) or "Referenc" in type(exc).__name__:
            return ()
        raise
    return tuple(sorted(problems))


_NOTES = frozenset({"title", "description", "default", "examples"})
_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def _plainly_fits(schema: object, value: object) -> bool:
    """Whether a value fits a schema of the keywords that most consist of; of every other one it is not known here.

    Most values fit, and the library takes a tenth of a second to be imported, and ten times as long for each value.
    """
    if not isinstance(schema, Mapping):
        return False
    for keyword, said in schema.items():
        match keyword:
            case "type":
                fits = type(value) in _KINDS.get(said, ()) if isinstance(said, str) else False
            case "properties":
                fits = isinstance(said, Mapping) and (
                    not isinstance(value, dict)
                    or all(_plainly_fits(said[name], value[name]) for name in said if name in value)
                )
            case "required":
                fits = (
                    isinstance(said, list | tuple) and isinstance(value, dict) and all(name in value for name in said)
                )
            case "additionalProperties":
                named = schema.get("properties", {})
                fits = said is False and isinstance(value, dict) and all(name in named for name in value)
            case "items":
                fits = isinstance(value, list) and all(_plainly_fits(said, item) for item in value)
            case "enum":
                fits = isinstance(value, str) and isinstance(said, list | tuple) and value in said
            case _:
                fits = keyword in _NOTES
        if not fits:
            return False
    return True


@functools.lru_cache(MOST_CHECKERS)
def _checker(encoded: bytes, is_trusted: bool) -> Any:
    """A validator; ``None`` for a schema that is itself broken. Making one takes a hundred times as long as using it."""
    # Imported here: it costs more than most commands take, and only values with a schema need it.
    from jsonschema import exceptions, validators
    from referencing import Registry

    schema = msgspec.json.decode(encoded)
    cls: Any = validators.validator_for(schema, default=validators.Draft202012Validator)
    try:
        cls.check_schema(schema)
    except exceptions.SchemaError:
        return None
    if not is_trusted:
        cls = cast(Any, validators).extend(cls, dict.fromkeys(_patterned(encoded), _says_nothing))
    # An empty registry, so that no reference makes the library reach for the network.
    return cls(schema, registry=Registry())


def _says_nothing(*_: Any) -> tuple[()]:
    return ()


def _patterned(encoded: bytes) -> list[str]:
    """The keywords that try regular expressions of the schema."""
    skipped = ["pattern", "patternProperties"]
    if b"patternProperties" in encoded:
        skipped += ["additionalProperties", "unevaluatedProperties"]  # they try the same patterns on names
    return skipped


def _problems(errors: Iterable[Any]) -> Iterator[SchemaProblem]:
    """At most ``MOST_PROBLEMS`` errors of the library as data."""
    for error in itertools.islice(errors, MOST_PROBLEMS):
        path = "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in error.absolute_path)
        if error.validator == "required" and isinstance(error.validator_value, list):
            # The library reports each missing name on its own and has the name in the message only.
            for name in error.validator_value:
                if name not in error.instance:
                    yield SchemaProblem(f"{path}.{name}", "required, and not given", is_missing=True)
        else:
            text = str(error.message)
            is_short = len(text) <= LONGEST_MESSAGE
            yield SchemaProblem(path, text if is_short else text[: LONGEST_MESSAGE - 3] + "...")
