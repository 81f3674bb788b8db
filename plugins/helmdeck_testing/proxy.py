"""A TCP proxy on this machine's loopback that breaks what passes through it: resets, cuts, holds back, drips.

It runs on the event loop of whoever opens it::

    async with faulty_proxy(server.base_url, Fault(Harm.CUT, after=300)) as proxy:
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

_TICK_S = 0.02
_CHUNK = 65_536


class FaultKind(enum.Enum):
    """What is done to a connection."""

    NONE = "none"
    RESET = "reset"
    CUT = "cut"
    """It is closed as if all were said."""
    STALL = "stall"
    """It stays open, and nothing more comes."""
    DRIP = "drip"
    """The rest comes byte by byte, fifty in a second; nothing where it strikes a client that connects."""


@attrs.frozen
class Fault:
    """A fault, and where it strikes.

    :ivar after: bytes of the server's that pass before; ``None`` strikes when a client connects.
    :ivar behind: the bytes are counted from the end of the first such text on, for instance of the empty line behind
        the headers; left out, from the beginning of the connection.
    """

    harm: FaultKind = FaultKind.NONE
    after: int | None = 0
    behind: bytes = b""


class FaultyProxy:
    """A running proxy.

    :ivar base_url: the server's address with this proxy in between.
    :ivar fault: what happens to connections that are made from now on.
    :ivar open: how many clients are connected.
    """

    def __init__(self, upstream: str, fault: Fault) -> None:
        place = urlsplit(upstream)
        self.fault = fault
        self.base_url = ""
        self.open = 0
        self._upstream = (place.hostname or "127.0.0.1", place.port or 80)
        self._path = place.path
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen on a free port."""
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}{self._path}"

    async def close(self) -> None:
        """Stop, and drop every connection."""
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            with contextlib.suppress(OSError):
                await self._between(reader, writer)
        finally:
            self.open -= 1
            writer.close()

    async def _between(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.fault.after is None:
            if self.fault.harm in (FaultKind.RESET, FaultKind.CUT):
                _end(self.fault.harm, writer)
            while await reader.read(_CHUNK):  # until the client has gone
                pass
            return
        theirs, ours = await asyncio.open_connection(*self._upstream)
        answers = asyncio.create_task(self._answers(theirs, writer))
        requests = asyncio.create_task(_pass_on(reader, ours))
        try:
            # Whichever side goes first ends both.
            await asyncio.wait({answers, requests}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (answers, requests):
                task.cancel()
            await asyncio.gather(answers, requests, return_exceptions=True)
            ours.close()

    async def _answers(self, theirs: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fault, passed = self.fault, b""
        while piece := await theirs.read(_CHUNK):
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
                await asyncio.Event().wait()  # the client's going ends it
            if fault.harm is not FaultKind.DRIP:
                _end(fault.harm, writer)
                return
            for byte in passed[max(start, end) :]:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(_TICK_S)


def _end(harm: FaultKind, writer: asyncio.StreamWriter) -> None:
    if harm is FaultKind.RESET:
        plug: socket.socket = writer.get_extra_info("socket")
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    else:
        writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(_CHUNK):
        writer.write(piece)
        await writer.drain()


@contextlib.asynccontextmanager
async def faulty_proxy(upstream: str, fault: Fault | None = None) -> AsyncIterator[FaultyProxy]:
    """Stand between clients and a server for the length of an ``async with`` block.

    :param upstream: the server's base URL.
    """
    proxy = FaultyProxy(upstream, fault or Fault())
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()
