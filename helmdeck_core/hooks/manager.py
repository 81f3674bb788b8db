"""Loads plugins: built-ins first, then entry points of the group ``helmdeck``; blocks, orders and lists them.

A plugin that cannot load stops start-up: an override that is silently missing is a wrong answer later.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import pluggy

from helmdeck_core import hookspecs
from helmdeck_core.errors import PluginConflictError, PluginLoadError

GROUP = "helmdeck"
BUILTINS_PACKAGE = "helmdeck_plugins"
PREFIX = "helmdeck_"


@attrs.frozen
class PluginInfo:
    """A plugin that is loaded, or blocked.

    :ivar source: ``built-in``, ``entry point`` or ``argument``.
    :ivar target: what was imported.
    :ivar distribution: name and version of the installed distribution, where there is one.
    :ivar hooks: the hooks that it implements.
    """

    name: str
    source: str
    target: str
    distribution: str | None = None
    hooks: tuple[str, ...] = ()
    is_blocked: bool = False


@attrs.frozen
class Plugins:
    """What was loaded, in the order of registration: later ones answer look-ups first and override built-ins."""

    pm: pluggy.PluginManager
    infos: tuple[PluginInfo, ...]

    def distribution(self, name: str) -> str | None:
        """The distribution that a plugin came with."""
        return next((info.distribution for info in self.infos if info.name == name), None)

    def names(self) -> tuple[str, ...]:
        """Every name that exists, blocked or not; without autoload, those that could have been loaded too."""
        loaded = [info.name for info in self.infos]
        return tuple(dict.fromkeys([*loaded, *(candidate.name for candidate in _entry_points())]))

    def is_builtin(self, name: str) -> bool:
        """Whether a plugin ships with the project."""
        return any(info.name == name and info.source == "built-in" for info in self.infos)


class _PluginManager(pluggy.PluginManager):
    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if not inspect.ismodule(plugin):
            return super().parse_hookimpl_opts(plugin, name)
        # Reading an attribute of a module runs no code, so that pluggy's careful look-up, half of the start-up, is not needed.
        value = vars(plugin).get(name)
        return getattr(value, f"{GROUP}_impl", None) if callable(value) and inspect.isroutine(value) else None


@attrs.frozen
class _Candidate:
    name: str
    source: str
    target: str
    load: Any
    distribution: str | None = None


def load_plugins(
    *,
    extra: Mapping[str, object] | None = None,
    disable: Sequence[str] = (),
    first: Sequence[str] = (),
    autoload: bool = True,
) -> Plugins:
    """Load the built-ins, then the installed plugins by name, then ``extra``.

    :param extra: plugin objects by name, for tests and for applications that bring their own.
    :param disable: names that are not loaded; whether they exist is for the configuration to check.
    :param first: names that answer before all others, the most important one first.
    :param autoload: whether entry points are looked for.
    :raises PluginLoadError: a plugin cannot be imported, or has a hook that does not exist.
    :raises PluginConflictError: two plugins have one name.
    """
    installed = _entry_points() if autoload else []
    candidates = [*_builtins(), *_arranged([*installed, *_extras(extra or {})], first)]
    blocked = set(disable)
    _refuse_double_names(candidate for candidate in candidates if candidate.name not in blocked)
    pm = _PluginManager(GROUP)
    pm.add_hookspecs(hookspecs)
    infos = [
        PluginInfo(c.name, c.source, c.target, c.distribution, is_blocked=True)
        if c.name in blocked
        else _register(pm, c)
        for c in candidates
    ]
    return Plugins(pm, tuple(infos))


def _builtins() -> list[_Candidate]:
    table: dict[str, str] = importlib.import_module(BUILTINS_PACKAGE).BUILTINS
    return [
        _Candidate(name, "built-in", target, lambda target=target: importlib.import_module(target))
        for name, target in table.items()
    ]


def _entry_points() -> list[_Candidate]:
    # Costs 10 to 20 ms among some hundred distributions, so it happens here and not on import.
    from importlib.metadata import entry_points

    found = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        dist = f"{point.dist.name} {point.dist.version}" if point.dist else None
        found.append(_Candidate(point.name, "entry point", point.value, point.load, dist))
    # One distribution on two places of the path (a checkout and its installed copy) is one claim, not two.
    return list({(c.name, c.target, c.distribution): c for c in reversed(found)}.values())[::-1]


def _extras(extra: Mapping[str, object]) -> list[_Candidate]:
    return [
        _Candidate(name, "argument", _described(plugin), lambda plugin=plugin: plugin) for name, plugin in extra.items()
    ]


def _described(plugin: object) -> str:
    return plugin.__name__ if inspect.ismodule(plugin) else f"{type(plugin).__module__}.{type(plugin).__qualname__}"


def _arranged(candidates: list[_Candidate], first: Sequence[str]) -> list[_Candidate]:
    """Put the ones named ``first`` last, most important at the very end: pluggy asks the latest registration first."""
    rank = {name: -position for position, name in enumerate(first, 1)}
    lowest = -len(first) - 1
    return sorted(candidates, key=lambda c: rank.get(c.name, lowest))


def _refuse_double_names(candidates: Iterable[_Candidate]) -> None:
    seen: dict[str, _Candidate] = {}
    for candidate in candidates:
        other = seen.setdefault(candidate.name, candidate)
        if other is not candidate:
            owner = candidate.distribution or candidate.target
            raise PluginConflictError(
                candidate.name,
                f"the plugin names ({other.distribution or other.target}, {owner})",
                f"the name {candidate.name!r}",
                candidate.distribution,
                other.name,
            )


def _register(pm: pluggy.PluginManager, candidate: _Candidate) -> PluginInfo:
    try:
        plugin = candidate.load()
        _refuse_unmarked(plugin)
        pm.register(plugin, candidate.name)
        _refuse_unknown_hooks(pm, plugin)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as exc:  # whatever an import does, SystemExit included, must be named and not take us down
        detail = f"{type(exc).__name__}: {exc}"
        raise PluginLoadError(candidate.name, candidate.target, detail, candidate.distribution) from exc
    hooks = tuple(sorted(caller.name for caller in pm.get_hookcallers(plugin) or ()))
    return PluginInfo(candidate.name, candidate.source, candidate.target, candidate.distribution, hooks)


def _refuse_unmarked(plugin: object) -> None:
    for name in dir(plugin):
        if not name.startswith(PREFIX):
            continue
        function = getattr(plugin, name)
        if inspect.isroutine(function) and not hasattr(function, f"{GROUP}_impl"):
            raise TypeError(f"{name} looks like a hook but is not marked with @hookimpl")


def _refuse_unknown_hooks(pm: pluggy.PluginManager, plugin: object) -> None:
    known = [name for name in vars(hookspecs) if name.startswith(PREFIX)]
    for caller in pm.get_hookcallers(plugin) or ():
        if not caller.has_spec():
            import difflib

            close = difflib.get_close_matches(caller.name, known, n=1)
            meant = f"; did you mean {close[0]}?" if close else ""
            raise TypeError(f"there is no hook {caller.name}{meant}")
