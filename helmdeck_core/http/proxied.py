"""The way to a server through the proxies that the environment names, which httpx knows how to find."""

from __future__ import annotations

import logging
import weakref
from collections.abc import AsyncIterator, Callable, Mapping

import httpx

from helmdeck_core.domain.chat import ProviderSettings
from helmdeck_core.hiding import Secrets, without
from helmdeck_core.http.connections import KEPT_S, Reply

LOGGERS = (*tuple(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")), "httpx")
"""Where the library writes what it sends and gets; a server may repeat a key in a header."""

_open: weakref.WeakSet[Proxied] = weakref.WeakSet()


def without_secrets(record: logging.LogRecord) -> bool:
    """Leave the secrets of open clients out of a line; for the filter of a logger, which asks once a line is to be written."""
    said = told = record.getMessage()
    for client in tuple(_open):
        told = without(client.secrets(), told)
    if told != said:
        record.msg, record.args = told, ()
    return True


class Proxied:
    """A client with the interface of ``connections.Pool``.

    :param secrets: what must not be shown.
    """

    def __init__(self, settings: ProviderSettings, secrets: Callable[[], Secrets]) -> None:
        self.secrets = secrets
        self._client = httpx.AsyncClient(follow_redirects=False, limits=httpx.Limits(keepalive_expiry=KEPT_S))
        timeout = httpx.Timeout(settings.timeout_s, connect=settings.connect_timeout_s)
        self._extensions = {"timeout": timeout.as_dict()}
        _open.add(self)
        for name in LOGGERS:
            logging.getLogger(name).addFilter(without_secrets)  # once, however often

    async def send(self, method: str, address: httpx.URL, headers: Mapping[str, str], body: bytes | None) -> Reply:
        """Send a request and return its answer as soon as its head has come.

        :raises httpx.HTTPError: none came.
        """
        request = httpx.Request(method, address, headers=headers, content=body, extensions=self._extensions)
        return _Reply(await self._client.send(request, stream=True))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()


class _Reply:
    """An answer of the client's, as it came: what was compressed stays so."""

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = dict(response.headers)
        self._response = response
        self._pieces: AsyncIterator[bytes] = response.aiter_raw()

    def __aiter__(self) -> _Reply:
        return self

    async def __anext__(self) -> bytes:
        return await anext(self._pieces)

    async def aclose(self) -> None:
        await self._response.aclose()
