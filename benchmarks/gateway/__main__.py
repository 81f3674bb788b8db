"""The gateway on one core as users run it, beside bare Starlette on the same client and other gateways.

::

    benchmarks/gateway/install.sh                          # other gateways, into the cache directory
    taskset -c 0 python -m benchmarks.gateway              # print the tables, a few minutes
    taskset -c 0 python -m benchmarks.gateway --write      # write docs/benchmarks/gateway.md as well

The upstream answers at once, in a process of its own. Times depend on the machine; the ratios are taken in one run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import aiohttp
import attrs

from benchmarks.gateway.fairness import fairness
from benchmarks.gateway.servers import ROOT, Served, bare, helmdeck, peers, process

PAGE = ROOT / "docs" / "benchmarks" / "gateway.md"
STREAM = "text-pieces-20"
"""The model that streams twenty chunks of text and an end."""
CONCURRENCY = (1, 16, 64, 256)
CALLS, STREAMS, ROUNDS = 192, 128, 3
"""Requests per round at any concurrency, and at least two for each worker; rounds, which alternate between the servers."""
SLOW_CALLS, SLOW_ROUNDS, SLOW_CONCURRENCY = 16, 1, 64
"""Those of a slow server, and the highest concurrency that it is measured at."""
MEMORY_EVERY = 10
"""Parts of the memory measurement."""

HEAD = """\
# Gateway benchmark

What `helmdeck serve` costs, beside a bare Starlette application that passes bytes on with an aiohttp client, and other gateways. All
run on one core with the same upstream, which answers at once, and the same client. "Helmdeck" is the gateway as users run it: a key
with a team, a rate limit, a concurrency limit and a spend limit; request log with call traces, and metrics. "Helmdeck, no keys or
records" has none of them. Its transport is `aiohttp`, and its bytecode is compiled before, as pip does. LiteLLM has a master key and
no database, Portkey and TensorZero have no keys and no database, so that none of them counts spend.

`taskset -c 0 python -m benchmarks.gateway --write` measures it again, with the gateways that `benchmarks/gateway/install.sh` has
installed. Processor times are those of the server's process, threads included; latencies include the client, and that of a stream is
that of its first chunk. The rounds alternate between the servers; the tables have medians. Ratios are those to bare Starlette; "added"
is the difference to the upstream without a gateway.
"""


@attrs.frozen(kw_only=True)
class Measured:
    """One cell: milliseconds, and requests per second."""

    cpu_ms: float
    p50_ms: float
    p99_ms: float
    rate: float


async def measure(served: Served, model: str, count: int, concurrency: int) -> Measured:
    """Send requests; of a stream, the latency is that of the first chunk.

    :raises RuntimeError: a response is not usable.
    """
    streams = model == STREAM
    body = {"model": served.model + model, "messages": [{"role": "user", "content": "hi"}], "stream": streams}
    latencies: list[float] = []
    left = iter(range(count))

    async def worker(session: aiohttp.ClientSession) -> None:
        for _ in left:
            start_s = time.perf_counter()
            async with session.post(f"{served.url}/chat/completions", json=body) as response:
                if response.status != 200:
                    raise RuntimeError(f"{served.name}: HTTP {response.status}: {(await response.text())[:200]}")
                first = await response.content.readany() if streams else b""
                latencies.append(time.perf_counter() - start_s)
                whole = first + await response.read()
                if streams and b"[DONE]" not in whole:
                    raise RuntimeError(f"{served.name}: a stream without an end")
                if not streams:
                    latencies[-1] = time.perf_counter() - start_s

    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector, headers=served.headers) as session:
        cpu_s, start_s = served.cpu_s(), time.perf_counter()
        await asyncio.gather(*(worker(session) for _ in range(concurrency)))
        passed_s, cpu_s = time.perf_counter() - start_s, served.cpu_s() - cpu_s
    milliseconds = sorted(each * 1e3 for each in latencies)
    return Measured(
        cpu_ms=cpu_s / count * 1e3,
        p50_ms=statistics.median(milliseconds),
        p99_ms=milliseconds[min(len(milliseconds) - 1, round(0.99 * len(milliseconds)))],
        rate=count / passed_s,
    )


def median(rounds: Sequence[Measured]) -> Measured:
    """Return the median of each figure."""
    cpu_ms, p50_ms, p99_ms, rate = map(statistics.median, zip(*map(attrs.astuple, rounds), strict=True))
    return Measured(cpu_ms=cpu_ms, p50_ms=p50_ms, p99_ms=p99_ms, rate=rate)


@contextlib.contextmanager
def servers(folder: Path, *, has_peers: bool) -> Iterator[tuple[Sequence[Served], Sequence[str]]]:
    """Run everything; yield the upstream, bare Starlette and the gateways, and why others do not run."""
    with contextlib.ExitStack() as stack:
        started, port = stack.enter_context(process("benchmarks.overhead.server"))
        upstream = f"http://127.0.0.1:{port.strip()}/v1"
        running = [
            Served(name="upstream alone", pid=started.pid, url=upstream),
            stack.enter_context(bare(upstream)),
            stack.enter_context(helmdeck(upstream, folder / "complete", name="Helmdeck", is_complete=True)),
            stack.enter_context(
                helmdeck(upstream, folder / "least", name="Helmdeck, no keys or records", is_complete=False)
            ),
        ]
        missing = []
        for each in peers(upstream, folder) if has_peers else ():
            try:
                running.append(stack.enter_context(each))
            except RuntimeError as exc:
                missing.append(str(exc))
        yield running, missing


async def cells(running: Sequence[Served], model: str, count: int, concurrency: int) -> dict[str, Measured | str]:
    """Measure all servers in turn; what fails once is not measured again."""
    found: dict[str, list[Measured]] = {served.name: [] for served in running}
    failures: dict[str, str] = {}
    for number in range(ROUNDS):
        for served in running:
            if served.name in failures or (served.is_slow and number >= SLOW_ROUNDS):
                continue
            if served.is_slow and concurrency > SLOW_CONCURRENCY:
                failures[served.name] = ": not measured"
                continue
            requests = max(SLOW_CALLS, concurrency) if served.is_slow else max(count, 2 * concurrency)
            try:
                found[served.name].append(await measure(served, model, requests, concurrency))
            except (RuntimeError, aiohttp.ClientError) as exc:
                failures[served.name] = str(exc)
    return {name: failures.get(name) or median(rounds) for name, rounds in found.items()}


async def table(running: Sequence[Served], model: str, count: int) -> str:
    """Measure one kind of requests, and return the table."""
    lines = [
        "| at once | server | CPU ms | ratio | p50 ms | ratio | p50 added | p99 added | per second |",
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for served in running:
        with contextlib.suppress(RuntimeError):
            await measure(served, model, 20 if served.is_slow else 100, 8)  # warm up
    for concurrency in CONCURRENCY:
        found = await cells(running, model, count, concurrency)
        direct, least = found[running[0].name], found[running[1].name]
        assert isinstance(direct, Measured)
        assert isinstance(least, Measured)
        for served in running[1:]:
            cell = found[served.name]
            if isinstance(cell, str):
                reason = cell.partition(": ")[2].partition(":")[0]
                lines.append(f"| {concurrency} | {served.name} | {reason} | | | | | | |")
                continue
            lines.append(
                f"| {concurrency} | {served.name} | {cell.cpu_ms:.2f} | {cell.cpu_ms / least.cpu_ms:.1f} | {cell.p50_ms:.1f} | "
                f"{cell.p50_ms / least.p50_ms:.1f} | {cell.p50_ms - direct.p50_ms:.1f} | {cell.p99_ms - direct.p99_ms:.1f} | "
                f"{cell.rate:.0f} |"
            )
        print("\n".join(lines[-len(running) + 1 :]), flush=True)
    return "\n".join(lines)


async def memory(served: Served, calls: int) -> str:
    """Send calls and streams, and return how the memory of a server changed."""
    sizes = []
    for _ in range(MEMORY_EVERY):
        await measure(served, "m", calls // MEMORY_EVERY * 9 // 10, 64)
        await measure(served, STREAM, calls // MEMORY_EVERY // 10, 64)
        sizes.append(served.memory_mb())
    shown = ", ".join(f"{each:.0f}" for each in sizes)
    return f"Resident memory of Helmdeck after each tenth of {calls:,} requests at 64 at once, a tenth of them streams: {shown} MB."


def main() -> None:
    """Measure, print, and write the page if it is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    parser.add_argument("--calls", type=int, default=20_000, help="requests of the memory measurement")
    parser.add_argument("--no-peers", action="store_true", help="without other gateways")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with servers(folder, has_peers=not arguments.no_peers) as (running, missing):
            starts = [
                f"| {each.name} | {each.start_s:.1f} | {each.memory_mb():.0f} |" for each in running if each.start_s
            ]
            load = os.getloadavg()[0]
            calls = asyncio.run(table(running, "m", CALLS))
            streams = asyncio.run(table(running, STREAM, STREAMS))
            kept = asyncio.run(memory(running[2], arguments.calls)) if arguments.calls else ""
        shares = fairness(folder)
    when = datetime.datetime.now(tz=datetime.UTC)
    conditions = f"with a load average of {load:.1f} on {os.cpu_count()} cores, of which other processes used a part."
    facts = [
        HEAD, "## Calls\n", calls, "\n## Streams of 21 chunks\n", streams, "\n## Start and memory\n",
        "| server | seconds until it accepts requests | MB then |\n|---|--:|--:|", *starts, f"\n{kept}\n", shares,
        f"Measured on {when:%Y-%m-%d} {conditions}",
        *(f"Not measured: {each}" for each in missing),
    ]  # fmt: skip
    text = "\n".join(facts) + "\n"
    print(text)
    if arguments.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
