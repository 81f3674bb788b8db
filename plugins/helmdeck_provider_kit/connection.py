"""One pool of HTTP connections to one provider: sends JSON, reads an answer whole or in pieces, names what broke.

It never retries and never follows a redirect: the first is decided elsewhere, the second could carry the key to a stranger.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs

from helmdeck_core import (
    EMPTY,
    AuthFailed,
    CallFailed,
    InvalidRequest,
    LikelyTimeout,
    Limited,
    ProviderSettings,
    ProviderUnavailable,
    TransientUnknown,
    __version__,
)
from helmdeck_core.redaction import Secrets, header_secrets, quoted, without_scheme
from helmdeck_provider_kit.compression import ENCODINGS, decompressed
from helmdeck_provider_kit.settings import Proxy, checked_base_url, checked_headers, url_problem

if TYPE_CHECKING:
    from helmdeck_provider_kit.client import Client, Reply

_MOST_OF_AN_ERROR = 100_000
"""Bytes: more of the body of an error is not read."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

FOREIGN: Mapping[str, type[CallFailed]] = {
    "ClientError": ProviderUnavailable,
    "ConnectionTimeoutError": ProviderUnavailable,
    "DecodingError": ProviderUnavailable,
    "HttpProcessingError": ProviderUnavailable,
    "InvalidURL": InvalidRequest,
    "NonHttpUrlClientError": InvalidRequest,
    "ServerTimeoutError": LikelyTimeout,
}
"""What the exceptions of aiohttp become; by name, so that reading the table imports nothing. The nearest parent counts."""

_OF_HTTP = ("aiohttp.", "helmdeck_provider_kit.compression")
"""Beginnings of the modules whose exceptions are looked up."""

_UNREACHED = frozenset(("ClientConnectorError", "ClientHttpProxyError", "ConnectionTimeoutError"))
"""Those before there was a connection."""


@attrs.frozen
class HttpResponse:
    """An answer as it came; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpStream:
    """An answer whose head has come: an async iterator over the pieces of its body, once.

    :ivar headers: names in lower case.
    """

    def __init__(
        self,
        reply: Reply,
        settings: ProviderSettings,
        url: str,
        *,
        deadline: float,
        idle_s: float | None,
        secrets: Iterable[str],
    ) -> None:
        self.status = reply.status
        self.headers = reply.headers
        self._reply = reply
        self._settings = settings
        self._url = url
        self._deadline = deadline
        self._idle_s = idle_s
        self._secrets = secrets
        # Most bodies are not compressed, and the layers of decoding are paid for each piece.
        encoding = self.headers.get("content-encoding")
        source: AsyncIterator[bytes] = (encoding and decompressed(reply, encoding)) or reply
        self._read = source.__anext__
        self._loop = asyncio.get_running_loop()
        self._limit = deadline
        self._has_given = False
        self._room = settings.max_response_bytes

    def __aiter__(self) -> HttpStream:
        return self

    @property
    def is_whole(self) -> bool:
        """Whether this is no stream: an error, a page of somebody in between, or the answer of a server that does not stream."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        return self.status != 200 or kind in ("application/json", "text/html")

    async def __anext__(self) -> bytes:
        """The next piece: all that has come off the network since the last one.

        :raises CallFailed: the body breaks off, is too large, takes too long or stands still for too long.
        """
        # Only a wait can be too long, not what the reader does between.
        if self._idle_s is not None and self._has_given:
            self._limit = min(self._deadline, self._loop.time() + self._idle_s)
        piece = await self._next(Limited(self._read().__await__(), self._limit))
        self._has_given = True
        return piece

    async def received(self) -> HttpResponse:
        """Read the rest and return the whole answer; of an error what comes, which has its cause in its status.

        :raises CallFailed: as while iterating.
        """
        pieces: list[bytes] = []
        is_error, size = self.status >= 400, 0
        try:
            async for piece in self:
                pieces.append(piece)
                size += len(piece)
                if is_error and size >= _MOST_OF_AN_ERROR:
                    break
        except CallFailed:
            if not is_error:
                raise
        return HttpResponse(self.status, self.headers, b"".join(pieces))

    async def aclose(self) -> None:
        """Let go of the connection; one that was not read to its end is dropped."""
        await self._reply.aclose()

    async def _next(self, step: Awaitable[bytes]) -> bytes:
        try:
            piece = await step
        except StopAsyncIteration:
            raise
        except Exception as exc:
            failure = _failure(exc, self._settings, self._url, self._secrets, self._limit < self._deadline)
            if failure is None:
                raise
        else:
            self._room -= len(piece)
            if self._room < 0:
                raise self._too_large()
            return piece
        raise failure  # out here, since the library's exception holds the request with its key

    def _too_large(self) -> CallFailed:
        settings = self._settings
        return TransientUnknown(
            "the provider's answer is too large",
            status=self.status,
            sub_cause="too_large",
            detail=f"more than {settings.max_response_bytes:,} bytes; see providers.{settings.name}.max_response_bytes",
        )


class Transport:
    """The connections to one provider."""

    def __init__(self, settings: ProviderSettings) -> None:
        self._settings = settings
        self._url = checked_base_url(settings)
        self._headers = checked_headers(settings)
        self._client: Client | None = None
        self._proxy = _proxy_for(self._url, settings.name)
        # Of each request: what differs, and all together, with the forms in which it may come back.
        told = self._proxy.headers if self._proxy else EMPTY
        self._own_secrets = Secrets((*header_secrets(self._headers), *header_secrets(told)))
        self._told = (Secrets(), self._own_secrets)
        self._always = {
            "host": urlsplit(self._url).netloc,
            "accept-encoding": ENCODINGS,
            "user-agent": f"helmdeck/{__version__}",
        }

    def key(self) -> str | None:
        """Read the key now; ``None`` when the provider needs none.

        :raises AuthFailed: there is none where one is needed, or it is not one line of ASCII.
        """
        api_key = self._settings.api_key
        if api_key is None:
            return None
        key = api_key().strip()
        # The library's own complaint about such a header quotes the whole header.
        if not key or not (key.isascii() and key.isprintable()):
            name = self._settings.name
            detail = f"it is empty, or has characters that no header can carry; see providers.{name}.api_key"
            raise AuthFailed(f"the key for provider {name!r} cannot be used", sub_cause="no_key", detail=detail)
        return key

    def secrets(self, key: str | None, *more: str) -> Secrets:
        """What must not be quoted: the key, the value of every header that the deployment gave, passwords of proxies.

        No name tells whether the value of a header is one; only one that is too short to be does not count. Of a value with
        a scheme, as in ``Bearer abc``, what follows the scheme is the secret.

        :param more: what else the provider sends that is secret.
        """
        differing = (key, *more) if key else more
        if not self._told[0].are(differing):
            rest = (without_scheme(key),) if key else ()
            self._told = (Secrets(differing), Secrets((*differing, *rest, *self._own_secrets)))
        return self._told[1]

    async def post(
        self, path: str, body: bytes, headers: Mapping[str, str] = EMPTY, secrets: Iterable[str] = ()
    ) -> HttpResponse:
        """Send a body of JSON and return the answer, whatever its status.

        :param path: is appended to the base URL.
        :param headers: the deployment's own headers are laid over them.
        :param secrets: what must not be quoted.
        :raises CallFailed: nothing, too little, too much or too late came back.
        """
        async with self._exchange("POST", path, body, {"accept": "application/json", **headers}, secrets) as answer:
            return await answer.received()

    async def get(self, path: str, headers: Mapping[str, str] = EMPTY, secrets: Iterable[str] = ()) -> HttpResponse:
        """Ask for something, such as the list of models; as ``post`` otherwise."""
        async with self._exchange("GET", path, None, {"accept": "application/json", **headers}, secrets) as answer:
            return await answer.received()

    def stream(
        self, path: str, body: bytes, headers: Mapping[str, str] = EMPTY, secrets: Iterable[str] = ()
    ) -> AbstractAsyncContextManager[HttpStream]:
        """Send a body of JSON and read the answer piece by piece; leaving the block early drops the connection.

        The parameters are those of ``post``. Whoever reads looks at the status first: the body of an error is no stream.
        """
        # A server that compresses collects before it sends.
        plain = {"accept": "text/event-stream, application/json", "accept-encoding": "identity"}
        idle_s = self._settings.idle_timeout_s
        return self._exchange("POST", path, body, {**plain, **headers}, secrets, idle_s=idle_s)

    async def aclose(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.aclose()

    def _opened(self) -> Client:
        if self._client is None:
            from helmdeck_provider_kit.client import Client

            is_secure = self._url.startswith("https:")
            self._client = Client(self._settings, is_secure=is_secure, proxy=self._proxy)
        return self._client

    @asynccontextmanager
    async def _exchange(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        secrets: Iterable[str],
        *,
        idle_s: float | None = None,
    ) -> AsyncIterator[HttpStream]:
        deadline = asyncio.get_running_loop().time() + self._settings.timeout_s
        url = self._url + path
        reply = await self._head(method, url, body, headers, deadline, secrets)
        answer = HttpStream(reply, self._settings, url, deadline=deadline, idle_s=idle_s, secrets=secrets)
        try:
            yield answer
        finally:
            await answer.aclose()

    async def _head(
        self,
        method: str,
        url: str,
        body: bytes | None,
        headers: Mapping[str, str],
        deadline: float,
        secrets: Iterable[str],
    ) -> Reply:
        """Send a request and wait for the head of its answer."""
        kind = {} if body is None else {"content-type": "application/json"}
        try:
            given = {**self._always, **kind, **headers, **self._headers}
            async with asyncio.timeout_at(deadline):
                return await self._opened().send(method, url, given, body)
        except Exception as exc:
            failure = _failure(exc, self._settings, url, secrets)
            if failure is None:
                raise
        raise failure  # out here, since the library's exception holds the request with its key


def _proxy_for(url: str, name: str) -> Proxy | None:
    """The proxy that the environment names for an address; a proxy can reach many hosts, but never this machine's own.

    :param name: of the provider.
    :raises InvalidRequest: it cannot be used; it is not repeated, for it may hold a password.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in _LOOPBACK:
        return None
    # Costs a tenth of a second, which a process that opens no provider should not pay.
    from urllib.request import getproxies, proxy_bypass

    found = getproxies()
    proxy = found.get(parts.scheme) or found.get("all")
    if not proxy or proxy_bypass(host):
        return None
    if problem := url_problem(proxy):
        headline = "the proxy that the environment names cannot be used"
        detail = f"HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is {problem} (it is not shown)"
        raise InvalidRequest(headline, provider=name, sub_cause="misconfigured", detail=detail)
    return Proxy.at(proxy)


def _failure(
    exc: Exception, settings: ProviderSettings, url: str, secrets: Iterable[str], is_idle: bool = False
) -> CallFailed | None:
    """What an exception means; ``None`` for one that is not about the connection."""
    if failure := translated(exc, url, secrets):
        if type(exc).__name__ != "ConnectionTimeoutError":
            return failure
        limit = f"no connection within {settings.connect_timeout_s:g} s"
        return attrs.evolve(failure, detail=f"{limit}; see providers.{settings.name}.connect_timeout_s")
    if not isinstance(exc, TimeoutError):
        return None
    option = "idle_timeout_s" if is_idle else "timeout_s"
    missing = "nothing new" if is_idle else "no complete answer"
    detail = f"{missing} within {getattr(settings, option):g} s; see providers.{settings.name}.{option}"
    sub_cause = "idle" if is_idle else "timeout"
    return LikelyTimeout("the provider did not answer in time", sub_cause=sub_cause, detail=detail)


def translated(exc: Exception, url: str, secrets: Iterable[str] = ()) -> CallFailed | None:
    """Turn an exception of the HTTP library into ours; ``None`` for every other one."""
    names = [kind.__name__ for kind in type(exc).__mro__ if kind.__module__.startswith(_OF_HTTP)]
    found = next((FOREIGN[name] for name in names if name in FOREIGN), None)
    if found is None:
        return None
    headline, sub_cause = "the call to the provider broke off", ""
    if found is LikelyTimeout:
        headline, sub_cause = "the provider did not answer in time", "timeout"
    elif not _UNREACHED.isdisjoint(names):
        headline, sub_cause = "the provider cannot be reached", "unreachable"
    elif found is ProviderUnavailable:
        sub_cause = "broken_off"
    place, said = urlsplit(url), _in_words(exc)
    what = f"{type(exc).__name__} at {place.scheme}://{place.netloc}" + (f": {said}" if said else "")
    return found(headline, sub_cause=sub_cause, detail=quoted(what, secrets))


def _in_words(exc: Exception) -> str:
    """What an exception says without what only its library's authors want to know."""
    if type(exc).__name__ == "ClientPayloadError":
        return "the body ended before it was complete"
    system = getattr(exc, "os_error", None)
    if not isinstance(system, OSError):
        return str(exc)
    if refused := getattr(system, "verify_message", None):  # of a certificate
        return f"TLS: {refused}"
    if reason := getattr(system, "reason", None):
        return "TLS: " + str(reason).replace("_", " ").lower()
    if isinstance(system, socket.gaierror) or not system.errno:
        return system.strerror or str(system)
    return os.strerror(system.errno)
