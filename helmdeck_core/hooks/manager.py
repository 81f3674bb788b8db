"""Loads plugins: built-ins first, then entry points of the group ``helmdeck``; blocks, orders and lists them.

A plugin that cannot be loaded is an error at start-up: a silently missing override would give wrong results later. Only
commands that report on plugins continue without it.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType, MethodType, ModuleType
from typing import Any

import attrs
import pluggy

from helmdeck_core import hookspecs
from helmdeck_core.errors import PluginConflictError, PluginError, PluginLoadError
from helmdeck_core.hooks.builtins import builtin_commands, builtin_plugins
from helmdeck_core.suggestions import did_you_mean

GROUP = "helmdeck"
PREFIX = "helmdeck_"
HOOKS = [name for module in hookspecs.MODULES for name in vars(module) if name.startswith(PREFIX)]


@attrs.frozen
class PluginInfo:
    """A plugin that is loaded, blocked, or cannot be loaded.

    :ivar source: ``built-in``, ``entry point`` or ``argument``.
    :ivar target: the import target.
    :ivar distribution: name and version of the installed distribution, where there is one.
    :ivar hooks: the hooks that it implements.
    :ivar error: why it cannot be loaded; ``None`` for all other plugins.
    """

    name: str
    source: str
    target: str
    distribution: str | None = None
    hooks: tuple[str, ...] = ()
    is_blocked: bool = False
    error: str | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether it is neither blocked nor failed to load."""
        return not self.is_blocked and self.error is None


@attrs.frozen
class Plugins:
    """All plugins in the order of registration: later ones answer lookups first and override built-ins."""

    pm: pluggy.PluginManager
    infos: tuple[PluginInfo, ...]

    def distribution(self, name: str) -> str | None:
        """The distribution of a plugin."""
        return next((info.distribution for info in self.infos if info.name == name), None)

    def names(self) -> tuple[str, ...]:
        """All names, including blocked plugins and, without autoload, installed ones."""
        loaded = [info.name for info in self.infos]
        return tuple(dict.fromkeys([*loaded, *(candidate.name for candidate in _entry_points())]))

    def is_builtin(self, name: str) -> bool:
        """Whether a plugin ships with the project."""
        return any(info.name == name and info.source == "built-in" for info in self.infos)


class _PluginManager(pluggy.PluginManager):
    parsed: set[str]

    def parse_hookspec_opts(self, module_or_class: object, name: str) -> pluggy.HookspecOpts | None:
        options: pluggy.HookspecOpts | None = _marked(module_or_class, name, f"{GROUP}_spec")
        return options

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if type(plugin) is ModuleType:
            options: pluggy.HookimplOpts | None = _marked(plugin, name, f"{GROUP}_impl")
        else:
            options = super().parse_hookimpl_opts(plugin, name)
        if options is not None:
            self.parsed.add(options.get("specname") or name)
        return options


def _marked(module: object, name: str, mark: str) -> Any:
    """The options of a marked function of a module.

    Reading a module attribute runs no code, so pluggy's safe lookups are not needed; they take half of the start-up time.
    """
    value = vars(module).get(name)
    return getattr(value, mark, None) if type(value) in (FunctionType, MethodType) else None


@attrs.frozen(eq=False)
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
    commands_only: bool = False,
    errors: list[PluginError] | None = None,
) -> Plugins:
    """Load the built-ins, then the installed plugins by name, then ``extra``.

    :param extra: plugin objects by name, for tests and applications.
    :param disable: names that are not loaded; unknown names are ignored.
    :param first: names that take precedence over all others, highest precedence first.
    :param autoload: whether entry points are loaded.
    :param commands_only: load only those built-ins that contribute commands; importing the others takes most of the time.
    :param errors: a list that receives the errors of plugins that cannot be loaded, instead of raising the first one.
    :raises PluginLoadError: a plugin cannot be imported, or has a hook that does not exist.
    :raises PluginConflictError: two plugins have one name.
    """
    installed = _entry_points() if autoload else []
    candidates = [*_builtins(commands_only), *_arranged([*installed, *_extras(extra or {})], first)]
    blocked = set(disable)
    pm = _PluginManager(GROUP)
    for module in hookspecs.MODULES:
        pm.add_hookspecs(module)
    infos: list[PluginInfo] = []
    conflicts = _name_conflicts(candidate for candidate in candidates if candidate.name not in blocked)
    for c in candidates:
        if c.name in blocked:
            infos.append(PluginInfo(c.name, c.source, c.target, c.distribution, is_blocked=True))
            continue
        try:
            if conflict := conflicts.get(c):
                raise conflict
            infos.append(_register(pm, c))
        except PluginError as exc:
            if errors is None:
                raise
            errors.append(exc)
            infos.append(PluginInfo(c.name, c.source, c.target, c.distribution, error=str(exc)))
    return Plugins(pm, tuple(infos))


def _builtins(commands_only: bool) -> list[_Candidate]:
    table = builtin_commands() if commands_only else builtin_plugins()
    return [
        _Candidate(name, "built-in", target, lambda target=target: importlib.import_module(target))
        for name, target in table.items()
    ]


def _entry_points() -> list[_Candidate]:
    # Imported here, since it takes 10 to 20 ms with hundreds of distributions.
    from importlib.metadata import entry_points

    found = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        dist = f"{point.dist.name} {point.dist.version}" if point.dist else None
        found.append(_Candidate(point.name, "entry point", point.value, point.load, dist))
    # A distribution may be on the path twice: a checkout and its installed copy.
    return list({(c.name, c.target, c.distribution): c for c in reversed(found)}.values())[::-1]


def _extras(extra: Mapping[str, object]) -> list[_Candidate]:
    return [
        _Candidate(name, "argument", _described(plugin), lambda plugin=plugin: plugin) for name, plugin in extra.items()
    ]


def _described(plugin: object) -> str:
    return plugin.__name__ if inspect.ismodule(plugin) else f"{type(plugin).__module__}.{type(plugin).__qualname__}"


def _arranged(candidates: list[_Candidate], first: Sequence[str]) -> list[_Candidate]:
    """Sort the plugins in ``first`` last, highest precedence at the end: pluggy calls the latest registration first."""
    rank = {name: -position for position, name in enumerate(first, 1)}
    lowest = -len(first) - 1
    return sorted(candidates, key=lambda c: rank.get(c.name, lowest))


def _name_conflicts(candidates: Iterable[_Candidate]) -> dict[_Candidate, PluginConflictError]:
    """Candidates whose name is taken by an earlier one, each with its error."""
    seen: dict[str, _Candidate] = {}
    conflicts = {}
    for candidate in candidates:
        other = seen.setdefault(candidate.name, candidate)
        if other is not candidate:
            owner = candidate.distribution or candidate.target
            conflicts[candidate] = PluginConflictError(
                candidate.name,
                f"the plugin names ({other.distribution or other.target}, {owner})",
                f"the name {candidate.name!r}",
                candidate.distribution,
                other.name,
            )
    return conflicts


def _register(pm: _PluginManager, c: _Candidate) -> PluginInfo:
    try:
        plugin, pm.parsed = c.load(), set()
        _refuse_unmarked(plugin)
        pm.register(plugin, c.name)
        _refuse_unknown_hooks(sorted(pm.parsed))
    except KeyboardInterrupt as exc:
        exc.add_note(f"plugin {c.name!r} was being imported; --disable-plugin {c.name} blocks it")
        raise
    except BaseException as exc:  # an import may raise anything, SystemExit included; the error names the plugin
        if pm.has_plugin(c.name):
            pm.unregister(name=c.name)
        raise PluginLoadError(c.name, c.target, f"{type(exc).__name__}: {exc}", c.distribution) from exc
    return PluginInfo(c.name, c.source, c.target, c.distribution, tuple(sorted(pm.parsed)))


def _refuse_unmarked(plugin: object) -> None:
    for name in dir(plugin):
        if not name.startswith(PREFIX):
            continue
        function = getattr(plugin, name)
        if not hasattr(function, f"{GROUP}_impl") and inspect.isroutine(function):
            raise TypeError(f"{name} looks like a hook but is not marked with @hookimpl")


def _refuse_unknown_hooks(names: Iterable[str]) -> None:
    for name in names:
        if name not in HOOKS:
            raise TypeError(f"there is no hook {name}{did_you_mean(name, HOOKS)}")
