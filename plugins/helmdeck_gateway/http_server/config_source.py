"""Reads the configuration of a gateway, at its start and again when a file of it has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helmdeck_cli import provider_mistakes, with_source
from helmdeck_core import ConfigError, Helmdeck, LoadedConfig, Mistake, Runtime, load_catalog
from helmdeck_gateway.calls.aliases import read_aliases
from helmdeck_gateway.calls.targets import alias_mistakes
from helmdeck_gateway.settings import GatewaySettings
from helmdeck_storage import driver_mistakes

if TYPE_CHECKING:
    from helmdeck_gateway.app import Gateway

Stamp = tuple[tuple[str, int, int, int], ...]
"""Path, time of modification in nanoseconds, size in bytes and inode of each file; zeros for a file that is missing."""

NEEDS_RESTART = (
    "host", "port", "workers", "store", "max_stored_responses", "stored_days", "header_s", "keep_alive_s",
)  # fmt: skip
"""Settings that take effect at the next start."""


class ConfigSource:
    """The configuration of one command line.

    :param read: reads it, with all layers; its mistakes are in the result.
    :param adapt: changes the settings, such as by the options of a command line.
    :ivar loaded: what was read last, also if it cannot be used.
    :ivar loaded_stamp: the stamp of its files at that time.
    """

    def __init__(
        self, read: Callable[[], LoadedConfig], adapt: Callable[[GatewaySettings], GatewaySettings] = lambda each: each
    ) -> None:
        self._read = read
        self._adapt = adapt
        self.loaded: LoadedConfig = read()
        self.loaded_stamp: Stamp = self.stamp()

    def _load(self) -> None:
        # A file that changes while it is read keeps its former stamp, and is read again.
        before = {stamp[0]: stamp for stamp in self.stamp()}
        self.loaded = self._read()
        self.loaded_stamp = tuple(before.get(stamp[0], stamp) for stamp in self.stamp())

    def open(self) -> tuple[Helmdeck, GatewaySettings]:
        """Return a new deck and the settings of the gateway for ``loaded``; the caller closes the deck.

        :raises ConfigError: with every mistake of both.
        :raises PluginError: a plugin cannot be loaded.
        """
        options, origins = self.loaded.config.gateway, self.loaded.origins
        try:
            deck = Helmdeck(self.loaded)
        except ConfigError as exc:
            own = (with_source(origins, each) for each in _settings_mistakes(options))
            raise ConfigError((*exc.mistakes, *own)) from None
        if mistakes := gateway_mistakes(deck.runtime):
            deck.close()
            raise ConfigError(tuple(with_source(origins, each) for each in mistakes))
        return deck, self._adapt(GatewaySettings.read(options))

    async def build(self, old: Gateway) -> Gateway:
        """Return a gateway for the configuration as it is now, which replaces ``old``.

        :raises HelmdeckError: it cannot be used; a ``ConfigError`` has every mistake.
        """
        return await asyncio.to_thread(self._rebuild, old)

    def _rebuild(self, old: Gateway) -> Gateway:
        self._load()
        deck, settings = self.open()
        try:
            # What a start finds out at the first request would be too late here, where a good configuration is in use.
            load_catalog(deck.runtime)
            if mistakes := provider_mistakes(deck.runtime):
                raise ConfigError(tuple(mistakes))
            return old.successor(deck, settings)
        except BaseException:
            deck.close()
            raise

    def needs_restart(self, old: Gateway, new: Gateway) -> Iterator[str]:
        """Yield a message for each changed setting that a reload cannot change."""
        for name in NEEDS_RESTART:
            before, after = getattr(old.settings, name), getattr(new.settings, name)
            if before != after:
                yield f"gateway.{name} has changed; restart the gateway for it to take effect"

    def stamp(self) -> Stamp:
        """Return what changes with the files of the configuration: the file itself, catalogs, pipelines and keys."""
        return tuple(_stamp_of(path) for path in self._files())

    def _files(self) -> Sequence[Path]:
        config, file = self.loaded.config, self.loaded.file
        if file is None:
            return ()
        files = [file, *(Path(name) for name in config.catalog.sources if name.endswith((".json", ".toml")))]
        files += [file.parent / name for name in config.pipelines.files]
        if config.pipelines.folder is not None:
            folder = file.parent / config.pipelines.folder
            files += [folder, *sorted((*folder.glob("*.toml"), *folder.glob("*.json")))]
        for name in ("key", "metrics_key"):
            key = config.gateway.get(name)
            if isinstance(key, str) and key.startswith("file:"):
                files.append(Path(key.removeprefix("file:")).expanduser())
        return files


def gateway_mistakes(runtime: Runtime) -> tuple[Mistake, ...]:
    """Return every mistake of ``[gateway]``: of its keys, and of the models that aliases name."""
    options = runtime.config.gateway
    models = options.get("models")
    aliases = read_aliases(models)[0] if isinstance(models, Mapping) else {}
    return (*_settings_mistakes(options), *alias_mistakes(runtime, aliases))


def _settings_mistakes(options: Mapping[str, Any]) -> tuple[Mistake, ...]:
    try:
        settings = GatewaySettings.read(options)
    except ConfigError as exc:
        return exc.mistakes
    try:
        return driver_mistakes("gateway.store", settings.store_url())
    except ConfigError:  # the variable or file of its reference may exist only where the gateway runs
        return ()


def _stamp_of(path: Path) -> tuple[str, int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0, 0
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino
