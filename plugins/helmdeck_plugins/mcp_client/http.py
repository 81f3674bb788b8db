"""The connection to a server over HTTP: bounded responses, no redirects to other hosts, no compression."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import httpx2
from mcp.client.streamable_http import streamable_http_client

from helmdeck_plugins.mcp_client.messages import Thinner, tolerant

CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 300.0
"""Seconds of silence on a stream of events."""


class ResponseTooLargeError(httpx2.SSEError, httpx2.StreamError):
    """A response, or one event of a stream, exceeds the limit; the library fails the request for either base class."""


class _Bounded(httpx2.AsyncByteStream):
    """Counts the bytes of a response; those of a stream of events from one event to the next."""

    def __init__(self, stream: Any, limit: int, at_overflow: Callable[[], None], *, has_events: bool) -> None:
        self._stream = stream
        self._at_overflow = at_overflow
        self._limit = limit
        self._has_events = has_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            end = max(chunk.rfind(b"\n\n"), chunk.rfind(b"\r\n\r\n")) if self._has_events else -1
            size = len(chunk) - end if end >= 0 else size + len(chunk)
            if size > self._limit:
                self._at_overflow()
                raise ResponseTooLargeError(f"the answer has more than {self._limit:,} bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _BoundedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, limit: int, at_overflow: Callable[[], None]) -> None:
        self._inner = httpx2.AsyncHTTPTransport()
        self._at_overflow = at_overflow
        self._limit = limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["accept-encoding"] = "identity"  # a small compressed body may be a large one
        response = await self._inner.handle_async_request(request)
        response.headers.pop("content-encoding", None)
        has_events = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = _Bounded(response.stream, self._limit, self._at_overflow, has_events=has_events)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


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
async def http_streams(
    url: str, headers: Mapping[str, str], limit: int, at_overflow: Callable[[], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """Connect to a server, and yield the streams of its messages.

    :param limit: bytes of a response, or of one event of a stream; a larger one is not read.
    :param at_overflow: called for each of these; the library does not always tell why a request failed.
    """
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_S, read=READ_TIMEOUT_S)
    transport = _BoundedTransport(limit, at_overflow)
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=timeout, transport=transport) as client,
        streamable_http_client(url, http_client=client) as (received, sent, *_),
    ):
        yield _TolerantStream(received), sent
