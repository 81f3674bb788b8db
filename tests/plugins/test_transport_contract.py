"""Both built-in transports, and clients that the application hands over, keep the contract of transports."""

from __future__ import annotations

import contextlib

import httpx
import httpx2
import pytest

import helmdeck_testing
from helmdeck_core import TransportSettings
from helmdeck_plugins.transports import aiohttp as aiohttp_transport
from helmdeck_plugins.transports import httpx as httpx_transport

TransportContract = helmdeck_testing.TransportContract


class TestHttpx(TransportContract):
    (spec,) = httpx_transport.helmdeck_transports()


class TestAiohttp(TransportContract):
    (spec,) = aiohttp_transport.helmdeck_transports()


class OfHttpx(TransportContract):
    """The contract for a client that the application made; what belongs to the client's own settings is left out."""

    (spec,) = httpx_transport.helmdeck_transports()

    @contextlib.asynccontextmanager
    async def opened(self, url, proxy=None, **settings):
        through = proxy and self.library.Proxy(proxy.url, headers=dict(proxy.headers))
        limits = self.library.Limits(max_connections=None)
        async with self.library.AsyncClient(limits=limits, proxy=through, trust_env=False) as client:
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
