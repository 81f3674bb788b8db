"""The way to a server: its addresses, the time that connecting may take, and who vouches for it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from pathlib import Path

import pytest

from helmdeck_core import LikelyTimeout, ProviderUnavailable
from helmdeck_providers import HttpConnection
from helmdeck_testing import provider_settings
from tests.helmdeck_providers.http_support import CHUNKED, OK, Server, busy, then_close, until

pytestmark = pytest.mark.usefixtures("transport")

CERTIFICATE = Path(__file__).parents[1] / "data" / "tls"
"""Of localhost and 127.0.0.1, signed by itself, until 2126."""


def settings(**options):
    return provider_settings("test", **options)


async def refused(options):
    transport = HttpConnection(options)
    try:
        with pytest.raises(ProviderUnavailable) as caught:
            await transport.post("/x", b"{}")
        return caught.value
    finally:
        await transport.aclose()


@pytest.fixture
def deaf():
    """The URL of a server that neither accepts nor refuses a connection."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):  # connections that are not accepted fill the backlog
            each = stack.enter_context(socket.socket())
            each.setblocking(False)
            each.connect_ex(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_a_server_that_does_not_take_the_connection_in_time_cannot_be_reached(deaf):
    found = asyncio.run(refused(settings(base_url=deaf, connect_timeout_s=0.01)))
    assert str(found).startswith("the provider cannot be reached")
    assert found.detail == "no connection within 0.01 s; see providers.test.connect_timeout_s"


def test_a_limit_of_the_whole_that_ends_while_connecting_is_one_of_the_whole(deaf):
    async def run():
        transport = HttpConnection(settings(base_url=deaf, timeout_s=0.01))
        with pytest.raises(LikelyTimeout) as caught:
            await transport.post("/x", b"{}")
        await transport.aclose()
        return caught.value.detail

    assert asyncio.run(run()) == "no complete answer within 0.01 s; see providers.test.timeout_s"


def test_a_refused_connection_is_reported():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    found = asyncio.run(refused(settings(base_url=f"http://127.0.0.1:{port}/v1")))
    assert str(found).startswith("the provider cannot be reached")
    assert "ConnectFailed" in found.detail
    assert "Connection refused" in found.detail


# -- with a certificate ---------------------------------------------------------------------------------------


def secured():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE / "cert.pem", CERTIFICATE / "key.pem")
    return context


def test_a_certificate_without_a_known_authority_is_refused():
    async def run():
        async with Server(OK, ssl=secured()) as server:
            found = await refused(settings(base_url=f"https://localhost:{server.port}/v1"))
            assert server.heads == []
            return found.detail

    assert "TLS: self-signed certificate" in asyncio.run(run())


def test_a_certificate_of_another_host_is_refused(monkeypatch):
    async def run():
        async with Server(OK, host="127.0.0.2", ssl=secured()) as server:
            return (await refused(settings(base_url=f"https://127.0.0.2:{server.port}/v1"))).detail

    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE / "cert.pem"))
    assert "IP address mismatch" in asyncio.run(run())


def test_a_certificate_that_the_environment_trusts_is_taken_and_the_connection_serves_again(monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE / "cert.pem"))

    async def run():
        async with Server(OK, CHUNKED + b"1\r\na\r\n", then_close(OK[:-1]), ssl=secured()) as server:
            transport = HttpConnection(settings(base_url=f"https://localhost:{server.port}/v1"))
            assert (await transport.post("/x", b"x" * 300_000)).body == b"ok"
            async with transport.stream("/x", b"{}") as answer:
                assert await anext(answer) == b"a"
            assert busy(transport) == 0
            with pytest.raises(ProviderUnavailable):
                await transport.post("/x", b"{}")
            assert [len(server.connections), len(server.heads)] == [2, 3]
            assert b"host: localhost:" in server.heads[0].lower()
            await transport.aclose()
            await until(lambda: server.open == 0)

    asyncio.run(run())
