"""A server that answers at once, in a process of its own, so that what is measured is the client.

python -m benchmarks.overhead.server      # prints its port
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
from collections.abc import Iterator
from typing import Any

from benchmarks.overhead.streams import DRIP_S, WIRES, written

PLAN = {
    "steps": [{"order": 1, "tool": "blog.draft", "args": {"brief": "tea"}, "rationale": "it drafts"}],
    "complexity": "single-action",
    "reasoning": "one entry does it",
}

SLOW_S = 0.1
"""How long an answer takes whose path has a part ``slow``, so that many calls wait for theirs at once."""


def _answer() -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": json.dumps(PLAN)}, "finish_reason": "stop"}
    counts = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}
    frame = {"id": "c1", "object": "chat.completion", "created": 1, "model": "fast", "choices": [choice]}
    body = json.dumps({**frame, "usage": counts}).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


_ASKED = re.compile(r"(?P<kind>text|reasoning|drip)-pieces-(?P<pieces>[0-9]+)")
_written = functools.lru_cache(written)


class Server(asyncio.Protocol):
    """One connection; the answers are ready."""

    answer = _answer()

    def __init__(self) -> None:
        self._got = bytearray()
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what to write to."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        self._got += data
        while (end := self._got.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._got[:end]).lower()
            _, _, length = head.partition(b"content-length:")
            whole = end + 4 + int(length.split(b"\r\n", 1)[0] or 0)
            if len(self._got) < whole:
                return
            body = bytes(self._got[end + 4 : whole])
            path = bytes(self._got).split(b" ", 2)[1].decode()
            del self._got[:whole]
            asked = _ASKED.search(path) or _ASKED.search(body.decode())
            if asked is None:
                if "/slow/" in path:
                    asyncio.get_running_loop().call_later(SLOW_S, self._transport.write, self.answer)
                else:
                    self._transport.write(self.answer)
                return
            # The model's name says what is streamed.
            name = next(name for name, wire in WIRES.items() if wire.path.rpartition("}")[2] in path)
            writes = _written(name, asked["kind"], int(asked["pieces"]))
            if asked["kind"] == "drip":
                self._drip(iter(writes))
            else:
                self._transport.writelines(writes)

    def _drip(self, writes: Iterator[bytes]) -> None:
        for data in writes:
            self._transport.write(data)
            asyncio.get_running_loop().call_later(DRIP_S, self._drip, writes)
            break


async def main() -> None:
    """Serve until the process is ended."""
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
