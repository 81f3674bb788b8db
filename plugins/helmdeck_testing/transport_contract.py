"""What every HTTP transport has to do, as tests: subclass ``TransportContract`` in a test file, and pytest runs them.

::

    class TestAcme(TransportContract):
        spec = acme_transport.SPEC          # the TransportSpec

The transport talks to a server on the loopback that writes exactly the bytes that a test is about.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from helmdeck_core import (
    ConnectFailed,
    ConnectionBroken,
    ConnectTimeout,
    InvalidUrl,
    ProxySettings,
    TlsFailed,
    Transport,
    TransportError,
    TransportResponse,
    TransportSettings,
    TransportSpec,
)
from helmdeck_testing.byte_server import CHUNKED, OK, ByteServer, Reply, ServedConnection, then_close, turns, until

KEY = "kq7Zr0Wm4Xc9Tb2Ld8Gn5Vf1Hs6Jp3Ya"
_OTHER = OK.replace(b"ok", b"no")
"""A response that no request asked for."""
_LONGEST_S = 30.0

Act = Callable[[Transport, ByteServer], Coroutine[Any, Any, None]]


def _reset(connection: ServedConnection) -> None:
    plug = connection.transport.get_extra_info("socket")
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.transport.abort()


def _silent(connection: ServedConnection) -> None:
    """Reply nothing."""


class TransportContract:
    """The contract.

    :cvar spec: the transport.
    """

    spec: ClassVar[TransportSpec]

    # -- how it is run -----------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def opened(self, url: str, **settings: Any) -> AsyncIterator[Transport]:
        """Open the transport for a block; override it to hand over a client."""
        transport = self.spec.open(TransportSettings(base_url=url, **settings))
        try:
            yield transport
        finally:
            await transport.aclose()

    def run(self, act: Act, *replies: Reply, **settings: Any) -> None:
        """Let ``act`` use an open transport and a server; afterwards no connection and no task may be left."""

        async def main() -> None:
            async with asyncio.timeout(_LONGEST_S), ByteServer(*replies) as server:
                async with self.opened(server.url, **settings) as transport:
                    await act(transport, server)
                await until(lambda: server.open == 0)
                await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})

        asyncio.run(main())

    async def send(
        self, transport: Transport, server: ByteServer, method: str = "POST", body: bytes | None = b"{}", **headers: str
    ) -> TransportResponse:
        """Send a request to the server."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        host = f"{server.host}:{server.port}"
        return await transport.send(method, f"{server.url}/x", {"host": host, **named}, body)

    async def ask(self, transport: Transport, server: ByteServer, **request: Any) -> tuple[int, bytes]:
        """Send a request; the status and the whole body of the response."""
        response = await self.send(transport, server, **request)
        try:
            return response.status, b"".join([chunk async for chunk in response])
        finally:
            await response.aclose()

    # -- requests ----------------------------------------------------------------------------------------------

    def test_request_is_sent_as_given(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            given = {"authorization": f"Bearer {KEY}", "accept_encoding": "identity", "user_agent": "x", "accept": "y"}
            await self.ask(transport, server, body=b"{}", **given)
            await self.ask(transport, server, method="GET", body=None, **given)
            post, get = ([line for line in head.split(b"\r\n") if line] for head in server.heads)
            assert (post[0], get[0]) == (b"POST /x HTTP/1.1", b"GET /x HTTP/1.1")
            sent = {name.lower(): value for name, _, value in (line.partition(b": ") for line in post[1:])}
            assert len(sent) == len(post) - 1, "no header is sent twice"
            sent.pop(b"connection", None)
            wanted = {name.replace("_", "-").encode(): value.encode() for name, value in given.items()}
            assert sent == {b"host": f"127.0.0.1:{server.port}".encode(), b"content-length": b"2", **wanted}
            assert not any(line.lower().startswith((b"content-", b"transfer-")) for line in get)

        self.run(act, OK)

    def test_escaped_path_is_sent_as_it_is(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            for path in ("/a%2Fb%3a/../c", "/é?q=é"):
                response = await transport.send("GET", server.url + path, {"host": "h"}, None)
                await response.aclose()
            assert server.heads[0].startswith(b"GET /a%2Fb%3a/../c HTTP")
            assert server.heads[1].startswith(b"GET /%C3%A9?q=%C3%A9 HTTP")

        self.run(act, OK)

    @pytest.mark.parametrize("path", ["/\x00", "/a\r\nx: y", "/a\nb"])
    def test_url_that_cannot_be_sent_is_invalid(self, path: str) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            with pytest.raises(InvalidUrl):
                await transport.send("GET", server.url + path, {"host": "h"}, None)
            assert server.heads == []

        self.run(act, OK)

    def test_credentials_of_netrc_are_not_sent(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / ".netrc").write_text(f"machine 127.0.0.1 login ann password {KEY}\n", encoding="utf-8")
        monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
        monkeypatch.setenv("HOME", str(tmp_path))

        async def act(transport: Transport, server: ByteServer) -> None:
            await self.ask(transport, server)
            assert b"authorization" not in server.heads[0].lower()

        self.run(act, OK)

    def test_cookies_are_not_kept(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            for _ in range(2):
                await self.ask(transport, server)
            assert b"cookie" not in server.heads[1].lower()

        self.run(act, OK.replace(b"content-length", b"set-cookie: a=b; Path=/\r\ncontent-length"))

    def test_redirect_is_not_followed(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            server.answers.insert(0, OK.replace(b"200 OK", b"307 Moved\r\nlocation: " + server.url.encode()))
            response = await self.send(transport, server)
            assert (response.status, response.headers["location"]) == (307, server.url)
            await response.aclose()
            assert len(server.heads) == 1

        self.run(act, OK)

    # -- responses ---------------------------------------------------------------------------------------------

    def test_response_is_returned_when_its_head_has_arrived(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            response = await self.send(transport, server)
            assert response.status == 200
            for chunk in (b"a", b"b"):
                server.last.transport.write(b"1\r\n%b\r\n" % chunk)
                assert await anext(response) == chunk  # type: ignore[call-overload]
            server.last.transport.write(b"0\r\n\r\n")
            assert [chunk async for chunk in response] == []
            await response.aclose()

        self.run(act, CHUNKED)

    def test_header_names_are_lower_case_and_repeated_headers_are_joined(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            response = await self.send(transport, server)
            await response.aclose()
            assert response.headers == {"x-team": "blue, red", "x-cafe": "é", "content-length": "0"}

        lines = b"X-Team: blue\r\nx-team: red\r\nX-Cafe: \xe9\r\ncontent-length: 0\r\n\r\n"
        self.run(act, b"HTTP/1.1 200 OK\r\n" + lines)

    @pytest.mark.parametrize(
        ("reply", "expected"),
        [
            (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + OK, (200, b"ok")),
            (CHUNKED + b"2;x=y\r\nab\r\n1\r\nc\r\n0\r\nx-late: 1\r\n\r\n", (200, b"abc")),
            (b"HTTP/1.1 204 No Content\r\n\r\n", (204, b"")),
            (b"HTTP/1.1 500 \r\ncontent-length: 0\r\n\r\n", (500, b"")),
        ],
    )
    def test_every_form_of_response_is_read_and_the_connection_is_reused(
        self, reply: bytes, expected: tuple[int, bytes]
    ) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            for _ in range(2):
                assert await self.ask(transport, server) == expected
            assert len(server.connections) == 1

        self.run(act, reply)

    def test_body_without_a_length_ends_with_the_connection(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            assert await self.ask(transport, server) == (200, b"all of it")

        self.run(act, then_close(b"HTTP/1.1 200 OK\r\n\r\nall of it"))

    @pytest.mark.parametrize("encoding", [b"gzip", b"br", b"deflate"])
    def test_body_is_not_decompressed(self, encoding: bytes) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            assert await self.ask(transport, server) == (200, b"ok")

        self.run(act, OK.replace(b"content-length", b"content-encoding: " + encoding + b"\r\ncontent-length"))

    @pytest.mark.parametrize(
        "reply",
        [
            then_close(b""),
            then_close(b"HTTP/1.1 200 OK\r\ncontent-le"),
            then_close(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"),
            then_close(CHUNKED + b"2\r\nok\r\n"),
            then_close(b"SSH-2.0-x\r\n"),
            _reset,
            b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000,
            CHUNKED + b"zz\r\nok\r\n",
        ],
    )
    def test_incomplete_or_malformed_response_is_a_broken_connection_and_is_not_reused(self, reply: Reply) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            with pytest.raises(ConnectionBroken) as caught:
                await self.ask(transport, server, authorization=KEY)
            # What a library raises holds the request.
            assert (caught.value.__cause__, caught.value.__context__) == (None, None)
            assert KEY not in repr(caught.value)
            await until(lambda: server.open == 0)

        self.run(act, reply)

    # -- which connection is used ------------------------------------------------------------------------------

    def test_sequential_requests_share_a_connection_and_concurrent_requests_do_not(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            for _ in range(5):
                assert await self.ask(transport, server) == (200, b"ok")
            assert len(server.connections) == 1
            await asyncio.gather(*(self.ask(transport, server) for _ in range(2)))
            assert len(server.connections) == 2

        self.run(act, OK)

    def test_requests_are_not_queued_behind_one_another(self) -> None:
        count = 150

        async def act(transport: Transport, server: ByteServer) -> None:
            calls = [asyncio.ensure_future(self.ask(transport, server)) for _ in range(count)]
            await until(lambda: len(server.heads) == count, _LONGEST_S)
            for connection in server.connections:
                connection.transport.write(OK)
            assert await asyncio.gather(*calls) == [(200, b"ok")] * count

        self.run(act, _silent)

    def test_bytes_behind_a_response_are_not_the_next_response(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            for _ in range(3):
                assert await self.ask(transport, server) == (200, b"ok")
            # A connection with the beginning of a response may stay if its bytes are dropped.
            assert len(server.connections) >= 2

        self.run(act, OK + _OTHER, OK + _OTHER[:20], OK)

    @pytest.mark.parametrize("loop_has_run", [True, False])
    @pytest.mark.parametrize("stray", [_OTHER, _OTHER[:20], b"\r\n"])
    def test_bytes_on_an_idle_connection_are_not_the_next_response(self, stray: bytes, loop_has_run: bool) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            assert await self.ask(transport, server) == (200, b"ok")
            server.last.transport.write(stray)  # it is in the socket at once
            if loop_has_run:
                await turns()
            assert await self.ask(transport, server) == (200, b"ok")
            assert len(server.connections) == 2, "the connection with unread bytes is closed"

        self.run(act, OK)

    @pytest.mark.parametrize("loop_has_run", [True, False])
    @pytest.mark.parametrize("farewell", [b"", b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"])
    def test_idle_connection_that_the_server_closed_is_not_used(self, farewell: bytes, loop_has_run: bool) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            await self.ask(transport, server)
            server.last.transport.write(farewell)
            server.last.transport.get_extra_info("socket").shutdown(socket.SHUT_WR)
            if loop_has_run:
                await turns()
            assert await self.ask(transport, server) == (200, b"ok")

        self.run(act, OK)

    def test_closed_idle_connection_is_skipped_and_another_one_is_used(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            await asyncio.gather(*(self.ask(transport, server) for _ in range(2)))
            await self.ask(transport, server)
            server.last.transport.close()
            await until(lambda: server.open == 1)
            await turns()
            assert await self.ask(transport, server) == (200, b"ok")
            assert len(server.connections) == 2

        self.run(act, OK)

    @pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nconnection: close", b"HTTP/1.0 200 OK"])
    def test_connection_that_the_server_will_close_is_used_once(self, head: bytes) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            for _ in range(2):
                assert await self.ask(transport, server) == (200, b"ok")
            assert len(server.connections) == 2

        self.run(act, head + b"\r\ncontent-length: 2\r\n\r\nok")

    def test_connection_is_not_used_again_after_keepalive_s(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            for _ in range(2):
                await self.ask(transport, server)
                await asyncio.to_thread(lambda: None)  # the clock goes on
            assert len(server.connections) == 2

        self.run(act, OK, keepalive_s=1e-9)

    # -- large bodies ------------------------------------------------------------------------------------------

    def test_response_before_the_request_was_complete_is_read_and_the_connection_is_not_reused(self) -> None:
        class Refusing(ServedConnection):
            def data_received(self, data: bytes) -> None:  # noqa: ARG002
                self.server.last = self
                self.transport.pause_reading()
                self.transport.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 9\r\n\r\ntoo large")

        async def main() -> None:
            server = ByteServer(OK)
            server.protocol = Refusing
            async with asyncio.timeout(_LONGEST_S), server, self.opened(server.url) as transport:
                for number in (1, 2):
                    assert await self.ask(transport, server, body=b"x" * 20_000_000) == (413, b"too large")
                    assert len(server.connections) == number

        asyncio.run(main())

    def test_response_that_is_not_read_stays_with_the_server(self) -> None:
        size = 64_000_000

        def reply(connection: ServedConnection) -> None:
            connection.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + bytes(size))

        async def act(transport: Transport, server: ByteServer) -> None:
            response = await self.send(transport, server)
            left = -1
            while left != (left := server.last.transport.get_write_buffer_size()):
                await turns(100)
            assert left > size / 2
            assert sum([len(chunk) async for chunk in response]) == size
            await response.aclose()

        self.run(act, reply)

    # -- cancelling and closing --------------------------------------------------------------------------------

    def test_cancelled_request_closes_its_connection(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            call = asyncio.ensure_future(self.ask(transport, server))
            await until(lambda: bool(server.heads))
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await until(lambda: len(server.gone) == 1 and server.open == 0)

        self.run(act, _silent)

    @pytest.mark.parametrize("count", range(8))
    def test_request_that_is_cancelled_while_connecting_leaves_no_connection(self, count: int) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            call = asyncio.ensure_future(self.ask(transport, server))
            await turns(count)
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call

        self.run(act, OK)

    def test_cancelled_read_loses_no_bytes(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            response = await self.send(transport, server)
            for chunk in (b"a", b"b"):
                reader = asyncio.ensure_future(response.__anext__())
                await turns()
                reader.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await reader
                server.last.transport.write(b"1\r\n%b\r\n" % chunk)
                assert await response.__anext__() == chunk
            await response.aclose()

        self.run(act, CHUNKED)

    def test_response_that_is_left_early_closes_its_connection(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            for reads in (0, 1):
                response = await self.send(transport, server)
                for _ in range(reads):
                    await response.__anext__()
                await response.aclose()
                await response.aclose()
                await until(lambda: server.open == 0)

        self.run(act, CHUNKED + b"1\r\na\r\n")

    def test_closing_the_transport_breaks_responses_that_are_still_read(self) -> None:
        async def act(transport: Transport, server: ByteServer) -> None:
            for reply in (CHUNKED + b"1\r\na\r\n", b"HTTP/1.1 200 OK\r\n\r\na"):
                async with self.opened(server.url) as other:
                    server.answers[:] = [reply]
                    response = await self.send(other, server)
                    assert await response.__anext__() == b"a"
                    rest = asyncio.ensure_future(response.__anext__())
                    await turns()
                    await other.aclose()
                    await other.aclose()
                    with pytest.raises(ConnectionBroken):
                        await rest
                    await response.aclose()

        self.run(act, OK)

    # -- connecting --------------------------------------------------------------------------------------------

    async def error_at(self, url: str, **settings: Any) -> TransportError:
        """The error of a request that cannot be sent."""
        async with asyncio.timeout(_LONGEST_S), self.opened(url, **settings) as transport:
            with pytest.raises(TransportError) as caught:
                await transport.send("POST", f"{url}/x", {"host": "h", "authorization": KEY}, b"{}")
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
        return caught.value

    def test_refused_connection_and_unknown_host_are_failed_connections(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
        found = asyncio.run(self.error_at(f"http://127.0.0.1:{port}"))
        assert (type(found), "refused" in found.detail) == (ConnectFailed, True)
        assert type(asyncio.run(self.error_at("http://host.invalid"))) is ConnectFailed

    @pytest.fixture
    def deaf(self) -> Iterator[str]:
        """The URL of a server that neither accepts nor refuses a connection."""
        with contextlib.ExitStack() as stack:
            listening = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
            for _ in range(4):  # its queue is full
                each = stack.enter_context(socket.socket())
                each.setblocking(False)
                each.connect_ex(listening.getsockname())
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"

    def test_connection_that_takes_too_long_is_a_timeout(self, deaf: str) -> None:
        assert type(asyncio.run(self.error_at(deaf, connect_timeout_s=0.01))) is ConnectTimeout

    def test_server_without_tls_is_a_tls_failure(self) -> None:
        async def main() -> TransportError:
            async with ByteServer(b"") as server:
                for_tls = server.url.replace("http:", "https:")
                connection_made = ServedConnection.connection_made

                class Plain(ServedConnection):
                    def connection_made(self, transport: asyncio.BaseTransport) -> None:
                        connection_made(self, transport)
                        self.transport.write(b"SSH-2.0-not TLS\r\n")

                server.protocol = Plain
                return await self.error_at(for_tls)

        found = asyncio.run(main())
        assert (type(found), "TLS: wrong version number" in found.detail) == (TlsFailed, True)

    # -- proxies -----------------------------------------------------------------------------------------------

    def test_given_proxy_is_used_with_its_headers_and_the_environment_is_not_read(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")

        async def main() -> None:
            async with ByteServer(OK) as server:
                async with self.opened(server.url) as transport:
                    assert await self.ask(transport, server) == (200, b"ok")
                proxy = ProxySettings(server.url, {"proxy-authorization": KEY})
                async with self.opened("http://models.example", proxy=proxy) as transport:
                    response = await transport.send(
                        "POST", "http://models.example/x", {"host": "models.example"}, b"{}"
                    )
                    await response.aclose()
                direct, through = (head.lower() for head in server.heads)
                assert direct.startswith(b"post /x http")
                assert through.startswith(b"post http://models.example/x http")
                assert through.count(f"proxy-authorization: {KEY}".lower().encode()) == 1
                assert b"host: models.example\r\n" in through + b"\r\n"

        asyncio.run(main())

    def test_proxy_gets_its_headers_with_connect_and_its_refusal_is_a_failed_connection(self) -> None:
        async def main() -> TransportError:
            refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n"
            async with ByteServer(refusal) as server:
                proxy = ProxySettings(server.url, {"proxy-authorization": KEY})
                found = await self.error_at("https://models.example", proxy=proxy)
                (head,) = server.heads
                assert head.startswith(b"CONNECT models.example:443 HTTP")
                assert head.lower().count(f"proxy-authorization: {KEY}".lower().encode()) == 1
                assert b"\r\nauthorization" not in head.lower(), "the proxy does not read the request"
                return found

        found = asyncio.run(main())
        assert (type(found), "407" in found.detail) == (ConnectFailed, True)
