"""Whatever a server sends below the size limit: other tasks of the event loop run meanwhile, and a late value is a timeout."""

from __future__ import annotations

import asyncio
import threading

import pytest

from helmdeck_core import CallFailed, CallLimits, LikelyTimeout
from helmdeck_core.calls.visible_text import LONG_TEXT, read_aside
from helmdeck_providers import NOT_JSON, EventDecoder, decode_json
from helmdeck_testing import Reply, make_deck, scripted_provider
from tests.adapters_support import KEYS, ask, request
from tests.helmdeck_providers.http_support import Server, chunked, http

pytestmark = pytest.mark.usefixtures("transport", "loop_lag")

JSON, EVENTS = {"content_type": "application/json"}, {"content_type": "text/event-stream"}
MANY = b"[[]" + b",[]" * 6_600_000
CALL = b'{"index":%d,"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}'
CALLS = b",".join(CALL % (number, number) for number in range(40_000))


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


async def outcome(body, streams):
    """The failure of a call whose response has this body."""
    provider = {"kind": "openai", "api_key": "env:PLANTED"}
    async with Server(body) as server:
        config = {
            "providers": {"p": {"base_url": server.url, **provider}},
            "recovery": {"max_attempts": 1, "deadline_s": 60.0},
        }
        async with make_deck(config=config) as deck:
            with pytest.raises(CallFailed) as caught:
                await ask(deck, "p/any", streams)
    return caught.value


@pytest.mark.parametrize(
    ("body", "streams"),
    {
        "lists": (http(MANY + b"]", **JSON), False),
        "lists and no number": (http(MANY + b",NaN]", **JSON), False),
        "calls": (http(b'{"choices":[{"message":{"tool_calls":[' + CALLS + b"]}}]}", **JSON), False),
        "an event of lists": (http(b"data: " + MANY + b"]\n\n", **EVENTS), True),
        "an endless event": (http(b"data: x\n" * 2_000_000, **EVENTS), True),
    }.values(),
    ids=["lists", "lists and no number", "calls", "an event of lists", "an endless event"],
)
def test_a_response_that_takes_long_to_read_is_refused_before_it_is(body, streams):
    failure = asyncio.run(outcome(body, streams))
    assert failure.sub_cause in ("too_large", "cut_body")


def test_json_with_many_values_is_not_decoded():
    assert decode_json(b"[" + b"[]," * 100_000 + b"1]") == [[]] * 100_000 + [1]
    assert decode_json(b"[" + b"[]," * 150_000 + b"1]") is NOT_JSON
    assert decode_json(b"[" + b"1," * 390_000 + b"1]") == [1] * 390_001
    assert decode_json(b"[" + b"1," * 400_000 + b"1]") is NOT_JSON
    # What is read leniently is read twice.
    assert decode_json(b"[" + b"[]," * 50_000 + b"NaN]") is NOT_JSON


def test_an_event_with_too_many_lines_is_dropped_and_not_kept_in_memory():
    decoder = EventDecoder()
    for _ in range(20):
        assert decoder.feed(b"data: x\n" * 1_000) == []
    assert decoder.has_too_many_lines
    assert len(decoder.finish()[0].data) < 20_000


def test_other_tasks_run_while_a_stream_that_arrived_at_once_is_read():
    event = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
    body = event * 20_000 + b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    turns = 0

    async def count_turns():
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def run():
        async with Server(chunked(body, len(body), **EVENTS)) as server:
            provider = {"base_url": server.url, "kind": "openai", "api_key": "env:PLANTED"}
            async with make_deck(config={"providers": {"p": provider}}) as deck:
                stream = deck.astream(request("p/any"))
                await anext(stream)
                counter = asyncio.create_task(count_turns())
                deltas = [item async for item in stream]
                counter.cancel()
                return len(deltas)

    assert asyncio.run(run()) == 20_000
    assert turns > len(body) / 16_384 / 2


@pytest.mark.parametrize("field", ["content", "reasoning_content"])
@pytest.mark.parametrize("streams", [False, True])
def test_a_response_longer_than_any_model_writes_is_refused(field, streams):
    message = b'{"%b":"%b"}' % (field.encode(), b"x" * 2_100_000)
    choice = b'{"choices":[{"index":0,"%b":%b}]}' % (b"delta" if streams else b"message", message)
    body = http(b"data: %b\n\n" % choice, **EVENTS) if streams else http(choice, **JSON)
    assert asyncio.run(outcome(body, streams)).sub_cause == "too_large"


def test_a_long_text_that_arrives_at_once_comes_in_several_batches():
    text = "<" * 100_000

    async def run():
        choice = b'{"choices":[{"index":0,"delta":{"content":"%b"},"finish_reason":"stop"}]}' % text.encode()
        async with Server(http(b"data: %b\n\ndata: [DONE]\n\n" % choice, **EVENTS)) as server:
            provider = {"base_url": server.url, "kind": "openai", "api_key": "env:PLANTED"}
            async with make_deck(config={"providers": {"p": provider}}) as deck:
                return [item async for item in deck.astream(request("p/any"))]

    *deltas, response = asyncio.run(run())
    assert "".join(delta.text for delta in deltas) == response.text == text
    assert max(len(delta.text) for delta in deltas) < 20_000


def test_a_long_text_is_read_in_a_worker_thread():
    async def reading_thread(text):
        return await read_aside(text, threading.get_ident)

    assert asyncio.run(reading_thread("x" * LONG_TEXT)) == threading.get_ident()
    assert asyncio.run(reading_thread("x" * (LONG_TEXT + 1))) != threading.get_ident()


def test_a_value_that_is_ready_after_the_deadline_is_a_timeout():
    now_s = [0.0]

    def late(_):
        now_s[0] += 10.0
        return Reply("hello")

    provider = scripted_provider([late], "a")
    with make_deck(provider) as deck:
        deck._engine.dispatcher.services.clock = lambda: now_s[0]
        with pytest.raises(LikelyTimeout) as caught:
            deck.complete(request("a/any"), limits=CallLimits(deadline_s=5.0))
    assert caught.value.sub_cause == "deadline"
