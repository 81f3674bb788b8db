"""Finds the built-in plugins: each capability package has a module ``plugin`` with the tables ``PLUGINS`` and ``COMMANDS``.

The packages are listed in the core and not found by entry points, so that a checkout with stale metadata works, their
order is fixed, and nothing is scanned to find what is shipped.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from helmdeck_core.packages import CAPABILITIES


@cache
def builtin_commands() -> dict[str, str]:
    """Names and modules of the plugins that contribute commands."""
    return _tables("COMMANDS")


@cache
def builtin_plugins() -> dict[str, str]:
    """Names and modules of all built-in plugins; those with commands come last.

    >>> from helmdeck_core import builtin_plugins
    >>> builtin_plugins()["guards"]
    'helmdeck_guards.kinds'
    """
    return {**_tables("PLUGINS"), **builtin_commands()}


def _tables(name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for package in CAPABILITIES:
        try:
            table = import_module(f"{package}.plugin")
        except ModuleNotFoundError as exc:
            if exc.name != package:
                raise
            continue  # the package is not installed
        found.update(getattr(table, name, {}))
    return found
