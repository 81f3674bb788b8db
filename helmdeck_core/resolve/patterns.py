"""Checks the regular expressions that plugins contribute, so that a malformed one names its plugin at start-up."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from helmdeck_core.hooks.calls import Contribution
from helmdeck_core.hooks.manager import Plugins

T = TypeVar("T")


def checked_patterns(
    found: Iterable[Contribution[T]], plugins: Plugins, patterns: Callable[[T], Iterable[str]]
) -> tuple[T, ...]:
    """Return the contributed values after their patterns were compiled.

    Patterns of built-ins are covered by tests and compiled at their first use.

    :param patterns: takes a value; its regular expressions.
    :raises PluginError: a pattern is malformed, or matches the empty string.
    """
    for owned in found:
        for pattern in () if plugins.is_builtin(owned.plugin) else patterns(owned.value):
            if problem := _problem(pattern):
                label = f"{type(owned.value).__name__} {getattr(owned.value, 'name', '?')!r}"
                raise owned.fault(f"{label}: {problem}")
    return tuple(owned.value for owned in found)


def _problem(pattern: str) -> str:
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as exc:
        return f"the pattern {pattern!r} is not a regular expression: {exc}"
    return f"the pattern {pattern!r} matches the empty string" if compiled.match("") else ""
