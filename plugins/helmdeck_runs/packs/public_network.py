"""Connections to public addresses only: the connection uses an IP address that was checked."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Iterable, Sequence
from typing import Any

import httpcore2

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NOT_PUBLIC = tuple(map(ipaddress.ip_network, ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24")))
"""Services of the machine's own cloud host or network, which the standard library counts as global in some releases."""


class RefusedAddress(Exception):
    """A host has an IP address that is not public."""


def is_public(text: str) -> bool:
    """Whether an IP address belongs to the public internet; embedded IPv4 addresses are checked too."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if any(not is_public(str(each)) for each in _embedded(address)):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped or address in _NAT64:
            return True  # the embedded address is what counts
        if address not in _GLOBAL_UNICAST:
            return False
    is_odd = address.is_multicast or address.is_reserved or any(address in each for each in _NOT_PUBLIC)
    return address.is_global and not is_odd


def _embedded(address: IpAddress) -> Sequence[IpAddress]:
    if isinstance(address, ipaddress.IPv4Address):
        return ()
    found: list[IpAddress | None] = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [each for each in found if each is not None]


class PublicNetwork(httpcore2.AsyncNetworkBackend):
    """Resolves a host once, checks every IP address, and connects to one of them.

    :param allowed: hosts, IP addresses and networks that may be reached although they are not public.
    """

    def __init__(self, allowed: Sequence[str]) -> None:
        self._allowed = frozenset(each.lower() for each in allowed)
        self._networks = [ipaddress.ip_network(each, strict=False) for each in allowed if _is_network(each)]
        self._backend: Any = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  # the library calls it so
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a host.

        :raises RefusedAddress: one of its addresses is not public.
        :raises httpcore2.ConnectError: it has no IP address, or does not answer.
        """
        address = (await self.checked_addresses(host, port))[0]
        stream: httpcore2.AsyncNetworkStream = await self._backend.connect_tcp(
            address, port, timeout, local_address, socket_options
        )
        return stream

    async def connect_unix_socket(self, path: str, *_: object, **__: object) -> httpcore2.AsyncNetworkStream:
        """Refuse: no URL names a socket of this machine."""
        raise RefusedAddress(path)

    async def sleep(self, seconds: float) -> None:
        """Wait, for the library."""
        await asyncio.sleep(seconds)

    async def checked_addresses(self, host: str, port: int) -> Sequence[str]:
        """Return the addresses of a host.

        :raises RefusedAddress: one of them is not public: which one is connected to would be up to the name server.
        """
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as exc:
            raise httpcore2.ConnectError(f"the host {host!r} is unknown") from exc
        addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        if host.lower() not in self._allowed:
            for address in addresses:
                if not is_public(address) and not self._is_allowed(address):
                    raise RefusedAddress(address)
        return addresses

    def _is_allowed(self, address: str) -> bool:
        found = ipaddress.ip_address(address.partition("%")[0])
        return any(found in network for network in self._networks)


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True
