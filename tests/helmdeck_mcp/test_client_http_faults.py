"""Faults of MCP servers over HTTP: refused calls, truncated responses, new tokens, restarts and proxies."""

import asyncio
import contextlib
import http.server
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from helmdeck_core import PackError
from helmdeck_mcp.client import http_transport
from helmdeck_testing import make_deck
from tests.helmdeck_mcp import test_client_http
from tests.helmdeck_mcp.http_mcp_server import HttpMcpServer
from tests.helmdeck_mcp.mcp_support import changes_of
from tests.helmdeck_mcp.test_client_http import TOKEN

ERAS = pytest.mark.parametrize("is_modern", [True, False], ids=["modern", "legacy"])


@contextlib.contextmanager
def deck_over(server, tmp_path, *plugins):
    """A deck over a server, which reads the token of a file."""
    (tmp_path / "token").write_text("first")
    with server.serving() as url:
        options = {"url": url, "headers": {"Authorization": f"Bearer file:{tmp_path / 'token'}"}}
        with make_deck(*plugins, config={"catalog": {"sources": [], "mcp": {"s": options}}}) as deck:
            yield deck


def failure(deck, name):
    with pytest.raises(PackError) as failed:
        deck.run(name, {})
    return failed.value


@ERAS
@pytest.mark.parametrize("name", ["stream_breaks", "body_breaks"])
def test_truncated_response_costs_no_other_call_of_the_server(tmp_path, is_modern, name):
    server = HttpMcpServer("hold", "ok", name, is_modern=is_modern)
    with deck_over(server, tmp_path) as deck, ThreadPoolExecutor() as pool:
        held = pool.submit(deck.run, "s__hold", {})
        assert server.started.wait(60)
        assert failure(deck, f"s__{name}").to_dict()["cause"] == "connection_lost"
        server.released.set()
        assert held.result(60) == deck.run("s__ok", {}) == {"text": "ok"}
    assert server.methods.count("tools/list") == 1, "the connection stayed"


@ERAS
def test_call_may_be_silent_for_as_long_as_its_timeout(tmp_path, monkeypatch, is_modern):
    monkeypatch.setattr(http_transport, "READ_TIMEOUT_S", 0.001)
    server = HttpMcpServer("hold", is_modern=is_modern)
    with deck_over(server, tmp_path) as deck, ThreadPoolExecutor() as pool:
        held = pool.submit(deck.run, "s__hold", {})
        assert server.started.wait(60)
        server.released.set()
        assert held.result(60) == {"text": "ok"}


@ERAS
def test_more_calls_are_under_way_than_the_library_has_connections(tmp_path, monkeypatch, is_modern):
    monkeypatch.setattr(http_transport, "CONNECT_TIMEOUT_S", 1.0)
    server = HttpMcpServer("hold", is_modern=is_modern, held=110)

    async def run(deck):
        calls = [asyncio.create_task(deck.arun("s__hold", {})) for _ in range(110)]
        assert await asyncio.to_thread(server.started.wait, 60)
        server.released.set()
        return await asyncio.gather(*calls)

    with deck_over(server, tmp_path) as deck:
        assert asyncio.run(run(deck)) == [{"text": "ok"}] * 110


@ERAS
def test_call_that_a_server_refuses_for_now_can_be_retried(tmp_path, is_modern):
    with deck_over(HttpMcpServer("limited", "overloaded", is_modern=is_modern), tmp_path) as deck:
        failures = [failure(deck, name) for name in ("s__limited", "s__overloaded")]
    assert [(each.to_dict()["cause"], each.retryable) for each in failures] == [("unavailable", True)] * 2
    assert [each.detail for each in failures] == [
        "HTTP 429 Too Many Requests; Retry-After: 7",
        "3 requests are under way (HTTP 503 Service Unavailable)",
    ]


@ERAS
def test_token_of_a_file_is_read_again_when_the_server_rejects_the_former_one(tmp_path, is_modern):
    server = HttpMcpServer("expire", "ok", is_modern=is_modern)
    with deck_over(server, tmp_path) as deck:
        assert deck.run("s__expire", {}) == {"text": "ok"}
        rejected = failure(deck, "s__ok")
        assert (rejected.to_dict()["cause"], rejected.retryable) == ("unauthorized", False)
        (tmp_path / "token").write_text("second")
        assert deck.run("s__ok", {}) == {"text": "ok"}
    assert server.methods.count("tools/list") == 1, "the connection stayed"


def test_stream_of_notifications_that_is_truncated_again_and_again_still_reports_changes(tmp_path):
    plugin, changes = changes_of()
    with deck_over(HttpMcpServer("ok", breaks=5), tmp_path, plugin) as deck:
        assert "s__ok" in {entry.id for entry in deck.catalog.entries}
        while "s__added" not in changes.get(timeout=60):
            pass


@pytest.mark.parametrize("protocol", ["auto", "legacy"])
def test_tools_of_a_server_that_was_restarted_arrive_without_a_call(monkeypatch, protocol):
    monkeypatch.setenv("TEST_MCP_TOKEN", TOKEN)
    plugin, changes = changes_of()
    with contextlib.ExitStack() as stack:
        first = contextlib.ExitStack()
        port = first.enter_context(test_client_http.serving())
        headers = {"Authorization": "Bearer env:TEST_MCP_TOKEN"}
        options = {"url": f"http://127.0.0.1:{port}/mcp", "headers": headers, "protocol": protocol}
        deck = stack.enter_context(make_deck(plugin, config={"catalog": {"sources": [], "mcp": {"s": options}}}))
        assert "s__weather" in {entry.id for entry in deck.catalog.entries}
        first.close()
        stack.enter_context(test_client_http.serving(port, "later"))
        while "s__later" not in changes.get(timeout=60):
            pass


def test_server_is_reached_through_the_proxy_of_the_environment(monkeypatch):
    seen = []

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            seen.append(self.path)
            self.send_error(502)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.server_port}")
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        servers = {"far": {"url": "http://mcp.example.invalid/mcp"}, "near": {"url": "http://127.0.0.1:1/mcp"}}
        with make_deck(config={"catalog": {"sources": [], "mcp": servers}}) as deck:
            assert len(deck.catalog) == 0
            (_, _, far), (_, _, near) = deck.open_sources["mcp"].status()
        proxy.shutdown()
    assert set(seen) == {"http://mcp.example.invalid/mcp"}
    assert "502 Bad Gateway" in far
    assert "All connection attempts failed" in near, "a proxy cannot reach this machine"


@pytest.mark.parametrize("proxy", ["user:s3cret@127.0.0.1:1", "ftp://user:s3cret@127.0.0.1:1"])
def test_password_of_a_proxy_is_not_shown(monkeypatch, proxy):
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    servers = {"far": {"url": "http://mcp.example.invalid/mcp"}}
    with make_deck(config={"catalog": {"sources": [], "mcp": servers}}) as deck:
        assert len(deck.catalog) == 0
        ((_, _, problem),) = deck.open_sources["mcp"].status()
    assert "s3cret" not in problem
    assert problem.startswith("cannot connect to http://mcp.example.invalid/mcp: ")
