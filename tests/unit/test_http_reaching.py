"""The way to a server: its addresses, the time that connecting may take, and who vouches for it."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from helmdeck_core import LikelyTimeout, ProviderSettings, ProviderUnavailable
from helmdeck_core.http import Transport, addresses
from helmdeck_core.http.addresses import connected, in_turns
from tests.unit.http_support import CHUNKED, OK, Server, ask, closing, pool_at, until

CERTIFICATE = Path(__file__).parents[1] / "data" / "tls"
"""Of localhost and 127.0.0.1, signed by itself, until 2126."""


def settings(**given):
    return ProviderSettings(name="test", **given)


async def refused(given):
    transport = Transport(given)
    try:
        with pytest.raises(ProviderUnavailable) as caught:
            await transport.post("/x", b"{}")
        return caught.value
    finally:
        await transport.aclose()


def test_a_server_that_does_not_take_the_connection_in_time_cannot_be_reached(monkeypatch):
    async def never(host, port):
        await asyncio.Event().wait()

    monkeypatch.setattr("helmdeck_core.http.connections.connected", never)
    found = asyncio.run(refused(settings(base_url="http://127.0.0.1:1/v1", connect_timeout_s=0.01)))
    assert str(found).startswith("the provider cannot be reached")
    assert (
        found.detail
        == "ConnectTimeout at http://127.0.0.1:1: no connection within 0.01 s; see providers.test.connect_timeout_s"
    )


def test_a_limit_of_the_whole_that_ends_while_connecting_is_one_of_the_whole(monkeypatch):
    async def never(host, port):
        await asyncio.Event().wait()

    async def run():
        transport = Transport(settings(base_url="http://127.0.0.1:1/v1", timeout_s=0.01))
        with pytest.raises(LikelyTimeout) as caught:
            await transport.post("/x", b"{}")
        await transport.aclose()
        return caught.value.detail

    monkeypatch.setattr("helmdeck_core.http.connections.connected", never)
    assert asyncio.run(run()) == "no complete answer within 0.01 s; see providers.test.timeout_s"


def test_a_refused_connection_says_so():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    found = asyncio.run(refused(settings(base_url=f"http://127.0.0.1:{port}/v1")))
    assert str(found).startswith("the provider cannot be reached")
    assert "ConnectError" in found.detail
    assert "Connect call failed" in found.detail


def four(port):
    return (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port))


def six(port):
    return (socket.AF_INET6, socket.SOCK_STREAM, 0, "", ("::1", port, 0, 0))


def test_addresses_of_both_families_are_tried_in_turns():
    assert in_turns([six(1), six(2), six(3), four(4)]) == [six(1), four(4), six(2), six(3)]
    assert in_turns([four(1)]) == [four(1)]


@pytest.mark.parametrize("fault", ["refuses", "hangs"])
def test_an_address_that_does_not_answer_does_not_keep_from_one_that_does(monkeypatch, fault):
    real = addresses._connected
    ended = []

    async def some(host, port):
        return [four(1), four(port), four(2)]

    async def try_(address):
        if address[-1][1] in (1, 2):
            try:
                if fault == "hangs":
                    await asyncio.Event().wait()
                raise ConnectionRefusedError("refused")
            finally:
                ended.append(address)
        return await real(address)

    async def run():
        async with Server(OK) as server, pool_at(server) as pool:
            assert await ask(pool) == (200, b"ok")
            assert asyncio.all_tasks() == {asyncio.current_task()}

    monkeypatch.setattr(addresses, "NEXT_S", 0.001)
    monkeypatch.setattr(addresses, "_addresses", some)
    monkeypatch.setattr(addresses, "_connected", try_)
    asyncio.run(run())
    assert four(1) in ended


def test_where_no_address_answers_the_last_error_is_told(monkeypatch):
    async def some(host, port):
        return [four(1), four(2)]

    async def try_(address):
        raise ConnectionRefusedError(f"port {address[-1][1]} refused")

    monkeypatch.setattr(addresses, "_addresses", some)
    monkeypatch.setattr(addresses, "_connected", try_)
    with pytest.raises(ConnectionRefusedError, match="port 2"):
        asyncio.run(connected("acme.example", 443))


def test_a_second_connection_that_comes_about_at_the_same_time_is_closed(monkeypatch):
    made = []

    async def some(host, port):
        return [four(1), four(2)]

    async def try_(address):
        made.append(socket.socket())
        while len(made) < 2:  # noqa: ASYNC110  # it is about what the other one does
            await asyncio.sleep(0)
        return made[address[-1][1] - 1]

    monkeypatch.setattr(addresses, "NEXT_S", 0)
    monkeypatch.setattr(addresses, "_addresses", some)
    monkeypatch.setattr(addresses, "_connected", try_)
    used = asyncio.run(connected("acme.example", 443))
    assert [each.fileno() == -1 for each in made] == [each is not used for each in made]
    assert used.fileno() != -1
    used.close()


# -- with a certificate ---------------------------------------------------------------------------------------


def secured():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE / "cert.pem", CERTIFICATE / "key.pem")
    return context


def test_a_certificate_that_nobody_vouches_for_is_refused():
    async def run():
        async with Server(OK, ssl=secured()) as server:
            found = await refused(settings(base_url=f"https://localhost:{server.port}/v1"))
            assert server.heads == []
            return found.detail

    assert "CERTIFICATE_VERIFY_FAILED" in asyncio.run(run())


def test_a_certificate_of_another_host_is_refused(monkeypatch):
    async def run():
        async with Server(OK, ssl=secured()) as server:
            return (await refused(settings(base_url=f"https://127.0.0.2:{server.port}/v1"))).detail

    async def here(host, port):
        return await real("127.0.0.1", port)

    real = connected
    monkeypatch.setattr("helmdeck_core.http.connections.connected", here)
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE / "cert.pem"))
    assert "IP address mismatch" in asyncio.run(run())


def test_a_certificate_that_the_environment_trusts_is_taken_and_the_connection_serves_again(monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE / "cert.pem"))

    async def run():
        async with Server(OK, CHUNKED + b"1\r\na\r\n", closing(OK[:-1]), ssl=secured()) as server:
            transport = Transport(settings(base_url=f"https://localhost:{server.port}/v1"))
            assert (await transport.post("/x", b"x" * 300_000)).body == b"ok"
            async with transport.stream("/x", b"{}") as answer:
                assert await anext(answer) == b"a"
            assert transport._pool.busy == 0
            with pytest.raises(ProviderUnavailable):
                await transport.post("/x", b"{}")
            assert [len(server.connections), len(server.heads)] == [2, 3]
            assert b"host: localhost:" in server.heads[0].lower()
            await transport.aclose()
            await until(lambda: transport._pool.open == 0)

    asyncio.run(run())
