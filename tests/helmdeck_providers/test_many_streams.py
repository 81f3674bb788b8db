"""Many concurrent streams with random faults, slow consumers and a deck that closes: nothing is left, and the number of objects stays flat."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import random
import threading
from collections import Counter

import pytest

from helmdeck_core import CallFailed, CallLimits, ChatResponse
from helmdeck_testing import make_deck
from tests.adapters_support import request
from tests.helmdeck_providers.http_support import Server, Step, chunked, http, saying, tasks_left, until

pytestmark = pytest.mark.usefixtures("only_new_objects", "transport", "loop_lag")

STREAMS = int(os.environ.get("MANY_STREAMS", "24"))
"""``MANY_STREAMS=200`` runs the same at full size."""
KIND = {"content_type": "text/event-stream"}
CHUNKS = [
    b"data: %b\n\n" % json.dumps({"choices": [{"index": 0, "delta": {"content": f"word{n} "}}]}).encode()
    for n in range(40)
]
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
TEXT = "".join(f"word{n} " for n in range(40))
WHOLE, HALF = b"".join(CHUNKS), b"".join(CHUNKS[:20])

BEHAVIOURS = (
    saying(chunked(WHOLE + END, **KIND)),
    saying(chunked(WHOLE + END, 1_000_000, **KIND)),
    # The connection stays open behind the end mark: with the end of the body, so that it is used again, and without it.
    saying(chunked(WHOLE + END, **KIND), Step.KEEP),
    saying(chunked(WHOLE + END, ends=False, **KIND), Step.KEEP),
    saying(chunked(HALF, ends=False, **KIND), Step.TICK, chunked(END, 10_000).partition(b"\r\n\r\n")[2]),
    saying(chunked(HALF, ends=False, **KIND), Step.RESET),
    saying(chunked(HALF, ends=False, **KIND)),
    saying(chunked(HALF + b"data: {broken\n\n" + WHOLE + END, **KIND)),
    saying(chunked(HALF + b'data: {"error": {"message": "overloaded"}}\n\n', **KIND)),
    saying(http(b'{"error": {"message": "slow down"}}', 429)),
    saying(http(b"", 503)),
    saying(Step.RESET),
)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("PLANTED", "key-for-the-test")


def deck_at(server):
    provider = {"kind": "openai", "base_url": server.url, "api_key": "env:PLANTED"}
    recovery = {"max_attempts": 2, "backoff_s": 0, "cool_down_after": 0}
    return make_deck(config={"providers": {"p": provider}, "recovery": recovery})


async def consume(deck, turns):
    """Read one stream; let other tasks run ``turns`` times after each chunk. Return the outcome."""
    text = ""
    try:
        async for item in deck.astream(request("p/any"), limits=CallLimits(deadline_s=60.0)):
            if isinstance(item, ChatResponse):
                assert item.text == text
                return "answered"
            text += item.text
            for _ in range(turns):
                await asyncio.sleep(0)
    except CallFailed as exc:
        return type(exc).__name__
    return "ended without a response"


OURS = ("helmdeck_core", "helmdeck_providers", "httpcore2")
"""Modules whose objects must not grow in number; the test server keeps a record of its connections."""


def open_files():
    """The number of descriptors of this process."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208  # always includes its own


async def settled(holds):
    """Let the loop run until connections that were closed are gone."""
    for _ in range(2_000):
        if holds():
            return True
        await asyncio.sleep(0.001)
    return False


def test_streams_with_random_faults_leave_nothing():
    rng = random.Random(5)
    outcomes, sizes = Counter(), []

    async def run():
        async with Server(lambda connection: rng.choice(BEHAVIOURS)(connection)) as server:
            files, threads = open_files(), threading.active_count()
            async with deck_at(server) as deck:
                for _ in range(4):
                    outcomes.update(
                        await asyncio.gather(*(consume(deck, rng.choice((0, 1, 30))) for _ in range(STREAMS)))
                    )
                    gc.collect()
                    sizes.append(sum(str(type(each).__module__).startswith(OURS) for each in gc.get_objects()))
            assert await settled(lambda: open_files() <= files and not tasks_left()), (
                open_files(),
                files,
                tasks_left(),
            )
            assert threading.active_count() <= threads

    asyncio.run(run())
    assert outcomes["answered"] > STREAMS
    assert outcomes.total() == 4 * STREAMS
    assert "ended without a response" not in outcomes
    # A few objects belong to the last faults of a round; what streams leave behind would add up over the rounds.
    assert min(sizes[2:]) - min(sizes[:2]) < STREAMS, sizes


def test_closing_under_load_ends_every_stream():
    rng = random.Random(6)

    async def run():
        async with Server(lambda connection: rng.choice(BEHAVIOURS[:5])(connection)) as server:
            files = open_files()
            async with deck_at(server) as deck:
                streams = [asyncio.create_task(consume(deck, 50)) for _ in range(STREAMS)]
                await until(lambda: len(server.heads) >= STREAMS // 2)
                await deck.aclose()
                outcomes = Counter(await asyncio.gather(*streams))
            assert await settled(lambda: open_files() <= files and not tasks_left()), (
                open_files(),
                files,
                tasks_left(),
            )
            return outcomes

    outcomes = asyncio.run(run())
    assert outcomes.keys() <= {"Cancelled", "answered"}
    assert outcomes["Cancelled"]
