"""The checks of ``helmdeck doctor`` that need no network: versions, extras, plugins, configuration, keys."""

from __future__ import annotations

import platform
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from helmdeck_cli.checks.findings import Finding, fail, ok, warn
from helmdeck_core import PluginLoadError, __version__
from helmdeck_selection import CatalogWarning

if TYPE_CHECKING:
    from helmdeck_cli.checks.configured_providers import ConfiguredProvider
    from helmdeck_core import LoadedConfig, PluginError, PluginInfo, PluginInventory

DISTRIBUTION = "helmdeck"
EMBEDDED = "local/"
"""Models that run in this process."""
OWN_EXTRAS = {"dev", "docs", "release"}
"""Extras for the development of Helmdeck."""
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+).*;.*extra\s*==\s*['\"]([^'\"]+)['\"]")


def check_installation() -> Iterator[Finding]:
    """Versions, and the optional dependencies by extra."""
    yield ok("version", DISTRIBUTION, f"{__version__} on Python {platform.python_version()}, {platform.system()}")
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        yield warn(
            "extra", DISTRIBUTION, "the distribution is not installed", "install it with pip, also for a checkout"
        )
        return
    extras: dict[str, list[str]] = {}
    for match in filter(None, map(_REQUIREMENT.match, requirements)):
        extras.setdefault(match[2], []).append(match[1])
    installed, others = [], []
    for extra in sorted(extras.keys() - OWN_EXTRAS):
        missing = [name for name in extras[extra] if not _is_installed(name)]
        if not missing:
            installed.append(extra)
        else:  # of an extra that is installed in part, what is missing
            others.append(f"{extra} (without {', '.join(missing)})" if len(missing) < len(extras[extra]) else extra)
    yield ok("extra", "installed", ", ".join(installed) or "none")
    if others:
        yield ok("extra", "optional", f"{', '.join(others)}: pip install '{DISTRIBUTION}[NAME]'")


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def check_plugins(inventory: PluginInventory) -> Iterator[Finding]:
    """Which plugins cannot be loaded, or fail."""
    infos = inventory.plugins.infos
    blocked = [info.name for info in infos if info.is_blocked]
    loaded = sum(info.is_loaded for info in infos)
    installed = [info.name for info in infos if info.is_loaded and info.source != "built-in"]
    texts = [f"{loaded} loaded"]
    texts += [f"installed: {', '.join(installed)}"] if installed else []
    texts += [f"blocked: {', '.join(blocked)}"] if blocked else []
    yield ok("plugins", "all", "; ".join(texts))
    for info in infos:
        if info.is_loaded and info.source != "built-in" and not info.hooks:
            text = "it is loaded and implements no hook, so that it changes nothing"
            yield warn(
                "plugins",
                info.name,
                text,
                "add a function with the name of a hook, marked with @hookimpl; `helmdeck hooks` lists them",
            )
    for error in inventory.errors:
        origin = f" of {error.distribution}" if error.distribution else ""
        how = "cannot be loaded from" if isinstance(error, PluginLoadError) else "failed in"
        remedy = f"{_repair(error, infos)}, or continue without it: --disable-plugin {error.plugin}"
        if isinstance(error, PluginLoadError) and error.remedy:
            remedy = error.remedy
        yield fail("plugins", error.plugin, f"plugin{origin} {how} {error.hook}: {error.detail}", remedy)


def _repair(error: PluginError, infos: Iterable[PluginInfo]) -> str:
    if all(info.source != "file" for info in infos if info.name == error.plugin):
        return "update or reinstall it"
    is_missing = isinstance(error, PluginLoadError) and not Path(error.hook).exists()
    return "correct plugins.files in the configuration" if is_missing else "correct the file"


def check_configuration(loaded: LoadedConfig) -> Iterator[Finding]:
    """Every mistake of the configuration, its plugins' settings and its catalog."""
    from helmdeck_cli.checks.configuration import check_config

    subject = loaded.file.name if loaded.file else "no file"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CatalogWarning)
        report = check_config(loaded)
    mistakes = [mistake for mistake in report.mistakes if mistake.where != "plugins"]  # these are reported as plugins
    for mistake in mistakes:
        found = f", found {mistake.found}" if mistake.found else ""
        remedy = (
            f"allowed: {mistake.allowed}" if mistake.allowed else "correct it; `helmdeck config check` checks it again"
        )
        yield fail("configuration", subject, f"{mistake.where}: {mistake.problem}{found}", remedy)
    for each in caught:
        yield warn("catalog", subject, str(each.message), "correct the catalog file")
    if not mistakes:
        entries = f", {report.catalog_entries} catalog entries" if report.catalog_entries else ""
        yield ok("configuration", str(loaded.file or "no file"), f"valid; model {loaded.config.model}{entries}")


def check_keys(providers: Sequence[ConfiguredProvider]) -> Iterator[Finding]:
    """Whether the API key of each provider can be read; keys are never shown."""
    for provider, route in ((each, route) for each in providers for route in each.each):
        if not route.key:
            yield ok("key", route.label, "none is needed or configured")
        elif not route.key_problem:
            yield ok("key", route.label, f"present ({route.key})")
        else:
            finding = fail if provider.is_default and provider.key_problem else warn
            remedy = f"set {route.key.removeprefix('env:')}, or providers.{provider.name}.api_key"
            yield finding("key", route.label, f"missing: {route.key_problem.partition(';')[0]}", remedy)


def check_default_model(model: str) -> Iterator[Finding]:
    """A note that no model was called, since a server that lists a model may still return nothing usable."""
    if not model.startswith(EMBEDDED):
        text = f"not called: `helmdeck doctor --model {model}` sends a few requests and shows what it can do"
        yield ok("model", model, text)
