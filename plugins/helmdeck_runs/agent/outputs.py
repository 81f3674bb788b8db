"""Outputs of steps as bounded text for the next plan. They are data: encoded as JSON, shortened, never a message of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

MAX_CHARS = 1_400
"""Characters of one output in a plan's prompt."""

MAX_FAILURE_CHARS = 600
_SIZES = ((400, 12), (120, 6), (40, 3))
"""Characters of a string and items of a list, tried in order."""


def output_text(output: Any) -> str:
    """Return an output as compact JSON of at most ``MAX_CHARS`` characters; long strings and lists are shortened first."""
    text = ""
    for chars, items in _SIZES:
        text = msgspec.json.encode(_shortened(output, chars, items, 8)).decode()
        if len(text) <= MAX_CHARS:
            return text
    return f"{text[:MAX_CHARS]}…"


def failure_text(failure: Mapping[str, Any]) -> str:
    """Return a failure as one bounded line: its cause and its message."""
    message = " ".join(str(failure.get("message", "")).split())
    return f"{failure.get('cause') or failure.get('code') or 'failed'}: {message}"[:MAX_FAILURE_CHARS]


def _shortened(value: Any, chars: int, items: int, levels: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= chars else f"{value[:chars]}… ({len(value):,} characters)"
    if levels == 0 and isinstance(value, (Mapping, list, tuple)):
        return "…"
    if isinstance(value, Mapping):
        kept = {
            str(key)[:80]: _shortened(each, chars, items, levels - 1) for key, each in list(value.items())[: 4 * items]
        }
        return kept if len(value) <= 4 * items else {**kept, "…": f"{len(value) - 4 * items} more"}
    if isinstance(value, (list, tuple)):
        shown = [_shortened(each, chars, items, levels - 1) for each in value[:items]]
        return shown if len(value) <= items else [*shown, f"… {len(value) - items} more"]
    return value
