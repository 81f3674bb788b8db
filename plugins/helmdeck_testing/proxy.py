"""A TCP proxy on the loopback interface that injects faults: resets, closed, stalled and slow connections.

It runs on the event loop of the caller::

    async with faulty_proxy(server.base_url, Fault(FaultKind.CUT, after=300)) as proxy:
        config = {"providers": {"acme": {"base_url": proxy.base_url}}}
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import socket
import struct
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import attrs

from helmdeck_testing.listener import LoopListener, connected

_TICK_S = 0.02
_CHUNK = 65_536


class FaultKind(enum.Enum):
    """The kind of a fault."""

    NONE = "none"
    RESET = "reset"
    CUT = "cut"
    """The connection is closed normally."""
    STALL = "stall"
    """The connection stays open without any more data."""
    DRIP = "drip"
    """The rest is sent at fifty bytes per second; no effect on connecting clients."""


@attrs.frozen
class Fault:
    """A fault and its position.

    :ivar after: number of response bytes before the fault; ``None`` for a fault on connect.
    :ivar behind: bytes are counted from the end of the first occurrence of this, for example of the empty line after the
        headers; by default from the start of the connection.
    """

    harm: FaultKind = FaultKind.NONE
    after: int | None = 0
    behind: bytes = b""


class FaultyProxy:
    """A running proxy.

    :ivar base_url: the server's URL through this proxy.
    :ivar fault: fault of new connections.
    :ivar open: number of connected clients.
    """

    def __init__(self, upstream: str, fault: Fault) -> None:
        url = urlsplit(upstream)
        self.fault = fault
        self.base_url: str = ""
        self.open: int = 0
        self._upstream = (url.hostname or "127.0.0.1", url.port or 80)
        self._path = url.path
        self._listener = LoopListener(self._serve)

    async def start(self) -> None:
        """Listen on a free port."""
        self._listener.start()
        self.base_url = f"http://127.0.0.1:{self._listener.port}{self._path}"

    async def close(self) -> None:
        """Stop, and wait until all connections are closed."""
        await self._listener.close()

    async def _serve(self, client: socket.socket) -> None:
        self.open += 1
        try:
            async with connected(sock=client) as (reader, writer):
                with contextlib.suppress(OSError):
                    await self._relay(reader, writer)
        finally:
            self.open -= 1

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.fault.after is None:
            if self.fault.harm in (FaultKind.RESET, FaultKind.CUT):
                _end(self.fault.harm, writer)
            while await reader.read(_CHUNK):  # until the client disconnects
                pass
            return
        async with connected(*self._upstream) as (upstream_reader, upstream_writer):
            responses = asyncio.create_task(self._relay_response(upstream_reader, writer))
            requests = asyncio.create_task(_copy(reader, upstream_writer))
            try:
                # The first side to close ends both.
                await asyncio.wait({responses, requests}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (responses, requests):
                    task.cancel()
                await asyncio.gather(responses, requests, return_exceptions=True)
                upstream_writer.transport.abort()  # the rest of a request is of no use to a closed connection

    async def _relay_response(self, upstream_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fault, passed = self.fault, b""
        while piece := await upstream_reader.read(_CHUNK):
            start = len(passed)
            passed += piece
            place = passed.find(fault.behind)
            end = place + len(fault.behind) + (fault.after or 0)
            if fault.harm is FaultKind.NONE or place < 0 or end > len(passed):
                writer.write(piece)
                await writer.drain()
                continue
            writer.write(piece[: max(0, end - start)])
            await writer.drain()
            if fault.harm is FaultKind.STALL:
                await asyncio.Event().wait()  # until the client disconnects
            if fault.harm is not FaultKind.DRIP:
                _end(fault.harm, writer)
                return
            for byte in passed[max(start, end) :]:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(_TICK_S)


def _end(harm: FaultKind, writer: asyncio.StreamWriter) -> None:
    if harm is FaultKind.RESET:
        connection: socket.socket = writer.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    else:
        writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_CHUNK):
        writer.write(piece)
        await writer.drain()


@contextlib.asynccontextmanager
async def faulty_proxy(upstream: str, fault: Fault | None = None) -> AsyncIterator[FaultyProxy]:
    """Run a proxy in front of a server within an ``async with`` block.

    :param upstream: the server's base URL.
    """
    proxy = FaultyProxy(upstream, fault or Fault())
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()
