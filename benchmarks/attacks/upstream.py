"""Providers that flood, hang, lie, redirect or mix up responses."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import threading
import time
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from benchmarks.attacks.cases import Stage, Suite, Verdict, broken, degraded, held, worst
from benchmarks.attacks.hostile import (
    CHUNK,
    Behave,
    Exchange,
    HostileUpstream,
    chunk,
    completion,
    hostile_upstream,
    send_answer,
    until_closed,
)
from benchmarks.attacks.settings import DEADLINE_S, MAX_RESPONSE_BYTES, Open, configuration, open_gateway
from benchmarks.attacks.victim import MAX_STALL_S, Reply, Victim, gateway, polled

SUITE = Suite("upstream")
LIMITS = "CWE-400; OWASP LLM10:2025"
TRUST = "OWASP API10:2023"
FRAMING = "RFC 9112 6.3, 7.1"
ERRORS = (400, 429, 502, 503, 504)
MARK = "evil-marker"
TOOLS = [{"type": "function", "function": {"name": "look_up", "description": "d", "parameters": {
    "type": "object", "properties": {"word": {"type": "string"}}}}}]  # fmt: skip


def judged(
    at: Open, name: str, *, streams: bool, allowed: tuple[int, ...] = (200, *ERRORS), absent: str = MARK, tools: bool = False,
    most_mb: float = 150.0,
) -> tuple[Verdict, Reply]:  # fmt: skip
    """Call a model while ``/healthz`` is polled, and judge what the client, another client and the provider see."""
    memory = at.victim.memory_mb()
    fields: dict[str, Any] = {"tools": TOOLS} if tools else {}
    with polled(at.victim) as stall:
        start_s = time.monotonic()
        reply = at.victim.chat(f"up/{name}", stream=streams, timeout_s=DEADLINE_S + 12, **fields)
        seconds = time.monotonic() - start_s
    grown = max(0.0, at.victim.memory_mb() - memory)
    exchange = at.upstream.of(name)[-1] if at.upstream.of(name) else None
    sent = exchange.sent / 1e6 if exchange else 0.0
    text = f"answered {reply.status}{_end_of(reply, streams)} in {seconds:.1f} s; {sent:.1f} MB read, memory +{grown:.0f} MB, {stall}"
    if reply.status not in allowed:
        return broken(f"{text}: {reply.text[:150]}"), reply
    if absent and absent in reply.text + json.dumps(dict(reply.headers)):
        return broken(f"{text}: the response has {absent!r}"), reply
    if streams and reply.status == 200 and not _end_of(reply, streams):
        return broken(f"{text}: the stream has no end"), reply
    if seconds > DEADLINE_S + 3 or stall.seconds > MAX_STALL_S or grown > most_mb:
        return broken(text), reply
    if not at.victim.is_serving():
        return broken(f"{text}; another client is not served"), reply
    if exchange is not None and not _has_ended(exchange):
        return broken(f"{text}; the call of the provider continues"), reply
    return held(text), reply


def _end_of(reply: Reply, streams: bool) -> str:
    if not streams or reply.status != 200:
        return ""
    events = [line for line in reply.text.split("\n") if line.startswith("data:")]
    if events and events[-1] == "data: [DONE]":
        return " with an error event" if any('"error"' in line[:12] for line in events[-3:]) else " with an end"
    return " with an error event" if events and '"error"' in events[-1] else ""


def _has_ended(exchange: Exchange) -> bool:
    end_s = time.monotonic() + 1.5
    while exchange.ended_s is None and time.monotonic() < end_s:
        time.sleep(0.05)
    return exchange.ended_s is not None


def text_of(reply: Reply) -> str:
    """The text of a streamed or whole chat completion."""
    if not reply.headers.get("content-type", "").startswith("text/event-stream"):
        return reply.json["choices"][0]["message"]["content"] or ""
    datas = [line[5:].strip() for line in reply.text.split("\n") if line.startswith("data:")]
    choices = [choice for data in datas if data != "[DONE]" for choice in json.loads(data).get("choices", [])]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


# -- too much, too slow ------------------------------------------------------------------------------------------------


async def endless_body(exchange: Exchange) -> None:
    kind = "text/event-stream" if exchange.streams else "application/json"
    await exchange.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {10**10}\r\n\r\n".encode())
    part = b"data: " + json.dumps(chunk("x" * CHUNK)).encode() + b"\n\n" if exchange.streams else b" " * CHUNK
    for _ in range(10**10 // len(part)):
        await exchange.write(part)


async def endless_line(exchange: Exchange) -> None:
    await exchange.start_events()
    await exchange.write(b'data: {"choices": [{"index": 0, "delta": {"content": "')
    for _ in range(150_000):
        await exchange.write(b"x" * CHUNK)


async def endless_comments(exchange: Exchange) -> None:
    await exchange.start_events()
    for _ in range(10_000_000):
        await exchange.write(b": ping\n\n" * 100)
        await asyncio.sleep(0.01)


async def endless_empty_events(exchange: Exchange) -> None:
    await exchange.start_events()
    for _ in range(10_000_000):
        await exchange.write(b"data: " + json.dumps(chunk("")).encode() + b"\n\n")
        await asyncio.sleep(0.005)


async def byte_per_second(exchange: Exchange) -> None:
    body = json.dumps(completion("slow")).encode()
    if exchange.streams:
        await exchange.start_events()
        body = b"data: " + json.dumps(chunk("slow")).encode() + b"\n\n"
    else:
        await exchange.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
        )
    for byte in body:
        await exchange.write(bytes([byte]))
        await asyncio.sleep(1)


async def silence(exchange: Exchange) -> None:
    await until_closed(exchange)


async def silent_after_head(exchange: Exchange) -> None:
    await exchange.start_events()
    await until_closed(exchange)


async def slow_head(exchange: Exchange) -> None:
    for byte in b"HTTP/1.1 200 OK\r\n" + b"x-a: b\r\n" * 100:
        await exchange.write(bytes([byte]))
        await asyncio.sleep(0.5)


async def header_flood(exchange: Exchange) -> None:
    await exchange.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(1_000_000):
        await exchange.write(b"x-%d: %s\r\n" % (number, b"a" * 1_000))


async def long_header(exchange: Exchange) -> None:
    await exchange.write(b"HTTP/1.1 200 OK\r\nx-long: ")
    for _ in range(1_000):
        await exchange.write(b"a" * CHUNK)


async def interim_flood(exchange: Exchange) -> None:
    for _ in range(10_000_000):
        await exchange.write(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" * 20)
        await asyncio.sleep(0)


async def chunks_of_one_byte(exchange: Exchange) -> None:
    kind = b"text/event-stream" if exchange.streams else b"application/json"
    await exchange.write(b"HTTP/1.1 200 OK\r\ncontent-type: %s\r\ntransfer-encoding: chunked\r\n\r\n" % kind)
    for _ in range(40_000):
        await exchange.write(b"1\r\n \r\n" * 100 if not exchange.streams else b"1\r\n\n\r\n" * 100)
        await asyncio.sleep(0)
    await exchange.write(b"0\r\n\r\n")


async def error_of_ten_megabytes(exchange: Exchange) -> None:
    await exchange.respond(json.dumps({"error": {"message": "x" * 10_000_000}}).encode(), status="400 Bad Request")


FLOODS: dict[str, tuple[Behave, str]] = {
    "10 GB": (endless_body, "both"),
    "one line of 10 GB": (endless_line, "stream"),
    "endless comments": (endless_comments, "stream"),
    "endless empty deltas": (endless_empty_events, "stream"),
    "one byte per second": (byte_per_second, "both"),
    "no response": (silence, "both"),
    "a head of a stream, then nothing": (silent_after_head, "stream"),
    "a head, two bytes per second": (slow_head, "whole"),
    "1,000,000 headers": (header_flood, "whole"),
    "a header of 65 MB": (long_header, "whole"),
    "endless interim responses": (interim_flood, "whole"),
    "4,000,000 chunks of one byte": (chunks_of_one_byte, "both"),
    "an error of 10 MB": (error_of_ten_megabytes, "both"),
}


def both(rows: Mapping[str, tuple[Behave, str]]) -> dict[str, tuple[Behave, bool]]:
    """Each row whole, streamed, or both."""
    return {
        f"{name}, {'streamed' if streams else 'whole'}": (behave, streams)
        for name, (behave, ways) in rows.items()
        for streams in (False, True)
        if ways in ("both", "stream" if streams else "whole")
    }


def run(stage: Stage, row: tuple[Behave, bool], **options: Any) -> Verdict:
    """Let the provider behave in one way, and call it."""
    behave, streams = row
    at = stage.use(open_gateway)
    name = behave.__name__
    at.upstream.behaviours[name] = behave
    return judged(at, name, streams=streams, **options)[0]


@SUITE.each(both(FLOODS), reference=LIMITS, deadline_s=40)
def _floods(stage: Stage, row: tuple[Behave, bool]) -> Verdict:
    return run(stage, row)


# -- framing -----------------------------------------------------------------------------------------------------------


async def chunk_size_below_zero(exchange: Exchange) -> None:
    await exchange.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n")


async def chunk_size_overflow(exchange: Exchange) -> None:
    await exchange.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nhello\r\n")


async def length_too_long(exchange: Exchange) -> None:
    body = json.dumps(completion(MARK)).encode()
    await exchange.write(
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body) + 9, body)
    )
    await exchange.close()


async def two_lengths(exchange: Exchange) -> None:
    body = json.dumps(completion(MARK)).encode()
    await exchange.write(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))


async def no_http(exchange: Exchange) -> None:
    await exchange.write(b"\x16\x03\x01 hello, this is not HTTP\r\n\r\n" + MARK.encode())
    await exchange.close()


async def status_999(exchange: Exchange) -> None:
    await exchange.respond(b"{}", status="999 What")


async def switching_protocols(exchange: Exchange) -> None:
    await exchange.write(
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n" + MARK.encode()
    )


async def no_content(exchange: Exchange) -> None:
    await exchange.write(b"HTTP/1.1 204 No Content\r\n\r\n")


async def gzip_that_lies(exchange: Exchange) -> None:
    await exchange.respond(json.dumps(completion(MARK)).encode(), headers="content-encoding: gzip\r\n")


async def gzip_cut(exchange: Exchange) -> None:
    await exchange.respond(
        gzip.compress(json.dumps(completion(MARK * 50)).encode())[:-20], headers="content-encoding: gzip\r\n"
    )


async def gzip_bomb(exchange: Exchange) -> None:
    data = gzip.compress(b" " * 400_000_000, 1)
    kind = "text/event-stream" if exchange.streams else "application/json"
    await exchange.respond(data, kind, headers="content-encoding: gzip\r\n")


async def deflate_bomb(exchange: Exchange) -> None:
    await exchange.respond(zlib.compress(b" " * 400_000_000, 1), headers="content-encoding: deflate\r\n")


async def gzip_in_gzip(exchange: Exchange) -> None:
    data = gzip.compress(gzip.compress(b" " * 200_000_000, 9), 9)
    await exchange.respond(data, headers="content-encoding: gzip, gzip\r\n")


FRAMES: dict[str, tuple[Behave, str]] = {
    "a chunk size below zero": (chunk_size_below_zero, "both"),
    "a chunk size of 17 digits": (chunk_size_overflow, "both"),
    "fewer bytes than Content-Length": (length_too_long, "whole"),
    "two values of Content-Length": (two_lengths, "whole"),
    "bytes that are not HTTP": (no_http, "both"),
    "status 999": (status_999, "whole"),
    "status 101": (switching_protocols, "both"),
    "status 204": (no_content, "both"),
    "gzip that is none": (gzip_that_lies, "whole"),
    "truncated gzip": (gzip_cut, "whole"),
    "a gzip bomb of 400 MB": (gzip_bomb, "both"),
    "a deflate bomb of 400 MB": (deflate_bomb, "whole"),
    "a gzip bomb in gzip": (gzip_in_gzip, "whole"),
}


@SUITE.each(both(FRAMES), reference=FRAMING, deadline_s=40)
def _frames(stage: Stage, row: tuple[Behave, bool]) -> Verdict:
    return run(stage, row, allowed=ERRORS if not row[1] else (200, *ERRORS))


@SUITE.case("a second response behind the first one", reference="PortSwigger, response queue poisoning; RFC 9112 6.3")
def _queue(stage: Stage) -> Verdict:
    at = stage.use(open_gateway)

    async def two(exchange: Exchange) -> None:
        good, bad = (json.dumps(completion(text)).encode() for text in ("hello", MARK))
        for body in (good, bad):
            await exchange.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
            )

    at.upstream.behaviours["two"] = two
    first = at.victim.chat("up/two")
    others = [at.victim.chat("up/ok") for _ in range(5)]
    if any(MARK in reply.text for reply in (first, *others)):
        return broken("the second response was taken for that of the next request")
    return held(f"the next five requests got their own responses, after {first.status}")


# -- lies --------------------------------------------------------------------------------------------------------------


async def html_with_json(exchange: Exchange) -> None:
    await exchange.respond(json.dumps(completion("hello")).encode(), "text/html")


async def events_as_json(exchange: Exchange) -> None:
    data = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in (chunk("hello"), chunk(finish="stop")))
    await exchange.respond(data + b"data: [DONE]\n\n", "application/json")


async def json_as_events(exchange: Exchange) -> None:
    await exchange.respond(json.dumps(completion("hello")).encode(), "text/event-stream")


async def an_image(exchange: Exchange) -> None:
    await exchange.respond(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100, "image/png")


async def after_done(exchange: Exchange) -> None:
    await exchange.start_events()
    for each in (chunk("hello"), chunk(finish="stop")):
        await exchange.event(each)
    await exchange.event(b"[DONE]")
    await exchange.event(chunk(MARK))
    await exchange.event({**chunk(), "choices": [], "usage": {"prompt_tokens": 10**9, "completion_tokens": 10**9}})
    await exchange.close()


async def after_finish(exchange: Exchange) -> None:
    await exchange.start_events()
    for each in (chunk("hello"), chunk(finish="stop")):
        await exchange.event(each)
    for _ in range(100_000):
        await exchange.event(chunk("more"))


async def deep_json(exchange: Exchange) -> None:
    data = b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    if exchange.streams:
        await exchange.start_events()
        await exchange.event(data)
        await exchange.close()
    else:
        await exchange.respond(data)


async def invalid_utf8(exchange: Exchange) -> None:
    data = json.dumps(completion("hello")).encode().replace(b"hello", b"he\xff\xfello")
    if exchange.streams:
        await exchange.start_events()
        await exchange.event(json.dumps(chunk("hello")).encode().replace(b"hello", b"he\xff\xfello"))
        await exchange.event(chunk(finish="stop"))
        await exchange.event(b"[DONE]")
        await exchange.close()
    else:
        await exchange.respond(data)


async def lone_surrogate(exchange: Exchange) -> None:
    await send_answer(exchange, "a\ud800b")


async def nul_in_text(exchange: Exchange) -> None:
    await send_answer(exchange, "a\0b")


async def breaks_in_text(exchange: Exchange) -> None:
    await send_answer(exchange, f'a\n\ndata: [DONE]\n\ndata: {{"{"x"}": 1}}\r\n\r\nevent: error\r\rb\u2028c\x85d')


async def odd_usage(exchange: Exchange) -> None:
    await send_answer(exchange, usage={"prompt_tokens": 1e308, "completion_tokens": "many", "total_tokens": None})


async def odd_finish(exchange: Exchange) -> None:
    answer = completion("hello")
    answer["choices"][0]["finish_reason"] = {"a": ["b"] * 1_000}
    await exchange.respond(json.dumps(answer).encode())


async def no_choices(exchange: Exchange) -> None:
    await exchange.respond(json.dumps({**completion(), "choices": None}).encode())


async def many_choices(exchange: Exchange) -> None:
    answer = completion("hello")
    await exchange.respond(json.dumps({**answer, "choices": answer["choices"] * 20_000}).encode())


async def model_with_breaks(exchange: Exchange) -> None:
    await exchange.respond(
        json.dumps({**completion(), "model": f"m\r\nx-injected: {MARK}\r\n\x1b[2J" + "m" * 100_000}).encode()
    )


async def id_with_breaks(exchange: Exchange) -> None:
    headers = "x-request-id: a" + "b" * 20_000 + "\r\n"
    await exchange.respond(json.dumps({**completion(), "id": "c\r\n\r\nx" * 1_000}).encode(), headers=headers)


async def html_error(exchange: Exchange) -> None:
    await exchange.respond(
        b"<html><script>alert(1)</script>" + b"<!--" * 100_000, "text/html", status="502 Bad Gateway"
    )


async def cookies(exchange: Exchange) -> None:
    headers = f"set-cookie: session={MARK}; domain=127.0.0.1; path=/\r\nx-internal: {MARK}\r\nserver: {MARK}\r\n"
    await exchange.respond(json.dumps(completion("hello")).encode(), headers=headers)


LIES: dict[str, tuple[Behave, str]] = {
    "JSON as HTML": (html_with_json, "whole"),
    "events as JSON": (events_as_json, "both"),
    "JSON as events": (json_as_events, "both"),
    "an image": (an_image, "both"),
    "events after [DONE]": (after_done, "stream"),
    "100,000 events after the finish reason": (after_finish, "stream"),
    "JSON 100,000 deep": (deep_json, "both"),
    "invalid UTF-8 in the text": (invalid_utf8, "both"),
    "a lone surrogate in the text": (lone_surrogate, "both"),
    "NUL in the text": (nul_in_text, "both"),
    "usage that is not a number": (odd_usage, "both"),
    "a finish reason that is an object": (odd_finish, "whole"),
    "choices that are null": (no_choices, "whole"),
    "20,000 choices": (many_choices, "whole"),
    "a served model with line breaks": (model_with_breaks, "whole"),
    "a request id of 20,000 characters": (id_with_breaks, "whole"),
    "an error page with scripts": (html_error, "both"),
}


@SUITE.each(both(LIES), reference=TRUST, deadline_s=40)
def _lies(stage: Stage, row: tuple[Behave, bool]) -> Verdict:
    absent = "" if row[0] is model_with_breaks else MARK
    return run(stage, row, absent=absent)


@SUITE.each(
    {"a text that looks like events, whole": False, "a text that looks like events, streamed": True},
    reference="CWE-93; HTML Living Standard 9.2",
)
def _breaks(stage: Stage, streams: bool) -> Verdict:
    at = stage.use(open_gateway)
    at.upstream.behaviours["breaks"] = breaks_in_text
    verdict, reply = judged(at, "breaks", streams=streams)
    want = 'a\n\ndata: [DONE]\n\ndata: {"x": 1}\r\n\r\nevent: error\r\rb\u2028c\x85d'
    got = text_of(reply) if reply.status == 200 else ""
    if got != want:
        return broken(f"{verdict.reason}; the client reads {got!r}")
    return worst(verdict, held("the client reads exactly the text of the model"))


@SUITE.case("cookies and internal headers of a provider", reference=TRUST)
def _cookies(stage: Stage) -> Verdict:
    at = stage.use(open_gateway)
    at.upstream.behaviours["cookies"] = cookies
    verdicts = [judged(at, "cookies", streams=False)[0] for _ in range(2)]
    if any(b"cookie" in each.head.lower() for each in at.upstream.of("cookies")):
        return broken("the cookie was sent with the next request")
    return worst(held("not forwarded to the client, not sent with the next request"), *verdicts)


@attrs.frozen
class Redirecting:
    """A gateway whose provider redirects to another host: the name of the model is the status."""

    victim: Victim
    target: HostileUpstream


@contextlib.contextmanager
def redirecting(stage: Stage) -> Iterator[Redirecting]:
    """A gateway with a key of the provider."""
    with hostile_upstream() as upstream, hostile_upstream() as target:

        async def redirect(exchange: Exchange) -> None:
            headers = f"location: http://127.0.0.1:{target.port}/internal-path\r\n"
            await exchange.respond(b"", headers=headers, status=f"{exchange.model} Moved")

        upstream.behaviours |= dict.fromkeys(map(str, REDIRECTS), redirect)
        text = configuration(upstream, provider='api_key = "env:UP_SECRET"')
        with gateway(stage.new_folder(), text, environ={"UP_SECRET": "sk-key-of-the-provider-0123456789"}) as victim:
            yield Redirecting(victim, target)


REDIRECTS = (301, 302, 303, 307, 308)


@SUITE.each(
    {f"a redirect to another host, status {each}": each for each in REDIRECTS}, reference="CWE-601; CWE-918; CWE-200"
)
def _redirect(stage: Stage, status: int) -> Verdict:
    at = stage.use(redirecting)
    replies = [at.victim.chat(f"up/{status}", stream=streams) for streams in (False, True)]
    if at.target.connections:
        return broken("the redirect was followed")
    shown = [each for each in ("internal-path", "127.0.0.1") if any(each in reply.text for reply in replies)]
    if shown:
        return broken(f"answered {replies[0].status}; the client sees {shown[0]!r}: {replies[0].text[:150]}")
    return held(f"not followed; answered {replies[0].status} without its target")


@SUITE.case("two streams with the same ids at once", reference=TRUST)
def _collisions(stage: Stage) -> Verdict:
    at = stage.use(open_gateway)

    async def named(exchange: Exchange) -> None:
        word = exchange.body["messages"][0]["content"]
        await exchange.start_events()
        for number in range(40):
            call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": ""}}
            await exchange.event(chunk(word, delta={} if number else {"tool_calls": []}) if number < 39 else chunk(delta={"tool_calls": [
                {**call, "function": {"name": "look_up", "arguments": json.dumps({"word": word})}}]}))  # fmt: skip
            await asyncio.sleep(0.01)
        await exchange.event(chunk(finish="tool_calls"))
        await exchange.event(b"[DONE]")
        await exchange.close()

    at.upstream.behaviours["named"] = named
    found: dict[str, Reply] = {}

    def ask(word: str) -> None:
        message = [{"role": "user", "content": word}]
        found[word] = at.victim.send(body={"model": "up/named", "messages": message, "stream": True, "tools": TOOLS})

    threads = [threading.Thread(target=ask, args=(word,)) for word in ("alpha", "bravo", "carol")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    mixed = [
        word
        for word, reply in found.items()
        if any(other in reply.text for other in found if other != word) or word not in reply.text
    ]
    return (
        broken(f"texts are mixed: {mixed}")
        if mixed or len(found) < 3
        else held("three streams with one id each have only their own text and call")
    )


# -- tool calls --------------------------------------------------------------------------------------------------------


def call(arguments: str = '{"word": "x"}', **fields: Any) -> dict[str, Any]:
    """A tool call."""
    return {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": "look_up", "arguments": arguments},
        **fields,
    }


def calling(*calls: dict[str, Any], name: str) -> Behave:
    """A provider that answers with tool calls."""

    async def behave(exchange: Exchange) -> None:
        if not exchange.streams:
            await exchange.respond(json.dumps(completion("", tool_calls=list(calls))).encode())
            return
        await exchange.start_events()
        for each in calls:
            await exchange.event(chunk(delta={"tool_calls": [each]}))
        await exchange.event(chunk(finish="tool_calls"))
        await exchange.event(b"[DONE]")
        await exchange.close()

    behave.__name__ = name
    return behave


async def arguments_of_50_megabytes(exchange: Exchange) -> None:
    if not exchange.streams:
        await exchange.respond(
            json.dumps(completion("", tool_calls=[call('{"word": "' + "x" * 50_000_000 + '"}')])).encode()
        )
        return
    await exchange.start_events()
    await exchange.event(chunk(delta={"tool_calls": [call('{"word": "')]}))
    for _ in range(800):
        await exchange.event(chunk(delta={"tool_calls": [{"index": 0, "function": {"arguments": "x" * CHUNK}}]}))


CALLS: dict[str, tuple[Behave, str]] = {
    "a tool call with arguments of 50 MB": (arguments_of_50_megabytes, "both"),
    "a tool call with arguments of 3 MB": (calling(call('{"word": "' + "x" * 3_000_000 + '"}'), name="large_call"), "both"),
    "a tool call in 20,000 fragments": (
        calling(call('{"word": "'), *({"index": 0, "function": {"arguments": "x"}} for _ in range(20_000)),
                {"index": 0, "function": {"arguments": '"}'}}, name="fragments"), "stream"),
    "a tool call with arguments 50,000 deep": (calling(call('{"word": ' + "[" * 50_000 + "]" * 50_000 + "}"), name="deep_call"), "both"),
    "a tool call with index 10^9": (calling(call(index=10**9), name="high_index"), "stream"),
    "a tool call with index -1": (calling(call(index=-1), name="low_index"), "stream"),
    "a tool call with a string as index": (calling(call(index="0"), name="text_index"), "stream"),
    "20,000 tool calls": (calling(*(call(id=f"c{n}", index=n) for n in range(20_000)), name="many_calls"), "both"),
    "tool calls with one id": (calling(call(), call(index=1), name="same_ids"), "both"),
    "a tool call with a name of 1 MB": (calling(call(function={"name": "n" * 1_000_000, "arguments": "{}"}), name="long_name"), "both"),
    "a tool call with line breaks in its id": (calling(call(id="a\r\n\r\ndata: x"), name="id_breaks"), "both"),
}  # fmt: skip


@SUITE.each(both(CALLS), reference="OWASP LLM05:2025", deadline_s=40)
def _calls(stage: Stage, row: tuple[Behave, bool]) -> Verdict:
    return run(stage, row, tools=True, most_mb=250.0)


# -- texts of models -----------------------------------------------------------------------------------------------------

TEXTS = {
    "[TOOL_CALLS]": "[TOOL_CALLS]", "<tool_call>": "<tool_call>", "<function=f>": "<function=f>", "<think>": "<think>",
    "</think>": "</think>", "{": "{", '{"name": "look_up", ': '{"name": "look_up", ', "a fence": "```json\n", "[": "[",
    "<|python_tag|>": "<|python_tag|>", "<invoke": '<invoke name="look_up">', "quotes": '"', "backslashes": "\\",
    "whitespace": " \n", "the tool's name": "look_up(",
}  # fmt: skip


@SUITE.each({f"1 MB of {name}, {'streamed' if s else 'whole'}": (text, s) for name, text in TEXTS.items() for s in (False, True)},
            reference="CWE-407; OWASP LLM10:2025", deadline_s=60)  # fmt: skip
def _texts(stage: Stage, row: tuple[str, bool]) -> Verdict:
    text, streams = row
    at = stage.use(open_gateway)

    async def repeated(exchange: Exchange) -> None:
        await send_answer(exchange, (text * (1_000_000 // len(text) + 1))[:1_000_000])

    at.upstream.behaviours["repeated"] = repeated
    return judged(at, "repeated", streams=streams, tools=True, most_mb=250.0)[0]


@SUITE.case("the limit of a response is that of the configuration", reference=LIMITS)
def _limit(stage: Stage) -> Verdict:
    at = stage.use(open_gateway)

    async def sized(exchange: Exchange) -> None:
        await send_answer(exchange, "x" * (MAX_RESPONSE_BYTES + 100_000))

    at.upstream.behaviours["sized"] = sized
    verdict, reply = judged(at, "sized", streams=False, allowed=ERRORS)
    return (
        verdict
        if "large" in reply.text or verdict.kind == "broken"
        else degraded(f"{verdict.reason}: {reply.text[:100]}")
    )
