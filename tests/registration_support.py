"""Registers each built-in plugin and each hook specification once per process; later plugin managers share the results.

The suite makes thousands of decks, and registering the same modules took half of the time of each.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import attrs
import pluggy

from helmdeck_core.hooks import manager
from helmdeck_core.hooks.manager import PluginInfo

_specify: Callable[..., None] = pluggy.PluginManager.add_hookspecs
_register: Callable[..., PluginInfo] = manager._register


@attrs.frozen
class _Registered:
    """A registered built-in plugin."""

    names: dict[str, Any]
    info: PluginInfo
    implementations: tuple[tuple[str, Any], ...]


_specified: dict[types.ModuleType, dict[str, Any]] = {}
_registered: dict[str, _Registered] = {}


def install() -> None:
    """Share registrations from now on. Plugins that are not built in are registered for each deck."""
    manager._register = _register_once
    manager._PluginManager.add_hookspecs = _specify_once  # type: ignore[method-assign]


def _specify_once(pm: pluggy.PluginManager, module: types.ModuleType) -> None:
    if module not in _specified:
        template = pluggy.PluginManager(manager.GROUP)
        _specify(template, module)
        _specified[module] = vars(template.hook)
    for name, caller in _specified[module].items():
        own = copy.copy(caller)
        own._hookimpls, own._hookexec = [], pm._hookexec
        setattr(pm.hook, name, own)


def _register_once(pm: pluggy.PluginManager, candidate: Any) -> PluginInfo:
    if candidate.source != "built-in":
        return _register(pm, candidate)
    plugin, known = candidate.load(), _registered.get(candidate.target)
    # A test may have changed the module.
    if known is None or known.names != vars(plugin):
        info = _register(pm, candidate)
        found = [(name, impl) for name in info.hooks for impl in getattr(pm.hook, name).get_hookimpls()]
        own = tuple((name, impl) for name, impl in found if impl.plugin is plugin)
        _registered[candidate.target] = _Registered(dict(vars(plugin)), info, own)
        return info
    pm._name2plugin[candidate.name] = plugin
    for name, impl in known.implementations:
        getattr(pm.hook, name)._add_hookimpl(impl)
    return known.info
