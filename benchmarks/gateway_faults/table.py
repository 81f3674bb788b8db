"""The faults by name."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from benchmarks.gateway_faults.faults import (
    CALLS,
    END,
    ERROR,
    REASONING,
    STREAM_HEAD,
    Act,
    Script,
    Step,
    call_chunks,
    changed,
    chunk,
    comments,
    cut,
    delta,
    dripping,
    event,
    good,
    head,
    named_again,
    ok_body,
    one_message,
    other_type,
    packed,
    same,
    sized,
    status,
    steps,
    swapped,
    twice,
    with_id_again,
    with_objects,
    without,
    without_length,
)


class Fault(NamedTuple):
    """One fault.

    :ivar kinds: the kinds of answers in which it occurs.
    :ivar is_harmless: a client gets the answer from this server alone.
    """

    script: Script
    kinds: tuple[str, ...] = ("text",)
    is_harmless: bool = False


HTML = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
ENDS: Mapping[str, tuple[Step, ...]] = {
    "stall": (Act.STALL,),
    "reset": (Act.RESET,),
    "close": (Act.CLOSE,),
    "end without [DONE]": (END,),
    "[DONE] without a finish reason": (chunk(event(b"[DONE]")), END),
    "error event": (chunk(event(ERROR)), END),
    "error event and [DONE]": (chunk(event(ERROR)), chunk(event(b"[DONE]")), END),
    "half an event": (chunk(b'data: {"id": "c1", "choices": [{"index": 0, "del'), END),
    "damaged event": (chunk(b"data: {nothing}\n\n"), chunk(event(b"[DONE]")), END),
    "damaged chunk": (b"zz\r\nnot a chunk\r\n",),
    "HTML": (chunk(HTML), END),
}
PLACES = {"role": "text", "reasoning": "reasoning", "text": "text", "call 0": "calls", "call 1": "calls"}
"""Parts of an answer, and a kind that has them."""

FAULTS: Mapping[str, Fault] = {
    "none": Fault(good, ("text", "reasoning", "calls"), is_harmless=True),
    # before the response
    "refused": Fault(steps(Act.CLOSE)),  # the model of a provider whose port is closed
    "closed at once": Fault(steps(Act.CLOSE)),
    "reset at once": Fault(steps(Act.RESET)),
    "silent": Fault(steps(Act.STALL)),
    "silent after the headers": Fault(steps(STREAM_HEAD, Act.STALL)),
    "half a head": Fault(steps(b"HTTP/1.1 200 OK\r\ncontent-ty", Act.STALL)),
    "not HTTP": Fault(steps(b"\x15\x03\x01\x00\x02\x02\x16", Act.CLOSE)),
    **{f"status {code}": Fault(status(code)) for code in (408, 429, 500, 502, 503, 504, 529)},
    "429, Retry-After 1": Fault(status(429, retry_after="1")),
    "429, Retry-After 600": Fault(status(429, retry_after="600")),
    "429, Retry-After soon": Fault(status(429, retry_after="soon")),
    "429, Retry-After -5": Fault(status(429, retry_after="-5")),
    "429 with a date": Fault(status(429, retry_after="Sun, 06 Nov 2094 08:49:37 GMT")),
    "503, Retry-After 1": Fault(status(503, retry_after="1")),
    "500 with HTML": Fault(status(500, HTML)),
    "502 without a body": Fault(status(502, b"")),
    "500 that stalls": Fault(steps(head(500), chunk(b'{"error": {"mess'), Act.STALL)),
    "401": Fault(status(401)),
    "404": Fault(status(404, {"error": {"message": "no such model", "code": "model_not_found"}})),
    "204": Fault(steps(b"HTTP/1.1 204 No Content\r\n\r\n")),
    "302": Fault(status(302, b"", location="http://127.0.0.1:1/v1")),
    # errors and nonsense in a 200
    "error in 200": Fault(ok_body(ERROR)),
    "error as text in 200": Fault(ok_body({"error": "overloaded"})),
    "error list in 200": Fault(ok_body([ERROR])),
    "error event in 200": Fault(ok_body(event(ERROR), "text/event-stream")),
    "error and choices": Fault(ok_body({**ERROR, "choices": []})),
    "HTML in 200": Fault(ok_body(HTML, "text/html")),
    "HTML as a stream": Fault(ok_body(HTML, "text/event-stream")),
    **{
        f"body {data!r}": Fault(ok_body(data.encode()))
        for data in ("", "{}", "null", "[]", '{"choices": []}', "OK", '{"choi')
    },
    "empty stream": Fault(ok_body(b"", "text/event-stream")),
    "only [DONE]": Fault(ok_body(event(b"[DONE]"), "text/event-stream")),
    "only comments": Fault(ok_body(b": hello\n\n" * 3, "text/event-stream")),
    "no choices": Fault(
        changed(lambda _: [("text", {"choices": []}), ("done", b"[DONE]")], lambda body: {**body, "choices": []})
    ),
    "empty content": Fault(one_message(content="")),
    "null content": Fault(one_message(content=None)),
    "whitespace": Fault(one_message(content="  \n\n ")),
    "only reasoning": Fault(one_message(content="", reasoning_content=REASONING)),
    "only think tags": Fault(one_message(content=f"<think>{REASONING}</think>")),
    "unclosed think tag": Fault(one_message(content=f"<think>{REASONING}", finish="length")),
    "empty at the limit": Fault(one_message(content="", finish="length")),
    "finish reason error": Fault(one_message(content="", finish="error")),
    "damaged gzip": Fault(lambda request: packed(request, is_damaged=True)),
    "content length too long": Fault(sized),
    "drips past the deadline": Fault(dripping),
    "keep-alives only": Fault(comments),
    # in the middle of an answer
    **{f"{end} in {part}": Fault(cut(part, *ENDS[end]), (kind,)) for end in ENDS for part, kind in PLACES.items()},
    # oddities that lose nothing
    "gzip": Fault(packed, is_harmless=True),
    "content type text/plain": Fault(other_type("text/plain"), ("text", "calls"), is_harmless=True),
    "content type octet-stream": Fault(other_type("application/octet-stream"), is_harmless=True),
    "no content type": Fault(other_type(""), is_harmless=True),
    "HTTP/1.0": Fault(without_length, is_harmless=True),
    "whole for streamed": Fault(swapped, ("text", "reasoning", "calls"), is_harmless=True),
    "finish without [DONE]": Fault(changed(without("done"), same), ("text", "calls"), is_harmless=True),
    "usage missing": Fault(
        changed(without("usage"), lambda body: {**body, "usage": None}), ("text", "calls"), is_harmless=True
    ),
    "usage of strings": Fault(
        changed(
            lambda parts: [(n, {**d, "usage": {"prompt_tokens": "many"}} if n == "usage" else d) for n, d in parts],
            lambda body: {**body, "usage": {"prompt_tokens": "many", "completion_tokens": -4}},
        ),
        is_harmless=True,
    ),
    "control chunks twice": Fault(
        changed(twice("role", "finish", "usage", "done"), same), ("text", "calls"), is_harmless=True
    ),
    "text after [DONE]": Fault(
        changed(lambda parts: [*parts, ("text", delta({"content": "again"}))], same), is_harmless=True
    ),
    "index missing": Fault(
        changed(call_chunks(lambda _, call, __: {k: v for k, v in call.items() if k != "index"}), same),
        ("calls",),
        is_harmless=True,
    ),
    "index 0 for both": Fault(
        changed(call_chunks(lambda _, call, __: {**call, "index": 0}), same), ("calls",), is_harmless=True
    ),
    "index from 1": Fault(
        changed(call_chunks(lambda n, call, __: {**call, "index": n + 1}), same), ("calls",), is_harmless=True
    ),
    "index null": Fault(
        changed(call_chunks(lambda _, call, __: {**call, "index": None}), same), ("calls",), is_harmless=True
    ),
    "name in every chunk": Fault(changed(call_chunks(named_again), same), ("calls",), is_harmless=True),
    "id in every chunk": Fault(changed(call_chunks(with_id_again), same), ("calls",), is_harmless=True),
    "arguments as objects": Fault(
        changed(
            lambda parts: [
                parts[0],
                *(
                    (
                        f"call {n}",
                        delta(
                            {
                                "tool_calls": [
                                    {
                                        "index": n,
                                        "id": i,
                                        "type": "function",
                                        "function": {"name": "look_up", "arguments": json.loads(a)},
                                    }
                                ]
                            }
                        ),
                    )
                    for n, (i, a) in enumerate(CALLS)
                ),
                *parts[-3:],
            ],
            with_objects,
        ),
        ("calls",),
        is_harmless=True,
    ),
    "stop after calls": Fault(
        changed(lambda parts: [(n, delta({}, "stop") if n == "finish" else d) for n, d in parts], same),
        ("calls",),
        is_harmless=True,
    ),
}
