"""The opened catalog source ``mcp``: all configured servers in one event loop, started in parallel, or when a tool is run."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from helmdeck_core import Catalog, PackContext, SourceSettings, data_directory
from helmdeck_mcp.client.entries import SEPARATOR
from helmdeck_mcp.client.failures import ToolError, tool_error
from helmdeck_mcp.client.loop_thread import LoopThread
from helmdeck_mcp.client.options import literal_references, missing_secrets, read_servers
from helmdeck_mcp.client.tools_cache import KnownTools, ToolsCache

if TYPE_CHECKING:
    from helmdeck_mcp.client.connection import ServerConnection


class McpSource:
    """Implements ``ExecutingSource``."""

    def __init__(self, settings: SourceSettings) -> None:
        self._settings = settings
        self._options = read_servers(settings.options, settings.folder)
        self._known: dict[str, KnownTools] = {}  # of servers that are not started
        self._servers: dict[str, ServerConnection] = {}  # those that are
        self._thread: LoopThread | None = None
        self._lock = threading.Lock()
        self._is_loaded = False
        self._problem = ""

    def load(self) -> Catalog:
        """Return the entries of all servers: those whose tools are known are not started, others are, within their time.

        :raises ImportError: the extra is not installed, and a server has to be started.
        """
        for name in self._options:
            if (known := self._cache(name).read()) is not None:
                self._known[name] = known
        self._start(set(self._options) - set(self._known))
        with self._lock:
            self._is_loaded = True
            return self._catalog()

    def refresh(self) -> None:
        """Start all servers that are not, and wait for their lists of tools, each as long as its options allow.

        :raises ImportError: the extra is not installed.
        """
        self._start(self._options)

    def connect(self) -> None:
        """Start all servers that are not, without waiting for them: a process that runs for long follows their changes."""
        with contextlib.suppress(ImportError):
            self._start(self._options, waits=False)

    def _cache(self, name: str) -> ToolsCache:
        return ToolsCache(data_directory() / "mcp-tools", name, self._options[name])

    def _start(self, names: Collection[str], *, waits: bool = True) -> None:
        """Start servers; nothing happens with those that are started already."""
        if not set(names) - set(self._servers):
            return
        try:
            from helmdeck_mcp.client.connection import ServerConnection
        except ModuleNotFoundError as exc:
            self._problem = f'the extra is not installed ({exc}): pip install "helmdeck[mcp]"'
            raise ImportError(self._problem) from exc
        with self._lock:
            self._thread = self._thread or LoopThread("helmdeck mcp")
        started = self._thread.start(self._start_servers(ServerConnection, names))
        if waits:
            started.result()

    async def _start_servers(self, make: type[ServerConnection], names: Iterable[str]) -> None:
        """Start the servers, and wait for each one as long as its options allow."""
        started: list[ServerConnection] = []
        for name in self._options:
            if name in names and name not in self._servers:
                options, cache, known = self._options[name], self._cache(name), self._known.get(name)
                server = make(name, options, self._publish, self._settings.warn, cache, known)
                self._servers[name] = server
                self._started().own(asyncio.create_task(server.keep_connected()))
                started.append(server)
        await asyncio.gather(*map(self._settled, started))

    async def _settled(self, server: ServerConnection) -> None:
        timeout_s = self._options[server.name].start_timeout_s
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await server.is_settled.wait()
                return
        server.problem = f"not ready after {timeout_s:g} s; its tools are added when they arrive"
        if self._options[server.name].protocol == "auto":
            server.problem += '; if they never do, try protocol = "legacy"'
        self._settings.warn(f"{server.name}: {server.problem}")

    def _tools(self, name: str) -> ServerConnection | KnownTools:
        """The server, or what is known of it."""
        return self._servers.get(name) or self._known.get(name) or KnownTools()

    def _catalog(self) -> Catalog:
        return Catalog(entry for name in self._options for entry in self._tools(name).catalog.entries)

    def _publish(self) -> None:
        with self._lock:
            if self._is_loaded:
                self._settings.change(self._catalog())

    def status(self) -> tuple[tuple[str, int, str], ...]:
        """Return the name, the number of tools and the problem of every server; no problem is an empty string."""
        if self._problem:
            return tuple((name, 0, self._problem) for name in self._options)
        found = ((name, self._tools(name)) for name in self._options)
        return tuple((name, len(each.catalog), each.problem) for name, each in found)

    def missing(self, entry_id: str) -> ToolError | None:
        """Return why a tool of a server is not in the catalog; ``None`` if nothing is wrong with the server."""
        for name, _, problem in self.status():
            if problem and entry_id.startswith(f"{name}{SEPARATOR}"):
                return tool_error(entry_id, "server_down", problem)
        return None

    def notices(self) -> list[str]:
        """Return what prevents servers from starting and can be seen now, such as variables that are not set."""
        return [
            f"catalog.mcp.{name}.{problem}"
            for name, each in self._options.items()
            for problem in (*missing_secrets(each), *literal_references(each))
        ]

    async def run(self, entry_id: str, arguments: Mapping[str, Any], context: PackContext) -> Mapping[str, Any]:
        """Call a tool of a server.

        :returns: ``text``, ``structured`` and ``attachments``; see ``output_of``.
        :raises ToolError: with the cause.
        """
        name = entry_id.partition(SEPARATOR)[0]
        if name not in self._options:
            raise tool_error(entry_id, "server_down", "there is no server of this name")
        if name not in self._servers:
            try:
                await asyncio.to_thread(self._start, [name], waits=False)  # the first use of the library takes a second
            except ImportError as exc:
                raise tool_error(entry_id, "server_down", str(exc)) from None
        loop = asyncio.get_running_loop()
        is_running = True

        def report(message: str) -> None:
            if is_running:
                context.progress(message)

        def progress(message: str) -> None:
            with contextlib.suppress(RuntimeError):  # the loop of the caller is closed
                loop.call_soon_threadsafe(report, message)

        try:
            outcome = await asyncio.wrap_future(self._started().start(self._call(name, entry_id, arguments, progress)))
        finally:
            is_running = False
        if isinstance(outcome, ToolError):
            raise outcome
        return outcome

    async def _call(
        self, name: str, entry_id: str, arguments: Mapping[str, Any], progress: Callable[[str], None]
    ) -> Mapping[str, Any] | ToolError:
        # In the loop of the servers, where the start that was requested before has happened.
        return await self._servers[name].call(entry_id, arguments, progress)

    def _started(self) -> LoopThread:
        assert self._thread is not None
        return self._thread

    def close(self) -> None:
        """End the connections and the processes of all servers."""
        if self._thread is not None:
            self._thread.stop()
