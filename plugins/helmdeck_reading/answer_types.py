"""The types that answers can have: JSON Schema, Pydantic models, and every type that msgspec reads."""

from __future__ import annotations

import functools
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from helmdeck_core import AnswerFormat, AnswerType, UntrustedSchema, WrongShape, find_problems, hookimpl, schema_mistake
from helmdeck_reading.optional_fields import describe_names, lacks_all, optional_properties
from helmdeck_reading.strict_json import describe_rejection

CACHED_FORMATS = 256
VALUE = "value"


@hookimpl
def helmdeck_answer_types() -> Sequence[AnswerType]:
    """The built-in kinds."""
    return (
        AnswerType(name="json_schema", description="a JSON Schema as a dict", format_of=json_schema_format, order=10),
        AnswerType(
            name="pydantic",
            description="Pydantic models and types that contain them",
            format_of=pydantic_format,
            order=20,
        ),
        AnswerType(
            name="msgspec",
            description="dataclasses, attrs classes, msgspec Structs, TypedDicts, Literal, Enum, list[...], dict[...], "
            "unions, int, float, bool",
            format_of=msgspec_format,
            order=30,
        ),
    )


# -- JSON Schema -------------------------------------------------------------------------------------------------


def json_schema_format(type: Any) -> AnswerFormat[Any] | None:
    """Return the format of a JSON Schema; values are plain data.

    :raises ValueError: the schema is malformed.
    """
    if not isinstance(type, Mapping):
        return None
    if mistake := schema_mistake(type, is_trusted=not isinstance(type, UntrustedSchema)):
        raise ValueError(f"the JSON Schema {mistake}")

    def parse(value: Any) -> Any:
        if value and value == type:
            raise WrongShape("$", "a value of the schema, not the schema itself")
        if problems := find_problems(type, value, is_trusted=True):
            raise WrongShape(problems[0].path, problems[0].message)
        return value

    return _object_format(type, parse)


def _object_format(schema: Mapping[str, Any], parse: Callable[[Any], Any]) -> AnswerFormat[Any]:
    """The format of a schema; one that is not of an object is wrapped in an object, and a bare list is read too."""
    if schema.get("type") == "object":
        return AnswerFormat(schema=schema, decode_as=dict, parse=parse)

    is_list = schema.get("type") == "array"

    def parse_wrapped(value: Any) -> Any:
        if isinstance(value, list):
            return parse(value)
        if not isinstance(value, dict) or VALUE not in value:
            raise WrongShape(f"$.{VALUE}", "required property is missing")
        try:
            return parse(value[VALUE])
        except WrongShape as exc:
            raise WrongShape(f"$.{VALUE}{exc.path.removeprefix('$')}", exc.message) from exc

    decode_as: Any = dict | list if is_list else dict
    return AnswerFormat(schema=_wrapped(schema), decode_as=decode_as, parse=parse_wrapped, wraps=True)


def _wrapped(schema: Mapping[str, Any]) -> dict[str, Any]:
    """An object with the schema as its only property; definitions stay at the root, where references expect them."""
    definitions = {name: schema[name] for name in ("$defs", "definitions") if name in schema}
    inner = {name: value for name, value in schema.items() if name not in definitions}
    return {"type": "object", "properties": {VALUE: inner}, "required": [VALUE], **definitions}


# -- Pydantic ----------------------------------------------------------------------------------------------------


def pydantic_format(type: Any) -> AnswerFormat[Any] | None:
    """Return the format of a Pydantic model, or of a type that contains one; ``None`` where Pydantic is not in use."""
    pydantic = sys.modules.get("pydantic")  # without it, no type can be a model
    if pydantic is None or not _contains_model(type, pydantic):
        return None
    return _pydantic_format(type)


def _contains_model(type: Any, pydantic: Any) -> bool:
    if isinstance(type, builtins_type) and typing.get_origin(type) is None:
        return issubclass(type, pydantic.BaseModel) or hasattr(type, "__pydantic_core_schema__")
    return any(_contains_model(argument, pydantic) for argument in typing.get_args(type))


builtins_type: Any = type


@functools.lru_cache(CACHED_FORMATS)
def _pydantic_format(type: Any) -> AnswerFormat[Any]:
    from pydantic import TypeAdapter, ValidationError

    adapter = TypeAdapter[Any](type)
    schema = _inlined_root(adapter.json_schema())
    optional = optional_properties(schema)

    def parse(data: Any) -> Any:
        try:
            value = adapter.validate_json(msgspec.json.encode(data))  # in strict mode, a date is a string in JSON only
        except ValidationError as exc:
            error = exc.errors(include_url=False, include_context=False)[0]
            path = "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in error["loc"])
            raise WrongShape(path, error["msg"]) from exc
        except (RecursionError, MemoryError):
            raise
        except Exception as exc:
            raise WrongShape("$", describe_rejection(exc)) from exc
        if isinstance(data, dict) and lacks_all(optional, data) and not getattr(value, "model_fields_set", ()):
            raise WrongShape("$", describe_names(optional))
        return value

    return _object_format(schema, parse)


# -- msgspec -----------------------------------------------------------------------------------------------------


def msgspec_format(type: Any) -> AnswerFormat[Any] | None:
    """Return the format of a type that msgspec reads."""
    try:
        return _msgspec_format(type)
    except TypeError:  # not a type, or not one that msgspec supports
        return None


@functools.lru_cache(CACHED_FORMATS)
def _msgspec_format(type: Any) -> AnswerFormat[Any]:
    schema = _inlined_root(msgspec.json.schema(type))
    if schema.get("type") == "object":
        return AnswerFormat(schema=schema, decode_as=type)

    is_list = type is list or typing.get_origin(type) is list
    wrapped: Any = msgspec.defstruct("Wrapped", [(VALUE, type)])
    return AnswerFormat(
        schema=_wrapped(schema),
        decode_as=wrapped | type if is_list else wrapped,
        parse=lambda found: found.value if isinstance(found, wrapped) else found,
        wraps=True,
        bare=type if is_list else None,
    )


def _inlined_root(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with the definition that its root refers to in place of the reference."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
        return dict(schema)
    name = reference.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
    definitions: Mapping[str, Any] = schema["$defs"]
    root = {**definitions[name], **{key: value for key, value in schema.items() if key not in ("$ref", "$defs")}}
    rest = {key: value for key, value in definitions.items() if key != name}
    if reference in msgspec.json.encode(definitions).decode():  # the type contains itself
        rest = dict(definitions)
    return {**root, "$defs": rest} if rest else root
