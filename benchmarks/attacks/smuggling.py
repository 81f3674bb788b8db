"""Framing of requests: what two parsers may read differently must not become a second request."""

from __future__ import annotations

import json

from benchmarks.attacks.cases import Stage, Suite, Verdict, broken, degraded, held
from benchmarks.attacks.settings import open_gateway

SUITE = Suite("smuggling")
SMUGGLING = "RFC 9112 11.2; PortSwigger, HTTP request smuggling; CWE-444"
BODY = json.dumps({"model": "up/ok", "messages": [{"role": "user", "content": "hi"}]}).encode()
SECOND = b"GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n"
HIDDEN = b"0\r\n\r\n" + SECOND


def request(
    *headers: bytes, body: bytes = b"", start: bytes = b"POST /v1/chat/completions HTTP/1.1", host: bytes = b"host: x"
) -> bytes:
    """A request in bytes."""
    return b"\r\n".join([start, host, b"content-type: application/json", *headers]) + b"\r\n\r\n" + body


def length(body: bytes) -> bytes:
    """A correct ``Content-Length``."""
    return b"content-length: %d" % len(body)


CHUNKED = b"transfer-encoding: chunked"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)

ROWS: dict[str, tuple[bytes, str]] = {
    "Content-Length twice with different values": (
        request(b"content-length: 5", length(BODY + SECOND), body=BODY + SECOND), "RFC 9112 6.3"),
    "Content-Length twice with the same value": (request(length(BODY), length(BODY), body=BODY), "RFC 9112 6.3"),
    "Content-Length with a list of values": (request(b"content-length: %d, %d" % (len(BODY), len(BODY)), body=BODY), "RFC 9112 6.3"),
    "Content-Length with a plus sign": (request(b"content-length: +%d" % len(BODY), body=BODY), "RFC 9110 8.6"),
    "Content-Length below zero": (request(b"content-length: -1", body=BODY + SECOND), "RFC 9110 8.6"),
    "Content-Length in hexadecimal": (request(b"content-length: 0x%x" % len(BODY), body=BODY), "RFC 9110 8.6"),
    "Content-Length with an underscore": (request(b"content-length: 1_0", body=BODY), "RFC 9110 8.6"),
    "Content-Length of 30 digits": (request(b"content-length: " + b"9" * 30, body=BODY), "RFC 9110 8.6"),
    "Content-Length with other digits": (request("content-length: ١٢".encode(), body=BODY), "RFC 9110 8.6"),
    "Content-Length, then Transfer-Encoding (CL.TE)": (request(length(HIDDEN), CHUNKED, body=HIDDEN), "RFC 9112 6.1"),
    "Transfer-Encoding, then Content-Length (TE.CL)": (
        request(CHUNKED, b"content-length: 4", body=b"%x\r\n%s\r\n0\r\n\r\n" % (len(SECOND), SECOND)), "RFC 9112 6.1"),
    "valid chunks with a Content-Length": (request(length(CHUNKS), CHUNKED, body=CHUNKS), "RFC 9112 6.1"),
    "Transfer-Encoding twice (TE.TE)": (request(CHUNKED, b"transfer-encoding: identity", length(HIDDEN), body=HIDDEN), "RFC 9112 6.1"),
    "Transfer-Encoding: xchunked": (request(b"transfer-encoding: xchunked", length(HIDDEN), body=HIDDEN), "RFC 9112 6.1"),
    "Transfer-Encoding: gzip, chunked": (request(b"transfer-encoding: gzip, chunked", body=CHUNKS), "RFC 9112 6.1"),
    "Transfer-Encoding: chunked, identity": (request(b"transfer-encoding: chunked, identity", body=CHUNKS), "RFC 9112 6.1"),
    "Transfer-Encoding with a tab": (request(b"transfer-encoding:\tchunked", length(HIDDEN), body=HIDDEN), "RFC 9112 6.1"),
    "Transfer-Encoding with a vertical tab": (request(b"transfer-encoding: \x0bchunked", length(HIDDEN), body=HIDDEN), "RFC 9110 5.5"),
    "Transfer-Encoding in a folded line": (request(b"transfer-encoding:\r\n chunked", length(HIDDEN), body=HIDDEN), "RFC 9112 5.2"),
    "Transfer-Encoding in HTTP/1.0": (
        request(CHUNKED, start=b"POST /v1/chat/completions HTTP/1.0", body=HIDDEN), "RFC 9112 6.1"),
    "whitespace before a colon": (request(b"transfer-encoding : chunked", length(HIDDEN), body=HIDDEN), "RFC 9112 5.1"),
    "whitespace before the first header": (
        request(length(HIDDEN), host=b" transfer-encoding: chunked\r\nhost: x", body=HIDDEN), "RFC 9112 2.2"),
    "a header without a colon": (request(b"transfer-encoding chunked", length(HIDDEN), body=HIDDEN), "RFC 9112 5"),
    "a header name with a NUL": (request(b"transfer-encoding\0: chunked", length(HIDDEN), body=HIDDEN), "RFC 9110 5.1"),
    "a header value with a bare CR": (request(b"x-a: b\rtransfer-encoding: chunked", length(HIDDEN), body=HIDDEN), "RFC 9112 2.2"),
    "a header value with a NUL": (request(b"x-a: b\0c", length(BODY), body=BODY), "RFC 9110 5.5"),
    "bare LF in the head": (
        request(CHUNKED, length(HIDDEN), body=b"").replace(b"\r\n", b"\n") + HIDDEN, "RFC 9112 2.2"),
    "chunk sizes that end with a bare LF": (
        request(CHUNKED, body=b"%x\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)), "RFC 9112 7.1"),
    "a chunk size of 20 digits": (request(CHUNKED, body=b"FFFFFFFFFFFFFFFFFFFF\r\n" + BODY), "RFC 9112 7.1"),
    "a chunk size below zero": (request(CHUNKED, body=b"-1\r\n" + BODY + b"\r\n0\r\n\r\n"), "RFC 9112 7.1"),
    "a chunk size with a prefix": (request(CHUNKED, body=b"0x%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)), "RFC 9112 7.1"),
    "a chunk without its end": (request(CHUNKED, body=b"%x\r\n%sXX0\r\n\r\n" % (len(BODY), BODY)), "RFC 9112 7.1"),
    "a chunk extension of 1 MB": (request(CHUNKED, body=b"5;" + b"a" * 1_000_000 + b"\r\nhello\r\n0\r\n\r\n"), "RFC 9112 7.1.1"),
    "trailers that repeat framing": (
        request(CHUNKED, body=b"%x\r\n%s\r\n0\r\ncontent-length: 99\r\nauthorization: Bearer x\r\n\r\n" % (len(BODY), BODY)), "RFC 9110 6.5"),
    "two Host headers": (request(b"host: y", length(BODY), body=BODY), "RFC 9112 3.2"),
    "no Host header": (request(length(BODY), host=b"x-a: b", body=BODY), "RFC 9112 3.2"),
    "a target with another host": (
        request(length(BODY), start=b"POST http://other.example/v1/chat/completions HTTP/1.1", body=BODY), "RFC 9112 3.2.2"),
    "a target with a space": (request(length(BODY), start=b"POST /v1/chat completions HTTP/1.1", body=BODY), "RFC 9112 3"),
    "HTTP/0.9": (b"GET /healthz\r\n" + SECOND, "RFC 9112 2.3"),
    "HTTP/1.9": (request(length(BODY), start=b"POST /v1/chat/completions HTTP/1.9", body=BODY), "RFC 9112 2.3"),
    "HTTP/9.9": (request(length(BODY), start=b"POST /v1/chat/completions HTTP/9.9", body=BODY), "RFC 9112 2.3"),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0", "RFC 9113 3.4"),
    "an upgrade to h2c": (
        request(b"upgrade: h2c", b"connection: upgrade, http2-settings", b"http2-settings: AAMAAABkAAQAAP__", length(BODY), body=BODY),
        "RFC 9113 3.1"),
    "an upgrade to WebSocket": (
        request(b"upgrade: websocket", b"connection: upgrade", b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
                b"sec-websocket-version: 13", start=b"GET /v1/chat/completions HTTP/1.1"), "RFC 6455"),
    "CONNECT to another host": (b"CONNECT 127.0.0.1:22 HTTP/1.1\r\nhost: 127.0.0.1:22\r\n\r\n", "RFC 9110 9.3.6"),
    "TRACE with a key": (b"TRACE / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer s\r\n\r\n", "RFC 9110 9.3.8"),
    "a body that is a request, with GET": (request(length(SECOND), start=b"GET /healthz HTTP/1.1", body=SECOND), "RFC 9110 9.3.1"),
    "a request line of 100,000 characters": (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", "RFC 9112 3"),
    "a head of 10,000 headers": (request(*(b"x-%d: a" % n for n in range(10_000)), length(BODY), body=BODY), "RFC 9110 5.4"),
    "a head that never ends": (b"GET / HTTP/1.1\r\nhost: x\r\nx-long: " + b"a" * 2_000_000, "RFC 9110 5.4"),
    "a TLS handshake": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 508, "RFC 8446"),
    "random bytes": (bytes((n * 7919 + 13) % 256 for n in range(5_000)), "RFC 9112 2.2"),
}  # fmt: skip

ONE_IS_RIGHT = {
    "trailers that repeat framing", "an upgrade to h2c", "an upgrade to WebSocket", "HTTP/1.9", "a body that is a request, with GET",
    "Content-Length twice with the same value", "Content-Length with a list of values", "chunk sizes that end with a bare LF",
}  # fmt: skip
"""Rows that a server may serve, since every parser reads one request in them."""

HAS_A_REST = {"the preface of HTTP/2", "HTTP/0.9"}
"""Rows that are more than one request in any reading."""

TOO_LONG = {"a request line of 100,000 characters", "a head of 10,000 headers", "a head that never ends", "HTTP/9.9"}
"""Rows that are refused for their size or version; serving them is no danger, but not what is documented."""


@SUITE.each(ROWS, reference=SMUGGLING, deadline_s=25)
def _framing(stage: Stage, row: tuple[bytes, str]) -> Verdict:
    data, _ = row
    name = next(each for each, value in ROWS.items() if value is row)
    at = stage.use(open_gateway)
    before = len(at.upstream.exchanges)
    reply = at.victim.raw(data, timeout_s=0.7)
    calls, statuses = len(at.upstream.exchanges) - before, reply.statuses
    state = "closed" if reply.is_closed else "open"
    text = f"{', '.join(map(str, statuses)) or 'no response'}, connection {state}, {counted(calls)} of the provider"
    if b"/smuggled" in reply.data:
        return broken(f"{text}: the hidden request was answered")
    if (len(statuses) > 1 and name not in HAS_A_REST) or calls > 1 or 500 in statuses:
        return broken(text)
    if not at.victim.is_serving():
        return broken(f"{text}; another client is not served")
    if name in TOO_LONG:
        return held(text) if not {200, 404} & {*statuses} else degraded(f"{text}; it is not refused")
    if 200 in statuses or calls:
        if name in ONE_IS_RIGHT:
            return held(text)
        return degraded(text) if reply.is_closed else broken(text)
    is_kept = not reply.is_closed and {*statuses} <= {400, 501}
    return broken(f"{text}: what follows is read as the next request") if is_kept and statuses else held(text)


def counted(calls: int) -> str:
    """A number of calls in words."""
    return "1 call" if calls == 1 else f"{calls} calls"


@SUITE.case("a second request hidden in the body of a refused one", reference=SMUGGLING)
def _after_refusal(stage: Stage) -> Verdict:
    at = stage.use(open_gateway)
    before = len(at.upstream.exchanges)
    inner = request(length(BODY), body=BODY)
    for status, first in {
        404: request(length(inner), start=b"POST /nowhere HTTP/1.1", body=inner),
        405: request(length(inner), start=b"DELETE /v1/chat/completions HTTP/1.1", body=inner),
        400: request(length(inner), body=inner),
    }.items():
        reply = at.victim.raw(first, timeout_s=1.0)
        if len(reply.statuses) != 1 or 200 in reply.statuses:
            return broken(f"a request that is refused with {status} was followed by {reply.statuses[1:]}")
    calls = len(at.upstream.exchanges) - before
    return (
        broken(f"{calls} calls of the provider")
        if calls
        else held("bodies of refused requests are never read as requests")
    )


@SUITE.case("1,000 pipelined requests", reference="RFC 9112 9.3.2")
def _pipelined(stage: Stage) -> Verdict:
    at = stage.use(open_gateway)
    reply = at.victim.raw(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n" * 1_000, timeout_s=3.0)
    is_serving = at.victim.is_serving()
    text = f"{len(reply.statuses)} responses, all {sorted({*reply.statuses})}"
    return held(text) if is_serving and {*reply.statuses} == {200} and len(reply.statuses) == 1_000 else broken(text)
