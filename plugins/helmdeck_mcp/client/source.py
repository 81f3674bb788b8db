"""The opened catalog source ``mcp``: all configured servers in one event loop, started in parallel."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from helmdeck_core import Catalog, PackContext, SourceSettings
from helmdeck_mcp.client.entries import SEPARATOR
from helmdeck_mcp.client.failures import ToolError, tool_error
from helmdeck_mcp.client.loop_thread import LoopThread
from helmdeck_mcp.client.options import missing_secrets, read_servers

if TYPE_CHECKING:
    from helmdeck_mcp.client.server import Server


class McpSource:
    """Implements ``ExecutingSource``."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._options = read_servers(settings.options, settings.folder)
        self._servers: dict[str, Server] = {}
        self._thread: LoopThread | None = None
        self._lock = threading.Lock()
        self._is_loaded = False
        self._problem = ""

    def load(self) -> Catalog:
        """Start all servers, and return the entries of those that answer within their time.

        :raises ImportError: the extra is not installed.
        """
        try:
            from helmdeck_mcp.client.server import Server
        except ModuleNotFoundError as exc:
            self._problem = f'the extra is not installed ({exc}): pip install "helmdeck[mcp]"'
            raise ImportError(self._problem) from exc
        self._thread = LoopThread("helmdeck mcp")
        self._thread.start(self._start(Server)).result()
        with self._lock:
            self._is_loaded = True
            return self._catalog()

    async def _start(self, make: type[Server]) -> None:
        """Start the servers, and wait for each one as long as its options allow."""
        for name, options in self._options.items():
            self._servers[name] = make(name, options, self._publish, self._settings.warn)
        self._tasks = [asyncio.create_task(server.keep_connected()) for server in self._servers.values()]
        await asyncio.gather(*map(self._settled, self._servers.values()))

    async def _settled(self, server: Server) -> None:
        timeout_s = self._options[server.name].start_timeout_s
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await server.is_settled.wait()
                return
        server.problem = f"not ready after {timeout_s:g} s; its tools are added when they arrive"
        self._settings.warn(f"{server.name}: {server.problem}")

    def _catalog(self) -> Catalog:
        return Catalog(entry for server in self._servers.values() for entry in server.catalog.entries)

    def _publish(self) -> None:
        with self._lock:
            if self._is_loaded:
                self._settings.change(self._catalog())

    def status(self) -> tuple[tuple[str, int, str], ...]:
        """Return the name, the number of tools and the problem of every server; no problem is an empty string."""
        if self._problem:
            return tuple((name, 0, self._problem) for name in self._options)
        return tuple((each.name, len(each.catalog), each.problem) for each in self._servers.values())

    def notices(self) -> list[str]:
        """Return what prevents servers from starting and can be seen now, such as variables that are not set."""
        return [
            f"catalog.mcp.{name}.{problem}" for name, each in self._options.items() for problem in missing_secrets(each)
        ]

    async def run(self, entry_id: str, arguments: Mapping[str, Any], context: PackContext) -> Mapping[str, Any]:
        """Call a tool of a server.

        :returns: ``text``, ``structured`` and ``attachments``; see ``output_of``.
        :raises ToolError: with the cause.
        """
        server = self._servers.get(entry_id.partition(SEPARATOR)[0])
        if server is None or self._thread is None:
            raise tool_error(entry_id, "server_down", "there is no server of this name")
        loop = asyncio.get_running_loop()
        is_running = True

        def report(message: str) -> None:
            if is_running:
                context.progress(message)

        def progress(message: str) -> None:
            with contextlib.suppress(RuntimeError):  # the loop of the caller is closed
                loop.call_soon_threadsafe(report, message)

        try:
            outcome = await asyncio.wrap_future(self._thread.start(server.call(entry_id, arguments, progress)))
        finally:
            is_running = False
        if isinstance(outcome, ToolError):
            raise outcome
        return outcome

    def close(self) -> None:
        """End the connections and the processes of all servers."""
        if self._thread is not None:
            self._thread.stop()
