"""Decides whether an argument that was written as text is the text itself or JSON, by the schema of its tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from helmdeck_reading.strict_json import DECODE_ERRORS
from helmdeck_reading.tool_calls.notations import python_value

_MAX_DEPTH = 16
"""Maximum nesting of references and combinators that is followed."""

_IS_OF_TYPE: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and value == value // 1,
    "number": lambda value: _is_number(value),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


class _AnyString(str):
    """Equal to every string that a schema lists."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str)

    __hash__ = str.__hash__


_ANY_STRING: Final = _AnyString()
_anything = msgspec.json.Decoder()


def typed_argument(text: str, name: str, schema: Mapping[str, Any]) -> Any:
    """The value of an argument: the text if the schema allows that string, else the JSON in it.

    A string is not converted where the schema allows it: such formats write the word ``null`` and the JSON ``null`` alike,
    and a conversion would change the word. JSON that the schema does not allow either replaces the text only where no string is
    allowed, so that the tool can reject it by its type.

    :param schema: the input schema of the tool.
    """
    properties = schema.get("properties")
    argument = properties.get(name) if isinstance(properties, Mapping) else None
    if _Types(schema).allow(argument, text):
        return text
    value = parsed_argument(text)
    if _Types(schema).allow(argument, value) or not _Types(schema).allow(argument, _ANY_STRING):
        return value
    return text


def parsed_argument(text: str) -> Any:
    """The JSON or Python literal in a text; the text if it is neither."""
    for read in (_anything.decode, lambda each: _anything.decode(each.lower()), python_value):
        try:
            return read(text.strip())
        except DECODE_ERRORS:
            continue
    return text


class _Types:
    """The types and listed values of a schema; what is inside of arrays and objects is not looked at.

    :ivar _verdicts: by reference, so that each is followed once.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._verdicts: dict[str, bool] = {}

    def allow(self, schema: Any, value: Any, depth: int = 0) -> bool:
        """Whether the schema allows a value; a schema that cannot be followed allows any."""
        if not isinstance(schema, Mapping):
            return schema is not False
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if isinstance(kinds, (list, tuple)) and kinds and not any(_is_of_type(kind, value) for kind in kinds):
            return False
        choices = schema.get("enum")
        if isinstance(choices, (list, tuple)) and not any(_is_same(value, each) for each in choices):
            return False
        if "const" in schema and not _is_same(value, schema["const"]):
            return False
        if depth >= _MAX_DEPTH:
            return True
        if isinstance(reference := schema.get("$ref"), str) and not self._allows_reference(reference, value, depth):
            return False
        for keyword, combine in (("allOf", all), ("anyOf", any), ("oneOf", any)):
            options = schema.get(keyword)
            if isinstance(options, (list, tuple)) and not combine(
                self.allow(each, value, depth + 1) for each in options
            ):
                return False
        return True

    def _allows_reference(self, reference: str, value: Any, depth: int) -> bool:
        if reference not in self._verdicts:
            self._verdicts[reference] = True  # of a reference to itself
            self._verdicts[reference] = self.allow(self._target(reference), value, depth + 1)
        return self._verdicts[reference]

    def _target(self, reference: str) -> Any:
        """The schema that a reference inside the root points to; ``None`` if there is none."""
        if not reference.startswith("#"):
            return None
        target: Any = self._root
        for part in filter(None, reference[1:].split("/")):
            key = part.replace("~1", "/").replace("~0", "~")
            target = target.get(key) if isinstance(target, Mapping) else None
        return target


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_of_type(kind: Any, value: Any) -> bool:
    """Whether a value has a type. A type that JSON Schema does not define, such as ``int``, excludes strings only."""
    is_of_type = _IS_OF_TYPE.get(kind) if isinstance(kind, str) else None
    return is_of_type(value) if is_of_type else not isinstance(value, str)


def _is_same(value: Any, listed: Any) -> bool:
    return bool(value == listed) and isinstance(value, bool) == isinstance(listed, bool)
