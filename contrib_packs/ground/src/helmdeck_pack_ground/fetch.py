"""Fetches a source: HTTP and HTTPS at public addresses only, with limits of size, time and redirects.

The IP address is checked after the name was resolved, and the connection is made to it: a name that resolves to
another one at the second lookup cannot reach a private network.
"""

from __future__ import annotations

import asyncio
import html.parser
import ipaddress
import os
import socket
import urllib.parse
from typing import Any, Final

PRIVATE_VARIABLE: Final = "CONTENT_GROUND_ALLOW_PRIVATE"
"""Set to 1, addresses of private networks are allowed, for tests and for sources in an intranet."""

MAX_BYTES: Final = 2_500_000
MAX_REDIRECTS: Final = 5
TIMEOUT_S: Final = 20.0

_TYPES: Final = ("text/", "application/json", "application/xhtml", "application/xml")
_SKIPPED: Final = frozenset({"script", "style", "noscript", "template", "svg", "head", "nav", "footer"})
_BLOCKS: Final = frozenset(
    {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "blockquote", "td", "th"}
)


class FetchFailed(Exception):
    """A source cannot be fetched; the message says why."""


async def fetch(url: str) -> str:
    """Return the text of a page.

    :raises FetchFailed: the IP address is not public, the response is an error, too large or not text, or it takes too long.
    """
    import httpx2

    try:
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpx2.AsyncClient(trust_env=False, timeout=TIMEOUT_S, follow_redirects=False) as client,
        ):
            for _ in range(MAX_REDIRECTS + 1):
                location, text = await _get(client, url)
                if location is None:
                    return text
                url = urllib.parse.urljoin(url, location)
    except TimeoutError:
        raise FetchFailed(f"no complete response after {TIMEOUT_S:g} s") from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
        raise FetchFailed(f"the request failed: {type(exc).__name__}") from None
    raise FetchFailed(f"more than {MAX_REDIRECTS} redirects")


async def _get(client: Any, url: str) -> tuple[str | None, str]:
    """Return the location of a redirect, or the text."""
    parts, address = await _checked(url)
    host = f"[{address}]" if ":" in address else address
    port = "" if parts.port is None else f":{parts.port}"
    target = parts._replace(netloc=f"{host}{port}", fragment="").geturl()
    name = _ascii(parts.hostname or "")
    shown = f"[{name}]" if ":" in name else name
    headers = {"host": f"{shown}{port}", "accept-encoding": "identity", "user-agent": "content.ground"}
    extensions = {"sni_hostname": name}
    async with client.stream("GET", target, headers=headers, extensions=extensions) as response:
        if response.is_redirect and "location" in response.headers:
            return response.headers["location"], ""
        if response.status_code != 200:
            raise FetchFailed(f"status {response.status_code}")
        kind = response.headers.get("content-type", "text/plain").lower()
        if not kind.startswith(_TYPES):
            raise FetchFailed(f"content type {kind.partition(';')[0][:60]} is not text")
        # Compressed data was not requested, and could expand to any size.
        if response.headers.get("content-encoding", "identity") != "identity":
            raise FetchFailed("the response is compressed")
        data = bytearray()
        async for chunk in response.aiter_raw():
            data += chunk
            if len(data) > MAX_BYTES:
                raise FetchFailed(f"more than {MAX_BYTES:,} bytes")
    text = bytes(data).decode("utf-8", "replace")
    return None, page_text(text) if "html" in kind else text


async def _checked(url: str) -> tuple[urllib.parse.SplitResult, str]:
    """Return the parts of a URL and the IP address to connect to."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    except (ValueError, KeyError):
        raise FetchFailed("not a URL with http or https") from None
    if parts.hostname is None or parts.username is not None:
        raise FetchFailed("a URL without a host, or with credentials")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise FetchFailed(f"the host {parts.hostname!r} is unknown") from None
    addresses = [str(each[4][0]).partition("%")[0] for each in found]
    if os.environ.get(PRIVATE_VARIABLE) != "1" and not all(map(is_public, addresses)):
        raise FetchFailed(f"the host {parts.hostname!r} is not at a public address")
    return parts, addresses[0]


def _ascii(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode()


def is_public(address: str) -> bool:
    """Whether an IP address is in the public internet, also when it is embedded in an IPv6 address."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        embedded = ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1]
        if embedded is None and ip in ipaddress.ip_network("64:ff9b::/96"):
            embedded = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if embedded is not None:
            return is_public(str(embedded))
    return ip.is_global and not ip.is_multicast


class _Reader(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self._skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag in _SKIPPED:
            self._skipped += 1
        elif tag in _BLOCKS:
            self.texts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipped = max(0, self._skipped - 1)
        elif tag in _BLOCKS:
            self.texts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.texts.append(data)


def page_text(page: str) -> str:
    """Return the visible text of an HTML page, one line per block."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.texts).splitlines())
    return "\n".join(line for line in lines if line)
