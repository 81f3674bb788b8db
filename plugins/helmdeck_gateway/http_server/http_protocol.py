"""Limits the head of a request (size, time) and the time that clients take to read a response. Joins writes of a response.

uvicorn limits only the time between two requests, and writes head, chunk and end of a response one by one. Its protocol is used
as it is. Of HTTP, only this is interpreted here: requests with two framings, of which a proxy may have read the other one, with a
large head or of an unknown version are refused, and a connection is closed after a response that came before the end of its request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from helmdeck_gateway.calls.stream_out import CONNECTION

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

_Protocol: Any = AutoHTTPProtocol

MAX_HEAD_BYTES: Final = 65_536
MIN_READ_RATE: Final = 1_024
"""Bytes per second; a client that reads a full buffer more slowly is disconnected."""
LINGER_S: Final = 2.0
"""Seconds for which the rest of a refused request is read and dropped: closed at once, the client might not see the response."""
_CLOSE: Final = (b"connection", b"close")
_TOO_LONG: Final = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class JoinedWrites:
    """A transport that can hold writes back, to write them at once, and that can close when the client has read all.

    :ivar lingers: ``close`` ends what is written, and waits for the client.
    """

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._held: list[bytes] | None = None
        self.lingers: bool = False
        self._timer: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write, or hold the data back; nothing follows what was written last."""
        if self.is_lingering:
            return
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

    @property
    def is_lingering(self) -> bool:
        """Whether what arrives is dropped."""
        return self._timer is not None

    def is_closing(self) -> bool:
        """Whether nothing can be written any more."""
        return self.is_lingering or self._transport.is_closing()

    def close(self) -> None:
        """Close the connection after everything is written."""
        self.release()
        if not self.lingers or self._transport.is_closing():
            self._transport.close()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LINGER_S, self._transport.abort)
            self._transport.write_eof()
            self._transport.resume_reading()

    def lost(self) -> None:
        """Stop waiting for the client, who has gone."""
        self.lingers = False
        if self._timer is not None:
            self._timer.cancel()


class JoinedResponse:
    """Sends one response: its head with the first part of its body, and its end with the last part.

    :param send: writes each message to the transport.
    :param cycle: the request and its response, as uvicorn has them.
    """

    def __init__(self, transport: JoinedWrites, send: Send, cycle: Any) -> None:
        self._transport = transport
        self._send = send
        self._cycle = cycle
        self._start: Message | None = None

    async def send(self, message: Message) -> None:
        """Implement ``send`` of ASGI."""
        if message["type"] == "http.response.start":
            self._start = message
            if self._cycle.more_body:  # the rest would be taken for another request, or keep the connection busy
                message["headers"] = [*(each for each in message["headers"] if each[0] != _CLOSE[0]), _CLOSE]
                self._transport.lingers = True
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

    header_s: float = 20.0
    head_bytes = MAX_HEAD_BYTES

    def __init__(self, *, config: uvicorn.Config, **options: Any) -> None:
        super().__init__(config=config, **options)
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self._is_in_head = False
        self._head_size = self._arrived = 0
        self.is_lost: bool = False
        self.on_lost: Callable[[], None] | None = None
        self._application: Any = config.loaded_app
        self.app = self._serve

    def _serve(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        scope[CONNECTION] = self
        response = JoinedResponse(self.transport, send, cast(Any, send).__self__)
        headers = scope["headers"]
        names = [name for name, _ in headers]
        if b"transfer-encoding" in names and b"content-length" in names:
            return self._refuse(response, 400, "invalid_framing", "a request has Content-Length or Transfer-Encoding")
        size = (
            len(scope["raw_path"])
            + len(scope["query_string"])
            + sum([len(name) + len(value) for name, value in headers])
        )
        if size > self.head_bytes:  # the parser saw all of it at once
            return self._refuse(
                response, 431, "head_too_large", f"at most {self.head_bytes:,} bytes of headers are read"
            )
        if scope["http_version"] not in ("1.1", "1.0"):
            return self._refuse(response, 505, "http_version", "this server speaks HTTP/1.1")
        coroutine: Coroutine[Any, Any, None] = self._application(scope, receive, response.send)
        return coroutine

    async def _refuse(self, response: JoinedResponse, status: int, code: str, message: str) -> None:
        """Answer with an error, and close the connection."""
        self.transport.lingers = True
        body = _error(code, message)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), _CLOSE]
        await response.send({"type": "http.response.start", "status": status, "headers": headers})
        await response.send({"type": "http.response.body", "body": body})

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser of uvicorn cannot read: parsers differ in what they accept."""
        if self._arrived > self.head_bytes and (self.cycle is None or self.cycle.response_complete):
            line, body = b"431 Request Header Fields Too Large", _error("head_too_large", msg)
        else:
            line, body = b"400 Bad Request", _error("invalid_http", msg)
        head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.lingers = True
        self.transport.write(head % (line, len(body)) + body)
        self.transport.close()

    def connection_made(self, transport: Any) -> None:
        """Limit the time until the first request."""
        super().connection_made(JoinedWrites(transport))
        self._head_timer = self.loop.call_later(self.timeout_keep_alive, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_head_timer()
        self._stop_read_timer()
        self.transport.lost()
        super().connection_lost(exc)
        self.is_lost = True
        if self.on_lost is not None:
            self.on_lost()

    def data_received(self, data: bytes) -> None:
        """Limit the time and size of a head that is incomplete."""
        if self.transport.is_lingering:
            return
        self._arrived = len(data) + (self._head_size if self._is_in_head else 0)
        super().data_received(data)
        if self.transport.is_closing():
            self._stop_head_timer()
            return
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
                self.transport.lingers = True
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


def _error(code: str, message: str) -> bytes:
    """An error that clients of every dialect can read."""
    error = {"type": "invalid_request_error", "message": message, "param": None, "code": code}
    return msgspec.json.encode({"type": "error", "error": error})


def limited_protocol(header_s: float) -> type[Any]:
    """Return the protocol class with a time limit in seconds."""
    return type("LimitedProtocol", (LimitedProtocol,), {"header_s": header_s})
