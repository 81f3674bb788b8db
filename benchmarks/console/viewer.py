"""How much one viewer of the console slows the gateway: rounds with and without a page *Now* that updates itself, in turn.

The load is half of what the gateway served at most before, at fixed times, so that waiting for a free gateway counts as latency.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.gateway.servers import Served, helmdeck, new_key, process

LIVE_S = 5.0
"""Seconds between two updates of the page, as in its template."""
ROUND_S = 2 * LIVE_S
WARM_UP_S = 4.0
CONCURRENCY = 16


async def _call(session: aiohttp.ClientSession, served: Served) -> None:
    body = {"model": f"{served.model}m", "messages": [{"role": "user", "content": "hi"}]}
    async with session.post(f"{served.url}/chat/completions", json=body, headers=served.headers) as response:
        if response.status != 200:
            raise RuntimeError(f"HTTP {response.status}: {(await response.text())[:200]}")
        await response.read()


async def _most(session: aiohttp.ClientSession, served: Served) -> float:
    """Return the requests per second that the gateway serves without a pause."""
    end_s, count = time.perf_counter() + WARM_UP_S, 0

    async def worker() -> None:
        nonlocal count
        while time.perf_counter() < end_s:
            await _call(session, served)
            count += 1

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    return count / WARM_UP_S


async def _round(session: aiohttp.ClientSession, served: Served, rate: float) -> list[float]:
    """Return the latencies in milliseconds of requests at fixed times."""
    latencies: list[float] = []

    async def at(due_s: float) -> None:
        await asyncio.sleep(due_s - time.perf_counter())
        await _call(session, served)
        latencies.append((time.perf_counter() - due_s) * 1e3)

    start_s = time.perf_counter() + 0.05
    await asyncio.gather(*(at(start_s + number / rate) for number in range(int(ROUND_S * rate))))
    return latencies


async def _view(session: aiohttp.ClientSession, url: str, views: list[float]) -> None:
    """Load the page again and again, as its script does."""
    while True:
        start_s = time.perf_counter()
        async with session.get(f"{url}/", headers={"x-live": "1"}, allow_redirects=False) as response:
            text = await response.text()
            if response.status != 200 or 'id="live"' not in text:
                raise RuntimeError(f"the page Now: HTTP {response.status}")
        views.append((time.perf_counter() - start_s) * 1e3)
        await asyncio.sleep(LIVE_S)


async def _measured(served: Served, key: str, pairs: int) -> dict[str, Any]:
    url = served.url.removesuffix("/v1") + "/console"
    order = random.Random(5)
    found: dict[bool, list[list[float]]] = {False: [], True: []}
    views: list[float] = []
    jar = aiohttp.CookieJar(unsafe=True)  # the gateway has an IP address for a name
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
        aiohttp.ClientSession(cookie_jar=jar) as browser,
    ):
        async with browser.post(f"{url}/sign-in", data={"key": key}) as response:
            response.raise_for_status()
        rate = await _most(session, served) / 2
        for _ in range(pairs):
            for has_viewer in order.sample((False, True), 2):
                viewer = asyncio.create_task(_view(browser, url, views)) if has_viewer else None
                found[has_viewer].append(await _round(session, served, rate))
                if viewer is not None:
                    viewer.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await viewer
    without, beside = ([_p99(each) for each in found[has_viewer]] for has_viewer in (False, True))
    ratios = sorted(more / less for less, more in zip(without, beside, strict=True))
    whole = [_p99([each for part in found[has_viewer] for each in part]) for has_viewer in (False, True)]
    return {
        "pairs": pairs,
        "requests": sum(map(len, [*found[False], *found[True]])),
        "per_second": round(rate, 1),
        "views": len(views),
        "view_ms": round(statistics.median(views), 1),
        "p99_without_ms": round(statistics.median(without), 2),
        "p99_with_ms": round(statistics.median(beside), 2),
        "ratio_of_pairs": round(statistics.median(ratios), 3),
        "ratio_of_pairs_quartiles": [round(each, 3) for each in statistics.quantiles(ratios, n=4)[::2]],
        "ratio_of_all": round(whole[1] / whole[0], 3),
        "load": [round(each, 1) for each in os.getloadavg()],
    }


def _p99(latencies: Sequence[float]) -> float:
    return sorted(latencies)[int(0.99 * len(latencies))]


def viewer_cost(pairs: int) -> dict[str, Any]:
    """Return p99 of the gateway in milliseconds with and without a viewer, and their ratio.

    :param pairs: rounds of ten seconds of each kind.
    """
    with tempfile.TemporaryDirectory() as name, process("benchmarks.overhead.server") as (_, port):
        folder = Path(name) / "gateway"
        with helmdeck(f"http://127.0.0.1:{port.strip()}/v1", folder, name="Helmdeck", is_complete=True) as served:
            key = new_key(folder, "wallboard", "--role", "viewer")
            return asyncio.run(_measured(served, key, pairs))
