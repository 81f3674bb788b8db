"""Bounds the lists and strings of a schema, for a model that repeated itself instead of ending its response.

Under constrained decoding, a model stops where the grammar allows it, and one that repeats an item or a word never takes that way out.
With a maximum for every list and string, the grammar ends the response in its place.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, Final

import attrs

from helmdeck_core.domain.constraints import SchemaForm, SchemaOffer

LEAST_CHARS: Final = 40
"""Characters of a string in any case: names and addresses are rarely longer."""

ITEM_CHARS: Final = 64
"""Characters of an item of a list with its keys, where the room decides how many there are."""

_FIXED_STRINGS: Final = frozenset(("enum", "const", "pattern", "format"))
_COMBINED: Final = ("anyOf", "oneOf", "allOf", "prefixItems")


@attrs.frozen
class Bounds:
    """The largest bounds.

    :ivar items: items of a list.
    :ivar chars: characters of a string.
    """

    items: int
    chars: int


def bounded_offer(offer: SchemaOffer, room: int, bounds: Bounds) -> SchemaOffer:
    """Return an offer whose schemas are bounded as by ``bounded_schema``; they are built on first use."""
    forms = [attrs.evolve(form, make=functools.partial(_bounded_form, form, room, bounds)) for form in offer.forms]
    return attrs.evolve(offer, forms=tuple(forms), is_bounded=True)


def _bounded_form(form: SchemaForm, room: int, bounds: Bounds) -> Mapping[str, Any] | None:
    return None if form.schema is None else bounded_schema(form.schema, room, bounds)


def bounded_schema(schema: Mapping[str, Any], room: int, bounds: Bounds) -> Mapping[str, Any]:
    """Return a schema with a low maximum for every list and string; what it allows, the schema allows as well.

    Each property of an object gets an equal part of the room, and so does each item of a list.

    :param room: characters of the whole response.
    """
    return _Walk(bounds).whole(schema, room)


class _Walk:
    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._referred: dict[str, int] = {}

    def whole(self, schema: Mapping[str, Any], room: int) -> dict[str, Any]:
        found = self._of(schema, room)
        for key in ("$defs", "definitions"):
            if isinstance(schema.get(key), Mapping):
                found[key] = self._definitions(key, schema[key], room)
        return found

    def _definitions(self, key: str, definitions: Mapping[str, Any], room: int) -> dict[str, Any]:
        """The definitions, each with the room of the first place that refers to it."""
        found = dict(definitions)
        left = [*definitions]
        while left:
            name = next((each for each in left if f"#/{key}/{each}" in self._referred), left[0])
            left.remove(name)
            found[name] = self._any(definitions[name], self._referred.get(f"#/{key}/{name}", room))
        return found

    def _any(self, schema: Any, room: int) -> Any:
        return self._of(schema, room) if isinstance(schema, Mapping) else schema

    def _of(self, schema: Mapping[str, Any], room: int) -> dict[str, Any]:
        found = dict(schema)
        if isinstance(reference := schema.get("$ref"), str):
            self._referred.setdefault(reference, room)
        kinds = schema.get("type")
        kinds = {kinds} if isinstance(kinds, str) else {*kinds} if isinstance(kinds, (list, tuple)) else set[str]()
        if "string" in kinds and not _FIXED_STRINGS & schema.keys():
            longest = max(min(self._bounds.chars, max(LEAST_CHARS, room)), _number(schema.get("minLength")))
            found["maxLength"] = min(longest, _number(schema.get("maxLength", longest)))
        if "array" in kinds or "items" in schema:
            most = max(1, min(self._bounds.items, room // ITEM_CHARS), _number(schema.get("minItems")))
            found["maxItems"] = most = min(most, _number(schema.get("maxItems", most)))
            found["items"] = self._any(schema.get("items", {}), room // max(1, most))
        if isinstance(properties := schema.get("properties"), Mapping):
            part = (room - sum(map(len, properties))) // max(1, len(properties))
            found["properties"] = {name: self._any(each, part) for name, each in properties.items()}
        for key in _COMBINED:
            if isinstance(schema.get(key), (list, tuple)):
                found[key] = [self._any(each, room) for each in schema[key]]
        return found


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
