"""Notifies clients of both protocol eras that the list of tools changed, such as when a slow server has started."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator

from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from helmdeck_core import HelmdeckError
from helmdeck_mcp.server.entries import Tools

POLL_S = 2.0
"""Seconds between two looks at the catalog."""

SEND_S = 5.0
"""Seconds until a client has taken a notification; one that has not gets no more of them."""

MAX_SESSIONS = 1_000


class ToolChanges:
    """Watches the catalog of a deck while a server runs.

    :ivar listen: the handler of subscriptions, for clients of the newer protocol.
    """

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._bus = InMemorySubscriptionBus()
        self._sessions: OrderedDict[str, ServerSession] = OrderedDict()
        self._known: str | None = None  # the version of the catalog that clients have
        self.listen: ListenHandler = ListenHandler(self._bus)

    def remember(self, context: ServerRequestContext) -> None:
        """Send later changes to a client of the older protocol that has read the list."""
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return
        key = context.request.headers.get("mcp-session-id", "") if context.request is not None else ""
        self._sessions[key] = context.session
        self._sessions.move_to_end(key)
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)

    def listed(self, version: str) -> None:
        """Watch from this version on; without a list, from the first one that is seen."""
        if self._known is None:
            self._known = version

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Watch until the end of the block."""
        task = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            task.cancel()
            self.listen.close()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            try:
                version = self._tools.loaded_version()
            except HelmdeckError:  # the next list reports it
                continue
            is_changed = self._known is not None and version != self._known
            self._known = version
            if is_changed:
                await self._publish()

    async def _publish(self) -> None:
        await self._bus.publish(ToolsListChanged())
        for key, session in list(self._sessions.items()):
            try:
                async with asyncio.timeout(SEND_S):
                    await session.send_tool_list_changed()
            except Exception:  # the client is gone, or does not read
                self._sessions.pop(key, None)
