"""Types without a required field: they accept every object, so an object with none of their fields would become an empty value.

Such an object is something else, such as an error, a wrapper or a copy of the schema; what it contains would be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

_MAX_NAMED = 6

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])


def optional_properties(schema: Mapping[str, Any]) -> Collection[str]:
    """The properties of an object schema that requires none, and that states nothing about others; empty for any other."""
    states_more = "required" in schema or "additionalProperties" in schema or "patternProperties" in schema
    return () if states_more else schema.get("properties", ())


def lacks_all(names: Collection[str], members: Mapping[str, object]) -> bool:
    """Whether an object has members, but none with these names."""
    return bool(names and members) and not any(name in members for name in names)


def describe_names(names: Collection[str]) -> str:
    """What an object should have: one of these names."""
    named = ", ".join([*names][:_MAX_NAMED]) + (", ..." if len(names) > _MAX_NAMED else "")
    return f"one of the fields {named}"


def with_a_field(read: Callable[[str | bytes], Any], type: Any) -> Callable[[str | bytes], Any]:
    """A typed decoder that rejects objects with none of the fields of a type whose fields are all optional."""
    names = _optional_fields(type)
    if not names:
        return read

    def read_checked(text: str | bytes) -> Any:
        value = read(text)
        if lacks_all(names, _members.decode(text)):
            raise msgspec.ValidationError(f"Expected {describe_names(names)}, got none of them")
        return value

    return read_checked


def _optional_fields(type: Any) -> Collection[str]:
    """The names of all fields in JSON, if none is required; empty for types without fields."""
    if type in (dict, list, Any):
        return ()
    from msgspec import inspect  # the first typed decode needs it, the start does not

    info = inspect.type_info(type)
    if not isinstance(info, (inspect.StructType, inspect.DataclassType, inspect.TypedDictType)):
        return ()
    if any(field.required for field in info.fields):
        return ()
    names = [field.encode_name for field in info.fields]
    if isinstance(info, inspect.StructType):
        if info.array_like or info.forbid_unknown_fields:
            return ()
        names += filter(None, [info.tag_field])
    return tuple(names)
