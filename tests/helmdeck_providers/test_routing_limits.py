"""Requests in flight over several keys and servers of one provider: limits, waiting, cancellation, and exact counts."""

import asyncio
import contextlib
import threading

import pytest

from helmdeck_core import ChatResponse, ProviderSpec, RateLimited
from helmdeck_testing import make_deck, plugin_with
from tests.helmdeck_providers.routing_support import (
    KEYS,
    REFERENCES,
    A,
    Acme,
    AcmeRoute,
    B,
    C,
    acme_deck,
    asking,
    chooser_of,
    turns,
)


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)


@pytest.fixture
def acme():
    return Acme()


def test_requests_above_max_concurrent_use_another_route_then_wait_in_order(acme):
    routes = [{"api_key": "env:KEY_A", "max_concurrent": 2}, {"api_key": "env:KEY_B", "max_concurrent": 3}]

    async def run():
        acme.gate = asyncio.Event()
        async with acme_deck(acme, routes=routes, routing="in-order") as deck:
            calls = [asyncio.create_task(deck.acomplete(asking())) for _ in range(40)]
            await turns()
            assert acme.calls == [A, A, B, B, B] and chooser_of(deck).in_flight == [2, 3]
            for call in calls[::7]:  # two in flight, and four that wait
                call.cancel()
            acme.gate.set()
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert sum(isinstance(each, asyncio.CancelledError) for each in results) == 6
            assert sum(isinstance(each, ChatResponse) for each in results) == 34
            assert acme.most_busy == {A: 2, B: 3} and chooser_of(deck).in_flight == [0, 0]

    asyncio.run(run())


def test_waiting_requests_move_on_when_their_route_fails(acme):
    async def run():
        acme.gate = asyncio.Event()
        acme.failures[A] = RateLimited("no", retry_after_s=60.0)
        async with acme_deck(acme, routes=[{"api_key": "env:KEY_A", "max_concurrent": 1}]) as deck:
            calls = [asyncio.create_task(deck.acomplete(asking())) for _ in range(3)]
            await turns()
            acme.gate.set()
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert [type(each) for each in results] == [RateLimited] * 3 and acme.calls == [A]

    asyncio.run(run())


@pytest.mark.parametrize("ending", ["read", "closed", "cancelled"])
def test_stream_is_in_flight_until_it_ends(acme, ending):
    async def run():
        async with acme_deck(acme, api_keys=REFERENCES[:1]) as deck:
            acme.gate, acme.begins = asyncio.Event(), True
            stream = deck.astream(asking())
            await anext(stream)
            assert chooser_of(deck).in_flight == [1]
            if ending == "read":
                acme.gate.set()
                assert [item async for item in stream][-1].text == "fine"
            elif ending == "closed":
                await stream.aclose()
            else:
                reading = asyncio.create_task(anext(stream))
                await asyncio.sleep(0)
                reading.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await reading
            assert chooser_of(deck).in_flight == [0]

    asyncio.run(run())


def test_counts_are_exact_over_threads_and_event_loops(acme):
    acme.failures[C] = RateLimited("no")
    routes = [{"api_key": reference, "max_concurrent": 2} for reference in REFERENCES]
    with acme_deck(acme, routes=routes) as deck:

        def work(uses_own_loop):
            async def ask():
                await asyncio.gather(*(deck.acomplete(asking()) for _ in range(10)))
                await deck.aclose()

            if uses_own_loop:
                asyncio.run(ask())
            else:
                for _ in range(10):
                    deck.complete(asking())

        threads = [threading.Thread(target=work, args=(number % 2 == 0,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert chooser_of(deck).in_flight == [0, 0, 0]
        assert sum(acme.calls.count(key) for key in (A, B)) == 60


def test_closing_a_deck_closes_the_providers_of_all_routes(acme):
    opened = []
    spec = ProviderSpec(name="acme", open=lambda settings, _: opened.append(AcmeRoute(acme, settings)) or opened[-1])
    plugin = plugin_with(helmdeck_providers=[spec])
    with make_deck(plugin, config={"providers": {"acme": {"api_keys": REFERENCES}}}) as deck:
        deck.complete(asking())
    assert len(opened) == 3 and all(each.is_closed for each in opened)


def test_provider_with_one_key_is_called_without_a_router(acme):
    with acme_deck(acme, api_key="env:KEY_A") as deck:
        deck.complete(asking())

        async def opened():
            return deck._engine.pool.open_provider("acme")

        assert isinstance(asyncio.run(opened()), AcmeRoute)


def test_max_concurrent_limits_a_provider_without_routes(acme):
    async def run():
        acme.gate = asyncio.Event()
        async with acme_deck(acme, max_concurrent=2) as deck:
            calls = [asyncio.create_task(deck.acomplete(asking())) for _ in range(6)]
            await turns()
            assert len(acme.calls) == 2
            acme.gate.set()
            assert len(await asyncio.gather(*calls)) == 6

    asyncio.run(run())
