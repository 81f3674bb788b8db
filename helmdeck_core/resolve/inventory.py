"""Lists the plugins of a deployment and what they contribute, failed plugins included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core.config.load import LoadedConfig
from helmdeck_core.config.types import PluginsConfig
from helmdeck_core.errors import PluginError
from helmdeck_core.hooks.calls import Contribution, implementations
from helmdeck_core.hooks.contributions import collect_all
from helmdeck_core.hooks.manager import Plugins, load_plugins


@attrs.frozen
class PluginInventory:
    """The plugins of a deployment and what they contribute.

    :ivar plugins: the plugins in the order of registration, with the reason for those that cannot be loaded.
    :ivar contributions: the values that take effect, by hook.
    :ivar errors: the errors of plugins that cannot be loaded or whose contributions fail.

    >>> from helmdeck_core import list_plugins
    >>> len(list_plugins().contributions["helmdeck_rankers"]) > 1
    True
    """

    plugins: Plugins
    contributions: Mapping[str, tuple[Contribution[Any], ...]]
    errors: tuple[PluginError, ...]

    def implementations(self, hook: str) -> tuple[str, ...]:
        """The plugins that implement a hook, in the order of registration."""
        return implementations(self.plugins, hook)


def value_name(value: object) -> str:
    """The name of a contributed value.

    >>> from helmdeck_core import InstructionPattern, value_name
    >>> value_name(InstructionPattern(name="ignore", pattern="ignore all rules", reason="it gives an order"))
    'ignore'
    """
    return str(getattr(value, "name"))


def list_plugins(loaded: LoadedConfig | None = None) -> PluginInventory:
    """Load plugins and collect their contributions. Failed plugins do not raise.

    :param loaded: the configuration, which chooses the plugins; without it, the built-ins.

    >>> from helmdeck_core import list_plugins
    >>> [info.source for info in list_plugins().plugins.infos if info.name == "history"]
    ['built-in']
    """
    errors: list[PluginError] = []
    settings = loaded.config.plugins if loaded else PluginsConfig(autoload=False)
    plugins = load_plugins(
        files=settings.files,
        disable=settings.disable,
        first=settings.first,
        autoload=settings.autoload,
        errors=errors,
        required=settings.required,
        limit_s=settings.load_timeout_s,
    )
    return PluginInventory(plugins, collect_all(plugins, errors), tuple(errors))
