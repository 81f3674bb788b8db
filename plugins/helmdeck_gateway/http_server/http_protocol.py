"""Limits the head of a request (size, time) and the time that clients take to read a response. Joins writes of a response.

uvicorn limits only the time between two requests, and writes head, chunk and end of a response one by one. Its protocol is used
as it is; nothing of HTTP is interpreted here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from helmdeck_gateway.calls.stream_out import CONNECTION

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

_Protocol: Any = AutoHTTPProtocol

MAX_HEAD_BYTES: Final = 65_536
MIN_READ_RATE: Final = 1_024
"""Bytes per second; a client that reads a full buffer more slowly is disconnected."""
_TOO_LONG: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class JoinedWrites:
    """A transport that can hold writes back, to write them at once."""

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._held: list[bytes] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write, or hold the data back."""
        if self._held is None:
            self._transport.write(data)
        else:
            self._held.append(data)

    def hold(self) -> None:
        """Hold back what is written from now on."""
        if self._held is None:
            self._held = []

    def release(self) -> None:
        """Write what was held back."""
        held, self._held = self._held, None
        if held:
            self._transport.write(b"".join(held))

    def close(self) -> None:
        """Close the connection after everything is written."""
        self.release()
        self._transport.close()


class JoinedResponse:
    """Sends one response: its head with the first part of its body, and its end with the last part.

    :param send: writes each message to the transport.
    """

    def __init__(self, transport: JoinedWrites, send: Send) -> None:
        self._transport = transport
        self._send = send
        self._start: Message | None = None

    async def send(self, message: Message) -> None:
        """Implement ``send`` of ASGI."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        start, self._start = self._start, None
        self._transport.hold()
        try:
            if start is not None:
                await self._send(start)
            await self._send(message)
        finally:
            self._transport.release()


class LimitedProtocol(_Protocol):  # type: ignore[misc]
    """One connection.

    :cvar header_s: seconds from the first byte of a head to its last one, and between two checks whether a client reads.
    :cvar head_bytes: size of a head; not every parser has a limit of its own.
    :ivar is_lost: the connection has ended.
    :ivar on_lost: is called when it ends.
    """

    header_s = 20.0
    head_bytes = MAX_HEAD_BYTES

    def __init__(self, *, config: uvicorn.Config, **options: Any) -> None:
        super().__init__(config=config, **options)
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self._is_in_head = False
        self._head_size = 0
        self.is_lost = False
        self.on_lost: Callable[[], None] | None = None
        self._application: Any = config.loaded_app
        self.app = self._serve

    def _serve(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        scope[CONNECTION] = self
        coroutine: Coroutine[Any, Any, None] = self._application(
            scope, receive, JoinedResponse(self.transport, send).send
        )
        return coroutine

    def connection_made(self, transport: Any) -> None:
        """Limit the time until the first request."""
        super().connection_made(JoinedWrites(transport))
        self._head_timer = self.loop.call_later(self.timeout_keep_alive, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_head_timer()
        self._stop_read_timer()
        super().connection_lost(exc)
        self.is_lost = True
        if self.on_lost is not None:
            self.on_lost()

    def data_received(self, data: bytes) -> None:
        """Limit the time and size of a head that is incomplete."""
        super().data_received(data)
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._is_in_head = False
            if self._head_timer is not None:
                self._stop_head_timer()
        elif not self._is_in_head:  # a part of a head, or the rest of a body that was refused
            self._is_in_head = True
            self._stop_head_timer()
            self._head_timer = self.loop.call_later(self.header_s, self.transport.abort)
            self._head_size = 0
        if self._is_in_head and not (cycle is not None and cycle.more_body):
            self._head_size += len(data)
            if self._head_size > self.head_bytes and not self.transport.is_closing():
                self.transport.write(_TOO_LONG)
                self.transport.close()

    def pause_writing(self) -> None:
        """Limit the time that a full buffer waits for a client that hardly reads."""
        super().pause_writing()
        if self._read_timer is None:
            self._watch_reading()

    def resume_writing(self) -> None:
        """Stop the timer of ``pause_writing``."""
        super().resume_writing()
        self._stop_read_timer()

    def _watch_reading(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._read_timer = self.loop.call_later(self.header_s, self._check_reading, unread)

    def _check_reading(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() < MIN_READ_RATE * self.header_s:
            self.transport.abort()
        else:
            self._watch_reading()

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None


def limited_protocol(header_s: float) -> type[Any]:
    """Return the protocol class with a time limit in seconds."""
    return type("LimitedProtocol", (LimitedProtocol,), {"header_s": header_s})
