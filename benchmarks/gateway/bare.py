"""The least that a gateway can do: Starlette and an aiohttp client that pass bytes on.

python -m benchmarks.gateway.bare UPSTREAM_URL      # prints its port
"""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
from collections.abc import AsyncIterator

import aiohttp
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route


def main() -> None:
    """Serve until the process is ended."""
    upstream = sys.argv[1]
    sessions: list[aiohttp.ClientSession] = []

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with aiohttp.ClientSession() as session:
            sessions.append(session)
            yield

    async def serve(request: Request) -> Response:
        body = await request.body()
        headers = {"content-type": "application/json"}
        response = await sessions[0].post(f"{upstream}/chat/completions", data=body, headers=headers)
        if response.content_type != "text/event-stream":
            return Response(await response.read(), media_type="application/json")

        async def chunks() -> AsyncIterator[bytes]:
            async for chunk in response.content.iter_any():
                yield chunk

        return StreamingResponse(chunks(), media_type="text/event-stream")

    app = Starlette(routes=[Route("/v1/chat/completions", serve, methods=["POST"])], lifespan=lifespan)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # so that TCP_NODELAY is set
    listener.bind(("127.0.0.1", 0))
    listener.listen(2_048)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_config=None, log_level=logging.CRITICAL, access_log=False, ws="none")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
