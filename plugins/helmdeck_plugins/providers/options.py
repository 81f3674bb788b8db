"""Reads the options of ``[providers.NAME.options]`` into the values of an adapter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import attrs

from helmdeck_core import ProviderSettings
from helmdeck_provider_kit import refused_setting

_Options = TypeVar("_Options", bound=attrs.AttrsInstance)


def read_options(cls: type[_Options], settings: ProviderSettings) -> _Options:
    """Read the options of a deployment, which stand over those of its preset.

    :param cls: a class of attrs whose fields have defaults: texts, switches, whole numbers, tuples of texts, or tables of
        texts by name.
    :raises InvalidRequest: an option that does not exist, or a value of the wrong type.
    """
    read: dict[str, Any] = {}
    kinds = {field.name: type(field.default) for field in attrs.fields(cls)}
    for name, value in settings.options.items():
        if name not in kinds:
            raise refused_setting(settings, f"options.{name}", f"there is no such option; allowed: {', '.join(kinds)}")
        if kinds[name] is str:
            if not isinstance(value, str) or not value:
                raise refused_setting(settings, f"options.{name}", "not a text")
            read[name] = value
        elif kinds[name] is bool:
            if not isinstance(value, bool):
                raise refused_setting(settings, f"options.{name}", "not true or false")
            read[name] = value
        elif kinds[name] is int:
            if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
                raise refused_setting(settings, f"options.{name}", "not a whole number above 0")
            read[name] = value
        elif issubclass(kinds[name], Mapping):
            if not isinstance(value, Mapping) or not all(isinstance(item, str) for item in value.values()):
                raise refused_setting(settings, f"options.{name}", "not a table of texts")
            read[name] = dict(value)
        else:
            if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
                raise refused_setting(settings, f"options.{name}", "not a list of texts")
            read[name] = tuple(value)
    return cls(**read)


def one_of(settings: ProviderSettings, name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return the value if it is allowed.

    :raises InvalidRequest: it is not.
    """
    if value not in allowed:
        # Where one can say how to authorise, some give the key.
        found = "that is none" if name == "auth" else f"found {value!r}"
        raise refused_setting(settings, f"options.{name}", f"{found}; allowed: {', '.join(map(repr, allowed))}")
    return value
