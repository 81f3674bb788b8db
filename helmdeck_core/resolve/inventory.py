"""Lists the plugins of a deployment and what they contribute, failed plugins included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from helmdeck_core.config.load import LoadedConfig
from helmdeck_core.errors import PluginError
from helmdeck_core.hooks import docs
from helmdeck_core.hooks.calls import Contribution, implementations
from helmdeck_core.hooks.contributions import collect_all
from helmdeck_core.hooks.manager import Plugins, load_plugins


@attrs.frozen
class HookUse:
    """One hook, the plugins that implement it, and the values that take effect.

    :ivar implementations: the plugins that implement the hook, in the order of registration. For a look-up, the last one is
        called first.
    :ivar contributions: the values that take effect, in their order; empty for a look-up.
    """

    hook: docs.HookDoc
    implementations: tuple[str, ...]
    contributions: tuple[Contribution[Any], ...]

    def to_dict(self) -> dict[str, Any]:
        """The hook as plain data."""
        values = [
            {"name": value_name(contribution.value), "plugin": contribution.plugin, "replaces": contribution.replaced}
            for contribution in self.contributions
        ]
        return {**self.hook.to_dict(), "implementations": list(self.implementations), "contributions": values}


@attrs.frozen
class PluginInventory:
    """The plugins of a deployment and what they contribute.

    :ivar plugins: the plugins in the order of registration, with the reason for those that cannot be loaded.
    :ivar contributions: the values that take effect, by hook.
    :ivar errors: the errors of plugins that cannot be loaded or whose contributions fail.
    """

    plugins: Plugins
    contributions: Mapping[str, tuple[Contribution[Any], ...]]
    errors: tuple[PluginError, ...]

    def hooks(self) -> tuple[HookUse, ...]:
        """Every hook with its implementations, in the order of their specifications."""
        return tuple(
            HookUse(hook, implementations(self.plugins, hook.name), self.contributions.get(hook.name, ()))
            for hook in docs.hooks()
        )


def value_name(value: object) -> str:
    """The name of a contributed value."""
    return str(getattr(value, "name"))


def list_plugins(loaded: LoadedConfig) -> PluginInventory:
    """Load the plugins that a configuration allows and collect their contributions. Failed plugins do not raise."""
    settings = loaded.config.plugins
    errors: list[PluginError] = []
    plugins = load_plugins(disable=settings.disable, first=settings.first, autoload=settings.autoload, errors=errors)
    contributions = collect_all(plugins, errors)
    return PluginInventory(plugins, contributions, tuple(errors))


def hooks_page() -> str:
    """The page ``hookspecs.md``: every hook with its built-in implementations, independent of installed plugins."""
    plugins = load_plugins(autoload=False)
    contributions = collect_all(plugins)
    names: dict[str, dict[str, list[str]]] = {
        hook.name: {plugin: [] for plugin in implementations(plugins, hook.name)} for hook in docs.hooks()
    }
    for hook, values in contributions.items():
        for contribution in values:
            names[hook][contribution.plugin].append(value_name(contribution.value))
    return docs.render(names)
