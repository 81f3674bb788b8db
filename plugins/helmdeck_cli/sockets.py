"""Listening sockets of commands that serve."""

from __future__ import annotations

import contextlib
import ipaddress
import socket

from helmdeck_core.cli import UsageError

BACKLOG = 2_048
"""Connections that wait to be accepted."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to a host name or IP address.

    >>> from helmdeck_cli import is_loopback
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("10.0.0.1")
    (True, True, False)
    """
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def shown_host(host: str) -> str:
    """A host as in a URL: IPv6 addresses are in brackets.

    >>> from helmdeck_cli import shown_host
    >>> shown_host("::1"), shown_host("localhost")
    ('[::1]', 'localhost')
    """
    return f"[{host}]" if ":" in host else host


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket that does not block.

    :param port: 0 for any free one.
    :raises UsageError: it cannot be bound.

    >>> from helmdeck_cli import listen
    >>> with listen("127.0.0.1", 0) as server:
    ...     server.getsockname()[0]
    '127.0.0.1'
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
