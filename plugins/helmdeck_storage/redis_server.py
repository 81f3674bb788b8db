"""Redis: one server, shared by any number of hosts. What belongs together is changed by scripts, which Redis executes atomically."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.retry import Retry

from helmdeck_storage.errors import failure, newer_schema

TIMEOUT_S: Final = 5.0
MAX_CONNECTIONS: Final = 64
"""Connections of an event loop; the driver would fail beyond 100."""
_OPTIONS: Final[dict[str, Any]] = {
    "socket_timeout": TIMEOUT_S,
    "socket_connect_timeout": TIMEOUT_S,
    "socket_keepalive": True,  # an idle connection whose peer is gone is lost, and not a server that hangs
    "health_check_interval": 30,
}
# A lost connection is worth another attempt; a server that hangs would only take the time once more.
_LOST: Final[Any] = (redis.ConnectionError, ConnectionError)


class _Settings:
    """Where the keys of one capability are.

    :raises ValueError: the URL is malformed.
    """

    def __init__(self, url: str, name: str, prefix: str) -> None:
        parts = urlsplit(url)
        query = dict(parse_qsl(parts.query))
        self.prefix: str = query.pop("prefix", prefix)
        self.plain_url: str = urlunsplit(parts._replace(query=urlencode(query)))
        self._name, self._url = name, url

    def translate(self, exc: BaseException | None) -> None:
        """Raise ``StorageError`` for an exception of the driver."""
        if isinstance(exc, redis.RedisError | OSError):
            raise failure(f"the {self._name} store in Redis", exc, self._url) from None


class RedisServer:
    """Keys in a Redis database. Thread-safe; it connects at the first use.

    A command is sent once more after a lost connection, so each must be one that may be executed twice.

    :param url: ``redis://USER:PASSWORD@HOST:PORT/DATABASE``; the query parameter ``prefix`` replaces the prefix.
    :raises ValueError: the URL is malformed.
    :ivar client: the driver's client, which returns strings; use it within ``errors()``.
    :ivar prefix: the prefix of all keys.
    """

    def __init__(self, url: str, name: str, prefix: str) -> None:
        self._settings = _Settings(url, name, prefix)
        self.prefix: str = self._settings.prefix
        self.client: Any = redis.Redis.from_url(
            self._settings.plain_url,
            decode_responses=True,
            retry=Retry(NoBackoff(), 1, supported_errors=_LOST),
            **_OPTIONS,
        )

    def errors(self) -> AbstractContextManager[None, None]:
        """Return a context that turns the exceptions of the driver into ``StorageError``."""
        return _Errors(self._settings)

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


class AsyncRedisServer:
    """Keys in a Redis database, for the event loop that uses it first; otherwise as ``RedisServer``.

    Commands beyond ``MAX_CONNECTIONS`` at the same time wait.

    :ivar client: the driver's client, which returns bytes; use it within ``errors()``.
    :ivar prefix: the prefix of all keys.
    """

    def __init__(self, url: str, name: str, prefix: str) -> None:
        self._settings = _Settings(url, name, prefix)
        self.prefix: str = self._settings.prefix
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self.client: Any = redis.asyncio.Redis.from_url(
            self._settings.plain_url, retry=AsyncRetry(NoBackoff(), 1, supported_errors=_LOST), **_OPTIONS
        )

    def errors(self) -> AbstractAsyncContextManager[None, None]:
        """Return a context for one command, which turns the exceptions of the driver into ``StorageError``."""
        return _AsyncErrors(self._settings, self._slots)

    async def aclose(self) -> None:
        """Close all connections; a later use opens others. Idempotent."""
        await self.client.aclose()


# Classes, since a generator would add a tenth to the time of a command.
class _Errors:
    __slots__ = ("_settings",)

    def __init__(self, settings: _Settings) -> None:
        self._settings = settings

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, exc: BaseException | None, traceback: object) -> None:
        self._settings.translate(exc)


class _AsyncErrors:
    __slots__ = ("_settings", "_slots")

    def __init__(self, settings: _Settings, slots: asyncio.Semaphore) -> None:
        self._settings, self._slots = settings, slots

    async def __aenter__(self) -> None:
        await self._slots.acquire()

    async def __aexit__(self, kind: object, exc: BaseException | None, traceback: object) -> None:
        self._slots.release()
        self._settings.translate(exc)


def glob_literal(text: str) -> str:
    r"""Return a text for a pattern of ``SCAN`` that matches only itself.

    >>> from helmdeck_storage import glob_literal
    >>> glob_literal("keys[1]*")
    'keys\\[1\\]\\*'
    """
    return "".join(f"\\{char}" if char in "\\*?[]^-" else char for char in text)
