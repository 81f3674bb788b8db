"""The contract test suite of storage: SQLite, PostgreSQL and Redis pass it, and so must any other backend.

It uses a *ledger*: entries of owners with a time, declared on the backend as a capability would do it. Subclass the suite::

    from helmdeck_storage.contract import SqlLedger, StorageContract

    class TestAcme(StorageContract):
        @pytest.fixture
        def open_ledger(self, acme_url):
            return lambda: SqlLedger(AcmeDatabase(acme_url, LEDGER))

The fixture returns a function that opens a ledger on the same storage each time; the storage is empty before each test. Processes
are forked, so the tests need POSIX.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from helmdeck_storage.database import Database
from helmdeck_storage.schema import Schema

if TYPE_CHECKING:
    from helmdeck_storage.redis_server import RedisServer

LEDGER = Schema(
    name="ledger",
    version=1,
    tables=(
        """CREATE TABLE ledger_entries (
            owner TEXT NOT NULL, entry TEXT NOT NULL, time DOUBLE PRECISION NOT NULL, PRIMARY KEY (owner, entry))""",
        "CREATE INDEX ledger_entries_time ON ledger_entries (time)",
    ),
)
ODD_OWNERS = ("", "a:b", "{x}", "*", "%", "_", "ünï", "a'b\"; --", "[a-z]", "\\", "?", "%s")
PROCESSES = 8


class Ledger(Protocol):
    """Entries of owners."""

    def add(self, owner: str, entries: Sequence[str], time: float = 0.0) -> None:
        """Store all entries or none; those that are known are ignored."""
        ...

    def entries(self, owner: str) -> list[str]:
        """Return the entries of an owner, sorted."""
        ...

    def purge(self, before: float) -> None:
        """Delete older entries of all owners."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class SqlLedger:
    """A ledger in a ``Database`` with the schema ``LEDGER``."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def add(self, owner: str, entries: Sequence[str], time: float = 0.0) -> None:
        """Implement ``Ledger.add``."""
        with self.database.session() as session:
            rows = [(owner, entry, time) for entry in entries]
            session.many("INSERT INTO ledger_entries VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows)

    def entries(self, owner: str) -> list[str]:
        """Implement ``Ledger.entries``."""
        rows = self.database.read("SELECT entry FROM ledger_entries WHERE owner = ?", (owner,))
        return sorted(entry for (entry,) in rows)

    def purge(self, before: float) -> None:
        """Implement ``Ledger.purge``."""
        with self.database.session() as session:
            session.change("DELETE FROM ledger_entries WHERE time < ?", (before,))

    def close(self) -> None:
        """Implement ``Ledger.close``."""
        self.database.close()


class RedisLedger:
    """A ledger in sorted sets, one for each owner."""

    VERSION = 1

    def __init__(self, server: RedisServer) -> None:
        self.server = server
        server.check_version(self.VERSION)
        self._add = server.client.register_script(
            "for place = 2, #ARGV do redis.call('ZADD', KEYS[1], 'NX', ARGV[1], ARGV[place]) end"
        )

    def add(self, owner: str, entries: Sequence[str], time: float = 0.0) -> None:
        """Implement ``Ledger.add``."""
        with self.server.errors():
            self._add(keys=(f"{self.server.prefix}:of:{owner}",), args=(time, *entries))

    def entries(self, owner: str) -> list[str]:
        """Implement ``Ledger.entries``."""
        with self.server.errors():
            return sorted(self.server.client.zrange(f"{self.server.prefix}:of:{owner}", 0, -1))

    def purge(self, before: float) -> None:
        """Implement ``Ledger.purge``."""
        with self.server.errors():
            for key in self.server.client.scan_iter(f"{self.server.prefix}:of:*"):
                self.server.client.zremrangebyscore(key, "-inf", f"({before}")

    def close(self) -> None:
        """Implement ``Ledger.close``."""
        self.server.close()


OpenLedger = Callable[[], Any]


class StorageContract:
    """The contract test suite."""

    @pytest.fixture
    def open_ledger(self) -> OpenLedger:
        """Return the function that opens a ledger; to be overridden."""
        raise NotImplementedError("override the fixture open_ledger")

    @pytest.fixture
    def end_connections(self) -> Callable[[], int] | None:
        """Return a function by which the server ends all connections, and which returns their number; ``None`` without a server."""
        return None

    @pytest.fixture
    def ledger(self, open_ledger: OpenLedger) -> Iterator[Any]:
        """An open ledger."""
        with contextlib.closing(open_ledger()) as ledger:
            yield ledger

    # -- owners ------------------------------------------------------------------------------------------------

    def test_owners_of_any_name_are_separate(self, ledger: Ledger) -> None:
        for number, owner in enumerate(ODD_OWNERS):
            ledger.add(owner, [f"entry {number}"])
        assert [ledger.entries(owner) for owner in ODD_OWNERS] == [[f"entry {n}"] for n in range(len(ODD_OWNERS))]

    def test_value_that_is_not_unicode_is_a_value_error_and_nothing_is_stored(self, ledger: Ledger) -> None:
        with pytest.raises(ValueError, match=r"surrogate|encode"):
            ledger.add("ada", ["valid", "\ud800"])
        assert ledger.entries("ada") == []
        ledger.add("ada", ["later"])
        assert ledger.entries("ada") == ["later"]

    def test_repeated_write_changes_nothing(self, ledger: Ledger) -> None:
        ledger.add("ada", ["one"])
        ledger.add("ada", ["one", "two"])
        assert ledger.entries("ada") == ["one", "two"]

    # -- retention ---------------------------------------------------------------------------------------------

    def test_purge_deletes_older_entries_of_all_owners(self, ledger: Ledger) -> None:
        for owner in ("ada", "bob"):
            ledger.add(owner, ["old"], 10.0)
            ledger.add(owner, ["new"], 20.0)
        ledger.purge(20.0)
        assert (ledger.entries("ada"), ledger.entries("bob")) == (["new"], ["new"])

    # -- connections -------------------------------------------------------------------------------------------

    def test_entries_are_shared_by_all_that_open_the_storage(self, ledger: Ledger, open_ledger: OpenLedger) -> None:
        ledger.add("ada", ["one"])
        with contextlib.closing(open_ledger()) as other:
            assert other.entries("ada") == ["one"]
            other.add("ada", ["two"])
        assert ledger.entries("ada") == ["one", "two"]

    def test_closed_storage_opens_again(self, ledger: Ledger) -> None:
        ledger.add("ada", ["one"])
        ledger.close()
        ledger.close()
        ledger.add("ada", ["two"])
        assert ledger.entries("ada") == ["one", "two"]

    def test_connections_that_the_server_ended_are_replaced(self, ledger: Ledger, end_connections: Any) -> None:
        if end_connections is None:
            pytest.skip("there is no server")
        ledger.add("ada", ["one"])
        assert end_connections() > 0
        ledger.add("ada", ["two"])
        assert end_connections() > 0
        assert ledger.entries("ada") == ["one", "two"]

    def test_threads_that_write_at_once_lose_nothing(self, ledger: Ledger) -> None:
        def write(number: int) -> None:
            for each in range(20):
                ledger.add("ada", [f"{number}-{each}"])
                ledger.entries("ada")

        threads = [threading.Thread(target=write, args=(number,)) for number in range(PROCESSES)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(ledger.entries("ada")) == 20 * PROCESSES

    # -- processes ---------------------------------------------------------------------------------------------

    def test_processes_that_create_the_storage_and_write_at_once_lose_nothing(self, open_ledger: OpenLedger) -> None:
        fork = multiprocessing.get_context("fork")
        start = fork.Barrier(PROCESSES)

        def write(number: int) -> None:
            start.wait()
            with contextlib.closing(open_ledger()) as ledger:
                for each in range(20):
                    ledger.add("ada", [f"{number}-{each}"])

        processes = [fork.Process(target=write, args=(number,)) for number in range(PROCESSES)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * PROCESSES
        with contextlib.closing(open_ledger()) as ledger:
            assert len(ledger.entries("ada")) == 20 * PROCESSES

    def test_storage_that_was_open_before_a_fork_works_in_both_processes(self, ledger: Ledger) -> None:
        ledger.add("ada", ["before"])
        process = multiprocessing.get_context("fork").Process(target=lambda: ledger.add("ada", ["child"]))
        process.start()
        process.join()
        assert process.exitcode == 0
        ledger.add("ada", ["parent"])
        assert ledger.entries("ada") == ["before", "child", "parent"]

    def test_killed_process_leaves_complete_writes_only(self, ledger: Ledger, open_ledger: OpenLedger) -> None:
        fork = multiprocessing.get_context("fork")
        started = fork.Event()

        def write() -> None:
            own, number = open_ledger(), 0
            while True:
                number += 1
                own.add("ada", [f"{number} first", f"{number} second"])
                if number == 10:
                    started.set()

        process = fork.Process(target=write, daemon=True)
        process.start()
        assert started.wait(60)
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        # A server may still execute the last write.
        found = [entry.split()[0] for entry in ledger.entries("ada")]
        assert len(found) >= 20
        assert all(found.count(number) == 2 for number in found)
        ledger.add("ada", ["after"])
        assert "after" in ledger.entries("ada")
