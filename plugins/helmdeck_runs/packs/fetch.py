"""The pack ``http.fetch``: one HTTP request to a public host."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urljoin, urlsplit

import attrs
import msgspec

from helmdeck_core import Pack, PackContext, PackError, PackErrorCode, hookimpl
from helmdeck_runs.pack_builder.functions import pack

if TYPE_CHECKING:
    import httpcore2

NAME: Final = "http.fetch"
MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_OF_THE_CONNECTION: Final = frozenset(
    "host content-length transfer-encoding connection upgrade te trailer expect accept-encoding".split()
)
_CREDENTIALS: Final = frozenset(("authorization", "cookie", "proxy-authorization", "x-api-key", "api-key"))
_TEXT = re.compile(r"text/|application/(?:[\w.+-]*\+)?(?:json|xml)|application/(?:javascript|x-ndjson|yaml|toml)")


@attrs.frozen(kw_only=True)
class FetchOptions:
    """Options of ``[packs.options.http]``.

    :ivar allow: hosts, IP addresses and networks that may be fetched although they are not public, such as ``10.1.0.0/16``.
    :ivar max_bytes: of a body, compressed and not.
    :ivar timeout_s: seconds of the request with its redirects.
    """

    allow: tuple[str, ...] = ()
    max_bytes: int = 2_500_000
    timeout_s: float = 30.0


class Fetched(msgspec.Struct, omit_defaults=True):
    """A response: ``text`` of a page or a document in text, else an artifact."""

    status: int
    url: str
    headers: dict[str, str]
    media_type: str
    bytes: int
    text: str | None = None
    title: str | None = None
    artifacts: list[dict[str, Any]] | None = None


@pack(
    NAME,
    open_world=True,
    description="Send one HTTP request and return status, headers and body. Bodies over 2.5 MB are refused.",
    metadata={
        "accepts": ["url"],
        "produces": ["text"],
        "intent_keywords": ["call the API", "GET request", "POST to"],
    },
    options=FetchOptions,
)
async def fetch(
    context: PackContext,
    url: str,
    method: Literal["GET", "HEAD", "POST"] = "GET",
    headers: dict[str, str] | None = None,
    body: str | None = None,
    raw: bool = False,
) -> Fetched:
    """Send a request.

    :param url: of http or https, without credentials.
    :param headers: of the request; not sent to another host after a redirect if they contain credentials.
    :param body: of a POST request.
    :param raw: return a page as HTML and not as its text.
    """
    import asyncio

    import httpcore2

    from helmdeck_runs.packs.public_network import PublicNetwork, RefusedAddress

    options: FetchOptions = context.options
    sent = {name.lower(): value for name, value in (headers or {}).items()}
    if refused := [name for name in sent if name in _OF_THE_CONNECTION]:
        raise _invalid(f"headers: {refused[0]!r} is set by the connection")
    if body is not None and method != "POST":
        raise _invalid(f"body: a {method} request has none")
    network = PublicNetwork(options.allow)
    try:
        async with (
            asyncio.timeout(options.timeout_s),
            httpcore2.AsyncConnectionPool(network_backend=network, max_keepalive_connections=0) as pool,
        ):
            return await _follow(context, pool, url, method, sent, body, raw)
    except TimeoutError:
        raise PackError(NAME, PackErrorCode.TIMEOUT, f"no response after {options.timeout_s:g} s") from None
    except RefusedAddress as exc:
        detail = f"url: the IP address {exc} is not public; [packs.options.http] allow lists the exceptions"
        raise _invalid(detail) from None
    except httpcore2.LocalProtocolError as exc:
        raise _invalid(f"the request cannot be sent: {exc}") from None
    except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException) as exc:
        raise PackError(NAME, PackErrorCode.HANDLER_FAILED, f"no response: {exc or type(exc).__name__}") from None


async def _follow(
    context: PackContext,
    pool: "httpcore2.AsyncConnectionPool",
    url: str,
    method: str,
    headers: Mapping[str, str],
    body: str | None,
    raw: bool,
) -> Fetched:
    """Send the request, and follow redirects; each one is checked like the first URL."""
    for _ in range(MAX_REDIRECTS + 1):
        _check_url(url)
        wire = {"user-agent": "helmdeck", "accept": "*/*", **headers, "accept-encoding": "gzip, deflate"}
        content = None if body is None else body.encode()
        context.progress(f"{method} {urlsplit(url).hostname}")
        async with pool.stream(method, url, headers=list(wire.items()), content=content) as response:
            found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            if response.status not in _REDIRECTS or "location" not in found:
                data = b"" if method == "HEAD" else await _body(response, found, context.options.max_bytes)
                return _fetched(context, response.status, url, found, data, raw)
        target = urljoin(url, found["location"])
        if _origin(target) != _origin(url):
            headers = {name: value for name, value in headers.items() if name not in _CREDENTIALS}
        if response.status in (301, 302, 303) and method == "POST":
            method, body = "GET", None
        url = target
    raise PackError(NAME, PackErrorCode.HANDLER_FAILED, f"more than {MAX_REDIRECTS} redirects")


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as exc:
        raise _invalid(f"url: {exc}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _invalid(f"url: {parts.scheme or 'no scheme'!r} is not http or https, or there is no host")
    if parts.username is not None or parts.password is not None:
        raise _invalid("url: it contains credentials; send a header instead")
    if port == 0 or any(ord(char) <= 32 or ord(char) == 127 for char in url):
        raise _invalid("url: it contains a character or a port that is not allowed")
    try:
        ipaddress.ip_address(parts.hostname)
    except ValueError:
        # Forms such as 0x7f.1 or 2130706433 are addresses to a name server only.
        if re.fullmatch(r"(?:0x[0-9a-f]*|\d+)(?:\.(?:0x[0-9a-f]*|\d+))*\.?", parts.hostname, re.IGNORECASE):
            raise _invalid("url: the host is a number; write an IP address as four numbers") from None


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


async def _body(response: "httpcore2.Response", headers: Mapping[str, str], limit: int) -> bytes:
    """Read a body; neither its compressed nor its decompressed form may exceed the limit."""
    from helmdeck_providers import DecodingError, decompressed

    chunks: Any = _limited(response.aiter_stream(), limit)
    if encoding := headers.get("content-encoding", "").strip():
        chunks = decompressed(chunks, encoding)
        if chunks is None:
            raise PackError(NAME, PackErrorCode.HANDLER_FAILED, f"the body has the unknown encoding {encoding!r}")
        chunks = _limited(chunks, limit)
    try:
        return b"".join([chunk async for chunk in chunks])
    except DecodingError as exc:
        raise PackError(NAME, PackErrorCode.HANDLER_FAILED, f"the body is malformed: {exc}") from exc


async def _limited(chunks: Any, limit: int) -> Any:
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise PackError(NAME, PackErrorCode.HANDLER_FAILED, f"the body is larger than {limit:,} bytes")
        yield chunk


def _fetched(context: PackContext, status: int, url: str, headers: dict[str, str], data: bytes, raw: bool) -> Fetched:
    media_type, _, parameters = headers.get("content-type", "").partition(";")
    media_type = media_type.strip().lower()
    result = Fetched(status, url, headers, media_type, len(data))
    is_text = bool(_TEXT.match(media_type)) or not media_type
    if not data:
        result.text = ""
    elif not is_text:
        result.artifacts = [context.artifacts.write("download.bin", data, media_type).to_dict()]
    else:
        charset = re.search(r"charset=[\"']?([\w.-]+)", parameters)
        try:
            text = data.decode(charset[1] if charset else "utf-8", "replace")
        except LookupError:
            text = data.decode("utf-8", "replace")
        if media_type in ("text/html", "application/xhtml+xml") and not raw:
            from helmdeck_runs.packs.html_text import html_text

            title, text = html_text(text)
            result.title = title or None
        result.text = text
    return result


def _invalid(detail: str) -> PackError:
    return PackError(NAME, PackErrorCode.INVALID_INPUT, detail)


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The pack."""
    return (fetch,)
