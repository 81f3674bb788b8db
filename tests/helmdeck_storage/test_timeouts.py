"""A server that does not answer holds no caller for longer than the timeout."""

import socket
import threading

import pytest

from helmdeck_core import HistorySetup
from helmdeck_history.access import Access
from helmdeck_storage import PostgresDatabase, RedisServer, StorageError, redis_server
from helmdeck_storage import postgres as postgres_module
from helmdeck_storage.contract import LEDGER
from tests.databases_support import postgres_schema

SLEEP = "SELECT pg_sleep(600)"


@pytest.mark.parametrize(("writes", "limit"), [(False, "READ_TIMEOUT_S"), (True, "WRITE_TIMEOUT_S")])
def test_postgresql_statement_without_an_answer_fails_and_its_connection_is_replaced(monkeypatch, writes, limit):
    with postgres_schema() as (url, _, _):
        database = PostgresDatabase(url, LEDGER)
        with database.session() as session:
            assert session.rows("SELECT 1") == [(1,)]
        monkeypatch.setattr(postgres_module, limit, 0.1)
        with pytest.raises(StorageError, match=r"no answer within 0\.1 s"), database.session(writes=writes) as session:
            session.rows(SLEEP)
        monkeypatch.undo()
        with database.session(writes=writes) as session:
            assert session.rows("SELECT 2") == [(2,)]
        database.close()


def test_redis_server_that_hangs_is_tried_once(monkeypatch):
    monkeypatch.setitem(redis_server._OPTIONS, "socket_timeout", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = RedisServer(f"redis://127.0.0.1:{silent.getsockname()[1]}/0", "test", "p")
        with pytest.raises(StorageError, match="Timeout"):
            server.check_version(1)
        server.close()
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()


def test_closing_does_not_wait_for_a_store_that_another_thread_opens():
    opening, opened = threading.Event(), threading.Event()

    def open_store():
        opening.set()
        opened.wait()
        raise RuntimeError("the server is gone")

    setup = HistorySetup(
        is_enabled=True, keep_days=1, secret=str, open_store=open_store, fault=RuntimeError,
        report=lambda *_: None, catalog=lambda: None,
    )  # fmt: skip
    access = Access(setup)
    threads = [threading.Thread(target=access.try_use, args=("c", len)), threading.Thread(target=access.close)]
    threads[0].start()
    opening.wait()
    threads[1].start()
    threads[1].join(10.0)
    is_closing = threads[1].is_alive()
    opened.set()
    for thread in threads:
        thread.join()
    assert not is_closing
