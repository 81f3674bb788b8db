"""Vectors and rankings: recovered over providers of the same model, limited, reported, and never mixed up."""

import base64
import contextlib
import struct

import pytest

from helmdeck_core import AttemptEnded, CallFinished, ConfigError, RequestSent
from helmdeck_gateway import GatewaySettings, to_nusd
from helmdeck_testing import EventRecorder, chat_server
from tests.helmdeck_gateway.gateway_key_support import PRICED, keyed
from tests.helmdeck_gateway.gateway_support import running_gateway, upstream

UNAVAILABLE = (503, {"content-type": "application/json"}, b'{"error": {"message": "busy"}}')
REFUSED = (400, {"content-type": "application/json"}, b'{"error": {"message": "input is too odd"}}')
QUICK = {"backoff_s": 0, "max_wait_s": 0}


def vectors(*lengths, **fields):
    rows = [{"object": "embedding", "index": i, "embedding": [0.5] * length} for i, length in enumerate(lengths)]
    return {"object": "list", "data": rows, "model": "e", **fields}


@contextlib.contextmanager
def two_servers(first, second):
    """Two providers whose answers can be replaced."""
    answers = {"one": first, "two": second}
    with chat_server(lambda _: answers["one"]) as one, chat_server(lambda _: answers["two"]) as two:
        yield answers, one, two


def configured(one, two, chain=("one/e", "two/e"), **gateway):
    providers = {"one": upstream(one), "two": upstream(two)}
    return {"providers": providers, "recovery": QUICK, "gateway": {"models": {"e": list(chain)}, **gateway}}


def embed(gateway, model="e", value=("x",), **fields):
    return gateway.send("/v1/embeddings", {"model": model, "input": list(value), **fields})


@pytest.mark.parametrize("first", [UNAVAILABLE, vectors(), vectors(3, 3), {"choices": []}, vectors(0)])
def test_provider_without_usable_vectors_is_replaced_by_one_of_the_same_model(first):
    with two_servers(first, vectors(3)) as (_, one, two), running_gateway(config=configured(one, two)) as gateway:
        answer = embed(gateway)
        assert (answer.status, answer.body) == (200, vectors(3))
        assert (answer.headers["x-helmdeck-model"], answer.headers["x-helmdeck-attempts"]) == ("two/e", "2")
        assert [request.path for request in two.requests] == ["/v1/embeddings"]


def test_vectors_of_another_model_never_replace_those_of_the_first_unless_declared_the_same():
    chain = ("one/e", "two/other", "two/prod-e")
    same = {"two/prod-e": {"model": "e"}}
    with two_servers(UNAVAILABLE, vectors(3)) as (_, one, two):
        with running_gateway(config=configured(one, two, chain)) as gateway:
            answer = embed(gateway)
            assert (answer.status, two.requests) == (503, [])
            assert all("one/e" in attempt for attempt in answer.body["error"]["attempts"])
        with running_gateway(config=configured(one, two, chain, embeddings=same)) as gateway:
            assert embed(gateway).headers["x-helmdeck-model"] == "two/prod-e"
            assert [request.body["model"] for request in two.requests] == ["prod-e"]


def test_vectors_of_another_length_are_a_typed_failure():
    with two_servers(vectors(3), vectors(4)) as (answers, one, two):
        with running_gateway(config=configured(one, two)) as gateway:
            assert embed(gateway).status == 200
            answers["one"] = {"choices": []}
            error = embed(gateway).body["error"]
            assert (error["sub_cause"], error["cause"]) == ("dimension_mismatch", "transient_unknown")
            assert "two/e returned vectors of 4 dimensions, expected 3" in error["message"]
            answers["two"] = {"data": [{"embedding": packed(1, 2, 3)}]}
            assert embed(gateway, encoding_format="base64").status == 200
            assert embed(gateway, dimensions=2).body["error"]["sub_cause"] == "dimension_mismatch"
        declared = {"one/e": {"dimensions": 5}}
        answers["one"] = vectors(3)
        with running_gateway(config=configured(one, two, ["one/e"], embeddings=declared)) as gateway:
            assert embed(gateway).body["error"]["sub_cause"] == "dimension_mismatch"


def packed(*numbers):
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


@pytest.mark.parametrize(
    ("returned", "encoding", "expected"),
    [
        ([0.5, 0.25], "base64", packed(0.5, 0.25)),
        (packed(0.5, 0.25), "float", [0.5, 0.25]),
        (packed(0.5, 0.25), None, [0.5, 0.25]),
    ],
)
def test_vectors_have_the_requested_encoding_whatever_the_server_returns(returned, encoding, expected):
    answer = {"object": "list", "data": [{"index": 0, "embedding": returned}], "usage": {"prompt_tokens": 2}}
    fields = {"encoding_format": encoding} if encoding else {}
    with two_servers(answer, UNAVAILABLE) as (_, one, two), running_gateway(config=configured(one, two)) as gateway:
        assert embed(gateway, **fields).body == {**answer, "data": [{"index": 0, "embedding": expected}]}


@pytest.mark.parametrize(("wrong", "encoding"), [([0.5, "x"], "base64"), ([1e300], "base64"), ("?", "float")])
def test_vector_that_cannot_be_encoded_is_a_failure_of_its_model(wrong, encoding):
    first = {"data": [{"embedding": wrong}]}
    with two_servers(first, vectors(2)) as (_, one, two), running_gateway(config=configured(one, two)) as gateway:
        answer = embed(gateway, encoding_format=encoding)
        assert (answer.status, answer.headers["x-helmdeck-model"]) == (200, "two/e")


def test_request_that_the_provider_refuses_is_not_repeated_elsewhere():
    with two_servers(REFUSED, vectors(3)) as (_, one, two), running_gateway(config=configured(one, two)) as gateway:
        answer = embed(gateway)
        assert (answer.status, two.requests) == (400, [])
        assert "input is too odd" in answer.body["error"]["message"]
        assert embed(gateway, value=[]).body["error"]["param"] == "input"


def test_provider_that_is_busy_for_a_moment_is_called_again():
    answers = iter([UNAVAILABLE, UNAVAILABLE, vectors(3)])
    with chat_server(lambda _: next(answers)) as server:
        setup = {"providers": {"up": upstream(server)}, "recovery": {"backoff_s": 0.001}}
        with running_gateway(config=setup) as gateway:
            answer = embed(gateway, "up/e")
            assert (answer.status, answer.headers["x-helmdeck-attempts"]) == (200, "3")


def test_provider_in_cooldown_is_not_called_while_the_chain_has_another_one():
    with two_servers(UNAVAILABLE, vectors(3)) as (_, one, two):
        setup = configured(one, two)
        setup["recovery"] = {**QUICK, "cool_down_after": 2}
        with running_gateway(config=setup) as gateway:
            assert [embed(gateway).headers.get("x-helmdeck-attempts") for _ in range(3)] == ["2", "2", None]
            assert (len(one.requests), len(two.requests)) == (2, 3)


def test_calls_have_events_like_those_of_chats():
    recorder = EventRecorder()
    with (
        two_servers(UNAVAILABLE, vectors(3)) as (_, one, two),
        running_gateway(recorder, config=configured(one, two)) as gateway,
    ):
        call_id = embed(gateway).headers["x-helmdeck-call-id"]
    assert [event.model for event in recorder.of(RequestSent)] == ["one/e", "two/e"]
    assert [event.outcome.cause for event in recorder.of(AttemptEnded)] == ["provider_unavailable", None]
    (finished,) = recorder.of(CallFinished)
    assert (finished.call_id, finished.model, finished.pack) == (call_id, "two/e", "embeddings")


def test_call_costs_what_the_provider_that_answered_reports():
    usage = {"prompt_tokens": 2_000, "total_tokens": 2_000}
    budgets = {"one/": PRICED, "two/": PRICED}
    with (
        two_servers(UNAVAILABLE, vectors(3, usage=usage)) as (_, one, two),
        keyed({**configured(one, two), "budgets": budgets}) as gateway,
    ):
        assert gateway.send("/v1/embeddings", {"model": "e", "input": "x"}).status == 200
        assert (gateway.usage.day.spent_nusd, gateway.usage.under_way) == (to_nusd(0.002), 0)


TEXTS = ["the price of bread", "tides and the moon", "a moon landing"]


def rank(gateway, model="r", **fields):
    return gateway.send("/v1/rerank", {"model": model, "query": "moon tides", "documents": TEXTS, **fields})


RANKED = {"results": [{"index": 2, "relevance_score": 0.2}, {"index": 1, "relevance_score": 0.9}]}


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank"])
def test_documents_are_ranked_by_a_provider_that_has_the_endpoint(path):
    ranks = {"index": 1, "relevance_score": 0.9}, {"index": 2, "relevance_score": 0.2}
    with (
        two_servers(UNAVAILABLE, RANKED) as (_, one, two),
        running_gateway(config=configured(one, two, ("one/r", "two/r"))) as gateway,
    ):
        documents = [{"text": text} for text in TEXTS]
        body = {"model": "e", "query": "moon tides", "documents": documents, "top_n": 2, "return_documents": True}
        answer = gateway.send(path, body)
        assert answer.body["results"] == [{**row, "document": {"text": TEXTS[row["index"]]}} for row in ranks]
        assert answer.headers["x-helmdeck-model"] == "two/r"
        assert "x-helmdeck-ranker" not in answer.headers
        (sent,) = two.requests
        assert (sent.path, sent.body) == (
            "/v1/rerank",
            {"model": "r", "query": "moon tides", "documents": TEXTS, "top_n": 2},
        )


@pytest.mark.parametrize(
    ("chain", "status"), [(["claude/r"], 200), (["local/lexical"], 200), (["down/r", "local/lexical"], 200), (["down/r"], 503)]
)  # fmt: skip
def test_documents_are_ranked_locally_where_no_provider_does_and_the_header_reports_it(chain, status):
    with chat_server(lambda _: UNAVAILABLE) as server:
        providers = {"down": upstream(server), "claude": upstream(server, "anthropic")}
        setup = {"providers": providers, "recovery": QUICK, "gateway": {"models": {"r": chain}}}
        with running_gateway(config=setup) as gateway:
            answer = rank(gateway)
            assert answer.status == status
            if status == 200:
                assert [row["index"] for row in answer.body["results"]] == [1, 2, 0]
                assert answer.body["results"][0]["relevance_score"] == 1.0
                assert (answer.headers["x-helmdeck-ranker"], answer.headers["x-helmdeck-model"]) == (
                    "lexical",
                    "local/lexical",
                )
            assert {request.path for request in server.requests} <= {"/v1/rerank"}


@pytest.mark.parametrize(
    "wrong", [{"results": []}, {"results": [{"index": 3, "relevance_score": 1}]}, {"results": [{"index": 0}]}, {"data": 1}]
)  # fmt: skip
def test_ranking_of_other_documents_is_a_failure(wrong):
    with (
        chat_server(lambda _: wrong) as server,
        running_gateway(config={"providers": {"up": upstream(server)}}) as gateway,
    ):
        error = rank(gateway, "up/r").body["error"]
        assert (error["sub_cause"], len(server.requests)) == ("wrong_shape", 1)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"query": " "}, "query"),
        ({"documents": []}, "documents"),
        ({"documents": ["a", 7]}, "documents[1]"),
        ({"documents": ["a"] * 10_001}, "documents"),
        ({"top_n": 0}, "top_n"),
        ({"model": None}, "model"),
    ],
)
def test_invalid_request_for_a_ranking_names_its_field(server, fields, param):
    with running_gateway(config={"providers": {"up": upstream(server)}}) as gateway:
        answer = rank(gateway, **{"model": "up/r", **fields})
        assert (answer.status, answer.body["error"]["param"]) == (400, param)


@pytest.mark.parametrize("chain", [["local/lexical"], ["down/r", "local/lexical"]])
def test_local_ranking_is_one_call_of_the_key_that_costs_nothing(chain):
    recorder = EventRecorder()
    with chat_server(lambda _: UNAVAILABLE) as server:
        setup = {"providers": {"down": upstream(server)}, "budgets": {"down/": PRICED}, "recovery": QUICK}
        setup["gateway"] = {"models": {"r": chain}}
        with keyed(setup, recorder, models=frozenset({"r"}), rate=1, day_nusd=10**9) as gateway:
            body = {"model": "r", "query": "moon", "documents": TEXTS}
            assert gateway.send("/v1/rerank", {**body, "model": "local/lexical"}).status == 403
            assert [gateway.send("/v1/rerank", body).status for _ in range(2)] == [200, 429]
            assert (gateway.usage.day.spent_nusd, gateway.usage.under_way) == (0, 0)
    (finished,) = recorder.of(CallFinished)
    assert (finished.model, finished.pack, finished.cost_usd) == ("local/lexical", "rerank", 0.0)


def test_ranking_provider_in_cooldown_is_not_called_while_the_documents_can_be_ranked_locally():
    with chat_server(lambda _: UNAVAILABLE) as server:
        setup = {"providers": {"down": upstream(server)}, "recovery": {**QUICK, "cool_down_after": 2}}
        setup["gateway"] = {"models": {"r": ["down/r", "local/lexical"]}}
        with running_gateway(config=setup) as gateway:
            assert [rank(gateway).status for _ in range(4)] == [200] * 4
            assert len(server.requests) == 2


def test_configuration_of_vectors_is_checked():
    with pytest.raises(ConfigError, match="modle"):
        GatewaySettings.read({"embeddings": {"up/e": {"modle": "e"}}})
