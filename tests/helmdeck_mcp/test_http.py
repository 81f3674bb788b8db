"""The HTTP endpoint of the MCP server: callers, refusals and limits, over real sockets."""

import asyncio
import http.client
import json
import socket
import threading
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest

from helmdeck_cli import listen
from helmdeck_core.cli import UsageError
from helmdeck_mcp.server.guard import Guard
from helmdeck_mcp.server.limits import MAX_BUCKETS, HttpLimits, RateLimiter
from helmdeck_mcp.server.tokens import Tokens
from helmdeck_mcp.server.transports import HttpEndpoint
from tests.helmdeck_mcp.mcp_support import Probe, client_of, serving
from tests.virtual_time_support import virtual_time

__all__ = ("virtual_time",)

ALICE, BOB = "alice-token-0123456789", "bob-token-0123456789"
ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(scope="module")
def tokens(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokens")
    for name, token in (("alice", ALICE), ("bob", BOB)):
        (folder / name).write_text(f"{token}\n")
    return Tokens.read([f"{name}=file:{folder / name}" for name in ("alice", "bob")])


@pytest.fixture(scope="module")
def probe():
    return Probe()


@pytest.fixture(scope="module")
def server(probe, tokens):
    """A server with two callers; yields its base URL."""
    limits = HttpLimits(max_body_bytes=10_000, body_s=0.4, rate=1_000, max_calls=4)
    with serving(probe.deck(), HttpEndpoint(port=0, tokens=tokens, limits=limits)) as url:
        yield url


def body_of(method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}})


def headers_of(method, name="", token=ALICE):
    era = {"mcp-protocol-version": "2026-07-28", "mcp-method": method, **({"mcp-name": name} if name else {})}
    return {**JSON, **era, **({"authorization": f"Bearer {token}"} if token else {})}


def post(url, body, headers):
    """Send one request on a connection of its own; return the status, the headers and the decoded body."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    try:
        connection.request("POST", parts.path or "/mcp", body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    return answer.status, dict(answer.getheaders()), json.loads(text) if text.startswith("{") else text


async def connected(url, token, era, use):
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers={"authorization": f"Bearer {token}"}, timeout=60) as http_client,
        client_of(streamable_http_client(f"{url}/mcp", http_client=http_client), era) as client,
    ):
        return await use(client)


# -- callers ---------------------------------------------------------------------------------------------------


@ERAS
def test_caller_comes_from_the_name_of_the_token(server, era):
    async def use(client):
        return (await client.call_tool("probe__who", {})).structured_content["caller"]

    async def both():
        return await asyncio.gather(connected(server, ALICE, era, use), connected(server, BOB, era, use))

    assert asyncio.run(both()) == ["alice", "bob"]


def test_answers_for_callers_with_tokens_are_not_for_shared_caches(server):
    async def use(client):
        return (await client.read_resource("helmdeck://models")).cache_scope

    assert asyncio.run(connected(server, ALICE, "auto", use)) == "private"


def test_session_of_one_caller_does_not_exist_for_another(server):
    start = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    opening = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": start})
    own = {**JSON, "authorization": f"Bearer {ALICE}"}
    status, headers, _ = post(server, opening, own)
    session = {**own, "mcp-session-id": headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    listing = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    assert status == 200
    assert post(server, listing, {**session, "authorization": f"Bearer {BOB}"})[0] == 404
    assert post(server, listing, session)[0] == 200


# -- refusals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "evil.example", "authorization": ""}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://localhost.evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer "}, 401),
        ({"authorization": "Bearer wrong-token-0123456789"}, 401),
        ({"authorization": f"Basic {ALICE}"}, 401),
        ({"authorization": f"Bearer {ALICE}x"}, 401),
        ({"origin": "http://localhost:3000"}, 200),
        ({"authorization": f"bearer {ALICE}"}, 200),
    ],
)
def test_foreign_host_origin_and_token_are_refused(server, changed, status):
    found, headers, body = post(server, body_of("tools/list"), {**headers_of("tools/list"), **changed})
    assert found == status
    if status != 200:
        assert body["error"]["message"] and ALICE not in json.dumps([body, headers])
    if status == 401:
        assert headers["www-authenticate"].startswith('Bearer realm="helmdeck"')


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ("{", 400, -32700),
        ("[]", 400, -32600),
        ('{"jsonrpc": "2.0", "id": 1}', 400, -32600),
        ("[" * 5_000, 400, -32700),
        ("\xff\xfe", 400, -32700),
        (body_of("no/such/method"), 404, -32601),
        ('{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}', 400, -32602),
    ],
)
def test_malformed_requests_are_protocol_errors(server, body, status, code):
    method = "no/such/method" if "no/such" in body else "tools/list"
    found, _, answer = post(server, body.encode("latin-1"), headers_of(method))
    assert (found, answer["error"]["code"]) == (status, code)


def test_body_above_the_limit_is_refused_with_a_readable_answer(server):
    big = body_of("tools/list", padding="x" * 3_000_000)
    status, _, answer = post(server, big, headers_of("tools/list"))
    assert status == 413 and "10,000 bytes" in answer["error"]["message"]


def test_body_above_the_limit_without_a_length_is_refused(server):
    with httpx2.Client() as client:
        chunks = (b"x" * 4_000 for _ in range(20))
        assert client.post(f"{server}/mcp", headers=headers_of("tools/list"), content=chunks).status_code == 413


def test_body_that_never_arrives_is_refused(server):
    parts = urlsplit(server)
    with socket.create_connection((parts.hostname, parts.port), 20) as connection:
        lines = {**headers_of("tools/list"), "host": "localhost", "content-length": "100"}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n{{".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 408")


def test_other_paths_and_methods_are_refused(server):
    assert post(f"{server}/other", "{}", headers_of("tools/list"))[0] == 404
    with httpx2.Client() as client:
        answer = client.put(f"{server}/mcp", headers=headers_of("tools/list"), content="{}")
    assert answer.status_code == 405


def test_calls_of_one_caller_beyond_its_share_are_refused_and_others_are_served(server, probe):
    async def main():
        headers = headers_of("tools/call", "probe__wait")
        async with httpx2.AsyncClient(timeout=60) as client:

            async def wait():
                return await client.post(
                    f"{server}/mcp",
                    headers=headers,
                    content=body_of("tools/call", name="probe__wait", arguments={"seconds": 3}),
                )

            waiting = [asyncio.create_task(wait()) for _ in range(3)]
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            refused = done.pop().result()
            bob = await client.post(
                f"{server}/mcp", headers=headers_of("tools/list", token=BOB), content=body_of("tools/list")
            )
            for task in waiting:
                task.cancel()
            return refused, bob

    refused, bob = asyncio.run(main())
    assert (refused.status_code, refused.headers["retry-after"], bob.status_code) == (503, "1", 200)


@ERAS
def test_cancelled_call_reaches_the_pack(server, tokens, era):
    probe = Probe()

    async def use(client):
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "probe__wait", {})
            await asyncio.to_thread(probe.started.wait, 10)
            group.cancel_scope.cancel()
        return await asyncio.to_thread(probe.cancelled.wait, 10)

    with serving(probe.deck(), HttpEndpoint(port=0, tokens=tokens)) as url:
        assert asyncio.run(connected(url, ALICE, era, use))


def test_client_that_does_not_read_is_dropped_and_large_answers_are_sent_in_parts(virtual_time):
    parts, ended = [], []

    async def app(scope, receive, send):
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"x" * 10_000_000, "more_body": False})
        finally:
            ended.append(True)

    async def receive():
        return {"type": "http.request", "body": b""}

    async def send(message):
        parts.append(message)
        if len(parts) == 10:
            await asyncio.sleep(3_600)

    guard = Guard(app, tokens=Tokens({}), limits=HttpLimits(send_s=20), hosts=frozenset({"localhost"}))
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"host", b"localhost")]}
    asyncio.run(guard(scope, receive, send))
    assert ended and virtual_time.passed_s == 20
    assert {len(part["body"]) for part in parts[1:]} == {65_536} and all(part["more_body"] for part in parts[1:])


def test_request_that_takes_too_long_is_answered(virtual_time):
    sent = []

    async def app(scope, receive, send):
        await asyncio.sleep(3_600)

    async def receive():
        return {"type": "http.request", "body": b""}

    async def send(message):
        sent.append(message)

    guard = Guard(app, tokens=Tokens({}), limits=HttpLimits(call_s=60), hosts=frozenset({"localhost"}))
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"host", b"localhost")]}
    asyncio.run(guard(scope, receive, send))
    assert sent[0]["status"] == 504 and virtual_time.passed_s < 120


def test_many_clients_at_once_are_served_or_told_to_come_back(server):
    statuses = []

    def call():
        statuses.append(post(server, body_of("tools/list"), headers_of("tools/list"))[0])

    threads = [threading.Thread(target=call) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(statuses) == 40 and {*statuses} <= {200, 503} and 200 in statuses
    assert post(server, body_of("tools/list"), headers_of("tools/list"))[0] == 200


def test_web_pages_of_allowed_origins_can_read_answers_and_no_others(tokens):
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    origins = frozenset({"https://app.example"})
    guard = Guard(app, tokens=tokens, limits=HttpLimits(), hosts=frozenset({"localhost"}), origins=origins)

    def answer(method, origin, *headers):
        sent = []

        async def receive():
            return {"type": "http.request", "body": b""}

        async def send(message):
            sent.append(message)

        pairs = [(b"host", b"localhost"), (b"origin", origin), *headers]
        asyncio.run(guard({"type": "http", "method": method, "path": "/mcp", "headers": pairs}, receive, send))
        return sent[0]["status"], dict(sent[0]["headers"])

    token = (b"authorization", f"Bearer {ALICE}".encode())
    status, headers = answer("OPTIONS", b"https://app.example")
    assert status == 204 and b"authorization" in headers[b"access-control-allow-headers"]
    for status, found in (
        (200, answer("POST", b"https://app.example", token)),
        (401, answer("POST", b"https://app.example")),
    ):
        assert found[0] == status and found[1][b"access-control-allow-origin"] == b"https://app.example"
    assert answer("OPTIONS", b"https://evil.example")[0] == 403
    status, headers = answer("POST", b"http://localhost:3000", token)
    assert status == 200 and b"access-control-allow-origin" not in headers


# -- the rate --------------------------------------------------------------------------------------------------


def test_rate_limiter_allows_a_burst_and_then_the_rate():
    now = [0.0]
    limiter = RateLimiter(2.0, 3, lambda: now[0])
    assert [limiter.wait_s("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert limiter.wait_s("b") == 0
    now[0] = 0.5
    assert [limiter.wait_s("a"), limiter.wait_s("a")] == [0, 0.5]


def test_rate_limiter_remembers_a_bounded_number_of_keys():
    limiter = RateLimiter(1.0, 1, lambda: 0.0)
    for number in range(3 * MAX_BUCKETS):
        limiter.wait_s(str(number))
    assert len(limiter._buckets) == MAX_BUCKETS


def test_requests_above_the_rate_are_refused_per_caller_and_guesses_per_address(tokens):
    now = [0.0]

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    guard = Guard(app, tokens=tokens, limits=HttpLimits(rate=0.5), hosts=frozenset({"localhost"}), clock=lambda: now[0])

    def status(token):
        sent = []

        async def receive():
            return {"type": "http.request", "body": b""}

        async def send(message):
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"authorization", f"Bearer {token}".encode())]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers, "client": ("10.0.0.1", 1)}
        asyncio.run(guard(scope, receive, send))
        return sent[0]["status"], dict(sent[0]["headers"]).get(b"retry-after")

    assert [status(ALICE)[0] for _ in range(5)] == [200] * 5
    assert status(ALICE) == (429, b"2")
    assert status(BOB)[0] == 200
    assert [status("guess")[0] for _ in range(6)] == [401] * 5 + [429]
    now[0] = 2.0
    assert status(ALICE)[0] == 200


def test_headers_that_are_sent_twice_are_refused(tokens):
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": b""}

    guard = Guard(send, tokens=tokens, limits=HttpLimits(), hosts=frozenset({"localhost"}))
    headers = [(b"host", b"localhost"), (b"host", b"localhost")]
    asyncio.run(guard({"type": "http", "method": "POST", "path": "/mcp", "headers": headers}, receive, send))
    assert sent[0]["status"] == 421


# -- endpoints and tokens --------------------------------------------------------------------------------------


def test_other_machines_need_tokens_and_a_name(tokens):
    with pytest.raises(UsageError, match="callers need tokens"):
        HttpEndpoint(host="0.0.0.0").check()
    with pytest.raises(UsageError, match="--allow-host"):
        HttpEndpoint(host="0.0.0.0", tokens=tokens).check()
    HttpEndpoint(host="0.0.0.0", tokens=tokens, hosts=frozenset({"deck.example"})).check()
    HttpEndpoint(host="::1").check()


def test_port_in_use_is_a_usage_error():
    with listen("127.0.0.1", 0) as listener, pytest.raises(UsageError, match="--port chooses another"):
        listen("127.0.0.1", listener.getsockname()[1])


def test_every_mistake_in_the_tokens_is_reported_without_a_token(monkeypatch, tmp_path):
    monkeypatch.setenv("SHORT", "short")
    monkeypatch.setenv("SAME", ALICE)
    texts = [
        "a=plain-secret-0123456789", "b=env:NOT_SET", "c=env:SHORT", "d=sha256:12", "no name=env:X",
        "e=env:SAME", "f=env:SAME", "e=env:SAME", f"g=file:{tmp_path / 'none'}",
    ]  # fmt: skip
    with pytest.raises(UsageError) as caught:
        Tokens.read(texts)
    message = str(caught.value)
    for part in ("'a': the value is not a reference", "NOT_SET is not set", "fewer than 16", "64 hexadecimal", "token 5",
                 "'f': another caller has the same token", "'e' is given twice", "cannot be read"):  # fmt: skip
        assert part in message
    assert "plain-secret" not in message and ALICE not in message


def test_token_is_accepted_by_its_hash_and_never_shown():
    import hashlib

    tokens = Tokens.read([f"ci={'sha256:' + hashlib.sha256(ALICE.encode()).hexdigest()}"])
    assert tokens.caller(f"Bearer {ALICE}") == "ci" and tokens.caller(f"Bearer {BOB}") is None
    assert repr(tokens) == "Tokens(ci)"
