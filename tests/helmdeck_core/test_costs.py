"""The cost of a call: every request is recorded, counts against the limits, and is summed once."""

from __future__ import annotations

import contextlib

import pytest

from helmdeck_core import (
    CallFailed,
    CallFinished,
    CallLimits,
    ChatRequest,
    ChatResponse,
    Continuation,
    ContinuationTerminated,
    FilterFailed,
    LengthTruncated,
    LikelyTimeout,
    Message,
    ProviderSpec,
    QuotaExhausted,
    RateLimited,
    Role,
    StopReason,
    TerminalReason,
    TextPart,
    Usage,
    hookimpl,
)
from helmdeck_testing import EventRecorder, Fail, Reply, completion, make_deck, scripted_provider

ASK = "write about our launch and make something of it"
SURE = "draft a blog post"
GOOD = '{"steps":[{"order":1,"tool":"blog.draft","args":{"brief":"b"},"rationale":"r"}],"complexity":"single-action","reasoning":"x"}'
PICKED = '{"ids":["text.diff","blog.draft"]}'
A_DOLLAR = {"input_cost_usd_per_mtok": 1.0, "output_cost_usd_per_mtok": 10.0}
FILTERED = {"allows_llm_filter": True, "filter_model": "b/small"}


@pytest.fixture
def deck_of():
    with contextlib.ExitStack() as stack:

        def make(a=(), b=(), budgets=None, **config):
            scripts = scripted_provider(a, "a"), scripted_provider(b, "b")
            prices = {"a/": A_DOLLAR, "b/": A_DOLLAR, **(budgets or {})}
            recorder = EventRecorder()
            deck = stack.enter_context(make_deck(*scripts, recorder, config={"budgets": prices, **config}))
            deck.a, deck.b, deck.recorder = *scripts, recorder
            return deck

        yield make


def used(text, input_tokens=100, output_tokens=10, stop="stop", **more):
    """An answer that costs 100 + 10 * 10 millionths of a dollar, unless it is said otherwise."""
    return Reply(text, stop, usage=Usage(input_tokens=input_tokens, output_tokens=output_tokens), **more)


def micro(dollars):
    return None if dollars is None else round(dollars * 1e6)


def written(text="hello", model="a/one", **more):
    return ChatRequest(model=model, messages=(Message(Role.USER, (TextPart(text),)),), max_tokens=100, **more)


# -- the attempts ----------------------------------------------------------------------------------------------


def test_every_request_of_an_attempt_is_listed_with_its_cost(deck_of):
    deck = deck_of(
        [used("The tide comes", stop="length"), used(" in twice", 200, stop="length"), Fail("provider_unavailable")]
    )
    response = deck.complete(written())
    (attempt,) = response.attempts
    assert [(each.kind, micro(each.cost_usd), each.cause) for each in attempt.requests] == [
        ("answer", 200, None),
        ("continuation", 300, None),
        ("continuation", None, "provider_unavailable"),
    ]
    assert micro(attempt.cost_usd) == micro(response.cost_usd) == 500
    assert str(attempt) == "1. a/one: answered in 3 requests"
    wire = attempt.to_dict()["requests"]
    assert wire[0]["usage"] == {"input_tokens": 100, "output_tokens": 10} and wire[2]["cause"] == "provider_unavailable"


def test_single_request_is_not_listed(deck_of):
    response = deck_of([used("hi")]).complete(written())
    assert [attempt.requests for attempt in response.attempts] == [()]
    assert "requests" not in response.attempts[0].to_dict()


def test_response_to_a_written_request_lists_its_attempts(deck_of):
    deck = deck_of([used("")], [used("hi")], fallback={"a/": ["b/two"]})
    response = deck.complete(written())
    assert [(each.model, each.cause) for each in response.attempts] == [("a/one", "likely_timeout"), ("b/two", None)]
    assert micro(response.cost_usd) == 400
    *_, streamed = deck_of([used("hi")]).stream(written())
    assert micro(streamed.cost_usd) == 200


def test_filter_call_is_part_of_attempts_and_cost(deck_of):
    deck = deck_of([used("prose"), used(GOOD, 300)], [used(PICKED, 50, 0)], budgets={"a/": {**A_DOLLAR, **FILTERED}})
    plan = deck.plan(ASK, model="a/one")
    assert [(each.number, each.model, each.purpose, micro(each.cost_usd)) for each in plan.attempts] == [
        (1, "b/small", "selection", 50),
        (1, "a/one", "", 200),
        (2, "a/one", "", 400),
    ]
    assert micro(plan.cost_usd) == 650
    assert plan.usage + plan.rejected_usage == Usage(input_tokens=450, output_tokens=20)
    assert plan.rejected_usage == Usage(input_tokens=100, output_tokens=10)
    told = {event.call_id: micro(event.cost_usd) for event in deck.recorder.of(CallFinished)}
    assert sorted(told.values()) == [50, 600], "sinks that add up what calls tell count nothing twice"


def test_failed_filter_call_is_part_of_the_cost(deck_of):
    deck = deck_of([used(GOOD)], [used("", 70, 0)], budgets={"a/": {**A_DOLLAR, **FILTERED}})
    plan = deck.plan(ASK, model="a/one")
    assert [(each.purpose, each.cause) for each in plan.attempts] == [("selection", "likely_timeout"), ("", None)]
    assert micro(plan.cost_usd) == 270 and plan.rejected_usage == Usage(input_tokens=70)


def test_failure_reports_the_total_cost(deck_of):
    chain = {"": [f"b/{number}" for number in range(11)]}
    deck = deck_of([used("")], [used("")] * 11, fallback=chain, recovery={"max_attempts": 12})
    with pytest.raises(LikelyTimeout) as caught:
        deck.plan(SURE, model="a/one")
    assert len(caught.value.attempts) == 8 and micro(caught.value.cost_usd) == 12 * 200
    assert micro(caught.value.to_dict()["cost_usd"]) == 12 * 200


def test_usage_of_a_stopped_response_is_estimated_and_marked(deck_of):
    budget = {**A_DOLLAR, "is_hybrid_reasoning": True}
    thinks = Reply(reasoning="hm, " * 9_000, usage=Usage(output_tokens=9_000))
    deck = deck_of([thinks], [used(GOOD)], budgets={"a/": budget}, fallback={"a/": ["b/two"]})
    plan = deck.plan(SURE, model="a/one")
    first, last = plan.attempts
    assert first.is_estimated and not last.is_estimated
    assert 1_000 < first.usage.output_tokens < 9_000, "what was thought until then"
    assert first.usage.input_tokens * 4 == pytest.approx(sum(len(m.text) for m in deck.a.requests[0].messages), abs=4)
    assert plan.cost_usd == first.cost_usd + last.cost_usd


def test_cost_of_a_timed_out_stream_is_estimated_if_it_sent_anything(virtual_time, deck_of):
    slow = Reply("word " * 1_000, piece_delay_s=2.0)
    for reply, is_estimated in ((slow, True), (Reply("word", delay_s=900.0), False)):
        with pytest.raises(LikelyTimeout) as caught:
            list(deck_of([reply]).stream(written("x" * 400), limits=CallLimits(deadline_s=15.0)))
        (attempt,) = caught.value.attempts
        assert attempt.is_estimated is is_estimated
        assert micro(attempt.cost_usd) == (100 + 7 * 40 if is_estimated else None), "the prompt, and seven chunks"


def test_tokens_of_an_interrupted_answer_are_estimated(deck_of):
    broken = Reply("word " * 100, breaks_after=10)
    deck = deck_of([broken, used("the end")], budgets={"a/": A_DOLLAR})
    *_, response = deck.stream(written("x" * 400))
    first, last = response.attempts
    assert first.is_estimated and first.usage.output_tokens == 40 and not last.is_estimated
    assert response.cost_usd == first.cost_usd + last.cost_usd


# -- limits ------------------------------------------------------------------------------------------------------


def test_request_whose_input_exceeds_the_cost_limit_is_not_sent(deck_of):
    deck = deck_of()
    with pytest.raises(QuotaExhausted, match=r"input alone costs about 0\.002000 .* 0\.001000 are left") as caught:
        deck.complete(written("x" * 10_000), limits=CallLimits(max_cost_usd=0.001))
    assert caught.value.sub_cause == "cost_limit" and caught.value.cost_usd is None
    assert deck.a.requests == []


def test_too_expensive_model_falls_back_to_a_cheaper_one(deck_of):
    budgets = {"b/two": {"input_cost_usd_per_mtok": 0.1, "output_cost_usd_per_mtok": 1.0}}
    chain = {"a/": ["b/one", "b/two"]}
    deck = deck_of([], [used("hi")], budgets=budgets, fallback=chain)
    response = deck.complete(written("x" * 10_000), limits=CallLimits(max_cost_usd=0.001))
    assert [request.model for request in deck.b.requests] == ["b/two"]
    assert [(each.model, each.is_sent) for each in response.attempts] == [("a/one", False), ("b/two", True)]


def test_cached_input_is_estimated_at_the_cached_price(deck_of):
    cached = {**A_DOLLAR, "cached_input_cost_usd_per_mtok": 0.1, "supports_prefix_cache": True}
    parts = (TextPart("x" * 10_000, ends_prefix=True), TextPart("y"))
    request = ChatRequest(model="a/one", messages=(Message(Role.USER, parts),), max_tokens=100)
    deck = deck_of([used("hi")], budgets={"a/": cached})
    assert deck.complete(request, limits=CallLimits(max_cost_usd=0.001)).text == "hi"


def test_model_without_a_price_is_called(deck_of):
    deck = deck_of([used("hi")], budgets={"a/": {}})
    assert deck.complete(written("x" * 10_000), limits=CallLimits(max_cost_usd=1e-9)).text == "hi"


def test_free_planner_answers_after_the_cost_limit(deck_of):
    chain = {"a/": ["b/two", "local/lexical"]}
    deck = deck_of([used("prose")], [], fallback=chain)
    plan = deck.plan(SURE, model="a/one", limits=CallLimits(max_cost_usd=0.0001))
    assert plan.model == "local/lexical" and plan.attempts[-1].changed == ("b/two passed over",)


def test_continuation_is_not_sent_beyond_the_cost_limit(deck_of):
    deck = deck_of([used("The tide comes", 1_000, 100, stop="length")])
    response = deck.complete(written(), limits=CallLimits(max_cost_usd=0.002))
    assert response.text == "The tide comes" and isinstance(response.continuation, Continuation)
    assert response.continuation.terminal_reason is TerminalReason.COST_LIMIT and response.continuation.attempts == 0
    (told,) = deck.recorder.of(ContinuationTerminated)
    assert told.terminal_reason is TerminalReason.COST_LIMIT
    deck = deck_of([used("The tide comes", 1_000, 90, stop="length"), used(" in.")])
    assert deck.complete(written(), limits=CallLimits(max_cost_usd=0.002)).text == "The tide comes in."


def test_filter_call_counts_against_the_cost_limit(deck_of):
    budgets = {
        "a/": {**A_DOLLAR, **FILTERED},
        "b/": {"input_cost_usd_per_mtok": 500.0, "output_cost_usd_per_mtok": 0.0},
    }
    deck = deck_of([used(GOOD)], [], budgets=budgets)
    plan = deck.plan(ASK, model="a/one", limits=CallLimits(max_cost_usd=0.05))
    assert deck.b.requests == [] and deck.recorder.of(FilterFailed)[0].detail == "quota_exhausted/cost_limit"
    assert [each.model for each in plan.attempts] == ["a/one"], "what was not sent was not paid for"
    deck = deck_of([], [used(PICKED, 10_000, 0)], budgets={"a/": {**A_DOLLAR, **FILTERED}})
    with pytest.raises(QuotaExhausted) as caught:
        deck.plan(ASK, model="a/one", limits=CallLimits(max_cost_usd=0.01))
    assert [each.purpose for each in caught.value.attempts] == ["selection", ""]
    assert micro(caught.value.cost_usd) == 10_000 and deck.a.requests == []


def test_continuations_and_filter_calls_do_not_count_as_attempts(deck_of):
    deck = deck_of(
        [used(GOOD[:60], stop="length"), used(GOOD[60:])], [used(PICKED)], budgets={"a/": {**A_DOLLAR, **FILTERED}}
    )
    assert deck.plan(ASK, model="a/one", limits=CallLimits(max_attempts=1)).steps
    deck = deck_of([used("half of it", 10, 100, stop="length"), Reply("", "length")])
    with pytest.raises(LengthTruncated):
        deck.plan(ASK, model="a/one", limits=CallLimits(max_attempts=1))


# -- impossible counts ----------------------------------------------------------------------------------------

IMPOSSIBLE = [
    (
        {"prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 10**9}},
        (100, 10, 100, 0),
    ),
    ({"prompt_tokens": 10**9, "completion_tokens": 10**18}, (0, 0, 0, 0)),
    ({"prompt_tokens": -5, "completion_tokens": 10}, (0, 10, 0, 0)),
    ({"prompt_tokens": int("9" * 400), "completion_tokens": 10}, (0, 10, 0, 0)),
    ({"prompt_tokens": 2**60, "completion_tokens": 2.5}, (0, 0, 0, 0)),
    ({"prompt_tokens": float("nan"), "completion_tokens": float("inf")}, (0, 0, 0, 0)),
    ({"prompt_tokens": True, "completion_tokens": "7"}, (0, 0, 0, 0)),
    (
        {"prompt_tokens": 9, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 800}},
        (9, 7, 0, 7),
    ),
]


@pytest.mark.parametrize(("usage", "expected"), IMPOSSIBLE)
def test_impossible_counts_of_a_server_reach_neither_prices_nor_sinks(chat_server, usage, expected):
    server, recorder = chat_server(lambda _: {**completion("hello"), "usage": usage}), EventRecorder()
    price = {**A_DOLLAR, "cached_input_cost_usd_per_mtok": 0.1}
    config = {"providers": {"vllm": {"base_url": server.base_url}}, "budgets": {"vllm/": price}}
    with make_deck(recorder, config=config) as deck:
        response = deck.complete(written(model="vllm/any"), limits=CallLimits(max_cost_usd=1.0))
    (finished,) = recorder.of(CallFinished)
    for found in (response.usage, finished.usage):
        counts = (found.input_tokens, found.output_tokens, found.cached_input_tokens, found.reasoning_tokens)
        assert counts == expected
    assert response.cost_usd is None or 0 <= response.cost_usd < 0.001


ABSURD = Usage(input_tokens=10, cached_input_tokens=10**9, output_tokens=-1, reasoning_tokens=3)


class Absurd:
    """A provider whose counts are impossible, first with a failure."""

    def __init__(self):
        self.outcomes = [
            RateLimited("wait", usage=ABSURD),
            ChatResponse(text="hello", stop_reason=StopReason.END_TURN, usage=ABSURD),
        ]

    @hookimpl
    def helmdeck_providers(self):
        return [ProviderSpec(name="absurd", open=lambda settings, context: self)]

    async def complete(self, request):
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, CallFailed):
            raise outcome
        return outcome

    async def aclose(self): ...


def test_impossible_counts_of_a_plugin_are_corrected_in_responses_and_failures():
    with make_deck(Absurd(), config={"recovery": {"backoff_s": 0}}) as deck:
        response = deck.complete(written(model="absurd/any"))
    assert [attempt.usage for attempt in response.attempts] == [Usage(input_tokens=10, cached_input_tokens=10)] * 2


def test_more_cached_than_input_tokens_give_no_negative_cost(deck_of):
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cached_input_tokens=10**12)
    budget = {**A_DOLLAR, "cached_input_cost_usd_per_mtok": 0.5}
    deck = deck_of([Reply("hello", "stop", usage=usage)], budgets={"a/": budget})
    assert deck.complete(written()).cost_usd == pytest.approx(0.5)
