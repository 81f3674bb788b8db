"""Requests over an ``AsyncClient`` of ``httpx2`` or ``httpx`` that the application made, and that it closes.

Everything that the client is configured with stays: certificates, proxies, authentication, event hooks, cookies, mock
transports. Only its timeouts and its redirects are replaced, which belong to the caller of a transport.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any

from helmdeck_core import (
    ConnectFailed,
    ConnectionBroken,
    ConnectTimeout,
    InvalidUrl,
    TlsFailed,
    TransportError,
    TransportSettings,
)
from helmdeck_providers.transports.headers import joined_headers
from helmdeck_providers.transports.sockets import network_error_detail

ERRORS: Mapping[str, type[TransportError]] = {
    "ConnectError": ConnectFailed,
    "ConnectTimeout": ConnectTimeout,
    "InvalidURL": InvalidUrl,
    "LocalProtocolError": InvalidUrl,
    "ProxyError": ConnectFailed,
    "RequestError": ConnectionBroken,
    "StreamError": ConnectionBroken,
    "UnsupportedProtocol": InvalidUrl,
}
"""What the exceptions of both libraries become, by name, so that reading the table imports none. The nearest parent counts."""


class ClientTransport:
    """The client that was handed over, as a transport."""

    def __init__(self, settings: TransportSettings) -> None:
        self._client: Any = settings.client
        # Connecting, reading, writing, waiting for a connection.
        self._timeout = (settings.connect_timeout_s, None, None, None)

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> ClientResponse:
        """Send a request; see ``helmdeck_core.Transport``."""
        client = self._client
        try:
            request = client.build_request(method, url, headers=dict(headers), content=body, timeout=self._timeout)
            return ClientResponse(await client.send(request, stream=True, follow_redirects=False))
        except Exception as exc:
            error = _error(exc)
            if error is None:
                raise
        raise error

    async def aclose(self) -> None:
        """Leave the client open: the application closes it."""


class ClientResponse:
    """A response of the client."""

    def __init__(self, response: Any) -> None:
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = joined_headers(response.headers.raw)
        self._response = response
        # Raw, since decompression is bounded by the caller. aiter_raw refuses responses of mock transports.
        self._chunks: AsyncIterator[bytes] = response.stream.__aiter__()

    def __aiter__(self) -> ClientResponse:
        return self

    async def __anext__(self) -> bytes:
        try:
            while not (chunk := await self._chunks.__anext__()):
                pass
            return chunk
        except StopAsyncIteration:
            if leftover(self._response.stream):
                await self._response.extensions["network_stream"].aclose()
            raise
        except Exception as exc:
            error = _error(exc)
            if error is None:
                raise
        raise error

    async def aclose(self) -> None:
        """Release the connection."""
        await self._response.aclose()


def leftover(stream: object) -> bool | None:
    """Whether the server sent more than its response; ``None`` where the parser of the connection is not found.

    The parser keeps such bytes and would read them as the response to the next request.

    :param stream: a response stream of ``httpx2``, ``httpx`` or their core; each holds the next one.
    """
    parser = parser_of(stream)
    return None if parser is None else bool(parser.trailing_data[0])


def parser_of(stream: object) -> Any:
    """The parser of the connection of a response stream; ``None`` where it is not found."""
    for _ in range(8):
        if (parser := getattr(stream, "_h11_state", None)) is not None:
            return parser
        inner = (getattr(stream, name, None) for name in ("_stream", "_httpcore_stream", "_connection"))
        stream = next((each for each in inner if each is not None), None)
    return None


def _error(exc: Exception) -> TransportError | None:
    kinds = [kind for kind in type(exc).__mro__ if kind.__module__.partition(".")[0] in ("httpx2", "httpx")]
    found = next((ERRORS[kind.__name__] for kind in kinds if kind.__name__ in ERRORS), None)
    if found is None:
        return None
    system = _system_error(exc)
    if isinstance(system, ssl.SSLError) and found is ConnectFailed:
        found = TlsFailed
    return found(network_error_detail(system) if system else in_words(exc))


def in_words(exc: Exception) -> str:
    """What an exception says; of a body that ended early, the same as with every transport."""
    said = str(exc)
    return "the body ended before it was complete" if said.startswith("peer closed connection without") else said


def _system_error(exc: BaseException | None) -> OSError | None:
    """The error of the system behind an exception, which says more than the layers in between."""
    while exc is not None:
        if isinstance(exc, OSError) and exc.errno:
            return exc
        exc = exc.exceptions[0] if isinstance(exc, BaseExceptionGroup) else exc.__cause__ or exc.__context__
    return None
