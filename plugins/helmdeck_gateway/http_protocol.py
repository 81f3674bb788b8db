"""Limits the time that clients take: to send the head of a request, and to read a response.

uvicorn limits only the time between two requests. Its protocol is used as it is; nothing of HTTP is interpreted here.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

_Protocol: Any = AutoHTTPProtocol


class LimitedProtocol(_Protocol):  # type: ignore[misc]
    """One connection.

    :cvar header_s: seconds from the first byte of a head to its last one, and until a client reads on.
    """

    header_s = 20.0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self._is_in_head = False

    def connection_made(self, transport: Any) -> None:
        """Limit the time until the first request."""
        super().connection_made(transport)
        self._head_timer = self.loop.call_later(self.timeout_keep_alive, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers."""
        self._stop_head_timer()
        self._stop_read_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Limit the time of a head that is incomplete."""
        super().data_received(data)
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._is_in_head = False
            if self._head_timer is not None:
                self._stop_head_timer()
        elif not self._is_in_head:  # a part of a head, or the rest of a body that was refused
            self._is_in_head = True
            self._stop_head_timer()
            self._head_timer = self.loop.call_later(self.header_s, self.transport.abort)

    def pause_writing(self) -> None:
        """Limit the time that a full buffer waits for the client."""
        super().pause_writing()
        if self._read_timer is None:
            self._read_timer = self.loop.call_later(self.header_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer of ``pause_writing``."""
        super().resume_writing()
        self._stop_read_timer()

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _stop_read_timer(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None


def limited_protocol(header_s: float) -> type[Any]:
    """Return the protocol class with a time limit in seconds."""
    return type("LimitedProtocol", (LimitedProtocol,), {"header_s": header_s})
