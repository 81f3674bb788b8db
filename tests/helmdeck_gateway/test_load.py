"""Places are shared fairly, and a process refuses requests before its memory, sockets or processor are used up."""

import asyncio
import itertools

import pytest

from helmdeck_core import ConfigError
from helmdeck_gateway import Gateway, GatewaySettings
from helmdeck_gateway.http_server.counters import Counters
from helmdeck_gateway.load.fair_queue import FairOrder, Places, Tenant
from helmdeck_gateway.load.shedding import SAMPLES, Load
from helmdeck_gateway.problems import Problem
from helmdeck_testing import make_deck
from tests.helmdeck_gateway.gateway_support import AppRequest, upstream

BODY = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}]}


def turns(order, count=None):
    return [order.pop() for _ in range(len(order) if count is None else count)]


def test_turns_go_round_tenants_by_weight_and_within_a_tenant_round_its_keys():
    order = FairOrder(lambda name: 2.0 if name == "big" else 1.0)
    for number in range(6):
        order.push(Tenant("noisy", "a"), f"noisy-a{number}")
    for number in range(2):
        order.push(Tenant("noisy", "b"), f"noisy-b{number}")
    for number in range(4):
        order.push(Tenant("big"), f"big{number}")
    order.push(Tenant("quiet"), "quiet0")
    found = turns(order)
    assert set(found[:4]) >= {"noisy-a0", "quiet0"} and sum(each.startswith("big") for each in found[:4]) == 2
    assert [each for each in found if each.startswith("big")] == [f"big{number}" for number in range(4)]
    noisy = [each for each in found if each.startswith("noisy")]
    assert noisy[:4] == ["noisy-a0", "noisy-b0", "noisy-a1", "noisy-b1"] and len(found) == 13


def test_tenant_with_one_request_at_a_time_gets_its_share_and_no_more():
    order = FairOrder()
    for number in range(8):
        order.push(Tenant("noisy"), f"noisy{number}")
    order.push(Tenant("steady"), "steady")
    found = []
    for _ in range(8):
        found.append(order.pop())
        if found[-1] == "steady":
            order.push(Tenant("steady"), "steady")
    assert found.count("steady") == 4 and {len(list(run)) for _, run in itertools.groupby(found, "steady".__eq__)} == {
        1
    }


def test_request_of_an_idle_tenant_is_next_however_many_others_wait():
    order = FairOrder()
    for number in range(1_000):
        order.push(Tenant("noisy"), number)
    turns(order, 500)
    order.push(Tenant("quiet"), "quiet")
    assert "quiet" in turns(order, 2)


def test_place_of_a_request_that_left_goes_to_the_next_one_and_a_new_tenant_is_next():
    async def run():
        places, given = Places(), []
        noisy, quiet = Tenant("noisy"), Tenant("quiet")
        assert places.try_take(noisy) and not places.try_take(quiet)

        async def take(tenant, name):
            await places.take(tenant, 60.0)
            given.append(name)

        waiting = [(noisy, "noisy0"), (noisy, "noisy1"), (noisy, "noisy2"), (quiet, "quiet0")]
        tasks = [asyncio.create_task(take(*each)) for each in waiting]
        await asyncio.sleep(0)
        places.free(noisy)  # the place is given to the quiet tenant, which leaves before it takes it
        tasks[3].cancel()
        tasks[1].cancel()
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.gather(tasks[0], tasks[1], tasks[3], return_exceptions=True)
        before = list(given)
        places.free(noisy)
        await tasks[2]
        places.free(noisy)
        return before, given, places.in_use, places.waiting

    assert asyncio.run(run()) == (["noisy0"], ["noisy0", "noisy2"], 0, 0)


def test_request_that_finds_no_place_in_time_is_refused_with_the_time_to_wait():
    async def run():
        places = Places()
        places.try_take(Tenant("a"))
        with pytest.raises(Problem) as caught:
            await places.take(Tenant("b"), 1e-9)
        return caught.value, places.waiting, places.refused

    problem, waiting, refused = asyncio.run(run())
    assert (problem.status, problem.headers["retry-after"], waiting, refused) == (429, "1", 0, 1)


def responses(server, requests, counters=None, **settings):
    """Send requests at once; return their status and ``Retry-After``, and the state of the process afterwards."""

    async def run():
        config = {"providers": {"up": upstream(server)}}
        async with make_deck(config=config) as deck:
            gateway = Gateway(deck, GatewaySettings(**settings), counters=counters)
            sent = [AppRequest(gateway.app, "/v1/chat/completions", body).sent() for body in requests]
            found = await asyncio.gather(*sent)
            left = gateway.counters
            return [(each.status, each.headers.get("retry-after")) for each in found], left

    return asyncio.run(run())


def test_requests_beyond_the_active_ones_wait_for_their_turn(server):
    found, counters = responses(server, [BODY] * 12, max_active=2)
    assert found == [(200, None)] * 12
    assert (counters.places.in_use, counters.places.waiting, counters.load.body_bytes) == (0, 0, 0)


def test_many_large_bodies_are_refused_beyond_the_room_for_them_and_the_room_is_given_back(server):
    large = {**BODY, "messages": [{"role": "user", "content": "x" * 1_000_000}]}
    found, counters = responses(server, [large] * 10, max_body_bytes=3_500_000)
    assert sorted(found) == [(200, None)] * 3 + [(429, "1")] * 7
    assert counters.load.body_bytes == 0 and 'shed_total{reason="memory"} 7' in counters.render()


def test_process_that_stays_late_or_has_no_sockets_left_refuses_requests(server):
    late, full = Counters(), Counters()
    for _ in range(SAMPLES):
        late.load.note_lag(5.0)
    assert responses(server, [BODY], late)[0] == [(429, "1")]
    late.load.note_lag(0.0)
    assert responses(server, [BODY], late)[0] == [(200, None)]

    async def run():
        full.load.start(lambda: 95, 100)
        full.load.stop()

    asyncio.run(run())
    assert responses(server, [BODY], full)[0] == [(429, "1")]
    with pytest.raises(Problem) as caught:
        full.load.check(1, 3.0)
    assert caught.value.headers["connection"] == "close"


def test_new_tenant_displaces_the_newest_request_of_the_one_with_most():
    async def run():
        places = Places()
        places.try_take(Tenant("noisy"))
        tasks = [asyncio.create_task(places.take(Tenant("noisy"), 60.0)) for _ in range(3)]
        await asyncio.sleep(0)
        assert not places.make_room(Tenant("noisy")) and places.make_room(Tenant("quiet"))
        with pytest.raises(Problem) as caught:
            await tasks[2]
        assert (caught.value.status, places.waiting) == (429, 2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return places.waiting

    assert asyncio.run(run()) == 0


def test_shares_are_numbers_above_zero():
    with pytest.raises(ConfigError) as caught:
        GatewaySettings.read({"shares": {"a": 0, "b": 2, "c": -1.5}})
    assert sorted(each.where for each in caught.value.mistakes) == ["gateway.shares.a", "gateway.shares.c"]
    assert Load().lag_s == 0.0


def test_an_eighth_of_the_places_is_kept_for_tenants_that_have_few():
    places = Places()
    places.most = 16
    noisy, quiet = Tenant("noisy"), Tenant("quiet")
    assert [places.try_take(noisy) for _ in range(15)] == [True] * 14 + [False]
    assert [places.try_take(quiet) for _ in range(3)] == [True, True, False]
    for tenant, count in ((noisy, 14), (quiet, 2)):
        for _ in range(count):
            places.free(tenant)
    assert (places.in_use, len(places._active)) == (0, 0)
