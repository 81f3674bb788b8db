"""The gateway on one core: processor time and latency of calls and streams, beside bare Starlette on the same client.

::

    python -m benchmarks.gateway              # print the table, a few minutes
    python -m benchmarks.gateway --write      # write docs/benchmarks/gateway.md as well

The upstream answers at once, in a process of its own. Times depend on the machine; the ratios are taken in one run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import attrs

from helmdeck_testing import write_distribution

ROOT = Path(__file__).resolve().parents[2]
TRANSPORT_SOURCE = ROOT / "contrib_transports" / "aiohttp" / "src"
PAGE = ROOT / "docs" / "benchmarks" / "gateway.md"
STREAM = "text-pieces-20"
"""The model that streams twenty chunks of text and an end."""
CONCURRENCY = (1, 16, 64, 256)
CALLS, STREAMS, ROUNDS = 400, 200, 7
"""Requests per round at any concurrency, and at least two for each worker; rounds, which alternate between the servers."""
TICK_S = 1 / os.sysconf("SC_CLK_TCK")

HEAD = """\
# Gateway benchmark

What `helmdeck serve` costs, beside a bare Starlette application that passes bytes on with an aiohttp client. Both run on one core
with the same upstream, which answers at once, and the same client. The gateway parses and writes every chunk, checks every response
and records no call traces. Its transport is `aiohttp`.

`python -m benchmarks.gateway --write` measures it again; an idle machine gives lower latencies. Processor times are those of the server's process; latencies include the
client. The rounds alternate between the two servers; the table has medians. The ratio is that of the gateway to bare Starlette.
"""


@attrs.frozen(kw_only=True)
class Measured:
    """One row: milliseconds, and requests per second."""

    cpu_ms: float
    p50_ms: float
    rate: float


def configure(folder: Path, text: str) -> None:
    """Write a configuration for a process in the folder, and the metadata that installing the transport ``aiohttp`` would write."""
    (folder / "helmdeck.toml").write_text(f'{text}[http]\ntransport = "aiohttp"\n', encoding="utf-8")
    write_distribution(folder, "helmdeck-transport-aiohttp", {"aiohttp": "helmdeck_transport_aiohttp"}, {})


@attrs.frozen(kw_only=True)
class Served:
    """A running server.

    :ivar start_s: seconds until it accepts requests; 0 if unknown.
    """

    name: str
    pid: int
    url: str
    model: str
    start_s: float = 0.0

    def cpu_s(self) -> float:
        """Return the processor time of its process so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_S

    def memory_mb(self) -> float:
        """Return its resident memory."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@contextlib.contextmanager
def process(*command: str, folder: Path = ROOT, reads: str = "stdout") -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a process and yield it with the first line that it prints."""
    paths = (ROOT, ROOT / "plugins", TRANSPORT_SOURCE, folder)
    environ = {**os.environ, "PYTHONPATH": ":".join(map(str, paths)), "HOME": str(folder)}
    pipe: dict[str, Any] = {reads: subprocess.PIPE}
    started = subprocess.Popen([sys.executable, "-m", *command], cwd=folder, env=environ, text=True, **pipe)
    try:
        stream = getattr(started, reads)
        yield started, stream.readline()
    finally:
        started.send_signal(signal.SIGKILL)
        started.wait()


@contextlib.contextmanager
def servers() -> Iterator[Sequence[Served]]:
    """Run the upstream, bare Starlette and the gateway."""
    with contextlib.ExitStack() as stack:
        _, port = stack.enter_context(process("benchmarks.overhead.server"))
        upstream = f"http://127.0.0.1:{port.strip()}/v1"
        bare, port = stack.enter_context(process("benchmarks.gateway.bare", upstream))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        provider = f'[providers.up]\nkind = "openai-compatible"\nbase_url = "{upstream}"\n'
        configure(folder, provider)
        start_s = time.monotonic()
        command = ("helmdeck_core.cli", "serve", "--port", "0", "--no-traces")
        gateway, line = stack.enter_context(process(*command, folder=folder, reads="stderr"))
        start_s = time.monotonic() - start_s
        url = line.partition("http://")[2].partition(";")[0]
        yield (
            Served(name="bare Starlette", pid=bare.pid, url=f"http://127.0.0.1:{port.strip()}", model=""),
            Served(name="gateway", pid=gateway.pid, url=f"http://{url}", model="up/", start_s=start_s),
        )


async def measure(served: Served, model: str, count: int, concurrency: int) -> Measured:
    """Send requests; of a stream, the latency is that of the first chunk."""
    streams = model == STREAM
    body = {"model": served.model + model, "messages": [{"role": "user", "content": "hi"}], "stream": streams}
    latencies: list[float] = []
    left = iter(range(count))

    async def worker(session: aiohttp.ClientSession) -> None:
        for _ in left:
            start_s = time.perf_counter()
            async with session.post(f"{served.url}/v1/chat/completions", json=body) as response:
                assert response.status == 200, await response.text()
                first = await response.content.readany() if streams else b""
                latencies.append(time.perf_counter() - start_s)
                whole = first + await response.read()
                if streams:
                    assert b"[DONE]" in whole
                else:
                    latencies[-1] = time.perf_counter() - start_s

    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector) as session:
        cpu_s, start_s = served.cpu_s(), time.perf_counter()
        await asyncio.gather(*(worker(session) for _ in range(concurrency)))
        passed_s, cpu_s = time.perf_counter() - start_s, served.cpu_s() - cpu_s
    return Measured(cpu_ms=cpu_s / count * 1e3, p50_ms=statistics.median(latencies) * 1e3, rate=count / passed_s)


def median(rounds: Sequence[Measured]) -> Measured:
    """Return the median of each figure."""
    values = zip(*(attrs.astuple(each) for each in rounds), strict=True)
    cpu_ms, p50_ms, rate = map(statistics.median, values)
    return Measured(cpu_ms=cpu_ms, p50_ms=p50_ms, rate=rate)


def row(kind: str, concurrency: int, found: Sequence[Measured]) -> str:
    """Return a row of the table."""
    bare, gateway = found
    return (
        f"| {kind} | {concurrency} | {bare.cpu_ms:.2f} | {gateway.cpu_ms:.2f} | {gateway.cpu_ms / bare.cpu_ms:.1f} | "
        f"{bare.p50_ms:.1f} | {gateway.p50_ms:.1f} | {gateway.p50_ms / bare.p50_ms:.1f} | {bare.rate:.0f} | {gateway.rate:.0f} |"
    )


async def table(running: Sequence[Served]) -> str:
    """Measure everything and return the table."""
    lines = [
        "| requests | at once | CPU ms, bare | gateway | ratio | p50 ms, bare | gateway | ratio | per second, bare | gateway |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for kind, model, count in (("calls", "m", CALLS), ("streams of 21 chunks", STREAM, STREAMS)):
        for served in running:
            await measure(served, model, 100, 8)  # warm up
        for concurrency in CONCURRENCY:
            each = max(count, 2 * concurrency)
            rounds = [[await measure(served, model, each, concurrency) for served in running] for _ in range(ROUNDS)]
            lines.append(row(kind, concurrency, list(map(median, zip(*rounds, strict=True)))))
            print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and write the page if it is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    arguments = parser.parse_args()
    with servers() as running:
        idle_mb, start_cpu_s = running[-1].memory_mb(), running[-1].cpu_s()
        text = asyncio.run(table(running))
        facts = (
            f"The gateway accepts requests {running[-1].start_s:.1f} s after its start, of which {start_cpu_s:.1f} s are "
            f"processor time. It takes {idle_mb:.0f} MB of memory then, "
            f"and {running[-1].memory_mb():.0f} MB after these requests. The latency of a stream is that of its first chunk."
        )
    print(facts)
    if arguments.write:
        PAGE.write_text(f"{HEAD}\n{text}\n\n{facts}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
