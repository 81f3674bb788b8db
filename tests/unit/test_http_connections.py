"""The connections to a server: one serves again when it can, is dropped when it cannot, and never gives an answer of another."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
import sys
import tracemalloc

import aiohttp
import pytest

from helmdeck_core import ProviderSettings, TransientUnknown
from helmdeck_provider_kit import Transport
from tests.unit.http_support import CHUNKED, OK, Served, Server, ask, begin, busy, client_at, closing, turns, until


def reset(connection):
    # Closed with the buffers thrown away, the other side gets a reset.
    connection.transport.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00"
    )
    connection.transport.abort()


# -- which connection serves ----------------------------------------------------------------------------------


async def _two_at_once(client):
    return await asyncio.gather(ask(client), ask(client))


def test_calls_one_after_the_other_share_a_connection_and_calls_at_once_do_not():
    async def run():
        async with Server(OK) as server, client_at(server) as client:
            for _ in range(5):
                assert await ask(client) == (200, b"ok")
            assert len(server.connections) == 1
            await _two_at_once(client)
            assert len(server.connections) == 2

    asyncio.run(run())


def test_what_a_call_costs_does_not_grow_with_the_calls_at_once():
    def calls_each(count):
        """Calls of functions for each of some requests that are all under way at once, over connections that are there."""
        held, counted = [], [0]

        def all_at_once(connection):
            held.append(connection)
            if len(held) == count:
                for each in held:
                    each.transport.write(OK)
                held.clear()

        def tell(frame, event, _):
            counted[0] += event == "call" and "/tests/" not in frame.f_code.co_filename

        async def run():
            async with Server(all_at_once) as server, client_at(server) as client:
                for profile in (None, tell):
                    sys.setprofile(profile)
                    await asyncio.gather(*(ask(client) for _ in range(count)))
                sys.setprofile(None)
                assert len(server.connections) == count

        asyncio.run(run())
        return counted[0] / count

    assert calls_each(100) < calls_each(10) * 1.05


@pytest.mark.parametrize("farewell", [b"", b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"])
def test_a_server_that_closes_a_waiting_connection_costs_no_call_and_its_farewell_is_no_answer(farewell):
    async def run():
        async with Server(OK) as server, client_at(server) as client:
            await ask(client)
            closing(farewell)(server.connections[0])
            await until(lambda: server.open == 0)
            await turns()
            assert await ask(client) == (200, b"ok")

    asyncio.run(run())


def test_of_several_waiting_connections_one_that_was_closed_is_passed_over():
    async def run():
        async with Server(OK) as server, client_at(server) as client:
            await _two_at_once(client)
            await ask(client)
            server.last.transport.close()
            await until(lambda: server.open == 1)
            await turns()
            assert await ask(client) == (200, b"ok")
            assert len(server.connections) == 2

    asyncio.run(run())


def test_words_that_nobody_asked_for_are_never_the_answer_to_the_next_call():
    async def run():
        async with Server(OK + OK.replace(b"ok", b"no"), OK) as server, client_at(server) as client:
            assert await ask(client) == (200, b"ok")
            assert await ask(client) == (200, b"ok")
            assert len(server.connections) == 2

    asyncio.run(run())


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
    ],
)
def test_a_connection_that_the_server_will_close_serves_once(answer):
    async def run():
        async with Server(answer) as server, client_at(server) as client:
            for _ in range(2):
                assert await ask(client) == (200, b"ok")
            assert len(server.connections) == 2

    asyncio.run(run())


def test_an_answer_is_not_part_of_the_one_before():
    async def run():
        async with Server(OK) as server, client_at(server) as client:
            first = await begin(client)
            assert [piece async for piece in first] == [b"ok"]
            await first.aclose()
            second = await begin(client)
            assert [piece async for piece in second] == [b"ok"]
            await second.aclose()

    asyncio.run(run())


# -- what an answer is ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + OK, (200, b"ok")),
        (CHUNKED + b"2;x=y\r\nab\r\n1\r\nc\r\n0\r\nx-late: 1\r\n\r\n", (200, b"abc")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", (204, b"")),
        (b"HTTP/1.1 500 \r\ncontent-length: 0\r\n\r\n", (500, b"")),
    ],
)
def test_every_form_of_an_answer_is_read_and_the_connection_serves_again(answer, expected):
    async def run():
        async with Server(answer) as server, client_at(server) as client:
            for _ in range(2):
                assert await ask(client) == expected
            assert len(server.connections) == 1

    asyncio.run(run())


def test_a_body_without_a_length_ends_with_the_connection():
    async def run():
        async with Server(closing(b"HTTP/1.1 200 OK\r\n\r\nall of it")) as server, client_at(server) as client:
            assert await ask(client) == (200, b"all of it")

    asyncio.run(run())


def test_names_of_headers_are_small_and_one_that_comes_twice_is_a_list():
    answer = b"HTTP/1.1 200 OK\r\nX-Team: blue\r\nx-team: red\r\nX-Caf\xe9: 1\r\ncontent-length: 0\r\n\r\n"

    async def run():
        async with Server(answer.replace(b"X-Caf\xe9: 1", b"X-Cafe: \xe9")) as server, client_at(server) as client:
            reply = await begin(client)
            await reply.aclose()
            return reply.headers

    assert asyncio.run(run()) == {"x-team": "blue, red", "x-cafe": "é", "content-length": "0"}


def test_what_came_together_is_one_piece():
    async def run():
        async with Server(CHUNKED + b"1\r\na\r\n1\r\nb\r\n0\r\n\r\n") as server, client_at(server) as client:
            reply = await begin(client)
            assert [piece async for piece in reply] == [b"ab"]
            await reply.aclose()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (closing(b""), aiohttp.ClientError),
        (closing(b"HTTP/1.1 200 OK\r\ncontent-le"), aiohttp.ClientError),
        (closing(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"), aiohttp.ClientError),
        (closing(CHUNKED + b"2\r\nok\r\n"), aiohttp.ClientError),
        (reset, aiohttp.ClientError),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000, aiohttp.ClientError),
    ],
)
def test_an_answer_that_breaks_off_or_is_none_is_an_error_and_the_connection_is_dropped(act, error):
    async def run():
        async with Server(act) as server, client_at(server) as client:
            with pytest.raises(error):
                await ask(client)
            await until(lambda: server.open == 0)

    asyncio.run(run())


# -- large bodies, and readers that are slow ------------------------------------------------------------------


def test_a_server_that_refuses_a_large_body_before_it_has_it_is_heard():
    body = b"x" * 20_000_000

    def refuse(connection, data):
        connection.transport.pause_reading()
        connection.transport.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 9\r\n\r\ntoo large")

    class Refusing(Served):
        data_received = refuse

    async def run():
        loop = asyncio.get_running_loop()
        server = Server(OK)
        listening = await loop.create_server(lambda: Refusing(server), "127.0.0.1", 0)
        server.port = listening.sockets[0].getsockname()[1]
        async with client_at(server) as client:
            assert await ask(client, body=body) == (413, b"too large")
            assert busy(client) == 0, "half of a request is no state to go on from"
            for each in server.connections:
                each.transport.abort()
        listening.close()

    asyncio.run(run())


def test_of_an_answer_that_nobody_reads_little_is_taken_off_the_network():
    size = 64_000_000

    async def run():
        def send(connection):
            connection.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + bytes(size))

        async with Server(send) as server, client_at(server) as client:
            reply = await begin(client)
            (served,) = server.connections
            left = -1
            while left != (left := served.transport.get_write_buffer_size()):
                for _ in range(100):
                    await asyncio.sleep(0)
            assert left > size / 2, "the rest waits with the server"
            assert sum([len(piece) async for piece in reply]) == size
            await reply.aclose()
            assert await ask(client, method="GET", body=None) == (200, bytes(size)), "the connection serves again"
            assert len(server.connections) == 1

    asyncio.run(run())


def test_a_small_body_that_becomes_a_large_one_is_not_read_on():
    bomb = gzip.compress(bytes(200_000_000))
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(bomb)

    async def run():
        async with Server(head + bomb) as server:
            url = f"http://127.0.0.1:{server.port}"
            transport = Transport(ProviderSettings(name="test", base_url=url, max_response_bytes=1_000_000))
            tracemalloc.start()
            try:
                with pytest.raises(TransientUnknown, match="too large"):
                    await transport.post("/x", b"{}")
                assert tracemalloc.get_traced_memory()[1] < 60_000_000
            finally:
                tracemalloc.stop()
                await transport.aclose()

    asyncio.run(run())


def test_a_compressed_answer_is_read():
    body = gzip.compress(b'{"ok": true}')
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(body)

    async def run():
        async with Server(head + body) as server:
            transport = Transport(ProviderSettings(name="test", base_url=f"http://127.0.0.1:{server.port}"))
            bodies = [(await transport.post("/x", b"{}")).body for _ in range(2)]
            await transport.aclose()
            assert len(server.connections) == 1
            assert b"accept-encoding: gzip, deflate" in server.heads[0].lower()
            return bodies

    assert asyncio.run(run()) == [b'{"ok": true}'] * 2


# -- who goes away --------------------------------------------------------------------------------------------


def test_whoever_is_cancelled_leaves_no_connection():
    async def run():
        async with Server(lambda connection: None) as server, client_at(server) as client:
            task = asyncio.create_task(ask(client))
            await until(lambda: server.heads)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: len(server.gone) == 1 and server.open == 0)

    asyncio.run(run())


@pytest.mark.parametrize("turns", range(8))
def test_whoever_is_cancelled_while_connecting_leaves_no_connection(turns):
    async def run():
        async with Server(OK) as server, client_at(server) as client:
            task = asyncio.create_task(ask(client))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await client.aclose()
            await until(lambda: len(server.gone) == len(server.connections) and server.open == 0)

    asyncio.run(run())


def test_closing_the_client_ends_an_answer_that_is_under_way_with_an_error():
    async def run():
        async with Server(CHUNKED + b"1\r\na\r\n") as server, client_at(server) as client:
            reply = await begin(client)
            assert await anext(reply) == b"a"
            rest = asyncio.create_task(anext(reply))
            await asyncio.sleep(0)
            await client.aclose()
            with pytest.raises(aiohttp.ClientError):
                await rest
            await reply.aclose()

    asyncio.run(run())
