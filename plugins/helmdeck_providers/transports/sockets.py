"""Socket state and error messages of the operating system."""

from __future__ import annotations

import os
import select
import socket
import ssl
from collections.abc import Callable


def readiness(plug: socket.socket) -> Callable[[], bool]:
    """Return a function that checks for unread bytes in the socket buffer."""
    if not hasattr(select, "poll"):
        return lambda: bool(select.select([plug.fileno()], [], [], 0)[0])
    poll = select.poll()
    poll.register(plug.fileno(), select.POLLIN)
    return lambda: bool(poll.poll(0))


def described(exc: BaseException) -> str:
    """Return the message of a network error without library internals."""
    if refused := getattr(exc, "verify_message", None):  # of a certificate
        return f"TLS: {refused}"
    if isinstance(exc, ssl.SSLError) and exc.reason:
        return "TLS: " + exc.reason.replace("_", " ").lower()
    if isinstance(exc, OSError) and (isinstance(exc, socket.gaierror) or not exc.errno):
        return exc.strerror or str(exc)
    return os.strerror(exc.errno) if isinstance(exc, OSError) and exc.errno else str(exc)
