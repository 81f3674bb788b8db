"""The opened caches of a deck or gateway: they are searched in order, and one that fails is left out for a while."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from helmdeck_cache.flights import Flights
from helmdeck_cache.settings import CacheSettings
from helmdeck_core import (
    CachedAnswer,
    CacheFailed,
    CacheQuery,
    CacheSetup,
    Event,
    ResponseCache,
    ResponseCacheSpec,
    Runtime,
    quoted,
    read_options,
)

_CREDENTIALS: Final = re.compile(r"://[^\s/]*@")
"""The user and password of a URL that a message of a driver may repeat."""


@attrs.define
class _Opened:
    name: str
    cache: ResponseCache
    retry_at_s: float = 0.0


class ResponseCaches:
    """The caches that ``[cache] caches`` names, and the calls under way. They may outlive the deck that they were opened for.

    :raises ConfigError: with every mistake of ``[cache]``.
    :raises StorageError: a store cannot be used, such as one whose driver is not installed.
    :ivar counts: figures of this process by name: ``hits``, ``shared``, ``misses``, ``refreshed``, ``stored`` (usable answers that
        were passed to the caches) and ``failures``, and the answers that were not stored and calls that were skipped, by reason.
    """

    def __init__(self, runtime: Runtime, settings: CacheSettings | None = None) -> None:
        self.settings: CacheSettings = settings or CacheSettings.read(runtime)
        self.flights: Flights = Flights()
        self.counts: dict[str, int] = {}
        specs = runtime.contributed(ResponseCacheSpec)
        self._opened: list[_Opened] = []
        for name in self.settings.caches:
            contribution = specs[name]
            options_type, table = contribution.value.options_type, self.settings.options.get(name, {})
            options = options_type and read_options(table, options_type, "cache", "options", name)
            setup = CacheSetup(settings=self.settings, options=options)
            self._opened.append(_Opened(name, contribution.value.open(setup)))

    def count(self, name: str) -> None:
        """Count an occurrence."""
        self.counts[name] = self.counts.get(name, 0) + 1

    async def find(self, query: CacheQuery, emit: Callable[[Event], None]) -> tuple[str, CachedAnswer] | None:
        """Return an answer with the name of the cache that has it; ``None`` if none has one.

        :param emit: receives the failures of caches.
        """
        for opened in self._usable():
            answer: CachedAnswer | None = await self._tried(opened, "find", opened.cache.find(query), emit)
            if answer is not None:
                return opened.name, answer
        return None

    async def keep(self, query: CacheQuery, answer: CachedAnswer, emit: Callable[[Event], None]) -> None:
        """Store an answer in all caches."""
        for opened in self._usable():
            await self._tried(opened, "keep", opened.cache.keep(query, answer), emit)

    async def clear(self, tenant: str | None = None) -> int:
        """Delete the answers of a tenant, or of all; return how many."""
        return sum([await opened.cache.clear(tenant) for opened in self._opened])

    async def stats(self) -> dict[str, Mapping[str, int]]:
        """Return the figures of each cache, and those of this process as ``calls``."""
        return {**{each.name: await each.cache.stats() for each in self._opened}, "calls": dict(self.counts)}

    async def aclose(self) -> None:
        """Close all caches; idempotent."""
        for opened in self._opened:
            await opened.cache.aclose()

    def _usable(self) -> list[_Opened]:
        now_s = time.monotonic()
        return [opened for opened in self._opened if opened.retry_at_s <= now_s]

    async def _tried(self, opened: _Opened, action: str, work: Any, emit: Callable[[Event], None]) -> Any:
        """Await an action of a cache; one that fails or takes too long fails no call."""
        try:
            async with asyncio.timeout(self.settings.store_timeout_s):
                return await work
        except Exception as exc:
            opened.retry_at_s = time.monotonic() + self.settings.retry_s
            self.count("failures")
            is_slow = isinstance(exc, TimeoutError)
            detail = (
                f"no answer within {self.settings.store_timeout_s:g} s" if is_slow else f"{type(exc).__name__}: {exc}"
            )
            emit(CacheFailed(cache=opened.name, action=action, detail=quoted(_CREDENTIALS.sub("://", detail))))
            return None
