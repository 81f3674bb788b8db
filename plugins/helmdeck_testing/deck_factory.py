"""Creates decks and distributions for tests, without pytest."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helmdeck_core import Helmdeck, ProviderSettings, builtin_plugins

DEFAULTS: Mapping[tuple[str, ...], Any] = {
    # A scripted model that fails is a failure, and not a plan of another planner.
    ("packs", "options", "helmdeck", "embedded_fallback"): False
}
"""Settings of the decks of tests; ``config`` precedes them."""


def make_deck(
    *plugins: object,
    config: Mapping[str, Any] | None = None,
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    autoload: bool = False,
    **options: Any,
) -> Helmdeck:
    """Return a deck of the built-ins and ``plugins``; installed plugins, files and environment variables are ignored.

    :param config: the configuration as nested mappings, as parsed from TOML.
    :param file: a configuration file instead.
    :param options: more arguments of ``Helmdeck``.
    """
    overrides = {**DEFAULTS, **dict(_leaves(config or {}))}
    named = {_name(plugin, number): plugin for number, plugin in enumerate(plugins, 1)}
    return Helmdeck(
        # The null device is an empty TOML file; with it no parent folder is searched.
        file=file or "/dev/null",
        plugins=named,
        overrides=overrides,
        environ=environ or {},
        autoload=autoload if file is None else None,
        **options,
    )


def unless_built_in(plugin: object) -> tuple[object, ...]:
    """Return the plugin for ``make_deck``; nothing for one that every deck has already."""
    return () if getattr(plugin, "__name__", "") in builtin_plugins().values() else (plugin,)


def provider_settings(name: str, **fields: Any) -> ProviderSettings:
    """Return the settings that a deck gives to a provider, for tests that open a provider themselves.

    :param name: of the provider.
    :param fields: of ``ProviderSettings``; without ``open_transport``, it gets the default transport.

    >>> from helmdeck_testing import provider_settings
    >>> provider_settings("acme", base_url="https://api.example.org/v1").base_url
    'https://api.example.org/v1'
    """
    fields.setdefault("open_transport", functools.partial(_deck().runtime.transports.open, name))
    return ProviderSettings(name=name, **fields)


@functools.cache
def _deck() -> Helmdeck:
    return make_deck()


def _name(plugin: object, number: int) -> str:
    if isinstance(plugin, type):
        raise TypeError(f"pass an instance of {plugin.__name__}, not the class")
    given = getattr(plugin, "__name__", None) or type(plugin).__name__
    return f"{given.rpartition('.')[2].lower()}-{number}"


def _leaves(table: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterable[tuple[tuple[str, ...], Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


def write_distribution(
    folder: Path,
    name: str,
    entry_points: Mapping[str, str],
    modules: Mapping[str, str],
    version: str = "1.0",
    *,
    requires: Sequence[str] = (),
) -> Path:
    """Write modules and metadata with entry points into ``folder``, as ``pip install`` would.

    :param entry_points: plugin name to import target.
    :param modules: module name to source text.
    :param requires: requirements, such as ``helmdeck>=0.2,<0.3``.
    :returns: ``folder``, for ``sys.path``.

    >>> from pathlib import Path
    >>> from helmdeck_testing import write_distribution
    >>> write_distribution(Path("site"), "acme", {"acme": "helmdeck_acme"}, {"helmdeck_acme": ""}).name
    'site'
    """
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requires]
    (info / "METADATA").write_text("\n".join(metadata) + "\n", encoding="utf-8")
    lines = [f"{plugin} = {target}" for plugin, target in entry_points.items()]
    (info / "entry_points.txt").write_text("[helmdeck]\n" + "\n".join(lines) + "\n", encoding="utf-8")
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source, encoding="utf-8")
    return folder
