"""Databases of version 0.1.0 open, keep their rows, and have the tables of a new database afterwards.

The dumps in ``tests/data/storage`` were made with that version: records of 2026-11-22, 12:00 in UTC.
"""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from helmdeck_core import RecordedStep
from helmdeck_gateway.stores import open_store
from helmdeck_gateway.stores.records import Period
from helmdeck_history.stores.databases import open_postgres, open_sqlite
from helmdeck_runs import RunState
from helmdeck_runs.engines.records import Records
from helmdeck_telemetry.traces import TraceSink
from tests.databases_support import postgres_schema

DUMPS = Path(__file__).parents[1] / "data" / "storage"
NOON_S = 1_795_348_800.0
KEEP_DAYS = 100_000.0


@pytest.fixture
def old(tmp_path):
    """A function that makes the file of a dump."""

    def make(name):
        path = tmp_path / f"{name}.db"
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.executescript((DUMPS / f"{name}.sql").read_text())
        return path

    return make


def tables(path):
    """The tables, indexes and triggers of a file."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall()
    return {(kind, name): " ".join((sql or "").split()) for kind, name, sql in rows}


def as_new(old_tables):
    """The same with the type that new files give to a double, which SQLite stores in the same way."""
    return {key: sql.replace(" REAL", " DOUBLE PRECISION") for key, sql in old_tables.items()}


@pytest.mark.parametrize("version", [2, 3])
def test_history_keeps_its_records_and_facts(old, tmp_path, version):
    path = old(f"history-{version}")
    store = open_sqlite(path, KEEP_DAYS)
    assert [record.id for record in store.plans("ada")] == ["record1", "record2", "record4"]
    (newest, *_), (fact,) = store.plans("ada"), store.facts("ada")
    assert newest.steps[0] == RecordedStep(1, "image.generate", "f" * 16, {"style": "photo"})
    assert (newest.time, fact.text, fact.tags) == (NOON_S - 3_600, "the logo is blue", ("brand",))
    weights = store.weights("ada", "a" * 16, (1, 2, 3), NOON_S)
    assert weights == pytest.approx(store.computed_weights("ada", "a" * 16, (1, 2, 3), NOON_S))
    assert set(weights) == {"blog.draft", "image.generate"}
    store.close()
    open_sqlite(tmp_path / "new.db", KEEP_DAYS).close()
    assert as_new(tables(path)) == as_new(tables(tmp_path / "new.db"))


def test_history_of_version_1_has_the_tables_of_a_new_one(old, tmp_path):
    path = tmp_path / "old.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript((DUMPS / "history-1.sql").read_text())
    store = open_sqlite(path, KEEP_DAYS)
    (record,) = store.plans("ada")
    assert record.steps == (RecordedStep(1, "blog.draft", "f"),)
    assert list(store.weights("ada", "a" * 16, (), NOON_S)) == ["blog.draft"]
    store.close()
    open_sqlite(tmp_path / "new.db", KEEP_DAYS).close()
    assert tables(path) == tables(tmp_path / "new.db")


def test_history_in_postgresql_keeps_plans_and_is_upgraded():
    with postgres_schema() as (url, connection, schema):
        connection.execute(f"SET search_path = {schema}")
        connection.execute((DUMPS / "history-2.postgresql.sql").read_text())
        store = open_postgres(url, KEEP_DAYS)
        assert store.plans("ada") == ()
        store.close()
        assert connection.execute("SELECT version FROM history_schema").fetchall() == [(3,)]


def test_gateway_keeps_documents_keys_and_accounts_and_has_the_tables_of_a_new_one(old, tmp_path):
    path = old("gateway-1")

    async def run():
        store = open_store(f"sqlite:{path}")
        try:
            assert await store.get("response", "r1", "ada") == b"\x00one"
            (key,) = await store.list_keys()
            assert (key.name, key.limits.rate, key.models) == ("ada", 60, ("fast",))
            expected = Period(spent_nusd=120, held_nusd=70, requests=2)
            usage = await store.usage("id-ada", now_s=NOON_S)
            assert (usage.day, usage.month, usage.under_way) == (expected, expected, 1)
            assert await store.settle(("id-ada",), "c2", 60)
            assert (await store.usage("id-ada", now_s=NOON_S)).day.spent_nusd == 180
        finally:
            await store.aclose()

    async def make(path):
        store = open_store(f"sqlite:{path}")
        await store.list_keys()
        await store.aclose()

    asyncio.run(run())
    asyncio.run(make(tmp_path / "new.db"))
    assert as_new(tables(path)) == as_new(tables(tmp_path / "new.db"))


def test_traces_are_kept(old):
    path = old("traces-1")
    sink = TraceSink(str(path))
    (trace,) = sink.traces()
    assert (trace.call_id, trace.time, trace.model) == ("call1", NOON_S, "acme/small")
    assert sink.call_trace("call1") == trace
    sink.close()


@pytest.mark.parametrize("name", ["runs-0", "history-3"])
def test_records_of_runs_are_kept_also_in_the_file_of_the_history(old, name):
    path = old(name)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        if name != "runs-0":
            connection.executescript((DUMPS / "runs-0.sql").read_text().partition("PRAGMA user_version")[0])

    async def run():
        records = Records(f"sqlite:{path}", KEEP_DAYS)
        record = await records.record("run1")
        await records.end("run1", RunState.SUCCEEDED, {"text": "again"}, None)
        found = await records.records("", "", 10)
        records.close()
        return record, found

    record, (again,) = asyncio.run(run())
    assert (record.state, record.output, [step.result for step in record.steps]) == (
        RunState.SUCCEEDED,
        {"text": "done"},
        [{"text": "first"}],
    )
    assert again.output == {"text": "again"}
    if name != "runs-0":
        store = open_sqlite(path, KEEP_DAYS)
        assert len(store.plans("ada")) == 3
        store.close()
