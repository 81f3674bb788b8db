"""Sockets of ``asyncio`` for ``httpcore2``: three times as fast as its own, and unread bytes are detected."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any

import httpcore2

from helmdeck_core import ConnectFailed, ConnectionBroken, ConnectTimeout, TlsFailed
from helmdeck_providers.transports.sockets import network_error_detail, socket_readiness

_PAUSE_BYTES = 65_536
"""At most about twice this much of an unread response is received."""
_WRITE_BYTES = 262_144
"""A larger body is written in parts, so that the event loop is not blocked."""


class Network(httpcore2.AsyncNetworkBackend):
    """Opens connections."""

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the library calls it so
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> Stream:
        """Connect to a host, to the first of its addresses that answers.

        :raises ConnectFailed: none does.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(timeout):
                # The race of addresses costs tasks, and Python 3.11 leaks a socket where one is cancelled in the end.
                delay = None if _is_address(host) else 0.25
                _, stream = await loop.create_connection(Stream, host, port, happy_eyeballs_delay=delay)
                return stream
        except TimeoutError as exc:
            is_ours = exc.errno is None
            error = ConnectTimeout() if is_ours else ConnectFailed(network_error_detail(exc))
        except OSError as exc:
            error = ConnectFailed(network_error_detail(exc))
        raise error


class Stream(asyncio.Protocol, httpcore2.AsyncNetworkStream):
    """One connection."""

    _transport: Any

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._received: list[bytes] = []
        self._size = 0
        self._change: asyncio.Future[None] | None = None
        self._has_ended = False
        self._error: Exception | None = None
        self._is_closed = False
        self._is_paused = False
        self._is_full = False

    # -- what asyncio calls --------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        """Keep the socket."""
        self._transport = transport
        self._readable = socket_readiness(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        """Buffer received bytes; pause receiving when they are not read."""
        self._received.append(data)
        self._size += len(data)
        if self._size >= _PAUSE_BYTES and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Note that the server sends no more."""
        self._has_ended = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the connection has gone."""
        self._has_ended, self._error = True, exc
        self._wake()

    def pause_writing(self) -> None:
        """Note that the server does not read what it is sent."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Note that it does again."""
        self._is_full = False
        self._wake()

    # -- what httpcore2 calls ------------------------------------------------------------------------------

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109, ARG002
        """Return everything that has arrived since the last call; empty at the end.

        :raises ConnectionBroken: the connection was reset, or closed on this side.
        """
        while not self._received:
            if self._is_closed or self._error is not None:
                raise ConnectionBroken(
                    network_error_detail(self._error) if self._error else "the connection was closed"
                )
            if self._has_ended:
                return b""
            await self._changed()
        data = self._received[0] if len(self._received) == 1 else b"".join(self._received)
        self._received.clear()
        self._size = 0
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109, ARG002
        """Send bytes.

        :raises httpcore2.WriteError: the server closed the connection, or responded before the request was complete; the
            response is read.
        """
        if self._transport.is_closing():
            raise httpcore2.WriteError("the connection was closed")
        if len(buffer) <= _WRITE_BYTES:
            self._transport.write(buffer)
            return
        view = memoryview(buffer)
        for start in range(0, len(view), _WRITE_BYTES):
            while self._is_full and not self._received and not self._has_ended:
                await self._changed()
            if self._received or self._has_ended:
                raise httpcore2.WriteError("the server answered before it had the whole request")
            self._transport.write(view[start : start + _WRITE_BYTES])
            await asyncio.sleep(0)

    async def aclose(self) -> None:
        """Close the connection at once."""
        self._is_closed = True
        self._transport.abort()
        self._wake()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> Stream:
        """Start TLS on the connection.

        :raises TlsFailed: the certificate was refused, or the server does not speak TLS.
        """
        try:
            async with asyncio.timeout(timeout):
                secured = await self._loop.start_tls(
                    self._transport, self, ssl_context, server_hostname=server_hostname
                )
            if secured is not None:
                self._transport = secured
                return self
            error: Exception = TlsFailed("TLS: the connection was closed")
        except TimeoutError:
            error = ConnectTimeout()
        except OSError as exc:
            error = TlsFailed(network_error_detail(exc))
        except BaseException:
            self._transport.abort()
            raise
        self._transport.abort()
        raise error

    def get_extra_info(self, info: str) -> Any:
        """Return a property of the connection for the library.

        An idle connection is ``is_readable`` when it must not be used again: the server closed it or sent bytes that no
        request asked for, or it has not taken the whole last request.
        """
        if info == "is_readable":
            return bool(
                self._received
                or self._has_ended
                or self._transport.is_closing()
                or self._transport.get_write_buffer_size()
                or self._readable()
            )
        return self._transport.get_extra_info(info)

    # -- waiting -------------------------------------------------------------------------------------------

    async def _changed(self) -> None:
        """Wait until something happens to the connection."""
        if self._change is None or self._change.done():
            self._change = self._loop.create_future()
        await self._change

    def _wake(self) -> None:
        if self._change is not None and not self._change.done():
            self._change.set_result(None)


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()
