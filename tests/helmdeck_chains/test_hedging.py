"""A slow first model gets a second request to the next one; the first usable answer wins, and the other is cancelled and paid for."""

import asyncio
import functools

import pytest

from helmdeck_core import (
    AttemptEnded,
    CallAborted,
    CallExhausted,
    CallFailed,
    CallFinished,
    CallStarted,
    ChainOrder,
    ChainPolicySpec,
    ChatDelta,
    ChatResponse,
    FailureClass,
    Hedge,
    ProviderSpec,
    QuotaExhausted,
    RequestSent,
    StopReason,
    Usage,
)
from helmdeck_testing import EventRecorder, StubProvider
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
        hedge = Hedge(after_s=0.0, first_token_s=2.0, take=lambda: self.takes)
        return ChainOrder(models=request.models, hedge=hedge)

    explain = order

    def record(self, order, attempts):
        self.recorded += [(each.model, each.cause) for each in attempts]

    def close(self):
        pass


def make_deck(deck_with, policy, first, second, max_attempts=1, plugins=()):
    """A deck with the two providers; without a policy, the adaptive one with hedging."""
    options = {"hedges": True, "seed": 1, "explore_usd_per_day": 0.0, "usd_per_s": 1.0}
    chains = {"policy": "ours"} if policy else {"policy": "adaptive", "options": options}
    providers = [
        ProviderSpec(name=name, open=lambda *_, made=made: made) for name, made in (("slow", first), ("next", second))
    ]
    return deck_with(
        *plugins,
        contributing("helmdeck_providers", *providers),
        contributing("helmdeck_chain_policies", ChainPolicySpec(name="ours", open=lambda setup: policy)),
        model="slow/m",
        config={"fallback": {"slow/": ["next/m"]}, "chains": chains, "recovery": {"max_attempts": max_attempts}},
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


# -- streams, in virtual time --------------------------------------------------------------------------------


class Streaming(StubProvider):
    """Yields its name twice: after the seconds until the first token, and 10 seconds later; ``None`` fails at once."""

    def __init__(self, clock, name, *first_s):
        super().__init__()
        self.clock, self.name, self.first_s, self.cancelled_at = clock, name, list(first_s), []

    async def stream(self, request):
        first_s = self.first_s.pop(0)
        try:
            if first_s is None:
                raise QuotaExhausted("spent", model=request.model)
            await asyncio.sleep(first_s)
            yield ChatDelta(text=f"{self.name} ")
            await asyncio.sleep(10.0)
            yield ChatDelta(text=self.name)
        except asyncio.CancelledError:
            self.cancelled_at.append(self.clock.passed_s)
            raise
        usage = Usage(input_tokens=9, output_tokens=2)
        yield ChatResponse(text=f"{self.name} {self.name}", stop_reason=StopReason.END_TURN, usage=usage)

    async def complete(self, request):
        return [item async for item in self.stream(request)][-1]


async def streamed(deck):
    """The texts of the chunks, and the response."""
    items = [item async for item in deck.astream("hello", model="slow/m")]
    return [item.text for item in items[:-1]], items[-1]


@pytest.mark.parametrize(
    ("slow_s", "next_s", "takes", "winner", "passed_s", "cancelled"),
    [
        (1.0, 0.5, True, "slow", 11.0, None),  # in time, although the whole answer takes longer
        (9.0, 1.0, True, "next", 13.0, ("slow", 3.0)),
        (2.5, 1.0, True, "slow", 12.5, ("next", 2.5)),
        (9.0, 1.0, False, "slow", 19.0, None),
        (None, 1.0, True, "next", 11.0, None),  # the next model follows without a second request
        (5.0, None, True, "slow", 15.0, None),
    ],
)
def test_stream_is_that_of_the_first_model_with_a_chunk(
    deck_with, virtual_time, slow_s, next_s, takes, winner, passed_s, cancelled
):
    policy, both = Hedging(takes), [Streaming(virtual_time, *each) for each in (("slow", slow_s), ("next", next_s))]
    deck = make_deck(deck_with, policy, *both, max_attempts=2)
    chunks, response = asyncio.run(streamed(deck))
    assert chunks == [f"{winner} ", winner]
    assert virtual_time.passed_s == pytest.approx(passed_s)
    assert {each.name: each.cancelled_at for each in both if each.cancelled_at} == (
        {cancelled[0]: [pytest.approx(cancelled[1])]} if cancelled else {}
    )
    lost = [each for each in response.attempts if each.cause is FailureClass.CANCELLED]
    assert [each.model for each in lost] == ([f"{cancelled[0]}/m"] if cancelled else [])
    assert all(each.usage.input_tokens > 0 and each.is_estimated for each in lost), "it is paid for"
    assert [model for model, cause in policy.recorded if cause is FailureClass.CANCELLED] == [
        each.model for each in lost
    ]
    assert response.attempts[-1].model == f"{winner}/m"
    assert response.attempts[-1].first_token_s == pytest.approx({"slow": slow_s, "next": next_s}[winner])


def test_failure_of_both_streams_is_that_of_the_first(deck_with, virtual_time):
    slow = Streaming(virtual_time, "slow", 30.0)
    slow.stream = lambda request: Streaming(virtual_time, "slow", None).stream(request)
    deck = make_deck(deck_with, Hedging(), slow, Streaming(virtual_time, "next", None))
    with pytest.raises(CallFailed, match="slow/m"):
        asyncio.run(streamed(deck))


def test_streams_are_hedged_by_their_own_first_tokens_and_for_at_most_a_twentieth_of_the_calls(deck_with, virtual_time):
    usual = [1.0, 1.2, 0.8, 1.1] * 10
    slow = Streaming(virtual_time, "slow", *usual, *[9.0] * 4)
    deck = make_deck(deck_with, None, slow, Streaming(virtual_time, "next", *[1.0] * 4))

    async def run():
        return [(await streamed(deck))[0][-1] for _ in range(44)]

    assert asyncio.run(run()) == ["slow"] * 40 + ["next"] * 2 + ["slow"] * 2
    waited_s = slow.cancelled_at[0] - 40 * 11.025 - 1.0
    assert 1.2 < waited_s < 2.0, "the 95th percentile, and not that of whole answers"


# -- events: both requests are attempts of one call -------------------------------------------------------------


def ends(recorder):
    """The start and the ends of all calls, and of their attempts by number; all of them are one call."""
    events = recorder.of(CallStarted, RequestSent, AttemptEnded, CallFinished, CallExhausted, CallAborted)
    assert len({event.call_id for event in events}) == 1
    starts = [event for event in events if isinstance(event, CallStarted)]
    assert [event.parent for event in starts] == [""]
    attempts = {each.attempt: (each.outcome.model, each.outcome.cause) for each in recorder.of(AttemptEnded)}
    assert len(attempts) == len(recorder.of(AttemptEnded))
    return attempts, recorder.of(CallFinished, CallExhausted, CallAborted)


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("winner", ["slow", "next"])
def test_call_ends_once_as_its_winner_does_and_the_other_request_is_cancelled(
    deck_with, virtual_time, winner, is_stream
):
    recorder, first_s = EventRecorder(), 3.0 if is_stream else 1.0
    both = [Streaming(virtual_time, name, first_s if name == winner else 20.0) for name in ("slow", "next")]
    deck = make_deck(deck_with, Hedging(), *both, plugins=[recorder])
    request = deck.acomplete("hello", model="slow/m")
    response = asyncio.run(streamed(deck))[1] if is_stream else asyncio.run(request)
    request.close()
    attempts, (end,) = ends(recorder)
    lost, number = {"slow": ("next/m", 2), "next": ("slow/m", 1)}[winner]
    assert attempts == {number: (lost, FailureClass.CANCELLED), 3 - number: (f"{winner}/m", None)}
    assert isinstance(end, CallFinished)
    assert (end.model, end.attempt, end.requested_model) == (f"{winner}/m", 3 - number, "slow/m")
    assert end.total_s == pytest.approx(virtual_time.passed_s)
    assert {each.number for each in response.attempts} == {1, 2}


@pytest.mark.parametrize("is_stream", [False, True])
def test_failure_of_both_is_one_end_and_has_the_attempts_of_both(deck_with, virtual_time, is_stream):
    class Late(Streaming):
        async def stream(self, request):
            await asyncio.sleep(self.first_s[0])
            raise QuotaExhausted("spent", model=request.model)
            yield  # makes it a generator

    recorder = EventRecorder()
    both = Late(virtual_time, "slow", 5.0), Late(virtual_time, "next", 1.0)
    deck = make_deck(deck_with, Hedging(), *both, plugins=[recorder])
    request = deck.acomplete("hello", model="slow/m")
    with pytest.raises(CallFailed, match="slow/m") as caught:
        asyncio.run(streamed(deck)) if is_stream else asyncio.run(request)
    request.close()
    attempts, (end,) = ends(recorder)
    assert {model for model, _ in attempts.values()} == {"slow/m", "next/m"}
    assert isinstance(end, CallExhausted)
    assert end.call_id == caught.value.call_id
    assert [each.model for each in caught.value.attempts] == ["next/m", "slow/m"]


@pytest.mark.parametrize("is_stream", [False, True])
@pytest.mark.parametrize("after_s", [1.0, 4.0, 25.0], ids=["before the second", "with both", "after the first chunk"])
def test_call_that_its_caller_cancels_is_aborted_once(deck_with, virtual_time, after_s, is_stream):
    recorder = EventRecorder()
    both = Streaming(virtual_time, "slow", 20.0), Streaming(virtual_time, "next", 21.0)
    deck = make_deck(deck_with, Hedging(), *both, plugins=[recorder])

    async def run():
        await asyncio.wait_for(streamed(deck) if is_stream else deck.acomplete("hello", model="slow/m"), after_s)

    with pytest.raises(TimeoutError):
        asyncio.run(run())
    _, (end,) = ends(recorder)
    assert isinstance(end, CallAborted)
