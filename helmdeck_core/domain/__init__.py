"""Frozen values that hooks, chains and callers exchange; no behaviour with an opinion."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

EMPTY: Mapping[str, Any] = MappingProxyType({})
"""The default of fields that are mappings: shared, and read-only."""


def present(**fields: Any) -> dict[str, Any]:
    """Return the fields that are set: neither ``None`` nor empty."""
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}
