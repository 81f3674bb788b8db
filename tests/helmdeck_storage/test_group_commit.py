"""What is submitted together is committed together; a failed operation does not affect the others."""

import asyncio
import contextlib
import multiprocessing
import threading

import pytest

from helmdeck_storage import GroupCommit, SqliteDatabase, StorageError
from helmdeck_storage.contract import LEDGER

INSERT = "INSERT INTO ledger_entries VALUES ('ada', ?, 0)"


class CountingDatabase(SqliteDatabase):
    """Counts transactions; the first one waits until the test lets it begin."""

    def __init__(self, path):
        super().__init__(path, LEDGER, busy_timeout_s=60.0)
        self.transactions, self.begin = 0, threading.Event()

    @contextlib.contextmanager
    def session(self, *, writes=True):
        self.begin.wait()
        self.transactions += 1
        with super().session(writes=writes) as session:
            yield session


@pytest.fixture
def database(tmp_path):
    return CountingDatabase(tmp_path / "ledger.db")


@pytest.fixture
def commits(database):
    with contextlib.closing(GroupCommit(database, "test")) as commits:
        yield commits
        database.begin.set()


def add(entry):
    return lambda session: session.change(INSERT, (entry,))


def entries(session):
    return sorted(entry for (entry,) in session.rows("SELECT entry FROM ledger_entries"))


def test_operations_that_wait_share_a_transaction_and_each_gets_its_result(database, commits):
    first = commits.submit(add("first"))
    others = [commits.submit(add(f"{number:02}")) for number in range(20)]
    database.begin.set()
    assert first.result() == 1 and [each.result() for each in others] == [1] * 20
    assert database.transactions <= 2
    assert len(commits.submit(entries).result()) == 21


def test_failed_operation_is_undone_and_the_others_are_stored(database, commits):
    def fail(session):
        add("lost")(session)
        raise KeyError("defect")

    futures = [commits.submit(each) for each in (add("one"), fail, add("two"), add("\ud800"), add("one"), add("three"))]
    database.begin.set()
    kinds = [type(each.exception()) for each in futures]
    assert kinds == [type(None), KeyError, type(None), UnicodeEncodeError, StorageError, type(None)]
    assert commits.submit(entries).result() == ["one", "three", "two"]


def test_close_finishes_what_was_submitted_and_a_later_operation_opens_it_again(database, commits):
    futures = [commits.submit(add(f"{number}")) for number in range(3)]
    database.begin.set()
    commits.close()
    assert all(each.done() for each in futures)
    assert commits.submit(entries).result() == ["0", "1", "2"]


def test_operations_that_are_submitted_while_it_is_closed_are_executed(database, commits):
    database.begin.set()
    futures = []

    def submit(number):
        futures.extend(commits.submit(add(f"{number}-{each}")) for each in range(50))

    threads = [threading.Thread(target=submit, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        commits.close()
    commits.close()
    assert len(futures) == 200 and all(each.done() for each in futures)
    assert len(commits.submit(entries).result()) == 200


def test_cancelled_operation_is_not_executed(database, commits):
    first, second = commits.submit(add("first")), commits.submit(add("second"))
    assert second.cancel()
    database.begin.set()
    first.result()
    assert commits.submit(entries).result() == ["first"]


def test_forked_process_has_a_thread_of_its_own(database, commits):
    database.begin.set()
    commits.submit(add("parent")).result()
    process = multiprocessing.get_context("fork").Process(target=lambda: commits.submit(add("child")).result())
    process.start()
    process.join()
    assert process.exitcode == 0
    assert commits.submit(entries).result() == ["child", "parent"]


def test_operations_of_one_turn_of_a_loop_share_a_transaction_and_its_results(database, commits):
    def fail(_):
        raise KeyError("defect")

    async def run():
        tasks = [asyncio.create_task(commits.run(add(f"{number:02}"))) for number in range(20)]
        cancelled, failed = asyncio.create_task(commits.run(add("cancelled"))), asyncio.create_task(commits.run(fail))
        await asyncio.sleep(0)
        cancelled.cancel()
        database.begin.set()
        results = await asyncio.gather(*tasks, cancelled, failed, return_exceptions=True)
        before, database.transactions = database.transactions, 0
        await asyncio.gather(*(commits.run(add(f"more {number}")) for number in range(20)))
        return results, before, database.transactions

    results, _, transactions = asyncio.run(run())
    assert results[:20] == [1] * 20 and [type(each) for each in results[20:]] == [asyncio.CancelledError, KeyError]
    assert transactions == 1
    assert len(commits.submit(entries).result()) == 40
