"""A wait that a provider asks one call for is kept by all calls to the model, and they do not return all at once."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from helmdeck_core import (
    CallFailed,
    CallLimits,
    ChatRequest,
    Message,
    ProviderUnavailable,
    RateLimited,
    Role,
    TextPart,
)
from helmdeck_core.calls.shared_waits import MAX_MODELS, SharedWaits, WaitLimits
from helmdeck_testing import Fail, Reply, make_deck, scripted_provider

REQUEST = ChatRequest(model="a/one", messages=(Message(Role.USER, (TextPart("hi"),)),))
NO_LIMITS = CallLimits()
CHAIN = {"a/": ["b/two"]}


class Limited:
    """A server that asks to wait until a time, and counts what arrives before it."""

    def __init__(self, clock, free_at_s, kind="rate_limited"):
        self.clock, self.free_at_s, self.kind = clock, free_at_s, kind
        self.arrivals = []

    def __call__(self, _request):
        self.arrivals.append(self.clock.passed_s)
        left_s = self.free_at_s - self.clock.passed_s
        return Fail(self.kind, retry_after_s=left_s) if left_s > 0 else "home"


def run_calls(server, starts_s, *, limits=NO_LIMITS, fallback=False, first_token_timeout_s=12.0, **recovery):
    """The outcomes of calls that start at these times: the text and the attempts, or the failure."""

    async def one(deck, start_s):
        await asyncio.sleep(start_s)
        try:
            response = await deck.acomplete(REQUEST, limits=limits)
            return response.text, response.attempts
        except CallFailed as exc:
            return exc, exc.attempts

    async def run():
        away = scripted_provider(["away"] * len(starts_s), "b")
        budget = {"first_token_timeout_s": first_token_timeout_s}
        config = {"recovery": recovery, "fallback": CHAIN if fallback else {}, "budgets": {"a/": budget}}
        async with make_deck(scripted_provider([server] * 4 * len(starts_s), "a"), away, config=config) as deck:
            return await asyncio.gather(*(one(deck, start_s) for start_s in starts_s))

    return asyncio.run(run())


def test_other_calls_keep_the_wait_and_one_of_them_tests_the_model_first(virtual_time):
    server = Limited(virtual_time, 5.0)
    outcomes = run_calls(server, [0.0, *[0.1] * 20])
    assert {text for text, _ in outcomes} == {"home"}
    first, *later = server.arrivals
    assert first == 0.0 and min(later) >= 5.0 and len(later) == 21
    assert later.count(min(later)) == 1, "one call tests the model"
    assert len(set(later)) == len(later) and max(later) <= 6.0, "the others follow one after the other within a second"


def test_wait_of_another_call_is_shown_with_the_attempt(virtual_time):
    outcomes = run_calls(Limited(virtual_time, 5.0), [0.0, 1.0])
    (_, first), (_, second) = outcomes
    assert [str(each) for each in first] == [
        "1. a/one: rate_limited, then again after 5.0 s (Retry-After)",
        "2. a/one: answered",
    ]
    (attempt,) = second
    assert attempt.waited_s >= 4.0 and "for the Retry-After of another call" in str(attempt)


def test_calls_with_a_fallback_wait_within_the_patience_and_go_there_otherwise(virtual_time):
    server = Limited(virtual_time, 5.0)
    outcomes = run_calls(server, [0.0, 1.0, 2.9, 3.1, 4.9], fallback=True)
    assert [text for text, _ in outcomes] == ["away", "away", "away", "home", "home"]
    assert server.arrivals[0] == 0.0 and min(server.arrivals[1:]) >= 5.0
    assert outcomes[1][1][0].changed == ("a/one passed over",)


def test_call_that_cannot_wait_that_long_fails_without_a_request(virtual_time):
    server = Limited(virtual_time, 20.0)
    outcomes = run_calls(server, [0.0, *[1.0] * 10], limits=CallLimits(deadline_s=4.0))
    assert server.arrivals == [0.0]
    for failure, attempts in outcomes[1:]:
        assert isinstance(failure, RateLimited) and failure.retry_after_s == pytest.approx(19.0)
        assert (failure.sub_cause, attempts[0].is_sent) == ("shared_wait", False)
        assert "no request was sent" in str(failure)
    assert virtual_time.passed_s < 4.0


def test_wait_of_an_unavailable_provider_is_kept_as_well(virtual_time):
    server = Limited(virtual_time, 5.0, "provider_unavailable")
    outcomes = run_calls(server, [0.0, 1.0, 2.0])
    assert [text for text, _ in outcomes] == ["home"] * 3
    assert [each for each in server.arrivals if 0 < each < 5.0] == []


@pytest.mark.parametrize("has_fallback", [False, True])
def test_slow_test_of_a_model_holds_the_others_for_the_patience_only(virtual_time, has_fallback):
    def server(_request, calls=[]):  # noqa: B006
        calls.append(virtual_time.passed_s)
        return Fail("rate_limited", retry_after_s=3.0) if len(calls) == 1 else Reply("home", delay_s=30.0)

    outcomes = run_calls(server, [0.0, 1.0], fallback=has_fallback, patience_s=3.0, first_token_timeout_s=60.0)
    assert [text for text, _ in outcomes] == ["home"] * 2
    assert virtual_time.passed_s <= 3.0 + 3.0 + 1.0 + 30.0


def test_first_chunk_of_the_test_is_its_verdict(virtual_time):
    def server(_request, calls=[]):  # noqa: B006
        calls.append(virtual_time.passed_s)
        late = Reply("one two three", piece_chars=4, piece_delay_s=9.0)
        return Fail("rate_limited", retry_after_s=1.0) if len(calls) == 1 else late

    async def read(deck, start_s):
        await asyncio.sleep(start_s)
        return [item async for item in deck.astream(REQUEST)][-1].attempts

    async def run():
        config = {"recovery": {"patience_s": 50.0}}
        async with make_deck(scripted_provider([server] * 3, "a"), config=config) as deck:
            return await asyncio.gather(read(deck, 0.0), read(deck, 0.5))

    _, (attempt,) = asyncio.run(run())
    assert 9.5 <= attempt.waited_s <= 10.5, "half a second until the test, nine for its first chunk, and the spread"


def test_cancelled_test_is_taken_over_by_another_call(virtual_time):
    async def run():
        waits = SharedWaits(virtual_time, asyncio.sleep, lambda: 0.5, 60.0)
        waits.start("a/one", RateLimited("x", retry_after_s=4.0), virtual_time())
        limits = WaitLimits(until_s=virtual_time() + 60, verdict_s=60.0)
        first, second, third = object(), object(), object()
        await waits.enter("a/one", first, limits)
        others = [asyncio.create_task(waits.enter("a/one", each, limits)) for each in (second, third)]
        await asyncio.sleep(1.0)
        waits.leave("a/one", first, has_verdict=False)
        await asyncio.sleep(1.0)
        assert [each.done() for each in others] == [True, False]
        waits.leave("a/one", second, has_verdict=True)
        await asyncio.gather(*others)
        assert waits.is_empty

    asyncio.run(run())


def test_test_that_never_ends_is_taken_over_after_the_maximum(virtual_time):
    async def run():
        waits = SharedWaits(virtual_time, asyncio.sleep, lambda: 0.5, 60.0)
        waits.start("a/one", RateLimited("x", retry_after_s=4.0), virtual_time())
        limits = WaitLimits(until_s=virtual_time() + 500, verdict_s=500.0)
        await waits.enter("a/one", "a call of a loop that has stopped", limits)
        await asyncio.sleep(61.0)
        await waits.enter("a/one", object(), limits)

    asyncio.run(run())
    assert virtual_time.passed_s == pytest.approx(65.0)


def test_waits_that_ended_long_ago_are_forgotten(virtual_time):
    waits = SharedWaits(virtual_time, asyncio.sleep, lambda: 0.5, 60.0)
    waits.start("a/one", RateLimited("x", retry_after_s=4.0), virtual_time())
    virtual_time.advance(65.0)
    waits.start("a/two", RateLimited("x", retry_after_s=4.0), virtual_time())
    assert not waits.applies_to("a/one") and waits.applies_to("a/two")


def test_failed_test_with_a_new_wait_holds_the_others_until_then(virtual_time):
    def server(_request, calls=[]):  # noqa: B006
        calls.append(virtual_time.passed_s)
        assert len(calls) < 4 or calls[-1] >= 9.0
        return Fail("rate_limited", retry_after_s=(5.0, 4.0)[len(calls) - 1]) if len(calls) < 3 else "home"

    assert [text for text, _ in run_calls(server, [0.0, 1.0, 2.0])] == ["home"] * 3


def test_wait_as_long_as_the_patience_is_made_on_a_clock_that_moves_on():
    ticks = itertools.count()

    async def run():
        script = scripted_provider([Fail("rate_limited", retry_after_s=2.0), "home"], "a")
        async with make_deck(script, scripted_provider(["away"], "b"), config={"fallback": CHAIN}) as deck:
            services = deck._engine.dispatcher.services
            services.clock = lambda: next(ticks) * 0.001

            async def sleep(seconds):
                for _ in range(int(seconds * 1000)):
                    next(ticks)

            services.sleep = sleep
            return (await deck.acomplete(REQUEST)).text

    assert asyncio.run(run()) == "home"


def test_refusal_has_the_class_of_the_failure_that_started_the_wait(virtual_time):
    async def enter():
        waits = SharedWaits(virtual_time, asyncio.sleep, lambda: 0.5, 60.0)
        waits.start("a/one", ProviderUnavailable("x", retry_after_s=9.0), virtual_time())
        await waits.enter("a/one", object(), WaitLimits(until_s=virtual_time() + 2, verdict_s=2.0))

    with pytest.raises(ProviderUnavailable, match=r"with 9\.0 s left; no request was sent"):
        asyncio.run(enter())


def test_wait_beyond_the_maximum_is_tested_once_after_the_maximum(virtual_time):
    server = Limited(virtual_time, 600.0)
    outcomes = run_calls(server, [0.0, 1.0, 30.0, 61.0, 62.0], max_wait_s=60.0)
    assert server.arrivals == [0.0, 61.0]
    left_s = [failure.retry_after_s for failure, _ in outcomes]
    assert left_s == [pytest.approx(600.0 - start_s) for start_s in (0.0, 1.0, 30.0, 61.0, 62.0)]
    assert virtual_time.passed_s == pytest.approx(62.0), "no call waited"


@pytest.mark.parametrize("retry_after_s", [None, 0.0])
def test_failure_without_a_wait_starts_none(retry_after_s):
    waits = SharedWaits(lambda: 0.0, asyncio.sleep, lambda: 0.0, 60.0)
    waits.start("a/one", RateLimited("x", retry_after_s=retry_after_s), 0.0)
    assert waits.is_empty


def test_models_that_callers_invent_do_not_fill_the_memory():
    waits = SharedWaits(lambda: 0.0, asyncio.sleep, lambda: 0.0, 60.0)
    for number in range(3 * MAX_MODELS):
        waits.start(f"a/{number}", RateLimited("x", retry_after_s=1.0), 0.0)
    assert len(waits.left(0.0)) <= MAX_MODELS
