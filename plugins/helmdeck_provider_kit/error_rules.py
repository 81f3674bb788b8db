"""Combines the error rules of a wire format with those that plugins add."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_provider_kit.failures import ErrorRules


def combined_rules(rules: ErrorRules, *more: ErrorRules) -> ErrorRules:
    """Return all rules as one set; where two of them conflict, the earlier one wins.

    Tables are merged and sequences concatenated, field by field.
    """
    combined = rules
    for added in more:
        fields = [field.name for field in attrs.fields(ErrorRules) if field.name not in _OWN_FIELDS]
        combined = attrs.evolve(combined, **{name: _merged(combined, added, name) for name in fields})
    return combined


_OWN_FIELDS = ("name", "order", "providers")
"""They describe one set and are not rules."""


def _merged(first: ErrorRules, second: ErrorRules, name: str) -> Any:
    before, after = getattr(first, name), getattr(second, name)
    if isinstance(before, Mapping):
        return {**before, **after, **before}  # in the order of the sets, with the values of the first
    return (*before, *after) if isinstance(before, (list, tuple)) else before or after
