"""Limits and spend of the keys of a gateway: over HTTP, by what the upstream reports, and over several workers."""

import asyncio
import contextlib
import http.client
import json
import socket
import threading
import time

import attrs
import pytest

from helmdeck_gateway import Gateway, GatewaySettings
from helmdeck_gateway.accounts.changes import create_key
from helmdeck_gateway.accounts.ledger import refusal_problem
from helmdeck_gateway.stores import open_store
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_gateway.stores.records import NANO, Refusal, to_nusd
from helmdeck_storage import StorageError
from helmdeck_testing import ANTHROPIC, OPENAI_CHAT, ScriptedAnswer, chat_server, make_deck
from tests.cli_support import environment, start
from tests.helmdeck_gateway.gateway_key_support import COST, PRICED, USAGE, Keyed, config, keyed, record, wait_until
from tests.helmdeck_gateway.gateway_support import DIALECTS, AppRequest, FormatServer, running_gateway, upstream


@pytest.fixture
def server():
    with contextlib.closing(FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello", **USAGE))) as server:
        yield server


# -- limits -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_rate_limit_names_itself_in_the_dialect_of_the_client(server, dialect):
    with keyed(config(server), rate=2, window_s=3_600) as gateway:
        body = {"model": "up/m", **dialect.body("hi")}
        assert [gateway.send(dialect.path, body).status for _ in range(3)] == [200, 200, 429]
        answer = gateway.send(dialect.path, {**body, "stream": True})
        error = answer.body["error"]
        assert (answer.status, error["type"]) == (429, "rate_limit_error")
        assert "the key 'ann' is limited to 2 requests in 3600 s" in error["message"]
        assert 3_500 < int(answer.headers["retry-after"]) <= 3_600
        assert len(server.requests) == 2
        assert (gateway.usage.day.requests, gateway.usage.day.refused) == (2, 2)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_cost_of_a_response_is_settled_before_the_client_has_it(server, dialect, stream):
    with keyed(config(server), concurrency=1, day_nusd=NANO) as gateway:
        body = {"model": "up/m", **dialect.body("hi"), "stream": stream}
        if not stream:
            body.pop("stream_options", None)
        for number in range(1, 4):
            answer = gateway.send(dialect.path, body)
            assert answer.status == 200
            usage = gateway.usage
            assert (usage.day.spent_nusd, usage.under_way) == (number * to_nusd(COST), 0)
        assert usage.day == usage.month


def test_spend_limit_is_reached_by_what_is_spent_and_names_when_it_resets(server):
    with keyed(config(server), day_nusd=to_nusd(2 * COST)) as gateway:
        assert [gateway.chat().status for _ in range(3)] == [200, 200, 402]
        answer = gateway.send("/v1/messages", {"model": "up/m", "max_tokens": 9, **DIALECTS["messages"].body("hi")})
        error = answer.body["error"]
        assert (answer.status, error["type"]) == (402, "billing_error")
        assert "limited to 0.004 US dollars per day, and 0.004 are spent; the limit resets at" in error["message"]
        assert answer.headers["x-should-retry"] == "false"
        chat = gateway.chat().body["error"]
        assert (chat["code"], chat["limit"]) == ("spend_limit", "spend_per_day")
        assert chat["resets_at"].endswith("T00:00:00+00:00")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses", "/v1/embeddings", "/v1/rerank", "plan",
        "/v1beta/models/up/m:generateContent", "/v1beta/models/up/m:streamGenerateContent",
    ],
)  # fmt: skip
def test_every_endpoint_that_costs_money_is_limited(server, path):
    with keyed(config(server, model="up/m"), day_nusd=0) as gateway:
        body = {"model": "up/m", "input": "hi", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
        body |= {"prompt": "hi"} if path == "/v1/completions" else {}
        body |= {"query": "hi", "documents": ["hi"], "contents": [{"parts": [{"text": "hi"}]}]}
        if path == "plan":
            path, body["model"] = "/v1/chat/completions", "helmdeck/plan"
        answer = gateway.send(path, body)
        assert (answer.status, gateway.usage.day.refused) == (402, 1)
        assert server.requests == []
        count = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}]}
        assert gateway.send("/v1/messages/count_tokens", count).status == 200
        assert gateway.send("/v1/messages/count_tokens", count, key="wrong").status == 401


def test_concurrency_is_freed_by_a_client_that_disconnects(server):
    arrived, release = threading.Event(), threading.Event()

    def slow(request):
        arrived.set()
        release.wait(60)
        return {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": {}}

    with chat_server(slow) as slow_server, keyed(config(slow_server), concurrency=1) as gateway:
        host, _, port = gateway.running.url.removeprefix("http://").partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        body = json.dumps({"model": "up/m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 100})
        headers = {"authorization": f"Bearer {gateway.key}"}
        connection.request("POST", "/v1/chat/completions", body, headers)
        assert arrived.wait(60)
        refused = gateway.chat()
        assert (refused.status, refused.body["error"]["code"]) == (429, "concurrency_limit")
        assert refused.headers["retry-after"] == "1"
        held = gateway.usage.day.held_nusd
        connection.close()
        wait_until(lambda: gateway.usage.under_way == 0)
        release.set()
        assert gateway.usage.day.spent_nusd == held >= to_nusd(100 * 2e-6), "the provider may charge for all of it"


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/rerank"])
def test_client_that_leaves_ends_its_request_for_vectors_or_a_ranking(path):
    arrived, release = threading.Event(), threading.Event()

    def slow(request):
        arrived.set()
        release.wait(60)
        return {"data": []}

    with chat_server(slow) as slow_server, keyed(config(slow_server), concurrency=1) as gateway:
        connection = http.client.HTTPConnection(gateway.running.url.removeprefix("http://"), timeout=10)
        body = {"model": "up/m", "input": "hi " * 300, "query": "hi", "documents": ["hi " * 300]}
        connection.request("POST", path, json.dumps(body), {"authorization": f"Bearer {gateway.key}"})
        assert arrived.wait(60)
        connection.close()
        wait_until(lambda: gateway.usage.under_way == 0)
        spent = gateway.usage.day.spent_nusd
        release.set()
    assert spent > 0, "the provider may charge for it"


def test_failed_attempts_with_usage_count(server):
    server.answer = ScriptedAnswer(text="", **USAGE)
    with keyed(config(server)) as gateway:
        answer = gateway.chat()
        assert answer.status >= 400
        assert gateway.usage.day.spent_nusd == len(server.requests) * to_nusd(COST) > 0


def test_cost_of_a_fallback_is_counted_by_its_own_price(server):
    with contextlib.closing(FormatServer(ANTHROPIC, ScriptedAnswer(text="hello", **USAGE))) as other:
        configured = config(server, fallback={"up/": ["claude/x"]})
        configured["providers"]["claude"] = upstream(other, "anthropic")
        configured["budgets"]["claude/"] = {"input_cost_usd_per_mtok": 10.0, "output_cost_usd_per_mtok": 20.0}
        configured["recovery"]["max_attempts"] = 2
        server.answer = ScriptedAnswer(text="", **USAGE)
        with keyed(configured) as gateway:
            answer = gateway.chat()
            assert (answer.status, answer.headers["x-helmdeck-model"]) == (200, "claude/x")
            assert gateway.usage.day.spent_nusd == to_nusd(COST) * len(server.requests) + to_nusd(10 * COST)


def test_response_without_usage_counts_as_an_estimate(server):
    def answer(request):
        return {"choices": [{"message": {"content": "x" * 400}, "finish_reason": "stop"}]}

    with chat_server(answer) as silent, keyed(config(silent)) as gateway:
        assert gateway.chat().status == 200
        assert to_nusd(200 * 2e-6) <= gateway.usage.day.spent_nusd <= to_nusd(300 * 2e-6)


def test_models_without_a_price_count_as_zero_and_can_be_refused(server):
    configured = {**config(server), "budgets": {}}
    with keyed(configured, day_nusd=1) as gateway:
        assert gateway.chat().status == 200
        assert (gateway.usage.day.spent_nusd, gateway.usage.day.unpriced) == (0, 1)
        strict = gateway.add(name="strict", requires_price=True)
        answer = gateway.send(body={"model": "up/m", "messages": [{"role": "user", "content": "hi"}]}, key=strict)
        assert (answer.status, answer.body["error"]["code"]) == (403, "model_not_priced")


def test_embeddings_cost_what_their_usage_says():
    rows = [{"embedding": [0.5]}] * 2
    vectors = {"object": "list", "data": rows, "model": "e", "usage": {"prompt_tokens": 2_000, "total_tokens": 2_000}}
    with chat_server(lambda _: vectors) as server, keyed(config(server)) as gateway:
        assert gateway.send("/v1/embeddings", {"model": "up/e", "input": ["x", [1, 2]]}).status == 200
        assert (gateway.usage.day.spent_nusd, gateway.usage.under_way) == (to_nusd(0.002), 0)


def test_embeddings_need_no_price_of_fallbacks_since_they_have_none():
    with chat_server(lambda _: {"object": "list", "data": [{"embedding": [0.5]}], "model": "e"}) as server:
        configured = config(server, budgets={"up/e": PRICED}, fallback={"": ["up/unpriced"]})
        with keyed(configured, requires_price=True) as gateway:
            assert gateway.send("/v1/embeddings", {"model": "up/e", "input": "x"}).status == 200
            assert gateway.chat("up/e").status == 403


def test_stream_that_its_client_left_counts_what_was_streamed(server):
    text = "word " * 200
    server.answer = ScriptedAnswer(text=text, **USAGE)
    with keyed(config(server)) as gateway:
        # An event that the provider never sends ends the stream only for a client that stays.
        server.answer = attrs.evolve(server.answer, stop=None)
        host, _, port = gateway.running.url.removeprefix("http://").partition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        body = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}], "stream": True, "max_tokens": 1_000}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"x-api-key": gateway.key})
        connection.getresponse().read(20)
        connection.close()
        wait_until(lambda: gateway.usage.under_way == 0)
        assert gateway.usage.day.spent_nusd > 0


class Flaky(MemoryStore):
    """A store that does not answer the first settlements."""

    failures = 2

    async def settle(self, accounts, call_id, cost_nusd, tokens=0, *, unpriced=False):
        if self.failures:
            self.failures -= 1
            raise StorageError("down")
        return await super().settle(accounts, call_id, cost_nusd, tokens, unpriced=unpriced)


def test_settlement_that_fails_is_repeated(server):
    store = Flaky()
    made = asyncio.run(create_key(store, record()))
    with running_gateway(config=config(server), store=store) as running:
        gateway = Keyed(running, store, made)
        assert gateway.chat().status == 200
        wait_until(lambda: gateway.usage.day.spent_nusd == to_nusd(COST))


def test_refusals_name_the_limit_and_its_value():
    key = record(rate=60, concurrency=4, day_nusd=5 * NANO, month_nusd=50 * NANO)
    now_s = 1_795_348_800.0

    def shown(**fields):
        problem = refusal_problem(key, Refusal(**fields), now_s)
        return problem.status, problem.message, problem.retry_after_s

    assert shown(limit="rate", retry_after_s=1.2) == (
        429, "the key 'ann' is limited to 60 requests in 60 s; send the request again in 2 s", 2,
    )  # fmt: skip
    assert shown(limit="concurrency", retry_after_s=1)[1].startswith("the key 'ann' is limited to 4 requests at a time")
    status, message, wait_s = shown(limit="spend_per_month", retry_after_s=1, spent_nusd=NANO, held_nusd=49 * NANO)
    assert (status, wait_s) == (429, 1)
    assert "50 US dollars per month; 1 are spent, and requests under way may cost 49" in message
    assert shown(limit="spend_per_day", retry_after_s=43_200, spent_nusd=5 * NANO) == (
        402, "the key 'ann' is limited to 5 US dollars per day, and 5 are spent; the limit resets at 2026-11-23 00:00 UTC", None,
    )  # fmt: skip


# -- metrics ----------------------------------------------------------------------------------------------------


METRICS_KEY = "key-of-the-metrics-scraper"


def test_metrics_count_by_the_name_of_the_key(server, monkeypatch):
    monkeypatch.setenv("METRICS_KEY", METRICS_KEY)
    headers = {"authorization": f"Bearer {METRICS_KEY}"}
    with keyed(config(server, gateway={"metrics_key": "env:METRICS_KEY"}), rate=1) as gateway:
        assert b"key=" not in gateway.running.send("/metrics", method="GET", headers=headers).body.encode()
        gateway.chat()
        gateway.chat()
        text = gateway.running.send("/metrics", method="GET", headers=headers).body
        assert 'helmdeck_gateway_key_requests_total{key="ann"} 1' in text
        assert 'helmdeck_gateway_key_spend_usd_total{key="ann"} 0.002' in text
        assert 'helmdeck_gateway_key_refusals_total{key="ann",limit="rate"} 1' in text


def test_metrics_with_a_key_are_refused_without_it(server, monkeypatch):
    monkeypatch.setenv("METRICS_KEY", METRICS_KEY)
    with keyed(config(server, gateway={"metrics_key": "env:METRICS_KEY"})) as gateway:
        for headers in ({}, {"authorization": f"Bearer {gateway.key}"}, {"x-api-key": METRICS_KEY[:-1]}):
            refused = gateway.running.send("/metrics", method="GET", headers=headers)
            assert (refused.status, refused.body["error"]["code"]) == (401, "invalid_api_key")


def test_metrics_without_a_key_show_no_names_of_keys(server):
    with keyed(config(server)) as gateway:
        gateway.chat()
        text = gateway.running.send("/metrics", method="GET").body
    assert 'requests_total{endpoint="chat",status="200"} 1' in text
    assert "ann" not in text and "_key_" not in text


def test_number_of_labels_is_bounded():
    from helmdeck_gateway.accounts.key_counters import MAX_NAMES, KeyCounters

    counters = KeyCounters()
    for number in range(MAX_NAMES + 5):
        counters.admit(f"key{number}")
    text = counters.render()
    assert text.count("requests_total{") == MAX_NAMES + 1
    assert 'requests_total{key="other"} 5' in text


# -- several workers --------------------------------------------------------------------------------------------


def test_killed_worker_leaves_its_spend_and_its_place_for_a_minute(tmp_path):
    """One worker is a process that is killed in the middle of a call; the other one shares its store."""
    arrived = threading.Event()

    def silent(request):
        arrived.set()
        release.wait(60)
        return {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 5}}

    release, path, started_s = threading.Event(), tmp_path / "gateway.db", time.time()
    with chat_server(silent) as slow, contextlib.closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        store = open_store(f"sqlite:{path}")
        made = asyncio.run(_closing(store, create_key(store, record(concurrency=1))))
        file = tmp_path / "helmdeck.toml"
        file.write_text(
            f'[gateway]\nstore = "sqlite:{path}"\n[providers.up]\nkind = "openai-compatible"\nbase_url = "{slow.base_url}"\n'
            '[budgets."up/"]\ninput_cost_usd_per_mtok = 1.0\noutput_cost_usd_per_mtok = 2.0\n'
        )
        words = ["serve", "--config", str(file), "--port", str(port), "--no-traces", "--no-plugins"]
        process = start(*words, folder=tmp_path, env=environment())
        try:
            assert b"serving" in process.stderr.readline()
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            body = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 100}
            connection.request("POST", "/v1/chat/completions", json.dumps(body), {"x-api-key": made.secret})
            assert arrived.wait(60)
            with running_gateway(config=config(slow), store=store) as other:
                assert Keyed(other, store, made).chat().status == 429
                process.kill()
                process.wait()
                assert Keyed(other, store, made).chat().body["error"]["code"] == "concurrency_limit"
        finally:
            process.kill()
            process.communicate()
            release.set()
            connection.close()

        async def later():
            used = [await store.usage(made.record.id, now_s=each) for each in (started_s, time.time())]
            before = next(
                (each for each in used if each.day.held_nusd), used[0]
            )  # the day may have changed since the start
            lost = await store.usage(made.record.id, now_s=time.time() + 61)
            after = await store.usage(made.record.id, now_s=before.now_s)
            return before.day, before.under_way, after.day, lost.under_way

        before, open_before, after, open_after = asyncio.run(_closing(store, later()))
    assert (before.spent_nusd, open_before, open_after) == (0, 1, 0)
    assert after.spent_nusd == before.held_nusd >= to_nusd(100 * 2e-6)


async def _closing(store, action):
    try:
        return await action
    finally:
        await store.aclose()


class Slow(MemoryStore):
    """A store that takes a while to settle."""

    async def settle(self, accounts, call_id, cost_nusd, tokens=0, *, unpriced=False):
        await asyncio.sleep(1.5)
        return await super().settle(accounts, call_id, cost_nusd, tokens, unpriced=unpriced)


def test_keep_alive_opens_no_stream_while_a_failed_call_is_settled(virtual_time):
    async def run():
        store = Slow()
        made = await create_key(store, record())
        async with make_deck(config={"events": {"sinks": ["gateway"]}}) as deck:
            gateway = Gateway(deck, GatewaySettings(ping_s=1), store=store)
            body = {"model": "none/x", "stream": True, "messages": [{"role": "user", "content": "hi"}]}
            headers = {"authorization": f"Bearer {made.secret}"}
            request = await AppRequest(gateway.app, "/v1/chat/completions", body, headers=headers).sent()
            await gateway.aclose()
        return request

    request = asyncio.run(run())
    assert (request.status, json.loads(request.raw)["error"]["code"]) == (404, "model_not_found")
