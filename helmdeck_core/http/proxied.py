"""The way to a server through the proxies that the environment names, which httpx knows how to find."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import httpx

from helmdeck_core.domain.chat import ProviderSettings
from helmdeck_core.http.connections import KEPT_S, Reply


class Proxied:
    """A client with the interface of ``connections.Pool``."""

    def __init__(self, settings: ProviderSettings) -> None:
        self._client = httpx.AsyncClient(follow_redirects=False, limits=httpx.Limits(keepalive_expiry=KEPT_S))
        timeout = httpx.Timeout(settings.timeout_s, connect=settings.connect_timeout_s)
        self._extensions = {"timeout": timeout.as_dict()}

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
