"""MCP servers over HTTP, made with the official library, in both eras of the protocol."""

import asyncio
import contextlib
import json
import socket
import threading

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import httpx2
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel
from starlette.responses import PlainTextResponse

from helmdeck_core import PackError
from helmdeck_mcp.client import http_transport
from helmdeck_mcp.client.messages import SESSION_LOST, UNAUTHORIZED, UNAVAILABLE
from helmdeck_testing import make_deck
from tests.helmdeck_mcp.mcp_support import changes_of

TOKEN = "s3cret-t0ken-of-a-test"  # of a test


class Weather(BaseModel):
    city: str
    celsius: float


def make_server(*tools):
    server = MCPServer("demo", version="1.2.3", log_level="CRITICAL")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def weather(city: str, ctx: Context) -> Weather:
        """Show the weather of a city."""
        await ctx.report_progress(1, 2, "asking")
        if city == "Atlantis":
            raise ToolError("there is no such city")
        return Weather(city=city, celsius=21.5)

    @server.tool(structured_output=False)
    async def flood(megabytes: int) -> str:
        """Return a long text."""
        return "x" * megabytes * 1_000_000

    @server.tool(structured_output=False)
    async def learn(name: str, ctx: Context) -> str:
        """Add a tool."""

        async def learned() -> str:
            return "new"

        server.add_tool(learned, name=name)
        await ctx.notify_tools_changed()
        with contextlib.suppress(Exception):  # of the older protocol
            await ctx.session.send_tool_list_changed()
        return "learned"

    for name in tools:
        server.add_tool(flood, name=name)
    return server


@contextlib.contextmanager
def serving(port=0, *tools):
    """Run a server in a thread, which refuses requests without the token; return its port.

    :param tools: names of more tools.
    """
    application = make_server(*tools).streamable_http_app()

    async def guarded(scope, receive, send):
        if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != f"Bearer {TOKEN}".encode():
            await PlainTextResponse("no", 401)(scope, receive, send)
        else:
            await application(scope, receive, send)

    with socket.create_server(("127.0.0.1", port)) as listener:
        config = uvicorn.Config(guarded, log_level="critical", lifespan="on", timeout_graceful_shutdown=0.1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join(60)


@pytest.fixture(scope="module")
def url():
    with serving() as port:
        yield f"http://127.0.0.1:{port}/mcp"


@pytest.fixture(params=["auto", "legacy"])
def deck(url, request, monkeypatch):
    monkeypatch.setenv("TEST_MCP_TOKEN", TOKEN)
    plugin, changes = changes_of()
    server = {
        "url": url,
        "headers": {"Authorization": "Bearer env:TEST_MCP_TOKEN"},
        "protocol": request.param,
        "max_result_bytes": 2_000_000,
    }
    with make_deck(plugin, config={"catalog": {"sources": [], "mcp": {"demo": server}}}) as made:
        made.changes = changes
        yield made


def test_tools_are_listed_and_called(deck):
    entry, progress = deck.catalog.get("demo__weather"), []
    assert entry.data["annotations"] == {"readOnlyHint": True}
    assert entry.data["outputSchema"]["title"] == "Weather"
    output = deck.run("demo__weather", {"city": "Oslo"}, progress=progress.append)
    assert output["structured"] == {"city": "Oslo", "celsius": 21.5}
    assert progress == ["1 of 2: asking"]


def test_errors_of_tools_are_failures(deck):
    with pytest.raises(PackError, match="there is no such city"):
        deck.run("demo__weather", {"city": "Atlantis"})


def test_a_large_result_is_a_failure_and_the_next_call_works(deck):
    with pytest.raises(PackError) as failed:
        deck.run("demo__flood", {"megabytes": 5})
    assert failed.value.to_dict()["cause"] == "result_too_large"
    assert deck.run("demo__flood", {"megabytes": 1})["text"] == "x" * 1_000_000


def test_changed_tools_arrive(deck, request):
    name = f"learned_{request.node.callspec.id}"
    assert f"demo__{name}" not in {entry.id for entry in deck.catalog.entries}
    deck.run("demo__learn", {"name": name})
    assert f"demo__{name}" in deck.changes.get(timeout=60)
    assert deck.run(f"demo__{name}", {})["text"] == "new"


def test_a_wrong_token_is_a_problem_of_the_server(url):
    server = {"url": url, "headers": {"Authorization": "Bearer wr0ng-t0ken"}}
    with make_deck(config={"catalog": {"sources": [], "mcp": {"demo": server}}}) as made:
        assert len(made.catalog) == 0
        ((_, _, problem),) = made.open_sources["mcp"].status()
    assert problem == (
        "it answered with an error: HTTP 401 Unauthorized; check the credentials in headers; a secret is env:NAME or file:PATH"
    )


@pytest.mark.parametrize("protocol", ["auto", "legacy"])
def test_a_server_that_was_restarted_is_connected_again(monkeypatch, protocol):
    monkeypatch.setenv("TEST_MCP_TOKEN", TOKEN)
    with contextlib.ExitStack() as stack:
        first = contextlib.ExitStack()
        port = first.enter_context(serving())
        options = {
            "url": f"http://127.0.0.1:{port}/mcp",
            "headers": {"Authorization": "Bearer env:TEST_MCP_TOKEN"},
            "protocol": protocol,
            "start_timeout_s": 2.0,
        }
        plugin, changes = changes_of()
        deck = stack.enter_context(make_deck(plugin, config={"catalog": {"sources": [], "mcp": {"demo": options}}}))
        assert deck.run("demo__flood", {"megabytes": 0})
        first.close()
        for _ in range(2):  # the second one when the tools are gone from the catalog
            with pytest.raises(PackError) as lost:
                deck.run("demo__flood", {"megabytes": 0})
            assert lost.value.to_dict()["cause"] in ("connection_lost", "server_down")
            assert lost.value.retryable
        stack.enter_context(serving(port))
        while "demo__weather" not in changes.get(timeout=60):
            pass
        assert deck.run("demo__weather", {"city": "Oslo"})["structured"]["celsius"] == 21.5


@pytest.mark.parametrize("protocol", ["auto", "legacy"])
def test_a_server_that_was_restarted_between_two_calls_costs_none_of_them(monkeypatch, protocol):
    monkeypatch.setenv("TEST_MCP_TOKEN", TOKEN)
    with contextlib.ExitStack() as stack:
        first = contextlib.ExitStack()
        port = first.enter_context(serving())
        headers = {"Authorization": "Bearer env:TEST_MCP_TOKEN"}
        options = {"url": f"http://127.0.0.1:{port}/mcp", "headers": headers, "protocol": protocol}
        deck = stack.enter_context(make_deck(config={"catalog": {"sources": [], "mcp": {"demo": options}}}))
        assert deck.run("demo__flood", {"megabytes": 0})
        first.close()
        stack.enter_context(serving(port))
        for _ in range(2):
            assert deck.run("demo__weather", {"city": "Oslo"})["structured"]["celsius"] == 21.5


NOT_FOUND = {"code": -32601, "message": "unknown method"}
NO_SESSION = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
LOST = (SESSION_LOST, "the server ended the session")


@pytest.mark.parametrize(
    ("status", "error", "has_session", "expected"),
    [
        (404, {"code": -32600, "message": "Session not found"}, True, LOST),
        (404, None, True, LOST),
        (400, NO_SESSION, True, LOST),
        (400, NO_SESSION, False, (-32000, NO_SESSION["message"])),
        (404, NOT_FOUND, True, (-32601, "unknown method")),
        (404, None, False, (-32601, "HTTP 404 Not Found; check its URL")),
        (400, {"code": -32602, "message": "invalid"}, True, (-32602, "invalid")),
        (500, None, True, (-32603, "HTTP 500 Internal Server Error")),
        (503, None, True, (UNAVAILABLE, "HTTP 503 Service Unavailable")),
        (
            403,
            {"code": -32003, "message": "no access"},
            True,
            (UNAUTHORIZED, "no access (HTTP 403 Forbidden; check the credentials in headers)"),
        ),
    ],
)
def test_refusals_over_http_name_their_status_or_the_end_of_the_session(status, error, has_session, expected):
    content = (
        b"<html>refused</html>"
        if error is None
        else json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    )
    response = httpx2.Response(status, stream=http_transport._Bounded(httpx2.ByteStream(content), 10_000))
    request = httpx2.Request("POST", "http://127.0.0.1/mcp", headers={"mcp-session-id": "s1"} if has_session else {})
    explained = asyncio.run(http_transport._explained(request, response))
    body = json.loads(explained.content)
    assert (explained.status_code, body["error"]["code"], body["error"]["message"]) == (status, *expected)
