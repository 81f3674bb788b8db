"""A server for tests on their own loop, which says to the byte what it is told to, and a pool of connections to it."""

from __future__ import annotations

import asyncio
import contextlib

import httpx

from helmdeck_core.http.connections import Pool

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

    def __init__(self, *answers, **options) -> None:
        self.answers = list(answers)
        self.options = options
        self.connections = []
        self.gone = []
        self.heads = []

    async def __aenter__(self):
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: Served(self), "127.0.0.1", 0, **self.options)
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
async def pool_at(server, **options):
    pool = Pool("127.0.0.1", server.port, **options)
    try:
        yield pool
    finally:
        await pool.aclose()
        await until(lambda: pool.open == 0)


async def begin(pool, method="POST", body=b"{}"):
    return await pool.send(method, httpx.URL("http://127.0.0.1/x"), {"host": "127.0.0.1"}, body)


async def ask(pool, **request):
    """Status and body of a whole answer."""
    reply = await begin(pool, **request)
    try:
        return reply.status, b"".join([piece async for piece in reply])
    finally:
        await reply.aclose()


async def until(holds):
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110  # it is about what the other side does
            await asyncio.sleep(0)


def closing(answer):
    """Answer, and close."""

    def act(connection):
        connection.transport.write(answer)
        connection.transport.close()

    return act
