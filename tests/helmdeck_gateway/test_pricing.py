"""What a request of the gateway counts as spent, by the events of its calls; never less than the provider charges."""

import asyncio
import functools

import attrs
import pytest

from helmdeck_core import (
    Attempt,
    AttemptEnded,
    AttemptRequest,
    ChatDelta,
    ChatRequest,
    ContinuationAttempt,
    FailureClass,
    Message,
    RequestKind,
    RequestSent,
    Role,
    TextPart,
    Tier,
    ToolCallDelta,
    ToolDefinition,
    Usage,
)
from helmdeck_gateway.accounts.key_counters import KeyCounters
from helmdeck_gateway.accounts.ledger import RENEW_S, Ledger
from helmdeck_gateway.accounts.request_costs import (
    Pricing,
    Spend,
    embedding_tokens,
    embedding_usage,
    input_tokens,
    text_tokens,
)
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_gateway.stores.records import KeyRecord, to_nusd
from helmdeck_storage import StorageError
from helmdeck_testing import make_deck
from tests.case_support import each_case

CONFIG = {
    "budgets": {
        "up/": {"input_cost_usd_per_mtok": 1.0, "output_cost_usd_per_mtok": 2.0, "output_tokens": 1_000},
        "up/thinks": {"is_hybrid_reasoning": True, "input_cost_usd_per_mtok": 1.0, "output_cost_usd_per_mtok": 2.0},
        "dear/": {"input_cost_usd_per_mtok": 10.0, "output_cost_usd_per_mtok": 20.0, "output_tokens": 1_000},
    },
    "providers": {
        name: {"kind": "openai-compatible", "base_url": "http://127.0.0.1:9"} for name in ("up", "dear", "free")
    },
    "fallback": {"up/": ["free/x"]},
}
INPUT = 3_000
MOST = to_nusd(INPUT * 1e-6 + 1_000 * 2e-6)
PLACE = {"call_id": "c", "pack": "", "caller": "ann"}


@pytest.fixture(scope="module")
def pricing():
    return Pricing(make_deck(config=CONFIG))


def sent(model="up/m", max_tokens=None, call_id="c"):
    fields = dict.fromkeys(("input_tokens", "waited_s"), 0) | dict.fromkeys(("variant", "response_format"), "")
    return RequestSent(
        **{**PLACE, "call_id": call_id}, model=model, tier=Tier.A, max_tokens=max_tokens, max_catalog_bytes=None,
        temperature=None, changed=(), **fields,
    )  # fmt: skip


def ended(model="up/m", call_id="c", **fields):
    return AttemptEnded(**{**PLACE, "call_id": call_id}, outcome=Attempt(number=1, model=model, **fields))


def spend_of(pricing, *events, streamed=0):
    spend = Spend(pricing, INPUT, None, lambda: None)
    spend.streamed = streamed
    for event in events:
        spend.handle(event)
    return spend


def test_reported_costs_of_all_attempts_are_added(pricing):
    usage = Usage(input_tokens=5, output_tokens=5)
    events = [sent(), ended(usage=usage, cost_usd=0.25), sent("dear/m"), ended("dear/m", usage=usage, cost_usd=0.5)]
    assert spend_of(pricing, *events).final_nusd == to_nusd(0.75)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"cause": FailureClass.RATE_LIMITED, "status": 429}, 0),
        ({"cause": FailureClass.PROVIDER_UNAVAILABLE, "status": 503}, 0),
        ({"cause": FailureClass.PROVIDER_UNAVAILABLE, "sub_cause": "unreachable"}, 0),
        ({"cause": FailureClass.INVALID_REQUEST, "is_sent": False}, 0),
        ({"cause": FailureClass.PROVIDER_UNAVAILABLE, "sub_cause": "disconnected"}, MOST),
        ({"cause": FailureClass.LIKELY_TIMEOUT, "sub_cause": "timeout"}, MOST),
        ({"stop_reason": "tool_call"}, MOST),
        ({"stop_reason": "end_turn", "raw_length": 200}, to_nusd(INPUT * 1e-6 + 100 * 2e-6)),
        ({"stop_reason": "end_turn", "cause": FailureClass.CONSTRAINED_DEADLOCK}, to_nusd(INPUT * 1e-6)),
    ],
)
def test_attempt_without_usage_counts_by_what_is_known_of_it(pricing, fields, expected):
    spend = spend_of(pricing, sent(), ended(**fields))
    assert (spend.final_nusd, spend.is_unpriced) == (expected, False)


def test_estimate_of_an_interrupted_stream_is_at_least_that_of_the_call(pricing):
    usage = Usage(input_tokens=10, output_tokens=100)
    spend = spend_of(pricing, sent(), ended(usage=usage, cost_usd=0.00021, is_estimated=True))
    assert spend.final_nusd == to_nusd(INPUT * 1e-6 + 150 * 2e-6)


def test_continuation_without_usage_counts_as_its_upper_estimate(pricing):
    usage = Usage(input_tokens=5, output_tokens=5)
    first = AttemptRequest(kind=RequestKind.ANSWER, usage=usage, cost_usd=0.1)
    cut = AttemptRequest(kind=RequestKind.CONTINUATION, cause=FailureClass.LIKELY_TIMEOUT)
    spend = spend_of(pricing, sent(), ended(usage=usage, cost_usd=0.1, requests=(first, cut)))
    assert spend.final_nusd == to_nusd(0.1) + MOST


def test_aborted_call_counts_by_what_was_streamed_or_as_its_upper_estimate(pricing):
    assert spend_of(pricing, sent()).final_nusd == MOST
    assert spend_of(pricing, sent(), streamed=200).final_nusd == to_nusd(INPUT * 1e-6 + 150 * 2e-6)
    assert spend_of(pricing, sent(), streamed=10**6).final_nusd == MOST
    hidden = spend_of(pricing, sent("up/thinks"), streamed=200)
    assert hidden.final_nusd == hidden.held_nusd, "reasoning may not be streamed"


def test_price_that_is_unknown_counts_as_zero_and_is_reported(pricing):
    usage = Usage(input_tokens=5, output_tokens=5)
    spend = spend_of(pricing, sent("free/x"), ended("free/x", usage=usage))
    assert (spend.final_nusd, spend.is_unpriced) == (0, True)
    assert not pricing.has_prices("up/m"), "its fallback has none"
    assert pricing.has_prices("dear/m")


def test_held_amount_follows_attempts_helper_calls_and_continuations(pricing):
    spend, held = Spend(pricing, INPUT, 500, lambda: None), []
    continuation = ContinuationAttempt(
        **PLACE, model="up/m", attempt_index=1, output_tokens=500, output_chars=9, remaining_tokens=9, remaining_chars=9,
        is_native=False,
    )  # fmt: skip
    usage = Usage(input_tokens=1, output_tokens=1)
    for event in (
        sent(max_tokens=500),
        sent(max_tokens=100, call_id="filter"),
        ended(call_id="filter", usage=usage, cost_usd=0.001),
        continuation,
        ended(usage=usage, cost_usd=0.002),
        sent("dear/m", max_tokens=500),
    ):
        spend.handle(event)
        held.append(spend.held_nusd)
    first = to_nusd(0.003 + 0.001)
    assert held[:3] == [first, first + to_nusd(0.003 + 0.0002), first + to_nusd(0.001)]
    assert held[3] == held[2] + to_nusd(0.0035 + 0.001)
    assert held[4:] == [to_nusd(0.003), to_nusd(0.003 + 0.03 + 0.01)]
    assert spend.first_nusd("up/m") == first


class Recording(MemoryStore):
    def __init__(self):
        super().__init__()
        self.renewals = []

    async def renew(self, account, calls, lease_s, *, now_s=None):
        self.renewals.append([(call.call_id, call.held_nusd) for call in calls])
        await super().renew(account, calls, lease_s, now_s=now_s)


def test_more_is_held_at_once_and_leases_are_renewed_while_a_call_runs(virtual_time):
    async def run():
        store = Recording()
        ledger = Ledger(make_deck(config=CONFIG), lambda: store, KeyCounters())
        key = KeyRecord(name="ann", id="ann", digest="", caller="ann")
        booking = await ledger.admit(key, "up/m", INPUT)
        booking.spend.handle(sent())
        booking.spend.handle(ended(usage=Usage(input_tokens=1), cost_usd=0.5))
        booking.spend.handle(sent("dear/m"))
        await asyncio.sleep(0.1)
        held = (await store.usage("ann")).day.held_nusd
        await asyncio.sleep(2 * RENEW_S)
        booking.close()
        await ledger.aclose()
        return held, len(store.renewals), (await store.usage("ann")).day

    held, renewals, day = asyncio.run(run())
    assert held == to_nusd(0.5 + 0.03 + 0.02)
    assert renewals >= 2
    assert (day.held_nusd, day.spent_nusd) == (0, held), "closing the ledger settles what was aborted"


def test_aborted_stream_counts_by_its_bytes_since_characters_of_some_scripts_are_whole_tokens():
    async def run():
        ledger = Ledger(make_deck(config=CONFIG), MemoryStore, KeyCounters())
        booking = await ledger.admit(KeyRecord(name="ann", id="ann", digest="", caller="ann"), "up/m", INPUT)
        booking.spend.handle(sent())
        call = ToolCallDelta(index=0, arguments='{"q": "\ud800日"}')
        await booking.streamed([ChatDelta("日" * 100), ChatDelta("", "ab"), ChatDelta("", "", call)])
        return booking.spend

    spend = asyncio.run(run())
    assert spend.streamed == 300 + 2 + 8 + 1 + 3 + 1
    assert spend.final_nusd == to_nusd(INPUT * 1e-6 + (158 + 50) * 2e-6)


def test_estimates_of_tokens_are_high():
    assert text_tokens("a" * 300) == 100
    assert text_tokens("日" * 100) == 150
    tool = ToolDefinition("t", "d" * 29, {"type": "object"})
    request = ChatRequest(model="m", messages=(Message(Role.USER, (TextPart("x" * 30),)),), tools=(tool,))
    assert 25 < input_tokens(request) < 50
    assert input_tokens(attrs.evolve(request, messages=())) < input_tokens(request)


@each_case(
    ("value", "tokens"),
    [
        ("abc", 1),
        (["abc", "abcdef"], 3),
        ([1, 2, 3], 3),
        ([[1, 2], [3]], 3),
        (functools.reduce(lambda inner, _: [inner], range(5_000), 1), 1),
        (None, 0),
        ({"a": 1}, 0),
    ],
)
def test_tokens_of_requests_for_vectors(value, tokens):
    assert embedding_tokens(value) == tokens


@each_case(
    ("body", "tokens"),
    [
        ({"usage": {"prompt_tokens": 7}}, 7),
        ({"usage": {"prompt_tokens": 0, "total_tokens": 9}}, 9),
        ({"usage": {"prompt_tokens": "7"}}, 5),
        ({"usage": None}, 5),
        ([], 5),
    ],
)
def test_usage_of_vectors_is_estimated_where_it_is_missing(body, tokens):
    assert embedding_usage(body, 5) == Usage(input_tokens=tokens)


class LosesAnswers(MemoryStore):
    """A store that admits calls, at once or later, and whose answer is lost; then it is away for a while."""

    def __init__(self, *, is_late):
        super().__init__()
        self.is_late, self.failures, self.late = is_late, 2, []

    async def admit(self, nodes, call, lease_s, *, now_s=None):
        if self.is_late:
            self.late.append((nodes, call, lease_s))
        else:
            await super().admit(nodes, call, lease_s)
        raise StorageError("no result within 10 s")

    async def settle(self, accounts, call_id, cost_nusd, tokens=0, *, unpriced=False):
        if self.failures:
            self.failures -= 1
            raise StorageError("away")
        is_known = await super().settle(accounts, call_id, cost_nusd, tokens, unpriced=unpriced)
        while self.late:
            await super().admit(*self.late.pop())
        return is_known


@pytest.mark.parametrize("is_late", [False, True], ids=["at once", "later"])
def test_call_that_was_admitted_although_the_store_failed_costs_nothing(virtual_time, is_late):
    async def run():
        store = LosesAnswers(is_late=is_late)
        ledger = Ledger(make_deck(config=CONFIG), lambda: store, KeyCounters())
        key = KeyRecord(name="ann", id="ann", digest="", caller="ann")
        with pytest.raises(Problem):
            await ledger.admit(key, "up/m", INPUT)
        await asyncio.sleep(60)
        await ledger.aclose()
        return await store.usage("ann")

    usage = asyncio.run(run())
    assert usage.day.requests == 1, "the store has admitted the call"
    assert (usage.day.held_nusd, usage.day.spent_nusd, usage.under_way) == (0, 0, 0)
