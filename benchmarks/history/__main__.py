"""History stores under load: lost and half records, and the time that a history adds to a plan.

::

    python -m benchmarks.history                 # about three minutes; starts servers of its own
    python -m benchmarks.history --write docs/benchmarks/history.md
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import random
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.history.servers import Restart, postgres_server, redis_server
from benchmarks.pages import write_between
from helmdeck_core import Helmdeck, HistorySetup, PlanRecord, PluginError, RecordedStep, intent_sha
from helmdeck_history import access, writer
from helmdeck_history.history import helmdeck_history_stores
from helmdeck_history.service import LearningHistory
from helmdeck_history.store_types import MAX_SAME_PART, MAX_STEPS
from helmdeck_history.stores.databases import open_sqlite

FORK = multiprocessing.get_context("fork")
WORDS = "draft post image table audio report letter photo mail chart boat tide launch brief note page".split()
FREE = "openrouter/openrouter/free"
ROWS = 10_000
TURNS = 5
_AT_ONCE = 20_000
DIGESTS = (
    (
        "INSERT INTO history_part_digest SELECT caller, part, group_concat(intent_sha || ':' || size, ' '), MIN(time) FROM (SELECT *, "
        "row_number() OVER (PARTITION BY caller, part ORDER BY time DESC) AS place FROM history_part) "
        f"WHERE place <= {MAX_SAME_PART} GROUP BY caller, part"
    ),
    (
        "INSERT INTO history_intent_digest SELECT caller, intent_sha, json_group_object(tool, weight), MIN(oldest) FROM (SELECT caller, "
        "intent_sha, tool, SUM(weight) AS weight, MIN(time) AS oldest FROM (SELECT *, "
        "row_number() OVER (PARTITION BY caller, intent_sha ORDER BY time DESC) AS place FROM history_step) "
        f"WHERE place <= {MAX_STEPS} GROUP BY caller, intent_sha, tool) GROUP BY caller, intent_sha"
    ),
)
"""Fill the digests of all requests as the triggers of the store do for one."""


def open_history(url: str) -> LearningHistory:
    """A history without a deck, which retries soon."""
    for module in (writer, access):
        vars(module)["RETRY_S"] = 0.2
    scheme, _, target = url.partition(":")
    store = next(each for each in helmdeck_history_stores() if each.name == scheme)
    return LearningHistory(
        HistorySetup(
            is_enabled=True,
            keep_days=30.0,
            secret=lambda: "benchmark",
            open_store=lambda: store.open(target, 30.0),
            fault=lambda exc: PluginError("history", "helmdeck_history_stores", f"{type(exc).__name__}: {exc}"),
            report=report,
            catalog=lambda: (_ for _ in ()).throw(LookupError("no catalog")),
        )
    )


def report(_: str, failure: PluginError) -> None:
    """Print lock errors; a server that is restarted is expected to fail."""
    if "lock" in failure.detail:
        print(f"  reported: {failure.detail[:120]}")


def make_record(number: int, text: str, caller: str = "ada") -> PlanRecord:
    """A record of a plan with two steps."""
    steps = (RecordedStep(1, f"tool.{number % 40}", "x"), RecordedStep(2, f"tool.{number % 7}", "y"))
    return PlanRecord(
        caller=caller, intent_sha=intent_sha(text), outcome="planned", model=f"{os.getpid()}-{number}", duration_s=1.0,
        time=time.time(), steps=steps,
    )  # fmt: skip


def sentence(rng: random.Random) -> str:
    """A request of six words."""
    return " ".join(rng.choices(WORDS, k=6))


def write_many(url: str, count: int) -> None:
    """Write records as decks do."""
    history, rng = open_history(url), random.Random(os.getpid())
    for number in range(count):
        text = sentence(rng)
        history.remember(make_record(number, text), text)
        if number % 500 == 499:
            while not history.flush(1.0):
                pass
    while not history.flush(1.0):
        pass
    history.close()


def load(url: str, writers: int, count: int, restart: Restart | None = None) -> tuple[int, int, float]:
    """Expected and found records, and seconds."""
    start = time.perf_counter()
    processes = [FORK.Process(target=write_many, args=(url, count)) for _ in range(writers)]
    for process in processes:
        process.start()
    if restart is not None:
        reader = open_history(url)
        while len(reader.records("ada", limit=writers * count)) < writers * count // 4:
            pass
        restart()
    for process in processes:
        process.join()
    took_s = time.perf_counter() - start
    history = open_history(url)
    while (records := _read(history)) is None:  # a server that was just restarted loads its data first
        pass
    history.close()
    found = len({record.model for record in records})
    return writers * count, found, took_s


def _read(history: LearningHistory) -> Sequence[PlanRecord] | None:
    try:
        return history.records("ada", limit=10**6)
    except PluginError:
        return None


def write_batches(path: str, started: Any) -> None:
    """Write batches of five until the process is killed."""
    store, number = open_sqlite(Path(path), 30.0), 0
    while True:
        store.add_all([make_record(number, "draft a post") for _ in range(5)])
        number += 1
        if number == 3:
            started.set()


def kill(rounds: int) -> tuple[int, int, int]:
    """Half batches, corrupt files and rows after ``rounds`` killed writers of one file."""
    half = corrupt = rows = 0
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/history.db"
        for number in range(rounds):
            started = FORK.Event()
            process = FORK.Process(target=write_batches, args=(path, started), daemon=True)
            process.start()
            started.wait(30)
            time.sleep(0.003 * (number % 7))
            os.kill(process.pid or 0, signal.SIGKILL)
            process.join()
            store = open_sqlite(Path(path), 30.0)
            with store.database.session(writes=False) as session:
                (rows,) = session.rows("SELECT COUNT(*) FROM plan_history")[0]
                (steps,) = session.rows("SELECT COUNT(*) FROM history_step")[0]
                corrupt += session.rows("PRAGMA integrity_check")[0][0] != "ok"
            half += bool(rows % 5) or steps != 2 * rows
            store.close()
    return half, corrupt, rows


def times(most: int) -> str:
    """Microseconds that a history adds, at ``ROWS`` records of the caller, and at ``most`` of them."""
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HELMDECK_DATA_DIR"] = folder
        lines = [
            "| records | catalog | write | prior | selection | prior / selection |",
            "|--:|--:|--:|--:|--:|--:|",
        ]
        for size, rows in ((0, ROWS), (1_000, ROWS), (10_000, ROWS), (0, most)):
            source = Path(folder) / f"{size}.json"
            packs = [{"name": f"{rng.choice(WORDS)}.tool{n}", "description": sentence(rng)} for n in range(size)]
            if size:
                import json

                source.write_text(json.dumps({"packs": packs}), encoding="utf-8")
            deck = Helmdeck(
                environ={}, catalog_sources=str(source) if size else None,
                overrides={"history.url": f"sqlite:{folder}/{size}-{rows}.db"},
            )  # fmt: skip
            with deck:
                lines.append(_times(deck, rng, rows))
                print(lines[-1], flush=True)
    return "\n".join(lines)


def _times(deck: Helmdeck, rng: random.Random, rows: int) -> str:
    history, ids = deck.history, [entry.id for entry in deck.catalog.entries]
    _fill(history, rows, ids, rng)
    asked = [sentence(rng) for _ in range(200)]
    budget = deck.budget(FREE).budget
    other = make_record(1, "x", "bob")
    (written,) = medians_us(asked, lambda text: history.remember(other, text))
    history.flush(60.0)
    prior, chosen = medians_us(
        asked,
        lambda text: history.learned("ada", text),
        lambda text: deck._engine.library.select(budget, text),  # noqa: SLF001
    )
    return f"| {rows:,} | {len(ids):,} | {written:.1f} µs | {prior:.0f} µs | {chosen:.0f} µs | {100 * prior / chosen:.0f} % |"


def _fill(history: Any, rows: int, ids: Sequence[str], rng: random.Random) -> None:
    """Add records of a caller whose requests are all planned twice.

    The indexes are created, and the digests filled, once after all records: to update them with each record takes most of the time.
    """
    texts = [f"{sentence(rng)} number {number}" for number in range(rows // 2)]
    store = history._access._opened()  # noqa: SLF001
    with store.database.session() as session:
        session.rows("PRAGMA cache_size = -1000000")  # KiB; of the connection, which the pool gives out again
        derived = session.rows(
            "SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
        )
        for kind, name, _ in derived:
            session.change(f"DROP {kind} {name}")
    for start in range(0, rows, _AT_ONCE):
        records = []
        for number in range(start, min(start + _AT_ONCE, rows)):
            text = texts[number % len(texts)]
            steps = (RecordedStep(1, rng.choice(ids), "x"), RecordedStep(2, rng.choice(ids), "y"))
            records.append(
                PlanRecord(
                    caller="ada", intent_sha=intent_sha(text), outcome="planned", model="m", duration_s=1.0,
                    time=time.time() - rng.random() * 2_000_000, steps=steps, sketch=history._access.sketch(text),  # noqa: SLF001
                )
            )  # fmt: skip
        store.add_all(records)
    with store.database.session() as session:
        for kind in ("index", "trigger"):
            for statement in DIGESTS if kind == "trigger" else ():
                session.change(statement)
            for sql in (sql for each, _, sql in derived if each == kind):
                session.change(sql)
    now = time.time()
    for text in (texts[0], sentence(rng)):
        arguments = ("ada", intent_sha(text), history._access.sketch(text), now)  # noqa: SLF001
        read, computed = store.weights(*arguments), store.computed_weights(*arguments)
        assert {tool: round(weight, 9) for tool, weight in read.items()} == {
            tool: round(weight, 9) for tool, weight in computed.items()
        }, text
    history._access.close()  # noqa: SLF001  # its next connection has the usual cache


def medians_us(texts: Sequence[str], *uses: Callable[[str], object]) -> list[float]:
    """Median microseconds of CPU time of this thread, of the least of a few rounds for each text.

    The uses take turns, each with all texts, so that other work of the machine affects all of them.
    """
    least = [[math.inf] * len(texts) for _ in uses]
    for _ in range(TURNS):
        for found, use in zip(least, uses, strict=True):
            for place, text in enumerate(texts):
                start = time.thread_time()
                use(text)
                found[place] = min(found[place], time.thread_time() - start)
    return [1e6 * statistics.median(found) for found in least]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write the page where that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=Path, metavar="PAGE.md", help="replace the tables of a page")
    parser.add_argument(
        "--count", type=int, default=5_000, help="records of each of two SQLite writers; a fifth for the others"
    )
    parser.add_argument("--records", type=int, default=260_000, help="records of the largest history, 260,000")
    parser.add_argument("--kills", type=int, default=50, help="killed writers, 50")
    arguments = parser.parse_args(argv)
    rows = ["| store | writers | records | found | records per second | |", "|---|--:|--:|--:|--:|---|"]

    def row(name: str, writers: int, result: tuple[int, int, float], remark: str) -> None:
        expected, found, took_s = result
        rows.append(f"| {name} | {writers} | {expected:,} | {found:,} | {found / took_s:,.0f} | {remark} |")
        print(rows[-1])

    few = arguments.count // 5
    with tempfile.TemporaryDirectory() as folder:
        row("SQLite", 2, load(f"sqlite:{folder}/a.db", 2, arguments.count), "one file")
        row("SQLite", 8, load(f"sqlite:{folder}/b.db", 8, few), "one file")
    with postgres_server() as server:
        if server:
            row("PostgreSQL", 8, load(server[0], 8, few, server[1]), "server restarted meanwhile")
    with redis_server() as server:
        if server:
            row("Redis", 8, load(server[0], 8, few, server[1]), "server restarted meanwhile, `appendfsync always`")
    half, corrupt, count = kill(arguments.kills)
    rows.append("")
    rows.append(
        f"{arguments.kills} writers of one SQLite file were killed with SIGKILL: {half} half batches, {corrupt} corrupt "
        f"files, {count:,} rows."
    )
    found = times(arguments.records)
    print("\n".join([*rows, "", found]))
    if arguments.write:
        write_between(arguments.write, "load", "\n".join(rows))
        write_between(arguments.write, "times", found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
