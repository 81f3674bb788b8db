"""The usable part of a configuration with mistakes, so that one check also finds the mistakes of the other parts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import attrs

from helmdeck_core import Config, ConfigError, LoadedConfig, Mistake, PluginError, Plugins, Runtime, is_catalog_file
from helmdeck_core import resolve_runtime as resolve

MAX_ROUNDS = 8
"""Rounds of removing what has mistakes; one is enough unless a mistake hides another one of the same table."""

_KEY = re.compile(r"""(?P<table>\w+)(?:\.(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<name>[^.\s]+)))?""")


def resolve_usable(
    plugins: Plugins, loaded: LoadedConfig, errors: list[PluginError]
) -> tuple[Runtime | None, list[Mistake]]:
    """Resolve a configuration without the parts that have mistakes.

    :param errors: receives the errors of plugins.
    :returns: the runtime, ``None`` where the mistakes leave none, and every mistake that resolving finds.
    :raises PluginError: see ``resolve_runtime``.
    """
    mistakes: list[Mistake] = []
    for _ in range(MAX_ROUNDS):
        found: list[PluginError] = []
        try:
            runtime = resolve(plugins, loaded, errors=found)
        except ConfigError as exc:
            mistakes += [each for each in exc.mistakes if each not in mistakes]
            usable = without_mistakes(loaded, exc.mistakes)
            if usable == loaded:
                break
            loaded = usable
        else:
            errors += found
            return runtime, mistakes
    return None, mistakes


def without_mistakes(loaded: LoadedConfig, mistakes: Iterable[Mistake]) -> LoadedConfig:
    """Return a configuration with defaults in place of the tables and keys that mistakes are about."""
    config = loaded.config
    for mistake in mistakes:
        if match := _KEY.match(mistake.where.rpartition(": ")[2]):
            config = _without(config, match["table"], match["quoted"] or match["name"] or "")
    return attrs.evolve(loaded, config=config, mistakes=())


def _without(config: Config, table: str, name: str) -> Config:
    changes: dict[str, Any] = {}
    if table in ("providers", "fallback", "budgets"):
        changes[table] = {key: each for key, each in getattr(config, table).items() if key != name}
    elif table == "catalog" and name == "sources":
        files = tuple(filter(is_catalog_file, config.catalog.sources))
        changes[table] = attrs.evolve(config.catalog, sources=files)
    elif hasattr(config, table):
        changes[table] = getattr(Config(), table)
    return attrs.evolve(config, **changes)
