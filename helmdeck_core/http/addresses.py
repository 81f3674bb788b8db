"""From the name of a host to a connected socket, by whichever of its addresses answers first.

The loops of asyncio can do that only in part: uvloop tries one address after the other, and what Python 3.11 does beside
one another leaves a socket open when it is cancelled.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Any

NEXT_S = 0.25
"""When the next address is tried beside those that did not answer yet; RFC 8305 recommends it."""

Address = tuple[int, int, int, str, Any]
"""What ``getaddrinfo`` says of one: family, kind, protocol, another name, and the place."""


async def connected(host: str, port: int) -> socket.socket:
    """Connect to a host.

    :raises OSError: it has no address, or the error of the last one that failed.
    :raises UnicodeError: no resolver takes its name.
    """
    rest = in_turns(await _addresses(host, port))
    if len(rest) == 1:
        return await _connected(rest[0])
    tries: list[asyncio.Task[socket.socket]] = []
    error: BaseException | None = None
    try:
        while rest or tries:
            if rest:
                tries.append(asyncio.create_task(_connected(rest.pop(0))))
            done, _ = await asyncio.wait(tries, timeout=NEXT_S if rest else None, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                tries.remove(each)
                error = each.exception()
                if error is None:
                    return each.result()
        assert error is not None
        raise error
    finally:
        for each in tries:
            each.cancel()
        for late in await asyncio.gather(*tries, return_exceptions=True):
            if isinstance(late, socket.socket):
                late.close()


async def _addresses(host: str, port: int) -> Sequence[Address]:
    try:  # one that is an address already needs no thread to ask a resolver in
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)


def in_turns(addresses: Sequence[Address]) -> list[Address]:
    """The addresses of both families in turns, the resolver's first choice first."""
    first = [each for each in addresses if each[0] == addresses[0][0]]
    others = [each for each in addresses if each[0] != addresses[0][0]]
    return [each for each in chain.from_iterable(zip_longest(first, others)) if each is not None]


async def _connected(address: Address) -> socket.socket:
    family, kind, protocol, _, place = address
    found = socket.socket(family, kind, protocol)
    try:
        found.setblocking(False)
        await asyncio.get_running_loop().sock_connect(found, place)
    except BaseException:
        found.close()
        raise
    return found
