"""Connections that are idle, slow or stuck are closed in time; the clock of these tests is virtual."""

import asyncio
import contextlib

import pytest

from helmdeck_gateway import Gateway, GatewaySettings
from helmdeck_gateway.http_server.live_gateway import LiveGateway
from helmdeck_gateway.http_server.server import Address, http_server
from helmdeck_testing import make_deck

CHUNKED = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"


class Loop:
    """A gateway on the loop of a test, whose time is virtual, and raw connections to it."""

    def __init__(self, **settings):
        self._settings = GatewaySettings(**settings)

    async def __aenter__(self):
        self.server = http_server(LiveGateway(Gateway(make_deck(), self._settings)))
        self._listener = Address(port=0).listen()
        self._task = asyncio.create_task(self.server._serve(sockets=[self._listener]))
        while not self.server.started:  # noqa: ASYNC110 - the state of uvicorn has no event
            await asyncio.sleep(0)
        return self

    async def connect(self):
        return await asyncio.open_connection(*self._listener.getsockname())

    async def __aexit__(self, *_):
        self.server.should_exit = True
        await self._task


@pytest.mark.parametrize(
    ("sent", "limit_s"),
    [
        ([b""], 3),
        ([b"POST /v1/chat", b"/completions HTTP/1.1\r\nhost: x\r\n", b"a: b\r\n"], 1),
        ([b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n", b"GET /heal"], 1),
        ([b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"], 3),
    ],
    ids=["no request", "slow head", "slow second head", "idle after a request"],
)
def test_connection_that_sends_no_complete_head_is_closed(virtual_time_with_sockets, sent, limit_s):
    async def run():
        async with Loop(keep_alive_s=3, header_s=1) as loop:
            reader, writer = await loop.connect()
            for part in sent:
                writer.write(part)
                if part.endswith(b"\r\n\r\n"):
                    assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 200")
                await asyncio.sleep(0.25)
            start = asyncio.get_running_loop().time()
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
            return asyncio.get_running_loop().time() - start

    assert limit_s - 0.25 * len(sent) <= asyncio.run(run()) <= limit_s + 0.5


def test_body_that_drips_in_is_refused_and_its_connection_closed(virtual_time_with_sockets):
    async def run():
        async with Loop(body_s=4, header_s=3) as loop:
            reader, writer = await loop.connect()
            writer.write(CHUNKED)

            async def drip():
                while not writer.is_closing():
                    writer.write(b"1\r\n \r\n")
                    await asyncio.sleep(1)

            dripping = asyncio.create_task(drip())
            answer = await reader.readuntil(b"\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                await reader.read()
            dripping.cancel()
            writer.close()
            return answer

    assert b" 408 " in asyncio.run(run())
    assert 4 <= virtual_time_with_sockets.passed_s <= 4.5


def test_client_that_does_not_read_its_response_is_disconnected(virtual_time_with_sockets):
    async def run():
        async with Loop(header_s=3) as loop:
            _, writer = await loop.connect()
            writer.transport.pause_reading()
            request = b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n"
            writer.write(request * 4_000)
            await asyncio.sleep(1)
            while loop.server.server_state.connections:  # noqa: ASYNC110 - the state of uvicorn has no event
                await asyncio.sleep(1)
            writer.close()

    asyncio.run(run())
    assert virtual_time_with_sockets.passed_s >= 3


def test_body_that_does_not_arrive_in_time_is_refused(virtual_time):
    async def run():
        sent = []

        async def receive():
            await asyncio.Event().wait()

        async def send(message):
            sent.append(message)

        async with make_deck() as deck:
            scope = {"type": "http", "method": "POST", "path": "/v1/messages", "headers": [], "root_path": ""}
            await Gateway(deck).app(scope, receive, send)
        return sent[0]["status"]

    assert asyncio.run(run()) == 408
