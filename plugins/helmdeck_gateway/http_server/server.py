"""Serves a gateway over HTTP until the process is interrupted."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import Callable
from typing import Final

import attrs
import uvicorn

from helmdeck_cli import BACKLOG, is_loopback, listen, shown_host
from helmdeck_core.cli import UsageError
from helmdeck_gateway.http_server.http_protocol import MAX_HEAD_BYTES, limited_protocol
from helmdeck_gateway.http_server.live_gateway import LiveGateway
from helmdeck_gateway.http_server.warm_up import open_transports, warm_up
from helmdeck_gateway.settings import GatewaySettings

ACCEPTED_AT_ONCE: Final = 4
"""Connections that are accepted before other work; with a high number, one worker would take all of a burst."""
GC_THRESHOLDS: Final = (5_000, 20, 20)
"""Objects until a collection; requests leave few cycles behind, and a collection looks at all that are under way."""
WARM_UP: Final = "helmdeck-warm-up"
"""The name of the task that loads what the first call needs."""
LAST_ERRORS_S: Final = 1.0
"""Seconds for the error messages of requests that did not finish in time."""


@attrs.frozen(kw_only=True)
class Address:
    """Where a gateway listens.

    :ivar port: 0 for any free one.
    """

    host: str = "127.0.0.1"
    port: int = 8930

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)

    def check(self, settings: GatewaySettings) -> None:
        """Check that other machines need a key.

        :raises UsageError: they do not.
        """
        if not self.is_loopback and not settings.is_closed:
            raise UsageError(
                f"{self.host} can be reached from other machines, so clients need a key: set [gateway] key to "
                "env:VARIABLE or file:PATH, or requires_keys to true, or listen on 127.0.0.1"
            )

    def listen(self) -> socket.socket:
        """Return a listening socket.

        :raises UsageError: it cannot be bound.
        """
        return listen(self.host, self.port)

    def url(self, listener: socket.socket) -> str:
        """The base URL of a listening socket."""
        host, port = listener.getsockname()[:2]
        return f"http://{shown_host(host)}:{port}"


class GatewayServer(uvicorn.Server):
    """Refuses new requests as soon as it is to stop, and completes those under way.

    :param on_started: is called when requests are accepted and signals are handled.
    """

    def __init__(self, config: uvicorn.Config, live: LiveGateway, on_started: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._live = live
        self._on_started = on_started
        self._draining: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept requests, and announce it."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)  # the event loop has set it to the number of connections that it accepts at once
        self._loop = asyncio.get_running_loop()
        load = self._live.gateway.counters.load
        load.start(lambda: len(self.server_state.connections), file_limit())
        if self._on_started is not None and not self.should_exit:
            self._on_started()
        self._warming = self._loop.create_task(self._warm_up(), name=WARM_UP)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
        self._live.gateway.counters.load.stop()
        await super().shutdown(sockets)
        self._warming.cancel()

    async def _warm_up(self) -> None:
        """Load the rest in a thread: requests that arrive meanwhile are slower, and wait less than for the end of it."""
        await asyncio.to_thread(warm_up, self._live.gateway.deck)
        gc.freeze()

    def handle_exit(self, sig: int, frame: object) -> None:
        """Begin to drain at the first signal; stop at once at the second one."""
        if self._draining is None and self.started:
            self._captured_signals.append(sig)
            self._loop.call_soon_threadsafe(self.drain)
            return
        super().handle_exit(sig, frame)  # type: ignore[arg-type]

    def drain(self) -> None:
        """Refuse new requests, and stop when those under way are complete; on the loop of the server."""
        if not self.started:
            self.should_exit = True
        elif self._draining is None:
            self._live.drain()
            self._draining = self._loop.create_task(self._drained())

    async def _drained(self) -> None:
        """Wait for the requests under way; end those that take too long with an error that clients understand."""
        await self._idle(self._live.gateway.settings.drain_s)
        for task in tuple(self.server_state.tasks):
            task.cancel()
        await self._idle(LAST_ERRORS_S)
        self.should_exit = True

    async def _idle(self, most_s: float) -> None:
        """Wait until no request is under way, but at most this long."""
        until_s = self._loop.time() + most_s
        while self._live.gateway.counters.under_way and (left_s := until_s - self._loop.time()) > 0:
            tasks = tuple(self.server_state.tasks)
            await asyncio.wait(tasks, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)


def http_server(live: LiveGateway, on_started: Callable[[], None] | None = None) -> GatewayServer:
    """Return the HTTP server of a gateway.

    :param on_started: is called when requests are accepted and signals are handled.
    """
    settings = live.gateway.settings
    config = uvicorn.Config(
        live,
        log_config=None,
        log_level=logging.CRITICAL,
        access_log=False,
        lifespan="on",
        ws="none",
        http=limited_protocol(settings.header_s),
        server_header=False,
        date_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        timeout_keep_alive=max(1, round(settings.keep_alive_s)),
        timeout_graceful_shutdown=max(1, round(LAST_ERRORS_S)),
        backlog=ACCEPTED_AT_ONCE,
    )
    return GatewayServer(config, live, on_started)


def tune_collector() -> None:
    """Make collections of garbage rare and short; call it when everything is loaded."""
    gc.set_threshold(*GC_THRESHOLDS)
    gc.freeze()  # the modules live as long as the process, so that no collection has to look at them


async def serve(
    live: LiveGateway,
    listener: socket.socket,
    on_started: Callable[[], None],
    watch: Callable[[Callable[[], None]], None] | None = None,
) -> None:
    """Serve until the process is interrupted, then close everything.

    :param on_started: is called when requests are accepted and signals are handled.
    :param watch: takes what stops the server, to call it for other reasons than a signal.
    """
    raise_file_limit()
    server = http_server(live, on_started)
    loop = asyncio.get_running_loop()
    # The server raises a signal again when it has stopped; the default would end the process before the deck is closed.
    signal.signal(signal.SIGTERM, server.handle_exit)
    with contextlib.suppress(NotImplementedError, AttributeError):  # Windows has no SIGHUP
        loop.add_signal_handler(signal.SIGHUP, live.request_reload)
    if watch is not None:
        watch(server.drain)
    await open_transports(live.gateway.deck)
    tune_collector()
    try:
        await server.serve(sockets=[listener])
    finally:
        listener.close()
        await live.aclose()


def file_limit() -> float:
    """Return the number of files that the process may open; 0 if it is unknown."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 0 if soft == resource.RLIM_INFINITY else soft


def raise_file_limit() -> None:
    """Allow as many open connections as the system does without further rights."""
    try:
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ImportError, ValueError, OSError):  # Windows, or a system with a lower limit of its own
        return
