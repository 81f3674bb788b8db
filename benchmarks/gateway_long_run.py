"""What a gateway holds over long runs: memory over many calls, upstream calls of clients that left, idle and slow connections.

python -m benchmarks.gateway_long_run                 # all parts: 200,000 calls, 10,000 disconnects, 10,000 connections
python -m benchmarks.gateway_long_run --calls 20000   # a shorter run
python -m benchmarks.gateway_long_run --write         # write docs/benchmarks/gateway-long-runs.md as well
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.gateway.__main__ import STREAM
from benchmarks.gateway.servers import ROOT, Served, configure, process
from benchmarks.gateway_faults.judge import PATHS

PAGE = ROOT / "docs" / "benchmarks" / "gateway-long-runs.md"
SAMPLES = 20
AT_ONCE = 32
LATE_S = 1.0
"""Seconds within which the upstream call of a client that left has to end."""
HEAD = """\
# Long runs of the gateway

Memory and connections of one `helmdeck serve` process over many calls, clients that leave, and connections that send nothing.
*Blocks* are the objects of Python, and *allocated* is what they and the libraries hold in the heap of the C library, both after a
collection. Where these stay the same, growth of the process is free space that the allocator keeps between allocations.
`python -m benchmarks.gateway_long_run --write` measures it again.
"""


def configuration(fast: str, silent: str) -> str:
    """Return a configuration: a fast upstream, one that never completes a response, and one that refuses connections."""
    urls = {"up": fast, "silent": silent, "closed": "http://127.0.0.1:9/v1"}
    providers = [f'[providers.{name}]\nkind = "openai-compatible"\nbase_url = "{url}"\n' for name, url in urls.items()]
    limits = "[recovery]\nmax_attempts = 1\ncool_down_after = 0\n[gateway]\nmax_requests = 4096\n"
    return "".join(providers) + limits


@contextlib.contextmanager
def gateway(silent_port: int) -> Iterator[tuple[Served, Path]]:
    """Run a fast upstream and a gateway; yield it with the file for its reports of memory."""
    with contextlib.ExitStack() as stack:
        _, port = stack.enter_context(process("benchmarks.overhead.server"))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        text = configuration(f"http://127.0.0.1:{port.strip()}/v1", f"http://127.0.0.1:{silent_port}/v1")
        configure(folder, text)
        reports = folder / "memory.jsonl"
        command = ("benchmarks.gateway_memory", str(reports), "serve", "--port", "0", "--no-traces")
        running, line = stack.enter_context(process(*command, folder=folder, reads="stderr"))
        url = f"http://{line.partition('http://')[2].partition(';')[0]}"
        yield Served(name="gateway", pid=running.pid, url=url, model=""), reports


# -- calls -----------------------------------------------------------------------------------------------------


def request_of(number: int) -> tuple[str, dict[str, Any], int]:
    """Return path, payload and expected status of a call: three APIs, half streamed, one of twenty failing."""
    dialect, streams, fails = tuple(PATHS)[number % 3], number % 2 == 0, number % 20 == 7
    model = f"closed/m{number % 50}" if fails else f"up/{STREAM if streams else 'm'}"
    body: dict[str, Any] = {"model": model, "stream": streams}
    text = f"Question {number}: {'tide ' * 40}"
    body |= {"input": text} if dialect == "responses" else {"messages": [{"role": "user", "content": text}]}
    if dialect == "messages":
        body["max_tokens"] = 1_000
    return PATHS[dialect], body, 503 if fails else 200


async def many_calls(served: Served, count: int) -> tuple[list[float], float]:
    """Make calls; return the memory in MB at equal distances, and the CPU milliseconds of a call. The server reports each time."""
    memory = [served.memory_mb()]
    os.kill(served.pid, signal.SIGUSR1)
    numbers = iter(range(count))
    cpu_s = served.cpu_s()

    async def worker(session: aiohttp.ClientSession) -> None:
        for number in numbers:
            path, body, status = request_of(number)
            async with session.post(served.url + path, json=body) as response:
                await response.read()
                assert response.status == status, (response.status, await response.text())
            if (number + 1) % (count // SAMPLES) == 0:
                memory.append(served.memory_mb())
                os.kill(served.pid, signal.SIGUSR1)
                print(f"{number + 1:,} calls: {memory[-1]:.1f} MB", flush=True)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(worker(session) for _ in range(AT_ONCE)))
    return memory, (served.cpu_s() - cpu_s) / count * 1e3


def slope(memory: Sequence[float], count: int) -> float:
    """Return how many KB a thousand calls add, in the second half of a run."""
    half = memory[len(memory) // 2 :]
    numbers = [index * count / SAMPLES / 1_000 for index in range(len(half))]
    return statistics.linear_regression(numbers, half).slope * 1024


# -- clients that leave ----------------------------------------------------------------------------------------


class SilentUpstream:
    """An upstream whose responses never end.

    :ivar open: the calls under way by the number that their prompt contains.
    :ivar closed: when each ended.
    """

    def __init__(self) -> None:
        self.open: dict[int, asyncio.Event] = {}
        self.arrived: dict[int, asyncio.Event] = {}
        self.closed: dict[int, float] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                body = json.loads(
                    await reader.readexactly(int(head.partition(b"content-length:")[2].partition(b"\r")[0]))
                )
                number = int(body["messages"][-1]["content"])
                if number % 4 == 0:  # in the middle of a stream
                    event = {"choices": [{"index": 0, "delta": {"content": "The tide"}, "finish_reason": None}]}
                    data = b"data: " + json.dumps(event).encode() + b"\n\n"
                    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                    writer.write(head + b"%x\r\n%b\r\n" % (len(data), data))
                self.arrived[number].set()
                await reader.read(1)
                self.closed[number] = time.perf_counter()
                break
        writer.close()


async def disconnects(served: Served, upstream: SilentUpstream, count: int) -> list[float]:
    """Make calls and leave; return the seconds until each upstream call ended."""
    parts = served.url.removeprefix("http://").split(":")
    numbers = iter(range(count))
    waits: list[float] = []

    async def worker() -> None:
        for number in numbers:
            upstream.arrived[number] = asyncio.Event()
            body = {
                "model": "silent/m",
                "stream": number % 2 == 0,
                "messages": [{"role": "user", "content": str(number)}],
            }
            data = json.dumps(body).encode()
            reader, writer = await asyncio.open_connection(parts[0], int(parts[1]))
            head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(data)}\r\n\r\n"
            writer.write(head.encode() + data)
            await upstream.arrived[number].wait()
            if number % 4 == 0:
                await reader.readuntil(b"data: ")
            left_s = time.perf_counter()
            writer.close()
            while number not in upstream.closed:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            waits.append(upstream.closed.pop(number) - left_s)
            del upstream.arrived[number]

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return waits


# -- connections that send nothing -----------------------------------------------------------------------------


async def idle_connections(served: Served, count: int) -> dict[str, float]:
    """Open connections, a tenth of which send a request head byte by byte; make calls meanwhile."""
    host, port = served.url.removeprefix("http://").split(":")
    before_mb = served.memory_mb()
    pairs = []
    for number in range(count):
        pairs.append(await asyncio.open_connection(host, int(port)))
        if number % 10 == 0:
            pairs[-1][1].write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-slow: ")
    slow = [writer for number, (_, writer) in enumerate(pairs) if number % 10 == 0]
    open_mb = served.memory_mb()
    latencies = []
    async with aiohttp.ClientSession() as session:
        for _ in range(50):
            for writer in slow:
                with contextlib.suppress(ConnectionError):
                    writer.write(b"a")
            start_s = time.perf_counter()
            path, body, _ = request_of(0)
            async with session.post(served.url + path, json=body) as response:
                await response.read()
                assert response.status == 200
            latencies.append(time.perf_counter() - start_s)
    closed_s = time.perf_counter()
    for reader, _ in pairs:  # the gateway closes connections whose request does not come
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(120):
                await reader.read()
    closed_s = time.perf_counter() - closed_s
    for _, writer in pairs:
        writer.close()
    return {
        "kb": (open_mb - before_mb) * 1024 / count,
        "p50_ms": statistics.median(latencies) * 1e3,
        "max_ms": max(latencies) * 1e3,
        "closed_s": closed_s,
    }


def rows(calls: int, memory: Sequence[float], reports: Path) -> Iterator[str]:
    """Yield every second row of the table of memory."""
    lines = reports.read_text(encoding="utf-8").splitlines()
    for index, (mb, line) in enumerate(zip(memory, lines, strict=False)):
        if index % 2 == 0:
            facts = json.loads(line)
            yield f"| {index * calls // SAMPLES:,} | {mb:.1f} | {facts['blocks']:,} | {facts['used_kb']:,} | {facts['free_kb']:,} |"


async def measure(calls: int, left: int, idle: int) -> Iterator[str]:
    """Run all parts; return the lines of the page."""
    upstream = SilentUpstream()
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", 0)
    lines = []
    with gateway(server.sockets[0].getsockname()[1]) as (served, reports):
        memory, cpu_ms = await many_calls(served, calls)
        kb = slope(memory, calls)
        while len(reports.read_text(encoding="utf-8").splitlines()) < len(memory):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.1)
        lines += [
            "## Memory over calls", "",
            (f"{calls:,} calls in three APIs, {AT_ONCE} at once, half of them streamed, one of twenty failing: {cpu_ms:.2f} ms of "
            f"processor time each. In the second half of the run, a thousand calls add {kb:.1f} KB."), "",
            "| calls | MB | blocks of Python | KB allocated | KB free in the heap |", "|--:|--:|--:|--:|--:|",
            *rows(calls, memory, reports), "",
        ]  # fmt: skip
        before_mb = served.memory_mb()
        waits = await disconnects(served, upstream, left)
        late = sum(wait > LATE_S for wait in waits)
        lines += [
            "## Clients that leave", "",
            (f"{left:,} clients left in the middle of a call, {AT_ONCE} at once; half of the calls were streamed, and half of these "
            f"had begun. The upstream call ended {statistics.median(waits) * 1e3:.0f} ms later in the median, at most "
            f"{max(waits) * 1e3:.0f} ms later; {late} ended later than {LATE_S:g} s. Memory changed by "
            f"{served.memory_mb() - before_mb:+.1f} MB."), "",
        ]  # fmt: skip
        print(lines[-2], flush=True)
        found = await idle_connections(served, idle)
        lines += [
            "## Idle and slow connections", "",
            (f"{idle:,} connections, of which a tenth sends a request head byte by byte and the others nothing: {found['kb']:.1f} KB "
            f"each. Calls beside them took {found['p50_ms']:.1f} ms in the median and {found['max_ms']:.0f} ms at most. The gateway had "
            f"closed all of these connections {found['closed_s']:.0f} s later."), "",
        ]  # fmt: skip
        print(lines[-2], flush=True)
        lines.append(f"At the end the process takes {served.memory_mb():.0f} MB.")
    server.close()
    return iter(lines)


def main() -> None:
    """Measure, print, and write the page if it is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200_000)
    parser.add_argument("--disconnects", type=int, default=10_000)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    arguments = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    connections = min(arguments.connections, hard - 500)
    os.nice(5)
    text = "\n".join(asyncio.run(measure(arguments.calls, arguments.disconnects, connections)))
    print(text)
    if arguments.write:
        PAGE.write_text(f"{HEAD}\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
