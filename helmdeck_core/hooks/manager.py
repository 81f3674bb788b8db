"""Loads plugins: built-ins first, then entry points of the group ``helmdeck``; blocks, orders and lists them.

An installed plugin or a plugin file that cannot be loaded is left out with a warning that names it, unless it is required: an
override that is silently missing would give wrong results later. A built-in or an argument that cannot be loaded is an error.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import os
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import attrs
import pluggy

from helmdeck_core import hookspecs
from helmdeck_core.errors import PluginConflictError, PluginError, PluginLoadError
from helmdeck_core.hooks.builtins import builtin_commands, builtin_plugins
from helmdeck_core.hooks.compatibility import IncompatiblePlugin, refuse_incompatible
from helmdeck_core.hooks.foreign_code import LIMIT_S, PluginWarning, describe_error, run_foreign
from helmdeck_core.hooks.installed import may_have_plugins
from helmdeck_core.hooks.plugin_files import line_in, load_file, plugin_name
from helmdeck_core.hooks.required import missing_plugins
from helmdeck_core.suggestions import did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import Distribution

GROUP = "helmdeck"
ENTRY_POINT = "entry point"
FILE = "file"
"""The source of plugins that are single files."""
OPTIONAL = (ENTRY_POINT, FILE)
"""The sources of plugins that a deck works without."""

PREFIX = "helmdeck_"
_MARK = f"{GROUP}_impl"
_PLAIN = (FunctionType, MethodType)
_STUCK: set[str] = set()
"""Targets whose import hangs in this process: it holds the lock of the module, on which a second import would wait as well."""

_MARKED: weakref.WeakKeyDictionary[ModuleType, Mapping[str, Any]] = weakref.WeakKeyDictionary()
"""The hook implementations of modules that were registered before: every deck registers all built-in ones."""

MAX_REGISTERED = 16
_REGISTERED: dict[tuple[int, tuple[str, ...]], tuple[_PluginManager, tuple[PluginInfo, ...], Mapping[str, object]]] = {}
"""Managers in which only built-in plugins are registered, by the names of these: to register them takes half of a deck's construction."""

HOOKS = [name for module in hookspecs.MODULES for name in vars(module) if name.startswith(PREFIX)]


@attrs.frozen
class PluginInfo:
    """A plugin that is loaded, blocked, or cannot be loaded.

    :ivar source: ``built-in``, ``entry point``, ``file`` or ``argument``.
    :ivar target: the import target.
    :ivar distribution: name and version of the installed distribution, where there is one.
    :ivar hooks: the hooks that it implements.
    :ivar error: why it cannot be loaded; ``None`` for all other plugins.

    >>> from helmdeck_core import list_plugins
    >>> next(info for info in list_plugins().plugins.infos if info.name == "history").hooks
    ('helmdeck_histories', 'helmdeck_history_stores', 'helmdeck_packs')
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
    """All plugins in the order of registration: later ones answer lookups first and override built-ins.

    :ivar limit_s: seconds for each hook of a plugin that is not built in.
    :ivar required: names of plugins that are not left out if they fail.

    >>> from helmdeck_core import load_plugins
    >>> load_plugins(autoload=False).is_builtin("history")
    True
    """

    pm: pluggy.PluginManager
    infos: tuple[PluginInfo, ...]
    limit_s: float = LIMIT_S
    required: tuple[str, ...] = ()
    _distributions: Mapping[str, str | None] = attrs.field(init=False, eq=False, repr=False)
    _builtins: frozenset[str] = attrs.field(init=False, eq=False, repr=False)
    _optional: frozenset[str] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        infos = self.infos
        set_field = object.__setattr__  # the class is frozen
        set_field(self, "_distributions", {info.name: info.distribution for info in reversed(infos)})
        set_field(self, "_builtins", frozenset(info.name for info in infos if info.source == "built-in"))
        optional = (info.name for info in infos if info.source in OPTIONAL and info.is_loaded)
        set_field(self, "_optional", frozenset(optional))

    def distribution(self, name: str) -> str | None:
        """The distribution of a plugin."""
        return self._distributions.get(name)

    def names(self) -> tuple[str, ...]:
        """All names, including blocked plugins and, without autoload, installed ones."""
        loaded = [info.name for info in self.infos]
        return tuple(dict.fromkeys([*loaded, *(candidate.name for candidate in _entry_points())]))

    def is_optional(self, name: str) -> bool:
        """Whether a plugin is installed or a file, so that everything else works without it."""
        return name in self._optional

    def without(self, error: PluginError) -> Plugins:
        """Leave out the plugin of an error, with a warning.

        :raises PluginError: the error itself, if the plugin is required, built in, or an argument.
        """
        name = error.plugin
        if not self.is_optional(name) or name in self.required:
            raise error
        _warn(f"left out: {error}")
        self.pm.unregister(name=name)
        infos = (
            attrs.evolve(info, error=str(error)) if info.name == name and info.is_loaded else info
            for info in self.infos
        )
        return attrs.evolve(self, infos=tuple(infos))

    def is_builtin(self, name: str) -> bool:
        """Whether a plugin ships with the project."""
        return name in self._builtins


class _PluginManager(pluggy.PluginManager):
    parsed: set[str]

    def __init__(self, project_name: str) -> None:
        super().__init__(project_name)
        self._modules: dict[ModuleType, str | None] = {}

    def copy(self) -> _PluginManager:
        """Return a manager with the same plugins; what is registered with one of the two is unknown to the other."""
        other = _PluginManager(self.project_name)
        other._modules = dict(self._modules)
        other._name2plugin.update(self._name2plugin)
        for name, caller in vars(self.hook).items():
            duplicate = copy.copy(caller)
            duplicate._hookexec, duplicate._hookimpls = other._hookexec, caller.get_hookimpls()  # noqa: SLF001
            setattr(other.hook, name, duplicate)
        return other

    def register(self, plugin: object, name: str | None = None) -> str | None:
        """Register a plugin; a module is known by its marked functions."""
        if type(plugin) is not ModuleType:
            _refuse_unmarked(plugin, dir(plugin))
            return super().register(plugin, name)
        if (before := self._modules.setdefault(plugin, name)) is not name:
            raise ValueError(f"{plugin.__name__} is already registered as {before!r}")
        return super().register(_ModuleHooks(plugin), name)

    def parse_hookspec_opts(self, module_or_class: object, name: str) -> pluggy.HookspecOpts | None:
        # Reading an attribute of a module runs no code, so pluggy's safe look-ups are not needed.
        value = vars(module_or_class).get(name)
        options: pluggy.HookspecOpts | None = getattr(value, f"{GROUP}_spec", None) if type(value) in _PLAIN else None
        return options

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if isinstance(plugin, _ModuleHooks):
            options: pluggy.HookimplOpts | None = getattr(vars(plugin)[name], _MARK)
        else:
            options = super().parse_hookimpl_opts(plugin, name)
        if options is not None:
            self.parsed.add(options.get("specname") or name)
        return options


class _ModuleHooks:
    """The marked functions of a module: all that pluggy looks at. Its safe look-up of each attribute takes half of the start-up time."""

    def __init__(self, module: ModuleType) -> None:
        self.__dict__ = dict(_marked_functions(module))

    def __dir__(self) -> Iterable[str]:
        return self.__dict__


def _marked_functions(module: ModuleType) -> Mapping[str, Any]:
    """The hook implementations of a module by name; they are looked up once.

    :raises TypeError: a function looks like a hook, but is not marked.
    """
    known = _MARKED.get(module)
    if known is None:
        _refuse_unmarked(module, vars(module))
        known = _MARKED[module] = {
            name: each for name, each in vars(module).items() if type(each) in _PLAIN and hasattr(each, _MARK)
        }
    return known


@attrs.frozen(eq=False)
class _Candidate:
    name: str
    source: str
    target: str
    load: Any
    distribution: str | None = None
    installed: Distribution | None = None


def load_plugins(
    *,
    extra: Mapping[str, object] | None = None,
    files: Sequence[str | Path] = (),
    disable: Sequence[str] = (),
    first: Sequence[str] = (),
    autoload: bool = True,
    commands_only: bool = False,
    errors: list[PluginError] | None = None,
    required: Sequence[str] = (),
    limit_s: float = LIMIT_S,
) -> Plugins:
    """Load the built-ins, then the installed plugins by name, then files, then ``extra``.

    :param extra: plugin objects by name, for tests and applications.
    :param files: paths of plugins that are single files.
    :param disable: names that are not loaded; unknown names are ignored.
    :param first: names that take precedence over all others, highest precedence first.
    :param autoload: whether entry points are loaded.
    :param commands_only: load only those built-ins that contribute commands; importing the others takes most of the time.
    :param errors: a list that receives the errors of plugins that cannot be loaded. Without it, installed plugins and files are
        left out with a ``PluginWarning``, and the first error of another one is raised.
    :param required: names of installed plugins and files whose errors are raised, too.
    :param limit_s: seconds for the import of an installed plugin or file, and for each of its hooks.
    :raises PluginLoadError: a plugin cannot be imported, is written for another version, has a hook that does not exist, or is required
        and not installed, or disabled.
    :raises PluginConflictError: two plugins have one name.

    >>> from helmdeck_core import load_plugins
    >>> plugins = load_plugins(autoload=False, disable=["history"])
    >>> [info.is_blocked for info in plugins.infos if info.name == "history"]
    [True]
    """
    installed = _entry_points() if autoload else ()
    others = _arranged([*installed, *_files(files), *_extras(extra or {})], first)
    builtins, blocked = _builtins(commands_only), frozenset(disable)
    conflicts = _name_conflicts(candidate for candidate in (*builtins, *others) if candidate.name not in blocked)

    def register(pm: _PluginManager, c: _Candidate) -> PluginInfo:
        if c.name in blocked:
            return PluginInfo(c.name, c.source, c.target, c.distribution, is_blocked=True)
        try:
            if conflict := conflicts.get(c):
                raise conflict
            info = _register(pm, c, limit_s)
            if c.source == FILE and not info.hooks and errors is None:
                text = "add a function with the name of a hook, such as helmdeck_packs, marked with @hookimpl"
                _warn(f"plugin {c.name!r} implements no hook and changes nothing; {text}")
            return info
        except PluginError as exc:
            if errors is not None:
                errors.append(exc)
            elif c.source in OPTIONAL and c.name not in required:
                _warn(f"left out: {exc}")
            else:
                raise
            return PluginInfo(c.name, c.source, c.target, c.distribution, error=str(exc))

    pm, of_builtins = _with_builtins(builtins, blocked, register)
    infos = [*of_builtins, *(register(pm, candidate) for candidate in others)]
    for missing in missing_plugins(required, {info.name: info.is_blocked for info in infos}):
        if errors is None:
            raise missing
        errors.append(missing)
    return Plugins(pm, tuple(infos), limit_s, tuple(required))


def _warn(problem: str) -> None:
    warnings.warn(problem, PluginWarning, stacklevel=4)


@cache
def _builtins(commands_only: bool) -> tuple[_Candidate, ...]:
    table = builtin_commands() if commands_only else builtin_plugins()
    return tuple(
        _Candidate(name, "built-in", target, lambda target=target: importlib.import_module(target))
        for name, target in table.items()
    )


def _with_builtins(
    builtins: Sequence[_Candidate],
    blocked: frozenset[str],
    register: Callable[[_PluginManager, _Candidate], PluginInfo],
) -> tuple[_PluginManager, tuple[PluginInfo, ...]]:
    """A manager in which the built-in plugins are registered: a copy of an earlier one, unless a module was imported anew."""
    allowed = [candidate for candidate in builtins if candidate.name not in blocked]
    key = (len(builtins), tuple(candidate.name for candidate in allowed))
    if (known := _REGISTERED.get(key)) is not None:
        pm, infos, modules = known
        if all(sys.modules.get(target) is module for target, module in modules.items()):
            return pm.copy(), infos
    pm = _PluginManager(GROUP)
    for module in hookspecs.MODULES:
        pm.add_hookspecs(module)
    infos = tuple(register(pm, candidate) for candidate in builtins)
    if all(info.error is None for info in infos):
        if len(_REGISTERED) >= MAX_REGISTERED:
            _REGISTERED.clear()
        modules = {candidate.target: sys.modules.get(candidate.target) for candidate in allowed}
        _REGISTERED[key] = (pm.copy(), infos, modules)
    return pm, infos


def _entry_points() -> Sequence[_Candidate]:
    return _entry_points_on(tuple((path, _modified(path)) for path in sys.path))


def _modified(path: str) -> int:
    """When a folder or archive of the import path was last modified; installing and removing distributions modifies folders."""
    try:
        return os.stat(path or ".").st_mtime_ns  # noqa: PTH116  # for each deck and folder
    except OSError:
        return 0


@lru_cache(maxsize=8)
def _entry_points_on(path: tuple[tuple[str, int], ...]) -> Sequence[_Candidate]:
    """The installed plugins on an import path in its present state: reading the metadata of all distributions takes 10 to 20 ms."""
    if not may_have_plugins([folder for folder, _ in path], GROUP):
        return ()
    from importlib.metadata import entry_points

    found = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        dist = f"{point.dist.name} {point.dist.version}" if point.dist else None
        found.append(_Candidate(point.name, ENTRY_POINT, point.value, point.load, dist, point.dist))
    # A distribution may be on the path twice: a checkout and its installed copy.
    return tuple({(c.name, c.target, c.distribution): c for c in reversed(found)}.values())[::-1]


def _files(paths: Sequence[str | Path]) -> list[_Candidate]:
    files = [Path(path).expanduser() for path in paths]
    return [
        _Candidate(plugin_name(path), FILE, str(path), lambda path=path: load_file(path))
        for path in dict.fromkeys(files)
    ]


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


def _register(pm: _PluginManager, c: _Candidate, limit_s: float) -> PluginInfo:
    try:
        if c.installed is not None:
            refuse_incompatible(c.installed)
        plugin = _imported(c, limit_s) if c.source in OPTIONAL else c.load()
        pm.parsed = set()
        pm.register(plugin, c.name)
        _refuse_unknown_hooks(sorted(pm.parsed))
    except KeyboardInterrupt as exc:
        if c.source in OPTIONAL:  # its import may hang
            exc.add_note(f"plugin {c.name!r} was being imported; --disable-plugin {c.name} blocks it")
        raise
    except BaseException as exc:  # an import may raise anything, SystemExit included; the error names the plugin
        if pm.has_plugin(c.name):
            pm.unregister(name=c.name)
        if isinstance(exc, IncompatiblePlugin):
            raise PluginLoadError(c.name, c.target, str(exc), c.distribution) from None
        if c.source == FILE and not Path(c.target).exists():
            raise PluginLoadError(c.name, c.target, "the file does not exist") from None
        line = line_in(Path(c.target), exc) if c.source == FILE else None
        where = f" (line {line})" if line is not None and not isinstance(exc, SyntaxError) else ""
        raise PluginLoadError(c.name, c.target, f"{describe_error(exc)}{where}", c.distribution) from exc
    return PluginInfo(c.name, c.source, c.target, c.distribution, tuple(sorted(pm.parsed)))


def _imported(c: _Candidate, limit_s: float) -> Any:
    if c.target in _STUCK:
        raise TimeoutError("its import hangs")
    try:
        return run_foreign(c.load, limit_s)
    except TimeoutError:
        _STUCK.add(c.target)
        raise


def _refuse_unmarked(plugin: object, names: Iterable[str]) -> None:
    for name in names:
        if not name.startswith(PREFIX):
            continue
        function = getattr(plugin, name)
        if not hasattr(function, _MARK) and inspect.isroutine(function):
            raise TypeError(f"{name} looks like a hook but is not marked with @hookimpl")


def _refuse_unknown_hooks(names: Iterable[str]) -> None:
    for name in names:
        if name not in HOOKS:
            raise TypeError(f"there is no hook {name}{did_you_mean(name, HOOKS)}")
