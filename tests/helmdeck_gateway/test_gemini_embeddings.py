"""Google's embedContent and batchEmbedContents over the vectors of any provider."""

import pytest

from helmdeck_testing import chat_server
from tests.helmdeck_gateway.gateway_key_support import keyed
from tests.helmdeck_gateway.gateway_support import running_gateway, upstream


def vectors(body):
    rows = [{"index": index, "embedding": [float(index), 0.5]} for index, _ in enumerate(body["input"])]
    return {"object": "list", "data": rows[::-1], "usage": {"prompt_tokens": 2}}


@pytest.fixture(scope="module")
def server():
    with chat_server(vectors) as running:
        yield running


@pytest.fixture(scope="module")
def gateway(server):
    with running_gateway(config={"providers": {"up": upstream(server)}}) as running:
        yield running


def content(*texts):
    return {"content": {"parts": [{"text": text} for text in texts]}}


def send(gateway, method, body):
    return gateway.send(f"/v1beta/models/up/e:{method}", body)


def test_one_text_has_one_vector(gateway, server):
    answer = send(gateway, "embedContent", {**content("tide", "moon"), "output_dimensionality": 2})
    assert answer.body["embedding"] == {"values": [0.0, 0.5]}
    assert server.requests[-1].body == {
        "model": "e", "input": ["tide\nmoon"], "encoding_format": "float", "dimensions": 2,
    }  # fmt: skip


def test_several_texts_have_vectors_in_their_order_and_ignored_fields_are_named(gateway):
    requests = [{"model": "models/up/e", "taskType": "RETRIEVAL_QUERY", **content(text)} for text in ("tide", "moon")]
    answer = send(gateway, "batchEmbedContents", {"requests": requests})
    assert answer.body["embeddings"] == [{"values": [0.0, 0.5]}, {"values": [1.0, 0.5]}]
    assert answer.headers["x-helmdeck-dropped"] == "taskType"


@pytest.mark.parametrize(
    ("method", "body", "param"),
    [
        ("embedContent", {}, "content"),
        ("embedContent", {"content": {"parts": []}}, "content.parts"),
        ("embedContent", {"content": {"parts": [{"inlineData": {}}]}}, "content.parts[0].text"),
        ("batchEmbedContents", {"requests": []}, "requests"),
        ("batchEmbedContents", {"requests": [{}]}, "requests[0].content"),
        (
            "batchEmbedContents",
            {"requests": [content("a"), {**content("b"), "outputDimensionality": 2}]},
            "requests[].outputDimensionality",
        ),
    ],
)
def test_invalid_request_names_its_field_in_googles_form(gateway, method, body, param):
    error = send(gateway, method, body).body["error"]
    assert (error["code"], error["status"]) == (400, "INVALID_ARGUMENT")
    assert error["details"][0]["metadata"]["param"] == param


def test_key_that_may_not_request_vectors_is_refused(server):
    with keyed({"providers": {"up": upstream(server)}}, dialects=("gemini",)) as gateway:
        answer = gateway.send("/v1beta/models/up/e:embedContent", content("tide"))
        assert (answer.status, answer.body["error"]["status"]) == (403, "PERMISSION_DENIED")


def test_model_without_vectors_is_an_error_in_googles_form(gateway):
    error = gateway.send("/v1beta/models/nowhere/e:embedContent", content("tide")).body["error"]
    assert (error["code"], error["status"]) == (404, "NOT_FOUND")
