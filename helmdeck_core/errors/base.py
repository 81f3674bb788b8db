"""The base exception, and those of configuration, catalogs and plugins."""

from __future__ import annotations

import attrs


class HelmdeckError(Exception):
    """The base of every exception that Helmdeck raises on purpose."""


@attrs.frozen
class Mistake:
    """One mistake in a configuration or catalog: where it is, what was found, what is allowed.

    >>> from helmdeck_core import Mistake
    >>> str(Mistake("providers.acme.timeout_s", "not above 0", "-1", "a number above 0"))
    'providers.acme.timeout_s: not above 0, found -1; allowed: a number above 0'
    """

    where: str
    problem: str
    found: str = ""
    allowed: str = ""

    def __str__(self) -> str:
        found = f", found {self.found}" if self.found else ""
        allowed = f"; allowed: {self.allowed}" if self.allowed else ""
        return f"{self.where}: {self.problem}{found}{allowed}"


def _list_mistakes(head: str, mistakes: tuple[Mistake, ...]) -> str:
    if len(mistakes) == 1:
        return f"{head}: {mistakes[0]}"
    return "\n".join(
        [f"{head}: {len(mistakes)} mistakes", *(f"  {number}. {m}" for number, m in enumerate(mistakes, 1))]
    )


@attrs.frozen
class ConfigError(HelmdeckError):
    """The configuration has mistakes; every one that can be found is in ``mistakes``."""

    mistakes: tuple[Mistake, ...]

    def __str__(self) -> str:
        return _list_mistakes("the configuration cannot be used", self.mistakes)


@attrs.frozen
class CatalogError(HelmdeckError):
    """A catalog source cannot be read or does not have the shape of a catalog."""

    source: str
    mistakes: tuple[Mistake, ...]

    def __str__(self) -> str:
        return _list_mistakes(f"the catalog {self.source!r} cannot be used", self.mistakes)


@attrs.frozen
class PluginError(HelmdeckError):
    """A hook implementation or a contributed function raised, or returned what its contract forbids."""

    plugin: str
    hook: str
    detail: str
    distribution: str | None = None

    def __str__(self) -> str:
        return f"plugin {self.plugin!r}{_from(self.distribution)} failed in {self.hook}: {self.detail}; {_remedy(self.plugin)}"


@attrs.frozen
class PluginLoadError(PluginError):
    """A plugin cannot be imported or registered; ``hook`` holds the import target.

    ``remedy`` is what to do where disabling the plugin does not help.
    """

    remedy: str = ""

    def __str__(self) -> str:
        return (
            f"plugin {self.plugin!r}{_from(self.distribution)} cannot be loaded from {self.hook}: {self.detail}; "
            f"{self.remedy or _remedy(self.plugin)}"
        )


@attrs.frozen
class PluginConflictError(PluginError):
    """Two plugins claim one name; ``plugin`` and ``other`` are the two, ``value_name`` is the name of a contributed value."""

    other: str = ""
    value_name: str = ""

    def __str__(self) -> str:
        one = f"--disable-plugin {self.plugin}"
        remedy = (
            f"uninstall one of the two, or block both with {one}"
            if self.plugin == self.other
            else f"block one with {one} or --disable-plugin {self.other}"
        )
        return f"plugins {self.plugin!r} and {self.other!r} both claim {self.detail} in {self.hook}; {remedy}"


def _from(distribution: str | None) -> str:
    return f" (distribution {distribution})" if distribution else ""


def _remedy(plugin: str) -> str:
    return f"to disable it: --disable-plugin {plugin}, or HELMDECK_DISABLE_PLUGINS={plugin}"
