"""For any server behaviour, a call returns the right response or a cause, and closes all resources."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import json
import os
import tracemalloc
import zlib

import pytest

from contrib_providers.bedrock.tests.test_contract import CONVERSE
from helmdeck_core import CallFailed, InvalidRequest, LikelyTimeout, ProviderUnavailable, RateLimited, TransientUnknown
from helmdeck_testing import GEMINI, OPENAI_CHAT, ScriptedAnswer, make_deck
from tests.adapters_support import ADAPTERS, KEYS, PLUGINS, ask
from tests.helmdeck_providers.http_support import Server, Step, chunked, http, saying, tasks_left, until

pytestmark = pytest.mark.usefixtures("only_new_objects", "transport", "loop_lag")

DEADLINE_S = 1.0
CONCURRENCY = 8
"""Concurrent calls, apart from the calls that time out."""

TEXT = "a text that is long enough to be split anywhere " * 5
GOOD = "the whole answer"
EITHER = (GOOD, ProviderUnavailable)
"""A transport may drop what follows a complete response, or refuse both."""
UNAVAILABLE, TIMED_OUT, TOO_LARGE = ProviderUnavailable, LikelyTimeout, TransientUnknown


def outcomes(whole, streamed):
    return lambda streams: streamed if streams else whole


def good_answers(body, kind):
    zipped = gzip.compress(body)
    yield "length", [http(body, **kind), Step.KEEP]
    yield "chunks", [chunked(body, **kind), Step.KEEP]
    yield "chunks of a byte", [chunked(body, 1, **kind)]
    yield "no length", [http(body, content_length=None, **kind)]
    yield "gzip", [http(zipped, content_encoding="gzip", **kind)]
    yield "gzip in chunks of a byte", [chunked(zipped, 1, content_encoding="x-gzip", **kind)]
    yield (
        "gzip in two parts",
        [http(gzip.compress(body[:99]) + gzip.compress(body[99:]), content_encoding="gzip", **kind)],
    )
    yield "gzip with an empty first part", [http(gzip.compress(b"") * 2 + zipped, content_encoding="gzip", **kind)]
    yield "gzip and more", [http(zipped + b"\0\0", content_encoding="gzip", **kind)]
    yield "deflate", [http(zlib.compress(body), content_encoding="deflate", **kind)]
    yield "bare deflate", [http(zlib.compress(body)[2:-4], content_encoding="deflate", **kind)]
    yield "wrong content-encoding", [http(body, content_encoding="br", **kind)]
    yield (
        "informational responses",
        [b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n", http(body, **kind)],
    )
    yield "odd header", [http(body, x_ratelimit_left="caf\xe9", **kind)]


def bad_heads(body, kind):
    many = b"HTTP/1.1 200 OK\r\n" + b"".join(b"x%d: y\r\n" % number for number in range(3_000))
    for name, head in {
        "nothing": b"",
        "another protocol": b"\x15\x03\x03\x00\x02\x02\x28",
        "half a status line": b"HTTP/1.1 20",
        "the first HTTP": b"hello",
        "status 0": b"HTTP/1.1 000 OK\r\n\r\n",
        "status 99999": b"HTTP/1.1 99999 OK\r\n\r\n",
        "protocol switch": b"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n",
        "no colon": b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        "space in a name": b"HTTP/1.1 200 OK\r\nbad name: x\r\n\r\n",
        "nul in a value": b"HTTP/1.1 200 OK\r\nx: a\x00b\r\ncontent-length: 0\r\n\r\n",
        "huge header": b"HTTP/1.1 200 OK\r\nx: " + b"a" * 200_000 + b"\r\n\r\n",
        "unbounded headers": b"HTTP/1.1 200 OK\r\n" + (b"x: " + b"a" * 1000 + b"\r\n") * 300,
        "half a head": many,
        "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        "negative length": http(body, content_length=-5),
        "huge length": http(body, content_length="9" * 30),
        "invalid length": http(body, content_length="abc"),
        "unknown transfer": http(body, content_length=None, transfer_encoding="gzip, chunked"),
    }.items():
        yield name, [head], UNAVAILABLE
    yield "reset", [Step.RESET], UNAVAILABLE
    yield "reset in the head", [b"HTTP/1.1 200 OK\r\n", Step.RESET], UNAVAILABLE
    yield "empty", [b"HTTP/1.1 204 No Content\r\n\r\n"], UNAVAILABLE
    yield "redirect", [http(b"", 302, location="http://127.0.0.1:1/")], InvalidRequest


def bad_bodies(body, kind, at_end_mark):
    half = body[: len(body) // 2]
    unfinished = chunked(half, ends=False, **kind)
    zipped = gzip.compress(body)
    yield "length too long", [http(body, content_length=len(body) + 9, **kind)], at_end_mark
    yield "no last chunk", [chunked(body, ends=False, **kind)], at_end_mark
    # A transport may report it before what precedes it.
    trailer = chunked(body, ends=False, **kind) + b"0\r\nno colon\r\n\r\n"
    yield "invalid trailer", [trailer], (UNAVAILABLE, at_end_mark)
    yield (
        "length too short",
        [http(body, content_length=len(body) // 2, **kind)],
        UNAVAILABLE,
    )
    yield "trailing garbage", [http(body, **kind) + b"garbage", Step.KEEP], EITHER
    yield "half", [chunked(half, **kind)], UNAVAILABLE
    yield "length 0", [http(b"", **kind)], outcomes(UNAVAILABLE, TIMED_OUT)
    for name, answer in {
        "half and a close": unfinished,
        "invalid chunk size": unfinished + b"zz\r\nxx\r\n",
        "negative chunk size": unfinished + b"-5\r\nxx\r\n",
        "huge chunk size": unfinished + b"f" * 30 + b"\r\nxx\r\n",
        "unbounded chunk size": unfinished + b"0" * 200_000,
        "chunk longer than its size": unfinished + b"2\r\nxxxx\r\n",
        "truncated gzip": http(zipped[:-20], content_encoding="gzip", **kind),
        "invalid gzip": http(body, content_encoding="gzip", **kind),
        "gzip with a wrong checksum": http(zipped[:-8] + bytes(8), content_encoding="gzip", **kind),
        "invalid deflate": http(body, content_encoding="deflate", **kind),
        "compressed twice": http(gzip.compress(zipped), content_encoding="gzip, gzip", **kind),
        "an HTML page": http(b"<html>nope</html>", content_type="text/html"),
        "zeros": http(bytes(1000), **kind),
        "UTF-16": http(body.decode("latin-1").encode("utf-16"), **kind),
        "brackets": http(b"[" * 100_000, **kind),
        "a server error": http(b'{"error": {"message": "x"}}', 500, content_type="application/json"),
        "half a server error": http(b'{"error": {"mess', 503, content_length=99, content_type="application/json"),
    }.items():
        yield name, [answer], UNAVAILABLE
    yield "half and a reset", [unfinished, Step.RESET], UNAVAILABLE
    yield "a rate limit", [http(b"{}", 429, retry_after="9" * 400)], RateLimited
    yield "a rate limit with half a body", [http(b"{", 429, content_length=99), Step.RESET], RateLimited
    yield "a rate limit with a huge body", [http(b"x" * 300_000, 429, content_length=10**12)], RateLimited


def stalls(body, kind):
    head = http(b"", content_length=len(body), **kind)
    for name, steps in {
        "before the head": [],
        "in the head": [b"HTTP/1.1 200 OK\r\ncontent"],
        "endless informational responses": [b"HTTP/1.1 100 Continue\r\n\r\n" * 500],
        "after the head": [head],
        "in the body": [head + body[: len(body) // 2]],
        "head byte by byte": [step for byte in head for step in (bytes([byte]), Step.TICK)],
        "body byte by byte": [head, *(step for byte in body for step in (bytes([byte]), Step.TICK))],
    }.items():
        yield name, [*steps, Step.STALL], TIMED_OUT
    # The connection that stays open is no part of the response.
    yield "before the last chunk", [chunked(body, ends=False, **kind), Step.STALL], outcomes(TIMED_OUT, GOOD)


def cases(server_format, streams):
    answer = ScriptedAnswer(text=TEXT)
    body = b"".join(server_format.events(answer)) if streams else json.dumps(server_format.whole(answer)).encode()
    kind = {"content_type": server_format.content_type if streams else "application/json"}
    yield from ((name, steps, GOOD) for name, steps in good_answers(body, kind))
    # A stream is complete at the end mark of its format, however the body ends; these two have none.
    is_marked = streams and server_format not in (GEMINI, CONVERSE)
    yield from bad_heads(body, kind)
    yield from bad_bodies(body, kind, GOOD if is_marked else UNAVAILABLE)
    yield from stalls(body, kind)


def outcome_of(outcome):
    """The outcome of a call, in the form of ``cases``."""
    if isinstance(outcome, CallFailed):
        return type(outcome)
    if isinstance(outcome, BaseException):
        return outcome
    return GOOD if outcome.text == TEXT and outcome.stop_reason == "EndTurn" else outcome.stop_reason.value


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def deck_of(adapter, urls, settings=None, **recovery):
    """A deck with a provider for each URL."""
    provider = {"kind": adapter.kind, **adapter.settings, **(settings or {})}
    providers = {name: {"base_url": url, **provider} for name, url in urls.items()}
    recovery = {"max_attempts": 1, "deadline_s": DEADLINE_S, "cool_down_after": 0, **recovery}
    return make_deck(*PLUGINS, config={"providers": providers, "recovery": recovery})


def open_files():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # always includes its own descriptor


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_response_is_read_or_fails_and_all_resources_are_closed(name):
    check_every_response(name)


def check_every_response(name):
    """Ask a server of one adapter for every response, whole and streamed, and compare the outcomes."""
    adapter = ADAPTERS[name]
    table = [(streams, *case) for streams in (False, True) for case in cases(adapter.server_format, streams)]
    assert len(table) > 130
    if name not in ("chat", "bedrock"):
        table = table[list(ADAPTERS).index(name) % 2 :: 2]  # each is looked at with several others
    problems = []

    async def call(deck, number, streams, label, steps, expected, semaphore):
        is_waiting = Step.STALL in steps
        expected = expected(streams) if callable(expected) and not isinstance(expected, type) else expected
        try:
            async with contextlib.nullcontext() if is_waiting else semaphore:
                # A call that does not end by its deadline needs a long one on a busy machine only.
                limit_s = DEADLINE_S if is_waiting and expected is TIMED_OUT else 20.0
                actual = outcome_of(await ask(deck, f"p{number}/any", streams, deadline_s=limit_s))
        except Exception as exc:
            actual = outcome_of(exc)
        if actual not in (expected if isinstance(expected, tuple) else (expected,)):
            problems.append((label, "streamed" if streams else "whole", actual, expected))

    async def run():
        semaphore, servers = asyncio.Semaphore(CONCURRENCY), [Server(saying(*case[2])) for case in table]
        for server in servers:
            await server.__aenter__()
        urls = {f"p{number}": f"http://127.0.0.1:{server.port}" for number, server in enumerate(servers)}
        async with deck_of(adapter, urls) as deck:
            calls = [call(deck, number, *case, semaphore) for number, case in enumerate(table)]
            await asyncio.gather(*calls)
        await until(lambda: all(len(server.gone) == len(server.connections) for server in servers))
        for server in servers:
            await server.__aexit__()
        assert all(server.connections for server in servers)
        assert tasks_left() == []

    before = open_files()
    asyncio.run(run())
    assert "\n".join(map(str, problems)) == ""
    assert open_files() == before


@pytest.mark.parametrize("name", ADAPTERS)
def test_nothing_after_the_end_mark_of_a_stream_is_read(name):
    adapter = ADAPTERS[name]
    events = list(adapter.server_format.events(ScriptedAnswer(text="the whole answer")))
    after = b"".join(adapter.server_format.events(ScriptedAnswer(text=" and more")))
    kind = {"content_type": adapter.server_format.content_type}
    body = b"".join(events)
    steps = [
        chunked(body, len(body), ends=False, **kind),
        Step.TICK,
        chunked(after, len(after)).partition(b"\r\n\r\n")[2],
    ]

    async def run():
        async with Server(saying(*steps, Step.STALL)) as server, deck_of(adapter, {"p": server.url}) as deck:
            return await ask(deck, "p/any", True, deadline_s=20.0)

    response = asyncio.run(run())
    has_end_mark = adapter.server_format not in (GEMINI, CONVERSE)
    assert response.text == "the whole answer" + (" and more" * (not has_end_mark))
    assert response.is_complete


def test_end_mark_without_a_stop_reason_does_not_hide_that_the_server_closed_the_connection():
    part = b'data: {"choices":[{"index":0,"delta":{"content":"half of it"}}]}\n\ndata: [DONE]\n\n'
    body = chunked(part, len(part), ends=False, content_type="text/event-stream")

    async def run():
        async with (
            Server(saying(body)) as server,
            deck_of(ADAPTERS["chat"], {"p": server.url}) as deck,
        ):
            return await ask(deck, "p/any", True, deadline_s=20.0)

    with pytest.raises(ProviderUnavailable, match="10 characters without a stop reason"):
        asyncio.run(run())


@pytest.mark.parametrize("name", ["chat", "responses", "messages", "gemini", "cohere"])
def test_an_error_event_that_is_not_json_keeps_its_words(name):
    body = b"event: error\ndata: the engine has crashed\n\n"

    async def run():
        answer = http(body, content_type="text/event-stream")
        async with Server(answer) as server, deck_of(ADAPTERS[name], {"p": server.url}) as deck:
            await ask(deck, "p/any", True, deadline_s=20.0)

    with pytest.raises(CallFailed, match="the engine has crashed"):
        asyncio.run(run())


def test_a_connection_is_used_again_after_a_stream_whose_last_chunk_came_late():
    body = b"".join(OPENAI_CHAT.events(ScriptedAnswer(text=GOOD)))
    stream = [chunked(body, ends=False, content_type="text/event-stream"), Step.TICK, b"0\r\n\r\n", Step.KEEP]

    async def run():
        async with Server(saying(*stream)) as server, deck_of(ADAPTERS["chat"], {"p": server.url}) as deck:
            for _ in range(3):
                assert (await ask(deck, "p/any", True, deadline_s=20.0)).text == GOOD
            return len(server.connections)

    assert asyncio.run(run()) == 1


def test_huge_response_is_not_read_beyond_the_limit():
    kind = {"content_type": "text/event-stream"}
    zipped = gzip.compress(b" " * 30_000_000)
    table = [
        (http(zipped, content_encoding="gzip", **kind), TOO_LARGE, "too_large"),
        (http(gzip.compress(zipped), content_encoding="gzip, gzip", **kind), UNAVAILABLE, "cut_body"),
        (http(b"x" * 5_000_000, **kind), TOO_LARGE, "too_large"),
        (chunked(b"x" * 5_000_000, 300_000, **kind), TOO_LARGE, "too_large"),
        (http(b"data: " + b"[" * 5_000_000, **kind), TOO_LARGE, "too_large"),
        (http(b"x" * 5_000_000, 500), UNAVAILABLE, ""),
    ]

    async def run():
        async with contextlib.AsyncExitStack() as stack:
            servers = [await stack.enter_async_context(Server(saying(each, Step.KEEP))) for each, *_ in table]
            urls = {f"p{number}": f"http://127.0.0.1:{server.port}" for number, server in enumerate(servers)}
            deck = await stack.enter_async_context(
                deck_of(ADAPTERS["chat"], urls, deadline_s=30.0, settings={"max_response_bytes": 1_000_000})
            )
            tracemalloc.start()
            stack.callback(tracemalloc.stop)
            for number, (answer, *expected) in enumerate(table):
                for streams in (False, True):
                    tracemalloc.reset_peak()
                    with pytest.raises(CallFailed) as caught:
                        await ask(deck, f"p{number}/any", streams)
                    assert [type(caught.value), caught.value.sub_cause] == expected
                    # The server buffers unsent data.
                    assert tracemalloc.get_traced_memory()[1] - 3 * len(answer) < 5_000_000

    asyncio.run(run())
