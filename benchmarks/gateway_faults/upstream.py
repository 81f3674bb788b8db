"""A server of chat completions whose models fail as scripted: the name of a model chooses its faults."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Self

from benchmarks.gateway_faults.faults import Act, UpstreamRequest
from benchmarks.gateway_faults.table import FAULTS
from helmdeck_testing.listener import LoopListener, connected

Plan = tuple[str, Sequence[str]]
"""The kind of a model's answers, and its faults by request; the last one applies again and again."""


class ScriptedUpstream:
    """The server, for an ``async with`` block.

    :param plans: by the name of the model.
    :ivar requests: number of requests by model.
    """

    def __init__(self, plans: Mapping[str, Plan]) -> None:
        self.plans = plans
        self.requests: Counter[str] = Counter()
        self._listener = LoopListener(self._serve)

    async def __aenter__(self) -> Self:
        self._listener.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.close()

    @property
    def base_url(self) -> str:
        """The base URL of its API."""
        return f"http://127.0.0.1:{self._listener.port}/v1"

    async def _serve(self, client: socket.socket) -> None:
        async with connected(sock=client) as (reader, writer):
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                while await self._answer(reader, writer):
                    pass

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Respond to a request; return whether the connection stays open."""
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        _, _, length = head.partition(b"content-length:")
        body = json.loads(await reader.readexactly(int(length.partition(b"\r")[0] or 0)) or b"{}")
        model = body.get("model", "")
        if model not in self.plans:  # a list of models
            writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            return True
        kind, faults = self.plans[model]
        fault = FAULTS[faults[min(self.requests[model], len(faults) - 1)]]
        self.requests[model] += 1
        for step in fault.script(UpstreamRequest(kind, bool(body.get("stream")), body)):
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
            elif isinstance(step, float):
                await asyncio.sleep(step)
            elif step is Act.STALL:
                await asyncio.Event().wait()
            else:
                if step is Act.RESET:
                    raw = writer.get_extra_info("socket")
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    writer.transport.abort()
                return False
        return True
