"""Fetches a source: HTTP and HTTPS at public addresses only, with limits of size, time and redirects.

The IP address is checked after the name was resolved, and the connection is made to it: a name that resolves to
another one at the second lookup cannot reach a private network.
"""

from __future__ import annotations

import asyncio
import os
import urllib.parse
from typing import Any, Final

PRIVATE_VARIABLE: Final = "CONTENT_GROUND_ALLOW_PRIVATE"
"""Set to 1, addresses of private networks are allowed, for tests and for sources in an intranet."""

MAX_BYTES: Final = 2_500_000
MAX_REDIRECTS: Final = 5
TIMEOUT_S: Final = 20.0

_TYPES: Final = ("text/", "application/json", "application/xhtml", "application/xml")
EVERYWHERE: Final = ("0.0.0.0/0", "::/0")


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
    from helmdeck_runs import html_text

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
    return None, html_text(text, bullet="")[1] if "html" in kind else text


async def _checked(url: str) -> tuple[urllib.parse.SplitResult, str]:
    """Return the parts of a URL and the IP address to connect to."""
    import httpcore2

    from helmdeck_runs import PublicNetwork, RefusedAddress

    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    except (ValueError, KeyError):
        raise FetchFailed("not a URL with http or https") from None
    if parts.hostname is None or parts.username is not None:
        raise FetchFailed("a URL without a host, or with credentials")
    network = PublicNetwork(EVERYWHERE if os.environ.get(PRIVATE_VARIABLE) == "1" else ())
    try:
        addresses = await network.checked_addresses(parts.hostname, port)
    except httpcore2.ConnectError:
        raise FetchFailed(f"the host {parts.hostname!r} is unknown") from None
    except RefusedAddress:
        raise FetchFailed(f"the host {parts.hostname!r} is not at a public address") from None
    return parts, addresses[0].partition("%")[0]


def _ascii(host: str) -> str:
    return host if host.isascii() else host.encode("idna").decode()
