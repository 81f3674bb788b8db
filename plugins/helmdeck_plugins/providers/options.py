"""Reads ``[providers.NAME.options]`` into the options class of a wire format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import attrs

from helmdeck_core import ProviderSettings
from helmdeck_provider_kit import refused_setting

_Options = TypeVar("_Options", bound=attrs.AttrsInstance)


def read_options(cls: type[_Options], settings: ProviderSettings) -> _Options:
    """Read the options of a deployment, which override those of its preset.

    :param cls: an attrs class whose fields have defaults of type str, bool, int, tuple of str, or mapping of str to str.
    :raises InvalidRequest: an unknown option, or a value of the wrong type.
    """
    read: dict[str, Any] = {}
    kinds = {field.name: type(field.default) for field in attrs.fields(cls)}
    for name, value in settings.options.items():
        if name not in kinds:
            raise refused_setting(settings, f"options.{name}", f"unknown option; allowed: {', '.join(kinds)}")
        if kinds[name] is str:
            if not isinstance(value, str) or not value:
                raise refused_setting(settings, f"options.{name}", "not a non-empty string")
            read[name] = value
        elif kinds[name] is bool:
            if not isinstance(value, bool):
                raise refused_setting(settings, f"options.{name}", "not a boolean")
            read[name] = value
        elif kinds[name] is int:
            if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
                raise refused_setting(settings, f"options.{name}", "not a positive integer")
            read[name] = value
        elif issubclass(kinds[name], Mapping):
            if not isinstance(value, Mapping) or not all(isinstance(item, str) for item in value.values()):
                raise refused_setting(settings, f"options.{name}", "not a table of strings")
            read[name] = dict(value)
        else:
            if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
                raise refused_setting(settings, f"options.{name}", "not a list of strings")
            read[name] = tuple(value)
    return cls(**read)


def one_of(settings: ProviderSettings, name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return the value if it is allowed.

    :raises InvalidRequest: it is not allowed.
    """
    if value not in allowed:
        # Some users put the key itself into ``auth``, so that value is not repeated.
        found = "unknown value (not shown)" if name == "auth" else f"found {value!r}"
        raise refused_setting(settings, f"options.{name}", f"{found}; allowed: {', '.join(map(repr, allowed))}")
    return value
