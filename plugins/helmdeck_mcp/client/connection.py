"""One server: connects, lists its tools, calls them, and connects again after a failure with growing intervals."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pydantic
from mcp import Client, MCPError, types
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

from helmdeck_core import Catalog, Secrets, quoted
from helmdeck_mcp.client.entries import catalog_of, clean_text
from helmdeck_mcp.client.failures import ToolError, tool_error
from helmdeck_mcp.client.http_transport import BROKEN_TEXTS, TOO_LARGE_TEXTS, HttpServer, http_streams
from helmdeck_mcp.client.messages import (
    CALL_LOST,
    RAW_KEY,
    SESSION_LOST,
    TOO_LARGE,
    UNAUTHORIZED,
    UNAVAILABLE,
    UNREADABLE,
)
from helmdeck_mcp.client.options import MissingSecretError, ServerOptions, resolved, secrets_of
from helmdeck_mcp.client.results import failure_of, output_of
from helmdeck_mcp.client.stdio_transport import ProcessEnd, process_streams
from helmdeck_mcp.client.tools_cache import KnownTools, ToolsCache

CONNECT_TIMEOUT_S = 120.0
"""Seconds until an attempt to connect ends and another one starts; a program that is installed at its first start is slow."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 60.0
"""Interval before the next connection; it doubles with every failure in a row."""

STEADY_S = 10.0
"""A connection of this many seconds ends the row of failures."""

RELIST_PAUSE_S = 0.5
"""Seconds between two lists of tools, for a server that reports changes all the time."""

KEEP_PAUSE_S = 60.0
"""Seconds between two lists that are written to the cache."""

DECLINED = ("sampling not supported", "elicitation not supported", "list roots not supported", "no back-channel")
"""How calls fail that ask the client for something; the last one is that of the newer protocol."""

MAX_PAGES = 100
MAX_SHOWN_CHARS = 500
_jitter = random.Random()  # noqa: S311 - of its own, so that no seed of the application changes or is changed by it
for _name in ("mcp", "client"):  # the library would write what servers send to standard error
    logging.getLogger(_name).addHandler(logging.NullHandler())


class ServerConnection:
    """Everything here runs in the event loop of the source.

    :ivar catalog: the entries at present.
    :ivar problem: why there are none, or not all; empty if there is no problem.
    :ivar is_settled: set when the first attempt to connect has ended.
    """

    def __init__(
        self,
        name: str,
        options: ServerOptions,
        publish: Callable[[], None],
        warn: Callable[[str], None],
        cache: ToolsCache,
        known: KnownTools | None = None,
    ):
        known = known or KnownTools()
        self.name = name
        self.catalog: Catalog = known.catalog
        self.problem: str = known.problem
        self.is_settled: asyncio.Event = asyncio.Event()
        self._options = options
        self._protocol: str = options.protocol
        self._publish = publish
        self._warn = warn
        self._names = dict(known.names)
        self._cache = cache
        self._write_at_s = 0.0
        self._is_kept = True  # whether the cache has the list
        self._calls = 0  # under way
        self._is_restarted = False  # the server was, so that a session of its own is lost
        self._client: Client | None = None
        self._is_connected = asyncio.Event()
        self._event = asyncio.Event()
        self._is_lost = self._was_connected = False
        self._end: ProcessEnd | None = None

    async def keep_connected(self) -> None:
        """Connect, and connect again whenever the connection ends; until it is cancelled."""
        failures, clock = 0, asyncio.get_running_loop().time
        while True:
            start_s = clock()
            self._was_connected = False
            try:
                await self._attempt()
            except Exception as exc:
                self._failed(exc)
            finally:
                self._disconnected()
                self.is_settled.set()
                if not self._is_kept:  # the last of several changes; here also when the process ends
                    self._write_list()
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise asyncio.CancelledError  # a transport that fails while it is closed replaces the cancellation
            failures = 1 if self._was_connected and clock() - start_s > STEADY_S else failures + 1
            # Servers that fail together, such as after a restart of the network, do not return together.
            pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (failures - 1)) * _jitter.uniform(0.8, 1.2)
            await asyncio.sleep(pause_s)

    async def _attempt(self) -> None:
        """Connect and serve; a program that ends at the question for the newer protocol is started again without it."""
        try:
            return await self._connect_and_serve()
        except Exception:
            if self._was_connected or self._end is None or self._protocol != "auto":
                raise
        self._protocol = "legacy"
        try:
            await self._connect_and_serve()
        finally:
            if not self._was_connected:  # it ended for another reason
                self._protocol = "auto"

    async def _connect_and_serve(self) -> None:
        async with asyncio.timeout(CONNECT_TIMEOUT_S) as deadline, self._connected() as client:
            await self._list(client)
            deadline.reschedule(None)
            await self._serve(client)

    def _disconnected(self) -> None:
        self._client = None
        self._is_connected.clear()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Client]:
        options, self._end, self._is_lost, self._is_restarted = self._options, None, False, False
        limit = options.max_result_bytes
        if options.url is not None:
            server = HttpServer(
                url=options.url,
                headers=lambda: resolved(options.headers),
                limit=limit,
                call_timeout_s=options.call_timeout_s,
                at_restart=self._restarted,
            )
            streams: Any = http_streams(server)
        else:
            env = resolved(options.env)
            streams = process_streams(options.command or "", options.args, env, options.cwd, limit, self._process_ended)
        client = Client(
            streams, mode=self._protocol, cache=None, message_handler=self._on_message,
            client_info=types.Implementation(name="helmdeck", version="1"),
        )  # fmt: skip
        async with client:
            yield client

    def _process_ended(self, end: ProcessEnd) -> None:
        self._end = end
        self._lose()

    def _lose(self) -> None:
        self._disconnected()  # at once, so that the next call waits for the next connection
        self._is_lost = True
        self._event.set()

    def _restarted(self) -> None:
        """Connect again, when no call is under way: a server that is replaced may still complete it."""
        self._is_restarted = True
        if not self._calls:
            self._lose()

    async def _on_message(self, message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._event.set()

    async def _serve(self, client: Client) -> None:
        """List the tools again whenever they change, until the connection ends."""
        if self._is_lost:
            raise ConnectionError("the connection ended")
        self._client, self._was_connected = client, True
        self._is_connected.set()
        self.is_settled.set()
        listener = asyncio.create_task(self._listen(client))
        try:
            while True:
                if not await self._is_changed():
                    await asyncio.to_thread(self._write_list)
                    continue
                if self._is_lost:
                    raise ConnectionError("the connection ended")
                self._event.clear()
                await self._list(client)
                await asyncio.sleep(RELIST_PAUSE_S)
        finally:
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)

    async def _is_changed(self) -> bool:
        """Wait for a change or the end of the connection; return false when a list that is not kept has to be written."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if self._is_kept else max(0.0, self._write_at_s - time.monotonic())):
                await self._event.wait()
        return self._event.is_set()

    async def _listen(self, client: Client) -> None:
        """Wait for changes in the newer protocol, where they are a subscription."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._event.set()
                        pause_s = FIRST_PAUSE_S
            except ListenNotSupportedError:
                return  # the older protocol, which sends messages
            except MCPError as exc:
                if exc.code not in (UNAVAILABLE, types.CONNECTION_CLOSED):
                    return  # a server without subscriptions
            except (SubscriptionLost, TimeoutError):
                pass
            await asyncio.sleep(pause_s)
            pause_s = min(LONGEST_PAUSE_S, 2 * pause_s)
            self._event.set()  # a change may have been missed

    async def _list(self, client: Client) -> None:
        tools: list[Mapping[str, Any]] = []
        cursors: list[str | None] = [None]  # of the pages so far
        while True:
            try:
                async with asyncio.timeout(self._options.call_timeout_s):
                    page = await client.list_tools(cursor=cursors[-1])
            except MCPError as exc:
                if exc.code != types.METHOD_NOT_FOUND or self._has_tools(client):
                    raise
                self._set(Catalog(), "it has no tools")  # but resources or prompts, which are not used
                return
            tools += [(tool.meta or {}).get(RAW_KEY) or {} for tool in page.tools]
            cursor = page.next_cursor or None  # some servers send an empty cursor with the last page
            if cursor in cursors or len(tools) > self._options.max_tools or len(cursors) == MAX_PAGES:
                break
            cursors.append(cursor)
        catalog, self._names, problems = catalog_of(self.name, tools, self._options.max_tools)
        if cursor is not None and len(tools) <= self._options.max_tools:
            problems.append(
                f"its list of tools has more than {len(cursors)} pages, or repeats them; the rest is left out"
            )
        self._set(catalog, "; ".join(problems))
        self._is_kept = False
        if time.monotonic() >= self._write_at_s:
            await asyncio.to_thread(self._write_list)

    @staticmethod
    def _has_tools(client: Client) -> bool:
        """Whether a server announces tools."""
        return client.server_capabilities is not None and client.server_capabilities.tools is not None

    def _write_list(self) -> None:
        """Keep the list for other processes; not each one of a server that changes it all the time, but the last one."""
        self._write_at_s, self._is_kept = time.monotonic() + KEEP_PAUSE_S, True
        self._cache.write(KnownTools(catalog=self.catalog, names=dict(self._names), problem=self.problem))

    def _set(self, catalog: Catalog, problem: str) -> None:
        has_changed = catalog.version != self.catalog.version
        if problem and problem != self.problem:
            self._warn(f"{self.name}: {problem}")
        self.catalog, self.problem = catalog, problem
        if has_changed:
            self._publish()

    def _failed(self, exc: Exception) -> None:
        """Keep the entries of a server that worked for the first restart; without it, they are gone."""
        problem = self._with_end(self.describe(exc), is_closed=_is_closed(_single(exc)))
        self._set(self.catalog if self._was_connected else Catalog(), problem)

    def _with_end(self, problem: str, *, is_closed: bool) -> str:
        """Add how the process of the server ended, in place of the text of a closed connection."""
        end = self._end
        if end is None:
            return problem
        if is_closed:
            advice = "" if self._was_connected else " before it answered; check its command, args and env"
            problem = f"{end}{advice}"
        last_words = self.quote(end.last_words.strip()[-MAX_SHOWN_CHARS:])
        return f"{problem}; its last output: {last_words}" if last_words else problem

    def describe(self, exc: BaseException) -> str:
        """Return a cleaned and redacted description of an exception."""
        exc, options = _single(exc), self._options
        match exc:
            case FileNotFoundError() if options.command is not None:
                hint = "; arguments belong in args" if " " in options.command else ""
                return self.quote(f"the program {options.command!r} or its working directory does not exist{hint}")
            case MissingSecretError():
                return str(exc)
            case OSError() if options.command is not None and exc.strerror and exc.filename:
                return self.quote(f"{exc.filename!r} cannot be started: {exc.strerror}")
            case TimeoutError():
                return "it does not answer"
            case MCPError() if exc.code == UNREADABLE:
                return self.quote(exc.message)
            case MCPError():
                return f"it answered with an error: {self.quote(exc.message) or '(no message)'}"
            case pydantic.ValidationError():
                return self.quote(f"its answer does not have the form of the protocol: {_first_problem(exc)}")
        text = str(exc) or type(exc).__name__
        return self.quote(f"cannot connect to {options.url}: {text}" if options.url else text)

    def quote(self, text: str) -> str:
        """Return a text of the server on one line, bounded, without control characters and secrets."""
        return quoted(clean_text(text, 4 * MAX_SHOWN_CHARS), Secrets(secrets_of(self._options)), MAX_SHOWN_CHARS)

    # -- calls -------------------------------------------------------------------------------------------------

    async def call(
        self, entry_id: str, arguments: Mapping[str, Any], progress: Callable[[str], None]
    ) -> dict[str, Any] | ToolError:
        """Call a tool; return its output, or its failure."""
        try:
            return await self._call(entry_id, arguments, progress)
        except _SessionLostError:  # the server did nothing, so that the call is made again with another session
            return await self._call(entry_id, arguments, progress, is_last=True)

    async def _call(
        self, entry_id: str, arguments: Mapping[str, Any], progress: Callable[[str], None], *, is_last: bool = False
    ) -> dict[str, Any] | ToolError:
        if self._client is None:  # it may be on its way; a first attempt that failed is not waited for again
            ready = self._is_connected if self.is_settled.is_set() else self.is_settled
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ready.wait(), self._options.start_timeout_s)
        client, tool = self._client, self._names.get(entry_id)
        if client is None or tool is None:
            return tool_error(entry_id, "server_down", self.problem or "the server does not have this tool any more")
        limit_s = self._options.call_timeout_s
        calling = asyncio.create_task(
            client.call_tool(tool, dict(arguments), progress_callback=self._reporter(progress))
        )
        calling.add_done_callback(_retrieve)
        self._calls += 1
        try:
            await asyncio.wait([calling], timeout=limit_s)
            if not calling.done():
                return tool_error(entry_id, "timeout", f"the tool did not answer within {limit_s:g} s")
            result = calling.result()
        except MCPError as exc:
            if exc.code == SESSION_LOST and not is_last:
                self._lose()
                raise _SessionLostError from None
            return self._protocol_failure(entry_id, exc)
        except pydantic.ValidationError as exc:
            detail = f"the answer does not have the form of a tool result: {_first_problem(exc)}"
            return tool_error(entry_id, "invalid_result", self.quote(detail))
        except ValueError:
            return tool_error(entry_id, "invalid_result", "the answer does not have the form of a tool result")
        except Exception as exc:
            self._lose()
            return tool_error(entry_id, "connection_lost", self.describe(exc))
        finally:
            calling.cancel()  # not waited for: the notice to the server may take as long again
            self._calls -= 1
            if self._is_restarted and not self._calls:
                self._lose()
        return failure_of(entry_id, result, self.quote) or output_of(result)

    def _protocol_failure(self, entry_id: str, exc: MCPError) -> ToolError:
        detail = self.quote(exc.message) or "an error without a message"
        if exc.code == TOO_LARGE or (self._options.url and any(text in exc.message for text in TOO_LARGE_TEXTS)):
            limit = self._options.max_result_bytes
            return tool_error(entry_id, "result_too_large", f"the answer has more than {limit:,} bytes")
        if exc.code == UNREADABLE:
            return tool_error(entry_id, "invalid_result", detail)
        if exc.code == types.INVALID_PARAMS:
            return tool_error(entry_id, "invalid_arguments", detail)
        if exc.code == types.REQUEST_TIMEOUT:
            return tool_error(entry_id, "timeout", detail)
        if exc.code == UNAUTHORIZED:
            return tool_error(entry_id, "unauthorized", detail)
        if exc.code == UNAVAILABLE:
            return tool_error(entry_id, "unavailable", detail)
        if exc.code == CALL_LOST or (self._options.url and any(text in exc.message for text in BROKEN_TEXTS)):
            return tool_error(entry_id, "connection_lost", detail)
        if exc.code in (types.CONNECTION_CLOSED, SESSION_LOST):
            self._lose()
            return tool_error(entry_id, "connection_lost", self._with_end(detail, is_closed=True))
        if any(word in detail.casefold() for word in DECLINED):
            return tool_error(entry_id, "needs_input", detail)
        return tool_error(entry_id, "protocol_error", f"{detail} (code {exc.code})")

    def _reporter(self, progress: Callable[[str], None]) -> Any:
        async def report(done: float, total: float | None, message: str | None) -> None:
            share = f"{done:g} of {total:g}" if total else f"{done:g}"
            progress(": ".join(filter(None, (share, self.quote(message or "")))))

        return report


class _SessionLostError(Exception):
    """A call was refused because its session has ended."""


def _retrieve(task: asyncio.Task[Any]) -> None:
    """Take the exception of a task that nothing waits for, so that asyncio does not log it."""
    if not task.cancelled():
        task.exception()


def _single(exc: BaseException) -> BaseException:
    while isinstance(exc, BaseExceptionGroup):
        exc = exc.exceptions[0]
    return exc


def _first_problem(exc: pydantic.ValidationError) -> str:
    first = exc.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _is_closed(exc: BaseException) -> bool:
    return isinstance(exc, ConnectionError) or (isinstance(exc, MCPError) and exc.code == types.CONNECTION_CLOSED)
