"""Checks of regular expressions that plugins contribute."""

from __future__ import annotations

import re


def pattern_problem(*patterns: str) -> str:
    """Return what is wrong with the first unusable pattern; the empty string if all of them can be used."""
    for pattern in patterns:
        try:
            compiled = re.compile(pattern, re.IGNORECASE)
        except (re.error, OverflowError, RecursionError) as exc:
            return f"the pattern {pattern!r} is not a regular expression: {exc}"
        if compiled.match(""):
            return f"the pattern {pattern!r} matches the empty string"
    return ""
