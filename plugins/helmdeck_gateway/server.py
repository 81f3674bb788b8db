"""Serves a gateway over HTTP until the process is interrupted."""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket

import attrs
import uvicorn

from helmdeck_core import Helmdeck
from helmdeck_core.cli import UsageError, note
from helmdeck_gateway.app import Gateway
from helmdeck_gateway.settings import GatewaySettings

KEEP_ALIVE_S = 75
"""Seconds that a connection without a request stays open."""


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
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def check(self, settings: GatewaySettings) -> None:
        """Check that other machines need a key.

        :raises UsageError: they do not.
        """
        if not self.is_loopback and settings.key is None:
            raise UsageError(
                f"{self.host} can be reached from other machines, so clients need a key: set [gateway] key to "
                "env:VARIABLE or file:PATH, or listen on 127.0.0.1"
            )

    def listen(self) -> socket.socket:
        """Return a listening socket.

        :raises UsageError: it cannot be bound.
        """
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        # asyncio sets TCP_NODELAY on sockets that name their protocol; without it, small writes wait 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self.host, self.port))
            listener.listen(2_048)
            listener.setblocking(False)
        except OSError as exc:
            listener.close()
            problem = exc.strerror or exc
            raise UsageError(
                f"cannot listen on {self.host} port {self.port} ({problem}); --port chooses another"
            ) from exc
        return listener


class _Server(uvicorn.Server):
    """Refuses new requests as soon as it is to stop, and completes those under way."""

    def __init__(self, config: uvicorn.Config, gateway: Gateway, announcement: str = "") -> None:
        super().__init__(config)
        self._gateway = gateway
        self._announcement = announcement

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._announcement:
            note(self._announcement)

    def handle_exit(self, sig: int, frame: object) -> None:
        self._gateway.drain()
        super().handle_exit(sig, frame)  # type: ignore[arg-type]


def http_server(gateway: Gateway, announcement: str = "") -> uvicorn.Server:
    """Return the HTTP server of a gateway.

    :param announcement: is printed to standard error when the server accepts requests.
    """
    config = uvicorn.Config(
        gateway.app,
        log_config=None,
        log_level=logging.CRITICAL,
        access_log=False,
        lifespan="on",
        ws="none",
        server_header=False,
        date_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=65_536,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(gateway.settings.drain_s)),
    )
    return _Server(config, gateway, announcement)


async def serve(deck: Helmdeck, settings: GatewaySettings, address: Address) -> None:
    """Serve until the process is interrupted, then close the deck.

    :raises UsageError: the port cannot be bound, or other machines could connect without a key.
    """
    address.check(settings)
    listener = address.listen()
    host, port = listener.getsockname()[:2]
    async with deck:
        shown = f"[{host}]" if ":" in host else host
        who = "clients with the key" if settings.key is not None else "every local client"
        announcement = f"serving {who} on http://{shown}:{port}; Ctrl-C stops it"
        server = http_server(Gateway(deck, settings), announcement)
        # The server raises a signal again when it has stopped; the default would end the process before the deck is closed.
        signal.signal(signal.SIGTERM, server.handle_exit)
        try:
            await server.serve(sockets=[listener])
        finally:
            listener.close()
