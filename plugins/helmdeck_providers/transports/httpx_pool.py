"""Connections of ``httpcore2``, the core of ``httpx2``, without the layers above it that a transport does not need.

The pool of ``httpcore2`` looks at every connection for every request; the list here looks at one. Its connections, proxies
and TLS are used as they are, on sockets of ``asyncio`` (``network.py``).
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import ssl
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import httpcore2

from helmdeck_core import (
    ConnectFailed,
    ConnectionBroken,
    InvalidRequest,
    InvalidUrl,
    ProxySettings,
    TransportError,
    TransportSettings,
)
from helmdeck_providers.transports.headers import joined_headers
from helmdeck_providers.transports.httpx_client import in_words, leftover, parser_of
from helmdeck_providers.transports.network import Network

ERRORS: Mapping[type[Exception], type[TransportError]] = {
    httpcore2.ProxyError: ConnectFailed,
    httpcore2.LocalProtocolError: InvalidUrl,
    httpcore2.UnsupportedProtocol: InvalidUrl,
    httpcore2.ProtocolError: ConnectionBroken,
    httpcore2.NetworkError: ConnectionBroken,
}
"""What the exceptions of the library become; the nearest parent class counts. ``network.py`` raises the other ones itself."""

_MAX_CHUNK_BYTES = 262_144
"""Chunks that have arrived are joined up to this size."""
_MAX_EVENTS, _JOINED_CHUNKS = 4, 25
"""The same by number: events of the parser, and chunks in each. Parsing more small ones would block the event loop."""

# At this level the library logs the headers of responses, which may repeat a key.
if (_logger := logging.getLogger("httpcore2")).level == logging.NOTSET:
    _logger.setLevel(logging.INFO)


class HttpxTransport:
    """A list of connections to one server, or to the proxy before it."""

    def __init__(self, settings: TransportSettings) -> None:
        proxy = settings.proxy
        self._idle: list[httpcore2.AsyncConnectionInterface] = []
        self._all: set[httpcore2.AsyncConnectionInterface] = set()
        self._url = functools.lru_cache(16)(_url)
        self._extensions = {"timeout": {"connect": settings.connect_timeout_s}}
        urls = (settings.base_url, proxy.url if proxy else "")
        # Reading the certificates of the system takes a while, and plain HTTP needs none.
        context = _context() if any(url.startswith("https:") for url in urls) else None
        # Only its constructor of connections is used, which knows about proxies.
        self._new = httpcore2.AsyncConnectionPool(
            ssl_context=context,
            proxy=None if proxy is None else _proxy(proxy, context),
            keepalive_expiry=settings.keepalive_s,
            network_backend=Network(),
        ).create_connection

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> HttpxResponse:
        """Send a request; see ``helmdeck_core.Transport``."""
        sent = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        if body is not None:
            sent.append((b"content-length", b"%d" % len(body)))
        # What may hold a secret is not kept.
        place = _url(url) if "?" in url else self._url(url)
        request = httpcore2.Request(method, place, headers=sent, content=body or b"", extensions=self._extensions)
        connection = await self._usable() or self._new(place.origin)
        self._all.add(connection)
        try:
            response = await connection.handle_async_request(request)
            return HttpxResponse(self, connection, response)
        except Exception as exc:
            await self.drop(connection)
            error = _error(exc)
            if error is None:
                raise
        except BaseException:
            await self.drop(connection)
            raise
        raise error

    async def aclose(self) -> None:
        """Close all connections."""
        self._idle.clear()
        while self._all:
            await self._all.pop().aclose()

    async def keep(self, connection: httpcore2.AsyncConnectionInterface) -> None:
        """Use a connection again whose response was read, if it can be."""
        if connection in self._all and connection.is_available():
            self._idle.append(connection)
        else:
            await self.drop(connection)

    async def drop(self, connection: httpcore2.AsyncConnectionInterface) -> None:
        """Close a connection."""
        self._all.discard(connection)
        await connection.aclose()

    async def _usable(self) -> httpcore2.AsyncConnectionInterface | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_available() and not connection.has_expired():
                return connection
            await self.drop(connection)
        return None


class HttpxResponse:
    """A response; what has arrived is one chunk, however many chunks the server made of it."""

    def __init__(
        self, pool: HttpxTransport, connection: httpcore2.AsyncConnectionInterface, response: httpcore2.Response
    ) -> None:
        self.status: int = response.status
        self.headers: Mapping[str, str] = joined_headers(response.headers)
        self._pool = pool
        self._connection: httpcore2.AsyncConnectionInterface | None = connection
        stream: Any = response.stream
        self._stream = stream
        _join_chunks(parser_of(stream))
        self._chunks: AsyncGenerator[bytes, None] = stream.__aiter__()
        self._step: Any = None
        self._waits_for: asyncio.Future[None] | None = None
        self._error: TransportError | None = None
        self._is_complete = False

    def __aiter__(self) -> HttpxResponse:
        return self

    async def __anext__(self) -> bytes:
        chunks: list[bytes] = []
        size = 0
        while not (self._is_complete or self._error) and size < _MAX_CHUNK_BYTES and len(chunks) < _MAX_EVENTS:
            if self._waits_for is not None:
                if not self._waits_for.done():
                    if chunks:
                        break
                    # A cancellation ends the wait only; the step continues at the next call.
                    await asyncio.shield(self._waits_for)
                self._waits_for = None
            try:
                self._step = self._step or self._chunks.__anext__()
                # The step only waits for the socket, so it can stay pending while the reader works.
                self._waits_for = self._step.send(None)
            except StopIteration as done:
                self._step = None
                chunks.append(done.value)
                size += len(done.value)
            except StopAsyncIteration:
                self._step, self._is_complete = None, True
            except Exception as exc:
                self._step, self._error = None, _error(exc)
                if self._error is None:
                    raise
        if chunks:
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        if self._error is not None:
            raise self._error
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Release the connection; one whose response was not read to its end is closed."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        # Where the parser is not found (None), it may hold bytes that would be read as the next response.
        if self._is_complete and leftover(self._stream) is False:
            await self._stream.aclose()
            await self._pool.keep(connection)
            return
        await self._pool.drop(connection)
        if self._step is not None:  # it waited for the socket, which is closed now
            with contextlib.suppress(Exception):
                self._step.send(None)
        await self._chunks.aclose()


class _JoinedChunks:
    """The reader of a chunked body, as the parser calls it, with one event for the chunks that have arrived.

    All that is around an event of the parser takes longer than reading the chunk.

    :param read: the parser's own reader.
    """

    def __init__(self, read: Any) -> None:
        self._read = read
        self.read_eof = read.read_eof
        self._next: list[Any] = []

    def __call__(self, buffer: Any) -> Any:
        event: Any
        if self._next:
            if isinstance(event := self._next.pop(), Exception):
                raise event
            return event
        first = self._read(buffer)
        if not hasattr(first, "data"):
            return first
        chunks = [first.data]
        while len(chunks) < _JOINED_CHUNKS:
            try:
                event = self._read(buffer)
            except Exception as exc:  # what arrived before is read first
                event = exc
            if event is None:
                break
            if not hasattr(event, "data"):
                self._next.append(event)
                break
            chunks.append(event.data)
        return first if len(chunks) == 1 else type(first)(data=b"".join(chunks))


def _join_chunks(parser: Any) -> None:
    read = getattr(parser, "_reader", None)
    if type(read).__name__ == "ChunkedReader":
        vars(parser)["_reader"] = _JoinedChunks(read)


def _context() -> ssl.SSLContext:
    """Trust what the environment or the system names, otherwise Mozilla's list: not every container has one.

    :raises InvalidRequest: there is neither.
    """
    context = httpcore2.default_ssl_context()
    if _has_roots(context):
        return context
    try:
        import certifi
    except ModuleNotFoundError:
        detail = "install the package ca-certificates of the system, set SSL_CERT_FILE, or pip install certifi"
        raise InvalidRequest(
            "the system has no certificates for HTTPS", sub_cause="misconfigured", detail=detail
        ) from None
    context.load_verify_locations(certifi.where())
    return context


def _has_roots(context: ssl.SSLContext) -> bool:
    # On macOS and Windows the library asks the system.
    if type(context) is not ssl.SSLContext or {"SSL_CERT_FILE", "SSL_CERT_DIR"} & os.environ.keys():
        return True
    # OpenSSL reads the files of a directory when it needs them, by the hash in their names.
    directory = Path(ssl.get_default_verify_paths().openssl_capath)
    return bool(context.cert_store_stats()["x509_ca"]) or any(directory.glob("[0-9a-f]" * 8 + ".[0-9]"))


def _proxy(proxy: ProxySettings, context: ssl.SSLContext | None) -> httpcore2.Proxy:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in proxy.headers.items()]
    return httpcore2.Proxy(proxy.url, headers=headers, ssl_context=context if proxy.url.startswith("https:") else None)


def _url(url: str) -> httpcore2.URL:
    if not url.isprintable():
        raise InvalidUrl("it has characters that no URL can carry")
    if url.isascii():
        return httpcore2.URL(url)
    import httpx2  # knows how to write other characters, which few URLs have

    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL:
        raise InvalidUrl("it is not a URL") from None
    return httpcore2.URL(scheme=parsed.raw_scheme, host=parsed.raw_host, port=parsed.port, target=parsed.raw_path)


def _error(exc: Exception) -> TransportError | None:
    """Return the transport exception for one of the library; ``None`` for other exceptions."""
    if isinstance(exc, TransportError):
        return exc.with_traceback(None)
    found = next((ERRORS[kind] for kind in type(exc).__mro__ if kind in ERRORS), None)
    return found(in_words(exc)) if found else None
