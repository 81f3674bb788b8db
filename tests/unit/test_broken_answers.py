"""Whatever a server sends: a call ends with the right answer or with a cause, and leaves nothing open."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import json
import os
import tracemalloc
import zlib

import aiohttp  # noqa: F401  # what importing it takes is not a call's time
import pytest

from helmdeck_core import CallFailed, InvalidRequest, LikelyTimeout, ProviderUnavailable, RateLimited, TransientUnknown
from helmdeck_testing import ScriptedAnswer, make_deck
from tests.unit.adapters_support import ADAPTERS, KEYS, PLUGINS, ask
from tests.unit.http_support import Server, Step, chunked, http, saying, tasks_left, until

DEADLINE_S = 1.0
"""Long enough for a server on a busy machine to be reached: a case that is not reached tests nothing."""
AT_ONCE = 8
"""Calls that are answered at the same time; those that wait in vain do so beside them."""

TEXT = "a text that is long enough to be cut anywhere " * 5
GOOD = "the whole answer"
BROKEN, LATE, LARGE = ProviderUnavailable, LikelyTimeout, TransientUnknown


def outcomes(whole, streamed):
    return lambda streams: streamed if streams else whole


def good_answers(body, kind):
    zipped = gzip.compress(body)
    yield "length", [http(body, **kind), Step.KEEP]
    yield "chunks", [chunked(body, **kind), Step.KEEP]
    yield "chunks of a byte", [chunked(body, 1, **kind)]
    yield "until the end", [http(body, content_length=None, **kind)]
    yield "gzip", [http(zipped, content_encoding="gzip", **kind)]
    yield "gzip in chunks of a byte", [chunked(zipped, 1, content_encoding="x-gzip", **kind)]
    yield (
        "gzip in two parts",
        [http(gzip.compress(body[:99]) + gzip.compress(body[99:]), content_encoding="gzip", **kind)],
    )
    yield "gzip and more", [http(zipped + b"\0\0", content_encoding="gzip", **kind)]
    yield "deflate", [http(zlib.compress(body), content_encoding="deflate", **kind)]
    yield "bare deflate", [http(zlib.compress(body)[2:-4], content_encoding="deflate", **kind)]
    yield "said to be compressed", [http(body, content_encoding="br", **kind)]
    yield (
        "informed before",
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
        "another protocol from now on": b"HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n",
        "no colon": b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        "blank in a name": b"HTTP/1.1 200 OK\r\nbad name: x\r\n\r\n",
        "nul in a value": b"HTTP/1.1 200 OK\r\nx: a\x00b\r\ncontent-length: 0\r\n\r\n",
        "huge header": b"HTTP/1.1 200 OK\r\nx: " + b"a" * 200_000 + b"\r\n\r\n",
        "headers without end": b"HTTP/1.1 200 OK\r\n" + (b"x: " + b"a" * 1000 + b"\r\n") * 300,
        "half a head": many,
        "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        "length below 0": http(body, content_length=-5),
        "length beyond all": http(body, content_length="9" * 30),
        "length that is none": http(body, content_length="abc"),
        "unknown transfer": http(body, content_length=None, transfer_encoding="gzip, chunked"),
    }.items():
        yield name, [head], BROKEN
    yield "reset", [Step.RESET], BROKEN
    yield "reset in the head", [b"HTTP/1.1 200 OK\r\n", Step.RESET], BROKEN
    yield "empty", [b"HTTP/1.1 204 No Content\r\n\r\n"], BROKEN
    yield "redirect", [http(b"", 302, location="http://127.0.0.1:1/")], InvalidRequest


def bad_bodies(body, kind):
    half = body[: len(body) // 2]
    begun = chunked(half, ends=False, **kind)
    zipped = gzip.compress(body)
    yield "length too long", [http(body, content_length=len(body) + 9, **kind)], BROKEN
    yield "length too short", [http(body, content_length=len(body) // 2, **kind)], BROKEN
    yield "garbage behind", [http(body, **kind) + b"garbage", Step.KEEP], BROKEN
    # Half a stream is an answer without a reason to stop.
    yield "half", [chunked(half, **kind)], outcomes(BROKEN, "Unknown")
    yield "length 0", [http(b"", **kind)], outcomes(BROKEN, LATE)
    for name, said in {
        "half and an end": begun,
        "no last chunk": chunked(body, ends=False, **kind),
        "chunk size that is none": begun + b"zz\r\nxx\r\n",
        "chunk size below 0": begun + b"-5\r\nxx\r\n",
        "chunk size beyond all": begun + b"f" * 30 + b"\r\nxx\r\n",
        "chunk size without end": begun + b"0" * 200_000,
        "chunk longer than its size": begun + b"2\r\nxxxx\r\n",
        "trailer that is none": chunked(body, ends=False, **kind) + b"0\r\nno colon\r\n\r\n",
        "gzip that breaks off": http(zipped[:-20], content_encoding="gzip", **kind),
        "gzip that is none": http(body, content_encoding="gzip", **kind),
        "gzip with a wrong sum": http(zipped[:-8] + bytes(8), content_encoding="gzip", **kind),
        "deflate that is none": http(body, content_encoding="deflate", **kind),
        "compressed twice": http(gzip.compress(zipped), content_encoding="gzip, gzip", **kind),
        "a page": http(b"<html>nope</html>", content_type="text/html"),
        "zeros": http(bytes(1000), **kind),
        "another alphabet": http(body.decode("latin-1").encode("utf-16"), **kind),
        "brackets": http(b"[" * 100_000, **kind),
        "a server's fault": http(b'{"error": {"message": "x"}}', 500, content_type="application/json"),
        "half a fault": http(b'{"error": {"mess', 503, content_length=99, content_type="application/json"),
    }.items():
        yield name, [said], BROKEN
    yield "half and a reset", [begun, Step.RESET], BROKEN
    yield "a limit", [http(b"{}", 429, retry_after="9" * 400)], RateLimited
    yield "a limit with half a body", [http(b"{", 429, content_length=99), Step.RESET], RateLimited
    yield "a limit with a huge body", [http(b"x" * 300_000, 429, content_length=10**12)], RateLimited


def waits(body, kind):
    head = http(b"", content_length=len(body), **kind)
    for name, steps in {
        "before the head": [],
        "in the head": [b"HTTP/1.1 200 OK\r\ncontent"],
        "informed for ever": [b"HTTP/1.1 100 Continue\r\n\r\n" * 500],
        "after the head": [head],
        "in the body": [head + body[: len(body) // 2]],
        "before the last chunk": [chunked(body, ends=False, **kind)],
        "head byte by byte": [step for byte in head for step in (bytes([byte]), Step.TICK)],
        "body byte by byte": [head, *(step for byte in body for step in (bytes([byte]), Step.TICK))],
    }.items():
        yield name, [*steps, Step.STALL], LATE


def cases(dialect, streams):
    said = ScriptedAnswer(text=TEXT)
    body = b"".join(dialect.events(said)) if streams else json.dumps(dialect.whole(said)).encode()
    kind = {"content_type": dialect.content_type if streams else "application/json"}
    yield from ((name, steps, GOOD) for name, steps in good_answers(body, kind))
    for found in (bad_heads, bad_bodies, waits):
        yield from found(body, kind)


def told(outcome):
    """What a call came to, in the words of ``cases``."""
    if isinstance(outcome, CallFailed):
        return type(outcome)
    if isinstance(outcome, BaseException):
        return outcome
    return GOOD if outcome.text == TEXT and outcome.stop_reason == "EndTurn" else outcome.stop_reason.value


@pytest.fixture(scope="module", autouse=True)
def _only_new_objects():
    """Let collections look at what these tests make, and not at everything that other tests left: they are many."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


def deck_of(adapter, addresses, settings=None, **recovery):
    """A deck with a provider for each address."""
    given = {"kind": adapter.kind, **adapter.settings, **(settings or {})}
    providers = {name: {"base_url": address, **given} for name, address in addresses.items()}
    recovery = {"max_attempts": 1, "deadline_s": DEADLINE_S, "cool_down_after": 0, **recovery}
    return make_deck(*PLUGINS, config={"providers": providers, "recovery": recovery})


def files():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # its own is among them each time


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_answer_is_read_or_has_its_cause_and_nothing_stays_open(name):
    adapter = ADAPTERS[name]
    table = [(streams, *case) for streams in (False, True) for case in cases(adapter.dialect, streams)]
    problems = []

    async def call(deck, number, streams, label, steps, expected, turn):
        is_waiting = Step.STALL in steps
        try:
            async with contextlib.nullcontext() if is_waiting else turn:
                # What does not wait in vain ends by itself, however busy this machine is.
                limit_s = DEADLINE_S if is_waiting else 20.0
                found = told(await ask(deck, f"p{number}/any", streams, deadline_s=limit_s))
        except Exception as exc:
            found = told(exc)
        expected = expected(streams) if callable(expected) and not isinstance(expected, type) else expected
        if found != expected:
            problems.append((label, "streamed" if streams else "whole", found, expected))

    async def run():
        turn, servers = asyncio.Semaphore(AT_ONCE), [Server(saying(*case[2])) for case in table]
        for server in servers:
            await server.__aenter__()
        addresses = {f"p{number}": f"http://127.0.0.1:{server.port}" for number, server in enumerate(servers)}
        async with deck_of(adapter, addresses) as deck:
            calls = [call(deck, number, *case, turn) for number, case in enumerate(table)]
            await asyncio.gather(*calls)
        await until(lambda: all(len(server.gone) == len(server.connections) for server in servers))
        for server in servers:
            await server.__aexit__()
        assert all(server.connections for server in servers)
        assert tasks_left() == []

    before = files()
    asyncio.run(run())
    assert problems == []
    assert files() == before
    assert len(table) > 130


def test_a_huge_answer_is_not_read_on_and_takes_no_more_memory_than_its_limit_and_some_pieces():
    kind = {"content_type": "text/event-stream"}
    zipped = gzip.compress(b" " * 30_000_000)
    table = [
        (http(zipped, content_encoding="gzip", **kind), LARGE, "too_large"),
        (http(gzip.compress(zipped), content_encoding="gzip, gzip", **kind), BROKEN, "broken_off"),
        (http(b"x" * 5_000_000, **kind), LARGE, "too_large"),
        (chunked(b"x" * 5_000_000, 300_000, **kind), LARGE, "too_large"),
        (http(b"data: " + b"[" * 5_000_000, **kind), LARGE, "too_large"),
        (http(b"x" * 5_000_000, 500), BROKEN, ""),
    ]

    async def run():
        async with contextlib.AsyncExitStack() as stack:
            servers = [await stack.enter_async_context(Server(saying(each, Step.KEEP))) for each, *_ in table]
            addresses = {f"p{number}": f"http://127.0.0.1:{server.port}" for number, server in enumerate(servers)}
            deck = await stack.enter_async_context(
                deck_of(ADAPTERS["chat"], addresses, deadline_s=30.0, settings={"max_response_bytes": 1_000_000})
            )
            tracemalloc.start()
            stack.callback(tracemalloc.stop)
            for number, (said, *expected) in enumerate(table):
                for streams in (False, True):
                    tracemalloc.reset_peak()
                    with pytest.raises(CallFailed) as caught:
                        await ask(deck, f"p{number}/any", streams)
                    assert [type(caught.value), caught.value.sub_cause] == expected
                    # The server holds what it has not sent.
                    assert tracemalloc.get_traced_memory()[1] - 3 * len(said) < 5_000_000

    asyncio.run(run())
