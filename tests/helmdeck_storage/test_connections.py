"""Pools, drivers, and errors that contain no secret."""

import asyncio
import contextlib
import multiprocessing
import subprocess
import sys
import threading

import pytest

from helmdeck_storage import (
    AsyncPostgresDatabase,
    AsyncRedisServer,
    NewerSchemaError,
    PostgresDatabase,
    PurgeSchedule,
    RedisServer,
    SqliteDatabase,
    StorageError,
    open_database,
)
from helmdeck_storage import pool as pool_module
from helmdeck_storage.contract import LEDGER
from helmdeck_storage.errors import failure
from helmdeck_storage.pool import ConnectionPool
from tests.databases_support import postgres_schema, redis_prefix


class Connection:
    def __init__(self):
        self.is_closed = False

    def close(self):
        self.is_closed = True


def test_idle_connections_are_reused_and_surplus_ones_closed():
    pool = ConnectionPool(Connection, max_idle=2)
    taken = [pool.take() for _ in range(3)]
    assert [is_new for _, is_new in taken] == [True, True, True]
    for connection, _ in taken:
        pool.put(connection)
    assert [connection.is_closed for connection, _ in taken] == [False, False, True]
    assert pool.take() == (taken[1][0], False)
    pool.close()
    assert taken[0][0].is_closed and not taken[1][0].is_closed


def test_limit_holds_until_a_connection_is_given_back(monkeypatch):
    monkeypatch.setattr(pool_module, "WAIT_S", 0.0)
    pool = ConnectionPool(Connection, limit=2)
    first, second = pool.take()[0], pool.take()[0]
    with pytest.raises(StorageError, match="all 2 connections to the store are in use"):
        pool.take()
    pool.discard(first)
    assert pool.take()[1]
    pool.put(second)
    assert pool.take() == (second, False)


def test_failed_connection_does_not_count_against_the_limit(monkeypatch):
    monkeypatch.setattr(pool_module, "WAIT_S", 0.0)
    pool = ConnectionPool(lambda: 1 / 0, limit=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            pool.take()


def test_callers_beyond_the_limit_wait(monkeypatch):
    monkeypatch.setattr(pool_module, "WAIT_S", 60.0)
    pool, found = ConnectionPool(Connection, limit=1), []
    connection, _ = pool.take()
    thread = threading.Thread(target=lambda: found.append(pool.take()))
    thread.start()
    pool.put(connection)
    thread.join()
    assert found == [(connection, False)]


def test_forked_process_uses_and_closes_no_connection_of_its_parent():
    pool = ConnectionPool(Connection)
    inherited, _ = pool.take()
    pool.put(inherited)

    def use():
        connection, is_new = pool.take()
        pool.put(connection)
        pool.close()
        assert is_new and connection.is_closed and not inherited.is_closed

    process = multiprocessing.get_context("fork").Process(target=use)
    process.start()
    process.join()
    assert process.exitcode == 0
    assert pool.take() == (inherited, False)


def test_message_of_a_driver_is_shown_without_the_password():
    exc = RuntimeError("cannot reach redis://ada:Pa55w0rd@host, user ada, password Pa55w0rd")
    shown = str(failure("the store", exc, "redis://ada:Pa55w0rd@host"))
    assert shown.startswith("the store failed: RuntimeError: cannot reach redis://")
    assert "Pa55" not in shown


def opened(url):
    if url.startswith("redis"):
        return RedisServer(url, "ledger", "p").check_version(1)
    return PostgresDatabase(url, LEDGER).open()


async def opened_async(url):
    if url.startswith("redis"):
        server = AsyncRedisServer(url, "ledger", "p")
        async with server.errors():
            await server.client.get("x")
    else:
        await AsyncPostgresDatabase(url, LEDGER).rows("SELECT 1")


@pytest.mark.parametrize("open_url", [opened, lambda url: asyncio.run(opened_async(url))], ids=["sync", "async"])
@pytest.mark.parametrize("scheme", ["postgresql", "redis"])
def test_server_that_does_not_answer_is_an_error_without_the_password(open_url, scheme):
    with pytest.raises(StorageError, match=r"the ledger store in (PostgreSQL|Redis) failed: \w+Error") as caught:
        open_url(f"{scheme}://ada:Pa55w0rd@127.0.0.1:9/0")
    assert "Pa55" not in f"{caught.value}{caught.value!r}{caught.value.__cause__!r}"


@pytest.mark.parametrize(("url", "extra"), [("postgresql://localhost/x", "postgres"), ("postgresql:", "postgres")])
def test_missing_driver_names_the_extra(monkeypatch, tmp_path, url, extra):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(StorageError, match=rf"pip install 'helmdeck\[{extra}\]'"):
        open_database(url, LEDGER, default_file=tmp_path / "x.db")


def test_url_selects_the_database(tmp_path):
    default = tmp_path / "default.db"
    found = [open_database(url, LEDGER, default_file=default) for url in ("sqlite:", "sqlite:x.db", "postgresql://h/d")]
    assert [type(each) for each in found] == [SqliteDatabase, SqliteDatabase, PostgresDatabase]
    assert found[0].path == default and str(found[1].path) == "x.db"


def test_async_postgres_survives_the_end_of_its_connections():
    with postgres_schema() as (url, connection, schema):
        url = f"{url}&application_name={schema}"
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"

        async def run():
            database = AsyncPostgresDatabase(url, LEDGER)
            try:
                await database.rows("INSERT INTO ledger_entries VALUES (?, ?, 0)", ("ada", "one"))
                assert connection.execute(ended, (schema,)).fetchall()
                rows = await database.rows("SELECT entry FROM ledger_entries WHERE owner = ?", ("ada",))
                await database.aclose()
                return rows, await database.rows("SELECT entry FROM ledger_entries")
            finally:
                await database.aclose()

        assert asyncio.run(run()) == ([("one",)], [("one",)])


def test_async_redis_survives_the_end_of_its_connections():
    import redis

    with redis_prefix() as url:
        name = url.rpartition("=")[2]

        async def run():
            server = AsyncRedisServer(f"{url}&client_name={name}", "ledger", "p")
            await server.client.set(f"{server.prefix}:x", b"\xff")
            with redis.Redis.from_url(url.partition("?")[0]) as client:
                for each in client.client_list():
                    if each["name"] == name:
                        client.client_kill_filter(_id=each["id"])
            async with server.errors():
                found = await server.client.get(f"{server.prefix}:x")
            await server.aclose()
            return found

        assert asyncio.run(run()) == b"\xff"


def test_requests_beyond_the_connections_to_redis_wait():
    async def increment(server):
        async with server.errors():
            await server.client.incr(f"{server.prefix}:x")

    with redis_prefix() as url:

        async def run():
            server = AsyncRedisServer(url, "ledger", "p")
            try:
                await asyncio.gather(*(increment(server) for _ in range(500)))
                return await server.client.get(f"{server.prefix}:x")
            finally:
                await server.aclose()

        assert asyncio.run(run()) == b"500"


def test_keys_of_a_newer_release_are_refused():
    with redis_prefix() as url:
        with contextlib.closing(RedisServer(url, "ledger", "p")) as server:
            server.check_version(2)
        with (
            contextlib.closing(RedisServer(url, "ledger", "p")) as server,
            pytest.raises(
                NewerSchemaError, match=r"version 2, and this release knows versions up to 1; .*another prefix"
            ),
        ):
            server.check_version(1)


def test_first_write_and_every_fiftieth_after_it_purge():
    schedule = PurgeSchedule()
    assert [number for number in range(120) if schedule.is_due()] == [0, 50, 100]


@pytest.mark.parametrize(
    ("use", "absent"),
    [
        ("pass", ("sqlite3", "psycopg", "redis")),
        ("helmdeck_storage.Schema, helmdeck_storage.GroupCommit", ("sqlite3", "psycopg", "redis")),
        ("helmdeck_storage.SqliteDatabase", ("psycopg", "redis")),
        ("helmdeck_storage.PostgresDatabase", ("psycopg_pool", "redis", "sqlite3")),
    ],
)
def test_drivers_are_imported_when_they_are_needed(use, absent):
    code = f"import sys, helmdeck_storage; {use}; print([name for name in {absent} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_statement_in_postgresql_that_takes_too_long_is_an_error_and_the_next_one_works():
    async def run(url):
        database = AsyncPostgresDatabase(url, LEDGER, timeout_s=0.05)
        await database._opened()
        try:
            with pytest.raises(StorageError, match=r"no result within 0.05 s"):
                await database.rows("SELECT pg_sleep(60)")
            database._timeout_s = 10.0
            return await database.rows("SELECT 1")
        finally:
            await database.aclose()

    with postgres_schema() as (url, *_):
        assert [tuple(row) for row in asyncio.run(run(url))] == [(1,)]
