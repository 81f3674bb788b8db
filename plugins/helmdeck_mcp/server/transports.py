"""The transports of the server: serves a deck over stdio or HTTP until the client or the operator ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterable, MutableMapping
from typing import Any

import attrs
import uvicorn
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from helmdeck_cli import counted, is_loopback, listen, shown_host
from helmdeck_core import CallLimits, Helmdeck, HelmdeckError
from helmdeck_core.cli import UsageError, note
from helmdeck_mcp.server.guard import PATH, Guard
from helmdeck_mcp.server.input_lines import InputLines
from helmdeck_mcp.server.limits import HttpLimits
from helmdeck_mcp.server.server import CALLER_KEY, make_server
from helmdeck_mcp.server.tokens import Tokens

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

KEEP_ALIVE_S = 30
"""Seconds that a connection without a request stays open."""

SHUTDOWN_S = 3
"""Seconds that requests under way get when the server is stopped."""

logger: logging.Logger = logging.getLogger("helmdeck.mcp_server")


@attrs.frozen(kw_only=True)
class HttpEndpoint:
    """Where and for whom an HTTP server listens.

    :ivar host: the IP address or name to bind; loopback unless there are tokens.
    :ivar port: 0 for any free one.
    :ivar hosts: further valid names of the ``Host`` header.
    :ivar origins: valid ``Origin`` headers of web pages.
    """

    host: str = "127.0.0.1"
    port: int = 8931
    tokens: Tokens = attrs.field(factory=lambda: Tokens({}))
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()
    limits: HttpLimits = HttpLimits()

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)

    @property
    def names(self) -> frozenset[str]:
        """The valid names of the ``Host`` header."""
        own = LOOPBACK_NAMES | {self.host} if self.is_loopback else {self.host} - {"0.0.0.0", "::"}  # noqa: S104
        return frozenset(name.lower() for name in own | self.hosts)

    def check(self) -> None:
        """Check what must not be served.

        :raises UsageError: other machines could connect without a token, or no name of the server is valid.
        """
        if not self.is_loopback and not len(self.tokens):
            raise UsageError(
                f"{self.host} can be reached from other machines, so callers need tokens: add --token NAME=env:VARIABLE, "
                "or listen on 127.0.0.1"
            )
        if not self.names:
            raise UsageError(
                f"{self.host} is every address of this machine: add --allow-host with the name that clients use"
            )


def http_app(deck: Helmdeck, endpoint: HttpEndpoint, *, is_facade: bool = False) -> Guard:
    """Return the ASGI application of an endpoint, for any ASGI server; it needs the lifespan protocol."""
    limits = endpoint.limits
    server = make_server(
        deck, is_facade=is_facade, is_shared=len(endpoint.tokens) > 0, limits=CallLimits(deadline_s=limits.call_s)
    )
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=limits.max_body_bytes,
        max_sessions=limits.max_sessions,
        # The guard has checked both headers.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Guard(
        app,
        tokens=endpoint.tokens,
        limits=limits,
        hosts=endpoint.names,
        origins=endpoint.origins,
        authenticate=_authenticate,
    )


def _authenticate(scope: MutableMapping[str, Any], caller: str) -> None:
    scope[CALLER_KEY] = caller
    # Sessions of the older protocol belong to the user that opened them.
    scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=caller, scopes=[]))


class _Server(uvicorn.Server):
    """Announces itself when it accepts requests and handles signals."""

    announcement = ""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.announcement and not self.should_exit:
            note(self.announcement)


def http_server(app: Guard, limits: HttpLimits, announcement: str = "") -> uvicorn.Server:
    """Return the HTTP server for an application.

    :param announcement: is printed to standard error when the server accepts requests and handles signals.
    """
    server = _Server(
        uvicorn.Config(
            app,
            log_config=None,
            log_level=logging.CRITICAL,
            access_log=False,
            lifespan="on",
            ws="none",
            server_header=False,
            proxy_headers=False,
            limit_concurrency=limits.max_connections,
            h11_max_incomplete_event_size=32_768,
            http="h11",
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=SHUTDOWN_S,
        )
    )
    server.announcement = announcement
    return server


async def serve_http(deck: Helmdeck, endpoint: HttpEndpoint, *, is_facade: bool = False) -> None:
    """Serve HTTP until the process is interrupted, then close the deck.

    :raises UsageError: the endpoint is not safe, or cannot be bound.
    """
    endpoint.check()
    listener = listen(endpoint.host, endpoint.port)
    host, port = listener.getsockname()[:2]
    async with _open(deck):
        who = f"{counted(len(endpoint.tokens), 'caller')} with tokens" if endpoint.tokens else "every local user"
        announcement = f"serving MCP for {who} on http://{shown_host(host)}:{port}{PATH}; Ctrl-C stops it"
        server = http_server(http_app(deck, endpoint, is_facade=is_facade), endpoint.limits, announcement)
        # The server passes a signal on when it has stopped; the default would end the process before the deck is closed.
        signal.signal(signal.SIGTERM, lambda *_: None)
        try:
            await server.serve(sockets=[listener])
        finally:
            listener.close()


async def serve_stdio(deck: Helmdeck, *, is_facade: bool = False) -> None:
    """Serve the process's standard input and output until the client closes them, then close the deck."""
    async with _open(deck):
        server = make_server(deck, is_facade=is_facade)
        lines: Any = InputLines()  # all that the SDK needs of a file
        async with stdio_server(stdin=lines) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())


@contextlib.asynccontextmanager
async def _open(deck: Helmdeck) -> AsyncIterator[None]:
    """Load the catalog in the background, so that neither the start nor the first call waits for it; close the deck."""
    _log_to_standard_error(("mcp", "helmdeck.mcp_server"))
    warm_up = asyncio.create_task(asyncio.to_thread(_load_catalog, deck))
    try:
        async with deck:
            yield
    finally:
        warm_up.cancel()


def _load_catalog(deck: Helmdeck) -> None:
    try:
        deck.rank("start")
    except HelmdeckError as exc:
        logger.warning("the catalog cannot be loaded: %s", exc)
    except Exception:  # the deck was closed meanwhile; a call reports whatever else it is
        logger.debug("the catalog cannot be loaded", exc_info=True)


def _log_to_standard_error(names: Iterable[str]) -> None:
    """Standard output carries only the protocol; what is refused is reported to the client, not logged."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    for name in names:
        each = logging.getLogger(name)
        each.setLevel(logging.ERROR if name == "mcp" else logging.WARNING)
        each.propagate = False
        each.handlers = [handler]
