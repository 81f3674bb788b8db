"""Listening sockets of commands that serve."""

from __future__ import annotations

import socket

from helmdeck_core.cli import UsageError

BACKLOG = 2_048
"""Connections that wait to be accepted."""


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket that does not block.

    :param port: 0 for any free one.
    :raises UsageError: it cannot be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY on sockets that name their protocol; without it, small writes wait 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError as exc:
        listener.close()
        problem = exc.strerror or exc
        raise UsageError(f"cannot listen on {host} port {port} ({problem}); --port chooses another") from exc
    return listener
