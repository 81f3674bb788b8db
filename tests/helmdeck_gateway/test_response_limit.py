"""Responses that are larger than ``max_response_bytes`` end with an error in the client's API."""

import pytest

from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer, chat_server
from tests.helmdeck_gateway.gateway_support import DIALECTS, FormatServer, running_gateway, upstream

LIMIT = 10_000
LONG = ScriptedAnswer(text="once upon a time " * 1_000)
ERROR_BYTES = 3_000
"""More than an error has."""


@pytest.fixture(scope="module")
def server():
    running = FormatServer(OPENAI_CHAT)
    yield running
    running.close()


@pytest.fixture(scope="module")
def gateway(server):
    config = {"providers": {"up": upstream(server)}, "gateway": {"max_response_bytes": LIMIT}}
    with running_gateway(config=config) as running:
        yield running


def send(gateway, name, **fields):
    dialect = DIALECTS[name]
    body = {"model": "up/m", **dialect.body("When is the tide?"), **fields}
    if not fields["stream"]:
        body.pop("stream_options", None)
    return gateway.send(dialect.path, body)


@pytest.mark.parametrize("name", DIALECTS)
def test_whole_response_above_the_limit_is_refused(gateway, server, name):
    server.answer = LONG
    answer = send(gateway, name, stream=False)
    assert (answer.status, answer.body["error"]["code"]) == (502, "response_too_large")
    assert "10,000 bytes" in answer.body["error"]["message"]
    assert answer.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("name", DIALECTS)
def test_stream_above_the_limit_ends_with_an_error_event(gateway, server, name):
    server.answer = LONG
    answer = send(gateway, name, stream=True)
    assert answer.status == 200
    (error,) = [each for each in answer.events if b"response_too_large" in str(each).encode()]
    assert error in answer.events[-2:]
    assert len(answer.raw) <= LIMIT + ERROR_BYTES


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", DIALECTS)
def test_response_below_the_limit_is_complete(gateway, server, name, stream):
    server.answer = ScriptedAnswer(text="once upon a time")
    answer = send(gateway, name, stream=stream)
    dialect = DIALECTS[name]
    read = dialect.streamed(answer.events) if stream else dialect.whole(answer.body)
    assert (answer.status, read.text, read.finish) == (200, "once upon a time", dialect.ends[0])


def test_vectors_above_the_limit_are_refused():
    with chat_server(lambda _: {"data": [{"index": 0, "embedding": [0.5] * LIMIT}]}) as server:
        config = {"providers": {"up": upstream(server)}, "gateway": {"max_response_bytes": LIMIT}}
        with running_gateway(config=config) as gateway:
            answer = gateway.send("/v1/embeddings", {"model": "up/e", "input": "x"})
    assert (answer.status, answer.body["error"]["code"]) == (502, "response_too_large")
