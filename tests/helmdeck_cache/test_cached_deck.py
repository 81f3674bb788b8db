"""Calls of a deck with caches: equal ones of a tenant are answered once, also at the same time, whole and streamed."""

import asyncio
from typing import Literal

import attrs
import pytest

from helmdeck_cache import CachedDeck, CacheUse
from helmdeck_core import (
    AnswerReused,
    CacheFailed,
    CacheMissed,
    CallFailed,
    CallFinished,
    CallLimits,
    ChatResponse,
    ConfigError,
    EventSink,
    ResponseCacheSpec,
    Usage,
    hookimpl,
)
from helmdeck_testing import Fail, Reply, make_deck, scripted_provider


class Recorder:
    def __init__(self):
        self.events = []

    @hookimpl
    def helmdeck_event_sinks(self):
        return [EventSink(name="recorder", handle=self.events.append)]

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


@attrs.define
class Stage:
    cached: CachedDeck
    script: object
    events: Recorder

    @property
    def sent(self):
        return len(self.script.requests)


PAID = Usage(input_tokens=5, output_tokens=2)


def stage(*replies, cache=None, fallback=None, plugins=()):
    replies = [Reply(each, usage=PAID) if isinstance(each, str) else each for each in replies]
    script, recorder = scripted_provider(replies), Recorder()
    config = {"cache": cache or {}, "recovery": {"backoff_s": 0.0}, "fallback": fallback or {}}
    deck = make_deck(script, recorder, *plugins, config=config, model="scripted/m")
    return Stage(CachedDeck(deck), script, recorder)


def run(action):
    return asyncio.run(action)


def test_the_second_equal_call_of_a_tenant_sends_no_request_and_costs_nothing():
    on = stage("443", "another")

    async def calls():
        uses = [CacheUse(tenant="a"), CacheUse(tenant="a"), CacheUse(tenant="b")]
        return uses, [await on.cached.acomplete("which port?", cache=use) for use in uses]

    uses, (first, again, other) = run(calls())
    assert [response.text for response in (first, again, other)] == ["443", "443", "another"]
    assert [str(use.outcome) for use in uses] == ["miss", "hit; age=0", "miss"]
    assert (again.cost_usd, again.usage.cached_input_tokens) == (0.0, first.usage.input_tokens)
    assert (again.usage.input_tokens, again.usage.output_tokens) == (
        first.usage.input_tokens,
        first.usage.output_tokens,
    )
    (reused,) = on.events.of(AnswerReused)
    finished = on.events.of(CallFinished)[1]
    assert (reused.cache, reused.call_id) == ("exact", finished.call_id)
    assert (finished.cost_usd, finished.usage.input_tokens, finished.model) == (0.0, 0, "scripted/m")
    assert [event.reason for event in on.events.of(CacheMissed)] == ["absent", "absent"]


def test_a_refresh_replaces_the_answer_and_a_maximum_age_of_zero_reads_none():
    on = stage("old", "new", "newer")

    async def calls():
        await on.cached.acomplete("q", cache="t")
        refresh = CacheUse(tenant="t", reads=False)
        texts = [(await on.cached.acomplete("q", cache=refresh)).text, (await on.cached.acomplete("q", cache="t")).text]
        texts.append((await on.cached.acomplete("q", cache=CacheUse(tenant="t", max_age_s=-1.0))).text)
        return refresh.outcome.status, texts

    assert run(calls()) == ("refresh", ["new", "new", "newer"])


def test_an_answer_that_was_stored_before_the_clock_was_set_back_is_not_returned(monkeypatch):
    on, texts = stage("old", "new"), []

    async def calls():
        for now_s in (2.1e9, 2.1e9 - 1, 2.0e9):
            monkeypatch.setattr("helmdeck_cache.replay.time.time", lambda now_s=now_s: now_s)
            texts.append((await on.cached.acomplete("q", cache="t")).text)

    run(calls())
    assert texts == ["old", "old", "new"]


def test_without_a_use_and_with_a_temperature_no_cache_is_used():
    on = stage("1", "2", "3", "4")

    async def calls():
        use = CacheUse(tenant="t")
        sampled = attrs.evolve(on.cached.deck.chat_request("q"), temperature=0.7)
        for cache in (None, None):
            await on.cached.acomplete("q", cache=cache)
        for _ in range(2):
            await on.cached.acomplete(sampled, cache=use)
        return str(use.outcome)

    assert run(calls()) == "skipped; reason=temperature"
    assert on.sent == 4


@pytest.mark.parametrize("streams", [False, True])
def test_answers_of_fallback_models_are_returned_but_not_stored(streams):
    on = stage(
        Fail("context_window_exceeded"),
        "from the spare",
        Fail("context_window_exceeded"),
        "again",
        fallback={"scripted/m": ["scripted/spare"]},
    )
    use = CacheUse(tenant="t")

    async def call(cached):
        if not streams:
            return (await cached.acomplete(cached.deck.chat_request("q"), cache=use)).text
        return [each async for each in cached.astream("q", cache=use)][-1].text

    async def both():
        return [await call(on.cached), await call(on.cached)]

    assert run(both()) == ["from the spare", "again"]
    assert use.outcome.reason == "fallback"


def test_a_stored_answer_is_streamed_in_chunks_whichever_way_it_came():
    text = "".join(f"word {number} " for number in range(300))
    on = stage(text)

    async def calls():
        whole = await on.cached.acomplete("q", cache="t")
        return whole, [each async for each in on.cached.astream("q", cache="t")]

    whole, (*deltas, response) = run(calls())
    assert len(deltas) > 3
    assert "".join(delta.text for delta in deltas) == response.text == whole.text
    assert isinstance(response, ChatResponse)
    assert on.sent == 1


class Gate:
    """A cache that never has an answer and counts the lookups, so that a test knows how many calls are waiting."""

    def __init__(self):
        self.looked = 0

    async def find(self, query):
        self.looked += 1

    async def keep(self, query, answer):
        pass

    async def aclose(self):
        pass

    @hookimpl
    def helmdeck_response_caches(self):
        return [ResponseCacheSpec(name="gate", open=lambda setup: self)]


def test_equal_calls_at_the_same_time_share_one_request():
    async def calls():
        gate, release, begun = Gate(), asyncio.Event(), []
        on = stage("once", cache={"caches": ["gate"]}, plugins=(gate,))
        hold(on, release, begun)
        tasks = [asyncio.create_task(on.cached.acomplete("q", cache="t")) for _ in range(50)]
        other = asyncio.create_task(on.cached.acomplete("q", cache="u"))
        await until(lambda: gate.looked == 51 and len(begun) == 2)
        other.cancel()
        release.set()
        return on, begun, await asyncio.gather(*tasks)

    on, begun, responses = run(calls())
    assert len(begun) == 2  # one for each tenant
    assert {response.text for response in responses} == {"once"}
    assert on.cached.caches.counts["shared"] == 49
    assert sum(response.usage.cached_input_tokens == PAID.input_tokens for response in responses) == 49
    assert len(on.cached.caches.flights) == 0


def test_after_a_cancelled_call_one_waiting_call_makes_the_request():
    async def calls():
        gate, release, begun = Gate(), asyncio.Event(), []
        on = stage("once", cache={"caches": ["gate"]}, plugins=(gate,))
        hold(on, release, begun)
        first, *rest = [asyncio.create_task(on.cached.acomplete("q", cache="t")) for _ in range(5)]
        await until(lambda: gate.looked == 5 and len(begun) == 1)
        first.cancel()
        await until(lambda: len(begun) == 2)
        release.set()
        return first, begun, await asyncio.gather(*rest)

    first, begun, responses = run(calls())
    assert first.cancelled()
    assert [response.text for response in responses] == ["once"] * 4
    assert len(begun) == 2


def test_after_a_failure_those_that_wait_make_calls_of_their_own():
    async def calls():
        gate, release, begun = Gate(), asyncio.Event(), []
        on = stage(Fail("auth_failed"), "mine", "mine", cache={"caches": ["gate"]}, plugins=(gate,))
        hold(on, release, begun)
        tasks = [asyncio.create_task(on.cached.acomplete("q", cache="t")) for _ in range(3)]
        await until(lambda: gate.looked == 3 and len(begun) == 1)
        release.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    failure, *responses = run(calls())
    assert isinstance(failure, CallFailed)
    assert [response.text for response in responses] == ["mine", "mine"]


def test_a_stream_that_is_closed_early_leaves_its_place_to_those_that_wait():
    async def calls():
        gate = Gate()
        on = stage(Reply("first and more"), "second", cache={"caches": ["gate"]}, plugins=(gate,))
        stream = on.cached.astream_batches(on.cached.deck.chat_request("q"), cache="t")
        await anext(stream)
        waiting = asyncio.create_task(on.cached.acomplete("q", cache="t", allows_truncated=True))
        await until(lambda: gate.looked == 2)
        await stream.aclose()
        return on, (await waiting).text

    on, text = run(calls())
    assert (text, on.sent) == ("second", 2)


def hold(stage, release, begun):
    """Let the calls of a deck wait until they are released."""
    complete = stage.cached.deck.acomplete

    async def held(request, **options):
        begun.append(request)
        await release.wait()
        return await complete(request, **options)

    stage.cached.deck.acomplete = held


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - nothing else reports it
            await asyncio.sleep(0)


def test_a_call_waits_no_longer_than_its_own_deadline_allows():
    async def calls():
        gate, release, begun = Gate(), asyncio.Event(), []
        on = stage("late", "mine", cache={"caches": ["gate"]}, plugins=(gate,))
        hold(on, release, begun)
        tasks = [asyncio.create_task(on.cached.acomplete("q", cache="t"))]
        await until(lambda: begun)
        limits = CallLimits(deadline_s=0.002)
        tasks.append(asyncio.create_task(on.cached.acomplete("q", cache="t", limits=limits)))
        await until(lambda: len(begun) == 2)
        release.set()
        return await asyncio.gather(*tasks, return_exceptions=True)

    assert len(run(calls())) == 2


class Broken(Gate):
    async def find(self, query):
        self.looked += 1
        raise OSError("connection refused to redis://u:hunter22@h")

    keep = None

    @hookimpl
    def helmdeck_response_caches(self):
        return [ResponseCacheSpec(name="broken", open=lambda setup: self)]


def test_a_cache_that_fails_is_a_miss_that_is_counted_and_is_not_asked_again_for_a_while():
    broken = Broken()
    on = stage("1", "2", cache={"caches": ["broken", "exact"]}, plugins=(broken,))

    async def calls():
        return [(await on.cached.acomplete("q", cache="t")).text for _ in range(2)]

    assert run(calls()) == ["1", "1"]
    assert (broken.looked, on.cached.caches.counts["failures"]) == (1, 1)
    (failed,) = on.events.of(CacheFailed)
    assert (failed.cache, failed.action) == ("broken", "find")
    assert "hunter22" not in failed.detail


def test_typed_answers_are_decoded_again():
    @attrs.frozen
    class Port:
        number: int

    on = stage('{"number": 443}', '{"value": "no"}', '{"value": "yes"}')

    async def calls():
        answers = [await on.cached.aask("which port?", Port, cache="t") for _ in range(2)]
        for _ in range(2):  # a bare value cannot be decoded again
            await on.cached.aask("sure?", Literal["yes", "no"], cache="t")
        return answers

    first, again = run(calls())
    assert first.value == again.value == Port(443)
    assert (again.step, again.cost_usd, again.model, on.sent) == ("cache", 0.0, "scripted/m", 3)


def test_all_mistakes_of_the_settings_are_reported_at_once():
    table = {
        "mode": "sometimes", "store": "mysql:x", "caches": ["exakt", "exact", "exact"], "ttl_s": 0, "models": {"a": "perhaps"},
        "options": {"exakt": {"x": 1}}, "tll_s": 5,
    }  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        stage(cache=table)
    text = str(caught.value)
    for part in (
        "cache.mode",
        "cache.models",
        "cache.store",
        "cache.caches",
        "named twice, found 'exact'",
        "did you mean 'exact'",
        "cache.options.exakt",
        "cache.ttl_s",
        "cache.tll_s",
    ):
        assert part in text
