"""Refuses requests that web pages make without a key: a gateway on the loopback interface is open to every page in a browser.

A page on another host can post to ``127.0.0.1``; its header ``Origin`` shows it. A page whose own host name was changed to resolve
to ``127.0.0.1`` can read the responses as well; the header ``Host`` shows it. Clients other than browsers send no such values.
"""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import socket
from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import urlsplit

from helmdeck_gateway.problems import Problem

LOCAL_ENDS: Final = (".localhost", ".internal")
"""Ends of names that no public name server has; Docker names its host ``host.docker.internal``."""
ALL: Final = "*"


class LocalOnly:
    """The check of requests without a key.

    :param hosts: further names that ``Host`` and ``Origin`` may have; ``*`` for all.
    """

    def __init__(self, hosts: Collection[str] = ()) -> None:
        self._hosts = frozenset(each.lower() for each in hosts)
        self._is_known = functools.lru_cache(256)(self._is_known_host)

    def check(self, headers: Mapping[bytes, bytes]) -> None:
        """Check a request.

        :param headers: the headers by lower-case name.
        :raises Problem: a page of another host sent it.
        """
        host, origin = headers.get(b"host", b""), headers.get(b"origin", b"")
        if host and not self._is_known(b"//" + host):
            raise _refused("host", host)
        # Of other schemes are programs such as editors; a page cannot have them, except for the origin "null".
        is_page = origin == b"null" or origin.startswith((b"http://", b"https://"))
        if is_page and not self._is_known(origin):
            raise _refused("origin", origin)
        if not origin and headers.get(b"sec-fetch-site") == b"cross-site":
            raise _refused("sec-fetch-site", b"cross-site")

    def _is_known_host(self, url: bytes) -> bool:
        name = ""
        with contextlib.suppress(ValueError):  # brackets that are no IPv6 address
            name = (urlsplit(url.decode("latin-1")).hostname or "").lower()
        if not self._hosts.isdisjoint((name, ALL)):
            return True
        with contextlib.suppress(ValueError):
            return ipaddress.ip_address(name).is_loopback
        # A name without a dot is of this network, such as a service of Docker Compose, and cannot be registered.
        is_own = "." not in name.rstrip(".") or name.endswith(LOCAL_ENDS) or name == socket.gethostname().lower()
        return is_own and bool(name)


def _refused(header: str, value: bytes) -> Problem:
    return Problem(
        message=f"a request without a key may not come from a page of another host ({header}: {value[:200].decode('latin-1')!r}); "
        "add the host to [gateway] hosts, or create a key for the client: helmdeck keys create NAME",
        status=403, kind="permission_error", code="foreign_host",
    )  # fmt: skip
