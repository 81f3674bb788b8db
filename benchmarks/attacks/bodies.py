"""Bodies: sizes, compression, JSON that parsers read differently or slowly, and requests with many parts."""

from __future__ import annotations

import contextlib
import gzip
import json
import time
import zlib
from collections.abc import Callable
from typing import Any

from benchmarks.attacks.cases import Stage, Suite, Verdict, broken, degraded, held
from benchmarks.attacks.settings import Open, open_gateway
from benchmarks.attacks.victim import MAX_STALL_S, Reply, polled

SUITE = Suite("bodies")
JSON = "RFC 8259; JSONTestSuite"
LIMITS = "OWASP ASVS 5.0 V4.1; OWASP API4:2023; CWE-400"
PATHS = {
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "embeddings": "/v1/embeddings",
}
START = b'{"model": "up/ok", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 50'


def judged(
    at: Open,
    data: bytes,
    *,
    path: str = PATHS["chat"],
    headers: Any = None,
    allowed: tuple[int, ...] = (200, 400, 413, 415, 422),
) -> Verdict:
    """Send a body while ``/healthz`` is polled; the status, the delay, the memory and another client decide."""
    memory = at.victim.memory_mb()
    with polled(at.victim) as stall:
        start_s = time.monotonic()
        reply = at.victim.send(path, data, headers=headers)
        seconds = time.monotonic() - start_s
    grown = max(0.0, at.victim.memory_mb() - memory)
    text = f"answered {reply.status} in {seconds:.1f} s, {stall}, memory +{grown:.0f} MB"
    if reply.status not in allowed:
        return broken(
            f"{text}: {reply.text[:150]}" if reply.status else f"{text}: the connection ended without a response"
        )
    if not at.victim.is_serving():
        return broken(f"{text}; another client is not served")
    if stall.seconds > MAX_STALL_S or grown > 400:
        return broken(text)
    return held(text)


def with_field(text: bytes) -> bytes:
    """The body of a chat completion with further fields."""
    return START + b", " + text + b"}"


# -- JSON ----------------------------------------------------------------------------------------------------------

DEEP = 100_000
NOT_JSON = (400, 422)
TEXTS: dict[str, tuple[bytes, tuple[int, ...]]] = {
    "an empty body": (b"", NOT_JSON),
    "a body of whitespace": (b" \n" * 1_000, NOT_JSON),
    "JSON that is not an object": (b"[1, 2]", NOT_JSON),
    "null": (b"null", NOT_JSON),
    "truncated JSON": (START, NOT_JSON),
    "text after the end": (START + b"} {}", NOT_JSON),
    "a comment": (with_field(b'"a": 1 /* b */'), NOT_JSON),
    "a trailing comma": (START + b",}", NOT_JSON),
    "single quotes": (with_field(b"'a': 1"), NOT_JSON),
    "NaN": (with_field(b'"temperature": NaN'), NOT_JSON),
    "Infinity": (with_field(b'"temperature": Infinity'), NOT_JSON),
    "1e400": (with_field(b'"temperature": 1e400'), (200, 400)),
    "an integer of 100,000 digits": (with_field(b'"seed": ' + b"9" * 100_000), (200, 400)),
    "a number of 100,000 decimals": (with_field(b'"top_p": 0.' + b"1" * 100_000), (200, 400)),
    "duplicate keys": (with_field(b'"model": "up/other", "model": "up/ok"'), (200, 400)),
    "lone surrogates": (START.replace(b"hi", b"\\ud800") + b"}", (200, 400)),
    "a lone surrogate as a key": (with_field(b'"\\udfff": 1'), (200, 400)),
    "NUL in a string": (START.replace(b"hi", b"a\\u0000b") + b"}", (200, 400)),
    "a raw NUL": (START.replace(b"hi", b"a\0b") + b"}", NOT_JSON),
    "invalid UTF-8": (START.replace(b"hi", b"\xff\xfe\x80") + b"}", NOT_JSON),
    "overlong UTF-8": (START.replace(b"hi", b"\xc0\xaf") + b"}", NOT_JSON),
    "UTF-16": ((START + b"}").decode().encode("utf-16"), NOT_JSON),
    "a byte order mark": (b"\xef\xbb\xbf" + START + b"}", (200, 400)),
    "arrays 100,000 deep": (with_field(b'"a": ' + b"[" * DEEP + b"]" * DEEP), (200, 400)),
    "objects 100,000 deep": (with_field(b'"a": ' + b'{"a":' * DEEP + b"1" + b"}" * DEEP), (200, 400)),
    "arrays 100,000 deep that never close": (b"[" * DEEP, NOT_JSON),
    "200,000 keys": (
        with_field(b'"metadata": {' + b",".join(b'"k%d": 1' % n for n in range(200_000)) + b"}"),
        (200, 400),
    ),
    "a key of 10 MB": (with_field(b'"' + b"k" * 10_000_000 + b'": 1'), (200, 400)),
    "one million numbers": (with_field(b'"a": [' + b"1," * 1_000_000 + b"1]"), (200, 400)),
    "2 million escapes": (START.replace(b"hi", b"\\u0041" * 2_000_000) + b"}", (200, 400)),
}


@SUITE.each(TEXTS, reference=JSON)
def _json(stage: Stage, row: tuple[bytes, tuple[int, ...]]) -> Verdict:
    data, allowed = row
    return judged(stage.use(open_gateway), data, allowed=(*allowed, 413))


@SUITE.each({f"invalid UTF-8, {name}": path for name, path in PATHS.items()}, reference=JSON)
def _invalid(stage: Stage, path: str) -> Verdict:
    return judged(stage.use(open_gateway), b'{"model": "up/ok", "input": "\xff", "messages": [{"role": "user", "content": "\xff"}]}', path=path,
                  allowed=(400,))  # fmt: skip


@SUITE.each({f"a lone surrogate, {name}": path for name, path in PATHS.items()}, reference=JSON)
def _surrogate(stage: Stage, path: str) -> Verdict:
    text = b'"\\ud800"'
    data = b'{"model": "up/ok", "max_tokens": 9, "input": %s, "messages": [{"role": "user", "content": %s}]}' % (
        text,
        text,
    )
    return judged(stage.use(open_gateway), data, path=path, allowed=(200, 400, 404))


@SUITE.case("duplicate keys select one model for checks and calls", reference="CWE-436; RFC 8259 4")
def _duplicate(stage: Stage) -> Verdict:
    from benchmarks.attacks.settings import door

    at = stage.use(door)
    before = len(at.upstream.exchanges)
    seen = []
    for first, last in (("up/ok", "up/other"), ("up/other", "up/ok")):
        data = b'{"model": "%s", "messages": [{"role": "user", "content": "x"}], "model": "%s"}' % (
            first.encode(),
            last.encode(),
        )
        seen.append(at.victim.send(body=data, key=at.bob).status)
    called = [each.model for each in at.upstream.exchanges[before:]]
    return (
        broken(f"statuses {seen}, called {called}")
        if "other" in called
        else held(f"statuses {seen}; the other model was not called")
    )


# -- sizes -----------------------------------------------------------------------------------------------------------


def _upload(at: Open, size: int, *, is_chunked: bool) -> Verdict:
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    head += b"transfer-encoding: chunked\r\n\r\n" if is_chunked else b"content-length: %d\r\n\r\n" % size
    part = b" " * 1_000_000
    data = b"%x\r\n%s\r\n" % (len(part), part) if is_chunked else part
    memory, sent, received = at.victim.memory_mb(), 0, b""
    start_s = time.monotonic()
    with polled(at.victim) as stall, contextlib.closing(at.victim.connect(5.0)) as client:
        with contextlib.suppress(OSError):
            client.sendall(head)
            for _ in range(size // len(part)):
                client.sendall(data)
                sent += len(part)
        with contextlib.suppress(OSError):
            received = client.recv(65_536)
        most = at.victim.memory_mb() - memory
    status = received[9:12].decode() or "no response"
    text = f"{status} after {sent / 1e6:.0f} of {size / 1e6:.0f} MB and {time.monotonic() - start_s:.1f} s, memory +{most:.0f} MB, {stall}"
    if most > 150 or stall.seconds > MAX_STALL_S or not at.victim.is_serving():
        return broken(text)
    return held(text) if status in ("413", "no response") else broken(text)


@SUITE.case("a body of 200 MB", reference=LIMITS, deadline_s=60)
def _large(stage: Stage) -> Verdict:
    return _upload(stage.use(open_gateway), stage.sized(200_000_000, 40_000_000), is_chunked=False)


@SUITE.case("a chunked body of 200 MB", reference=LIMITS, deadline_s=60)
def _large_chunked(stage: Stage) -> Verdict:
    return _upload(stage.use(open_gateway), stage.sized(200_000_000, 40_000_000), is_chunked=True)


@SUITE.case("a body of 100,000 chunks of one byte", reference=LIMITS)
def _tiny_chunks(stage: Stage) -> Verdict:
    at = stage.use(open_gateway)
    data = START + b"}"
    body = b"".join(b"1\r\n \r\n" for _ in range(100_000)) + b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)
    with polled(at.victim) as stall:
        reply = at.victim.raw(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n" + body, is_one=True
        )
    text = f"{reply.statuses}, {stall}"
    return held(text) if reply.statuses[:1] in ([200], [400], [413]) and stall.seconds < MAX_STALL_S else broken(text)


def _bomb(encoding: str) -> bytes:
    raw = b" " * 200_000_000
    if encoding == "gzip":
        return gzip.compress(raw, 6)
    if encoding == "deflate":
        return zlib.compress(raw, 6)
    # One frame of zstd without content size: 2,000 blocks that repeat one byte 100,000 times (RFC 8878 3.1.1.2).
    block = ((100_000 << 3) | (1 << 1)).to_bytes(3, "little") + b" "
    last = ((100_000 << 3) | (1 << 1) | 1).to_bytes(3, "little") + b" "
    return b"\x28\xb5\x2f\xfd\x00\x58" + block * 1_999 + last


@SUITE.each(
    {f"a {name} bomb of 200 MB": name for name in ("gzip", "deflate", "zstd")}, reference="CWE-409", deadline_s=40
)
def _compressed(stage: Stage, encoding: str) -> Verdict:
    headers = {"content-encoding": encoding}
    return judged(stage.use(open_gateway), _bomb(encoding), headers=headers, allowed=(400, 413, 415))


# -- many parts ------------------------------------------------------------------------------------------------------


def tools(count: int) -> list[dict[str, Any]]:
    """Tools of a chat completion."""
    schema = {"type": "object", "properties": {"word": {"type": "string"}}}
    return [
        {"type": "function", "function": {"name": f"tool_{n}", "description": "d", "parameters": schema}}
        for n in range(count)
    ]


def body(**fields: Any) -> bytes:
    """A chat completion with further fields."""
    return json.dumps({"model": "up/ok", "messages": [{"role": "user", "content": "hi"}], **fields}).encode()


def _nested(depth: int) -> Any:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def _tool(schema: Any, name: str = "look_up") -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name, "parameters": schema}}]


MANY: dict[str, Callable[[], bytes]] = {
    "1,000 tools": lambda: body(tools=tools(1_000)),
    "8,000 tools": lambda: body(tools=tools(8_000)),
    "20,000 tools": lambda: body(tools=tools(20_000)),
    "8,000 tools with one name": lambda: body(tools=_tool({}) * 8_000),
    "a tool with 20,000 properties": lambda: body(
        tools=_tool({"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(20_000)}})),
    "a schema 300 deep": lambda: body(tools=_tool(_nested(300))),
    "a schema that refers to itself": lambda: body(tools=_tool({"$ref": "#"})),
    "a schema with references that double 30 times": lambda: body(tools=_tool({
        "$ref": "#/$defs/a30", "$defs": {"a0": {"type": "string"}, **{
            f"a{n}": {"anyOf": [{"$ref": f"#/$defs/a{n - 1}"}, {"$ref": f"#/$defs/a{n - 1}"}]} for n in range(1, 31)}}})),
    "20,000 messages": lambda: body(messages=[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}] * 10_000),
    "100,000 parts of content": lambda: body(messages=[{"role": "user", "content": [{"type": "text", "text": "a"}] * 100_000}]),
    "20,000 calls of tools in the history": lambda: body(messages=[
        {"role": "user", "content": "x"},
        {"role": "assistant", "tool_calls": [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(20_000)]},
        *({"role": "tool", "tool_call_id": f"c{n}", "content": "ok"} for n in range(20_000))]),
    "a name of a tool of 1 MB": lambda: body(tools=_tool({}, "t" * 1_000_000)),
    "a role of 1 MB": lambda: body(messages=[{"role": "r" * 1_000_000, "content": "x"}]),
    "metadata of 1 MB": lambda: body(metadata={"a": "b" * 1_000_000}, user="u" * 1_000_000),
    "50,000 stop sequences": lambda: body(stop=[f"s{n}" for n in range(50_000)]),
    "an image of 20 MB": lambda: body(messages=[{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 20_000_000}}]}]),
    "30 MB of text": lambda: body(messages=[{"role": "user", "content": "word " * 6_000_000}]),
    "5 MB of opened reasoning tags": lambda: body(messages=[{"role": "assistant", "content": "<think>" * 700_000}, {"role": "user", "content": "x"}]),
}  # fmt: skip


@SUITE.each(MANY, reference=LIMITS, deadline_s=60)
def _many(stage: Stage, make: Callable[[], bytes]) -> Verdict:
    return judged(stage.use(open_gateway), make(), allowed=(200, 400, 413, 422))


NAMES: dict[str, str] = {
    "a name of a model of 10 MB": "up/" + "m" * 10_000_000,
    "a name of a model with a NUL": "up/a\0b",
    "a name of a model with line breaks": "up/a\r\nx-injected: 1",
    "a name of a model with a lone surrogate": "up/\ud800",
    "a name of a model that is a path": "up/../../etc/passwd",
    "a name of a model with control characters": "up/\x1b]0;title\x07",
    "an empty name of a model": "",
}


@SUITE.each(NAMES, reference="OWASP ASVS 5.0 V2.2")
def _names(stage: Stage, name: str) -> Verdict:
    at = stage.use(open_gateway)
    size = _written(at)
    verdict = judged(
        at,
        json.dumps({"model": name, "messages": [{"role": "user", "content": "x"}]}).encode(),
        allowed=(200, 400, 404, 413),
    )
    written = (_written(at) - size) / 1e6
    if verdict.kind == "held" and written > 5:
        return broken(f"{verdict.reason}, {written:.0f} MB written")
    if verdict.kind == "held" and "\x1b" in at.victim.log_text():
        return broken(f"{verdict.reason}; the log has terminal sequences")
    return verdict


def _written(at: Open) -> int:
    return sum(path.stat().st_size for path in at.victim.folder.rglob("*") if path.is_file())


VALUES: dict[str, dict[str, Any]] = {
    "max_tokens of 10^18": {"max_tokens": 10**18},
    "max_tokens below zero": {"max_tokens": -1},
    "max_tokens of 0": {"max_tokens": 0},
    "max_tokens as a string": {"max_tokens": "100"},
    "1,000 choices": {"n": 1_000},
    "top_logprobs of 10^9": {"logprobs": True, "top_logprobs": 10**9},
    "messages that are a string": {"messages": "hi"},
    "messages that are empty": {"messages": []},
    "a content that is a number": {"messages": [{"role": "user", "content": 7}]},
    "stream as a string": {"stream": "yes"},
    "a timeout of 10^9 seconds": {"timeout": 10**9},
}


@SUITE.each(VALUES, reference="OWASP ASVS 5.0 V2.2")
def _values(stage: Stage, fields: dict[str, Any]) -> Verdict:
    at = stage.use(open_gateway)
    before = len(at.upstream.exchanges)
    reply = at.victim.send(body=body(**fields))
    calls = len(at.upstream.exchanges) - before
    if reply.status not in (200, 400, 402, 422) or calls > 1:
        return broken(f"answered {reply.status} with {calls} calls: {reply.text[:150]}")
    return held(f"answered {reply.status} with {calls} calls of the provider")


@SUITE.case("the gateway fetches nothing that a request names", reference="OWASP A10:2021 SSRF; CWE-918")
def _fetches(stage: Stage) -> Verdict:
    at = stage.use(open_gateway)
    url = at.upstream.base_url.replace("/v1", "/private.png")
    before = at.upstream.connections
    at.victim.send(
        body=body(messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}])
    )
    schema = {"type": "object", "properties": {"a": {"$ref": url}}, "$schema": url}
    reply = at.victim.send(body=body(tools=_tool(schema)))
    fetched = [each.head for each in at.upstream.exchanges if b"private.png" in each.head.split(b"\r\n")[0]]
    is_right = not fetched and reply.status in (200, 400)
    return held(f"images and schemas by URL are not fetched; {at.upstream.connections - before} connections for calls") if is_right else broken(
        f"fetched {fetched[:1]}, status {reply.status}")  # fmt: skip


@SUITE.case("a pattern that backtracks in the schema of a tool", reference="CWE-1333")
def _pattern(stage: Stage) -> Verdict:
    at = stage.use(open_gateway)

    async def calls(exchange: Any) -> None:
        from benchmarks.attacks.hostile import completion

        call = {
            "id": "c1",
            "type": "function",
            "function": {"name": "look_up", "arguments": json.dumps({"word": "a" * 60 + "!"})},
        }
        await exchange.respond(json.dumps(completion("", tool_calls=[call])).encode())

    at.upstream.behaviours["backtrack"] = calls
    schema = {"type": "object", "properties": {"word": {"type": "string", "pattern": "^(a+)+$"}}, "required": ["word"]}
    return judged(at, body(model="up/backtrack", tools=_tool(schema)), allowed=(200, 400, 502))


@SUITE.case("an internal error shows nothing of the inside", reference="OWASP ASVS 5.0 V16.5")
def _internal(stage: Stage) -> Verdict:
    at = stage.use(open_gateway)
    replies: list[Reply] = []
    for data, _ in TEXTS.values():
        if len(data) < 300_000:
            replies.append(at.victim.send(body=data))
    shown = [
        reply.text[:200]
        for reply in replies
        if "Traceback" in reply.text or ".py" in reply.text or "site-packages" in reply.text
    ]
    if shown:
        return broken(shown[0])
    errors = [reply for reply in replies if reply.status >= 500]
    if errors:
        return degraded(f"{len(errors)} of {len(replies)} malformed bodies were answered with {errors[0].status}")
    return held(f"{len(replies)} malformed bodies: no traceback, no path, no 5xx")
