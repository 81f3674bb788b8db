"""The cache of answers to equal requests: ``exact``."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from helmdeck_core import CachedAnswer, CacheQuery, CacheSetup, ResponseCache, ResponseCacheSpec, hookimpl

if TYPE_CHECKING:
    from helmdeck_cache.settings import CacheSettings


@hookimpl
def helmdeck_response_caches() -> Sequence[ResponseCacheSpec]:
    """The exact cache."""
    return (ResponseCacheSpec(name="exact", open=_open, summary="answers to equal requests"),)


def _open(setup: CacheSetup) -> ResponseCache:
    return ExactCache(setup.settings)


class ExactCache:
    """Answers by the digest of the whole request, in the store of the settings."""

    def __init__(self, settings: CacheSettings) -> None:
        from helmdeck_cache.stores import open_store

        self._settings = settings
        self._store: Any = open_store(settings.store_url(), max_bytes=settings.max_bytes)

    async def find(self, query: CacheQuery) -> CachedAnswer | None:
        """Implement ``ResponseCache.find``."""
        from helmdeck_cache.entries import decoded

        data = await self._store.get(query.tenant, query.key)
        if data is None:
            return None
        answer = decoded(data, _owner(query))
        # An earlier process may have had a longer ttl_s.
        oldest_s = self._settings.ttl_s if query.max_age_s is None else min(query.max_age_s, self._settings.ttl_s)
        # An answer from the future was stored before the clock was set back; its age is not known.
        return None if answer is None or abs(time.time() - answer.stored_s) > oldest_s else answer

    async def keep(self, query: CacheQuery, answer: CachedAnswer) -> None:
        """Implement ``ResponseCache.keep``."""
        from helmdeck_cache.entries import encoded

        try:
            data = encoded(answer, _owner(query))
        except (TypeError, ValueError, RecursionError):  # of data that JSON cannot represent
            return
        if len(data) <= self._settings.max_entry_bytes:
            await self._store.put(query.tenant, query.key, data, self._settings.ttl_s)

    async def clear(self, tenant: str | None = None) -> int:
        """Implement ``ResponseCache.clear``."""
        count: int = await self._store.clear(tenant)
        return count

    async def stats(self) -> Mapping[str, int]:
        """Implement ``ResponseCache.stats``."""
        figures: Mapping[str, int] = await self._store.stats()
        return figures

    async def aclose(self) -> None:
        """Implement ``ResponseCache.aclose``."""
        await self._store.aclose()


def _owner(query: CacheQuery) -> str:
    return f"{query.tenant}\n{query.key}"
