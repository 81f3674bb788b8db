"""A loopback proxy in front of the model server: the same seed, temperature and time for every way, and one way of counting.

Every request of every way goes through it. It sets ``seed`` and ``temperature`` of each generation, counts calls and tokens by
the server's own figures, and refuses requests after the time of a case is over.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import attrs

GENERATIONS = ("/chat/completions", "/completions", "/completion", "/api/chat", "/responses")
SEEDS_APART = 1_000
"""The k-th call of a case has the seed of its run plus this many times k, so that a repeated request is not the same request."""

TIME_IS_OVER = "the time of this case is over"


@attrs.define
class Window:
    """What one case may do, and what it did.

    :ivar seed: seed of the first call.
    :ivar ends_at: when its time is over, by ``time.monotonic``.
    :ivar statuses: HTTP status of each call; 0 where the client left or the time was over.
    """

    seed: int
    temperature: float
    ends_at: float
    calls: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    statuses: list[int] = attrs.field(factory=list)
    errors: list[str] = attrs.field(factory=list)
    is_late: bool = False

    def with_settings(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body of a generation with the seed and the temperature of this case; count the call."""
        settings = {"seed": self.seed + SEEDS_APART * self.calls, "temperature": self.temperature}
        self.calls += 1
        if path.endswith("/api/chat"):
            return {**body, "options": {**body.get("options", {}), **settings}}
        return {**body, **settings}

    def count(self, payload: bytes) -> None:
        """Add the tokens of a response: ``usage`` of a body, or of the last event that has one, or Ollama's counters."""
        for line in reversed(payload.splitlines() or [b""]):
            with contextlib.suppress(ValueError, AttributeError, TypeError):
                found = json.loads(line.removeprefix(b"data: "))
                # llama.cpp answers several prompts by a list.
                counted = [self._count_one(each) for each in (found if isinstance(found, list) else [found])]
                if any(counted):
                    return

    def _count_one(self, found: Any) -> bool:
        usage = found.get("usage") or {}
        timings = found.get("timings") or {}
        read = usage.get("prompt_tokens", found.get("prompt_eval_count"))
        if read is None and timings:
            read = timings["prompt_n"] + timings.get("cache_n", 0)
        if read is None:
            return False
        self.prompt_tokens += read
        written = usage.get("completion_tokens", found.get("eval_count", timings.get("predicted_n")))
        self.output_tokens += written or 0
        return True


class Proxy:
    """Serves one model server to one case at a time."""

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream)
        self.window = Window(0, 0.0, 0.0)
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    @property
    def base_url(self) -> str:
        """The URL for the clients, with the path of the server's."""
        return f"http://127.0.0.1:{self._server.server_port}{self.upstream.path}"

    def begin(self, *, seed: int, temperature: float, seconds: float) -> Window:
        """Begin a case; what its calls do is counted in the returned window."""
        self.window = Window(seed, temperature, time.monotonic() + seconds)
        return self.window

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


@contextlib.contextmanager
def proxied(upstream: str) -> Iterator[Proxy]:
    """Proxy a server for the duration of a ``with`` block."""
    proxy = Proxy(upstream)
    try:
        yield proxy
    finally:
        proxy.close()


class _Handler(BaseHTTPRequestHandler):
    owner: Proxy
    protocol_version = "HTTP/1.0"

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Forward a question about the server."""
        self._forward(None, None)

    def do_POST(self) -> None:
        """Forward a generation or another request."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, window = urlsplit(self.path).path, None
        if path.endswith(GENERATIONS):
            window = self.owner.window
            if time.monotonic() >= window.ends_at:
                window.is_late = True
                self._refuse()
                return
            body = json.dumps(window.with_settings(path, json.loads(body))).encode()
        self._forward(body, window)

    def _refuse(self) -> None:
        """Answer with an error that no client repeats."""
        payload = json.dumps(
            {"error": {"code": 400, "type": "invalid_request_error", "message": TIME_IS_OVER}}
        ).encode()
        with contextlib.suppress(OSError):
            self.send_response(400)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

    def _forward(self, body: bytes | None, window: Window | None) -> None:
        kind = http.client.HTTPSConnection if self.owner.upstream.scheme == "https" else http.client.HTTPConnection
        upstream = kind(self.owner.upstream.hostname or "", self.owner.upstream.port, timeout=60)
        headers = {name: self.headers[name] for name in ("Content-Type", "Authorization") if name in self.headers}
        try:
            upstream.request(self.command, self.path, body, headers)
            if window is not None and not self._await(upstream, window):
                window.statuses.append(0)
                window.is_late = time.monotonic() >= window.ends_at
                upstream.close()
                self._refuse()
                return
            response = upstream.getresponse()
            self.send_response(response.status)
            self.send_header("Content-Type", response.headers.get("Content-Type", "application/json"))
            self.end_headers()
            payload = b""
            while chunk := response.read1(65_536):
                self.wfile.write(chunk)
                payload += chunk
                if window is not None and time.monotonic() >= window.ends_at:
                    window.is_late = True
                    break
            if window is not None:
                self._record(window, response.status, payload)
        except OSError:
            if window is not None:
                window.statuses.append(0)
        finally:
            upstream.close()

    @staticmethod
    def _record(window: Window, status: int, payload: bytes) -> None:
        window.statuses.append(status)
        if status == 200:
            window.count(payload)
        else:
            window.errors.append(payload[:300].decode(errors="replace"))

    def _await(self, upstream: http.client.HTTPConnection, window: Window) -> bool:
        """Wait for the response; false if the time is over or the client left, so that the server stops generating."""
        sockets = [upstream.sock, self.connection]
        while (left := window.ends_at - time.monotonic()) > 0:
            ready, _, _ = select.select(sockets, [], [], left)
            if upstream.sock in ready:
                return True
            if self.connection in ready and not self.connection.recv(1, 2):  # MSG_PEEK: the end of the connection
                return False
        return False
