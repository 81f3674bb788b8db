"""A server for tests on their own loop, which says to the byte what it is told to, and a client for it."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import socket
import struct

from helmdeck_core import ProviderSettings
from helmdeck_provider_kit.client import Client

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


class Served(asyncio.Protocol):
    """One connection of the server's: every request gets the next of the answers, the last one again and again."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._got = b""

    def connection_made(self, transport):
        self.transport = transport
        self._server.connections.append(self)

    def data_received(self, data):
        self._got += data
        head, end, rest = self._got.partition(b"\r\n\r\n")
        lines = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:]) if end else {}
        if end and len(rest) >= int(lines.get(b"content-length", 0)):
            self._got = b""
            self._server.heads.append(head)
            self._server.last = self
            self._server.answer(self)

    def connection_lost(self, exc):
        self._server.gone.append(self)


class Server:
    """A server on the test's own loop.

    :param answers: bytes, or what is called with the connection.
    """

    def __init__(self, *answers, host="127.0.0.1", **options) -> None:
        self.answers = list(answers)
        self.host = host
        self.options = options
        self.connections = []
        self.gone = []
        self.heads = []

    @property
    def open(self):
        """How many connections there are."""
        return len(self.connections) - len(self.gone)

    async def __aenter__(self):
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Served(self), self.host, 0, **self.options)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for each in self.connections:
            each.transport.abort()
        await asyncio.sleep(0)

    def answer(self, connection):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(answer):
            answer(connection)
        else:
            connection.transport.write(answer)


@contextlib.asynccontextmanager
async def client_at(server, **options):
    """A client, and that none of its connections is left behind it."""
    settings = ProviderSettings(name="test", base_url=f"http://127.0.0.1:{server.port}", **options)
    client = Client(settings, is_secure=False, proxy=None)
    client.base_url = settings.base_url
    try:
        yield client
    finally:
        await client.aclose()
        await until(lambda: server.open == 0)


async def begin(client, method="POST", body=b"{}"):
    return await client.send(method, f"{client.base_url}/x", {}, body)


async def ask(client, **request):
    """Status and body of a whole answer."""
    reply = await begin(client, **request)
    try:
        return reply.status, b"".join([piece async for piece in reply])
    finally:
        await reply.aclose()


async def until(holds):
    async with asyncio.timeout(60):
        while not holds():  # noqa: ASYNC110  # it is about what the other side does
            await asyncio.sleep(0)


def tasks_left():
    """The other unfinished tasks of the loop. A connection that a server accepts late is not the client's."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    return [task for task in others if not task.done() and "_accept_connection" not in task.get_coro().__qualname__]


async def turns(count=20):
    """Give the other side its turns on the loop."""
    for _ in range(count):
        await asyncio.sleep(0)


def closing(answer):
    """Answer, and close."""

    def act(connection):
        connection.transport.write(answer)
        connection.transport.close()

    return act


# -- answers in steps -----------------------------------------------------------------------------------------


class Step(enum.Enum):
    """What a server does beside sending bytes; without one of the first three it closes at the end."""

    RESET = "reset"
    STALL = "stall"
    KEEP = "keep"
    TICK = "tick"
    """It waits a little."""


def saying(*steps):
    """Say one thing after the other; all bytes before a pause are one write."""

    def act(connection, left=steps):
        written = []
        for number, step in enumerate(left, 1):
            if isinstance(step, bytes):
                written.append(step)
                continue
            connection.transport.write(b"".join(written))
            if step is Step.TICK:
                asyncio.get_running_loop().call_later(0.01, act, connection, left[number:])
            elif step is Step.RESET:
                plug = connection.transport.get_extra_info("socket")
                plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.transport.abort()
            return
        connection.transport.write(b"".join(written))
        connection.transport.close()

    return act


def http(body, status=200, reason="OK", **headers):
    """An answer; a header that is ``None`` is left out."""
    named = {"content-length": len(body), **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [f"{name}: {value}" for name, value in named.items() if value is not None]
    return "\r\n".join([f"HTTP/1.1 {status} {reason}", *lines, "", ""]).encode("latin-1") + body


def chunked(body, size=64, *, ends=True, **headers):
    """The same in chunks."""
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    head = http(b"", content_length=None, transfer_encoding="chunked", **headers)
    return head + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n" * ends


def busy(asker):
    """How many connections of a transport, or of its client, have an answer under way."""
    client = getattr(asker, "_client", asker)
    return 0 if client is None else len(client._session.connector._acquired)
