"""A provider that misbehaves: the name of the model selects what it does with the connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import attrs

Behave = Callable[["Exchange"], Awaitable[None]]
CHUNK = 65_536


@attrs.define
class Exchange:
    """One request of the gateway.

    :ivar ended_s: monotonic time at which the gateway closed the connection or the response was complete.
    :ivar sent: bytes that were sent.
    """

    model: str
    head: bytes
    body: dict[str, Any]
    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader
    begun_s: float = attrs.field(factory=time.monotonic)
    ended_s: float | None = None
    sent: int = 0
    was_closed: bool = False

    @property
    def streams(self) -> bool:
        """Whether a stream was requested."""
        return bool(self.body.get("stream"))

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        self.writer.write(data)
        await self.writer.drain()
        self.sent += len(data)

    async def respond(
        self, body: bytes, kind: str = "application/json", *, headers: str = "", status: str = "200 OK"
    ) -> None:
        """Send a whole response."""
        head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{headers}\r\n"
        await self.write(head.encode("latin-1") + body)

    async def start_events(self, headers: str = "") -> None:
        """Send the head of a stream that ends with its connection."""
        await self.write(
            f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n{headers}\r\n".encode()
        )

    async def event(self, data: Any) -> None:
        """Send an event."""
        await self.write(b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n")

    async def close(self) -> None:
        """Close the connection."""
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


def completion(text: str = "hello", usage: Any = None, **message: Any) -> dict[str, Any]:
    """A whole chat completion."""
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8} if usage is None else usage
    reason = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": text, **message}}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def chunk(text: str | None = None, *, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """A chunk of a chat completion."""
    delta = {} if text is None else {"content": text}
    choice = {"index": 0, "delta": {**delta, **fields.pop("delta", {})}, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice], **fields}


async def send_answer(exchange: Exchange, text: str = "hello", usage: Any = None) -> None:
    """Send a good answer, whole or streamed."""
    if not exchange.streams:
        await exchange.respond(json.dumps(completion(text, usage)).encode())
        return
    await exchange.start_events()
    await exchange.event(chunk(text))
    await exchange.event(chunk(finish="stop"))
    counts = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8} if usage is None else usage
    if counts != {}:
        await exchange.event({**chunk(), "choices": [], "usage": counts})
    await exchange.event(b"[DONE]")
    await exchange.close()


class HostileUpstream:
    """The provider, on an event loop in a thread of its own.

    :ivar behaviours: by the name of the model; ``ok`` answers.
    :ivar exchanges: all requests so far.
    """

    def __init__(self) -> None:
        self.behaviours: dict[str, Behave] = {"ok": send_answer}
        self.exchanges: list[Exchange] = []
        self.connections = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self.port = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        self._ready.wait()

    @property
    def base_url(self) -> str:
        """Its URL for a provider of the kind ``openai-compatible``."""
        return f"http://127.0.0.1:{self.port}/v1"

    def of(self, model: str) -> list[Exchange]:
        """The requests for a model."""
        return [each for each in self.exchanges if each.model == model]

    def close(self) -> None:
        """Stop, and abort all connections."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)

        async def start() -> None:
            server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=2**20)
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()

        self._loop.run_until_complete(start())
        self._loop.run_forever()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(
            OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError
        ):
            async for exchange in self._requests(reader, writer):
                try:
                    await self.behaviours.get(exchange.model, send_answer)(exchange)
                except OSError:
                    exchange.was_closed = True
                    raise
                finally:
                    exchange.ended_s = time.monotonic()
        writer.close()

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncIterator[Exchange]:
        while not writer.is_closing():
            head = await reader.readuntil(b"\r\n\r\n")
            lines = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:] if b": " in line)
            raw = await reader.readexactly(int(lines.get(b"content-length", 0)))
            body = json.loads(raw) if raw else {}
            exchange = Exchange(str(body.get("model", "")), head, body, writer, reader)
            self.exchanges.append(exchange)
            yield exchange


@contextlib.contextmanager
def hostile_upstream() -> Iterator[HostileUpstream]:
    """Run the provider within a ``with`` block."""
    upstream = HostileUpstream()
    try:
        yield upstream
    finally:
        upstream.close()


async def until_closed(exchange: Exchange, limit_s: float = 30.0) -> None:
    """Wait until the gateway closes the connection."""
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(limit_s):
            while await exchange.reader.read(CHUNK):
                pass
        exchange.was_closed = True
        exchange.ended_s = time.monotonic()
