"""Where exact answers are kept: memory (``memory``), SQLite (``sqlite``) or Redis (``redis_store``); ``store`` is the interface."""

from __future__ import annotations

from pathlib import Path

from helmdeck_cache.stores.store import CacheStore
from helmdeck_core import data_directory
from helmdeck_storage import StorageError, require_driver

SCHEMES = ("memory", "sqlite", "redis", "rediss")


def open_store(url: str, *, max_bytes: int) -> CacheStore:
    """Return a store, which connects at its first use.

    :param url: ``memory:``, ``sqlite:PATH`` or ``redis://…``; for Redis, ``?prefix=NAME`` sets the prefix of all keys.
    :param max_bytes: bytes of all answers, except in Redis.
    :raises StorageError: the scheme is unknown, the URL is malformed, or its driver is not installed.
    """
    scheme, colon, rest = url.partition(":")
    if not colon or scheme not in SCHEMES:
        shown = f"{scheme[:20]}:..." if colon else "a value without a scheme"
        raise StorageError(f"cache.store: {shown} is not a store; allowed: memory:, sqlite:PATH, redis://...")
    require_driver(scheme)
    match scheme:
        case "memory":
            from helmdeck_cache.stores.memory import MemoryStore

            return MemoryStore(max_bytes)
        case "sqlite":
            from helmdeck_cache.stores.sqlite import SqliteStore

            return SqliteStore(Path(rest) if rest else data_directory() / "cache.db", max_bytes)
        case _:
            from helmdeck_cache.stores.redis_store import RedisStore

            try:
                return RedisStore(url)
            except ValueError:  # its message may repeat a part of the password
                raise StorageError(
                    "cache.store: the URL is malformed; characters such as @, / and # in a password are written as %40, %2F and %23"
                ) from None
