"""Keys, borders between callers, slow and idle clients."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import resource
import socket
import statistics
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.attacks.cases import Stage, Suite, Verdict, broken, degraded, held
from benchmarks.attacks.settings import BODY_S, HEADER_S, KEEP_ALIVE_S, Door, door, open_gateway
from benchmarks.attacks.victim import MAX_STALL_S, cli, create_key, polled

SUITE = Suite("door")
KEYS = "OWASP ASVS 5.0 V6, V9"
BORDERS = "OWASP ASVS 5.0 V8; OWASP API1:2023"
SLOW = "CWE-400; Slowloris"
BODY = json.dumps({"model": "up/ok", "messages": [{"role": "user", "content": "hi"}]}).encode()


# -- keys --------------------------------------------------------------------------------------------------------

HEADERS: dict[str, Any] = {
    "no key": lambda _: [],
    "a wrong key": lambda _: ["authorization: Bearer hd-000000000000-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
    "a wrong key as x-api-key": lambda _: ["x-api-key: hd-000000000000-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],
    "an empty bearer": lambda _: ["authorization: Bearer "],
    "an empty x-api-key": lambda _: ["x-api-key: "],
    "an empty x-api-key beside a wrong bearer": lambda _: ["x-api-key: ", "authorization: Bearer wrong"],
    "the id of a key with another secret": lambda d: [f"authorization: Bearer {d.ann[:16]}{'a' * (len(d.ann) - 16)}"],
    "the key without its last character": lambda d: [f"authorization: Bearer {d.ann[:-1]}"],
    "the key in upper case": lambda d: [f"authorization: Bearer {d.ann.upper()}"],
    "the key twice in one header": lambda d: [f"authorization: Bearer {d.ann}, Bearer {d.ann}"],
    "the header twice, valid first": lambda d: [f"authorization: Bearer {d.ann}", "authorization: Bearer wrong"],
    "the header twice, valid last": lambda d: ["authorization: Bearer wrong", f"authorization: Bearer {d.ann}"],
    "two kinds of headers with different keys": lambda d: [f"x-api-key: {d.bob}", f"authorization: Bearer {d.ann}"],
    "a valid key beside a wrong one of the other kind": lambda d: [
        f"x-api-key: {d.ann}",
        "authorization: Bearer wrong",
    ],
    "a key of 60,000 characters": lambda _: ["authorization: Bearer " + "a" * 60_000],
    "a key that is not ASCII": lambda _: ["authorization: Bearer schlüssel-€-\U0001f511"],
    "a key with a NUL at its end": lambda d: [f"authorization: Bearer {d.ann}\0"],
    "a key with a tab inside": lambda d: [f"authorization: Bearer {d.ann[:20]}\t{d.ann[20:]}"],
    "basic authentication with the key": lambda d: [
        "authorization: Basic " + base64.b64encode(f"ann:{d.ann}".encode()).decode()
    ],
    "a revoked key": lambda d: [f"authorization: Bearer {d.revoked}"],
    "an expired key": lambda d: [f"authorization: Bearer {d.expired}"],
    "the key in a cookie": lambda d: [f"cookie: authorization=Bearer {d.ann}; x-api-key={d.ann}"],
    "the key as proxy authorization": lambda d: [f"proxy-authorization: Bearer {d.ann}"],
    "a header that names another user": lambda _: [
        "x-helmdeck-caller: ann",
        "x-forwarded-user: ann",
        "remote-user: ann",
    ],
}
REFUSED = (400, 401, 403, 431)


def request_bytes(path: str, headers: Sequence[str], body: bytes = BODY) -> bytes:
    """A request in bytes."""
    lines = [
        f"POST {path} HTTP/1.1",
        "host: x",
        "content-type: application/json",
        f"content-length: {len(body)}",
        *headers,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8") + body


@SUITE.each(HEADERS, reference=KEYS)
def _key(stage: Stage, headers: Any) -> Verdict:
    at = stage.use(door)
    if headers is HEADERS["a revoked key"]:
        cli(at.victim.folder, "keys", "revoke", "revoked")
        time.sleep(2.5)  # running gateways look a key up every two seconds
    seen = []
    for path in ("/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings"):
        before = len(at.upstream.exchanges)
        reply = at.victim.raw(request_bytes(path, headers(at)), timeout_s=3.0, is_one=True)
        if (reply.statuses and reply.statuses[0] not in REFUSED) or len(at.upstream.exchanges) > before:
            return broken(
                f"{path} answered {reply.statuses} and called the provider {len(at.upstream.exchanges) - before} times"
            )
        seen.append(reply.statuses[0] if reply.statuses else 0)
    if not at.victim.is_serving(key=at.ann):
        return broken("another client is not served afterwards")
    return held(f"answered {', '.join(map(str, dict.fromkeys(seen)))} on four endpoints; the provider was not called")


@SUITE.case("the key as a query parameter", reference="OWASP ASVS 5.0 V14.2; RFC 6750 5.3")
def _query(stage: Stage) -> Verdict:
    at = stage.use(door)
    for name in ("key", "api_key", "api-key", "access_token"):
        reply = at.victim.send(f"/v1/chat/completions?{name}={at.ann}", BODY)
        if reply.status != 401:
            return broken(f"?{name}= was answered with {reply.status}")
    if at.ann in at.victim.log_text():
        return broken("the log shows the key")
    return held("answered 401; the log does not show the URL")


@SUITE.case("both kinds of headers accept the key", reference=KEYS)
def _both(stage: Stage) -> Verdict:
    at = stage.use(door)
    statuses = [at.victim.send(body=BODY, headers={n: v}).status for n, v in (
        ("authorization", f"Bearer {at.ann}"), ("authorization", f"bearer {at.ann}"), ("x-api-key", at.ann))]  # fmt: skip
    return held("200 for Bearer, bearer and x-api-key") if statuses == [200] * 3 else broken(f"statuses {statuses}")


@SUITE.case("timing of the comparison of keys", reference="CWE-208", deadline_s=60)
def _timing(stage: Stage) -> Verdict:
    at, rounds = stage.use(door), stage.sized(400, 150)
    early, late = f"hd-{'0' * 12}-{'a' * 43}", at.ann[:-1] + ("a" if at.ann[-1] != "a" else "b")
    times: dict[str, list[float]] = {early: [], late: []}
    with contextlib.closing(at.victim.connect()) as client:
        for key in (early, late) * rounds:
            data = request_bytes("/v1/chat/completions", [f"authorization: Bearer {key}"])
            start_s = time.perf_counter()
            try:
                client.sendall(data)
                reply = client.recv(65_536)
            except OSError:
                reply = b""
            if not reply or b"connection: close" in reply.lower():
                client.close()
                client = at.victim.connect()
            times[key].append(time.perf_counter() - start_s)
    first, second = times[early], times[late]
    later = sum(a > b for a in first for b in second) / (len(first) * len(second))
    text = (
        f"medians {statistics.median(first) * 1e6:.0f} and {statistics.median(second) * 1e6:.0f} µs; area {later:.2f}"
    )
    return held(f"a first and a last wrong character are alike: {text}") if 0.35 < later < 0.65 else degraded(text)


@SUITE.case("2,000 wrong keys in a row", reference="OWASP ASVS 5.0 V6.3", deadline_s=60)
def _guesses(stage: Stage) -> Verdict:
    at, count = stage.use(door), stage.sized(2_000, 500)
    memory = at.victim.memory_mb()

    async def guess() -> int:
        import aiohttp

        async with aiohttp.ClientSession() as session:
            refused = 0
            for number in range(count):
                headers = {"authorization": f"Bearer hd-{number:012x}-{'b' * 43}"}
                async with session.post(
                    f"http://127.0.0.1:{at.victim.port}/v1/chat/completions", data=BODY, headers=headers
                ) as r:
                    refused += r.status == 401
            return refused

    with polled(at.victim) as stall:
        refused = asyncio.run(guess())
    grown = at.victim.memory_mb() - memory
    if refused < count or grown > 50 or stall.seconds > MAX_STALL_S:
        return broken(f"{refused} of {count} refused, memory +{grown:.0f} MB, {stall}")
    return held(f"all {count:,} refused, memory +{grown:.0f} MB, {stall}; guesses are not slowed down")


# -- borders between callers ---------------------------------------------------------------------------------------


@SUITE.case("a stored response of another caller", reference=BORDERS)
def _responses(stage: Stage) -> Verdict:
    at = stage.use(door)
    made = at.victim.send("/v1/responses", {"model": "up/ok", "input": "my secret"}, key=at.ann)
    name = made.json["id"]
    read = at.victim.send(f"/v1/responses/{name}", method="GET", key=at.bob).status
    deleted = at.victim.send(f"/v1/responses/{name}", method="DELETE", key=at.bob).status
    before = len(at.upstream.exchanges)
    follow = at.victim.send("/v1/responses", {"model": "up/ok", "input": "?", "previous_response_id": name}, key=at.bob)
    own = at.victim.send(f"/v1/responses/{name}", method="GET", key=at.ann).status
    seen = [read, deleted, follow.status, own]
    if (seen[:3] != [404] * 3 and {*seen[:3]} - {400, 404}) or own != 200 or len(at.upstream.exchanges) > before:
        return broken(f"read {read}, deleted {deleted}, continued {follow.status}, owner afterwards {own}")
    return held(f"read {read}, deleted {deleted}, continued {follow.status}; the owner still reads it")


@SUITE.case("guessed ids of responses", reference=BORDERS)
def _guessed(stage: Stage) -> Verdict:
    at = stage.use(door)
    names = [at.victim.send("/v1/responses", {"model": "up/ok", "input": "x"}, key=at.ann).json["id"] for _ in range(8)]
    bodies = {name.partition("_")[2] for name in names}
    if min(map(len, bodies)) < 20 or len({body[:8] for body in bodies}) < 8:
        return broken(f"ids such as {names[:2]} can be guessed")
    return held(f"ids have {min(map(len, bodies))} characters that differ from the first on")


@SUITE.case("a model that the key may not use", reference=BORDERS)
def _models(stage: Stage) -> Verdict:
    at = stage.use(door)
    before = len(at.upstream.of("other"))
    statuses = {}
    for name in (
        "up/other",
        "UP/other",
        " up/other",
        "up//other",
        "up/ok,up/other",
        "up/ok\0",
        "helmdeck/plan",
        "local/lexical",
    ):
        statuses[name] = at.victim.chat(name, key=at.bob).status
    if 200 in statuses.values() or len(at.upstream.of("other")) > before:
        return broken(f"statuses {statuses}")
    return held(f"eight names answered {', '.join(map(str, sorted({*statuses.values()})))}")


@SUITE.case("the list of models of another key", reference=BORDERS)
def _listed(stage: Stage) -> Verdict:
    at = stage.use(door)
    rows = [row["id"] for row in at.victim.send("/v1/models", method="GET", key=at.bob).json["data"]]
    other = at.victim.send("/v1/models/up/other", method="GET", key=at.bob).status
    return held("shows its own models only") if {*rows} <= {"up/ok"} and other == 404 else broken(f"{rows}, {other}")


@SUITE.case("metrics with a client's key", reference=BORDERS)
def _metrics(stage: Stage) -> Verdict:
    at = stage.use(door)
    none, client = at.victim.send("/metrics", method="GET"), at.victim.send("/metrics", method="GET", key=at.ann)
    own = at.victim.send("/metrics", method="GET", key="metrics-key-of-the-operator")
    if (none.status, client.status, own.status) != (401, 401, 200):
        return broken(f"{none.status} without, {client.status} with a client's, {own.status} with its own key")
    return held("401 without its own key")


@SUITE.case("the operator's paths", reference=BORDERS)
def _paths(stage: Stage) -> Verdict:
    at, seen = stage.use(door), {}
    for path in ("/console", "/traces", "/v1/traces", "/history", "/v1/files", "/admin", "/keys", "/debug", "/.env",
                 "/helmdeck.toml", "/../helmdeck.toml", "/v1/models/../../helmdeck.toml", "/v1/models/%2e%2e%2fhelmdeck.toml",
                 "/static/..%5c..%5chelmdeck.toml"):  # fmt: skip
        reply = at.victim.send(path, method="GET", key=at.ann)
        seen[path] = reply.status
        if reply.status == 200 or b"base_url" in reply.body:
            return broken(f"{path} answered {reply.status}")
    return held(f"{len(seen)} paths answered 404; there is no console, and traces and keys are read by commands only")


@SUITE.case("a caller's name in the body or in headers", reference=BORDERS)
def _spoofed(stage: Stage) -> Verdict:
    at = stage.use(door)
    headers = {"x-helmdeck-caller": "ann", "x-forwarded-user": "ann"}
    at.victim.chat("up/ok", key=at.bob, headers=headers, user="ann", metadata={"caller": "ann", "user_id": "ann"})
    calls = cli(at.victim.folder, "keys", "calls", "ann", "--json").stdout.decode()
    own = json.loads(cli(at.victim.folder, "keys", "calls", "bob", "--json").stdout)
    is_own = any("up/ok" in json.dumps(row) for row in own["calls"]) if own else False
    count = len(json.loads(calls)["calls"]) if calls else 0
    made = sum(1 for each in at.upstream.exchanges if b"never" in each.head)
    return (
        held(f"counted for the key that was sent ({count} calls of the other one)")
        if is_own and not made
        else broken(calls[:200])
    )


@SUITE.case("a page in a browser posts to a gateway on loopback", reference="CWE-352; CVE-2024-28224")
def _browser(stage: Stage) -> Verdict:
    at = stage.use(open_gateway)
    before = len(at.upstream.exchanges)
    headers = {"origin": "https://evil.example", "content-type": "text/plain", "sec-fetch-site": "cross-site",
               "sec-fetch-mode": "no-cors"}  # fmt: skip
    reply = at.victim.send(body=BODY, headers=headers)
    calls = len(at.upstream.exchanges) - before
    allow = reply.headers.get("access-control-allow-origin")
    if allow:
        return broken(f"Access-Control-Allow-Origin: {allow}")
    if calls or reply.status == 200:
        return broken(f"answered {reply.status} and called the provider {calls} times without a key")
    return held(f"answered {reply.status}; the provider was not called")


@SUITE.case("DNS rebinding to a gateway on loopback", reference="CVE-2024-28224; CWE-350")
def _rebinding(stage: Stage) -> Verdict:
    at = stage.use(open_gateway)
    before, seen = len(at.upstream.exchanges), {}
    for host in ("evil.example:80", "evil.example"):
        data = request_bytes("/v1/chat/completions", []).replace(b"host: x", f"host: {host}".encode())
        reply = at.victim.raw(data, is_one=True)
        seen[host] = reply.statuses
    calls = len(at.upstream.exchanges) - before
    return broken(f"{seen}; the provider was called {calls} times") if calls else held(f"{seen}; no call")


# -- slow and idle clients -------------------------------------------------------------------------------------------


def _seconds_until_closed(client: socket.socket, data: bytes, pause_s: float, limit_s: float) -> tuple[float, bytes]:
    start_s, received = time.monotonic(), b""
    client.settimeout(pause_s)
    for byte in data:
        if time.monotonic() - start_s > limit_s:
            break
        with contextlib.suppress(TimeoutError):
            try:
                client.send(bytes([byte]))
                part = client.recv(4_096)
            except ConnectionError:
                part = b""
            if not part:
                return time.monotonic() - start_s, received
            received += part
    return limit_s, received


@SUITE.case("a head, one byte every 100 ms", reference=SLOW)
def _slow_head(stage: Stage) -> Verdict:
    at = stage.use(door)
    with contextlib.closing(at.victim.connect()) as client:
        seconds, _ = _seconds_until_closed(client, request_bytes("/v1/chat/completions", []) * 5, 0.1, 3 * HEADER_S)
    is_held = seconds < HEADER_S + 1.5 and at.victim.is_serving(key=at.ann)
    return (
        held(f"closed after {seconds:.1f} s of a limit of {HEADER_S:g} s")
        if is_held
        else broken(f"open for {seconds:.1f} s")
    )


@SUITE.case("a body, one byte every 100 ms", reference=SLOW)
def _slow_body(stage: Stage) -> Verdict:
    at = stage.use(door)
    with contextlib.closing(at.victim.connect()) as client:
        head = request_bytes("/v1/chat/completions", [f"authorization: Bearer {at.ann}"], b" " * 10_000)[:-10_000]
        client.sendall(head)
        seconds, received = _seconds_until_closed(client, b" " * 10_000, 0.1, 4 * BODY_S)
    text = f"{received[9:12].decode()} and closed after {seconds:.1f} s of a limit of {BODY_S:g} s"
    return held(text) if seconds < 2 * BODY_S and b" 408 " in received[:20] else broken(f"{text}: {received[:60]!r}")


@SUITE.case("a body, one byte every 100 ms, without a key", reference=SLOW)
def _slow_body_without_key(stage: Stage) -> Verdict:
    at = stage.use(door)
    with contextlib.closing(at.victim.connect()) as client:
        client.sendall(request_bytes("/v1/chat/completions", [], b" " * 10_000)[:-10_000])
        seconds, received = _seconds_until_closed(client, b" " * 10_000, 0.1, 4 * BODY_S)
    text = f"{received[9:12].decode()} and closed after {seconds:.1f} s"
    return held(text) if seconds < 2 * BODY_S and b" 401 " in received[:20] else broken(f"{text}: {received[:60]!r}")


@SUITE.case("an upload that continues after 401", reference="RFC 9112 9.6")
def _upload(stage: Stage) -> Verdict:
    return _upload_after(stage.use(door), "a wrong key", 5_000_000, 401)


@SUITE.case("an upload that continues after 413", reference="RFC 9112 9.6")
def _upload_large(stage: Stage) -> Verdict:
    return _upload_after(stage.use(door), None, 10**12, 413)


def _upload_after(at: Door, wrong: str | None, size: int, status: int) -> Verdict:
    key = "authorization: Bearer wrong" if wrong else f"authorization: Bearer {at.ann}"
    head = request_bytes("/v1/chat/completions", [key], b"").replace(b"content-length: 0", b"content-length: %d" % size)
    start_s, received, sent = time.monotonic(), b"", 0
    with contextlib.closing(at.victim.connect()) as client:
        client.sendall(head)
        client.settimeout(0.1)
        while time.monotonic() - start_s < 25:
            with contextlib.suppress(TimeoutError):
                try:
                    sent += client.send(b" " * 1_000)
                    part = client.recv(65_536)
                except ConnectionError:
                    break
                if not part:
                    break
                received += part
        seconds = time.monotonic() - start_s
    text = f"{received[9:12].decode() or 'no response'}, closed after {seconds:.1f} s"
    is_right = b" %d " % status in received[:20] or not received
    if not is_right or seconds > 10:
        return broken(text)
    return held(text) if received else degraded(f"{text}: the response was lost with the connection")


@SUITE.case("200 slow heads at once", reference=SLOW)
def _many_slow(stage: Stage) -> Verdict:
    at = stage.use(door)
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(contextlib.closing(at.victim.connect())).sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\n"
            )
        start_s = time.monotonic()
        is_serving = at.victim.is_serving(key=at.ann)
        seconds = time.monotonic() - start_s
    return (
        held(f"another client is served in {seconds:.2f} s")
        if is_serving and seconds < 2
        else broken(f"{seconds:.1f} s")
    )


@SUITE.case("10,000 idle connections", reference=SLOW, deadline_s=90)
def _idle(stage: Stage) -> Verdict:
    at, count = stage.use(door), stage.sized(10_000, 1_000)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count, memory = min(count, hard - 500), at.victim.memory_mb()
    clients: list[socket.socket] = []
    try:
        with polled(at.victim) as stall:
            clients.extend(at.victim.connect() for _ in range(count))
            is_serving = at.victim.is_serving(key=at.ann)
        grown = at.victim.memory_mb() - memory
        end_s = time.monotonic() + KEEP_ALIVE_S + 10
        while (gone := sum(_is_closed(client) for client in clients)) < count and time.monotonic() < end_s:
            time.sleep(0.5)
    finally:
        for client in clients:
            client.close()
    text = f"{count:,} connections, memory +{grown:.0f} MB, {stall}; {gone:,} closed after keep_alive_s"
    return held(text) if is_serving and stall.seconds < MAX_STALL_S and gone == count else broken(text)


def _is_closed(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@SUITE.case("a client that never reads a stream", reference=SLOW)
def _never_reads(stage: Stage) -> Verdict:
    at = stage.use(door)

    async def endless(exchange: Any) -> None:
        from benchmarks.attacks.hostile import chunk

        await exchange.start_events()
        for _ in range(100_000):
            await exchange.event(chunk("x" * 10_000))

    at.upstream.behaviours["endless"] = endless
    memory = at.victim.memory_mb()
    body = json.dumps({"model": "up/endless", "stream": True, "messages": [{"role": "user", "content": "x"}]}).encode()
    with contextlib.closing(at.victim.connect()) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.sendall(request_bytes("/v1/chat/completions", [f"authorization: Bearer {at.ann}"], body))
        end_s, most = time.monotonic() + 15, memory
        while time.monotonic() < end_s and not any(each.ended_s for each in at.upstream.of("endless")):
            most = max(most, at.victim.memory_mb())
            time.sleep(0.1)
    exchange = at.upstream.of("endless")[-1]
    text = f"provider read up to {exchange.sent / 1e6:.0f} MB, memory +{most - memory:.0f} MB"
    if most - memory > 100 or not at.victim.is_serving(key=at.ann):
        return broken(text)
    return held(text + ", and the call ended") if exchange.ended_s else broken(text + ", and the call never ended")


@SUITE.case("200 requests at once beyond max_requests of a key", reference="OWASP API4:2023")
def _concurrency(stage: Stage) -> Verdict:
    at = stage.use(door)
    key = create_key(at.victim.folder, "narrow", concurrency=4)
    now = most = 0

    async def slow(exchange: Any) -> None:
        nonlocal now, most
        from benchmarks.attacks.hostile import send_answer

        now += 1
        most = max(most, now)
        await asyncio.sleep(0.3)
        now -= 1
        await send_answer(exchange)

    at.upstream.behaviours["slow"] = slow

    async def run() -> list[int]:
        import aiohttp

        body = {"model": "up/slow", "messages": [{"role": "user", "content": "x"}]}
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def one() -> int:
                url = f"http://127.0.0.1:{at.victim.port}/v1/chat/completions"
                async with session.post(url, json=body, headers={"x-api-key": key}) as response:
                    return response.status

            return list(await asyncio.gather(*(one() for _ in range(200))))

    statuses = asyncio.run(run())
    text = f"at most {most} at a time; {statuses.count(200)} answered, {statuses.count(429)} refused with 429"
    return held(text) if most <= 4 and {*statuses} <= {200, 429} else broken(text)
