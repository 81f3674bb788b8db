"""Types as JSON Schemas: Pydantic models, attrs classes, msgspec Structs, dataclasses, TypedDicts and plain types."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import msgspec


class Unfit(ValueError):
    """A value that fits the JSON Schema but not the type, such as by a validator of a model."""


@attrs.frozen
class TypeForm:
    """The form of a type on the wire.

    :ivar schema: its JSON Schema; references point to ``#/$defs`` of the same object.
    :ivar read: converts plain data; raises ``Unfit``.
    :ivar write: converts a value to plain data.
    """

    schema: Mapping[str, Any]
    read: Callable[[Any], Any]
    write: Callable[[Any], Any]

    @property
    def is_object(self) -> bool:
        """Whether values are objects with known properties."""
        return self.schema.get("type") == "object" and "properties" in self.schema


def form_of(kind: Any) -> TypeForm:
    """Return the form of a type.

    :raises TypeError: neither Pydantic nor msgspec can describe the type.
    """
    if _has_model(kind):
        return _pydantic_form(kind)
    schema = _inlined(msgspec.json.schema(kind))
    return TypeForm(schema, lambda data: _converted(data, kind), msgspec.to_builtins)


def _converted(data: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as exc:
        message, _, path = str(exc).partition(" - at `")
        raise Unfit(f"{path.removesuffix('`') or '$'}: {message}") from None


def _pydantic_form(kind: Any) -> TypeForm:
    from pydantic import TypeAdapter, ValidationError

    adapter = TypeAdapter[Any](kind)

    def read(data: Any) -> Any:
        try:
            return adapter.validate_python(data)
        except ValidationError as exc:
            # The message of an error may repeat the value, but no URL and no context object.
            errors = exc.errors(include_url=False, include_context=False, include_input=False)
            paths = ("$" + "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in e["loc"]) for e in errors)
            texts = (f"{path}: {error['msg']}" for path, error in zip(paths, errors, strict=True))
            raise Unfit("; ".join(texts)) from None

    return TypeForm(_inlined(adapter.json_schema()), read, lambda value: adapter.dump_python(value, mode="json"))


def _has_model(kind: Any) -> bool:
    pydantic: Any = sys.modules.get("pydantic")  # without it, no type can be a model
    if pydantic is None:
        return False
    if isinstance(kind, type) and typing.get_origin(kind) is None:
        if issubclass(kind, pydantic.BaseModel) or hasattr(kind, "__pydantic_core_schema__"):
            return True
        # A class of another kind, with a model in a field.
        return any(_has_model(each) for each in _field_types(kind))
    arguments = typing.get_args(kind)
    return any(_has_model(each) for each in arguments)


def _field_types(kind: type) -> list[Any]:
    if not (attrs.has(kind) or hasattr(kind, "__dataclass_fields__") or typing.is_typeddict(kind)):
        return []
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except (NameError, TypeError):
        return []
    return [each for each in hints.values() if each is not kind]


def _inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with the definition of its root in place of the reference to it."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
        return dict(schema)
    name = reference.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")
    definitions: Mapping[str, Any] = schema["$defs"]
    root = {**definitions[name], **{key: value for key, value in schema.items() if key not in ("$ref", "$defs")}}
    rest = {key: value for key, value in definitions.items() if key != name}
    if f'"{reference}"' in msgspec.json.encode(definitions).decode():  # the type contains itself
        rest = dict(definitions)
    return {**root, "$defs": rest} if rest else root
