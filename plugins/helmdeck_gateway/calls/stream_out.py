"""A streamed response on its way to the client, and the watch for a client that leaves meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from helmdeck_gateway.calls.work import Work
from helmdeck_gateway.dialects.reply import StreamWriter

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

CONNECTION: Final = "helmdeck.connection"
"""The key of a scope under which the server of the gateway offers a ``Connection``."""


class Connection(Protocol):
    """The connection of a request.

    :ivar is_lost: it has ended.
    :ivar on_lost: is called when it ends; ``None`` for nothing.
    """

    is_lost: bool
    on_lost: Callable[[], None] | None


def raw_headers(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Return headers as ASGI sends them; control characters, which would end a header, as question marks."""
    return [(name.encode("latin-1"), _value(value).encode("latin-1", "replace")) for name, value in headers.items()]


def _value(text: str) -> str:
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


class StreamOut:
    """A streamed response.

    :ivar is_disconnected: the client left.
    :ivar is_replaced: a whole response is sent in its place, so that no keep-alive may open it.
    :ivar size: bytes of its body that were sent.
    """

    def __init__(self, send: Send, work: Work) -> None:
        self.raw = send
        self._work = work
        self.is_open: bool = False
        self.is_disconnected = False
        self.is_replaced = False
        self.has_ended: bool = False
        self.is_idle: bool = True
        self.size: int = 0
        self._start = b""

    async def open(self, writer: StreamWriter) -> None:
        """Send the headers and the first events, once."""
        if self.is_open:
            return
        self.is_open = True
        writer.opening.model = self._work.shown_model()
        # Proxies such as nginx would hold events back.
        more = {"cache-control": "no-cache", "x-accel-buffering": "no", **self._work.response_headers()}
        raw = [(b"content-type", writer.content_type), *raw_headers(more)]
        self._start = writer.start()  # before the server may switch to a task that sends as well
        await self.raw({"type": "http.response.start", "status": 200, "headers": raw})

    async def send(self, body: bytes, *, is_last: bool = False) -> None:
        """Send events, the first ones with those of the start of the response."""
        body, self._start = self._start + body, b""
        if self.has_ended or not (body or is_last):
            return
        self.has_ended, self.is_idle = is_last, False
        self.size += len(body)
        await self.raw({"type": "http.response.body", "body": body, "more_body": not is_last})

    async def ping(self, writer: StreamWriter) -> None:
        """Send a keep-alive."""
        if self.is_replaced:
            return
        await self.open(writer)
        await self.send(writer.ping)
        self.is_idle = True


class ClientWatch:
    """Cancels the current task when the client leaves, and sends keep-alives in a stream without output; a context manager.

    A server that offers a ``Connection`` reports the end of it; with another one, a task waits for it.

    :param out: the response, where it is a stream or may become one.
    :param writer: writes the keep-alives; ``None`` for a whole response, which has none.
    :ivar has_left: the client left, so the task is cancelled.
    """

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        out: StreamOut | None = None,
        writer: StreamWriter | None = None,
        ping_s: float = 0.0,
    ) -> None:
        self.has_left: bool = False
        self._connection: Connection | None = scope.get(CONNECTION)
        self._receive = receive
        self._out = out
        self._writer = writer
        self._ping_s = ping_s
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._ping: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None
        self._task: asyncio.Task[Any] = task
        if self._connection is None:
            self._waiting = asyncio.create_task(self._wait())
        elif self._connection.is_lost:
            self._lost()
        else:
            self._connection.on_lost = self._lost
        if self._writer is not None:
            self._timer = task.get_loop().call_later(self._ping_s, self._tick, self._writer)
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None and self._connection.on_lost == self._lost:
            self._connection.on_lost = None
        for each in (self._timer, self._waiting, self._ping):
            if each is not None:
                each.cancel()

    async def _wait(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._lost()

    def _lost(self) -> None:
        self.has_left = True
        if self._out is not None:
            self._out.is_disconnected = True
        self._task.cancel()

    def _tick(self, writer: StreamWriter) -> None:
        """Send a keep-alive, if nothing was sent since the last call."""
        self._timer = self._task.get_loop().call_later(self._ping_s, self._tick, writer)
        assert self._out is not None
        if not self._out.is_idle:
            self._out.is_idle = True
        elif self._ping is None or self._ping.done():
            self._ping = asyncio.create_task(self._out.ping(writer))
