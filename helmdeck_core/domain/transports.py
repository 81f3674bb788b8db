"""HTTP transports: they send a request and return the response.

Timeouts of a whole request, size limits, decompression, redaction and the classes of failures belong to the caller of a
transport, such as ``helmdeck_providers``. A transport follows no redirect, keeps no cookie, reads no credentials from the
environment, decompresses nothing, and never reuses a connection that holds bytes that no request asked for.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Protocol

import attrs

from helmdeck_core.domain import EMPTY
from helmdeck_core.redaction import hidden_texts
from helmdeck_core.secret_places import shown_url

CONNECT_TIMEOUT_S = 10.0
"""Default of ``connect_timeout_s`` of a provider and of a transport, in seconds."""


class TransportError(Exception):
    """A request failed on the wire. Transports map the exceptions of their library to its subclasses.

    Raise it outside the ``except`` block: exceptions of libraries refer to the request, which contains the key.

    :ivar detail: the reason reported by the network, such as ``Connection refused``; no URL and no header.
    """

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        self.detail = detail


class ConnectFailed(TransportError):
    """No connection was established: the host is unknown or refused it, or a proxy did."""


class ConnectTimeout(ConnectFailed):
    """No connection was established within ``connect_timeout_s``."""


class TlsFailed(ConnectFailed):
    """The TLS handshake failed; ``detail`` says why the certificate was rejected."""


class ConnectionBroken(TransportError):
    """The connection broke before the response was complete, or the response is not valid HTTP."""


class InvalidUrl(TransportError):
    """The URL or a header cannot be sent."""


@attrs.frozen
class ProxySettings:
    """A proxy between a transport and a server.

    :ivar url: without credentials, since libraries write it to logs.
    :ivar headers: for the proxy alone, such as ``proxy-authorization``; sent with ``CONNECT``, or with every request to a
        server without TLS.

    >>> from helmdeck_core import ProxySettings
    >>> ProxySettings("http://proxy.example.org:3128").url
    'http://proxy.example.org:3128'
    """

    url: str
    headers: Mapping[str, str] = attrs.field(default=EMPTY, converter=hidden_texts)


@attrs.frozen(kw_only=True)
class TransportSettings:
    """Settings of a transport.

    :ivar base_url: the scheme, host and port of its requests.
    :ivar connect_timeout_s: limit of connecting in seconds, TLS included.
    :ivar keepalive_s: seconds after which an idle connection is not used again.
    :ivar proxy: ``None`` to connect directly; a transport reads no proxy from the environment.
    :ivar client: an HTTP client of the application; the transport uses it and never closes it.

    >>> from helmdeck_core import ProxySettings, TransportSettings
    >>> proxy = ProxySettings("http://proxy.example.org:3128")
    >>> TransportSettings(base_url="https://api.example.org/v1", proxy=proxy).keepalive_s
    30.0
    """

    base_url: str = attrs.field(repr=lambda url: repr(shown_url(url)))
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    keepalive_s: float = 30.0
    proxy: ProxySettings | None = None
    client: object | None = attrs.field(default=None, repr=lambda client: type(client).__name__)


class TransportResponse(Protocol):
    """A response whose head has arrived: an async iterator over the raw chunks of its body, once.

    A chunk is everything that has arrived since the last one; none is empty.

    :ivar headers: names in lower case; values of a repeated header are joined by commas.
    """

    status: int
    headers: Mapping[str, str]

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Return itself."""
        ...

    async def __anext__(self) -> bytes:
        """Return the next chunk. Cancelling the call loses no bytes.

        :raises StopAsyncIteration: the body is complete.
        :raises ConnectionBroken: the connection broke before the body was complete.
        """
        ...

    async def aclose(self) -> None:
        """Release the connection; one whose response was not read to its end is closed. Idempotent."""
        ...


class WholeResponse:
    """A ``TransportResponse`` with a complete body.

    :param headers: names in any case.
    """

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in headers.items()}
        self._body = body

    def __aiter__(self) -> WholeResponse:
        return self

    async def __anext__(self) -> bytes:
        """Return the whole body, once."""
        body, self._body = self._body, b""
        if not body:
            raise StopAsyncIteration
        return body

    async def aclose(self) -> None:
        """Nothing is open."""


class Transport(Protocol):
    """A pool of connections to one server. It belongs to the event loop that opened it."""

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> TransportResponse:
        """Send a request and return the response as soon as its head has arrived.

        :param headers: all headers of the request, ``host`` included, names in lower case; the transport adds only
            ``content-length`` and headers of the connection.
        :param body: ``None`` for a request without one.
        :raises TransportError: no response arrived; a subclass.
        """
        ...

    async def aclose(self) -> None:
        """Close all connections; unfinished responses raise ``ConnectionBroken``. Idempotent."""
        ...


@attrs.frozen(kw_only=True)
class TransportSpec:
    """A transport that can be chosen by ``[http] transport`` or ``[providers.NAME] transport``.

    :ivar open: opens the transport, in a running event loop; should import its library itself, to keep start-up fast.
    :ivar accepts: whether a client of the application is one of its library; ``None`` if it accepts no client.
    :ivar order: the transport with the lowest order is the default.
    :ivar needs: the distribution to install, for a specification that only announces a transport; its plugin replaces it by name.
        A configuration that chooses an announced transport is invalid, and the message names the distribution.
    """

    name: str
    open: Callable[[TransportSettings], Transport]
    summary: str = ""
    accepts: Callable[[object], bool] | None = None
    order: int = 0
    needs: str = ""
