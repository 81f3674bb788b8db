"""Durable runs: workers that are killed lose nothing, and no recorded step runs twice."""

import asyncio
import os
import sys
import uuid

import pytest

from benchmarks.runs.durability import trial
from helmdeck_core import ConfigError
from helmdeck_plugins.run_engines import durable_host
from helmdeck_run_kit import runs_of
from tests.plugins.pipelines_support import CHAIN, deck_of

pytest.importorskip("dbos")
pytest.importorskip("aiosqlite")

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
    outcome = asyncio.run(trial("test", url, tmp_path, runs=4, kills=1, step_s=0.5, pause_s=(1.4, 1.6), timeout_s=60))
    assert (outcome.kills, outcome.finished, outcome.right, outcome.steps) == (1, 4, 4, 20)
    assert outcome.repeated_done == 0


def test_a_process_has_one_durable_database(tmp_path):
    with deck_of({"chain": CHAIN}, engine="dbos", url=f"sqlite:{tmp_path / 'one.db'}") as one:
        assert one.run("chain", {"x": 1})["outputs"]["sum"] == 5
        with deck_of({"chain": CHAIN}, engine="dbos", url=f"sqlite:{tmp_path / 'one.db'}") as same:
            assert same.run("chain", {"x": 2})["outputs"]["sum"] == 6
        other = deck_of({"chain": CHAIN}, engine="dbos", url=f"sqlite:{tmp_path / 'two.db'}")
        with other, pytest.raises(durable_host.HostInUseError, match="one per process"):
            other.run("chain", {"x": 3})
        assert len(asyncio.run(runs_of(one).records())) == 2


def test_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dbos", None)
    with deck_of({"chain": CHAIN}, engine="dbos") as deck, pytest.raises(ConfigError, match=r"helmdeck\[dbos\]"):
        deck.run("chain", {"x": 1})
