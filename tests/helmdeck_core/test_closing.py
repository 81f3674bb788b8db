"""Closing a deck while it is in use: calls end, no further request is sent, and nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import threading

import pytest

from helmdeck_core import Cancelled, ChatResponse
from helmdeck_testing import completion, make_deck
from tests.adapters_support import request
from tests.helmdeck_providers.http_support import Server, Step, chunked, saying, until

EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
EVENTS = {"content_type": "text/event-stream"}


def deck_at(server, **options):
    provider = {"kind": "openai", "base_url": server.url, "api_key": "env:PLANTED", **options}
    return make_deck(config={"providers": {"p": provider, "q": provider}, "fallback": {"p": ["q/any"]}})


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("PLANTED", "key-for-the-test")


async def drain(stream, chunks):
    async for item in stream:
        chunks.append(item)


async def outcome_of(server, start):
    """The exception of a call that is under way when the deck is closed, and the number of requests."""
    async with deck_at(server) as deck:
        task = asyncio.create_task(start(deck))
        await until(lambda: bool(server.heads))
        await deck.aclose()
        assert task.done(), "closing waits for the calls"
        requests = len(server.heads)
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(server.heads) == requests
        return task.exception(), requests


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize(
    "start",
    [
        lambda deck: deck.acomplete(request("p/any")),
        lambda deck: deck.aask("hello", model="p/any"),
        lambda deck: deck.aplan("draft a blog post", model="p/any"),
        lambda deck: drain(deck.astream(request("p/any")), []),
    ],
    ids=["complete", "ask", "plan", "stream"],
)
def test_aclose_ends_the_calls_under_way_without_another_request(start):
    async def run():
        async with Server(saying(Step.STALL)) as server:
            return await outcome_of(server, start)

    failure, requests = asyncio.run(run())
    assert isinstance(failure, Cancelled)
    assert requests == 1


def test_aclose_ends_a_stream_between_two_chunks():
    async def run():
        async with Server(saying(chunked(EVENT, ends=False, **EVENTS), Step.STALL)) as server, deck_at(server) as deck:
            stream = deck.astream(request("p/any"))
            await anext(stream)
            await deck.aclose()
            with pytest.raises(Cancelled):
                await anext(stream)
            return len(server.heads)

    assert asyncio.run(run()) == 1


def test_a_task_whose_call_ended_with_aclose_is_not_cancelled():
    async def run():
        async with Server(saying(Step.STALL)) as server, deck_at(server) as deck:

            async def caller():
                with pytest.raises(Cancelled):
                    await deck.acomplete(request("p/any"))
                await asyncio.sleep(0)
                return asyncio.current_task().cancelling()

            task = asyncio.create_task(caller())
            await until(lambda: bool(server.heads))
            await deck.aclose()
            return await task

    assert asyncio.run(run()) == 0


def test_a_cancelled_call_is_cancelled_and_not_closed():
    async def run():
        async with Server(saying(Step.STALL)) as server, deck_at(server) as deck:
            task = asyncio.create_task(deck.acomplete(request("p/any")))
            await until(lambda: bool(server.heads))
            task.cancel()
            await asyncio.wait([task])
            return task.cancelled()

    assert asyncio.run(run())


def test_a_deck_that_was_closed_can_be_used_again(chat_server):
    server = chat_server(lambda body: completion("hello"))

    async def run():
        deck = make_deck(
            config={"providers": {"p": {"kind": "openai", "api_key": "env:PLANTED", "base_url": server.base_url}}}
        )
        await deck.aclose()
        response = await deck.acomplete(request("p/any"))
        await deck.aclose()
        return response.text

    assert asyncio.run(run()) == "hello"


# -- blocking streams -------------------------------------------------------------------------------------------


class Halting:
    """A server in a thread of its own: it sends one chunk, and the rest of the stream after ``proceed`` is set."""

    def __init__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self.proceed = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.proceed.set()
        self._thread.join(60)
        self._socket.close()

    def _serve(self):
        connection, _ = self._socket.accept()
        with connection, contextlib.suppress(OSError):
            connection.recv(65_536)
            connection.sendall(chunked(EVENT, ends=False, **EVENTS))
            self.proceed.wait(60)
            rest = EVENT + END
            connection.sendall(b"%x\r\n%b\r\n0\r\n\r\n" % (len(rest), rest))


def exit_code_of_child(action):
    """Run an action in a forked child; return its exit code."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = action()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.usefixtures("transport")
def test_a_child_that_drops_a_stream_leaves_it_to_the_parent():
    with Halting() as server, deck_at(server, idle_timeout_s=20.0) as deck:
        stream = deck.stream(request("p/any"))
        next(stream)

        def drop():
            stream.close()
            gc.collect()
            return 0

        assert exit_code_of_child(drop) == 0
        server.proceed.set()
        *deltas, response = stream
        assert [delta.text for delta in deltas] == ["x"]
        assert isinstance(response, ChatResponse)
        assert (response.text, len(response.attempts)) == ("xx", 1)


def test_a_child_that_reads_a_stream_of_its_parent_gets_an_error():
    with Halting() as server, deck_at(server) as deck:
        stream = deck.stream(request("p/any"))
        next(stream)

        def read():
            with pytest.raises(RuntimeError, match="forked process"):
                next(stream)
            return 0

        assert exit_code_of_child(read) == 0
        server.proceed.set()
        assert len(list(stream)) == 2


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize("ending", ["drop", "read"])
def test_a_stream_after_close_starts_no_thread(ending):
    def names():
        return [thread.name for thread in threading.enumerate() if thread.name == "helmdeck"]

    before = names()
    with Halting() as server:
        deck = deck_at(server)
        stream = deck.stream(request("p/any"))
        next(stream)
        deck.close()
        if ending == "read":
            with pytest.raises(Cancelled, match="closed"):
                next(stream)
        stream.close()
        assert names() == before
