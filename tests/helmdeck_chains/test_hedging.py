"""A slow first model gets a second request to the next one; the first usable answer wins, and the other is cancelled and paid for."""

import asyncio
import functools

import pytest

from helmdeck_core import ChainOrder, ChainPolicySpec, FailureClass, Hedge, ProviderSpec
from helmdeck_testing import StubProvider
from tests.helmdeck_core.hooks_support import GOOD, contributing


def in_a_loop(test):
    @functools.wraps(test)
    def run(deck_with):
        asyncio.run(test(deck_with))

    return run


class Slow(StubProvider):
    """Answers when it is released."""

    def __init__(self, text=GOOD):
        super().__init__(text)
        self.release, self.started, self.cancelled = asyncio.Event(), asyncio.Event(), 0

    async def complete(self, request):
        self.started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return await super().complete(request)


class Hedging:
    def __init__(self, takes=True):
        self.takes, self.recorded = takes, []

    def order(self, request):
        return ChainOrder(models=request.models, hedge=Hedge(after_s=0.0, take=lambda: self.takes))

    explain = order

    def record(self, order, attempts):
        self.recorded += [(each.model, each.cause) for each in attempts]

    def close(self):
        pass


def make_deck(deck_with, policy, first, second):
    providers = [
        ProviderSpec(name=name, open=lambda *_, made=made: made) for name, made in (("slow", first), ("next", second))
    ]
    return deck_with(
        contributing("helmdeck_providers", *providers),
        contributing("helmdeck_chain_policies", ChainPolicySpec(name="ours", open=lambda setup: policy)),
        model="slow/m",
        config={"fallback": {"slow/": ["next/m"]}, "chains": {"policy": "ours"}, "recovery": {"max_attempts": 1}},
    )


@in_a_loop
async def test_next_model_answers_while_the_first_is_slow(deck_with):
    policy, slow = Hedging(), Slow()
    deck = make_deck(deck_with, policy, slow, StubProvider(GOOD))
    plan = await deck.aplan("draft a post")
    assert plan.model == "next/m"
    assert slow.cancelled == 1
    lost = plan.attempts[0]
    assert (lost.model, lost.cause, lost.is_estimated) == ("slow/m", FailureClass.CANCELLED, True)
    assert lost.usage.input_tokens > 0
    assert ("slow/m", FailureClass.CANCELLED) in policy.recorded
    await deck.aclose()


@in_a_loop
async def test_no_second_request_is_sent_when_none_is_left(deck_with):
    slow, fast = Slow(), Slow()
    deck = make_deck(deck_with, Hedging(takes=False), slow, fast)
    asyncio.get_running_loop().call_later(0.01, slow.release.set)
    assert (await deck.aplan("draft a post")).model == "slow/m"
    assert not fast.started.is_set()
    await deck.aclose()


@in_a_loop
async def test_first_model_wins_although_a_second_request_was_sent(deck_with):
    slow, other = Slow(), Slow()
    deck = make_deck(deck_with, Hedging(), slow, other)
    call = asyncio.ensure_future(deck.aplan("draft a post"))
    await other.started.wait()
    slow.release.set()
    assert (await call).model == "slow/m"
    assert (slow.cancelled, other.cancelled) == (0, 1)
    await deck.aclose()


@in_a_loop
async def test_failure_of_both_is_that_of_the_first(deck_with):
    slow, other = Slow(""), Slow("")
    deck = make_deck(deck_with, Hedging(), slow, other)
    call = asyncio.ensure_future(deck.aplan("draft a post"))
    await other.started.wait()
    other.release.set()
    await asyncio.sleep(0)
    slow.release.set()
    with pytest.raises(Exception, match="slow/m"):
        await call
    await deck.aclose()


@in_a_loop
async def test_cancelled_call_cancels_both_requests(deck_with):
    slow, other = Slow(), Slow()
    deck = make_deck(deck_with, Hedging(), slow, other)
    call = asyncio.ensure_future(deck.aplan("draft a post"))
    await other.started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (slow.cancelled, other.cancelled) == (1, 1)
    await deck.aclose()
