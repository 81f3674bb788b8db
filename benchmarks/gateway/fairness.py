"""Two teams share a gateway: how much one that sends many requests delays the other.

The upstream takes a tenth of a second for each answer, and the gateway works on 32 requests at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from pathlib import Path

import aiohttp
import attrs

from benchmarks.gateway.servers import Served, helmdeck, new_key, process

ACTIVE, NOISY, QUIET, CALLS, ROUNDS = 16, 64, 2, 60, 3
"""Requests that the gateway works on; that the noisy and the quiet team send at once; measured calls of a round; rounds."""
SLOW_CALLS = 20


async def p95_ms(served: Served, key: str, noisy_key: str = "", calls: int = CALLS) -> float:
    """Return the latency of the calls of one team in milliseconds.

    :param noisy_key: the key of the team that sends many meanwhile; empty for none.
    """
    body = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}]}
    latencies: list[float] = []
    left = iter(range(calls))

    async def call(session: aiohttp.ClientSession, sent_key: str) -> None:
        headers = {"authorization": f"Bearer {sent_key}"}
        async with session.post(f"{served.url}/chat/completions", json=body, headers=headers) as response:
            assert response.status == 200, await response.text()
            await response.read()

    async def noise(session: aiohttp.ClientSession) -> None:
        while True:
            await call(session, noisy_key)

    async def measured(session: aiohttp.ClientSession) -> None:
        for _ in left:
            start_s = time.perf_counter()
            await call(session, key)
            latencies.append((time.perf_counter() - start_s) * 1e3)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        others = [asyncio.create_task(noise(session)) for _ in range(NOISY if noisy_key else 0)]
        if others:
            await asyncio.sleep(0.5)
        await asyncio.gather(*(measured(session) for _ in range(QUIET)))
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)
    return statistics.quantiles(latencies, n=20)[-1]


async def rounds(fair: Served, shared: Served, folder: Path) -> list[list[float]]:
    """Measure the quiet team alone, beside a noisy one, and beside a noisy one whose requests are its own."""
    quiet, noisy = (new_key(folder / "fair", name, "--team", name) for name in ("quiet", "noisy"))
    one = new_key(folder / "shared", "one", "--team", "one")
    return [
        [await p95_ms(fair, quiet), await p95_ms(fair, quiet, noisy), await p95_ms(shared, one, one, SLOW_CALLS)]
        for _ in range(ROUNDS)
    ]


@attrs.frozen
class Result:
    """Medians in milliseconds."""

    alone: float
    beside: float
    in_one_queue: float


def fairness(folder: Path) -> str:
    """Measure, and return the section of the page."""
    with contextlib.ExitStack() as stack:
        _, port = stack.enter_context(process("benchmarks.overhead.server"))
        upstream = f"http://127.0.0.1:{port.strip()}/slow/v1"
        more = f"max_active = {ACTIVE}\n"
        fair, shared = (
            stack.enter_context(helmdeck(upstream, folder / name, name=name, is_complete=True, more=more))
            for name in ("fair", "shared")
        )
        found = Result(*map(statistics.median, zip(*asyncio.run(rounds(fair, shared, folder)), strict=True)))
    return (
        "## Fair shares\n\n"
        f"The upstream takes 100 ms for an answer, and the gateway works on {ACTIVE} requests at a time (`max_active`). A quiet team "
        f"sends {QUIET} requests at a time, a noisy one {NOISY}. The 95th percentile of the quiet team's latency in {ROUNDS} rounds "
        f"of {CALLS} calls:\n\n"
        "| situation | p95 ms | ratio |\n|---|--:|--:|\n"
        f"| the quiet team alone | {found.alone:.0f} | 1.00 |\n"
        f"| beside the noisy team | {found.beside:.0f} | {found.beside / found.alone:.2f} |\n"
        f"| with the same key as the noisy one, in one queue | {found.in_one_queue:.0f} | {found.in_one_queue / found.alone:.2f} |\n"
    )
