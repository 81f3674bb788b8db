"""One client of aiohttp: how it is set up for a provider, and its answers.

It costs a third of what httpx does for a request, and as much with 64 at once as with one, where httpx's pool looks at
every connection for every request (aiohttp 3.14, httpx 0.28, November 2026).
"""

from __future__ import annotations

import io
import os
import ssl
import weakref
from collections.abc import Iterable, Mapping

import aiohttp
import certifi
from yarl import URL

from helmdeck_core import ProviderSettings
from helmdeck_provider_kit.settings import Proxy

KEPT_S = 30.0
"""How long a connection waits for its next request."""

_HEAD_BYTES = 100_000
"""The largest line of the head of an answer."""
_LARGE_BYTES = 1 << 20
"""A body from this size on is sent in parts, so that the loop can do something else in between."""
_READ_BYTES = 65_536
"""Of an answer that nobody reads no more than about twice this is taken off the network."""


class Client:
    """The connections to one server, or to the proxy before it; needs a running loop.

    How much is sent at once is decided elsewhere, so that there is no limit to them.

    :param is_secure: the server has a certificate, which is checked.
    """

    def __init__(self, settings: ProviderSettings, *, is_secure: bool, proxy: Proxy | None) -> None:
        address = proxy.address if proxy else None
        # Reading all certificates of the machine takes a while, and a plain address meets none.
        checks = _certificates() if is_secure or (address or "").startswith("https:") else True
        # A proxy that only connects is told before; one that passes a request on reads it in the request.
        self._for_proxy = proxy.headers if proxy and is_secure else None
        self._for_both = proxy.headers if proxy and not is_secure else None
        self._under_way: weakref.WeakSet[aiohttp.ClientResponse] = weakref.WeakSet()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT_S, ssl=checks),
            timeout=aiohttp.ClientTimeout(total=None, connect=settings.connect_timeout_s),
            # A piece of what it decompresses is not bounded well enough, and a chunk of one byte is an error to it.
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=address,
            read_bufsize=_READ_BYTES,
            max_line_size=_HEAD_BYTES,
            max_field_size=_HEAD_BYTES,
        )

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Reply:
        """Send a request and return its answer as soon as its head has come.

        :raises aiohttp.ClientError: none came.
        """
        if not url.isprintable():
            raise aiohttp.InvalidURL(url)
        # What is escaped stays as it is: some providers sign the path.
        address = URL(url, encoded=url.isascii())
        data = io.BytesIO(body) if body and len(body) >= _LARGE_BYTES else body
        if self._for_both:
            headers = {**headers, **self._for_both}
        response = await self._session.request(
            method, address, headers=headers, data=data, allow_redirects=False, proxy_headers=self._for_proxy
        )
        self._under_way.add(response)
        return Reply(response)

    async def aclose(self) -> None:
        """Close all connections; who still reads gets an error."""
        for response in tuple(self._under_way):
            response.close()
        await self._session.close()


class Reply:
    """An answer whose head has come: an async iterator over the pieces of its body, once.

    :ivar headers: names in lower case; one that comes several times is a list with commas.
    """

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = _joined(response.raw_headers)
        self._response = response

    def __aiter__(self) -> Reply:
        return self

    async def __anext__(self) -> bytes:
        """All of the body that has come since the last piece.

        :raises aiohttp.ClientError: it broke off.
        """
        if piece := await self._response.content.readany():
            return piece
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Let go of the connection; one that was not read to its end is dropped."""
        self._response.close()


def _joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _certificates() -> ssl.SSLContext:
    """Whom the environment says, else whom this machine trusts, and Mozilla: not every machine has certificates."""
    context = ssl.create_default_context()
    if not {"SSL_CERT_FILE", "SSL_CERT_DIR"} & os.environ.keys():
        context.load_verify_locations(certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    return context
