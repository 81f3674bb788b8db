"""A server on the event loop of the test that writes exactly the bytes it is given."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import Any, Self

from helmdeck_testing.listener import LoopListener

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

Reply = bytes | Callable[["ServedConnection"], None]


class ServedConnection(asyncio.Protocol):
    """One connection of the server; every complete request gets the next reply."""

    transport: Any

    def __init__(self, server: ByteServer) -> None:
        self.server = server
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it."""
        self.transport = transport
        self.server.connections.append(self)
        if self.server.greeting:
            self.transport.write(self.server.greeting)

    def data_received(self, data: bytes) -> None:
        """Reply when the request is complete."""
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        lines = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:]) if end else {}
        if end and len(body) >= int(lines.get(b"content-length", 0)):
            self._received = b""
            self.server.heads.append(head)
            self.server.last = self
            self.server.answer(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Count it."""
        self.server.gone.append(self)


class ByteServer:
    """A server for an ``async with`` block.

    :param answers: bytes, or functions that are called with the connection; the last one is used again and again.
    :param greeting: is written when a client has connected.
    :param options: of ``loop.connect_accepted_socket``, such as ``ssl``.
    :ivar heads: the requests, each without its body.
    :ivar last: the connection of the last request.
    """

    last: ServedConnection
    protocol = ServedConnection

    def __init__(self, *answers: Reply, host: str = "127.0.0.1", greeting: bytes = b"", **options: Any) -> None:
        self.greeting = greeting
        self.answers: list[Reply] = list(answers)
        self.host = host
        self.port: int = 0
        self.options = options
        self.connections: list[ServedConnection] = []
        self.gone: list[ServedConnection] = []
        self.heads: list[bytes] = []
        self._listener = LoopListener(self._connect)

    @property
    def open(self) -> int:
        """How many connections are open."""
        return len(self.connections) - len(self.gone)

    @property
    def url(self) -> str:
        """Its URL without a path."""
        return f"{'https' if 'ssl' in self.options else 'http'}://{self.host}:{self.port}"

    async def __aenter__(self) -> Self:
        self._listener.start(self.host)
        self.port = self._listener.port
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.close()
        for each in self.connections:
            each.transport.abort()
        await until(lambda: self.open == 0)

    async def _connect(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(lambda: self.protocol(self), connection, **self.options)

    def answer(self, connection: ServedConnection) -> None:
        """Write the next reply."""
        reply = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(reply):
            reply(connection)
        else:
            connection.transport.write(reply)


def then_close(reply: bytes) -> Reply:
    """Write a reply, and close the connection."""

    def act(connection: ServedConnection) -> None:
        connection.transport.write(reply)
        connection.transport.close()

    return act


def reset(connection: ServedConnection) -> None:
    """Reply with a reset of the connection."""
    plug = connection.transport.get_extra_info("socket")
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.transport.abort()


def silent(connection: ServedConnection) -> None:
    """Reply nothing."""


async def until(holds: Callable[[], bool], limit_s: float = 60.0) -> None:
    """Let the event loop run until something holds.

    :raises TimeoutError: it does not.
    """
    async with asyncio.timeout(limit_s):
        while not holds():  # noqa: ASYNC110  # it is about the other side of a connection
            await asyncio.sleep(0)


async def turns(count: int = 20) -> None:
    """Let everything else on the event loop run."""
    for _ in range(count):
        await asyncio.sleep(0)
