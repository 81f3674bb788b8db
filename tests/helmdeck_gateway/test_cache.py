"""Response caches of the gateway: opt-in, per tenant, in every dialect, whole and streamed, shown and free of charge."""

import concurrent.futures
import contextlib
import itertools
import socket

import pytest

from helmdeck_core import ConfigError
from helmdeck_gateway import Gateway, to_nusd
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer, make_deck
from tests.case_support import each_case
from tests.helmdeck_gateway.gateway_key_support import COST, keyed
from tests.helmdeck_gateway.gateway_key_support import config as key_config
from tests.helmdeck_gateway.gateway_support import DIALECTS, FormatServer, running_gateway, upstream

ON = {"x-helmdeck-cache": "on"}
_numbers = itertools.count()


@pytest.fixture(scope="module")
def server():
    with contextlib.closing(
        FormatServer(OPENAI_CHAT, ScriptedAnswer(text="hello", input_tokens=1_000, output_tokens=500))
    ) as running:
        yield running


@pytest.fixture(scope="module")
def gateway(server):
    config = {
        "providers": {"up": upstream(server)},
        "gateway": {"models": {"fast": "up/m", "locked": "up/m"}},
        "cache": {"models": {"fast": "on", "locked": "never"}},
        "budgets": {"up/": {"input_cost_usd_per_mtok": 1.0, "output_cost_usd_per_mtok": 1.0}},
        "events": {"sinks": ["gateway", "prometheus"]},
    }
    with running_gateway(config=config) as running:
        yield running


@pytest.fixture(autouse=True)
def quiet(server):
    server.requests.clear()


def text():
    """A text that no other test sends."""
    return f"question {next(_numbers)}"


def ask(gateway, headers=ON, *, dialect="chat", model="up/m", words, **fields):
    spoken = DIALECTS[dialect]
    return gateway.send(spoken.path, {"model": model, **spoken.body(words), **fields}, headers=headers)


@each_case("first", ("chat", "messages", "responses"))
@each_case("stream", (False, True))
def test_an_answer_is_returned_again_in_each_dialect_whole_and_streamed(gateway, server, first, stream):
    words, sent = text(), len(server.requests)
    limit = {"max_output_tokens" if first == "responses" else "max_tokens": 500}
    asked = ask(gateway, dialect=first, words=words, stream=stream, **limit)
    assert asked.headers["x-helmdeck-cache"] == "miss"
    for other, again in itertools.product(("chat", "messages", "responses"), (False, True)):
        limit = {"max_output_tokens" if other == "responses" else "max_tokens": 500}
        answer = ask(gateway, dialect=other, words=words, stream=again, **limit)
        assert answer.headers["x-helmdeck-cache"] == "hit; age=0"
        assert answer.headers["x-helmdeck-model"] == "up/m"
        spoken = DIALECTS[other]
        read = spoken.streamed(answer.events) if again else spoken.whole(answer.body)
        assert (read.text, read.finish) == ("hello", {"chat": "stop", "messages": "end_turn"}.get(other, "completed"))
        assert read.tokens[1] > 0
    assert len(server.requests) == sent + 1


def test_hits_are_marked_as_cached_input(gateway):
    words = text()
    answers = [ask(gateway, words=words).body["usage"] for _ in range(2)]
    assert (
        answers[1]["prompt_tokens_details"]["cached_tokens"]
        == answers[1]["prompt_tokens"]
        == answers[0]["prompt_tokens"]
    )


@each_case(
    "headers, model, outcomes",
    [
        ({}, "up/m", [None, None]),
        (ON, "up/m", ["miss", "hit; age=0"]),
        ({}, "fast", ["miss", "hit; age=0"]),
        ({"x-helmdeck-cache": "off"}, "fast", [None, None]),
        (ON, "locked", ["skipped; reason=never"] * 2),
        ({"x-helmdeck-cache": "refresh"}, "up/m", ["refresh", "refresh"]),
        ({"cache-control": "no-cache"}, "fast", ["refresh", "refresh"]),
        ({"cache-control": "max-age=0"}, "fast", ["refresh", "refresh"]),
        ({"cache-control": "Max-Age=60, no-transform"}, "fast", ["miss", "hit; age=0"]),
        ({"cache-control": "no-store"}, "fast", ["skipped; reason=no-store"] * 2),
        ({"cache-control": "no-cache"}, "up/m", [None, None]),
    ],
)
def test_headers_and_settings_decide_which_calls_use_the_cache(gateway, server, headers, model, outcomes):
    words, sent = text(), len(server.requests)
    answers = [ask(gateway, headers, model=model, words=words) for _ in range(2)]
    assert [answer.headers.get("x-helmdeck-cache") for answer in answers] == outcomes
    assert len(server.requests) - sent == 2 - sum("hit" in (each or "") for each in outcomes)


def test_a_refresh_stores_its_answer(gateway, server):
    words = text()
    for headers in ({"x-helmdeck-cache": "refresh"}, ON):
        answer = ask(gateway, headers, words=words)
    assert answer.headers["x-helmdeck-cache"] == "hit; age=0"


@each_case(
    "name, value", [("x-helmdeck-cache", "perhaps"), ("cache-control", "max-age=soon"), ("cache-control", "max-age")]
)
@each_case("dialect", DIALECTS)
def test_an_unknown_value_is_refused_in_the_dialect_of_the_caller(gateway, name, value, dialect):
    answer = ask(gateway, {**ON, name: value}, dialect=dialect, words="x")
    assert answer.status == 400
    assert name in answer.body["error"]["message"]


def test_structured_output_is_cached(gateway, server):
    server.answer, before = type(server.answer)(text='{"word": "x", "most": 1}'), server.answer
    form = {
        "type": "json_schema",
        "json_schema": {"name": "a", "schema": {"type": "object", "properties": {"word": {}}}},
    }
    words = text()
    try:
        answers = [ask(gateway, words=words, response_format=form, stream=stream) for stream in (False, True)]
    finally:
        server.answer = before
    assert [answer.headers["x-helmdeck-cache"] for answer in answers] == ["miss", "hit; age=0"]
    assert len(server.requests) == 1


def test_equal_requests_at_the_same_time_make_one_call(gateway, server):
    words = text()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(gateway, words=words), range(24)))
    assert {answer.body["choices"][0]["message"]["content"] for answer in answers} == {"hello"}
    assert len(server.requests) == 1
    assert {answer.headers["x-helmdeck-cache"] for answer in answers} <= {"miss", "shared", "hit; age=0"}


def test_metrics_count_hits_misses_and_savings(gateway):
    def value(result):
        lines = [line for line in gateway.gateway.metrics().splitlines() if f'result="{result}"' in line]
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("helmdeck_cache_lookups_total"))

    before, words = (value("exact"), value("absent")), text()
    for _ in range(3):
        ask(gateway, words=words)
    assert (value("exact") - before[0], value("absent") - before[1]) == (2, 1)
    saved = [line for line in gateway.gateway.metrics().splitlines() if "answers_saved_usd_total{" in line]
    assert float(saved[0].rpartition(" ")[2]) > 0


def test_mistakes_of_the_settings_are_found_when_the_gateway_starts():
    with pytest.raises(ConfigError, match=r"cache\.mode.*on"):
        Gateway(make_deck(config={"cache": {"mode": "yes"}}))


@contextlib.contextmanager
def keyed_gateway(server, cache):
    with keyed(key_config(server, cache=cache), team="red", day_nusd=to_nusd(1)) as running:
        yield running


def test_a_hit_costs_a_key_nothing_and_other_keys_get_no_answer_of_it(server):
    with keyed_gateway(server, {"keys": {"ann": "on", "bob": "on"}}) as running:
        bob = running.add(name="bob", team="red")
        words = [{"role": "user", "content": text()}]
        body = {"model": "up/m", "messages": words}
        asked = [running.send(body=body), running.send(body=body), running.send(body=body, key=bob)]
        streamed = running.send(body={**body, "stream": True})
        usage = running.usage
    assert [each.headers.get("x-helmdeck-cache") for each in asked] == ["miss", "hit; age=0", "miss"]
    assert streamed.headers["x-helmdeck-cache"] == "hit; age=0"
    assert (usage.day.spent_nusd, usage.day.held_nusd, usage.day.requests) == (to_nusd(COST), 0, 3)


def test_the_keys_of_a_team_share_answers_if_the_settings_allow_it(server):
    with keyed_gateway(server, {"teams": {"red": "on", "blue": "on"}, "tenant": "team"}) as running:
        keys = [running.key, *(running.add(name=name, team=team) for name, team in (("bob", "red"), ("eve", "blue")))]
        keys.append(running.add(name="zoe"))
        body = {"model": "up/m", "messages": [{"role": "user", "content": text()}]}
        outcomes = [running.send(body=body, key=key).headers.get("x-helmdeck-cache") for key in keys]
    assert outcomes == ["miss", "hit; age=0", "miss", None]


def test_a_reload_keeps_the_answers_unless_their_settings_change(server):
    def deck(**cache):
        return make_deck(config={"providers": {"up": upstream(server)}, "cache": cache})

    gateway = Gateway(deck(mode="on"))
    again = gateway.successor(deck(mode="on"), gateway.settings)
    changed = again.successor(deck(mode="on", ttl_s=5), gateway.settings)
    caches = [each.service.cached.caches for each in (gateway, again, changed)]
    assert caches[0] is caches[1] is not caches[2]


def test_a_store_that_is_down_is_a_miss(server):
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    listener.close()
    config = {
        "providers": {"up": upstream(server)},
        "cache": {"mode": "on", "store": f"redis://u:hunter22@127.0.0.1:{port}/0", "retry_s": 60},
    }
    with running_gateway(config=config) as running:
        answers = [ask(running, {}, words="x", stream=stream) for stream in (False, True)]
        counts = running.gateway.service.cached.caches.counts
    assert [answer.headers["x-helmdeck-cache"] for answer in answers] == ["miss", "miss"]
    assert [answer.status for answer in answers] == [200, 200]
    assert counts["failures"] == 1
