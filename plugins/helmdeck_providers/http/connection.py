"""HTTP connections to one provider: sends JSON, reads a response whole or in chunks, and turns every failure into a class.

The transport is only the wire; the limits of time and size, decompression, redaction and error mapping are here. Nothing is
retried and no redirect is followed: the first is decided elsewhere, the second could carry the key to another host. Defaults of the
limits, such as the connect timeout, are fields of ``ProviderSettings`` (``helmdeck_core.domain.providers``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from types import TracebackType
from typing import Any
from urllib.parse import urljoin, urlsplit

import attrs

from helmdeck_core import (
    EMPTY,
    TRACE_CONTEXT,
    AuthFailed,
    CallFailed,
    ConnectFailed,
    ConnectionBroken,
    ConnectTimeout,
    Deadline,
    InvalidRequest,
    InvalidUrl,
    LikelyTimeout,
    Limited,
    ProviderSettings,
    ProviderUnavailable,
    Secrets,
    TransientUnknown,
    Transport,
    TransportError,
    TransportResponse,
    TransportSettings,
    __version__,
    header_secrets,
    quoted,
    without_scheme,
)
from helmdeck_providers.http.compression import ENCODINGS, DecodingError, decompressed
from helmdeck_providers.http.proxies import proxy_for
from helmdeck_providers.http.settings import checked_base_url, checked_headers

_MAX_ERROR_BYTES = 100_000
"""Bytes of an error body that are read."""
_END_SILENCE_S = 0.5
"""Silence after which a stream without an end mark is complete if its stop reason arrived."""
_DRAIN_S, _DRAIN_BYTES = 0.05, 65_536
"""How long and how much is read after the end mark; the end of the body usually arrives together with it."""

_CHUNKS_AT_ONCE = 8
"""Chunks of a body that are read before other tasks run."""

_UNREACHABLE = (ProviderUnavailable, "the provider cannot be reached", "unreachable")
_BROKEN = (ProviderUnavailable, "the provider closed the connection", "disconnected")
FAILURES: Mapping[type[Exception], tuple[type[CallFailed], str, str]] = {
    ConnectFailed: _UNREACHABLE,
    ConnectionBroken: _BROKEN,
    DecodingError: (ProviderUnavailable, "the provider's response is damaged", "cut_body"),
    InvalidUrl: (InvalidRequest, "the request cannot be sent", ""),
    TransportError: _BROKEN,
}
"""Failure class, headline and sub-cause of each exception of a transport; the nearest parent class counts."""


@attrs.frozen
class HttpResponse:
    """A whole response; header names are in lower case.

    >>> from helmdeck_providers import HttpResponse
    >>> HttpResponse(200, {"content-type": "application/json"}, b"{}").status
    200
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


class HttpStream:
    """A response whose head has arrived: an async iterator over the chunks of its body, once.

    :ivar headers: names in lower case.
    :ivar may_be_over: whether half a second of silence is the end of the body.
    """

    def __init__(
        self,
        response: TransportResponse,
        settings: ProviderSettings,
        url: str,
        *,
        deadline: float,
        secrets: Iterable[str],
    ) -> None:
        self.status: int = response.status
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._settings = settings
        self._url = url
        self._deadline = deadline
        self._secrets = secrets
        self._read = _decoded(response).__anext__
        self._loop = asyncio.get_running_loop()
        self._limit = deadline
        self._has_given = False
        self.may_be_over = False
        self._room = settings.max_response_bytes

    def __aiter__(self) -> HttpStream:
        return self

    @property
    def is_whole(self) -> bool:
        """Whether this is no stream: an error, an HTML page, or the response of a server that does not stream."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        return self.status != 200 or kind in ("application/json", "text/html")

    async def __anext__(self) -> bytes:
        """Return the next chunk: everything that has arrived since the last one.

        :raises CallFailed: the body is truncated, is too large, takes too long, or exceeds the idle timeout.
        """
        # The idle timeout is about the server: the time that the reader spends between two chunks does not count.
        if self._has_given:
            idle_s = self._settings.idle_timeout_s
            self._limit = min(
                self._deadline, self._loop.time() + (min(_END_SILENCE_S, idle_s) if self.may_be_over else idle_s)
            )
        try:
            chunk: bytes = await Limited(self._read().__await__(), self._limit)
        except StopAsyncIteration:
            raise
        except Exception as exc:
            if self.may_be_over and isinstance(exc, TimeoutError):
                raise StopAsyncIteration from None
            failure = _failure(exc, self._settings, self._url, self._secrets, self._limit < self._deadline)
            if failure is None:
                raise
        else:
            self._has_given = True
            self._room -= len(chunk)
            if self._room < 0:
                raise _too_large(self._response, self._settings)
            return chunk
        raise failure  # outside the except block: the library's exception holds the request with its key

    async def received(self) -> HttpResponse:
        """Read the rest and return the whole response.

        The body of an error may be incomplete: it is read up to a limit, and its status is enough if it is truncated.

        :raises CallFailed: as while iterating.
        """
        chunks: list[bytes] = []
        is_error, size = self.status >= 400, 0
        try:
            async for chunk in self:
                chunks.append(chunk)
                size += len(chunk)
                if is_error and size >= _MAX_ERROR_BYTES:
                    break
        except CallFailed:
            if not is_error:
                raise
        return HttpResponse(self.status, self.headers, b"".join(chunks))

    async def drain(self, *, awaits_end: bool = False) -> bool:
        """Read the end of a body whose content is complete, so that the connection can be used again; hardly wait for it.

        :param awaits_end: wait half a second, because the end of the body shows whether the content is complete.
        :returns: whether the connection was closed before the end of the body.
        """
        self._deadline = min(self._deadline, self._loop.time() + (_END_SILENCE_S if awaits_end else _DRAIN_S))
        self._room = _DRAIN_BYTES
        try:
            async for _ in self:
                pass
        except CallFailed as exc:
            return exc.sub_cause == FAILURES[ConnectionBroken][2]
        return False

    async def aclose(self) -> None:
        """Release the connection; one whose response was not read to its end is closed."""
        await self._response.aclose()


class HttpConnection:
    """The connections to one provider, over the transport that its deck chose; opened at the first request."""

    def __init__(self, settings: ProviderSettings) -> None:
        self._settings = settings
        self._url = checked_base_url(settings)
        self._headers = checked_headers(settings)
        self._transport: Transport | None = None
        self._proxy = proxy_for(self._url, settings.name)
        # Secrets of the last request, and these with everything else that is secret, in all forms that may come back.
        proxy_headers = self._proxy.headers if self._proxy else EMPTY
        self._own_secrets = Secrets((*header_secrets(self._headers), *header_secrets(proxy_headers)))
        self._last_secrets = (Secrets(), self._own_secrets)
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
        """What must not be quoted: the key, the value of every configured header, passwords of proxies.

        Header names do not tell whether a value is secret, so every value counts that is not too short. Of a value with a
        scheme, as in ``Bearer abc``, the secret is what follows the scheme.

        :param more: other secrets of the request.
        """
        differing = (key, *more) if key else more
        if not self._last_secrets[0].are(differing):
            rest = (without_scheme(key),) if key else ()
            self._last_secrets = (Secrets(differing), Secrets((*differing, *rest, *self._own_secrets)))
        return self._last_secrets[1]

    async def post(
        self, path: str, body: bytes, headers: Mapping[str, str] = EMPTY, secrets: Iterable[str] = ()
    ) -> HttpResponse:
        """Send a JSON body and return the response, whatever its status.

        :param path: is appended to the base URL; ``/../`` at its start leads to the folder above.
        :param headers: the configured headers override them.
        :param secrets: what must not be quoted.
        :raises CallFailed: no response, or one that is incomplete, too large or too late.
        """
        return await self._whole("POST", path, body, headers, secrets)

    async def get(self, path: str, headers: Mapping[str, str] = EMPTY, secrets: Iterable[str] = ()) -> HttpResponse:
        """Request something without a body, such as the list of models; otherwise as ``post``."""
        return await self._whole("GET", path, None, headers, secrets)

    def stream(
        self, path: str, body: bytes, headers: Mapping[str, str] = EMPTY, secrets: Iterable[str] = ()
    ) -> StreamRequest:
        """Send a JSON body and read the response in chunks; leaving the ``async with`` block early closes the connection.

        The parameters are those of ``post``. Check the status first: the body of an error is no stream.
        """
        return StreamRequest(self.open_stream(path, body, headers, secrets))

    async def aclose(self) -> None:
        """Close all connections."""
        if self._transport is not None:
            await self._transport.aclose()

    async def open_stream(
        self, path: str, body: bytes, headers: Mapping[str, str], secrets: Iterable[str]
    ) -> HttpStream:
        """Send a request and return the response when its head has arrived; the caller closes it. See ``stream``.

        :raises CallFailed: no response arrived.
        """
        settings, url = self._settings, self._url_of(path)
        deadline = asyncio.get_running_loop().time() + settings.timeout_s
        try:
            with Deadline(deadline):
                response = await self._opened().send("POST", url, self._sent({**_STREAM, **headers}, body), body)
        except Exception as exc:
            failure = _failure(exc, settings, url, secrets)
            if failure is None:
                raise
        else:
            return HttpStream(response, settings, url, deadline=deadline, secrets=secrets)
        raise failure  # outside the except block: the library's exception holds the request with its key

    def _url_of(self, path: str) -> str:
        """The URL of a path, which may lead out of the base URL: ``/../`` is the folder above it."""
        return urljoin(f"{self._url}/", path[1:]) if path.startswith("/../") else self._url + path

    async def _whole(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], secrets: Iterable[str]
    ) -> HttpResponse:
        settings, url = self._settings, self._url_of(path)
        response: TransportResponse | None = None
        failure: CallFailed | None = None
        chunks: list[bytes] = []
        try:
            with Deadline(asyncio.get_running_loop().time() + settings.timeout_s):
                response = await self._opened().send(method, url, self._sent({**_WHOLE, **headers}, body), body)
                await _read(response, settings, chunks)
        except Exception as exc:
            failure = _failure(exc, settings, url, secrets)
            if failure is None:
                raise
            if response is not None and response.status >= 400:  # its status says enough
                failure = None
        finally:
            if response is not None:
                await response.aclose()
        if failure is not None:
            raise failure  # outside the except block: the library's exception holds the request with its key
        assert response is not None
        return HttpResponse(response.status, response.headers, b"".join(chunks))

    def _sent(self, headers: Mapping[str, str], body: bytes | None) -> Mapping[str, str]:
        kind = EMPTY if body is None else _JSON
        sent = {**self._always, **kind, **headers, **TRACE_CONTEXT.get()}
        return {**sent, **self._headers} if self._headers else sent

    def _opened(self) -> Transport:
        if self._transport is None:
            settings = self._settings
            if settings.open_transport is None:
                detail = "give ProviderSettings an open_transport, or open the provider through a deck"
                raise InvalidRequest("the provider has no HTTP transport", sub_cause="misconfigured", detail=detail)
            self._transport = settings.open_transport(
                TransportSettings(base_url=self._url, connect_timeout_s=settings.connect_timeout_s, proxy=self._proxy)
            )
        return self._transport


_JSON = {"content-type": "application/json"}
_WHOLE = {"accept": "application/json"}
# A server that compresses collects before it sends.
_STREAM = {"accept": "text/event-stream, application/json", "accept-encoding": "identity"}


class StreamRequest:
    """A request whose response is read in chunks inside an ``async with`` block; see ``HttpConnection.stream``."""

    def __init__(self, opening: Coroutine[Any, Any, HttpStream]) -> None:
        self._opening = opening

    async def __aenter__(self) -> HttpStream:
        self._stream = await self._opening
        return self._stream

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stream.aclose()


async def _read(response: TransportResponse, settings: ProviderSettings, chunks: list[bytes]) -> None:
    """Read a body into ``chunks``, that of an error up to a limit.

    :raises CallFailed: it is too large.
    """
    is_error, size = response.status >= 400, 0
    async for chunk in _decoded(response):
        chunks.append(chunk)
        size += len(chunk)
        if len(chunks) % _CHUNKS_AT_ONCE == 0:  # data that has arrived is read without waiting
            await asyncio.sleep(0)
        if size > settings.max_response_bytes:
            raise _too_large(response, settings)
        if is_error and size >= _MAX_ERROR_BYTES:
            return


def _decoded(response: TransportResponse) -> AsyncIterator[bytes]:
    """The chunks of a body. Most bodies are not compressed, and every layer of decoding costs time for each chunk."""
    encoding = response.headers.get("content-encoding")
    return (encoding and decompressed(response, encoding)) or response


def _too_large(response: TransportResponse, settings: ProviderSettings) -> CallFailed:
    limit = f"more than {settings.max_response_bytes:,} bytes; see providers.{settings.name}.max_response_bytes"
    headline = "the provider's answer is too large"
    return TransientUnknown(headline, status=response.status, sub_cause="too_large", detail=limit)


def _failure(
    exc: Exception, settings: ProviderSettings, url: str, secrets: Iterable[str], is_idle: bool = False
) -> CallFailed | None:
    """What an exception means; ``None`` for one that is not about the connection."""
    if isinstance(exc, CallFailed):
        return exc
    if isinstance(exc, ConnectTimeout):
        failure, headline, sub_cause = FAILURES[ConnectFailed]
        limit = f"no connection within {settings.connect_timeout_s:g} s"
        return failure(
            headline, sub_cause=sub_cause, detail=f"{limit}; see providers.{settings.name}.connect_timeout_s"
        )
    if isinstance(exc, TimeoutError):
        option = "idle_timeout_s" if is_idle else "timeout_s"
        missing = "nothing new" if is_idle else "no complete answer"
        detail = f"{missing} within {getattr(settings, option):g} s; see providers.{settings.name}.{option}"
        sub_cause = "idle" if is_idle else "timeout"
        return LikelyTimeout("the provider did not answer in time", sub_cause=sub_cause, detail=detail)
    known = next((FAILURES[each] for each in type(exc).__mro__ if each in FAILURES), None)
    if known is None:
        return None
    failure, headline, sub_cause = known
    place = urlsplit(url)
    what = f"{type(exc).__name__} at {place.scheme}://{place.netloc}" + (f": {exc}" if str(exc) else "")
    return failure(headline, sub_cause=sub_cause, detail=quoted(what, secrets))
