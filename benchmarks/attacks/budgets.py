"""Limits and spend: many calls at once, usage that lies, clients and workers that disappear."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from benchmarks.attacks.cases import Stage, Suite, Verdict, broken, degraded, held
from benchmarks.attacks.hostile import (
    Exchange,
    HostileUpstream,
    chunk,
    completion,
    hostile_upstream,
    send_answer,
    until_closed,
)
from benchmarks.attacks.settings import configuration
from benchmarks.attacks.victim import Victim, create_key, gateway, stop, store_url, usage_of
from helmdeck_gateway.stores.records import NANO

SUITE = Suite("budgets")
SPEND = "OWASP API4:2023; OWASP LLM10:2025"
CALL = {"prompt_tokens": 10, "completion_tokens": 12_500, "total_tokens": 12_510}
CALL_USD = 0.02501
"""Cost of a call with that usage, at 1 and 2 dollars per million tokens."""
MAX_TOKENS = 12_500


@attrs.frozen
class Bank:
    """A gateway with spend limits.

    :ivar url: its store.
    """

    victim: Victim
    upstream: HostileUpstream
    url: str

    def key(self, name: str, usd: float | None = None, **limits: Any) -> str:
        """Create a key with a limit per day."""
        day = None if usd is None else round(usd * NANO)
        return create_key(self.victim.folder, name, url=self.url, day_nusd=day, **limits)

    def spent_usd(self, key: str) -> float:
        """What counts as spent."""
        return usage_of(self.url, key).day.spent_nusd / NANO


@contextlib.contextmanager
def running(folder: Path, url: str = "", *options: str) -> Iterator[Bank]:
    """A gateway over a store; by default, the file in its folder."""
    with hostile_upstream() as upstream:
        text = configuration(upstream, gateway_lines=f'requires_keys = true\nstore = "{url or store_url(folder)}"')
        (folder / ".helmdeck").mkdir(parents=True, exist_ok=True)
        with gateway(folder, text, *options) as victim:
            yield Bank(victim, upstream, url or store_url(folder))


@contextlib.contextmanager
def bank(stage: Stage) -> Iterator[Bank]:
    """A gateway with one worker over SQLite."""
    with running(stage.new_folder()) as made:
        yield made


async def at_once(victim: Victim, key: str, count: int, **fields: Any) -> list[int]:
    """Send requests at once; return their statuses."""
    import aiohttp

    body = {"messages": [{"role": "user", "content": "hello"}], **fields}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def one() -> int:
            url = f"http://127.0.0.1:{victim.port}/v1/chat/completions"
            try:
                async with session.post(url, json=body, headers={"x-api-key": key}) as response:
                    await response.read()
                    return response.status
            except aiohttp.ClientError:
                return 0

        return list(await asyncio.gather(*(one() for _ in range(count))))


def _overspend(at: Bank, name: str, workers: int, *, usage: Any = CALL, **fields: Any) -> Verdict:
    async def costly(exchange: Exchange) -> None:
        await asyncio.sleep(0.3)
        await send_answer(exchange, usage=usage)

    at.upstream.behaviours["costly"] = costly
    key = at.key(name, 10 * CALL_USD)
    statuses = asyncio.run(at_once(at.victim, key, 200, model="up/costly", **fields))
    calls, spent = statuses.count(200), at.spent_usd(key)
    text = f"{calls} of 200 calls served, ${spent:.3f} of ${10 * CALL_USD:.2f} spent, {statuses.count(402) + statuses.count(429)} refused"
    if not {*statuses} <= {200, 402, 429}:
        return broken(f"{text}; statuses {sorted({*statuses})}")
    if spent > (10 + workers) * CALL_USD + 1e-9:
        return broken(text)
    return held(text) if calls else degraded(f"{text}: nothing was served")


@SUITE.case("200 calls at once on a limit for ten, with max_tokens", reference=SPEND)
def _exact(stage: Stage) -> Verdict:
    return _overspend(stage.use(bank), "exact", 1, max_tokens=MAX_TOKENS)


@SUITE.case("200 streams at once on a limit for ten, with max_tokens", reference=SPEND)
def _exact_stream(stage: Stage) -> Verdict:
    return _overspend(stage.use(bank), "exact-stream", 1, max_tokens=MAX_TOKENS, stream=True)


@SUITE.case("200 calls at once on a limit for ten, without max_tokens", reference=SPEND)
def _without(stage: Stage) -> Verdict:
    return _overspend(stage.use(bank), "without", 1)


@SUITE.case("200 calls at once on a limit for ten, with a bill a hundred times the estimate", reference=SPEND)
def _underestimated(stage: Stage) -> Verdict:
    return _overspend(stage.use(bank), "under", 1, max_tokens=100)


@SUITE.each({f"200 calls at once on a limit for ten, two workers over {name}": name for name in ("SQLite", "PostgreSQL", "Redis")},
            reference=SPEND, deadline_s=60)  # fmt: skip
def _workers(stage: Stage, store: str) -> Verdict:
    from benchmarks.gateway_limits import stores

    folder = stage.new_folder()
    with stores(folder) as found:
        url = dict(found)[store]
        with running(stage.new_folder(), url, "--workers", "2") as at:
            return _overspend(at, "workers", 2, max_tokens=MAX_TOKENS)


@SUITE.case("200 calls at once on a rate of ten per minute", reference=SPEND)
def _rate(stage: Stage) -> Verdict:
    at = stage.use(bank)
    key = at.key("rate", rate=10, window_s=60.0)
    statuses = asyncio.run(at_once(at.victim, key, 200, model="up/ok"))
    text = f"{statuses.count(200)} served, {statuses.count(429)} refused"
    return held(text) if statuses.count(200) == 10 and {*statuses} == {200, 429} else broken(text)


@SUITE.case("requests of endpoints that cost nothing are not a way around the limit", reference=SPEND)
def _around(stage: Stage) -> Verdict:
    at = stage.use(bank)
    key = at.key("around", CALL_USD / 1_000)

    async def costly(exchange: Exchange) -> None:
        await send_answer(exchange, usage=CALL)

    at.upstream.behaviours["around"] = costly
    at.victim.chat("up/around", key=key, max_tokens=1)
    before = len(at.upstream.exchanges)
    rows = {
        "/v1/chat/completions": {"model": "up/ok", "messages": [{"role": "user", "content": "x"}]},
        "/v1/messages": {"model": "up/ok", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]},
        "/v1/responses": {"model": "up/ok", "input": "x"},
        "/v1/embeddings": {"model": "up/ok", "input": "x"},
    }
    seen = {path: at.victim.send(path, body, key=key).status for path, body in rows.items()}
    calls = len(at.upstream.exchanges) - before
    return (
        broken(f"{seen}, {calls} calls")
        if calls or {*seen.values()} - {402, 429, 404, 400}
        else held(f"all refused: {seen}")
    )


# -- usage that lies ---------------------------------------------------------------------------------------------------

TEXT = "word " * 800
"""Some 800 to 1,000 tokens, which cost about 0.002 dollars."""
USAGES: dict[str, Any] = {
    "no usage": {},
    "usage of null": {"prompt_tokens": None, "completion_tokens": None},
    "negative usage": {"prompt_tokens": -(10**9), "completion_tokens": -(10**9), "total_tokens": -2 * 10**9},
    "usage of 10^18 tokens": {"prompt_tokens": 10**18, "completion_tokens": 10**18, "total_tokens": 2 * 10**18},
    "usage as strings": {"prompt_tokens": "5", "completion_tokens": "3"},
    "usage of 1e308": {"prompt_tokens": 1e308, "completion_tokens": 1e308},
}


@SUITE.each(
    {f"{name}, {'streamed' if s else 'whole'}": (usage, s) for name, usage in USAGES.items() for s in (False, True)},
    reference=SPEND,
)
def _usage(stage: Stage, row: tuple[Any, bool]) -> Verdict:
    usage, streams = row
    at = stage.use(bank)
    key = at.key(f"usage-{time.monotonic_ns()}", 100.0)

    async def lies(exchange: Exchange) -> None:
        if usage == {} and not exchange.streams:
            await exchange.respond(json.dumps({**completion(TEXT), "usage": None}).encode())
        else:
            await send_answer(exchange, TEXT, usage)

    at.upstream.behaviours["lies"] = lies
    reply = at.victim.chat("up/lies", key=key, max_tokens=2_000, stream=streams)
    first = at.spent_usd(key)
    again = at.victim.chat("up/ok", key=key).status
    second = at.spent_usd(key)
    text = f"answered {reply.status}, ${first:.6f} spent for a text of about $0.002, next call {again}"
    if first <= 0 or second < first or again not in (200, 402):
        return broken(text)
    if again == 402 or first > 1:
        return broken(f"{text}: one response has used up the limit of $100")
    return held(text) if reply.status == 200 else degraded(text)


# -- clients and workers that disappear --------------------------------------------------------------------------------


@SUITE.each(
    {f"a client that disconnects from a call that is {name}": s for name, s in (("whole", False), ("streamed", True))},
    reference=SPEND,
)
def _disconnect(stage: Stage, streams: bool) -> Verdict:
    at = stage.use(bank)
    key = at.key(f"gone-{streams}", 1.0)

    async def long(exchange: Exchange) -> None:
        if exchange.streams:
            await exchange.start_events()
            waiting = asyncio.create_task(until_closed(exchange))
            for _ in range(600):
                await exchange.event(chunk("word " * 20))
                await asyncio.sleep(0.05)
                if waiting.done():
                    return
        else:
            await until_closed(exchange)

    at.upstream.behaviours["long"] = long
    body = json.dumps(
        {"model": "up/long", "stream": streams, "messages": [{"role": "user", "content": "x" * 4_000}]}
    ).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: %s\r\ncontent-length: %d\r\n\r\n" % (
        key.encode(),
        len(body),
    )
    with contextlib.closing(at.victim.connect()) as client:
        client.sendall(head + body)
        time.sleep(1.0)
        if streams:
            client.recv(65_536)
    gone_s = time.monotonic()
    exchange = at.upstream.of("long")[-1]
    while exchange.ended_s is None and time.monotonic() < gone_s + 10:
        time.sleep(0.02)
    took_s = (exchange.ended_s or time.monotonic()) - gone_s
    end_s = time.monotonic() + 3
    while (usage := usage_of(at.url, key)).under_way and time.monotonic() < end_s:
        time.sleep(0.1)
    spent = usage.day.spent_nusd / NANO
    text = f"the call of the provider ended after {max(0.0, took_s):.2f} s, ${spent:.6f} spent, {usage.under_way} under way"
    return held(text) if took_s < 1.0 and spent > 0 and not usage.under_way else broken(text)


@SUITE.case("a gateway killed with SIGKILL during a call", reference=SPEND, deadline_s=40)
def _killed(stage: Stage) -> Verdict:
    with running(stage.new_folder()) as at:

        async def hang(exchange: Exchange) -> None:
            await until_closed(exchange)

        at.upstream.behaviours["hang"] = hang
        key = at.key("killed", 1.0, concurrency=1)
        with contextlib.closing(at.victim.connect()) as client:
            body = json.dumps(
                {"model": "up/hang", "max_tokens": MAX_TOKENS, "messages": [{"role": "user", "content": "x"}]}
            ).encode()
            client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: %s\r\ncontent-length: %d\r\n\r\n" % (
                key.encode(), len(body)) + body)  # fmt: skip
            end_s = time.monotonic() + 10
            while not usage_of(at.url, key).under_way and time.monotonic() < end_s:
                time.sleep(0.1)
            stop(at.victim.process)
        now, later = usage_of(at.url, key), usage_of(at.url, key, later_s=61.0)
    held_usd, later_usd = now.day.held_nusd / NANO, later.day.held_nusd / NANO
    spent_usd = later.day.spent_nusd / NANO
    text = f"{now.under_way} under way and ${held_usd:.4f} held; a minute later {later.under_way} and ${later_usd:.4f}, ${spent_usd:.4f} spent"
    return (
        held(text)
        if now.under_way == 1 and (later.under_way, later.day.held_nusd) == (0, 0) and later.day.spent_nusd
        else broken(text)
    )


@SUITE.case("a model without a price for a key that requires one", reference=SPEND)
def _unpriced(stage: Stage) -> Verdict:
    at = stage.use(bank)
    key = at.key("priced", 1.0)
    reply = at.victim.chat("other/m", key=key)
    return held(f"answered {reply.status}") if reply.status in (400, 403, 404) else broken(f"answered {reply.status}")
