"""The transport over streamable HTTP: bounded responses, no redirects to other hosts, no compression.

A request that fails costs no other one: the library would end the whole connection for an error of the network.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self
from urllib.request import getproxies, proxy_bypass

import attrs
import httpx2
import msgspec
from mcp import types
from mcp.client.streamable_http import streamable_http_client

from helmdeck_cli import is_loopback
from helmdeck_mcp.client.messages import CALL_LOST, SESSION_LOST, UNAUTHORIZED, UNAVAILABLE, Thinner, tolerant
from helmdeck_mcp.client.options import MissingSecretError

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 300.0
"""Seconds of silence on a stream of events; a longer timeout of calls extends it."""


TOO_LARGE_TEXTS = ("Server-sent event exceeded", "the response body exceeds")
"""How failed requests report an event or a body that exceeds the limit; the library keeps no more than the text."""

PROXY_SCHEMES = ("http://", "https://", "socks5://", "socks5h://")

BROKEN_TEXTS = ("SSE stream", "the response was truncated")
"""How a call is reported whose response ended early; other calls have responses of their own."""


@attrs.frozen(kw_only=True)
class HttpServer:
    """A server that speaks streamable HTTP.

    :ivar headers: reads the headers of every request; called again when the server rejects them.
    :ivar limit: bytes of a response, or of one event of a stream; a larger one is not read.
    :ivar call_timeout_s: of a call, during which the server may send nothing.
    :ivar at_restart: called when the server has closed the stream of its notifications and does not open it again.
    """

    url: str
    headers: Callable[[], Mapping[str, str]]
    limit: int
    call_timeout_s: float
    at_restart: Callable[[], None]


class _Bounded(httpx2.AsyncByteStream):
    """Counts the bytes of a response."""

    def __init__(self, stream: Any, limit: int) -> None:
        self._stream = stream
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._stream:
                size += len(chunk)
                if size > self._limit:
                    raise httpx2.StreamError(f"{TOO_LARGE_TEXTS[1]} {self._limit} bytes")
                yield chunk
        except httpx2.TransportError as exc:
            raise httpx2.StreamError(f"{BROKEN_TEXTS[1]}: {type(exc).__name__}") from exc

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Renewed(httpx2.AsyncByteStream):
    """A stream of notifications, which the library opens again after its end, but not after a second failure or silence."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with contextlib.suppress(httpx2.TransportError):
            async for chunk in self._stream:
                yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Transport(httpx2.AsyncBaseTransport):
    """Limits responses; the library limits the events of a stream itself."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._headers = server.headers()
        # Each call under way has a connection; the library would let the 100th wait for one that a long call has.
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        self._inner = httpx2.AsyncHTTPTransport(proxy=_proxy_for(server.url), limits=limits)
        self._has_stream = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = "identity"  # a small compressed body may be a large one
        if request.method == "GET":
            return await self._stream_of(request)
        try:
            response = await self._answer(request)
        except httpx2.TransportError as exc:
            method = _method(request)
            if method.startswith("notifications/"):
                return httpx2.Response(202)
            if method != "tools/call":
                raise
            if isinstance(exc, (httpx2.ConnectError, httpx2.ConnectTimeout)):  # the server has not seen the call
                return _refusal(503, SESSION_LOST, "the server cannot be reached")
            return _refusal(502, CALL_LOST, f"the connection failed: {str(exc) or type(exc).__name__}")
        return (
            await _explained(request, response)
            if response.status_code >= 400 and request.method == "POST"
            else response
        )

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        request.headers.update(self._headers)
        response = await self._inner.handle_async_request(request)
        if response.status_code == 401 and self._has_new_headers():  # such as a token that another program renews
            await response.aclose()
            request.headers.update(self._headers)
            response = await self._inner.handle_async_request(request)
        response.headers.pop("content-encoding", None)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _Bounded(response.stream, self._server.limit)
        return response

    def _has_new_headers(self) -> bool:
        with contextlib.suppress(MissingSecretError):
            former, self._headers = self._headers, self._server.headers()
            return former != self._headers
        return False

    async def _stream_of(self, request: httpx2.Request) -> httpx2.Response:
        """Open the stream of notifications; that of a server that was restarted is refused, with its session."""
        try:
            response = await self._answer(request)
        except httpx2.TransportError:
            self._refused()
            raise
        if response.status_code >= 400:
            self._refused()
        else:
            self._has_stream = True
            response.stream = _Renewed(response.stream)
        return response

    def _refused(self) -> None:
        if self._has_stream:  # others do not offer it, and announce no changes
            self._server.at_restart()

    async def aclose(self) -> None:
        await self._inner.aclose()


def _proxy_for(url: str) -> str | None:
    """The proxy that the environment names for a URL; a proxy cannot reach loopback hosts.

    :raises ValueError: it cannot be used; it is not repeated, for it may hold a password.
    """
    found, parts = getproxies(), httpx2.URL(url)
    proxy = found.get(parts.scheme) or found.get("all")
    if not proxy or is_loopback(parts.host) or proxy_bypass(parts.host):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not proxy.startswith(PROXY_SCHEMES):
        raise ValueError("HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is not the URL of a proxy (it is not shown)")
    return proxy


class _Method(msgspec.Struct):
    method: str = ""


def _method(request: httpx2.Request) -> str:
    try:
        return msgspec.json.decode(request.content, type=_Method).method
    except msgspec.MsgspecError:
        return ""


class _Error(msgspec.Struct):
    code: int
    message: str


class _ErrorBody(msgspec.Struct):
    error: _Error


ADVICE = {
    401: "; check the credentials in headers; a secret is env:NAME or file:PATH",
    403: "; check the credentials in headers",
    404: "; check its URL",
    405: "; check its URL, which must be that of streamable HTTP, and not of the former transport with /sse",
}


async def _explained(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    """Return the response of a request that was refused with an error of the protocol as its body.

    The library shows no status, and does not see in every form of refusal that a session has ended.
    """
    body, status = await _read(response), response.status_code
    try:
        error = msgspec.json.decode(body, type=_ErrorBody).error
    except (msgspec.MsgspecError, UnicodeDecodeError):
        error = None
    if "mcp-session-id" in request.headers and _ends_session(status, error):
        return _refusal(status, SESSION_LOST, "the server ended the session")
    if error is not None and status not in _CODES:
        return httpx2.Response(status, headers=_JSON, content=body)
    text = f"HTTP {status} {response.reason_phrase}".strip() + ADVICE.get(status, "")
    if wait_s := response.headers.get("retry-after", ""):
        text += f"; Retry-After: {wait_s}"
    code = _CODES.get(status, types.METHOD_NOT_FOUND if status == 404 else types.INTERNAL_ERROR)  # of the library
    return _refusal(status, code, text if error is None else f"{error.message} ({text})")


_CODES = {401: UNAUTHORIZED, 403: UNAUTHORIZED, 429: UNAVAILABLE, 502: UNAVAILABLE, 503: UNAVAILABLE, 504: UNAVAILABLE}
"""Codes of statuses that mean the same whatever the body contains."""

_JSON = {"content-type": "application/json"}


def _refusal(status: int, code: int, text: str) -> httpx2.Response:
    content = msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}})
    return httpx2.Response(status, headers=_JSON, content=content)


async def _read(response: httpx2.Response) -> bytes:
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)
    try:
        return b"".join([chunk async for chunk in stream])
    except httpx2.StreamError:  # too large
        return b""
    finally:
        await stream.aclose()


def _ends_session(status: int, error: _Error | None) -> bool:
    """Whether a session does not exist any more. The protocol has 404 for it; some servers answer 400 and name the session."""
    if status == 404:
        return error is None or error.code != types.METHOD_NOT_FOUND
    return status == 400 and error is not None and "session" in error.message.casefold()


class _TolerantStream:
    """A stream of messages whose lists of tools are always valid for the library, without floods of notifications."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._thinner = Thinner()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def receive(self) -> Any:
        while not self._thinner.keeps(message := await self._inner.receive()):
            pass
        return tolerant(message)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while not self._thinner.keeps(message := await self._inner.__anext__()):
            pass
        return tolerant(message)

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> Any:
        return await self._inner.__aexit__(*exc)


@asynccontextmanager
async def http_streams(server: HttpServer) -> AsyncIterator[tuple[Any, Any]]:
    """Connect to a server, and yield the streams of its messages.

    :raises MissingSecretError: a secret of the headers cannot be read.
    """
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_S, read=max(READ_TIMEOUT_S, server.call_timeout_s))
    async with (
        httpx2.AsyncClient(timeout=timeout, transport=_Transport(server)) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=server.limit) as (received, sent, *_),
    ):
        yield _TolerantStream(received), sent
