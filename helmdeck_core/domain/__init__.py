"""Frozen values that hooks, chains and callers exchange; no behaviour with an opinion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class _Empty(dict[str, Any]):
    """An empty mapping that cannot be filled, and that values with it can be copied and pickled with."""

    def __reduce__(self) -> str:
        return "EMPTY"

    def _refuse(self, *_: object, **__: object) -> Any:
        raise TypeError("the default of a field cannot be changed")

    __setitem__ = __ior__ = setdefault = update = _refuse


EMPTY: Mapping[str, Any] = _Empty()
"""The default of fields that are mappings: shared, and read-only."""


def present(**fields: Any) -> dict[str, Any]:
    """Return the fields that are set: neither ``None`` nor empty."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}
