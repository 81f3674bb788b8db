"""Fills a request log and measures the server time of each screen.

python -m benchmarks.console --requests 1000000 --json FILE                      # SQLite, in a temporary folder
python -m benchmarks.console --requests 1000000 --url postgresql://HOST/DATABASE --json FILE
python -m benchmarks.console --viewer 12                         # the gateway's p99 with and without a viewer, 4 minutes
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import attrs
import httpx
from starlette.applications import Starlette
from starlette.routing import Mount

from benchmarks.console.viewer import viewer_cost
from helmdeck_console import Access, Console, Sources, example_traces
from helmdeck_core import CallTrace, Config, Helmdeck, LoadedConfig
from helmdeck_gateway import KeyRecord, Limits, create_key, open_store
from helmdeck_gateway.http_server.server import tune_collector
from helmdeck_telemetry import Filters, RequestLog

DAYS = 30
BATCH = 5_000
TEMPLATES = 20_000
KEYS = 200
NEEDED = frozenset(("call_started", "request_received", "catalog_selected", "request_sent", "attempt_ended"))


def fill(log: RequestLog, count: int) -> None:
    """Add calls of the last 30 days, half of them of the last week; the oldest ones have few events."""
    now = time.time()
    source = random.Random(11)
    templates = list(example_traces(now, min(count, TEMPLATES), seed=3))
    for start in range(0, count, BATCH):
        batch: list[CallTrace] = []
        for number in range(start, min(count, start + BATCH)):
            template = templates[number % len(templates)]
            age = (count - number) / count
            time_s = now - age * age * DAYS * 86_400 - source.random()
            events = template.events
            if count - number > 50_000:
                events = (*(each for each in events[:-1] if each["event"] in NEEDED), events[-1])
            batch.append(attrs.evolve(template, call_id=source.randbytes(8).hex(), time=time_s, events=events))
        log.add(batch)
        if start % 100_000 == 0:
            log.purge(DAYS + 1, 50_000)
            print(f"{start + len(batch):,} requests", file=sys.stderr)
    for _ in range(count // 5_000):
        log.purge(DAYS + 1, 50_000)


async def make_console(log: RequestLog) -> Console:
    """Return a console with keys, without sign-in."""
    store = open_store("memory:")
    for number in range(KEYS):
        record = KeyRecord(
            name=f"key-{number:03}",
            id="",
            digest="",
            caller="x",
            team=f"t{number % 9}",
            limits=Limits(month_nusd=10**10),
        )
        await create_key(store, record)
    loaded = LoadedConfig(Config(model="local/lexical"), {})
    sources = Sources(find_log=lambda: log, deck=Helmdeck(loaded), find_store=lambda: store, loaded=loaded)
    return Console(sources, Access(lambda: store, open_role="admin", is_always_open=True))


def screens(log: RequestLog) -> dict[str, str]:
    """Return the paths that are measured, by name."""
    newest = log.page(Filters(), size=1).rows[0]
    middle = log.page(Filters(until_us=newest.ended_us - 10 * 86_400_000_000), size=1).rows[0]
    try_id = log.save_try({"request": "draft a post about our release", "document": "", "model": ""})
    return {
        "now, hour": "/?period=hour",
        "now, day": "/?period=day",
        "now, week": "/?period=week",
        "requests": "/requests",
        "requests, deep page": f"/requests?after={middle.ended_us}-{middle.call_id}",
        "requests, model": "/requests?model=workshop/qwen3-8b",
        "requests, key and cause": "/requests?key=ci&cause=quota_exhausted",
        "requests, filters without a match": "/requests?key=ci&cause=safety_filtered&model=workshop/qwen3-8b",
        "requests, 10 days ago": f"/requests?model=openai/gpt-5-mini&from={time.strftime('%Y-%m-%dT%H:%M', time.gmtime(time.time() - 11 * 86_400))}"
        f"&to={time.strftime('%Y-%m-%dT%H:%M', time.gmtime(time.time() - 10 * 86_400))}",
        "requests, id": f"/requests?id={middle.call_id[:8]}",
        "request": f"/requests/{newest.call_id}",
        "models, week": "/models?period=week",
        "model": "/models/one?model=workshop/qwen3-8b&period=week",
        "keys": "/keys",
        "try": f"/try?id={try_id}",
        "plugins": "/plugins",
    }


async def measure(console: Console, paths: dict[str, str], repeats: int) -> dict[str, Any]:
    """Return p50 and p95 in milliseconds, p95 of the CPU time of this process, and the bytes of each page."""
    app = Starlette(routes=[Mount("/console", app=console)])
    found: dict[str, Any] = {}
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as client:
        for name, path in paths.items():
            times, cpu = [], []
            response = await client.get(f"/console{path}")
            assert response.status_code == 200, (path, response.status_code)
            for _ in range(repeats):
                start, start_cpu = time.perf_counter(), time.process_time()
                await client.get(f"/console{path}")
                times.append((time.perf_counter() - start) * 1_000)
                cpu.append((time.process_time() - start_cpu) * 1_000)
            times.sort()
            cpu.sort()
            found[name] = {
                "p50_ms": round(statistics.median(times), 1),
                "p95_ms": round(times[int(len(times) * 0.95)], 1),
                "cpu_p95_ms": round(cpu[int(len(cpu) * 0.95)], 1),
                "bytes": len(response.content),
            }
            print(f"{name:36} {found[name]}", file=sys.stderr)
    return found


async def memory(console: Console, paths: dict[str, str], views: int) -> dict[str, Any]:
    """Return the peak memory in MB after a tenth of the page views, and after all of them."""
    app = Starlette(routes=[Mount("/console", app=console)])
    marks = []
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1", timeout=60) as client:
        kinds = [path for name, path in paths.items() if name not in ("plugins", "try")]
        for number in range(views):
            client.cookies.clear()
            await client.get(f"/console{kinds[number % len(kinds)]}")
            if number + 1 in (views // 10, views):
                marks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return {"views": views, "peak_mb_after_a_tenth": round(marks[0], 1), "peak_mb": round(marks[-1], 1)}


def recording_deck(sink: str, options: dict[str, Any]) -> Helmdeck:
    """Return a deck of the offline model with one event sink."""
    overrides = {"model": "local/lexical", "events.sinks": [sink], "events.options": {sink: options}}
    return Helmdeck(overrides=overrides, environ={})


def call_cost(repeats: int = 400) -> dict[str, float]:
    """Return the CPU milliseconds of a plan of the offline model without recording, with it, and with traces, taken in turn.

    Those of the threads that write are included.
    """
    totals = {"without": 0.0, "with": 0.0, "traces": 0.0}
    with tempfile.TemporaryDirectory() as folder:
        decks = {
            "without": Helmdeck(LoadedConfig(Config(model="local/lexical"), {})),
            "with": recording_deck("requests", {"url": f"sqlite:{Path(folder) / 'requests.db'}"}),
            "traces": recording_deck("traces", {"file": str(Path(folder) / "traces.db")}),
        }  # fmt: skip
        for deck in decks.values():
            deck.plan("draft a blog post about our release")
        for _ in range(repeats):
            for name, deck in decks.items():
                start = time.process_time()
                deck.plan("draft a blog post about our release")
                totals[name] += time.process_time() - start
        for deck in decks.values():
            deck.close()
    each = {name: total / repeats * 1_000 for name, total in totals.items()}
    ratios = {f"ratio_{name}": round(each[name] / each["without"], 3) for name in ("with", "traces")}
    return {**{f"{name}_ms": round(value, 3) for name, value in each.items()}, **ratios}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.console", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000, help="recorded requests")
    parser.add_argument("--url", default="", help="sqlite:PATH or postgresql://...; default: a temporary file")
    parser.add_argument("--repeats", type=int, default=40, help="views of each screen")
    parser.add_argument("--views", type=int, default=0, help="page views for the memory")
    parser.add_argument("--keep", action="store_true", help="use what the database has, without filling it")
    parser.add_argument("--json", type=Path, help="write the results to a file")
    parser.add_argument(
        "--viewer", type=int, metavar="PAIRS", help="measure the gateway with and without a viewer instead"
    )
    arguments = parser.parse_args()
    if arguments.viewer:
        show(viewer_cost(arguments.viewer), arguments.json)
        return
    with tempfile.TemporaryDirectory() as folder:
        log = RequestLog.open(arguments.url or f"sqlite:{Path(folder) / 'requests.db'}")
        start = time.perf_counter()
        if not arguments.keep:
            fill(log, arguments.requests)
        filled_s = time.perf_counter() - start
        paths = screens(log)

        async def work() -> dict[str, Any]:
            console = await make_console(log)
            tune_collector()  # as in the gateway
            found: dict[str, Any] = {"screens": await measure(console, paths, arguments.repeats)}
            if arguments.views:
                found["memory"] = await memory(console, paths, arguments.views)
            return found

        results = {
            "requests": arguments.requests,
            "filled_s": round(filled_s, 1),
            **asyncio.run(work()),
            "call": call_cost(),
        }
        log.close()
    show(results, arguments.json)


def show(results: dict[str, Any], file: Path | None) -> None:
    """Print the results, and write them to a file if there is one."""
    text = json.dumps(results, indent=2)
    if file is not None:
        file.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
