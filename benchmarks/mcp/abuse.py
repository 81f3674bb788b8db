"""The HTTP endpoint under abuse: which requests are refused how, and how much memory the server needs."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2

TOKEN = "benchmark-token-0123456789"
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/list",
    "authorization": f"Bearer {TOKEN}",
}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
LISTING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}})

ROUNDS = 20

Row = tuple[str, str, str, float]
"""A case, the requests, the answers, and the server's memory in MB after it."""


def rss_mb(pid: int) -> float:
    """The resident memory of a process in MB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    match = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(match[1]) / 1024 if match else float("nan")


def measure() -> list[Row]:
    """Start ``helmdeck mcp --http``, and send it every case."""
    command = [sys.executable, "-m", "helmdeck_core.cli", "--config", os.devnull, "--no-plugins", "mcp", "--http"]
    command += ["--port", "0", "--token", "bench=env:BENCH_TOKEN", "--max-calls", "128", "--rate", "100000"]
    environ = {**os.environ, "BENCH_TOKEN": TOKEN}
    server = subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        line = server.stderr.readline()
        match = re.search(r"http://[^\s;]+", line)
        if match is None:
            raise RuntimeError(f"the server did not start: {line}{server.stderr.read()}")
        return asyncio.run(_cases(match[0], server.pid, ROUNDS))
    finally:
        server.terminate()
        server.wait(20)
        if server.stderr is not None:
            server.stderr.close()


async def _cases(url: str, pid: int, rounds: int) -> list[Row]:
    limits = httpx2.Limits(max_connections=400, max_keepalive_connections=400)
    rows: list[Row] = []
    async with httpx2.AsyncClient(timeout=60, limits=limits) as client:

        async def post(content: str | bytes, **changed: str) -> str:
            try:
                return str((await client.post(url, headers={**HEADERS, **changed}, content=content)).status_code)
            except httpx2.HTTPError as exc:
                return type(exc).__name__

        async def case(name: str, count: int, send: Callable[[int], Awaitable[str]], at_once: int = 20) -> None:
            answers: Counter[str] = Counter()
            for start in range(0, count, at_once):
                answers.update(
                    await asyncio.gather(*(send(number) for number in range(start, min(count, start + at_once))))
                )
            shown = ", ".join(f"{status} × {number:,}" for status, number in sorted(answers.items()))
            rows.append((name, f"{count:,}", shown, rss_mb(pid)))

        big = b"x" * 10_000_000
        malformed = ["{", "[]", "[" * 100_000, '{"jsonrpc": "2.0"}', "\x00" * 1_000, '{"id": 1' + "0" * 10_000 + "}"]
        await case("valid requests, to warm up", 20 * rounds, lambda _: post(LISTING))
        await case("malformed JSON-RPC", 60 * rounds, lambda number: post(malformed[number % len(malformed)]))
        await case("bodies of 10 MB", 5 * rounds, lambda _: post(big), at_once=10)
        await case("bodies of 10 MB without a token", 5 * rounds, lambda _: post(big, authorization=""), at_once=10)
        await case("foreign Host", 20 * rounds, lambda _: post(LISTING, host="evil.example"))
        await case("foreign Origin", 20 * rounds, lambda _: post(LISTING, origin="https://evil.example"))
        await case("no token", 20 * rounds, lambda _: post(LISTING, authorization=""))
        await case(
            "wrong tokens", 20 * rounds, lambda number: post(LISTING, authorization=f"Bearer wrong-{number:020}")
        )
        await case("200 clients at once", 200 * rounds, lambda _: post(LISTING), at_once=200)
        await case("100 clients that do not read", 100, lambda _: _slow(url), at_once=100)
        await case("valid requests, afterwards", 20 * rounds, lambda _: post(LISTING))
    return rows


async def _slow(url: str) -> str:
    """Send a request and read nothing of the answer; then close the connection."""
    host, _, port = url.removeprefix("http://").partition("/")[0].partition(":")
    lines = {**HEADERS, "host": host, "content-length": str(len(LISTING))}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())

    def send() -> socket.socket:
        connection = socket.create_connection((host, int(port)), 20)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_024)
        connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n{LISTING}".encode())
        return connection

    connection = await asyncio.to_thread(send)
    await asyncio.sleep(2)
    connection.close()
    return "closed"
