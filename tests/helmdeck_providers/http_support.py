"""Replies to the byte, in steps, for servers of tests, and the connections of a transport that are in use."""

from __future__ import annotations

import asyncio
import enum
import socket
import struct

from helmdeck_testing.byte_server import CHUNKED as CHUNKED
from helmdeck_testing.byte_server import OK as OK
from helmdeck_testing.byte_server import ByteServer as Server  # noqa: F401
from helmdeck_testing.byte_server import then_close as then_close
from helmdeck_testing.byte_server import until as until


class Step(enum.Enum):
    """What a server does beside sending bytes; without one of the first three it closes at the end."""

    RESET = "reset"
    STALL = "stall"
    KEEP = "keep"
    TICK = "tick"
    """It waits a little."""


def saying(*steps):
    """Say one thing after the other; all bytes before a pause are one write."""

    def act(connection, left=steps):
        written = []
        for number, step in enumerate(left, 1):
            if isinstance(step, bytes):
                written.append(step)
                continue
            connection.transport.write(b"".join(written))
            if step is Step.TICK:
                asyncio.get_running_loop().call_later(0.01, act, connection, left[number:])
            elif step is Step.RESET:
                plug = connection.transport.get_extra_info("socket")
                plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                connection.transport.abort()
            return
        connection.transport.write(b"".join(written))
        connection.transport.close()

    return act


def http(body, status=200, reason="OK", **headers):
    """An answer; a header that is ``None`` is left out."""
    named = {"content-length": len(body), **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [f"{name}: {value}" for name, value in named.items() if value is not None]
    return "\r\n".join([f"HTTP/1.1 {status} {reason}", *lines, "", ""]).encode("latin-1") + body


def chunked(body, size=64, *, ends=True, **headers):
    """The same in chunks."""
    pieces = (body[start : start + size] for start in range(0, len(body), size))
    head = http(b"", content_length=None, transfer_encoding="chunked", **headers)
    return head + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n" * ends


def busy(connection):
    """How many connections of a provider have a response under way."""
    transport = connection._transport
    if transport is None:
        return 0
    if (connector := getattr(transport, "_connector", None)) is not None:
        return len(connector._acquired)
    return len(transport._all) - len(transport._idle)


def tasks_left():
    """Return the other unfinished tasks of the loop; a connection that a server accepts late does not belong to the client."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    return [task for task in others if not task.done() and "LoopListener" not in task.get_coro().__qualname__]
