"""Answers in memory, for one process: the least recently used ones are removed."""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Mapping
from typing import Final

OVERHEAD_BYTES: Final = 400
"""Bytes of an answer besides its data, such as its key."""


class MemoryStore:
    """Answers of one process. Thread-safe.

    :param max_bytes: bytes of all answers.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._rows: collections.OrderedDict[tuple[str, str], tuple[bytes, float]] = collections.OrderedDict()
        self._size = 0

    async def get(self, tenant: str, key: str) -> bytes | None:
        """Implement ``CacheStore.get``."""
        with self._lock:
            row = self._rows.get((tenant, key))
            if row is None:
                return None
            if row[1] <= time.monotonic():
                self._remove((tenant, key))
                return None
            self._rows.move_to_end((tenant, key))
            return row[0]

    async def put(self, tenant: str, key: str, data: bytes, ttl_s: float) -> None:
        """Implement ``CacheStore.put``."""
        with self._lock:
            self._remove((tenant, key))
            self._rows[tenant, key] = (data, time.monotonic() + ttl_s)
            self._size += len(data) + OVERHEAD_BYTES
            while self._size > self._max_bytes:
                self._remove(next(iter(self._rows)))

    async def clear(self, tenant: str | None = None) -> int:
        """Implement ``CacheStore.clear``."""
        with self._lock:
            names = [name for name in self._rows if tenant is None or name[0] == tenant]
            for name in names:
                self._remove(name)
        return len(names)

    async def stats(self) -> Mapping[str, int]:
        """Implement ``CacheStore.stats``."""
        with self._lock:
            now_s = time.monotonic()
            for name in [name for name, row in self._rows.items() if row[1] <= now_s]:
                self._remove(name)
            tenants = len({tenant for tenant, _ in self._rows})
            return {"answers": len(self._rows), "bytes": self._size, "tenants": tenants}

    async def aclose(self) -> None:
        """Forget the answers."""
        await self.clear()

    def _remove(self, name: tuple[str, str]) -> None:
        if (row := self._rows.pop(name, None)) is not None:
            self._size -= len(row[0]) + OVERHEAD_BYTES
