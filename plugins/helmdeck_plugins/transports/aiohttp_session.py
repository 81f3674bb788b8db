"""A session of ``aiohttp``, set up as a transport has to be."""

from __future__ import annotations

import io
import os
import ssl
import weakref
from collections.abc import Mapping
from typing import Any

import aiohttp
import certifi
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from helmdeck_core import (
    ConnectFailed,
    ConnectionBroken,
    ConnectTimeout,
    InvalidUrl,
    TlsFailed,
    TransportError,
    TransportSettings,
)
from helmdeck_plugins.transports.headers import joined
from helmdeck_plugins.transports.sockets import described, readiness

ERRORS: Mapping[type[BaseException], type[TransportError]] = {
    aiohttp.ClientConnectorError: ConnectFailed,
    aiohttp.ClientConnectorCertificateError: TlsFailed,
    aiohttp.ClientConnectorSSLError: TlsFailed,
    aiohttp.ClientHttpProxyError: ConnectFailed,
    aiohttp.ConnectionTimeoutError: ConnectTimeout,
    aiohttp.InvalidURL: InvalidUrl,
    aiohttp.NonHttpUrlClientError: InvalidUrl,
    aiohttp.ClientError: ConnectionBroken,
    HttpProcessingError: ConnectionBroken,
}
"""The library's exceptions and their counterparts; the nearest parent class counts."""

_HEAD_BYTES = 100_000
"""The longest line of the head of a response."""
_LARGE_BYTES = 1 << 20
"""A larger body is sent in parts, so that the event loop is not blocked."""
_READ_BYTES = 65_536
"""At most about twice this much of an unread response is received."""


_NOT_ADDED = ("accept", "accept-encoding", "content-type", "user-agent")


class AiohttpTransport:
    """Connections to one server, or to the proxy before it. Their number is limited by the callers."""

    def __init__(self, settings: TransportSettings) -> None:
        proxy = settings.proxy
        is_secure = settings.base_url.startswith("https:")
        # A proxy that only connects reads its headers with CONNECT; one that passes requests on, with each request.
        self._with_connect = proxy.headers if proxy and is_secure else None
        self._with_request = proxy.headers if proxy and not is_secure else None
        self._under_way: weakref.WeakSet[aiohttp.ClientResponse] = weakref.WeakSet()
        # Reading the certificates of the system takes a while, and plain HTTP needs none.
        is_tls = is_secure or (proxy is not None and proxy.url.startswith("https:"))
        self._session = aiohttp.ClientSession(
            connector=_Connector(limit=0, keepalive_timeout=settings.keepalive_s, ssl=_context() if is_tls else True),
            # The caller bounds decompression better, and to the library a chunk of one byte is an error.
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=proxy.url if proxy else None,
            timeout=aiohttp.ClientTimeout(total=None, connect=settings.connect_timeout_s),
            skip_auto_headers=_NOT_ADDED,
            read_bufsize=_READ_BYTES,
            max_line_size=_HEAD_BYTES,
            max_field_size=_HEAD_BYTES,
        )

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> AiohttpResponse:
        """Send a request; see ``helmdeck_core.Transport``."""
        if not url.isprintable():
            raise InvalidUrl("it has characters that no URL can carry")
        try:
            response = await self._session.request(
                method,
                # What is escaped stays as it is: some providers sign the path.
                URL(url, encoded=url.isascii()),
                headers={**headers, **self._with_request} if self._with_request else headers,
                data=io.BytesIO(body) if body and len(body) >= _LARGE_BYTES else body,
                allow_redirects=False,
                proxy_headers=self._with_connect,
            )
            self._under_way.add(response)
            return AiohttpResponse(response)
        except Exception as exc:
            error = _error(exc)
            if error is None:
                raise
        raise error

    async def aclose(self) -> None:
        """Close all connections."""
        for response in tuple(self._under_way):
            response.close()
        await self._session.close()


class AiohttpResponse:
    """A response."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = joined(response.raw_headers)
        self._response = response

    def __aiter__(self) -> AiohttpResponse:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._response.content.readany()
        except Exception as exc:
            error = _error(exc)
            if error is None:
                raise
        else:
            if chunk:
                return chunk
            raise StopAsyncIteration
        raise error

    async def aclose(self) -> None:
        """Release the connection; one whose response was not read to its end is closed."""
        self._response.close()


class _Connector(aiohttp.TCPConnector):
    """Connections, of which none is used again that got bytes that no request asked for.

    The library takes a connection from its pool without a look, so that such bytes would be the response to the next
    request.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._traffic: weakref.WeakKeyDictionary[Any, _Traffic] = weakref.WeakKeyDictionary()

    async def connect(self, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol: Any = connection.protocol
            traffic = self._traffic.get(protocol)
            if traffic is None:
                traffic = self._traffic[protocol] = _Traffic(protocol)
            elif protocol.should_close or traffic.is_dirty():
                connection.close()
                continue
            connection.add_callback(traffic.rest)
            return connection


class _Traffic:
    """What arrives on a connection while it is idle."""

    def __init__(self, protocol: Any) -> None:
        self._reads = 0
        self._reads_at_rest = 0
        self._readable = readiness(protocol.transport.get_extra_info("socket"))
        deliver = protocol.data_received

        def data_received(data: bytes) -> None:
            self._reads += bool(data)  # the library calls it with nothing, too
            deliver(data)

        protocol.data_received = data_received

    def rest(self) -> None:
        """Note that the response is complete."""
        self._reads_at_rest = self._reads

    def is_dirty(self) -> bool:
        """Whether anything arrived since then, which the loop has taken or the system still holds."""
        return self._reads != self._reads_at_rest or bool(self._readable())


def _context() -> ssl.SSLContext:
    """Trust what the environment names, otherwise what the system trusts and Mozilla's list: not every system has one."""
    context = ssl.create_default_context()
    if not {"SSL_CERT_FILE", "SSL_CERT_DIR"} & os.environ.keys():
        context.load_verify_locations(certifi.where())
    context.set_alpn_protocols(["http/1.1"])
    return context


def _error(exc: Exception) -> TransportError | None:
    """Return the transport exception for one of the library; ``None`` for other exceptions."""
    found = next((ERRORS[kind] for kind in type(exc).__mro__ if kind in ERRORS), None)
    if found is None:
        return None
    if isinstance(exc, aiohttp.ClientPayloadError):
        return found("the body ended before it was complete")
    system = getattr(exc, "os_error", None) or getattr(exc, "certificate_error", None)
    detail = described(system) if isinstance(system, Exception) else str(exc)
    return (TlsFailed if isinstance(system, ssl.SSLError) else found)(detail)
