"""Validates values against JSON Schema. References are never fetched, and the work of a check is bounded."""

from __future__ import annotations

import functools
import itertools
import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final, cast

import attrs
import msgspec

from helmdeck_core.suggestions import did_you_mean

MAX_PROBLEMS = 20
MAX_MESSAGE_CHARS = 200
MAX_CACHED_VALIDATORS = 512
MAX_WORK: Final = 30_000
"""Work of one check of a value, in units of about a microsecond: the event loop is blocked meanwhile."""
MAX_SCHEMA_WORK: Final = 80_000
"""Work of the check of a schema itself, once per schema that is not part of the program."""
MAX_REQUEST_SCHEMA_WORK: Final = 800_000
"""The same for a schema of a client's request, which can have a few thousand properties; it is checked in a thread."""
MAX_SCHEMA_BYTES: Final = 1_000_000
MAX_SELF_NESTING: Final = 16
"""Levels of a value that a well-formed schema can be evaluated for without exceeding the recursion limit."""
_SUBSCHEMA_WORK = 4
_REFERENCE_WORK = 25
_ERROR_WORK = 12
_ITEMS_PER_UNIT = 8
_CHARS_PER_UNIT = 64


@attrs.frozen(order=True)
class SchemaProblem:
    """One thing in a value that does not match its schema.

    :ivar path: where it is, such as ``$.steps[0].tool``; for a missing property, the path that it should have.
    :ivar message: what is wrong.
    :ivar is_missing: whether a required property is missing.

    >>> from helmdeck_core import find_problems
    >>> find_problems({"type": "object", "required": ["to"]}, {})
    (SchemaProblem(path='$.to', message='required property is missing', is_missing=True),)
    """

    path: str
    message: str
    is_missing: bool = attrs.field(default=False, kw_only=True)

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class UntrustedSchema(dict[str, Any]):
    """A JSON Schema from outside of the program that an answer is to have, such as a client's.

    Its patterns are not evaluated, and the work of its checks is bounded: see ``find_problems``.

    >>> from helmdeck_core import UntrustedSchema
    >>> UntrustedSchema({"type": "object"})["type"]
    'object'
    """


def schema_mistake(schema: Mapping[str, Any], *, is_trusted: bool = False) -> str:
    """Return why a schema cannot be used; empty if it can. A large one takes seconds.

    :param is_trusted: the schema is part of the program, and may have any size.

    >>> from helmdeck_core import schema_mistake
    >>> schema_mistake({"type": "strnig"}).partition(";")[0]
    "is malformed at $.type: 'strnig' is not a type (did you mean 'string'?)"
    >>> schema_mistake({"type": "string"})
    ''
    """
    try:
        encoded = msgspec.json.encode(schema)
        checker = _checker(encoded, is_trusted, MAX_REQUEST_SCHEMA_WORK)
        if checker is _TooMuchWorkError:
            return f"is too large to be checked: {len(encoded):,} bytes"
        return "" if checker is not None else _first_mistake(encoded, is_trusted)
    except RecursionError:
        return "is nested too deeply"


def _first_mistake(encoded: bytes, is_trusted: bool) -> str:
    from jsonschema import validators

    schema = msgspec.json.decode(encoded)
    base: Any = validators.validator_for(schema, default=validators.Draft202012Validator)
    _work.left = sys.maxsize if is_trusted else MAX_REQUEST_SCHEMA_WORK
    for problem in _problems(_meta_validator(base, is_trusted=is_trusted).iter_errors(schema)):
        wrong = unknown_type(schema) if problem.path.endswith(".type") else ""
        return f"is malformed at {problem.path}: {describe_unknown_type(wrong) if wrong else problem.message}"
    return "is malformed"


def schema_problems(
    schema: Mapping[str, Any], value: object, *, is_trusted: bool = False, max_work: int = MAX_WORK
) -> tuple[str, ...]:
    """Return one string for each thing in ``value`` that does not match the schema, its path first; see ``find_problems``.

    >>> from helmdeck_core import schema_problems
    >>> schema_problems({"type": "array", "items": {"type": "integer"}}, [1, "two"])
    ("$[1]: 'two' is not of type 'integer'",)
    """
    return tuple(map(str, find_problems(schema, value, is_trusted=is_trusted, max_work=max_work)))


def find_problems(
    schema: Mapping[str, Any], value: object, *, is_trusted: bool = False, max_work: int = MAX_WORK
) -> tuple[SchemaProblem, ...]:
    """Return everything in ``value`` that does not match the schema, by path; empty when it matches.

    :param is_trusted: the schema is part of the program. Patterns of other schemas are not evaluated: a bad regular expression
        and a value from a model can block a process forever.
    :param max_work: the work after which the check ends, in units of about a microsecond. The value then has a problem.

    Every value matches a schema that is itself malformed, as some servers publish.

    >>> from helmdeck_core import find_problems
    >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n", "to"]}
    >>> for problem in find_problems(schema, {"n": "3"}):
    ...     print(problem)
    $.n: '3' is not of type 'integer'
    $.to: required property is missing
    """
    if not schema:
        return ()
    schema_work = MAX_SCHEMA_WORK
    if isinstance(schema, UntrustedSchema):
        is_trusted, schema_work = False, MAX_REQUEST_SCHEMA_WORK
    _work.left, levels = max_work, 0
    try:
        if _matches_simple_schema(schema, value):
            return ()
        checker = _checker(msgspec.json.encode(schema), is_trusted, schema_work)
        if checker is _TooMuchWorkError:
            return (SchemaProblem("$", "not checked: the schema is too large"),)
        _work.left = max_work
        levels = _levels(value)
        problems = set(_problems(checker.iter_errors(value))) if checker is not None else set()
    except _TooMuchWorkError:
        problem = "not checked completely: the value is too large, or has too many ways to match its schema"
        return (SchemaProblem("$", problem),)
    except Exception as exc:
        if isinstance(exc, RecursionError) and levels > MAX_SELF_NESTING:
            return (SchemaProblem("$", "not checked: the value is nested too deeply"),)
        # The library's exception for an unresolvable reference has no public name, and a schema may refer to itself.
        if isinstance(exc, (RecursionError, TypeError, ValueError)) or "Referenc" in type(exc).__name__:
            return ()
        raise
    return tuple(sorted(problems)[:MAX_PROBLEMS])


class _TooMuchWorkError(Exception):
    """The work of a check is used up."""


class _Work(threading.local):
    """The work that is left of the check that this thread is making."""

    left = 0


_work = _Work()


def _spend(units: int) -> None:
    _work.left -= units
    if _work.left < 0:
        raise _TooMuchWorkError


def _levels(value: object) -> int:
    """The levels of a value. Its size counts as work, since errors of the library contain it."""
    level, levels = [value], 0
    while level:
        _spend(len(level))
        containers = (
            each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list))
        )
        level, levels = list(itertools.chain.from_iterable(containers)), levels + 1
    return levels


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
    _spend(1)
    for keyword, wanted in schema.items():
        if isinstance(wanted, list):
            _spend(len(wanted) // _ITEMS_PER_UNIT)
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
def _checker(encoded: bytes, is_trusted: bool, schema_work: int = MAX_SCHEMA_WORK) -> Any:
    """A validator; ``None`` for a malformed schema. Construction takes a hundred times as long as validation.

    The class ``_TooMuchWorkError`` stands for a schema that is too large; an exception would not be cached.
    """
    if len(encoded) > MAX_SCHEMA_BYTES and not is_trusted:
        return _TooMuchWorkError
    # Imported here, because the import takes longer than most commands.
    from jsonschema import validators

    schema = msgspec.json.decode(encoded)
    base: Any = validators.validator_for(schema, default=validators.Draft202012Validator)
    _work.left = sys.maxsize if is_trusted else schema_work
    try:
        if not _meta_validator(base, is_trusted=is_trusted).is_valid(schema):
            return None
    except _TooMuchWorkError:
        return _TooMuchWorkError
    checker = _counted_class(base, () if is_trusted else _pattern_keywords(encoded))
    return checker(schema, registry=_no_references())


def _meta_validator(base: Any, *, is_trusted: bool) -> Any:
    """The validator of schemas of a dialect."""
    # The check of formats compiles the schema's regular expressions, which takes seconds for a long one.
    formats = base.FORMAT_CHECKER if is_trusted else None
    return _counted_class(base)(base.META_SCHEMA, registry=_no_references(), format_checker=formats)


def _no_references() -> Any:
    """An empty registry, which keeps the library from fetching references."""
    from referencing import Registry

    registry: Any = Registry()
    return registry


@functools.lru_cache(32)
def _counted_class(base: Any, ignored: tuple[str, ...] = ()) -> Any:
    """A class of the library without some keywords, whose others take from the work of the check."""
    from jsonschema import validators

    own = {name: keyword for name, keyword in _OWN_KEYWORDS.items() if name in base.VALIDATORS}
    keywords = {**base.VALIDATORS, **own, **dict.fromkeys(ignored, _ignore)}
    cls = cast(Any, validators).extend(base, {name: _counted(name, keyword) for name, keyword in keywords.items()})
    # The library's own method changes to its class, with all keywords, wherever a subschema names a dialect.
    cls.evolve = _evolve
    return cls


def _evolve(validator: Any, **changes: Any) -> Any:
    """The validator of a subschema."""
    _spend(_SUBSCHEMA_WORK)
    return attrs.evolve(validator, **changes)


def _counted(name: str, keyword: Callable[..., Iterable[Any] | None]) -> Callable[..., Iterator[Any]]:
    """A keyword that takes from the work of the check, in proportion to what it reads."""
    units = _REFERENCE_WORK if name.lower().endswith("ref") else 1

    def check(validator: Any, expected: Any, instance: Any, schema: Any) -> Iterator[Any]:
        sizes = (len(each) for each in (expected, instance) if isinstance(each, (dict, list)))
        _spend(units + sum(sizes) // _ITEMS_PER_UNIT)
        for error in keyword(validator, expected, instance, schema) or ():
            _spend(_ERROR_WORK + len(error.message) // _CHARS_PER_UNIT)
            yield error

    return check


def _unique_items(_validator: Any, expected: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """``uniqueItems`` in linear time; the library compares every item with every other."""
    if expected and isinstance(instance, list) and len(set(map(_canonical, instance))) < len(instance):
        yield _error("has non-unique elements")


def _enum(_validator: Any, expected: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    found = instance in expected if isinstance(instance, str) else _canonical(instance) in map(_canonical, expected)
    if not found:
        yield _error(f"{_shown(instance)} is not one of {_shown(expected)}")


def _const(_validator: Any, expected: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    if _canonical(instance) != _canonical(expected):
        yield _error(f"{_shown(expected)} was expected")


def _multiple_of(_validator: Any, expected: Any, instance: Any, _schema: Any) -> Iterator[Any]:
    """``multipleOf`` by decimal digits; the library divides floats, for which 0.07 is no multiple of 0.01."""
    is_number = isinstance(instance, int | float) and not isinstance(instance, bool)
    if is_number and (_exact(instance) / _exact(expected)).denominator != 1:
        yield _error(f"{_shown(instance)} is not a multiple of {_shown(expected)}")


def _exact(number: float) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


_OWN_KEYWORDS = {"uniqueItems": _unique_items, "enum": _enum, "const": _const, "multipleOf": _multiple_of}


def _error(message: str) -> Any:
    from jsonschema import ValidationError

    return ValidationError(message)


def _shown(value: object) -> str:
    text = repr(value)
    _spend(len(text) // _CHARS_PER_UNIT)
    return text[:MAX_MESSAGE_CHARS]


def _canonical(value: object) -> str:
    """The same string for values that are equal in JSON, where 1 equals 1.0 but not true."""
    _spend(1 + len(value) // _CHARS_PER_UNIT if isinstance(value, str) else 1)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{_canonical(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_canonical, value))}]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value)


def _ignore(*_: Any) -> tuple[()]:
    return ()


def _pattern_keywords(encoded: bytes) -> tuple[str, ...]:
    """The keywords that evaluate regular expressions of the schema."""
    ignored = ("pattern", "patternProperties")
    # These two evaluate the same patterns.
    return (*ignored, "additionalProperties", "unevaluatedProperties") if b"patternProperties" in encoded else ignored


def _problems(errors: Iterable[Any]) -> Iterator[SchemaProblem]:
    """At most ``MAX_PROBLEMS`` errors of the library as data, each for all properties that are missing in one place."""
    reported: set[tuple[str, int]] = set()
    for error in itertools.islice(errors, MAX_PROBLEMS):
        path = "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in error.absolute_path)
        if error.validator == "required" and isinstance(error.validator_value, list):
            # The library reports each missing property separately, with its name in the message only.
            if (path, id(error.validator_value)) in reported:
                continue
            reported.add((path, id(error.validator_value)))
            missing = (name for name in error.validator_value if name not in error.instance)
            for name in itertools.islice(missing, MAX_PROBLEMS):
                yield SchemaProblem(f"{path}.{name}", "required property is missing", is_missing=True)
        elif closest := _closest_branch(error):
            yield from _problems(closest)
        else:
            text = str(error.message)
            is_short = len(text) <= MAX_MESSAGE_CHARS
            yield SchemaProblem(path, text if is_short else text[: MAX_MESSAGE_CHARS - 3] + "...")


def _closest_branch(error: Any) -> list[Any]:
    """The errors of the only branch of ``anyOf`` or ``oneOf`` that has the type of the value; empty if there are several."""
    branches: dict[Any, list[Any]] = {}
    for each in error.context or ():
        branches.setdefault(each.schema_path[0], []).append(each)
    is_other_type = {
        name: any(each.validator == "type" and not each.path for each in branches[name]) for name in branches
    }
    fitting = [name for name in branches if not is_other_type[name]]
    return branches[fitting[0]] if len(fitting) == 1 else []


def unknown_type(schema: object) -> str:
    """Return the first ``type`` in a schema that JSON Schema does not have; empty if there is none.

    >>> from helmdeck_core import unknown_type
    >>> unknown_type({"type": "object", "properties": {"n": {"type": "int"}}})
    'int'
    """
    if isinstance(schema, list):
        return next(filter(None, map(unknown_type, schema)), "")
    if not isinstance(schema, Mapping):
        return ""
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else (kinds,):
        if isinstance(kind, str) and kind not in TYPES:
            return kind
    inner = (value for key, value in schema.items() if key not in ("default", "const", "enum", "examples"))
    return next(filter(None, map(unknown_type, inner)), "")


def describe_unknown_type(name: str) -> str:
    """Return the problem of a ``type`` that JSON Schema does not have, with the nearest one.

    >>> from helmdeck_core import describe_unknown_type
    >>> describe_unknown_type("int").partition(";")[0]
    "'int' is not a type (did you mean 'integer'?)"
    """
    # The names of Python are not always the nearest in spelling.
    same = next((each for each, kinds in TYPES.items() if kinds[-1].__name__ == name.lower()), None)
    meant = did_you_mean(name, TYPES) if same is None else f" (did you mean {same!r}?)"
    return f"{name!r} is not a type{meant}; types: {', '.join(sorted(TYPES))}"
