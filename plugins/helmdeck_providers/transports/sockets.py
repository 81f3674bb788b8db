"""Socket state and error messages of the operating system."""

from __future__ import annotations

import os
import select
import socket
import ssl
from collections.abc import Callable


def socket_readiness(plug: socket.socket) -> Callable[[], bool]:
    """Return a function that checks for unread bytes, or the end of the connection, in the buffer of a socket.

    A transport calls it before it reuses an idle connection. It does not block, and reads nothing.

    >>> import socket
    >>> from helmdeck_providers import socket_readiness
    >>> near, far = socket.socketpair()
    >>> has_bytes = socket_readiness(near)
    >>> before = has_bytes()
    >>> _ = far.send(b"late")
    >>> before, has_bytes()
    (False, True)
    >>> near.close()
    >>> far.close()
    """
    if not hasattr(select, "poll"):
        return lambda: bool(select.select([plug.fileno()], [], [], 0)[0])
    poll = select.poll()
    poll.register(plug.fileno(), select.POLLIN)
    return lambda: bool(poll.poll(0))


def network_error_detail(exc: BaseException) -> str:
    """Return the ``detail`` of a ``TransportError`` for an exception of the network: the message of the system or of TLS.

    Contents of the exception that a library added, such as its connection and URL, are left out.

    >>> from helmdeck_providers import network_error_detail
    >>> network_error_detail(ConnectionRefusedError(111, "Connection refused"))
    'Connection refused'
    """
    if refused := getattr(exc, "verify_message", None):  # of a certificate
        return f"TLS: {refused}"
    if isinstance(exc, ssl.SSLError) and exc.reason:
        return "TLS: " + exc.reason.replace("_", " ").lower()
    if isinstance(exc, OSError) and (isinstance(exc, socket.gaierror) or not exc.errno):
        return exc.strerror or str(exc)
    return os.strerror(exc.errno) if isinstance(exc, OSError) and exc.errno else str(exc)
