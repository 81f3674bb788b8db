"""Redis: one server, shared by any number of hosts. What belongs together is changed by scripts, which Redis executes atomically."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from helmdeck_storage.errors import failure, newer_schema

TIMEOUT_S: Final = 5.0
MAX_CONNECTIONS: Final = 32
_LOST: Final = (redis.ConnectionError, redis.TimeoutError, OSError)


class _Server:
    """The keys of one capability under a prefix.

    A command is sent once more after a lost connection, so each must be one that may be executed twice.

    :param url: ``redis://USER:PASSWORD@HOST:PORT/DATABASE``; the query parameter ``prefix`` replaces the prefix.
    :raises ValueError: the URL is malformed.
    """

    def __init__(self, url: str, name: str, prefix: str) -> None:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query))
        self.prefix = query.pop("prefix", prefix)
        self._name = name
        self._url = url
        self._plain_url = urlunsplit(parts._replace(query=urlencode(query)))
        self._options: dict[str, Any] = {
            "max_connections": MAX_CONNECTIONS,
            "timeout": TIMEOUT_S,  # seconds to wait for a connection while all of them are in use
            "socket_timeout": TIMEOUT_S,
            "socket_connect_timeout": TIMEOUT_S,
            "health_check_interval": 30,
            "retry_on_error": list(_LOST),
        }

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn the exceptions of the driver into ``StorageError``."""
        try:
            yield
        except (redis.RedisError, OSError) as exc:
            raise failure(f"the {self._name} store in Redis", exc, self._url) from None


class RedisServer(_Server):
    """Keys in a Redis database. Thread-safe; it connects at the first use.

    :ivar client: the driver's client, which returns strings; use it within ``errors()``.
    :ivar prefix: the prefix of all keys.
    """

    def __init__(self, url: str, name: str, prefix: str) -> None:
        super().__init__(url, name, prefix)
        retry = Retry(NoBackoff(), 1)
        pool = redis.BlockingConnectionPool.from_url(
            self._plain_url, decode_responses=True, retry=retry, **self._options
        )
        self.client: Any = redis.Redis.from_pool(pool)

    def check_version(self, version: int) -> None:
        """Store the version of the keys, unless there is one.

        :raises NewerSchemaError: the stored version is newer.
        :raises StorageError: the server does not answer.
        """
        key = f"{self.prefix}:version"
        with self.errors():
            self.client.set(key, version, nx=True)
            stored = int(self.client.get(key) or 0)
        if stored > version:
            raise newer_schema(f"the keys of {self.prefix}", "prefix", stored, version)

    def close(self) -> None:
        """Close all connections; a later use opens others. Idempotent."""
        self.client.close()


class AsyncRedisServer(_Server):
    """Keys in a Redis database, for the event loop that uses it first. It connects at the first use.

    :ivar client: the driver's client, which returns bytes; use it within ``errors()``.
    :ivar prefix: the prefix of all keys.
    """

    def __init__(self, url: str, name: str, prefix: str) -> None:
        super().__init__(url, name, prefix)
        retry = AsyncRetry(NoBackoff(), 1)
        pool = redis.asyncio.BlockingConnectionPool.from_url(self._plain_url, retry=retry, **self._options)
        self.client: Any = redis.asyncio.Redis.from_pool(pool)

    async def aclose(self) -> None:
        """Close all connections; a later use opens others. Idempotent."""
        await self.client.aclose()


def glob_literal(text: str) -> str:
    """Return a text for a pattern of ``SCAN`` that matches only itself."""
    return "".join(f"\\{char}" if char in "\\*?[]^-" else char for char in text)
