"""Checks contributed data at start-up, so that a mistake in it names its plugin."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeVar

from helmdeck_core.hooks.calls import Contribution
from helmdeck_core.hooks.manager import Plugins

T = TypeVar("T")
V = TypeVar("V")


class Checked(Protocol):
    """A contributed value that knows what is wrong with it."""

    @property
    def name(self) -> str:
        """By what it can be replaced."""
        ...

    @property
    def problem(self) -> str:
        """Why it cannot be used; empty where it can."""
        ...


C = TypeVar("C", bound=Checked)


def values_by_name(
    found: Iterable[Contribution[C]], defaults: Mapping[str, V], value: Callable[[C], V]
) -> Mapping[str, V]:
    """Return the contributed values by name.

    :param defaults: what holds where no plugin contributes a value.
    :raises PluginError: a value cannot be used.
    """
    for owned in found:
        if problem := owned.value.problem:
            raise owned.fault(f"{type(owned.value).__name__} {owned.value.name!r}: {problem}")
    return {**defaults, **{owned.value.name: value(owned.value) for owned in found}}


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


def one_pattern(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """One pattern for all; ``None`` for none."""
    found = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(found) if found else None


def _problem(pattern: str) -> str:
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as exc:
        return f"the pattern {pattern!r} is not a regular expression: {exc}"
    return f"the pattern {pattern!r} matches the empty string" if compiled.match("") else ""
