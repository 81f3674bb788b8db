"""The settings of response caches, from ``[cache]`` in the configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import attrs

from helmdeck_core import (
    EMPTY,
    ConfigError,
    Contribution,
    Mistake,
    ResponseCacheSpec,
    Runtime,
    SecretRef,
    above_zero,
    did_you_mean,
    read_options,
)

CacheMode = Literal["on", "off", "never"]
"""``on``: calls use the cache; ``off``: only those that ask for it; ``never``: not even those."""

SCHEMES = ("memory", "sqlite", "redis", "rediss")
REFERENCES = ("env", "file")
"""Kinds of references to secrets."""


@attrs.frozen(kw_only=True)
class CacheSettings:
    """The keys of ``[cache]``.

    :ivar mode: which calls of the gateway use the cache: ``on`` for all, ``off`` for those that ask for it, ``never`` for none.
    :ivar models: the same by model: the name that clients send, or a prefix of it; the longest one applies.
    :ivar teams: the same by name of a team; it precedes ``models``.
    :ivar keys: the same by name of a key; it precedes ``teams``.
    :ivar tenant: who shares answers: the calls with one ``caller``, or the keys of one ``team``.
    :ivar caches: names of caches, in the order in which they are searched.
    :ivar store: where exact answers are kept: ``memory:``, ``sqlite:PATH``, ``redis://…``, or a reference to such a URL: ``env:NAME`` or
        ``file:PATH``.
    :ivar ttl_s: seconds that an answer is kept.
    :ivar max_bytes: bytes of all answers, in memory or in SQLite; the least recently used ones are removed. Redis has a limit of
        its own, ``maxmemory``.
    :ivar max_entry_bytes: bytes of a stored answer; a larger one is not stored.
    :ivar sampled: also calls with a temperature above 0 use the cache.
    :ivar fallbacks: answers of a fallback model are stored.
    :ivar wait_s: seconds that a call waits for an equal one that is under way, before it makes a request of its own.
    :ivar store_timeout_s: seconds until a store that does not answer counts as failed.
    :ivar retry_s: seconds without a use of a cache after it failed.
    :ivar options: options of caches, by name.
    """

    mode: CacheMode = "off"
    models: Mapping[str, CacheMode] = EMPTY
    teams: Mapping[str, CacheMode] = EMPTY
    keys: Mapping[str, CacheMode] = EMPTY
    tenant: Literal["caller", "team"] = "caller"
    caches: tuple[str, ...] = ("exact",)
    store: str = attrs.field(default="memory:", repr=False)  # it may have a password
    ttl_s: float = attrs.field(default=86_400.0, validator=above_zero)
    max_bytes: int = attrs.field(default=64_000_000, validator=above_zero)
    max_entry_bytes: int = attrs.field(default=1_000_000, validator=above_zero)
    sampled: bool = False
    fallbacks: bool = False
    wait_s: float = attrs.field(default=60.0, validator=above_zero)
    store_timeout_s: float = attrs.field(default=0.5, validator=above_zero)
    retry_s: float = 5.0
    options: Mapping[str, Any] = EMPTY

    @classmethod
    def read(cls, runtime: Runtime) -> CacheSettings:
        """Read the settings of a deck.

        :raises ConfigError: with every mistake.
        """
        table: Mapping[str, Any] = runtime.config.cache
        specs = runtime.contributed(ResponseCacheSpec)
        mistakes: list[Mistake] = []
        settings = cls()
        while True:
            try:
                settings = read_options(table, cls, "cache")
                break
            except ConfigError as exc:  # the mistakes of the other values are reported as well
                mistakes += exc.mistakes
                wrong = {mistake.where.split(".")[1] for mistake in exc.mistakes}
                table = {name: value for name, value in table.items() if name not in wrong}
        mistakes += _mistakes_of(settings, specs)
        if mistakes:
            raise ConfigError(tuple(mistakes))
        return settings

    def mode_of(self, model: str, key: str = "", team: str = "") -> CacheMode:
        """Return the mode of a call.

        :param model: the name that the client sends.
        :param key: the name of its key; empty for none.
        :param team: the team of the key; empty for none.
        """
        for name, modes in ((key, self.keys), (team, self.teams)):
            if name and name in modes:
                return modes[name]
        prefixes = [prefix for prefix in self.models if model.startswith(prefix)]
        return self.models[max(prefixes, key=len)] if prefixes else self.mode

    def store_url(self) -> str:
        """Return the URL of the store.

        :raises ConfigError: its reference cannot be read.
        """
        kind, _, target = self.store.partition(":")
        if kind not in REFERENCES:
            return self.store
        url = SecretRef(kind, target).read()
        if url is None:
            raise ConfigError((Mistake("cache.store", "cannot be read", f"{kind}:{target}"),))
        return url


def _mistakes_of(settings: CacheSettings, specs: Mapping[str, Contribution[ResponseCacheSpec]]) -> Iterator[Mistake]:
    """The mistakes that depend on the plugins, and the store."""
    allowed = ", ".join(specs) or "none: no plugin contributes one"
    for place, name in enumerate(settings.caches):
        if name in settings.caches[:place]:
            yield Mistake("cache.caches", "named twice", repr(name), "each cache once")
        elif name not in specs:
            yield Mistake("cache.caches", f"unknown cache{did_you_mean(name, specs)}", repr(name), allowed)
    for name, options in settings.options.items():
        options_type = specs[name].value.options_type if name in specs else None
        if options_type is None or not isinstance(options, Mapping):
            problem = "no cache has options of this name" if options_type is None else "not a table"
            yield Mistake(f"cache.options.{name}", problem, repr(name), allowed)
            continue
        try:
            read_options(options, options_type, "cache", "options", name)
        except ConfigError as exc:
            yield from exc.mistakes
    scheme = settings.store.partition(":")[0]
    if scheme not in (*SCHEMES, *REFERENCES):
        choices = "memory:, sqlite:PATH, redis://..., env:NAME, file:PATH"
        yield Mistake("cache.store", "not a store", repr(scheme[:20]), choices)
