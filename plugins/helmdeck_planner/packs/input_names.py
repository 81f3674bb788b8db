"""The names of the inputs of a catalog, to report defaults that no entry takes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from helmdeck_core import Catalog, did_you_mean
from helmdeck_planner.packs.arguments import inputs_of


def unused_defaults(names: Iterable[str], catalog: Catalog) -> tuple[str, ...]:
    """Return a notice for each default that no entry of the catalog has an input for.

    There is none for a catalog without declared inputs, or with an entry that explicitly takes inputs of any name.

    :param names: the names of the caller's defaults.
    """
    known = input_names(catalog) if names else frozenset()
    return tuple(
        f"the default {name!r} has no effect: no entry of the catalog has an input of this name"
        f"{did_you_mean(name, sorted(known))}"
        for name in names
        if known and name not in known
    )


@functools.lru_cache(8)
def input_names(catalog: Catalog) -> frozenset[str]:
    """Return the names of all inputs and of the properties in them; none where an entry takes inputs of any name."""
    schemas = [entry.input_schema or {} for entry in catalog.entries]
    if any(schema.get("additionalProperties") or schema.get("patternProperties") for schema in schemas):
        return frozenset()
    return frozenset((*(name for entry in catalog.entries for name in inputs_of(entry)), *_property_names(schemas)))


def _property_names(schemas: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The names of the properties at any depth; a schema may be nested more deeply than a function may recurse."""
    pending: list[Any] = list(schemas)
    while pending:
        each = pending.pop()
        if isinstance(each, Mapping):
            if isinstance(properties := each.get("properties"), Mapping):
                yield from properties
            pending += each.values()
        elif isinstance(each, list):
            pending += each
