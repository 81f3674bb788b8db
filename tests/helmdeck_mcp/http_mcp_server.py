"""An MCP server over HTTP without the library, so that it can refuse, truncate and forget what a correct one does not."""

import asyncio
import contextlib
import json
import socket
import threading

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

MODERN = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "serverInfo": {"name": "raw", "version": "1"},
    "ttlMs": 0,
    "cacheScope": "private",
}
INITIALIZED = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "raw", "version": "1"}}
SESSION = {"mcp-session-id": "s1"}


class HttpMcpServer:
    """The name of a called tool says what it does.

    :ivar tools: names of the tools.
    :ivar token: the bearer token that requests need.
    :ivar breaks: how often the stream of notifications is truncated before it reports a change.
    :ivar started: set when ``held`` calls of ``hold`` are under way; they are answered when ``released`` is set.
    """

    def __init__(self, *tools, is_modern=False, breaks=0, held=1):
        self.tools = list(tools)
        self.is_modern = is_modern
        self.token = "first"
        self.breaks = breaks
        self.started, self.released = threading.Event(), threading.Event()
        self._answered = asyncio.Event()
        self.held = held
        self.methods = []

    @contextlib.contextmanager
    def serving(self):
        """Serve in a thread; yields the URL."""
        app = Starlette(routes=[Route("/mcp", self._answer, methods=["GET", "POST", "DELETE"])])
        with socket.create_server(("127.0.0.1", 0)) as listener:
            server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=0.1))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
            thread.start()
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            self.released.set()
            server.should_exit = True
            thread.join(60)

    async def _answer(self, request):
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return Response(status_code=401)
        if request.method != "POST":
            can_notify = request.method == "GET" and self.breaks
            return (
                StreamingResponse(self._notify(), media_type="text/event-stream") if can_notify else Response("", 405)
            )
        message = json.loads(await request.body())
        method, number = message["method"], message.get("id")
        self.methods.append(method)
        if number is None:
            return Response(status_code=202)
        if method == "tools/call":
            return await getattr(self, message["params"]["name"])(number)
        results = {
            "tools/list": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in self.tools]},
            "server/discover" if self.is_modern else "initialize": {
                **({} if self.is_modern else INITIALIZED),
                "capabilities": {"tools": {}},
            },
        }
        if method in results:
            return self._result(number, results[method])
        error = {"code": -32601, "message": "unknown method"}
        return JSONResponse({"jsonrpc": "2.0", "id": number, "error": error}, 404 if self.is_modern else 200)

    async def _notify(self):
        yield "retry: 1\n\n"
        self.breaks -= 1
        if self.breaks:
            raise ConnectionResetError
        self.tools.append("added")
        yield 'data: {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n\n'

    def _result(self, number, result):
        return JSONResponse(
            {"jsonrpc": "2.0", "id": number, "result": {**(MODERN if self.is_modern else {}), **result}},
            headers={} if self.is_modern else SESSION,
        )

    async def ok(self, number):
        return self._result(number, {"content": [{"type": "text", "text": "ok"}]})

    async def hold(self, number):
        self.held -= 1
        if self.held == 0:
            self.started.set()
            await asyncio.to_thread(self.released.wait)
            self._answered.set()
        await self._answered.wait()
        return await self.ok(number)

    async def stream_breaks(self, number):
        return StreamingResponse(iter([": hello\n\n"]), media_type="text/event-stream")

    async def body_breaks(self, number):
        return Response(b'{"jsonrpc"', headers={"content-type": "application/json", "content-length": "100"})

    async def limited(self, number):
        return Response("slow down", 429, headers={"retry-after": "7"})

    async def overloaded(self, number):
        error = {"code": -32029, "message": "3 requests are under way"}
        return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 503)

    async def expire(self, number):
        self.token = "second"
        return await self.ok(number)
