"""Databases of the release before, with tables of version 1, become those of today and keep their keys and spend."""

import asyncio
import contextlib
import sqlite3
import time

import pytest

from helmdeck_gateway.stores import open_store
from helmdeck_gateway.stores.contract import make_key
from helmdeck_gateway.stores.records import Admission, AuditRecord, Limits, Node, Open, TeamRecord, periods
from tests.databases_support import postgres_schema

TABLES = (
    """CREATE TABLE gateway_documents (
        id TEXT PRIMARY KEY, kind TEXT NOT NULL, stored REAL NOT NULL, expires REAL NOT NULL, data {blob} NOT NULL)""",
    """CREATE TABLE gateway_keys (
        name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, record TEXT NOT NULL)""",
    "CREATE TABLE gateway_accounts (account TEXT PRIMARY KEY, under_way INTEGER NOT NULL, count BIGINT NOT NULL)",
    """CREATE TABLE gateway_calls (
        account TEXT NOT NULL, call TEXT NOT NULL, until_s DOUBLE PRECISION NOT NULL, held BIGINT NOT NULL, day TEXT NOT NULL,
        month TEXT NOT NULL, is_open {boolean} NOT NULL, PRIMARY KEY (account, call))""",
    """CREATE TABLE gateway_starts (
        account TEXT NOT NULL, place BIGINT NOT NULL, start_s DOUBLE PRECISION NOT NULL, PRIMARY KEY (account, place))""",
    """CREATE TABLE gateway_spend (
        account TEXT NOT NULL, period TEXT NOT NULL, spent BIGINT NOT NULL DEFAULT 0, held BIGINT NOT NULL DEFAULT 0,
        requests BIGINT NOT NULL DEFAULT 0, refused BIGINT NOT NULL DEFAULT 0, unpriced BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (account, period))""",
)
USAGE = """CREATE FUNCTION gateway_usage(p_account TEXT, p_now DOUBLE PRECISION) RETURNS TABLE (o_under_way INTEGER) AS $$
    BEGIN RETURN; END $$ LANGUAGE plpgsql"""


def statements(**types):
    """The statements of a database with a key that has spent 5, and a call under way that holds 7."""
    key, day, month = make_key(), *periods(time.time())
    yield from (table.format(**types) for table in TABLES)
    yield f"INSERT INTO gateway_keys VALUES ('{key.name}', '{key.digest}', 1, '{key.to_json()}')"
    yield f"INSERT INTO gateway_accounts VALUES ('{key.id}', 1, 9)"
    yield f"INSERT INTO gateway_calls VALUES ('{key.id}', 'c1', 1e12, 7, '{day}', '{month}', {types['true']})"
    for period in (day, month):
        yield f"INSERT INTO gateway_spend VALUES ('{key.id}', '{period}', 5, 7, 9, 0, 0)"


@pytest.fixture(params=["sqlite", "postgresql"])
def old_url(request, tmp_path):
    if request.param == "sqlite":
        connection = sqlite3.connect(tmp_path / "g.db")
        for statement in statements(blob="BLOB", boolean="INTEGER", true="1"):
            connection.execute(statement)
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
        connection.close()
        yield f"sqlite:{tmp_path / 'g.db'}"
        return
    with postgres_schema() as (url, connection, schema):
        connection.execute(f"SET search_path = {schema}")
        for statement in (*statements(blob="BYTEA", boolean="BOOLEAN", true="TRUE"), USAGE):
            connection.execute(statement)
        connection.execute("CREATE TABLE gateway_schema (version INTEGER NOT NULL)")
        connection.execute("INSERT INTO gateway_schema VALUES (1)")
        yield url


def test_database_of_version_1_keeps_its_keys_and_its_calls_under_way(old_url):
    async def run():
        store, key = open_store(old_url), make_key()
        try:
            assert await store.find_key(key.digest) == key
            assert await store.settle([key.id], "c1", 6)
            usage = await store.usage(key.id)
            assert (usage.day.spent_nusd, usage.day.held_nusd, usage.under_way, usage.tokens) == (11, 0, 0, 0)
            team = TeamRecord(name="acme", id="t", limits=Limits(tokens=5))
            assert await store.save_team(team)
            assert await store.admit([key.node, team.node], Open("c2", 1, 4), 60) == Admission()
            assert await store.admit([Node(key.id, Limits(day_nusd=20))], Open("c3"), 60) == Admission(8)
        finally:
            await store.aclose()

    asyncio.run(run())


def test_database_refuses_to_change_or_remove_entries_of_the_audit_log(tmp_path):
    async def run(url, execute):
        store = open_store(url)
        entry = AuditRecord(number=0, time_s=1.0, actor="ann", source="cli", action="key created", subject="x").sealed(
            None
        )
        try:
            assert await store.add_audit(entry)
            for statement in ("UPDATE gateway_audit SET record = 'x'", "DELETE FROM gateway_audit"):
                with pytest.raises(Exception, match="the audit log is not changed"):
                    execute(statement)
            assert list(await store.list_audit(2)) == [entry]
        finally:
            await store.aclose()

    path = tmp_path / "audit.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        asyncio.run(run(f"sqlite:{path}", connection.execute))
    with postgres_schema() as (url, connection, schema):
        connection.execute(f"SET search_path = {schema}")
        asyncio.run(run(url, connection.execute))
