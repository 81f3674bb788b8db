"""The transport over streamable HTTP: bounded responses, no redirects to other hosts, no compression."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import httpx2
import msgspec
from mcp import types
from mcp.client.streamable_http import streamable_http_client

from helmdeck_mcp.client.messages import SESSION_LOST, Thinner, tolerant

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 300.0
"""Seconds of silence on a stream of events."""


TOO_LARGE_TEXTS = ("Server-sent event exceeded", "the response body exceeds")
"""How failed requests report an event or a body that exceeds the limit; the library keeps no more than the text."""


class _Bounded(httpx2.AsyncByteStream):
    """Counts the bytes of a response."""

    def __init__(self, stream: Any, limit: int) -> None:
        self._stream = stream
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            size += len(chunk)
            if size > self._limit:
                raise httpx2.StreamError(f"{TOO_LARGE_TEXTS[1]} {self._limit} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _BoundedTransport(httpx2.AsyncBaseTransport):
    """Limits responses; the library limits the events of a stream itself."""

    def __init__(self, limit: int) -> None:
        self._inner = httpx2.AsyncHTTPTransport()
        self._limit = limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = "identity"  # a small compressed body may be a large one
        response = await self._inner.handle_async_request(request)
        response.headers.pop("content-encoding", None)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            response.stream = _Bounded(response.stream, self._limit)
        return (
            await _explained(request, response)
            if response.status_code >= 400 and request.method == "POST"
            else response
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


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
        code, text = SESSION_LOST, "the server ended the session"
    elif error is not None:
        return httpx2.Response(status, headers=_JSON, content=body)
    else:
        code = types.METHOD_NOT_FOUND if status == 404 else types.INTERNAL_ERROR  # the codes of the library
        text = f"HTTP {status} {response.reason_phrase}".strip() + ADVICE.get(status, "")
    content = msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": text}})
    return httpx2.Response(status, headers=_JSON, content=content)


_JSON = {"content-type": "application/json"}


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
async def http_streams(url: str, headers: Mapping[str, str], limit: int) -> AsyncIterator[tuple[Any, Any]]:
    """Connect to a server, and yield the streams of its messages.

    :param limit: bytes of a response, or of one event of a stream; a larger one is not read.
    """
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_S, read=READ_TIMEOUT_S)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=timeout, transport=_BoundedTransport(limit)) as client,
        streamable_http_client(url, http_client=client, max_sse_event_size=limit) as (received, sent, *_),
    ):
        yield _TolerantStream(received), sent
