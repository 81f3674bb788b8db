"""The connections to a provider: a streamed response arrives as it is sent, within its limits, and no connection stays open."""

from __future__ import annotations

import asyncio
import gc
import threading

import pytest

from helmdeck_core import InvalidRequest, LikelyTimeout, ProviderUnavailable, TransientUnknown
from helmdeck_providers import HttpConnection
from helmdeck_testing import Chunks, Ending, provider_settings
from tests.helmdeck_providers.http_support import CHUNKED, OK, Server, busy
from tests.virtual_time_support import advance_running_loop

pytestmark = pytest.mark.usefixtures("only_new_objects", "transport")

KEY = "sk-test-0123456789abcdef"


def using(base_url, use, **settings):
    """Run ``use(transport)`` and look that it leaves no task and no connection behind."""

    async def run():
        transport = HttpConnection(provider_settings("test", base_url=base_url, **settings))
        try:
            result = await use(transport)
            gc.collect()
            # What the collector closes ends in tasks of the loop's own, which have to end as well.
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.wait_for(asyncio.gather(*others, return_exceptions=True), 60)
            assert busy(transport) == 0
            return result
        finally:
            await transport.aclose()

    return asyncio.run(run())


async def stream(transport, secrets=()):
    async with transport.stream("/x", b"{}", secrets=secrets) as answer:
        return answer.status, [piece async for piece in answer]


def forever(*, until=None):
    """An infinite sequence of chunks, each only after the client could have disconnected."""
    yield b"data: 1\n\n"
    if until is not None:
        until.wait(60)
    while True:
        yield b"x" * 10_000


def test_pieces_arrive_before_the_answer_is_complete(chat_server):
    first_read = threading.Event()

    def pieces():
        yield b"one"
        assert first_read.wait(60)
        yield b"two"

    server = chat_server(lambda body: Chunks(pieces()))

    async def use(transport):
        async with transport.stream("/x", b"{}") as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            assert await anext(answer) == b"one"
            first_read.set()
            return b"".join([piece async for piece in answer])

    assert using(server.base_url, use) == b"two"


def test_a_connection_is_used_again_after_a_stream_that_was_read_to_its_end(chat_server):
    server = chat_server(lambda body: Chunks([b"a", b"b"]))

    async def use(transport):
        for _ in range(5):
            status, pieces = await stream(transport)
            assert (status, b"".join(pieces)) == (200, b"ab")

    using(server.base_url, use)
    assert server.connections == 1


def test_leaving_early_drops_the_connection(chat_server):
    gone = threading.Event()
    server = chat_server(lambda body: Chunks(forever(until=gone)))

    async def use(transport):
        async with transport.stream("/x", b"{}") as answer:
            await anext(answer)
        gone.set()
        assert await asyncio.to_thread(server.dropped.wait, 10)

    using(server.base_url, use)


def test_an_exception_of_the_reader_drops_the_connection_and_stays_what_it_is(chat_server):
    gone = threading.Event()
    server = chat_server(lambda body: Chunks(forever(until=gone)))

    async def use(transport):
        async def reader():
            async with transport.stream("/x", b"{}") as answer:
                async for _ in answer:
                    raise TimeoutError("mine")

        with pytest.raises(TimeoutError, match="mine"):
            await reader()
        gone.set()
        assert await asyncio.to_thread(server.dropped.wait, 10)

    using(server.base_url, use)


@pytest.mark.parametrize("with_head", [False, True])
def test_a_cancelled_reader_leaves_nothing_behind(chat_server, with_head):
    reading, gone = threading.Event(), threading.Event()

    def answer(body):
        if with_head:
            return Chunks(waiting())
        reading.set()
        gone.wait(60)
        return {}

    def waiting():
        yield b"first"
        reading.set()
        gone.wait(60)
        yield from forever()

    server = chat_server(answer)

    async def use(transport):
        task = asyncio.create_task(stream(transport))
        await asyncio.to_thread(reading.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gone.set()

    using(server.base_url, use)


def test_a_pause_that_is_too_long_is_a_likely_timeout_and_names_its_option(chat_server):
    gone = threading.Event()

    def pieces():
        yield b"first"
        gone.wait(60)

    server = chat_server(lambda body: Chunks(pieces()))

    async def use(transport):
        with pytest.raises(LikelyTimeout) as caught:
            await stream(transport)
        gone.set()
        return caught.value.detail

    detail = using(server.base_url, use, idle_timeout_s=0.05)
    assert detail == "nothing new within 0.05 s; see providers.test.idle_timeout_s"


def test_a_stream_that_never_pauses_still_ends_at_the_limit_of_the_whole(chat_server):
    server = chat_server(lambda body: Chunks(forever()))

    async def use(transport):
        with pytest.raises(LikelyTimeout) as caught:
            await stream(transport)
        return caught.value.detail

    detail = using(server.base_url, use, timeout_s=0.2, max_response_bytes=10**12)
    assert detail == "no complete answer within 0.2 s; see providers.test.timeout_s"


def test_the_time_that_the_reader_takes_is_never_cancelled(chat_server):
    server = chat_server(lambda body: Chunks([b"one"]))

    async def use(transport):
        async with transport.stream("/x", b"{}") as answer:
            await anext(answer)
            await advance_running_loop(1_000)  # longer than both limits, in the reader's own time
            return True

    assert using(server.base_url, use, timeout_s=80.0, idle_timeout_s=40.0)


def streamed(act, *, timeout_s=100.0, idle_timeout_s=5.0):
    """Run ``act(answer, connection)`` on a stream whose pieces the test writes to the connection."""

    async def run():
        async with Server(CHUNKED) as server:
            base_url = f"http://127.0.0.1:{server.port}"
            limits = {"timeout_s": timeout_s, "idle_timeout_s": idle_timeout_s}
            transport = HttpConnection(provider_settings("test", base_url=base_url, **limits))
            try:
                async with transport.stream("/x", b"{}") as answer:
                    return await act(answer, server.last.transport)
            finally:
                await transport.aclose()
                assert asyncio.all_tasks() == {asyncio.current_task()}

    return asyncio.run(run())


def test_a_pause_counts_only_while_a_caller_waits_and_not_before_the_first_chunk():
    async def act(answer, server):
        first = asyncio.create_task(anext(answer))
        await advance_running_loop(20)
        server.write(b"1\r\na\r\n")
        assert await first == b"a"
        await advance_running_loop(20)  # the reader's own time
        second = asyncio.create_task(anext(answer))
        await advance_running_loop(4)
        server.write(b"1\r\nb\r\n")
        assert await second == b"b"
        third = asyncio.create_task(anext(answer))
        await advance_running_loop(4)
        assert not third.done()
        await advance_running_loop(1)
        with pytest.raises(LikelyTimeout, match="nothing new within 5 s"):
            await third

    streamed(act)


def test_chunks_before_the_timeout_are_still_delivered():
    async def act(answer, server):
        server.write(b"1\r\na\r\n")
        await advance_running_loop(101)
        assert await anext(answer) == b"a"
        with pytest.raises(LikelyTimeout, match="no complete answer within 100 s"):
            await anext(answer)

    streamed(act, idle_timeout_s=1_000.0)


def test_a_reader_that_is_cancelled_takes_nothing_and_the_next_one_gets_all():
    async def act(answer, server):
        reader = asyncio.create_task(anext(answer))
        await advance_running_loop(0)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        server.write(b"1\r\na\r\n")
        assert await anext(answer) == b"a"

    streamed(act)


def test_pieces_that_come_while_the_reader_is_busy_are_one():
    async def act(answer, server):
        for char in (b"a", b"b", b"c"):
            server.write(b"1\r\n%b\r\n" % char)
            await advance_running_loop(0)
        assert await anext(answer) == b"abc"

    streamed(act)


def test_a_stream_over_the_limit_of_bytes_is_not_read_on(chat_server):
    server = chat_server(lambda body: Chunks(forever()))

    async def use(transport):
        with pytest.raises(TransientUnknown) as caught:
            await stream(transport)
        return caught.value

    found = using(server.base_url, use, max_response_bytes=50_000)
    assert found.sub_cause == "too_large"
    assert "50,000 bytes; see providers.test.max_response_bytes" in found.detail


@pytest.mark.parametrize("ending", [Ending.CUT, Ending.RESET])
def test_a_truncated_body_is_an_unavailable_provider(chat_server, ending):
    server = chat_server(lambda body: Chunks([b"one"], ending))

    async def use(transport):
        with pytest.raises(ProviderUnavailable):
            await stream(transport)

    using(server.base_url, use)


def test_an_error_before_the_stream_is_read_whole(chat_server):
    server = chat_server(lambda body: (429, {"retry-after": "3"}, {"error": {"message": "slow down"}}))

    async def use(transport):
        async with transport.stream("/x", b"{}") as answer:
            received = await answer.received()
        return received.status, received.headers["retry-after"], received.body

    assert using(server.base_url, use) == (429, "3", b'{"error": {"message": "slow down"}}')


def test_a_failure_of_the_connection_shows_no_secret(chat_server):
    server = chat_server(lambda body: Chunks([b"one"], Ending.CUT))

    async def use(transport):
        with pytest.raises(ProviderUnavailable) as caught:
            async with transport.stream(f"/x?key={KEY}", b"{}", secrets=[KEY]) as answer:
                await answer.received()
        return str(caught.value) + repr(caught.value)

    assert KEY not in using(server.base_url, use)


def test_something_is_got_without_a_body(chat_server):
    server = chat_server(lambda body: {"data": []})

    async def use(transport):
        return await transport.get("/models", {"authorization": f"Bearer {KEY}"})

    received = using(server.base_url, use, headers={"X-Team": "blue"})
    assert (received.status, received.body) == (200, b'{"data": []}')
    (request,) = server.requests
    assert (request.method, request.path, request.body) == ("GET", "/v1/models", {})
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-team"] == "blue"
    assert "content-type" not in request.headers


def test_many_streams_at_once_do_not_mix(chat_server):
    def answer(body):
        return Chunks(f"{body['n']}-{part} ".encode() for part in range(50))

    server = chat_server(answer)

    async def one(transport, number):
        async with transport.stream("/x", b'{"n": %d}' % number) as incoming:
            return (await incoming.received()).body

    async def use(transport):
        return await asyncio.gather(*(one(transport, number) for number in range(20)))

    bodies = using(server.base_url, use)
    assert bodies == ["".join(f"{n}-{part} " for part in range(50)).encode() for n in range(20)]


def test_an_invalid_path_is_an_invalid_request(chat_server):
    server = chat_server(lambda body: {})

    async def use(transport):
        with pytest.raises(InvalidRequest):
            await transport.get("/\x00")

    using(server.base_url, use)


@pytest.mark.parametrize(("exempt", "through"), [("", True), ("models.acme.example", False)])
def test_a_proxy_that_the_environment_names_is_used_for_other_hosts(chat_server, monkeypatch, exempt, through):
    server = chat_server(lambda body: {"ok": True})
    monkeypatch.setenv("HTTP_PROXY", server.base_url.removesuffix("/v1"))
    monkeypatch.setenv("NO_PROXY", exempt)
    monkeypatch.delenv("no_proxy", raising=False)

    async def post(transport):
        try:
            return (await transport.post("/x", b"{}")).status
        except ProviderUnavailable:  # there is no such host
            return None

    async def run():
        transport = HttpConnection(provider_settings("test", base_url="http://models.acme.example/v1"))
        try:
            return await post(transport)
        finally:
            await transport.aclose()

    assert asyncio.run(run()) == (200 if through else None)
    assert [request.path for request in server.requests] == ["http://models.acme.example/v1/x"] * through


@pytest.mark.parametrize(
    ("listens", "host"),
    [("127.0.0.2", "127.0.0.2"), ("127.0.0.1", "0.0.0.0"), ("127.0.0.1", "[::ffff:127.0.0.1]")],
)
def test_no_form_of_the_loopback_address_goes_through_a_proxy(listens, host, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.delenv("no_proxy", raising=False)

    async def run():
        async with Server(OK, host=listens) as server:
            connection = HttpConnection(provider_settings("test", base_url=f"http://{host}:{server.port}/v1"))
            try:
                return (await connection.post("/x", b"{}")).status
            finally:
                await connection.aclose()

    assert asyncio.run(run()) == 200
