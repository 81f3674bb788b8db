"""Merges the error rules of a wire format with those of plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_providers.http.failures import ErrorFields, ErrorRules


def combined_rules(rules: ErrorRules, *more: ErrorRules) -> ErrorRules:
    """Merge rule sets field by field; on conflict the earlier set wins.

    Mappings are merged, sequences are concatenated.
    """
    combined = rules
    for added in more:
        fields = [field.name for field in attrs.fields(ErrorRules) if field.name not in _OWN_FIELDS]
        combined = attrs.evolve(combined, **{name: _merged(combined, added, name) for name in fields})
    return combined


_OWN_FIELDS = ("name", "order", "providers")
"""Metadata of a rule set, not merged."""


def _merged(first: Any, second: Any, name: str) -> Any:
    before: Any = getattr(first, name)
    after: Any = getattr(second, name)
    if isinstance(before, ErrorFields):
        return attrs.evolve(
            before, **{each.name: _merged(before, after, each.name) for each in attrs.fields(ErrorFields)}
        )
    if isinstance(before, Mapping):
        return {**before, **after, **before}  # in the order of the sets, with the values of the first
    return (
        (*before, *after) if isinstance(before, (list, tuple)) else _first_non_default(type(first), name, before, after)
    )


def _first_non_default(cls: type, name: str, before: Any, after: Any) -> Any:
    """Return the first value that differs from the default."""
    return after if before == getattr(attrs.fields_dict(cls)[name], "default") else before
