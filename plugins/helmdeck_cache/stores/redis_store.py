"""Answers in Redis, shared by any number of hosts; ``maxmemory`` and an LRU policy of the server bound their size."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from typing import Final

from helmdeck_cache.stores.store import tenant_id
from helmdeck_storage import AsyncRedisServer, glob_literal

PREFIX: Final = "helmdeck:cache"
BATCH: Final = 500
"""Keys of one command."""


class RedisStore:
    """Answers in a Redis database.

    :param url: ``redis://USER:PASSWORD@HOST:PORT/DATABASE``; the query parameter ``prefix`` sets the prefix of all keys.
    :raises ValueError: the URL is malformed.
    """

    def __init__(self, url: str) -> None:
        self._server = AsyncRedisServer(url, "cache", PREFIX)
        self._client = self._server.client

    async def get(self, tenant: str, key: str) -> bytes | None:
        """Implement ``CacheStore.get``."""
        async with self._server.errors():
            data: bytes | None = await self._client.get(self._name(tenant, key))
        return data

    async def put(self, tenant: str, key: str, data: bytes, ttl_s: float) -> None:
        """Implement ``CacheStore.put``."""
        async with self._server.errors():
            await self._client.set(self._name(tenant, key), data, px=max(1, math.ceil(ttl_s * 1_000)))

    async def clear(self, tenant: str | None = None) -> int:
        """Implement ``CacheStore.clear``."""
        count = 0
        async for names in self._names(tenant):
            async with self._server.errors():
                count += await self._client.unlink(*names)
        return count

    async def stats(self) -> Mapping[str, int]:
        """Implement ``CacheStore.stats``."""
        answers, size, tenants = 0, 0, set[bytes]()
        async for names in self._names(None):
            async with self._server.errors(), self._client.pipeline(transaction=False) as pipe:
                for name in names:
                    pipe.strlen(name)
                sizes: list[int] = await pipe.execute()
            answers += sum(1 for each in sizes if each)
            size += sum(sizes)
            tenants |= {name.rsplit(b":", 2)[1] for name in names}
        return {"answers": answers, "bytes": size, "tenants": len(tenants)}

    async def aclose(self) -> None:
        """Close all connections; a later use opens them again."""
        await self._server.aclose()

    def _name(self, tenant: str, key: str) -> str:
        return f"{self._server.prefix}:answers:{tenant_id(tenant)}:{key}"

    async def _names(self, tenant: str | None) -> AsyncIterator[list[bytes]]:
        place = f"{glob_literal(self._server.prefix)}:answers:{'*' if tenant is None else tenant_id(tenant)}:*"
        cursor = 0
        while True:
            async with self._server.errors():
                cursor, names = await self._client.scan(cursor, match=place, count=BATCH)
            if names:
                yield names
            if not cursor:
                return
