"""Connections of ``aiohttp``: its pool and its parser, which is written in C, without the session above them.

The session prepares each request for redirects, cookies, compression and uploads, and writes the body in a task of its own,
which takes longer than the request itself. A transport has none of them. What is used below the session is not the library's public
interface and changes between releases, so that the distribution pins the library to releases that its tests passed with.
"""

from __future__ import annotations

import asyncio
import functools
import os
import ssl
import weakref
from collections.abc import Mapping
from typing import Any

import aiohttp
import certifi
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_writer import StreamWriter
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
from helmdeck_providers import joined_headers, network_error_detail, socket_readiness

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
    OSError: ConnectionBroken,
}
"""The library's exceptions and their counterparts; the nearest parent class counts."""

_HEAD_BYTES = 100_000
"""The longest line of the head of a response."""
_WRITE_BYTES = 262_144
"""A body of several times this size is sent in parts, so that the event loop is not blocked."""
_READ_BYTES = 65_536
"""At most about twice this much of an unread response is received."""


class AiohttpTransport:
    """Connections to one server, or to the proxy before it. Their number is limited by the callers."""

    def __init__(self, settings: TransportSettings) -> None:
        proxy = settings.proxy
        is_secure = settings.base_url.startswith("https:")
        # A proxy that only connects reads its headers with CONNECT; one that passes requests on, with each request.
        self._with_request = proxy.headers if proxy and not is_secure else None
        self._settings = settings
        self._under_way: weakref.WeakSet[AiohttpResponse] = weakref.WeakSet()
        self._target = functools.lru_cache(16)(self._target_of)
        # Reading the certificates of the system takes a while, and plain HTTP needs none.
        is_tls = is_secure or (proxy is not None and proxy.url.startswith("https:"))
        self._connector = _Connector(
            limit=0, keepalive_timeout=settings.keepalive_s, ssl=_context() if is_tls else True
        )
        self._timeout = aiohttp.ClientTimeout(total=None, connect=settings.connect_timeout_s)

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> AiohttpResponse:
        """Send a request; see ``helmdeck_core.Transport``."""
        # A query may hold a secret, and is not kept.
        target = self._target_of(url) if "?" in url else self._target(url)
        head = _head(method, target, {**headers, **self._with_request} if self._with_request else headers, body)
        try:
            connection = await self._connected()
            try:
                response = await _response(connection, method, head, body or b"")
            except BaseException:
                connection.close()
                raise
        except Exception as exc:
            error = _error(exc)
            if error is None:
                raise
        else:
            self._under_way.add(response)
            return response
        raise error

    async def aclose(self) -> None:
        """Close all connections."""
        for response in tuple(self._under_way):
            response.abort()
        await self._connector.close()

    @functools.cached_property
    def _server(self) -> aiohttp.ClientRequest:
        """The request that connections are opened for; it is never sent."""
        proxy, url = self._settings.proxy, URL(self._settings.base_url)
        if proxy is None:
            return aiohttp.ClientRequest("GET", url, loop=asyncio.get_running_loop())
        server = aiohttp.ClientRequest("GET", url, loop=asyncio.get_running_loop(), proxy=URL(proxy.url))
        if self._with_request is None:
            # The library adds the host to these, which are a part of the key of a connection.
            server.proxy_headers = type(server.headers)({**proxy.headers, "Host": server.headers["Host"]})
        return server

    async def _connected(self) -> Any:
        try:
            return await self._connector.connect(self._server, [], self._timeout)
        except TimeoutError as exc:
            if isinstance(exc, aiohttp.ClientError) or exc.errno is not None:
                raise
        raise ConnectTimeout

    def _target_of(self, url: str) -> str:
        """Return the target of the request line: the path, and the whole URL for a proxy that passes requests on."""
        if not url.isprintable():
            raise InvalidUrl("it has characters that no URL can carry")
        try:
            # What is escaped stays as it is: some providers sign the path.
            parsed = URL(url, encoded=url.isascii())
        except ValueError:
            raise InvalidUrl("it is not a URL") from None
        return str(parsed) if self._settings.proxy and self._with_request is not None else parsed.raw_path_qs


def _head(method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """Return the head of a request.

    :raises InvalidUrl: a header has a line break.
    """
    lines = [f"{method} {target} HTTP/1.1", *[f"{name}: {value}" for name, value in headers.items()]]
    if body is not None:
        lines.append(f"content-length: {len(body)}")
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1 or "\0" in head:
        raise InvalidUrl("a header has characters that no header can carry")
    return head.encode() + b"\r\n\r\n"


async def _response(connection: Any, method: str, head: bytes, body: bytes) -> AiohttpResponse:
    """Send a request over a connection, and return the response when its head has arrived."""
    protocol, writer = connection.protocol, None
    if (wire := protocol.transport) is None:
        raise aiohttp.ServerDisconnectedError
    protocol.set_response_params(
        skip_payload=method == "HEAD",
        read_until_eof=True,
        # The caller bounds decompression better, and to the library a chunk of one byte is an error.
        auto_decompress=False,
        read_bufsize=_READ_BYTES,
        max_line_size=_HEAD_BYTES,
        max_field_size=_HEAD_BYTES,
    )
    if len(body) <= 4 * _WRITE_BYTES:
        wire.write(head + body)
    else:
        writer = asyncio.create_task(_write(protocol, head, body))
    try:
        while True:
            message, payload = await protocol.read()
            if message.code >= 200 or message.code == 101:
                return AiohttpResponse(connection, message, payload, writer)
    except BaseException:
        if writer is not None:
            writer.cancel()
        raise


async def _write(protocol: Any, head: bytes, body: bytes) -> None:
    """Write a large request while its response may arrive already."""
    writer, view = StreamWriter(protocol, asyncio.get_running_loop()), memoryview(body)
    try:
        await writer.write(head)
        for start in range(0, len(view), _WRITE_BYTES):
            await writer.write(view[start : start + _WRITE_BYTES])
            await asyncio.sleep(0)
    except Exception as exc:  # the connection is closed; a response that arrived before is still read
        protocol.set_exception(exc)


class AiohttpResponse:
    """A response.

    :param writer: writes the rest of the request; ``None`` if it is written.
    """

    def __init__(self, connection: Any, message: Any, payload: Any, writer: asyncio.Task[None] | None) -> None:
        self.status: int = message.code
        self.headers: Mapping[str, str] = joined_headers(message.raw_headers)
        self._connection = connection
        self._payload = payload
        self._writer = writer
        payload.on_eof(self._complete)

    def __aiter__(self) -> AiohttpResponse:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk: bytes = await self._payload.readany()
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
        if self._writer is not None:
            self._writer.cancel()
        self._connection.close()

    def abort(self) -> None:
        """Close the connection; a reader gets an exception."""
        if not self._payload.is_eof():
            self._payload.set_exception(aiohttp.ClientConnectionError("the connection was closed"))
        self._connection.close()

    def _complete(self) -> None:
        """Keep the connection, unless the server responded before it had the whole request."""
        wire, is_written = self._connection.transport, self._writer is None or self._writer.done()
        if wire is None or not is_written or wire.get_write_buffer_size():
            self._connection.close()
        else:
            self._connection.release()


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
        self._readable = socket_readiness(protocol.transport.get_extra_info("socket"))
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
    detail = network_error_detail(system) if isinstance(system, Exception) else str(exc)
    return (TlsFailed if isinstance(system, ssl.SSLError) else found)(detail)
