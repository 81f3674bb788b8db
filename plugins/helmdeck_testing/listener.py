"""A listening socket on the event loop of a test; every connection that it accepted is closed before ``close`` returns."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

Serve = Callable[[socket.socket], Coroutine[Any, Any, None]]
"""Serves an accepted connection; ends at once when it is cancelled."""


class LoopListener:
    """Accepts connections on the loopback interface.

    ``asyncio.Server`` of Python 3.11 loses a connection that it accepts while it is closed, and does not wait for the others.

    :ivar port: the port it listens on, 0 before ``start``.
    """

    def __init__(self, serve: Serve) -> None:
        self.port: int = 0
        self._serve = serve
        self._listening: socket.socket | None = None
        self._running: dict[asyncio.Task[None], socket.socket] = {}

    def start(self, host: str = "127.0.0.1") -> None:
        """Listen on a free port."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listening = socket.create_server((host, 0), family=family, backlog=128)
        self._listening.setblocking(False)
        self.port = self._listening.getsockname()[1]
        asyncio.get_running_loop().add_reader(self._listening, self._accept)

    async def close(self) -> None:
        """Stop, cancel the functions that serve, and wait until their connections are closed."""
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening)
            self._listening.close()
            self._listening = None
        running = dict(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        # A transport that was cancelled while it was made is closed in the next iterations of the loop.
        for _ in range(3):
            await asyncio.sleep(0)
        for connection in running.values():  # a task that was cancelled before its first step never used it
            connection.close()

    def _accept(self) -> None:
        assert self._listening is not None
        with contextlib.suppress(BlockingIOError, ConnectionAbortedError):
            connection, _ = self._listening.accept()
            connection.setblocking(False)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # send each chunk immediately
            task = asyncio.get_running_loop().create_task(self._run(connection))
            self._running[task] = connection
            task.add_done_callback(self._running.pop)

    async def _run(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            await self._serve(connection)


@contextlib.asynccontextmanager
async def connected(
    host: str | None = None, port: int | None = None, *, sock: socket.socket | None = None
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a connection, or use an accepted one; it is closed when the block ends, and aborted when the task is cancelled."""
    reader, writer = await asyncio.open_connection(host, port, sock=sock)
    try:
        yield reader, writer
        writer.close()
        await writer.wait_closed()
    finally:
        writer.transport.abort()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
