"""Durable runs: workers that are killed lose nothing, and no recorded step runs twice."""

import asyncio
import contextlib
import io
import logging
import os
import subprocess
import sys
import uuid
from importlib.util import find_spec
from pathlib import Path

import attrs
import pytest

from benchmarks.runs.durability import trial
from helmdeck_core import ConfigError
from helmdeck_runs import RecordsError, Run, runs_of
from helmdeck_runs.engines.records import executor_id
from tests.helmdeck_runs.pipelines_support import CHAIN, TEXT, deck_of, pack_of

# Importing the library takes half a second, which only the worker that runs these tests needs to spend.
pytestmark = pytest.mark.skipif(
    not (find_spec("dbos") and find_spec("aiosqlite")), reason="the library is not installed"
)

POSTGRES_URL = os.environ.get("HELMDECK_TEST_POSTGRES_URL", "postgresql://postgres@localhost:5432/postgres")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'runs.db'}"
        return
    psycopg = pytest.importorskip("psycopg")
    try:
        connection = psycopg.connect(POSTGRES_URL, autocommit=True, connect_timeout=2)
    except psycopg.OperationalError as exc:
        pytest.skip(f"no PostgreSQL at HELMDECK_TEST_POSTGRES_URL or its default: {exc}")
    name = f"runs_{uuid.uuid4().hex[:12]}"
    connection.execute(f"CREATE DATABASE {name}")
    base, _, query = POSTGRES_URL.partition("?")
    yield f"{base.rpartition('/')[0]}/{name}{query and '?'}{query}"
    connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    connection.close()


def test_killed_workers_lose_no_run_and_repeat_no_recorded_step(url, tmp_path):
    outcome = asyncio.run(trial("test", url, tmp_path, runs=3, kills=1, workers=1, step_s=0.4, pause_s=(1.6, 1.8)))
    assert (outcome.kills, outcome.finished, outcome.right, outcome.steps) == (1, 3, 3, 15)
    assert outcome.repeated_done == 0


STEPS = [
    {"id": "one", "pack": "test.note", "with": {"text": "one"}},
    {"id": "two", "pack": "test.note", "with": {"text": "two"}, "needs": ["one"]},
]

KILLED = """
import asyncio, sys
from tests.helmdeck_runs.pipelines_support import TEXT, deck_of, pack_of
from tests.helmdeck_runs.test_durable_runs import STEPS

async def note(context, arguments):
    print(arguments["text"], flush=True)
    if arguments["text"] == "two":
        await asyncio.Event().wait()
    return arguments

deck_of({"p": {"steps": STEPS}}, pack_of("test.note", note, {"text": TEXT}), engine="dbos", url=sys.argv[1]).run("p", {})
"""


def test_the_next_call_continues_the_run_of_a_killed_process(tmp_path, monkeypatch):
    monkeypatch.setattr("helmdeck_runs.engines.durable_host.SILENT_AFTER_S", 0.0)
    url, seen = f"sqlite:{tmp_path / 'runs.db'}", []
    root = Path(__file__).parents[2]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (root, root / "plugins")))}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, url], stdout=subprocess.PIPE, text=True, env=environ
    ) as killed:
        assert [killed.stdout.readline(), killed.stdout.readline()] == ["one\n", "two\n"]
        killed.kill()

    async def note(_, arguments):
        seen.append(arguments["text"])
        return dict(arguments)

    with deck_of({"p": {"steps": STEPS}}, pack_of("test.note", note, {"text": TEXT}), engine="dbos", url=url) as deck:
        messages = []
        result = deck.run("p", {}, progress=messages.append)
    assert seen == ["two"]
    assert any("continuing the run of the process" in str(each) for each in messages), "the wait is reported"
    assert result["coalesced"]
    assert result["outputs"] == {"one": {"text": "one"}, "two": {"text": "two"}}


def test_a_process_has_one_durable_database(tmp_path):
    from helmdeck_runs.engines.durable_host import HostInUseError

    with deck_of({"chain": CHAIN}, engine="dbos", url=f"sqlite:{tmp_path / 'one.db'}") as one:
        assert one.run("chain", {"x": 1})["outputs"]["sum"] == 5
        with deck_of({"chain": CHAIN}, engine="dbos", url=f"sqlite:{tmp_path / 'one.db'}") as same:
            assert same.run("chain", {"x": 2})["outputs"]["sum"] == 6
        other = deck_of({"chain": CHAIN}, engine="dbos", url=f"sqlite:{tmp_path / 'two.db'}")
        with other, pytest.raises(HostInUseError, match="one per process"):
            other.run("chain", {"x": 3})
        assert len(asyncio.run(runs_of(one).records())) == 2


def test_a_database_that_cannot_be_reached_is_named_without_its_password():
    pytest.importorskip("psycopg")
    url = "postgresql://ada:s3cr3t-pass@127.0.0.1:1/runs"
    with deck_of({"chain": CHAIN}, url=url, engine="dbos") as deck, pytest.raises(RecordsError) as caught:
        deck.run("chain", {"x": 1})
    assert "127.0.0.1" in str(caught.value)
    assert "s3cr3t" not in repr(caught.value) + str(caught.value)


def test_old_records_are_deleted(tmp_path):
    with deck_of({"chain": CHAIN}, engine="dbos", url=f"sqlite:{tmp_path / 'one.db'}") as deck:
        result = deck.run("chain", {"x": 1})
        assert asyncio.run(runs_of(deck).record(result["run_id"])) is not None
        host = runs_of(deck)._host
        host._config = attrs.evolve(host._config, keep_days=-1.0)  # as if a day had passed
        host.start(host.purge()).result(60)
        assert asyncio.run(runs_of(deck).records()) == []


def test_old_records_are_deleted_without_a_worker(tmp_path):
    url = f"sqlite:{tmp_path / 'one.db'}"
    with deck_of({"chain": CHAIN}, engine="dbos", url=url) as deck:
        deck.run("chain", {"x": 1})

    async def until_deleted(runs):
        async with asyncio.timeout(60):
            while await runs.records():
                pass

    with deck_of({"chain": CHAIN}, engine="dbos", url=url) as later:
        host = runs_of(later)._host
        host._config = attrs.evolve(host._config, keep_days=-1.0)  # as if a day had passed
        asyncio.run(until_deleted(runs_of(later)))


def test_a_database_that_is_there_later_is_used(tmp_path):
    folder = tmp_path / "data"
    folder.write_text("")
    with deck_of({"chain": CHAIN}, engine="dbos", url=f"sqlite:{folder / 'runs.db'}") as deck:
        with pytest.raises(RecordsError):
            deck.run("chain", {"x": 1})
        folder.unlink()
        assert deck.run("chain", {"x": 1})["outputs"]["sum"] == 5


def test_a_process_that_was_taken_for_ended_counts_as_alive_again_after_its_next_heartbeat(tmp_path):
    with deck_of({"chain": CHAIN}, engine="dbos", url=f"sqlite:{tmp_path / 'runs.db'}") as deck:
        deck.run("chain", {"x": 1})
        host = runs_of(deck)._host
        # As a worker does after it queued the runs of the process again.
        host.start(host._change("DELETE FROM helmdeck_executors")).result(60)
        host.start(host.beat()).result(60)
        rows = host._database.submit(lambda session: session.rows("SELECT id FROM helmdeck_executors")).result(60)
    assert rows == [(executor_id(),)]


def test_a_list_reads_about_as_many_records_as_it_returns(tmp_path, monkeypatch):
    import dbos

    sizes, read = [], dbos.DBOS.list_workflows_async

    async def spied(**options):
        sizes.append(options["limit"])
        return await read(**options)

    async def check(runs, expected):
        for _ in range(4):
            await runs.execute(Run(kind="unknown", name="x"))
        monkeypatch.setattr(dbos.DBOS, "list_workflows_async", spied)
        assert [each.run.id for each in await runs.records(kind="pipeline", limit=1)] == [expected]
        assert len(await runs.records(limit=2)) == 2

    with deck_of({"chain": CHAIN}, engine="dbos", url=f"sqlite:{tmp_path / 'runs.db'}") as deck:
        result = deck.run("chain", {"x": 1})
        asyncio.run(check(runs_of(deck), result["run_id"]))
    assert sizes == [1, 2, 4, 2]


def test_errors_of_dbos_are_written_to_the_current_standard_error(tmp_path):
    former, current, log = io.StringIO(), io.StringIO(), logging.getLogger("dbos")
    with (
        contextlib.redirect_stderr(former),
        deck_of({"c": CHAIN}, engine="dbos", url=f"sqlite:{tmp_path}/a.db") as deck,
    ):
        deck.run("c", {"x": 1})
    former.close()
    with contextlib.redirect_stderr(current):
        log.error("the database is gone")
    assert current.getvalue() == "the database is gone\n"


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dbos", None)
    with deck_of({"chain": CHAIN}, engine="dbos") as deck, pytest.raises(ConfigError, match=r"helmdeck\[dbos\]"):
        deck.run("chain", {"x": 1})
