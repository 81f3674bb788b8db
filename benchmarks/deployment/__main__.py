"""The deployment of deploy/compose.yaml as plain processes: one gateway is killed and the other one restarted under load.

::

    python -m benchmarks.deployment                    # the store is Redis, as in deploy/compose.yaml
    python -m benchmarks.deployment --store postgres
    python -m benchmarks.deployment --calls 200        # a shorter run

Two gateways with the configuration and the environment of the compose file share PostgreSQL and Redis behind HAProxy; Prometheus
reads both. After a third of the calls, one gateway gets SIGKILL and is started again; after two thirds, the other one gets SIGTERM and is
started again. Clients repeat a failed request twice, as the SDKs of OpenAI and Anthropic do. Each call has a key of its own:
its bill must be exactly what the provider charged, or at least that if a gateway was killed during the call.

Requires ``apt-get install haproxy prometheus``, and the servers of HELMDECK_TEST_POSTGRES_URL and HELMDECK_TEST_REDIS_URL.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import contextlib
import http.client
import json
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import attrs

from benchmarks.deployment.processes import KEY, Deployment, panels, running, scraped
from benchmarks.gateway_bill import PROMPT, Provider, Server
from helmdeck_gateway import KeyRecord, create_key, open_store
from helmdeck_gateway.accounts.ledger import LEASE_S
from tests.databases_support import postgres_schema, redis_prefix

LANES = 8
ATTEMPTS = 3
"""Attempts of a client: the first one and the two retries of the SDKs."""
TOO_LATE_S = 42.0
"""A killed call is recognized by its lease, which ends 45 to 60 seconds after the kill."""


@attrs.frozen(kw_only=True)
class Call:
    """What a client saw.

    :ivar retries: attempts after the first one.
    :ivar reasons: why attempts failed: a status or the name of an exception.
    """

    is_answered: bool
    retries: int
    reasons: tuple[str, ...]
    seconds: float


def text_of(stream: bytes) -> str:
    """Return the text of a stream; empty if the stream has no end."""
    events = [line.removeprefix(b"data: ") for line in stream.splitlines() if line.startswith(b"data: ")]
    if events[-1:] != [b"[DONE]"]:
        return ""
    choices = [choice for event in events[:-1] for choice in json.loads(event).get("choices", ())]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


class Load:
    """Clients that call through the balancer, and what happens to the gateways meanwhile."""

    def __init__(self, deployment: Deployment, keys: Sequence[tuple[str, str]]) -> None:
        self.deployment, self.keys = deployment, keys
        self.killed_s = self.end_s = 0.0
        self.events = {len(keys) // 3: self._kill, 2 * len(keys) // 3: self._restart}
        self._lock, self._started = threading.Lock(), 0
        self._operation: Future[None] | None = None

    def run(self) -> list[Call]:
        """Make all calls."""
        with ThreadPoolExecutor(LANES) as pool, ThreadPoolExecutor(1) as self.operator:
            calls = list(pool.map(self._call, range(len(self.keys))))
            self.end_s = time.monotonic()
            if self._operation is not None:
                self._operation.result()
            return calls

    def _call(self, number: int) -> Call:
        with self._lock:
            self._started += 1
            if (event := self.events.pop(self._started, None)) is not None:
                if self._operation is not None:  # one gateway at a time: calls wait until the killed one is ready again
                    self._operation.result()
                self._operation = self.operator.submit(event)
        reasons: list[str] = []
        begin_s = time.perf_counter()
        for attempt in range(ATTEMPTS):
            if (reason := self._attempt(number)) is None:
                break
            reasons.append(reason)
            time.sleep(0.5 * 2**attempt)
        seconds = time.perf_counter() - begin_s
        is_answered = len(reasons) < ATTEMPTS
        return Call(
            is_answered=is_answered, retries=len(reasons) - (not is_answered), reasons=tuple(reasons), seconds=seconds
        )

    def _attempt(self, number: int) -> str | None:
        """Return why an attempt failed; ``None`` for a complete and correct response."""
        messages = [{"role": "user", "content": f"{PROMPT}#{number}"}]
        body = {"model": "fast", "messages": messages, "stream": number % 2 == 0, "max_tokens": 200}
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.keys[number][1]}"}
        connection = http.client.HTTPConnection("127.0.0.1", self.deployment.port, timeout=60)
        with contextlib.closing(connection):
            try:
                connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
                response = connection.getresponse()
                data = response.read()
            except (OSError, http.client.HTTPException) as exc:
                return type(exc).__name__
        if response.status != 200:
            return str(response.status)
        text = json.loads(data)["choices"][0]["message"]["content"] if number % 2 else text_of(data)
        # The gateway may ask for a stream where its client does not, and drops whitespace at the end of an answer.
        expected = f"answer {number}", " ".join(f"part {part} of {number}" for part in range(6))
        return None if text.rstrip() in expected else "incomplete answer"

    def _kill(self) -> None:
        self.killed_s = time.monotonic()
        self.deployment.kill(0)
        self.deployment.start(0)

    def _restart(self) -> None:
        self.deployment.stop(1)
        self.deployment.start(1)


async def make_keys(url: str, count: int) -> list[tuple[str, str]]:
    """Return the id and the secret of a key for each call."""
    store, keys = open_store(url), []
    for number in range(count):
        made = await create_key(store, KeyRecord(name=f"k{number}", id="", digest="", caller="bench"))
        keys.append((made.record.id, made.secret))
    await store.aclose()
    return keys


async def bills(url: str, accounts: Sequence[str]) -> tuple[dict[str, int], set[str]]:
    """Return the spend of accounts in nano US dollars after all leases have ended, and the accounts of killed calls."""
    store = open_store(url)
    killed = {account for account in accounts if (await store.usage(account)).under_way}
    spent = {}
    for account in accounts:
        usage = await store.usage(account, now_s=time.time() + LEASE_S + 1)
        spent[account] = usage.month.spent_nusd
    await store.aclose()
    return spent, killed


@contextlib.contextmanager
def stores(kind: str) -> Iterator[tuple[str, str]]:
    """Yield the URL of the store of the gateways, and that of the plan history."""
    with postgres_schema() as (postgres, _, _), redis_prefix() as redis:
        yield (redis if kind == "redis" else postgres), postgres


def measure(kind: str, count: int) -> bool:
    """Run, print the figures, and return whether nothing was lost."""
    with contextlib.ExitStack() as stack:
        store, history = stack.enter_context(stores(kind))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        keys = asyncio.run(make_keys(store, count))
        provider = Server(("127.0.0.1", 0), Provider)
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        stack.callback(provider.shutdown)
        Provider.charges, Provider.prices = {}, (150, 600)  # those of openai/gpt-4o-mini
        environ = {
            "GATEWAY_KEY": KEY,
            "GATEWAY_STORE": store,
            "HELMDECK_HISTORY__URL": history,
            "OPENAI_API_KEY": "sk-of-the-benchmark",
        }
        environ["HELMDECK_PROVIDERS__OPENAI__BASE_URL"] = f"http://127.0.0.1:{provider.server_port}/v1"
        deployment = stack.enter_context(running(folder, environ))
        load = Load(deployment, keys)
        begin_s = time.monotonic()
        calls = load.run()
        took_s, since_kill_s = load.end_s - begin_s, time.monotonic() - load.killed_s
        if since_kill_s > TOO_LATE_S:
            raise RuntimeError(
                f"killed calls cannot be recognized {since_kill_s:.0f} s after the kill, at most {TOO_LATE_S:.0f} s: use fewer --calls"
            )
        spent, killed = asyncio.run(bills(store, [account for account, _ in keys]))
        up, requests = scraped(deployment)
        failed = panels(deployment)
    charges = {keys[number][0]: nusd for number, nusd in Provider.charges.items()}
    wrong = [
        account
        for account, _ in keys
        if (
            spent[account] < charges.get(account, 0) if account in killed else spent[account] != charges.get(account, 0)
        )
    ]
    lost = sum(not each.is_answered for each in calls)
    retried = sum(each.is_answered and each.retries > 0 for each in calls)
    reasons = collections.Counter(reason for each in calls for reason in each.reasons)
    of_killed = sum(charges.get(each, 0) for each in killed), sum(spent[each] for each in killed)
    charged, billed = sum(charges.values()) - of_killed[0], sum(spent.values()) - of_killed[1]
    times = sorted(each.seconds * 1e3 for each in calls)
    lines = [
        f"store {kind}: {count:,} calls of {LANES} clients in {took_s:.1f} s; one gateway killed, the other one restarted",
        f"answered: {count - lost:,}, of these after a retry of the client: {retried}; lost: {lost}",
        f"failed attempts that clients saw: {dict(reasons) or 'none'}; exit code after SIGTERM: {deployment.exit_codes}",
        f"time of a call: median {statistics.median(times):.0f} ms, slowest {times[-1]:.0f} ms",
        f"settled calls: billed {usd(billed)}, charged {usd(charged)}, difference {usd(billed - charged)}",
        f"{len(killed)} calls of the killed gateway: billed {usd(of_killed[1])} (estimates), charged {usd(of_killed[0])}",
        f"calls with a wrong bill: {len(wrong)}",
        f"Prometheus: {up} of 2 gateways up, {requests:,} requests counted; invalid expressions of the dashboard: {failed or 0}",
    ]
    print("\n".join(lines))
    return not (lost or wrong or failed) and up == 2 and deployment.exit_codes == [0]


def usd(nusd: int) -> str:
    """Return an amount as text."""
    return f"${nusd / 1e9:.9f}"


def main() -> int:
    """Measure and print; the exit code is 0 if nothing was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=600)
    parser.add_argument("--store", choices=("redis", "postgres"), default="redis")
    arguments = parser.parse_args()
    if missing := [name for name in ("haproxy", "prometheus") if shutil.which(name) is None]:
        parser.error(f"missing: {', '.join(missing)}; apt-get install {' '.join(missing)}")
    return 0 if measure(arguments.store, arguments.calls) else 1


if __name__ == "__main__":
    sys.exit(main())
