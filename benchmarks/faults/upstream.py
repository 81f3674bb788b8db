"""An upstream that speaks chat completions and fails as scripted; standard library only.

Its model has one answer. When a request contains the beginning of it, the response is the rest, with the last words once more,
as many models do.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

try:
    from helmdeck_testing.listener import LoopListener, connected
except (
    ModuleNotFoundError
):  # other contestants run without Helmdeck; the module itself needs the standard library alone
    sys.path.append(str(Path(__file__).resolve().parents[2] / "plugins" / "helmdeck_testing"))
    from listener import LoopListener, connected  # type: ignore[no-redef, import-not-found]

from benchmarks.faults.replies import HANG_UP, IN_MID_STREAM, Fault, at_once, whole

ANSWER = " ".join(
    f"{number}. The tide of day {number} rises at {number * 37 % 24}:{number * 17 % 60:02}." for number in range(1, 25)
)
"""Every sentence is unique, so that lost and repeated text shows."""
REPEATED_CHARS = 12
"""Characters that a continuation says once more."""
TLS_HANDSHAKE = b"\x16"
"""The first byte of a client that speaks HTTPS, which this server does not."""
COMMENT_S = 1.0
"""Seconds between two comments of a stream that has nothing else."""
READ_BYTES, READ_PAUSE_S = 65_536, 0.05
"""How a server with a slow connection reads a request."""


class Upstream:
    """A server for an ``async with`` block.

    :param faults: of the requests in order; the last one applies again and again.
    :param prefill_status: status of the response to a request whose last message is the model's own.
    :param key_faults: faults of the requests with an API key; they take precedence.
    :ivar requests: the bodies received so far.
    :ivar keys: the API keys of the requests, in the same order; ``heads`` has their headers, and ``times_s`` when they were
        answered, on the clock of the event loop.
    """

    def __init__(
        self,
        faults: Sequence[Fault] = ("good",),
        *,
        prefill_status: int = 200,
        key_faults: Mapping[str, Fault] | None = None,
    ) -> None:
        self.faults = list(faults)
        self.prefill_status = prefill_status
        self.key_faults = dict(key_faults or {})
        self.keys: list[str] = []
        self.heads: list[bytes] = []
        self.times_s: list[float] = []
        self.requests: list[dict[str, Any]] = []
        self.port = 0
        self._listener = LoopListener(self._serve)

    async def __aenter__(self) -> Self:
        self._listener.start()
        self.port = self._listener.port
        if self.faults[0] == "refused":
            await self._listener.close()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.close()

    @property
    def first_pause_s(self) -> float:
        """Seconds between the first two requests; 0 for fewer."""
        return self.times_s[1] - self.times_s[0] if len(self.times_s) > 1 else 0.0

    @property
    def base_url(self) -> str:
        """The base URL of its API."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self, client: socket.socket) -> None:
        async with connected(sock=client) as (reader, writer):
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                await self._answer_requests(reader, writer)

    async def _answer_requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            if (first := await reader.readexactly(1)) == TLS_HANDSHAKE:
                writer.write(whole("", 400))
                return
            head = first + await reader.readuntil(b"\r\n\r\n")
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            fault = self.faults[min(len(self.requests), len(self.faults) - 1)]
            size = int(lengths[0].partition(b":")[2]) if lengths else 0
            body = await (_read_slowly(reader, size) if fault == "slow upload" else reader.readexactly(size))
            request = json.loads(body or b"{}")
            self.requests.append(request)
            self.heads.append(head)
            self.times_s.append(asyncio.get_running_loop().time())
            self.keys.append(head.partition(b"Bearer ")[2].partition(b"\r")[0].decode())
            fault = self.key_faults.get(self.keys[-1], fault)
            if request["messages"][-1]["role"] == "assistant" and self.prefill_status != 200:
                error = {
                    "error": {"message": "the last message must be from the user", "type": "invalid_request_error"}
                }
                writer.write(whole(json.dumps(error), self.prefill_status))
            elif not await self._answer(request, fault, writer):
                return

    async def _answer(self, request: Mapping[str, Any], fault: Fault, writer: asyncio.StreamWriter) -> bool:
        """Write the response; return whether the connection stays open."""
        if fault == "silent":
            await asyncio.Event().wait()
        if fault in HANG_UP:
            return await _end(fault.partition(" ")[0], writer)
        if reply := at_once(fault):
            writer.write(reply)
            return True
        if fault == "100 Continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        text = "" if fault == "empty answer" else continuation(request)
        streams = bool(request.get("stream"))
        events = _events(text) if streams else [json.dumps(_completion(text)).encode()]
        head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-type: "
        writer.write(head + (b"text/event-stream" if streams else b"application/json") + b"\r\n\r\n")
        await writer.drain()
        if fault == "only comments":
            while True:
                writer.write(_chunk(b": working\n\n" if streams else b" "))
                await writer.drain()
                await asyncio.sleep(COMMENT_S)
        if fault in ("silent after the headers", "error in 200"):
            if fault.startswith("silent"):
                await asyncio.Event().wait()
            error = json.dumps({"error": {"message": "the upstream failed", "code": 500}}).encode()
            writer.write(_chunk(b"data: %b\n\n" % error if streams else error) + b"0\r\n\r\n")
            return True
        sent = events
        if fault in IN_MID_STREAM:
            count = 3 if fault == "stalled after each chunk" else len(events) // 2
            sent = events[:count] if streams else [events[0][: len(events[0]) // 2]]
        for event in sent:
            writer.write(_chunk(event))
            await writer.drain()
            await asyncio.sleep(0)
        return await _end(fault, writer)


async def _end(fault: Fault, writer: asyncio.StreamWriter) -> bool:
    if fault.startswith("stalled"):
        await asyncio.Event().wait()
    if fault in ("reset", "closed"):
        await _delivered(writer)
        if fault == "reset":
            plug = writer.get_extra_info("socket")
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        return False
    if fault == "damaged event":
        writer.write(_chunk(b'data: {"choices": [{"delta": {"conte\n\n'))
    if fault == "error event":
        writer.write(_chunk(b'data: {"error": {"message": "the upstream failed", "code": 500}}\n\n'))
    writer.write(b"0\r\n\r\n")
    if fault == "closed after the answer":
        await _delivered(writer)
        return False
    return True


async def _read_slowly(reader: asyncio.StreamReader, size: int) -> bytes:
    """Read a request in parts, with a pause after each."""
    parts = []
    while size > 0:
        parts.append(await reader.readexactly(min(READ_BYTES, size)))
        size -= len(parts[-1])
        await asyncio.sleep(READ_PAUSE_S)
    return b"".join(parts)


async def _delivered(writer: asyncio.StreamWriter) -> None:
    """Let the client read the response so far, which a reset would discard."""
    await writer.drain()
    for _ in range(50):
        await asyncio.sleep(0)


def continuation(request: Mapping[str, Any]) -> str:
    """What the model writes: its answer, or the rest of it."""
    for message in reversed(request["messages"]):
        if message["role"] == "assistant" and message["content"]:
            begun = len(_text(message["content"]).rstrip())
            return ANSWER[max(0, begun - (0 if message is request["messages"][-1] else REPEATED_CHARS)) :]
    return ANSWER


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _completion(text: str) -> Mapping[str, Any]:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 20, "completion_tokens": len(text) // 4, "total_tokens": 20 + len(text) // 4}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def _events(text: str) -> list[bytes]:
    """The answer as events of some words each, with its end."""
    base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas: list[tuple[dict[str, str], str | None]] = [({"role": "assistant", "content": ""}, None)]
    deltas += [({"content": text[start : start + 20]}, None) for start in range(0, len(text), 20)]
    deltas.append(({}, "stop"))
    choices = [{"index": 0, "delta": delta, "finish_reason": reason} for delta, reason in deltas]
    events = [json.dumps({**base, "choices": [choice]}) for choice in choices]
    return [f"data: {event}\n\n".encode() for event in (*events, "[DONE]")]


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)
