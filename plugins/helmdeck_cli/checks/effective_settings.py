"""The effective settings of a configuration with their sources, without secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from helmdeck_core import (
    NOT_SHOWN,
    Config,
    LoadedConfig,
    SecretRef,
    dotted,
    is_hidden,
    shown_url,
    speaks_of_secrets,
)

KeyPath = tuple[str, ...]

_PLUGIN_TABLES = ("gateway", "cache", "chains")
"""Tables that a plugin reads, and that may contain a key where a reference to it belongs."""


@attrs.frozen
class Setting:
    """One setting.

    :ivar key: the key as TOML writes it, such as ``selection.ranker``.
    :ivar value: the value as plain data; a secret is its reference, and a value that may hold one is redacted.
    :ivar source: the file, environment variable or option that set it, or ``default``.
    """

    key: str
    value: Any
    source: str


def effective_settings(loaded: LoadedConfig) -> tuple[Setting, ...]:
    """Every setting of a configuration. Keys of a provider, budget or tier are included only if they are set.

    >>> from helmdeck_cli import effective_settings
    >>> from helmdeck_core import load_config
    >>> settings = effective_settings(load_config(environ={"HELMDECK_MODEL": "acme/large"}))
    >>> [setting for setting in settings if setting.key == "model"]
    [Setting(key='model', value='acme/large', source='environment HELMDECK_MODEL')]
    """
    return tuple(
        Setting(dotted(path), value, _source(loaded.origins, path)) for path, value in _values(loaded.config, ())
    )


def missing_secrets(config: Config) -> tuple[str, ...]:
    """The references to secrets that cannot be read, one message each."""
    messages = []
    for name, reference in ((name, each.api_key) for name, one in config.providers.items() for each in one.by_route):
        if reference is not None and reference.read() is None:
            is_variable = reference.kind == "env"
            problem = "the environment variable is not set" if is_variable else "the file cannot be read or is empty"
            messages.append(f"providers.{name}.api_key: {reference}: {problem}")
    return tuple(dict.fromkeys(messages))


def _values(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    if attrs.has(type(value)) and not isinstance(value, SecretRef):
        is_nested = len(path) > 1  # a provider, a budget, a tier
        for field in attrs.fields(type(value)):
            each = getattr(value, field.name)
            is_unset = each is None or (isinstance(each, Mapping) and not each)
            if not (is_nested and (is_unset or (path[0] == "providers" and each == ()))):
                yield from _values(each, (*path, field.name))
    elif isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from _values(each, (*path, str(key)))
    elif isinstance(value, Mapping):
        yield path, {}
    elif path[-1] == "routes" and isinstance(value, tuple):
        for index, each in enumerate(value):
            yield from _values(each, (*path, str(index)))
    else:
        yield path, _redacted(value, path)


def _redacted(value: Any, path: KeyPath) -> Any:
    if is_hidden(path) and value is not None and not isinstance(value, SecretRef):
        return NOT_SHOWN
    if isinstance(value, tuple):
        return [_redacted(each, path) for each in value]
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    if path[0] in _PLUGIN_TABLES and speaks_of_secrets(path[-1]) and not str(value).startswith(("env:", "file:")):
        return NOT_SHOWN
    is_url = path[-1] in ("base_url", "url") or "://" in str(value)
    return shown_url(str(value)) if is_url else str(value)


def _source(origins: Mapping[KeyPath, str], path: KeyPath) -> str:
    has_tiers = path[0] in ("compaction", "selection")  # the name of a tier is case-insensitive
    for key, origin in origins.items():
        if key == path or (has_tiers and [k.upper() for k in key] == [k.upper() for k in path]):
            return origin
    return next((origin for key, origin in origins.items() if path[: len(key)] == key), "default")
