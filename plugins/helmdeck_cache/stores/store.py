"""The interface of stores: bytes of tenants under keys, which end after a time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Protocol


class CacheStore(Protocol):
    """Bytes under a key, for one tenant. Each operation is atomic, also across processes, and does not block the event loop."""

    async def get(self, tenant: str, key: str) -> bytes | None:
        """Return the bytes; ``None`` if the tenant has none under the key.

        :raises StorageError: the store does not answer.
        """
        ...

    async def put(self, tenant: str, key: str, data: bytes, ttl_s: float) -> None:
        """Store bytes in place of the tenant's earlier ones.

        :raises StorageError: the store does not answer.
        """
        ...

    async def clear(self, tenant: str | None = None) -> int:
        """Delete what a tenant has, or everything; return how many answers.

        :raises StorageError: the store does not answer.
        """
        ...

    async def stats(self) -> Mapping[str, int]:
        """Return ``answers``, ``bytes`` and ``tenants``.

        :raises StorageError: the store does not answer.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections; idempotent."""
        ...


def tenant_id(tenant: str) -> str:
    """Return the id under which the answers of a tenant are stored: a hash, since a name may have any length and characters."""
    return hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()[:32]
