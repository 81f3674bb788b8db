"""The catalog of a deck over time: opens sources, and replaces the catalog as a whole when one of them changes."""

from __future__ import annotations

import contextlib
import functools
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from helmdeck_core.context.catalog_sources import load_catalog
from helmdeck_core.context.library import Library
from helmdeck_core.domain.catalog import Catalog, CatalogSource, OpenSource, SourceSettings
from helmdeck_core.domain.events import CatalogSourceFailed
from helmdeck_core.domain.providers import ProviderSettings
from helmdeck_core.errors import ConfigError, Mistake
from helmdeck_core.hooks.foreign_code import describe_error
from helmdeck_core.redaction import quoted
from helmdeck_core.resolve.runtime import Runtime


class LiveCatalog:
    """The sources of one deck and the current version of its catalog; thread-safe.

    :param settings: returns the settings of a provider by name.
    :ivar library: the current version; a request uses the version that it started with.
    :ivar opened: the opened sources by name.
    """

    def __init__(self, runtime: Runtime, settings: Callable[[str], ProviderSettings]) -> None:
        self._runtime = runtime
        self._settings = settings
        self._lock = threading.RLock()
        self._catalogs: dict[str, Catalog] = {}  # by opened source; the others together come first
        self._is_loaded = False
        self.opened: dict[str, OpenSource] = {}
        config, specs = runtime.config.catalog, runtime.contributed(CatalogSource)
        named = (name for name in config.sources if name in specs and specs[name].value.open)
        self._options: dict[str, Mapping[str, Any]] = {name: {} for name in named}
        if config.mcp:
            self._options["mcp"] = config.mcp
        self.library: Library = Library(runtime, self._load, settings, is_slow=bool(self._options))
        weakref.finalize(self, _close, self.opened)  # at the end of the process

    def owner(self, entry_id: str) -> OpenSource | None:
        """Return the open source of an entry; ``None`` if it has none."""
        names = (name for name, catalog in self._catalogs.items() if catalog.get(entry_id) is not None)
        return self.opened.get(next(names, ""))

    def close(self) -> None:
        """Close the opened sources; the next use of the catalog opens them again."""
        _close(self.opened)  # without the lock, since a source may report a change meanwhile
        with self._lock:
            if self._options:
                self._is_loaded, self.library = False, Library(self._runtime, self._load, self._settings, is_slow=True)

    def open_sources(self) -> dict[str, OpenSource]:
        """Open every source, which starts nothing.

        :raises ConfigError: with every mistake of their options.
        :raises PluginError: one failed.
        """
        opened: dict[str, OpenSource] = {}
        mistakes: list[Mistake] = []
        for name, options in self._options.items():
            spec = self._runtime.contributed(CatalogSource)[name]
            callbacks = functools.partial(self._change, name), functools.partial(self._warn, name)
            try:
                if spec.value.open is not None:
                    opened[name] = spec.value.open(SourceSettings(name, options, self._runtime.folder, *callbacks))
            except ConfigError as exc:
                mistakes += exc.mistakes
            except Exception as exc:
                raise spec.fault(f"catalog source {name!r} cannot be opened: {quoted(describe_error(exc))}") from None
        if mistakes:
            raise ConfigError(tuple(mistakes))
        return opened

    def _load(self) -> Catalog:
        with self._lock:
            self._catalogs = {"": load_catalog(self._runtime)}
            _close(self.opened)  # if an earlier load was interrupted
            self.opened.update(self.open_sources())
        for name, source in self.opened.items():
            try:
                loaded = source.load()
            except Exception as exc:
                loaded = Catalog()
                self._warn(name, quoted(describe_error(exc)))
            self._catalogs.setdefault(name, loaded)  # it may have changed meanwhile
        with self._lock:
            self._is_loaded = True  # a change from now on is another version
            return self._merged()

    def _merged(self) -> Catalog:
        """All entries; those of an opened source never replace others."""
        return functools.reduce(lambda merged, catalog: catalog.merged(merged), self._catalogs.values(), Catalog())

    def _change(self, name: str, catalog: Catalog) -> None:
        with self._lock:
            self._catalogs[name] = catalog
            if self._is_loaded:
                self.library = Library(
                    self._runtime, functools.partial(Catalog, self._merged().entries), self._settings
                )

    def _warn(self, name: str, problem: str) -> None:
        self._runtime.emit(CatalogSourceFailed(source=name, detail=problem))


def _close(opened: dict[str, OpenSource]) -> None:
    while opened:
        with contextlib.suppress(Exception):
            opened.popitem()[1].close()
