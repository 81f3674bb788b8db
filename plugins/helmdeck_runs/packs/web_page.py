"""One HTTP request to a public host, with limits of size, time and redirects; every URL on the way is checked alike."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpcore2

MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_OF_THE_CONNECTION: Final = frozenset(
    "host content-length transfer-encoding connection upgrade te trailer expect accept-encoding".split()
)
_CREDENTIALS: Final = frozenset(("authorization", "cookie", "proxy-authorization", "x-api-key", "api-key"))
_TEXT = re.compile(r"text/|application/(?:[\w.+-]*\+)?(?:json|xml)|application/(?:javascript|x-ndjson|yaml|toml)")
_HTML: Final = ("text/html", "application/xhtml+xml")


class WebPageError(Exception):
    """A URL cannot be fetched; the message contains the reason.

    :ivar is_invalid: the URL or a header is not allowed, so no request with them can succeed.
    :ivar is_private: the host is not at a public address.
    """

    is_invalid = is_private = False


class InvalidRequestError(WebPageError):
    """The URL or a header is not allowed."""

    is_invalid = True


class PrivateHostError(InvalidRequestError):
    """A host on the way has an IP address that is not public."""

    is_private = True


class WebTimeoutError(WebPageError):
    """There is no whole response within the time."""


@attrs.frozen(kw_only=True)
class WebPage:
    """A response.

    :ivar url: after redirects.
    :ivar headers: by name in lower case.
    :ivar media_type: without parameters, in lower case; empty if the response has none.
    :ivar text: of a page or a document in text; ``None`` for other media.
    :ivar title: of a page; empty for other media.
    """

    status: int
    url: str
    headers: Mapping[str, str]
    media_type: str
    data: bytes
    text: str | None
    title: str = ""


async def web_page(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: str | None = None,
    allow: Sequence[str] = (),
    max_bytes: int = 2_500_000,
    timeout_s: float = 30.0,
    raw: bool = False,
    bullet: str = "- ",
    progress: Callable[[str], None] = lambda _: None,
) -> WebPage:
    """Send one request and read the response; connections go to the IP address that was checked.

    :param headers: not sent to another host after a redirect if they contain credentials.
    :param allow: hosts, IP addresses and networks that may be fetched although they are not public.
    :param max_bytes: of the body, compressed and not.
    :param timeout_s: seconds for the request with its redirects, and for reading the page.
    :param raw: return the text of a page as HTML.
    :param bullet: what begins the items of lists.
    :raises WebPageError: with the reason; a status such as 404 is none.
    """
    import httpcore2

    from helmdeck_runs.packs.public_network import PublicNetwork, RefusedAddress

    sent = {name.lower(): value for name, value in (headers or {}).items()}
    if refused := [name for name in sent if name in _OF_THE_CONNECTION]:
        raise InvalidRequestError(f"headers: {refused[0]!r} is set by the connection")
    if body is not None and method != "POST":
        raise InvalidRequestError(f"body: a {method} request has none")
    try:
        async with (
            asyncio.timeout(timeout_s),
            httpcore2.AsyncConnectionPool(network_backend=PublicNetwork(allow), max_keepalive_connections=0) as pool,
        ):
            status, url, found, data = await _follow(pool, url, method, sent, body, max_bytes, progress)
            # In a thread: the event loop continues, and the timeout takes effect while the page is read.
            return await asyncio.to_thread(_page, status, url, found, data, raw, bullet)
    except TimeoutError:
        raise WebTimeoutError(f"no response after {timeout_s:g} s") from None
    except RefusedAddress as exc:
        raise PrivateHostError(f"url: the IP address {exc} is not public") from None
    except httpcore2.LocalProtocolError as exc:
        raise InvalidRequestError(f"the request cannot be sent: {exc}") from None
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as exc:
        raise WebPageError(f"no response: {exc or type(exc).__name__}") from None


async def _follow(
    pool: httpcore2.AsyncConnectionPool,
    url: str,
    method: str,
    headers: Mapping[str, str],
    body: str | None,
    max_bytes: int,
    progress: Callable[[str], None],
) -> tuple[int, str, dict[str, str], bytes]:
    """Send the request, and follow redirects; each one is checked like the first URL."""
    for _ in range(MAX_REDIRECTS + 1):
        url = checked_url(url)
        wire = {"user-agent": "helmdeck", "accept": "*/*", **headers, "accept-encoding": "gzip, deflate"}
        content = None if body is None else body.encode()
        progress(f"{method} {urlsplit(url).hostname}")
        async with pool.stream(method, url, headers=list(wire.items()), content=content) as response:
            found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            if response.status not in _REDIRECTS or "location" not in found:
                data = b"" if method == "HEAD" else await _body(response, found, max_bytes)
                return response.status, url, found, data
        try:
            target = urljoin(url, found["location"])
        except ValueError as exc:
            raise InvalidRequestError(f"url: the location of a redirect is not valid: {exc}") from None
        if _origin(target) != _origin(url):
            headers = {name: value for name, value in headers.items() if name not in _CREDENTIALS}
        if response.status in (301, 302, 303) and method == "POST":
            method, body = "GET", None
        url = target
    raise WebPageError(f"more than {MAX_REDIRECTS} redirects")


def checked_url(url: str) -> str:
    """Return a URL of http or https in ASCII, as it is sent.

    :raises InvalidRequestError: it is none, or contains credentials or another form of an IP address.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as exc:
        raise InvalidRequestError(f"url: {exc}") from None
    host = parts.hostname
    if parts.scheme not in ("http", "https") or not host:
        detail = f"url: {parts.scheme or 'no scheme'!r} is not http or https, or there is no host"
        raise InvalidRequestError(detail)
    if parts.username is not None or parts.password is not None:
        raise InvalidRequestError("url: it contains credentials; send a header instead")
    if port == 0 or any(ord(char) <= 32 or ord(char) == 127 for char in url):
        raise InvalidRequestError("url: it contains a character or a port that is not allowed")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        host = _ascii_host(host)
    shown = f"[{host}]" if ":" in host else host
    netloc = shown if port is None else f"{shown}:{port}"
    path, query = (quote(part, safe="/%:@!$&'()*+,;=~?[]{}|\\^`\"<>") for part in (parts.path, parts.query))
    return urlunsplit((parts.scheme, netloc, path, query, ""))


def _ascii_host(host: str) -> str:
    try:
        name = host if host.isascii() else host.encode("idna").decode().lower()
    except UnicodeError as exc:
        raise InvalidRequestError(f"url: the host {host!r} is not valid: {exc}") from None
    # Forms such as 0x7f.1 or 2130706433 are addresses to a name server only.
    if re.fullmatch(r"(?:0x[0-9a-f]*|\d+)(?:\.(?:0x[0-9a-f]*|\d+))*\.?", name, re.IGNORECASE):
        raise InvalidRequestError("url: the host is a number; write an IP address as four numbers") from None
    return name


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


async def _body(response: httpcore2.Response, headers: Mapping[str, str], limit: int) -> bytes:
    """Read a body; neither its compressed nor its decompressed form may exceed the limit."""
    from helmdeck_providers import DecodingError, decompressed

    chunks: Any = _limited(response.aiter_stream(), limit)
    if encoding := headers.get("content-encoding", "").strip():
        chunks = decompressed(chunks, encoding)
        if chunks is None:
            raise WebPageError(f"the body has the unknown encoding {encoding!r}")
        chunks = _limited(chunks, limit)
    try:
        return b"".join([chunk async for chunk in chunks])
    except DecodingError as exc:
        raise WebPageError(f"the body is malformed: {exc}") from exc


async def _limited(chunks: Any, limit: int) -> Any:
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise WebPageError(f"the body is larger than {limit:,} bytes")
        yield chunk


def _page(status: int, url: str, headers: Mapping[str, str], data: bytes, raw: bool, bullet: str) -> WebPage:
    media_type, _, parameters = headers.get("content-type", "").partition(";")
    media_type = media_type.strip().lower()
    title, text = "", _text_of(data, media_type, parameters)
    if text and media_type in _HTML and not raw:
        from helmdeck_runs.packs.html_text import html_text

        title, text = html_text(text, bullet)
    return WebPage(status=status, url=url, headers=headers, media_type=media_type, data=data, text=text, title=title)


def _text_of(data: bytes, media_type: str, parameters: str) -> str | None:
    if not data:
        return ""
    if media_type and not _TEXT.match(media_type):
        return None
    charset = re.search(r"charset=[\"']?([\w.-]+)", parameters)
    try:
        return data.decode(charset[1] if charset else "utf-8", "replace")
    except (LookupError, UnicodeError):  # "idna" and the like are encodings of Python, and not of text
        return data.decode("utf-8", "replace")
