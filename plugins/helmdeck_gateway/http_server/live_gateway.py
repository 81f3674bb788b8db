"""Replaces a gateway while it serves: a new configuration takes effect, and no request is dropped or refused.

Requests under way finish on the gateway that they started with; it is closed after the last of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

import attrs

from helmdeck_cli import counted
from helmdeck_core import ConfigError
from helmdeck_core.cli import note
from helmdeck_core.log import logger
from helmdeck_gateway.http_server.shared_metrics import WRITE_S, SharedMetrics

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from helmdeck_gateway.app import Gateway
    from helmdeck_gateway.http_server.config_source import ConfigSource

POLL_S = 1.0
"""Seconds between two looks at the files of the configuration."""


@attrs.define(eq=False)
class _Generation:
    """A gateway, and how many requests use it."""

    gateway: Gateway
    users: int = 0
    is_retired: bool = False

    async def aclose(self) -> None:
        try:
            await self.gateway.aclose()
        finally:
            await self.gateway.deck.aclose()


class LiveGateway:
    """An ASGI application that passes requests to the current gateway.

    :param gateway: the first one. Its deck is closed here.
    :param source: where new configurations come from; ``None`` for none.
    :param report: shows a message to the operator.
    """

    def __init__(
        self, gateway: Gateway, source: ConfigSource | None = None, report: Callable[[str], None] = note
    ) -> None:
        self._current = _Generation(gateway)
        self._source = source
        self._report = report
        self._reloading = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._retired: set[_Generation] = set()
        state = gateway.counters.config
        state.loaded_at = time.time()
        if source is not None:
            state.loaded, state.reload = source.loaded, self.reload

    @property
    def gateway(self) -> Gateway:
        """The gateway that new requests go to."""
        return self._current.gateway

    @property
    def retired(self) -> int:
        """The number of former gateways that still have requests under way, or are being closed."""
        return len(self._retired)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the life of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        generation = self._current
        generation.users += 1
        try:
            await generation.gateway.app(scope, receive, send)
        finally:
            generation.users -= 1
            if generation.is_retired and not generation.users:
                self._start(self._close(generation))

    def drain(self) -> None:
        """Refuse new requests; those under way are completed."""
        self.gateway.drain()

    # -- reload ------------------------------------------------------------------------------------------

    def request_reload(self) -> None:
        """Reload the configuration in the background, such as after SIGHUP."""
        if not self.gateway.counters.is_draining:
            self._start(self._reload_reported())

    async def reload(self) -> bool:
        """Build a gateway from the configuration as it is now, and let it serve new requests.

        Return whether it succeeded; otherwise the old gateway continues, and the mistakes are reported.
        """
        assert self._source is not None
        async with self._reloading:
            old = self._current
            state = old.gateway.counters.config
            try:
                gateway = await self._source.build(old.gateway)
            except Exception as exc:
                state.reloads["failed"] += 1
                state.error = _summary(exc)
                self._report(f"the configuration was not reloaded, the former one stays in effect: {exc}")
                return False
            self._current = _Generation(gateway)
            state.reloads["successful"] += 1
            state.former, state.loaded = state.loaded, self._source.loaded
            state.generation, state.loaded_at, state.error = state.generation + 1, time.time(), ""
            old.is_retired = True
            self._retired.add(old)
            if not old.users:
                self._start(self._close(old))
            for warning in self._source.needs_restart(old.gateway, gateway):
                self._report(f"warning: {warning}")
            self._report(f"the configuration was reloaded (generation {state.generation})")
            return True

    async def _reload_reported(self) -> None:
        await self.reload()

    async def _watch(self, source: ConfigSource) -> None:
        """Reload when a file of the configuration has changed, and has stayed as it is for one look."""
        before = source.loaded_stamp
        while True:
            await asyncio.sleep(POLL_S)
            stamp = await asyncio.to_thread(source.stamp)
            if stamp == before and stamp != source.loaded_stamp:
                await self.reload()
            before = stamp

    async def _share_metrics(self, shared: SharedMetrics) -> None:
        while True:
            text = await asyncio.to_thread(self.gateway.metrics)
            await asyncio.to_thread(shared.write, text)
            await asyncio.sleep(WRITE_S)

    # -- life --------------------------------------------------------------------------------------------

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        if self._source is not None:
            self._start(self._watch(self._source))
        if (shared := self.gateway.counters.shared) is not None:
            self._start(self._share_metrics(shared))
        self._start(self.gateway.stored_work(self, lambda: self.gateway.settings))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def aclose(self) -> None:
        """Stop reloading, and close all gateways and their decks."""
        self.drain()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if (shared := self.gateway.counters.shared) is not None:
            shared.write(self.gateway.metrics())
        for generation in (*self._retired, self._current):
            await generation.aclose()
        await self.gateway.state.aclose()

    async def _close(self, generation: _Generation) -> None:
        await generation.aclose()
        self._retired.discard(generation)

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger().opt(exception=error).error("a background task of the gateway failed")


def _summary(error: Exception) -> str:
    """An error without any value, for readers that the configuration is not meant for."""
    if isinstance(error, ConfigError):
        places = ", ".join(dict.fromkeys(mistake.where for mistake in error.mistakes))
        return f"{counted(len(error.mistakes), 'mistake')}: {places}"[:1_000]
    return type(error).__name__
