"""What clients can do to a gateway: slow heads and bodies, oversized and deep JSON, repeated headers, idle connections."""

import asyncio
import contextlib
import json
import socket

import pytest

from helmdeck_gateway import Gateway, GatewaySettings
from helmdeck_testing import ScriptedAnswer, make_deck
from tests.helmdeck_gateway.gateway_support import DIALECTS, AppRequest, running_gateway, upstream

BODY = json.dumps({"model": "up/m", "messages": [{"role": "user", "content": "hi"}]}).encode()
CHUNKED = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def gateway(server):
    providers = {"up": upstream(server), "small": upstream(server, max_response_bytes=900)}
    config = {"providers": providers, "gateway": {"max_request_bytes": 200_000}, "recovery": {"max_attempts": 1}}
    with running_gateway(config=config) as running:
        yield running


@contextlib.contextmanager
def connected(gateway):
    with socket.create_connection(("127.0.0.1", int(gateway.url.rpartition(":")[2])), timeout=60) as client:
        yield client


def status_of(client):
    head = b""
    while b"\r\n" not in head:
        part = client.recv(4_096)
        if not part:
            return None
        head += part
    return int(head.split()[1])


def post(headers, body=BODY):
    lines = [b"POST /v1/chat/completions HTTP/1.1", b"host: x", b"content-length: %d" % len(body), *headers]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def test_chunked_body_without_a_length_is_bounded(gateway):
    with connected(gateway) as client:
        client.sendall(CHUNKED)
        with contextlib.suppress(OSError):  # the gateway answers before the body is complete
            for _ in range(50):
                client.sendall(b"2000\r\n" + b" " * 0x2000 + b"\r\n")
        assert status_of(client) == 413


def test_chunked_body_within_the_limit_is_served(gateway):
    with connected(gateway) as client:
        client.sendall(CHUNKED + b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY))
        assert status_of(client) == 200


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("depth", [60, 900, 10_000])
def test_deep_json_is_answered_or_refused_and_never_an_internal_error(gateway, name, depth):
    dialect = DIALECTS[name]
    deep = "[" * depth + "]" * depth
    fields = {"chat": "messages", "messages": "messages", "responses": "input"}
    schema = '{"a":' * depth + "{}" + "}" * depth
    for body in (
        f'{{"model": "up/m", "{fields[name]}": {deep}}}',
        json.dumps({"model": "up/m", **dialect.body("hi")})[:-1] + f', "metadata": {deep}}}',
        json.dumps({"model": "up/m", **dialect.body("hi"), "tools": dialect.tools}).replace('{"type": "object"', f'{{"x": {schema}, "type": "object"'),
    ):  # fmt: skip
        answer = gateway.send(dialect.path, body.encode())
        assert answer.status in (200, 400), answer.body
        if answer.status == 400:
            assert answer.body["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    "headers",
    [
        [b"authorization: Bearer one", b"authorization: Bearer two"],
        [b"x-api-key: one", b"X-Api-Key: two"],
        [b"content-length: 3"],
        [b"transfer-encoding: gzip"],
    ],
)
def test_headers_that_a_proxy_may_have_read_otherwise_are_refused(gateway, headers):
    with connected(gateway) as client:
        client.sendall(post(headers))
        assert status_of(client) in (400, 501)


def test_chunked_request_with_a_length_smuggles_no_second_request(gateway, server):
    smuggled = b"0\r\n\r\nPOST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s" % (
        len(BODY),
        BODY,
    )
    server.requests.clear()
    with connected(gateway) as client:
        client.sendall(post([b"transfer-encoding: chunked"], smuggled))
        assert status_of(client) == 400
        client.settimeout(0.2)
        with contextlib.suppress(TimeoutError):
            while client.recv(65_536):
                pass
    assert len(server.requests) <= 1


def test_head_that_is_too_long_is_refused(gateway):
    with connected(gateway) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\nx-long: " + b"a" * 100_000)
        assert status_of(client) in (400, 431, None)


@pytest.mark.parametrize("stream", [False, True])
def test_response_of_a_provider_beyond_its_limit_is_an_error(gateway, server, stream):
    server.answer = ScriptedAnswer(text="many words " * 2_000)
    try:
        answer = gateway.chat("small/m", stream=stream)
    finally:
        server.answer = ScriptedAnswer(text="hello")
    error = (answer.events[-2] if answer.events else answer.body)["error"]
    assert (error["code"], error["sub_cause"]) == ("upstream_error", "too_large")


def test_many_idle_connections_delay_no_request(gateway):
    with contextlib.ExitStack() as stack:
        for _ in range(300):
            stack.enter_context(connected(gateway))
        assert gateway.chat().status == 200


def test_requests_beyond_the_limit_are_refused_with_the_time_to_wait(server):
    async def run():
        async with make_deck(config={"providers": {"up": upstream(server)}}) as deck:
            app = Gateway(deck, GatewaySettings(max_requests=2)).app
            sent = [AppRequest(app, "/v1/chat/completions", json.loads(BODY)).sent() for _ in range(5)]
            return sorted((each.status, each.headers.get("retry-after")) for each in await asyncio.gather(*sent))

    assert asyncio.run(run()) == [(200, None)] * 2 + [(429, "1")] * 3
