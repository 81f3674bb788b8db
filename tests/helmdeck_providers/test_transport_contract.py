"""The built-in transport, and clients that the application hands over, keep the contract of transports."""

from __future__ import annotations

import contextlib
import ssl

import httpx
import httpx2
import pytest

import helmdeck_testing
from helmdeck_core import ConnectionBroken, InvalidUrl, TransportSettings
from helmdeck_providers.transports import httpx as httpx_transport
from helmdeck_testing.byte_server import ServedConnection

TransportContract = helmdeck_testing.TransportContract
TLS = ssl.create_default_context()
"""For all clients: reading the certificates of the system takes most of the time of making one."""


class OfTheProject(TransportContract):
    """What the contract leaves open, and every transport of the project keeps."""

    @pytest.mark.parametrize("value", ["a\r\nx: y", "a\nb", "a\rb", "a\x00b"])
    def test_header_that_cannot_be_sent_is_an_error_and_nothing_is_sent(self, value):
        async def act(transport, server):
            with pytest.raises(InvalidUrl):
                await self.ask(transport, server, x=value)
            assert server.heads == []

        self.run(act, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    @pytest.mark.parametrize("size", [300_000, 6_000_000])
    def test_large_body_arrives_unchanged_and_the_connection_is_reused(self, size):
        body = b"".join(b"%08d" % number for number in range(size // 8))
        bodies = []

        class Recording(ServedConnection):
            def data_received(self, data):
                received = self._received + data
                super().data_received(data)
                if not self._received:
                    bodies.append(received.partition(b"\r\n\r\n")[2])

        async def act(transport, server):
            server.protocol = Recording
            for _ in range(2):
                assert await self.ask(transport, server, body=body) == (200, b"ok")
            assert bodies == [body] * 2
            assert len(server.connections) == 1

        self.run(act, b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")

    @pytest.mark.parametrize("count", [1, 24, 25, 26, 130])
    def test_small_chunks_are_read_to_their_end_and_the_connection_is_reused(self, count):
        body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in CHUNKS[:count])

        async def act(transport, server):
            for _ in range(2):
                assert await self.ask(transport, server) == (200, b"".join(CHUNKS[:count]))
            assert len(server.connections) == 1

        self.run(act, CHUNKED + body + b"0\r\nx-trailer: y\r\n\r\n")


CHUNKS = [b"chunk %d" % number for number in range(130)]
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


class TestHttpx(OfTheProject):
    (spec,) = httpx_transport.helmdeck_transports()

    @pytest.mark.parametrize("damage", [b"zz\r\n", b"3\r\nabcd\r\n"])
    @pytest.mark.parametrize("count", [1, 25, 40])
    def test_small_chunks_before_a_malformed_one_are_read(self, count, damage):
        body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in CHUNKS[:count])

        async def act(transport, server):
            found = []

            async def read(response):
                async for chunk in response:
                    found.append(chunk)

            response = await self.send(transport, server)
            with pytest.raises(ConnectionBroken):
                await read(response)
            assert b"".join(found).removesuffix(b"abc") == b"".join(CHUNKS[:count])
            await response.aclose()

        self.run(act, CHUNKED + body + damage)

    def test_small_chunks_that_arrive_together_are_joined(self):
        body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in CHUNKS[:100])

        async def act(transport, server):
            response = await self.send(transport, server)
            assert len([chunk async for chunk in response]) <= 10, "four at a time would be 25"
            await response.aclose()

        self.run(act, CHUNKED + body + b"0\r\n\r\n")


class OfHttpx(TransportContract):
    """The contract for a client that the application made; what belongs to the client's own settings is left out."""

    (spec,) = httpx_transport.helmdeck_transports()

    @contextlib.asynccontextmanager
    async def opened(self, url, proxy=None, **settings):
        through = proxy and self.library.Proxy(proxy.url, headers=dict(proxy.headers))
        limits = self.library.Limits(max_connections=None)
        async with self.library.AsyncClient(limits=limits, proxy=through, trust_env=False, verify=TLS) as client:
            assert self.spec.accepts(client)
            transport = self.spec.open(TransportSettings(base_url=url, client=client, **settings))
            yield transport
            await transport.aclose()
            assert not client.is_closed, "the application closes it"

    def excluded(self, *_):
        pytest.skip("it is the client's own setting, or its pool's")

    test_request_is_sent_as_given = excluded  # it adds headers of its own
    test_escaped_path_is_sent_as_it_is = excluded  # it removes dots
    test_cookies_are_not_kept = excluded
    test_connection_is_not_used_again_after_keepalive_s = excluded
    test_closing_the_transport_breaks_responses_that_are_still_read = excluded
    # What is not read before a reader is cancelled is lost with the connection.
    test_cancelled_read_loses_no_bytes = excluded
    # It is read once the connection was written to.
    test_response_before_the_request_was_complete_is_read_and_the_connection_is_not_reused = excluded


class TestClientOfHttpx2(OfHttpx):
    library = httpx2


class TestClientOfHttpx(OfHttpx):
    library = httpx
