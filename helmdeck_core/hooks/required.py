"""The errors of required plugins that are not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from helmdeck_core.errors import PluginLoadError

KEY: Final = "[plugins] required"


def missing_plugins(required: Iterable[str], is_blocked: Mapping[str, bool]) -> Iterator[PluginLoadError]:
    """The error of each required plugin that is not installed, or blocked: to disable it is no remedy.

    :param is_blocked: all plugins by name.
    """
    for name in dict.fromkeys(required):
        if name not in is_blocked:
            detail, remedy = "it is not installed", "install it"
        elif is_blocked[name]:
            detail, remedy = "it is disabled", "enable it"
        else:
            continue
        yield PluginLoadError(name, KEY, detail, remedy=f"{remedy}, or remove it from {KEY}")
