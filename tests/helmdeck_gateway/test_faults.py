"""Failing upstreams behind the gateway: every request ends completely or with a typed error, in time, and nothing twice."""

import asyncio
import json

import pytest

from benchmarks.faults.cases import CASES, FIRST_KEY, SECOND_KEY
from benchmarks.faults.upstream import ANSWER, Upstream
from helmdeck_gateway import Gateway
from helmdeck_testing import make_deck
from tests.helmdeck_gateway.gateway_support import DIALECTS, events_of
from tests.unknown_host_support import unknown_host as unknown_host

LIMIT_S = 30.0

FEW = ("none", "silent", "reset in mid-stream", "error event in mid-stream", "both 503", "both break in mid-stream")
WAYS = [("chat", stream, case) for stream in (False, True) for case in CASES]
WAYS += [(name, True, case) for name in ("messages", "responses") for case in FEW]


def config(one, two, *, is_native=False, has_keys=False, case=CASES["none"]):
    """Default settings, and one fallback."""
    first = "vllm" if is_native else "primary"
    providers = {
        first: {"kind": "vllm" if is_native else "openai", "base_url": case.base_url(one.base_url)},
        "backup": {"kind": "openai", "base_url": two.base_url},
    }
    if has_keys:
        providers[first] |= {"api_keys": ["env:KEY_ONE", "env:KEY_TWO"], "routing": "in-order"}
    return {
        "providers": providers,
        "fallback": {"": ["backup/m"]} if case.fallback else {},
        "events": {"sinks": ["gateway"]},
        "gateway": {"models": {"m": f"{first}/m"}},
    }


async def request(app, path, body, headers=()):
    """Send a request without a socket; return status, headers and body."""
    data = json.dumps(body).encode()
    sent, received = [], [{"type": "http.request", "body": data, "more_body": False}]

    async def receive():
        return received.pop() if received else await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "headers": list(headers),
        "query_string": b"",
        "root_path": "",
    }
    await app(scope, receive, send)
    start, *parts = sent
    assert [part.get("more_body", False) for part in parts] == [True] * (len(parts) - 1) + [False]
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], headers, b"".join(part["body"] for part in parts)


@pytest.mark.usefixtures("unknown_host")
@pytest.mark.parametrize(("name", "stream", "case"), WAYS)
def test_request_ends_completely_or_with_a_typed_error(virtual_time_with_sockets, monkeypatch, case, name, stream):
    case, dialect = CASES[case], DIALECTS[name]
    for variable, key in {"KEY_ONE": FIRST_KEY, "KEY_TWO": SECOND_KEY}.items():
        monkeypatch.setenv(variable, key)
    body = {"model": "m", "stream": stream, **dialect.body("When is the tide?" + " " * case.size)}
    body.pop("max_tokens", None)
    if not stream:
        body.pop("stream_options")

    async def run():
        bad = {FIRST_KEY: case.key_fault} if case.key_fault else {}
        status = case.prefill_status or 200
        async with (
            Upstream(case.primary, prefill_status=status, key_faults=bad) as one,
            Upstream(case.fallback or ("good",)) as two,
        ):
            is_native = case.prefill_status is not None
            settings = config(one, two, is_native=is_native, has_keys=bool(case.key_fault), case=case)
            async with make_deck(config=settings) as deck:
                app = Gateway(deck).app
                for _ in range(case.calls):
                    outcome = await request(app, dialect.path, body)
            assert not case.is_home or not two.requests
            assert one.first_pause_s >= case.least_s
            return outcome, len(one.requests) + len(two.requests)

    (status, headers, raw), count = asyncio.run(run())
    assert virtual_time_with_sockets.passed_s <= LIMIT_S
    assert count <= 1 + case.extra
    assert headers["x-helmdeck-call-id"]
    is_stream = headers["content-type"].startswith("text/event-stream")
    if case.is_answered:
        assert status == 200
        events = list(events_of(raw)) if is_stream else []
        read = dialect.streamed(events) if is_stream else dialect.whole(json.loads(raw))
        assert (read.text, read.finish) == (ANSWER, dialect.ends[0])
    elif is_stream:
        last = [event for event in events_of(raw) if event != "[DONE]"][-1]
        assert (last.get("error") or last["response"]["error"])["code"]
    else:
        error = json.loads(raw)["error"]
        assert status >= 500 and error["code"] and error["next_action"]


@pytest.mark.parametrize("name", DIALECTS)
def test_silent_upstream_gets_keep_alives_and_the_headers(virtual_time_with_sockets, name):
    dialect = DIALECTS[name]
    body = {"model": "alone/m", "stream": True, **dialect.body("When is the tide?")}

    async def run():
        async with Upstream(["silent"]) as one:
            settings = {
                "providers": {"alone": {"kind": "openai", "base_url": one.base_url, "first_token_timeout_s": 25.0}},
                "recovery": {"max_attempts": 1},
            }
            async with make_deck(config=settings) as deck:
                return await request(Gateway(deck).app, dialect.path, body)

    status, _, raw = asyncio.run(run())
    assert status == 200
    pings = raw.count(b"event: ping") if name == "messages" else raw.count(b": keep-alive")
    assert pings == 2
    last = [event for event in events_of(raw) if event != "[DONE]"][-1]
    assert (last.get("error") or last["response"]["error"])["code"] == "likely_timeout"


@pytest.mark.parametrize(
    ("headers", "ends_s"),
    [
        ([(b"x-stainless-read-timeout", b"10")], 9.5),
        ([(b"x-stainless-timeout", b"20"), (b"x-stainless-read-timeout", b"600")], 19.0),
        ([(b"x-stainless-timeout", b"600")], 25.0),
        ([(b"x-stainless-timeout", b"soon")], 25.0),
        ([(b"x-stainless-timeout", b"nan"), (b"x-stainless-read-timeout", b"-1")], 25.0),
    ],
)
def test_whole_response_ends_before_the_timeout_of_the_client(virtual_time_with_sockets, headers, ends_s):
    async def run():
        async with Upstream(["silent"]) as one:
            settings = {
                "providers": {"alone": {"kind": "openai", "base_url": one.base_url}},
                "recovery": {"deadline_s": 25.0},
            }
            async with make_deck(config=settings) as deck:
                body = {"model": "alone/m", "messages": [{"role": "user", "content": "When is the tide?"}]}
                return await request(Gateway(deck).app, "/v1/chat/completions", body, headers)

    status, _, raw = asyncio.run(run())
    assert (status, json.loads(raw)["error"]["cause"]) == (504, "likely_timeout")
    assert virtual_time_with_sockets.passed_s == pytest.approx(ends_s, abs=0.5)


@pytest.mark.parametrize(
    ("fault", "headers"),
    [
        ("503", {"retry-after": "8", "x-should-retry": "false"}),
        ("503, Retry-After 60", {"retry-after": "60", "x-should-retry": "true"}),
        ("429, Retry-After 60", {"retry-after": "60", "x-should-retry": "true"}),
        ("429, Retry-After 1.5 s", {"retry-after": "2", "retry-after-ms": "1500", "x-should-retry": "true"}),
    ],
)
def test_error_has_the_time_of_the_next_request(virtual_time_with_sockets, fault, headers):
    async def run():
        async with Upstream([fault]) as one:
            settings = {
                "providers": {"alone": {"kind": "openai", "base_url": one.base_url}},
                "recovery": {"max_attempts": 1},
            }
            async with make_deck(config=settings) as deck:
                body = {"model": "alone/m", "messages": [{"role": "user", "content": "When is the tide?"}]}
                return await request(Gateway(deck).app, "/v1/chat/completions", body)

    _, found, _ = asyncio.run(run())
    assert {
        name: found.get(name) for name in ("retry-after", "retry-after-ms", "x-should-retry") if name in found
    } == headers
