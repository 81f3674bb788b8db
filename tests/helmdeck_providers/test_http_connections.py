"""HTTP connections of a provider: their cost does not grow, and compressed responses are bounded."""

from __future__ import annotations

import asyncio
import gzip
import sys
import tracemalloc

import pytest

from helmdeck_core import TransientUnknown
from helmdeck_providers import HttpConnection
from helmdeck_testing import provider_settings
from tests.helmdeck_providers.http_support import OK, Server

pytestmark = pytest.mark.usefixtures("transport")


def connected(server, **settings):
    return HttpConnection(provider_settings("test", base_url=server.url, **settings))


def test_cost_of_a_call_does_not_grow_with_concurrent_calls():
    def calls_each(count):
        """Function calls for each of some requests that are all under way at once, over open connections."""
        held, counted = [], [0]

        def all_at_once(connection):
            held.append(connection)
            if len(held) == count:
                for each in held:
                    each.transport.write(OK)
                held.clear()

        def record(frame, event, _):
            ours = "/tests/" in frame.f_code.co_filename or "/helmdeck_testing/" in frame.f_code.co_filename
            counted[0] += event == "call" and not ours

        async def run():
            async with Server(all_at_once) as server:
                connection = connected(server)
                for profile in (None, record):
                    sys.setprofile(profile)
                    await asyncio.gather(*(connection.post("/x", b"{}") for _ in range(count)))
                sys.setprofile(None)
                assert len(server.connections) == count
                await connection.aclose()

        asyncio.run(run())
        return counted[0] / count

    assert calls_each(100) < calls_each(10) * 1.05


def test_small_body_that_decompresses_to_a_large_one_is_not_read_on():
    bomb = gzip.compress(bytes(200_000_000))
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(bomb)

    async def run():
        async with Server(head + bomb) as server:
            connection = connected(server, max_response_bytes=1_000_000)
            tracemalloc.start()
            try:
                with pytest.raises(TransientUnknown, match="too large"):
                    await connection.post("/x", b"{}")
                assert tracemalloc.get_traced_memory()[1] < 60_000_000
            finally:
                tracemalloc.stop()
                await connection.aclose()

    asyncio.run(run())


def test_compressed_response_is_read_and_the_connection_is_reused():
    body = gzip.compress(b'{"ok": true}')
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(body)

    async def run():
        async with Server(head + body) as server:
            connection = connected(server)
            bodies = [(await connection.post("/x", b"{}")).body for _ in range(2)]
            await connection.aclose()
            assert len(server.connections) == 1
            assert b"accept-encoding: gzip, deflate" in server.heads[0].lower()
            return bodies

    assert asyncio.run(run()) == [b'{"ok": true}'] * 2


def test_streams_are_requested_without_compression():
    async def run():
        async with Server(OK) as server:
            connection = connected(server)
            async with connection.stream("/x", b"{}") as response:
                assert [chunk async for chunk in response] == [b"ok"]
            await connection.aclose()
            assert b"accept-encoding: identity" in server.heads[0].lower()

    asyncio.run(run())
