"""Limits and spend of the gateway's keys and a team above them: many processes over one store, some of which are killed.

::

    python -m benchmarks.gateway_limits                     # print the table
    python -m benchmarks.gateway_limits --calls 500         # fewer calls per process
    python -m benchmarks.gateway_limits --write             # write docs/benchmarks/gateway-limits.md as well

PostgreSQL and Redis are those of HELMDECK_TEST_POSTGRES_URL and HELMDECK_TEST_REDIS_URL, or of this machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from benchmarks.pages import write_between
from helmdeck_gateway.accounts.key_counters import KeyCounters
from helmdeck_gateway.accounts.ledger import LEASE_S, Ledger
from helmdeck_gateway.problems import Problem
from helmdeck_gateway.stores import open_store
from helmdeck_gateway.stores.records import NANO, KeyRecord, Limits, Node, Open, TeamRecord
from helmdeck_testing import make_deck

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks" / "gateway-limits.md"
POSTGRES_URL = os.environ.get("HELMDECK_TEST_POSTGRES_URL", "postgresql://postgres@localhost:5432/postgres")
REDIS_URL = os.environ.get("HELMDECK_TEST_REDIS_URL", "redis://localhost:6379/0")

PROCESSES = 8
CALLS = 10_000
AT_ONCE = 8
"""Calls under way in each process."""

KILLS = 8
TOKENS = 1_000
PRICES = {"input_cost_usd_per_mtok": 1.0, "output_cost_usd_per_mtok": 2.0}
HELD_NUSD = 3_000_000
"""What the prices hold for 1,000 input and 1,000 output tokens."""

REPEATED = 0.05
"""Share of calls whose first attempt fails: they cost more than was held for them at first."""

SHARES = (None, 0.3, 0.45, 0.6)
"""The spend limit of each key, as a share of what its calls would cost without a limit."""

TEAM_SHARE = 0.5
"""The spend limit of the team above the first two keys, as a share of what their calls would cost without a limit."""

TIMED = 500


def keys(calls: int) -> list[KeyRecord]:
    """Return the keys, with limits for a total number of calls."""
    expected = calls / len(SHARES) * HELD_NUSD * 0.55
    return [
        KeyRecord(
            name=f"key{number}",
            id=f"key{number}",
            digest="",
            caller="benchmark",
            limits=Limits(day_nusd=None if share is None else round(share * expected)),
        )
        for number, share in enumerate(SHARES)
    ]


def team(calls: int) -> TeamRecord:
    """Return the team above the first two keys, with a limit for a total number of calls."""
    expected = calls * 2 / len(SHARES) * HELD_NUSD * 0.55
    return TeamRecord(name="team", id="team", limits=Limits(day_nusd=round(TEAM_SHARE * expected)))


def nodes(calls: int) -> list[Node]:
    """Return the accounts of the keys and of the team."""
    return [*(key.node for key in keys(calls)), team(calls).node]


# -- one process -------------------------------------------------------------------------------------------------


class Worker:
    """A process that makes calls; what the provider charges is written to a file before anything is settled."""

    def __init__(self, url: str, total: int, file: Path, seed: int) -> None:
        self.store = open_store(url)
        self.keys = keys(total)
        self.teams: list[tuple[TeamRecord, ...]] = [(team(total),)] * 2 + [()] * (len(self.keys) - 2)
        self.random = random.Random(seed)
        self.file = os.open(file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        deck = make_deck(config={"budgets": {"up/": PRICES}})
        self.ledger = Ledger(deck, lambda: self.store, KeyCounters())

    async def run(self, calls: int) -> None:
        """Make the calls."""
        left = iter(range(calls))

        async def lane() -> None:
            for _ in left:
                await self.call()

        await asyncio.gather(*(lane() for _ in range(AT_ONCE)))
        await self.ledger.aclose()
        await self.store.aclose()

    async def call(self) -> None:
        """Admit one call, let the provider charge for it, and settle it."""
        number = self.random.randrange(len(self.keys))
        key = self.keys[number]
        try:
            booking = await self.ledger.admit(key, "up/m", TOKENS, TOKENS, teams=self.teams[number])
        except Problem as problem:
            if problem.code != "spend_limit":
                raise
            os.write(self.file, b"%d refused 0\n" % number)
            return
        cost = round(HELD_NUSD * self.random.uniform(0.1, 1.0))
        if self.random.random() < REPEATED:
            cost += HELD_NUSD
            await self.store.renew(booking.accounts, [Open(booking.call_id, 2 * HELD_NUSD)], LEASE_S)
        os.write(self.file, b"%d charged %d\n" % (number, cost))
        await asyncio.sleep(0)
        await booking.settle(cost_usd=cost / NANO)


# -- all processes -----------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Outcome:
    """The result for one store.

    :ivar lost_nusd: what the provider charged beyond what counts as spent, at most over all keys and the team; 0 is right.
    :ivar over_nusd: what counts as spent beyond what was charged, for calls of killed processes.
    :ivar overshoot_calls: charges beyond a limit, in calls of the highest cost; at most over all keys and the team.
    :ivar call_ms: wall time of one admission and settlement, median and 95th percentile of one process alone.
    :ivar cpu_ms: processor time of it in the gateway's process.
    """

    store: str
    processes: int
    calls: int
    kills: int
    admitted: int
    refused: int
    charged_nusd: int
    lost_nusd: int
    over_nusd: int
    overshoot_calls: float
    under_way: int
    per_second: float
    call_ms: tuple[float, float]
    cpu_ms: float

    def row(self) -> Sequence[str]:
        """Return the cells of the table."""
        return (
            self.store,
            f"{self.processes}",
            f"{self.calls:,}",
            f"{self.kills}",
            f"{self.charged_nusd / NANO:.3f}",
            f"{self.lost_nusd / NANO:.6f}",
            f"{self.over_nusd / NANO:.6f}",
            f"{self.overshoot_calls:.2f} of {self.under_way}",
            f"{self.call_ms[0]:.2f} / {self.call_ms[1]:.2f}",
            f"{self.cpu_ms:.2f}",
            f"{self.per_second:,.0f}",
        )


HEAD = (
    "store", "processes", "calls", "kills", "charged $", "not counted $", "counted in excess $", "overshoot, calls",
    "ms p50 / p95", "CPU ms", "calls per second",
)  # fmt: skip


def measure(name: str, url: str, processes: int, calls: int, folder: Path, seed: int) -> Outcome:
    """Run the processes, kill some of them, and compare what was charged with what counts as spent."""
    call_ms, cpu_ms = asyncio.run(_timed(url))
    files = [folder / f"{name}-{index}" for index in range(processes)]
    chance = random.Random(seed)
    start_s, total, kills = time.perf_counter(), processes * calls, 0
    kill_at = sorted(chance.uniform(0.05, 0.9) * total for _ in range(KILLS))
    running = {index: _start(url, total, files[index], calls, seed + index) for index in range(processes)}
    while running:
        time.sleep(0.05)
        done = sum(_lines(file) for file in files)
        if kill_at and done >= kill_at[0]:
            kill_at.pop(0)
            index = chance.choice(list(running))
            running[index].send_signal(signal.SIGKILL)
            kills += 1
        for index, process in list(running.items()):
            if process.poll() is None:
                continue
            if process.returncode not in (0, -signal.SIGKILL):
                raise RuntimeError(f"process {index} ended with {process.returncode}")
            del running[index]
            if (left := calls - _lines(files[index])) > 0 and process.returncode:
                running[index] = _start(url, total, files[index], left, seed + 100 * kills + index)
    seconds = time.perf_counter() - start_s
    charged, refused = _charges(files)
    charged.append(charged[0] + charged[1])  # those of the team
    spent = asyncio.run(_spent(url, total))
    limits = [node.limits.day_nusd for node in nodes(total)]
    overs = [
        0.0,
        *(max(0, c - most) / (2 * HELD_NUSD) for c, most in zip(charged, limits, strict=True) if most is not None),
    ]
    return Outcome(
        store=name,
        processes=processes,
        calls=total,
        kills=kills,
        admitted=sum(_lines(file) for file in files) - refused,
        refused=refused,
        charged_nusd=sum(charged[:-1]),
        lost_nusd=max(0, *(c - s for c, s in zip(charged, spent, strict=True))),
        over_nusd=sum(s - c for c, s in list(zip(charged, spent, strict=True))[:-1]),
        overshoot_calls=max(overs),
        under_way=processes * AT_ONCE,
        per_second=total / seconds,
        call_ms=call_ms,
        cpu_ms=cpu_ms,
    )


def _start(url: str, total: int, file: Path, calls: int, seed: int) -> subprocess.Popen[bytes]:
    options = ["--worker", url, "--total", total, "--file", file, "--calls", calls, "--seed", seed]
    command = [sys.executable, "-m", "benchmarks.gateway_limits", *map(str, options)]
    return subprocess.Popen(command, cwd=ROOT)


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def _charges(files: Sequence[Path]) -> tuple[list[int], int]:
    charged, refused = [0] * len(SHARES), 0
    for file in files:
        for line in file.read_text(encoding="ascii").splitlines():
            number, kind, amount = line.split()
            charged[int(number)] += int(amount)
            refused += kind == "refused"
    return charged, refused


async def _spent(url: str, total: int) -> list[int]:
    """What counts as spent when the leases of the killed processes have ended."""
    store = open_store(url)
    later_s = time.time() + LEASE_S + 1
    found = [await store.usage(node.account, now_s=later_s) for node in nodes(total)]
    await store.aclose()
    assert [(usage.under_way, usage.month.held_nusd) for usage in found] == [(0, 0)] * len(found)
    return [usage.month.spent_nusd for usage in found]


async def _timed(url: str) -> tuple[tuple[float, float], float]:
    """Times of one admission and settlement in milliseconds: median, 95th percentile; processor time."""
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(url, 10**9, Path(folder) / "timed", 0)
    worker.teams = [()]
    worker.keys = [
        attrs.evolve(worker.keys[1], id="timed", limits=Limits(rate=100_000, concurrency=9, day_nusd=10**15))
    ]
    for _ in range(20):
        await worker.call()
    found, cpu_s = [], time.process_time()
    for _ in range(TIMED):
        start_s = time.perf_counter()
        booking = await worker.ledger.admit(worker.keys[0], "up/m", TOKENS, TOKENS)
        await booking.settle(cost_usd=0.001)
        found.append((time.perf_counter() - start_s) * 1_000)
    cpu_ms = (time.process_time() - cpu_s) * 1_000 / TIMED
    await worker.ledger.aclose()
    await worker.store.aclose()
    return (statistics.median(found), statistics.quantiles(found, n=20)[18]), cpu_ms


@contextlib.contextmanager
def stores(folder: Path) -> Iterator[list[tuple[str, str]]]:
    """Names and URLs of the stores, empty at first and removed afterwards."""
    import psycopg
    import redis

    mark = uuid.uuid4().hex[:12]
    with psycopg.connect(POSTGRES_URL, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA limits_{mark}".encode())
        client = redis.Redis.from_url(REDIS_URL)
        separator = "&" if "?" in POSTGRES_URL else "?"
        try:
            yield [
                ("PostgreSQL", f"{POSTGRES_URL}{separator}options=-csearch_path%3Dlimits_{mark}"),
                ("Redis", f"{REDIS_URL}?prefix=limits-{mark}"),
                ("SQLite", f"sqlite:{folder / 'gateway.db'}"),
            ]
        finally:
            connection.execute(f"DROP SCHEMA limits_{mark} CASCADE".encode())
            client.delete(*client.scan_iter(f"limits-{mark}*", count=1_000), "limits")
            client.close()


def main() -> None:
    """Measure, print, and write the page where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    for hidden in ("--worker", "--total", "--file"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        # Created within the loop, as the store belongs to it.
        async def work() -> None:
            worker = Worker(arguments.worker, int(arguments.total), Path(arguments.file), arguments.seed)
            await worker.run(arguments.calls)

        asyncio.run(work())
        return
    rows = [f"| {' | '.join(HEAD)} |", f"|---|{'--:|' * (len(HEAD) - 1)}"]
    print(*rows, sep="\n", flush=True)
    with tempfile.TemporaryDirectory() as folder, stores(Path(folder)) as found:
        for name, url in found:
            is_file = name == "SQLite"
            processes, calls = (PROCESSES // 2, arguments.calls // 5) if is_file else (PROCESSES, arguments.calls)
            outcome = measure(name, url, processes, calls, Path(folder), arguments.seed)
            rows.append(f"| {' | '.join(outcome.row())} |")
            print(rows[-1], flush=True)
    if arguments.write:
        write_between(PAGE, "measured", "\n".join(rows))


if __name__ == "__main__":
    main()
