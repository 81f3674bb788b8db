"""What a failing server of chat completions writes: each fault is a script of bytes and of what happens to the connection."""

from __future__ import annotations

import enum
import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from benchmarks.faults.upstream import continuation

REASONING = "The tide follows the moon, so its hours are computed from the day. "
CALLS = (("call_a", '{"word": "tide", "most": 2}'), ("call_b", '{"word": "moon", "most": 1}'))
"""Id and arguments of the calls of ``look_up`` in an answer with tool calls."""


class Act(enum.Enum):
    """What happens to the connection in place of further bytes."""

    STALL = "stall"
    RESET = "reset"
    CLOSE = "close"


Step = bytes | Act | float
"""Bytes to write, an act, or seconds to wait."""


class UpstreamRequest(NamedTuple):
    """A request.

    :ivar kind: ``text``, ``reasoning`` (before the text) or ``calls``.
    """

    kind: str
    streams: bool
    body: Mapping[str, Any]


Script = Callable[[UpstreamRequest], Iterable[Step]]


# -- the answer ------------------------------------------------------------------------------------------------


def chunk(data: bytes) -> bytes:
    """Return one chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def head(status: int = 200, kind: str = "application/json", **headers: str) -> bytes:
    """Return the head of a chunked response."""
    lines = {"content-type": kind, "transfer-encoding": "chunked", **headers}
    text = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} Status\r\n{text}\r\n".encode()


END = b"0\r\n\r\n"
STREAM_HEAD = head(kind="text/event-stream")
ERROR = {"error": {"message": "the model crashed", "type": "server_error", "code": 500}}


def event(data: Any) -> bytes:
    """Return one server-sent event."""
    return b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n"


def delta(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
    """Return one chunk of a chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def call_delta(index: int | None, arguments: str, **more: Any) -> dict[str, Any]:
    """Return one chunk of a tool call."""
    function = {"arguments": arguments, **({"name": more.pop("name")} if "name" in more else {})}
    place = {} if index is None else {"index": index}
    return delta({"tool_calls": [{**place, **more, "function": function}]})


USAGE = {"prompt_tokens": 20, "completion_tokens": 200, "total_tokens": 220}
Parts = list[tuple[str, Any]]
"""The data of the events of an answer, each with the name of its part."""


def parts_of(request: UpstreamRequest) -> Parts:
    """Return the events of a good answer."""
    parts: Parts = [("role", delta({"role": "assistant", "content": ""}))]
    if request.kind == "reasoning":
        parts += [
            ("reasoning", delta({"reasoning_content": REASONING[i : i + 10]})) for i in range(0, len(REASONING), 10)
        ]
    if request.kind == "calls":
        for index, (call_id, arguments) in enumerate(CALLS):
            parts.append((f"call {index}", call_delta(index, "", id=call_id, type="function", name="look_up")))
            parts += [(f"call {index}", call_delta(index, arguments[i : i + 6])) for i in range(0, len(arguments), 6)]
    else:
        text = continuation(request.body)
        parts += [("text", delta({"content": text[i : i + 20]})) for i in range(0, len(text), 20)]
    parts.append(("finish", delta({}, "tool_calls" if request.kind == "calls" else "stop")))
    parts.append(("usage", {**delta({}), "choices": [], "usage": USAGE}))
    return [*parts, ("done", b"[DONE]")]


def completion(request: UpstreamRequest, **changes: Any) -> dict[str, Any]:
    """Return a good whole answer."""
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if request.kind == "calls":
        message["tool_calls"] = [
            {"id": call_id, "type": "function", "function": {"name": "look_up", "arguments": arguments}}
            for call_id, arguments in CALLS
        ]
    else:
        message["content"] = continuation(request.body)
    if request.kind == "reasoning":
        message["reasoning_content"] = REASONING
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if request.kind == "calls" else "stop"}
    frame = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}
    return {**frame, **changes}


def streamed(parts: Parts, first: bytes = STREAM_HEAD) -> Iterator[bytes]:
    """Yield a whole stream."""
    yield first
    for _, data in parts:
        yield chunk(event(data))
    yield END


def good(request: UpstreamRequest) -> Iterator[Step]:
    """Answer."""
    if request.streams:
        yield from streamed(parts_of(request))
    else:
        yield from (head(), chunk(json.dumps(completion(request)).encode()), END)


# -- faults ----------------------------------------------------------------------------------------------------


def steps(*fixed: Step) -> Script:
    """Return a fault that writes the same for every request."""
    return lambda _: fixed


def status(code: int, body: Any = ERROR, **headers: str) -> Script:
    """Return a response with an error status."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return steps(
        head(code, "text/html" if data.startswith(b"<") else "application/json", **headers),
        chunk(data) if data else b"",
        END,
    )


def ok_body(data: Any, kind: str = "application/json") -> Script:
    """Return a response with status 200 and a body of its own."""
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return steps(head(kind=kind), chunk(raw) if raw else b"", END)


def changed(change: Callable[[Parts], Parts], whole: Callable[[dict[str, Any]], Any]) -> Script:
    """Return a fault that changes the events of a stream, and the body of a whole answer."""

    def script(request: UpstreamRequest) -> Iterator[Step]:
        if request.streams:
            yield from streamed(change(parts_of(request)))
        else:
            yield from (head(), chunk(json.dumps(whole(completion(request))).encode()), END)

    return script


def cut(part: str, *ends: Step) -> Script:
    """Return a fault in the middle of a part, or of an answer that has no such part; a whole answer is truncated in the middle."""

    def script(request: UpstreamRequest) -> Iterator[Step]:
        if request.streams:
            parts = parts_of(request)
            places = [number for number, (name, _) in enumerate(parts) if name == part] or [*range(len(parts) - 2)]
            *most, _ = streamed(parts[: places[len(places) // 2] + (len(places) == 1)])
            yield from most
        else:
            data = json.dumps(completion(request)).encode()
            yield from (head(), chunk(data[: len(data) // 2]))
        yield 0.01  # the client reads what has arrived, which a reset would discard
        yield from ends

    return script


def packed(request: UpstreamRequest, *, is_damaged: bool = False) -> Iterator[Step]:
    """Answer in gzip, which was not requested."""
    if request.streams:
        data = b"".join(event(each) for _, each in parts_of(request))
    else:
        data = json.dumps(completion(request)).encode()
    raw = gzip.compress(data)
    yield head(kind="text/event-stream" if request.streams else "application/json", content_encoding="gzip")
    raw = raw[: len(raw) // 2] + b"\0" * 40 if is_damaged else raw
    yield from (*(chunk(raw[i : i + 300]) for i in range(0, len(raw), 300)), END)


def other_type(kind: str) -> Script:
    """Answer with another content type."""

    def script(request: UpstreamRequest) -> Iterator[Step]:
        if request.streams:
            yield from streamed(parts_of(request), head(kind=kind))
        else:
            yield from (head(kind=kind), chunk(json.dumps(completion(request)).encode()), END)

    return script


def swapped(request: UpstreamRequest) -> Iterator[Step]:
    """Send a whole answer where a stream was requested, and the other way round."""
    return good(request._replace(streams=not request.streams))


def dripping(request: UpstreamRequest) -> Iterator[Step]:
    """Send one character after the other, always within the idle timeout, past every deadline."""
    yield STREAM_HEAD if request.streams else head()
    text = continuation(request.body)
    for character in text:
        yield from (0.5, chunk(event(delta({"content": character})) if request.streams else b" "))


def comments(request: UpstreamRequest) -> Iterator[Step]:
    """Send keep-alives only."""
    yield STREAM_HEAD if request.streams else head()
    while True:
        yield from (0.4, chunk(b": keep-alive\n\n" if request.streams else b" "))


def sized(request: UpstreamRequest) -> Iterator[Step]:
    """Announce a longer body than is sent."""
    data = b"".join(event(each) for _, each in parts_of(request)[:-3])
    data = data if request.streams else json.dumps(completion(request)).encode()
    kind = "text/event-stream" if request.streams else "application/json"
    yield f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(data) + 500}\r\n\r\n".encode() + data
    yield from (0.01, Act.CLOSE)


def without_length(request: UpstreamRequest) -> Iterator[Step]:
    """Answer as HTTP/1.0: the end of the connection is that of the body."""
    data = b"".join(event(each) for _, each in parts_of(request))
    data = data if request.streams else json.dumps(completion(request)).encode()
    kind = "text/event-stream" if request.streams else "application/json"
    yield from (f"HTTP/1.0 200 OK\r\ncontent-type: {kind}\r\n\r\n".encode() + data, Act.CLOSE)


def one_message(**message: Any) -> Script:
    """Answer with a message of its own, and a finish reason."""
    finish = message.pop("finish", "stop")

    def whole(body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}]}

    def change(parts: Parts) -> Parts:
        return [("text", delta(message)), ("finish", delta({}, finish)), parts[-1]]

    return changed(change, whole)


def without(*names: str) -> Callable[[Parts], Parts]:
    """Leave parts out."""
    return lambda parts: [part for part in parts if part[0] not in names]


def call_chunks(change: Callable[[int, dict[str, Any], bool], dict[str, Any]]) -> Callable[[Parts], Parts]:
    """Change the data of each chunk of a tool call; the second parameter is whether it is the first of its call."""

    def changed_parts(parts: Parts) -> Parts:
        out: Parts = []
        for name, data in parts:
            if name.startswith("call"):
                (call,) = data["choices"][0]["delta"]["tool_calls"]
                data = delta({"tool_calls": [change(int(name[5:]), dict(call), "id" in call)]})
            out.append((name, data))
        return out

    return changed_parts


def same(body: dict[str, Any]) -> dict[str, Any]:
    """Leave a whole answer as it is."""
    return body


def twice(*names: str) -> Callable[[Parts], Parts]:
    """Send parts twice."""
    return lambda parts: [each for part in parts for each in ([part, part] if part[0] in names else [part])]


def with_objects(body: dict[str, Any]) -> dict[str, Any]:
    """Return a whole answer whose arguments are objects."""
    for call in body["choices"][0]["message"]["tool_calls"]:
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return body


def named_again(_: int, call: dict[str, Any], is_first: bool) -> dict[str, Any]:
    """Repeat the name of a call."""
    return call if is_first else {**call, "function": {"name": "look_up", **call["function"]}}


def with_id_again(number: int, call: dict[str, Any], _: bool) -> dict[str, Any]:
    """Repeat the id of a call."""
    return {**call, "id": CALLS[number][0], "type": "function"}
