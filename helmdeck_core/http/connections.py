"""Connections to one server over HTTP/1.1: h11 knows the protocol and asyncio the network, and this brings them together.

No proxies, no redirects, no cookies, no HTTP/2: one request, one answer. A connection serves again when both sides are
through with an answer that was read to its end; every other one is dropped.

It is made here for what a client library costs: 0.6 million instructions a request, where httpcore takes 1.8 and httpx 2.6;
and their pool looks at each of its connections once for each, twice a request, so that of 64 calls at once every one took
8 ms instead of 0.2 (httpcore 1.0, November 2026).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, cast

import h11

from helmdeck_core.http.addresses import connected

if TYPE_CHECKING:
    import ssl

    import httpx

KEPT_S = 30.0
"""How long a connection waits for its next request."""

_HEAD_BYTES = 100_000
"""The largest head of an answer."""
_AHEAD_BYTES = 262_144
"""Of an answer that nobody reads no more than about this is taken off the network."""


class ConnectError(OSError):
    """No connection came about."""


class ConnectTimeout(ConnectError):
    """No connection came about in time."""


class ReadError(OSError):
    """The connection broke off before the answer was there."""


class Reply(Protocol):
    """An answer whose head has come: an async iterator over the pieces of its body, once.

    :ivar headers: names in lower case.
    """

    status: int
    headers: Mapping[str, str]

    def __aiter__(self) -> Reply: ...

    async def __anext__(self) -> bytes:
        """All of the body that has come since the last piece."""
        ...

    async def aclose(self) -> None:
        """Let go of the connection; one that was not read to its end is dropped."""
        ...


class Pool:
    """The connections to one server. There is no limit to them: how much is sent at once is decided elsewhere.

    :param tls: how the server is known; ``None`` for a plain connection.
    :param connect_timeout_s: limit of connecting in seconds, with the handshake of TLS.
    :param clock: seconds that only grow.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        tls: ssl.SSLContext | None = None,
        connect_timeout_s: float = 10.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._host = host
        self._port = port
        self._tls = tls
        self._connect_timeout_s = connect_timeout_s
        self._clock = clock
        # Those that wait; the one that was used last is the next one to be used, so that the others can grow old.
        self._idle: deque[_Connection] = deque()
        self._all: set[_Connection] = set()

    @property
    def busy(self) -> int:
        """How many connections have an answer under way."""
        return sum(connection.is_busy for connection in self._all)

    @property
    def open(self) -> int:
        """How many connections there are."""
        return len(self._all)

    async def send(self, method: str, address: httpx.URL, headers: Mapping[str, str], body: bytes | None) -> Reply:
        """Send a request and return its answer as soon as its head has come.

        :param address: on this server.
        :param headers: with the host.
        :raises h11.LocalProtocolError: the request cannot be said in HTTP.
        :raises ConnectError: the server cannot be reached.
        :raises ReadError: it broke off.
        :raises h11.RemoteProtocolError: what came is not HTTP.
        """
        length = [] if body is None else [("content-length", str(len(body)))]
        request = h11.Request(method=method, target=address.raw_path, headers=[*headers.items(), *length])
        connection = self._waiting() or await self._connect()
        try:
            head = await connection.ask(request, body)
        except BaseException:
            connection.drop()
            raise
        return _Reply(self, connection, head)

    async def aclose(self) -> None:
        """Drop all connections, also those with an answer under way."""
        for connection in tuple(self._all):
            connection.drop()
        self._idle.clear()
        await asyncio.sleep(0)  # they close with the loop's next turn

    def take_back(self, connection: _Connection) -> None:
        """Keep a connection for the next request, if it can serve one."""
        if connection.can_serve_again():
            connection.idle_since_s = self._clock()
            self._idle.append(connection)
        else:
            connection.drop()
        self._sweep()

    def _waiting(self) -> _Connection | None:
        self._sweep()
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed:
                return connection
        return None

    def _sweep(self) -> None:
        oldest_s = self._clock() - KEPT_S
        while self._idle and (self._idle[0].is_closed or self._idle[0].idle_since_s < oldest_s):
            self._idle.popleft().drop()

    async def _connect(self) -> _Connection:
        scope = asyncio.timeout(self._connect_timeout_s)
        try:
            async with scope:
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: _Connection(self._all),
                    sock=await connected(self._host, self._port),
                    ssl=self._tls,
                    server_hostname=self._host if self._tls else None,
                )
        except (OSError, UnicodeError) as exc:  # the second for a host whose name no resolver takes
            if scope.expired():
                raise ConnectTimeout from exc
            raise ConnectError(str(exc)) from exc
        self._all.add(connection)
        return connection


class _Reply:
    """An answer over one connection of a pool."""

    def __init__(self, pool: Pool, connection: _Connection, head: h11.Response) -> None:
        self.status = head.status_code
        self.headers: Mapping[str, str] = _joined(head.headers)
        self._pool = pool
        self._connection: _Connection | None = connection

    def __aiter__(self) -> _Reply:
        return self

    async def __anext__(self) -> bytes:
        if self._connection is not None and (piece := await self._connection.piece()):
            return piece
        raise StopAsyncIteration

    async def aclose(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self._pool.take_back(connection)


def _joined(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name; one that comes several times is a list with commas."""
    found: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


class _Connection(asyncio.Protocol):
    """One connection. What comes is kept by h11, which reads it when it is asked for the next event.

    :param among: the connections that are open.
    """

    _transport: asyncio.Transport

    def __init__(self, among: set[_Connection]) -> None:
        self._among = among
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES)
        self._loop = asyncio.get_running_loop()
        self._reader: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._ahead = 0
        self.is_closed = False
        self.is_busy = True
        self.idle_since_s = 0.0

    # -- what asyncio tells --------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if not self.is_busy:  # a farewell, or something that is not for us: nobody asked
            self.drop()
            return
        self._http.receive_data(data)
        self._ahead += len(data)
        if self._ahead > _AHEAD_BYTES:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._among.discard(self)
        self._end(exc)

    def _end(self, exc: Exception | None) -> None:
        """Nothing more will come. An end without an error ends some answers, and cuts others: h11 knows which."""
        if not self.is_closed:
            self.is_closed = True
            if exc is None:
                self._http.receive_data(b"")
            else:
                self._error = ReadError(str(exc) or type(exc).__name__)
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    # -- one exchange --------------------------------------------------------------------------------------

    async def ask(self, request: h11.Request, body: bytes | None) -> h11.Response:
        """Send a request; return the head of the answer.

        A large body goes out while the answer is waited for: a server that refuses it may say so before it has it all.
        """
        self.is_busy = True
        parts = (request, h11.Data(body or b""), h11.EndOfMessage())
        self._transport.write(b"".join(self._http.send(part) or b"" for part in parts))
        while not isinstance(event := await self._event(), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                raise ReadError("the server went over to another protocol")
        return event

    async def piece(self) -> bytes:
        """All of the body that has come; empty at its end."""
        found: list[bytes] = []
        event = h11.NEED_DATA if self._is_answered() else await self._event()
        while isinstance(event, h11.Data):
            found.append(event.data)
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as exc:
                self._error = exc  # comes behind what is good
                break
        return bytes(found[0]) if len(found) == 1 else b"".join(found)

    def can_serve_again(self) -> bool:
        """Make ready for the next request, if both sides are through with this one."""
        http = self._http
        is_through = http.our_state is h11.DONE and http.their_state is h11.DONE and not http.trailing_data[0]
        if self.is_closed or not is_through or self._transport.get_write_buffer_size():
            return False
        http.start_next_cycle()
        self.is_busy = False
        self._go_on()
        return True

    def drop(self) -> None:
        """Close at once; who still reads gets an error."""
        self._among.discard(self)
        self.is_busy, self.is_closed = False, True
        self._error = self._error or ReadError("the connection was closed on this side")
        self._transport.abort()

    async def _event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        """What the server says next."""
        while True:
            if isinstance(self._error, h11.RemoteProtocolError):
                raise self._error
            if self.is_closed and self._error is None and self._is_silent():
                raise ReadError("the server closed the connection without an answer")
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self._error is not None:
                raise self._error
            self._go_on()
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._reader = None

    def _is_silent(self) -> bool:
        return self._http.their_state is h11.SEND_RESPONSE and not self._http.trailing_data[0]

    def _is_answered(self) -> bool:
        return self._http.their_state in (h11.DONE, h11.MUST_CLOSE, h11.CLOSED)

    def _go_on(self) -> None:
        """Let more come: what came was read."""
        if self._ahead > _AHEAD_BYTES:
            self._transport.resume_reading()
        self._ahead = 0
