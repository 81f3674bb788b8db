"""Frozen values that hooks, chains and callers exchange; no behaviour with an opinion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class _Empty(Mapping[str, Any]):
    """An empty mapping that values can be copied and pickled with."""

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"

    def __reduce__(self) -> tuple[Callable[[], Mapping[str, Any]], tuple[()]]:
        return _empty, ()


def _empty() -> Mapping[str, Any]:
    return EMPTY


EMPTY: Mapping[str, Any] = _Empty()
"""The default of fields that are mappings: shared, and read-only."""


def present(**fields: Any) -> dict[str, Any]:
    """Return the fields that are set: neither ``None`` nor empty."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}
