"""Requests that are malformed, or have strings and numbers that no client sends: always answered, never with an internal error."""

import json

import pytest

from helmdeck_core import InvalidRequest, ModelId
from helmdeck_gateway.calls.stream_out import raw_headers
from tests.helmdeck_gateway.gateway_key_support import config, keyed
from tests.helmdeck_gateway.gateway_support import DIALECTS, running_gateway, upstream

PATHS = {
    "/v1/chat/completions": {"messages": [{"role": "user", "content": "@"}]},
    "/v1/messages": {"messages": [{"role": "user", "content": "@"}], "max_tokens": 9},
    "/v1/messages/count_tokens": {"messages": [{"role": "user", "content": "@"}]},
    "/v1/responses": {"input": "@"},
    "/v1/embeddings": {"input": "@"},
}


@pytest.fixture(scope="module")
def gateway(server):
    with running_gateway(config={"providers": {"up": upstream(server)}}) as running:
        yield running


def body(path, text=b"hi", model="up/m", more=""):
    data = json.dumps({"model": model, **PATHS[path]}).encode().replace(b"@", text)
    return data[:-1] + more.encode() + b"}"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"\xff\xfe", "is not valid UTF-8: byte 0xff"),
        (b"\xed\xa0\x80", "is not valid UTF-8: byte 0xed"),
        (b"\\ud800", "is not valid JSON"),
        (b"\0", "is not valid JSON"),
    ],
)
def test_text_that_is_no_unicode_is_refused(gateway, server, path, text, problem):
    server.requests.clear()
    answer = gateway.send(path, body(path, text))
    assert (answer.status, answer.body["error"]["type"]) == (400, "invalid_request_error")
    assert problem in answer.body["error"]["message"]
    assert server.requests == []


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "field", ["1e400", "-1e400", "[1e400]", "NaN", "9" * 5_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000]
)
def test_numbers_and_depths_that_json_cannot_hold_are_refused(gateway, path, field):
    answer = gateway.send(path, body(path, more=f', "metadata": {field}'))
    assert (answer.status, answer.body["error"]["type"]) == (400, "invalid_request_error")


@pytest.mark.parametrize("name", DIALECTS)
def test_number_beyond_64_bits_is_no_internal_error(gateway, name):
    dialect = DIALECTS[name]
    fields = {"metadata": {"a": 2**70}, "seed": 2**70}
    assert gateway.send(dialect.path, {"model": "up/m", **dialect.body("hi"), **fields}).status == 200


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("most", [10**400, 2**63, 0, -1], ids=["10**400", "2**63", "0", "-1"])
def test_output_limit_that_is_no_count_is_refused(server, name, most):
    dialect = DIALECTS[name]
    field = "max_output_tokens" if name == "responses" else "max_tokens"
    with keyed(config(server), day_nusd=10**9) as running:
        answer = running.send(dialect.path, {"model": "up/m", **dialect.body("hi"), field: most})
    assert (answer.status, answer.body["error"]["param"] if name != "messages" else field) == (400, field)


@pytest.mark.parametrize("path", [path for path in PATHS if "count" not in path])
@pytest.mark.parametrize("name", ["up/a\0b", "up/a\r\nx-evil: 1", "up/\x1b[31m", "up/" + "m" * 600])
def test_model_name_that_cannot_be_one_is_refused_before_a_call(gateway, server, path, name):
    server.requests.clear()
    answer = gateway.send(path, body(path, model=name))
    assert (answer.status, answer.body["error"]["type"]) == (400, "invalid_request_error")
    assert len(answer.body["error"]["message"]) < 200
    assert server.requests == []


@pytest.mark.parametrize("name", ["up/a\0b", "up/" + "m" * 100_000])
def test_model_id_that_cannot_be_one_is_refused_without_repeating_it(name):
    with pytest.raises(InvalidRequest) as caught:
        ModelId.parse(name)
    assert len(str(caught.value)) < 400


def test_control_characters_end_no_header():
    assert raw_headers({"x-a": "one\r\nx-b: two\0\x7f", "x-c": "ü"}) == [
        (b"x-a", b"one??x-b: two??"),
        (b"x-c", b"\xfc"),
    ]


def test_field_whose_name_has_control_characters_is_reported_as_dropped(gateway):
    dialect = DIALECTS["messages"]
    answer = gateway.send(dialect.path, {"model": "up/m", **dialect.body("hi"), "a\0\r\nb": 1})
    assert (answer.status, answer.headers["x-helmdeck-dropped"]) == (200, "a?  b")
