"""Bursts of calls whose estimates are far below their bills: the spend limit of a key holds all the same."""

import asyncio
import concurrent.futures
import contextlib
import threading

import pytest

from helmdeck_core import Attempt, FailureClass, Usage
from helmdeck_gateway.accounts.key_counters import KeyCounters
from helmdeck_gateway.accounts.ledger import PROOF_S, Ledger
from helmdeck_gateway.accounts.request_costs import Pricing, Spend
from helmdeck_gateway.accounts.surcharges import Surcharges
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_gateway.stores.records import NANO, KeyRecord, Limits, TeamRecord, to_nusd
from helmdeck_testing import ANTHROPIC, SERVER_FORMATS, ScriptedAnswer, chat_server, make_deck
from tests.helmdeck_gateway.gateway_key_support import PRICED, config, keyed, wait_until
from tests.helmdeck_gateway.gateway_support import KINDS, FormatServer, upstream
from tests.helmdeck_gateway.test_pricing import CONFIG, ended, sent

TOKENS = 20
"""Estimated input; the provider charges a hundred times as much."""
USAGE = Usage(input_tokens=4_000, output_tokens=1_000)
COST = 4_000 * 1e-6 + 1_000 * 2e-6
LIMIT = to_nusd(10 * COST)


class Worker:
    """A worker that serves calls of one key."""

    def __init__(self, store, name="ann", teams=(), **limits):
        self.teams = teams
        self.ledger = Ledger(make_deck(config=CONFIG), lambda: store, KeyCounters())
        self.key = KeyRecord(name=name, id=name, digest="", caller=name, limits=Limits(**limits))
        self.most_at_once = self.at_once = 0
        self.statuses = set()

    async def call_with_exact_estimate(self):
        """Make a call whose own limits give its cost."""
        booking = await self.ledger.admit(self.key, "up/m", USAGE.input_tokens, USAGE.output_tokens)
        booking.spend.handle(sent(max_tokens=USAGE.output_tokens))
        booking.spend.handle(ended(usage=USAGE, cost_usd=COST, stop_reason="stop", raw_length=40))
        await booking.settle()
        self.ledger._renewal.cancel()

    async def call(self, usage=USAGE, seconds=1.0, **attempt):
        """Make a call; return whether it was admitted."""
        try:
            booking = await self.ledger.admit(self.key, "up/m", TOKENS, 10, teams=self.teams)
        except Problem as exc:
            self.statuses.add(exc.status)
            return False
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        booking.spend.handle(sent(max_tokens=10))
        await asyncio.sleep(seconds)
        cost = None if usage == Usage() else COST
        booking.spend.handle(ended(usage=usage, cost_usd=cost, stop_reason="stop", raw_length=40, **attempt))
        self.at_once -= 1
        await booking.settle()
        return True


def run(workers, count, account="ann", **options):
    async def serve():
        answers = await asyncio.gather(*(worker.call(**options) for _ in range(count) for worker in workers))
        store = workers[0].ledger._find_store()
        spent = (await store.usage(account)).day.spent_nusd
        for worker in workers:
            await worker.ledger.aclose()
        return sum(answers), spent

    return asyncio.run(serve())


@pytest.mark.parametrize("count", [1, 2, 4])
def test_burst_overspends_by_at_most_one_call_of_each_worker(virtual_time, count):
    store = MemoryStore()
    workers = [Worker(store, day_nusd=LIMIT) for _ in range(count)]
    admitted, spent = run(workers, 200)
    assert LIMIT <= spent <= LIMIT + count * to_nusd(COST)
    assert admitted == spent // to_nusd(COST)
    assert set.union(*(worker.statuses for worker in workers)) <= {402, 429}


def test_burst_of_two_keys_overspends_the_limit_of_their_team_by_at_most_one_call_of_each_worker(virtual_time):
    store = MemoryStore()
    teams = (TeamRecord(name="search", id="search", limits=Limits(day_nusd=LIMIT)), TeamRecord(name="acme", id="acme"))
    workers = [Worker(store, name, teams) for name in ("ann", "bob")]
    admitted, spent = run(workers, 100, "acme")
    assert LIMIT <= spent <= LIMIT + len(workers) * to_nusd(COST)
    assert admitted == spent // to_nusd(COST)
    assert set.union(*(worker.statuses for worker in workers)) <= {402, 429}


def test_burst_of_calls_without_a_limit_after_calls_with_an_exact_one_is_held(virtual_time):
    store = MemoryStore()
    worker = Worker(store, day_nusd=LIMIT + to_nusd(COST))
    asyncio.run(worker.call_with_exact_estimate())
    admitted, spent = run([worker], 200)
    assert spent <= LIMIT + 2 * to_nusd(COST)
    assert admitted


def test_calls_far_from_the_limit_begin_at_once(virtual_time):
    worker = Worker(MemoryStore(), day_nusd=100 * NANO)
    assert run([worker], 50)[0] == 50
    assert worker.most_at_once == 50
    assert virtual_time.passed_s < 2


def test_key_without_a_spend_limit_does_not_wait(virtual_time):
    worker = Worker(MemoryStore(), rate=1_000)
    assert run([worker], 50)[0] == 50
    assert worker.most_at_once == 50


def test_provider_that_reports_no_usage_is_proven_by_its_first_call(virtual_time):
    worker = Worker(MemoryStore(), day_nusd=LIMIT)
    assert run([worker], 20, usage=Usage())[0] == 20
    assert virtual_time.passed_s < 3


def test_failed_call_proves_nothing_and_lets_the_next_one_begin(virtual_time):
    worker = Worker(MemoryStore(), day_nusd=LIMIT)
    assert run([worker], 5, usage=Usage(), cause=FailureClass.PROVIDER_UNAVAILABLE, status=503)[0] == 5
    assert worker.most_at_once == 1


def test_calls_that_wait_too_long_for_the_first_one_are_refused(virtual_time):
    worker = Worker(MemoryStore(), day_nusd=LIMIT)
    assert run([worker], 20, seconds=PROOF_S + 20)[0] == 1
    assert "gateway_key_refusals_total" in worker.ledger.counters.render()


def test_caller_that_leaves_while_it_waits_keeps_no_place(virtual_time):
    async def serve():
        worker = Worker(MemoryStore(), day_nusd=LIMIT)
        first = asyncio.create_task(worker.call(usage=Usage(), cause=FailureClass.LIKELY_TIMEOUT, status=500))
        waiting = [asyncio.create_task(worker.call()) for _ in range(3)]
        await asyncio.sleep(0.5)
        waiting[0].cancel()
        answers = await asyncio.gather(first, *waiting, return_exceptions=True)
        await worker.ledger.aclose()
        return answers

    first, left, *others = asyncio.run(serve())
    assert isinstance(left, asyncio.CancelledError)
    assert [first, *others] == [True, True, True]


def test_surcharge_is_the_highest_one_of_late_and_fades():
    surcharges = Surcharges()
    assert not surcharges.is_proven("up/m")
    for more_usd in (0.1, -5.0, 0.02):
        surcharges.note("up/m", more_usd)
    assert surcharges.is_proven("up/m")
    assert surcharges.of("up/m") == pytest.approx(0.1 * 0.9**2)
    assert surcharges.of("up/n") == 0


def test_estimated_attempt_proves_nothing():
    surcharges = Surcharges()
    surcharges.end(Attempt(number=1, model="up/m", usage=USAGE, cost_usd=COST, is_estimated=True, cause=FailureClass.LIKELY_TIMEOUT), 0.0)  # fmt: skip
    assert not surcharges.is_proven("up/m")


def test_aborted_call_pays_what_the_calls_of_its_model_cost():
    surcharges = Surcharges()
    surcharges.note("up/m", 0.5)
    spend = Spend(Pricing(make_deck(config=CONFIG)), TOKENS, 10, lambda: None, surcharges)
    assert spend.first_nusd("up/m") == to_nusd(TOKENS * 1e-6 + 10 * 2e-6 + 0.5)
    spend.handle(sent(max_tokens=10))
    assert spend.held_nusd == spend.final_nusd == spend.first_nusd("up/m")


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        (Usage(output_tokens=5), TOKENS * 1e-6 + 20 * 2e-6),
        (Usage(input_tokens=7), 7e-6 + 20 * 2e-6),
        (Usage(output_tokens=50), TOKENS * 1e-6 + 50 * 2e-6),
        (Usage(input_tokens=7, output_tokens=5), 7e-6 + 5 * 2e-6),
    ],
)
def test_half_of_the_usage_that_is_missing_is_counted_here(usage, usd):
    pricing = Pricing(make_deck(config=CONFIG))
    spend = Spend(pricing, TOKENS, 10, lambda: None)
    spend.handle(sent(max_tokens=10))
    spend.handle(ended(usage=usage, cost_usd=pricing.cost_usd("up/m", usage), stop_reason="stop", raw_length=40))
    assert spend.final_nusd == to_nusd(usd)


# -- requests without an output limit ---------------------------------------------------------------------------


class FullAnswers(FormatServer):
    """A server of the Messages API whose answers use all of the output limit, once ``release`` is there."""

    def __init__(self):
        super().__init__(ANTHROPIC)
        self.release = threading.Event()
        self.is_full = False

    def respond(self, request):
        if self.is_full:
            assert self.release.wait(60)
        tokens = request.body["max_tokens"] if self.is_full else 7
        self.answer = ScriptedAnswer(text="hello", input_tokens=9, output_tokens=tokens)
        return super().respond(request)


def test_burst_without_an_output_limit_holds_the_one_that_the_provider_sends():
    limit_usd, calls = 0.05, 12
    with contextlib.closing(FullAnswers()) as server:
        providers = {"up": upstream(server, "anthropic")}
        with keyed(config(server, providers=providers), day_nusd=to_nusd(limit_usd)) as gateway:
            assert gateway.chat().status == 200, "a short answer, which proves the price of the model"
            server.is_full = True
            with concurrent.futures.ThreadPoolExecutor(calls) as pool:
                answers = [pool.submit(gateway.chat) for _ in range(calls)]
                wait_until(lambda: len(server.requests) - 1 + sum(each.done() for each in answers) == calls)
                server.release.set()
            statuses = [each.result().status for each in answers]
            spent = gateway.usage.day.spent_nusd
    dearest = server.requests[-1].body["max_tokens"] * 2e-6
    assert set(statuses) == {200, 429}
    assert spent <= to_nusd(limit_usd + 1.1 * dearest)


@pytest.mark.parametrize("name", SERVER_FORMATS)
def test_held_output_is_the_limit_that_the_provider_sends_or_else_that_of_the_budget(name):
    with contextlib.closing(FormatServer(SERVER_FORMATS[name])) as server:
        providers = {"up": upstream(server, KINDS[name])}
        with keyed(config(server, providers=providers)) as gateway:
            assert gateway.chat().status == 200
            held = Pricing(gateway.running.gateway.deck).output_tokens("up/m", None)
        sent_limit = server.server_format.limit(server.requests[-1].body)
    assert held == (sent_limit or PRICED["output_tokens"])


def test_configured_output_limit_of_a_provider_is_held():
    options = {"max_tokens": 2_000}
    providers = {
        "an": {"kind": "anthropic", "options": options},
        "mistaken": {"kind": "anthropic", "options": {"max_token": 2_000}},
    }
    pricing = Pricing(make_deck(config={"providers": providers}))
    assert [pricing.output_tokens("an/m", most) for most in (None, 50)] == [2_000, 50]
    assert pricing.output_tokens("mistaken/m", None) == pricing.output_tokens("unknown/m", None), "no request is sent"


@pytest.mark.parametrize("name", ["up/m", "helmdeck/plan"])
def test_typed_question_holds_the_limit_of_the_budget_not_that_of_the_client(name):
    schema = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
    held = []

    def respond(request):
        held.append((gateway.usage.day.held_nusd, request["max_tokens"]))
        return {"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}], "usage": {}}

    with chat_server(respond) as server, keyed(config(server, model="up/m"), day_nusd=NANO) as gateway:
        gateway.chat(name, response_format=schema, max_tokens=1)
    assert held[0][1] == PRICED["output_tokens"]
    assert held[0][0] >= to_nusd(PRICED["output_tokens"] * 2e-6)
