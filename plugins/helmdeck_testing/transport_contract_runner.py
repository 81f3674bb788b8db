"""How the contract of transports is run: a server that writes exact bytes, and a transport that is connected with it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, ClassVar

import pytest

from helmdeck_core import Transport, TransportError, TransportResponse, TransportSettings, TransportSpec
from helmdeck_testing.byte_server import ByteServer, Reply, until

KEY = "kq7Zr0Wm4Xc9Tb2Ld8Gn5Vf1Hs6Jp3Ya"
LONGEST_S = 30.0
"""Seconds after which a test fails whose transport does not end."""

Act = Callable[[Transport, ByteServer], Coroutine[Any, Any, None]]


class TransportBench:
    """What the tests of the contract stand on.

    :cvar spec: the transport.
    """

    spec: ClassVar[TransportSpec]

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
            async with asyncio.timeout(LONGEST_S), ByteServer(*replies) as server:
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

    async def error_at(self, url: str, **settings: Any) -> TransportError:
        """The error of a request that cannot be sent."""
        async with asyncio.timeout(LONGEST_S), self.opened(url, **settings) as transport:
            with pytest.raises(TransportError) as caught:
                await transport.send("POST", f"{url}/x", {"host": "h", "authorization": KEY}, b"{}")
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
        return caught.value

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
