"""Files of SQLite: permissions, locks, full disks, deleted and damaged files."""

import contextlib
import os
import sqlite3
import stat
import threading

import pytest

from helmdeck_storage import SqliteDatabase, StorageError, sqlite_problem
from helmdeck_storage.contract import LEDGER, SqlLedger

posix_only = pytest.mark.skipif(os.name != "posix", reason="permissions of files are those of POSIX")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "ledger.db"


@pytest.fixture
def ledger(path):
    with contextlib.closing(SqlLedger(SqliteDatabase(path, LEDGER, busy_timeout_s=0.0))) as ledger:
        yield ledger


@posix_only
def test_only_the_owner_can_read_the_files_and_their_folder(path, ledger):
    before = os.umask(0o022)
    try:
        ledger.add("ada", ["one"])
        names = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert names == dict.fromkeys(("ledger.db", "ledger.db-wal", "ledger.db-shm"), 0o600)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@posix_only
def test_permissions_of_a_file_that_exists_are_kept(path, ledger):
    path.parent.mkdir()
    path.touch(0o640)
    ledger.add("ada", ["one"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_nothing_is_created_before_the_first_session(path, ledger):
    assert not ledger.database.exists() and not path.parent.exists()


def test_readers_do_not_wait_for_a_writer_and_do_not_see_its_changes(path, ledger):
    ledger.add("ada", ["one"])
    with ledger.database.session() as session:
        session.change("INSERT INTO ledger_entries VALUES ('ada', 'two', 0)")
        assert ledger.entries("ada") == ["one"]
    assert ledger.entries("ada") == ["one", "two"]


def test_second_writer_is_an_error_after_the_timeout_and_works_later(ledger):
    with ledger.database.session(), pytest.raises(StorageError, match=r"ledger\.db failed: OperationalError: .*locked"):
        ledger.add("ada", ["one"])
    ledger.add("ada", ["two"])
    assert ledger.entries("ada") == ["two"]


def test_second_writer_waits_for_the_first_one(path):
    patient = SqlLedger(SqliteDatabase(path, LEDGER, busy_timeout_s=60.0))
    with contextlib.closing(patient):
        with patient.database.session() as session:
            session.change("INSERT INTO ledger_entries VALUES ('ada', 'one', 0)")
            thread = threading.Thread(target=patient.add, args=("ada", ["two"]))
            thread.start()
        thread.join()
        assert patient.entries("ada") == ["one", "two"]


def test_block_that_raises_changes_nothing(ledger):
    def write_and_fail():
        with ledger.database.session() as session:
            session.change("INSERT INTO ledger_entries VALUES ('ada', 'one', 0)")
            raise KeyError

    with pytest.raises(KeyError):
        write_and_fail()
    assert ledger.entries("ada") == []


def test_full_disk_is_an_error_that_loses_nothing_and_ends_with_the_reason(ledger):
    ledger.add("ada", ["one"])
    with ledger.database.session() as session:
        (pages,) = session.rows("PRAGMA page_count")[0]
        session.rows(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageError, match="database or disk is full"):
        ledger.add("ada", [f"{number} {'x' * 100}" for number in range(1_000)])
    assert ledger.entries("ada") == ["one"]
    ledger.add("ada", ["two"])
    assert ledger.entries("ada") == ["one", "two"]


@posix_only
def test_file_size_limit_of_the_process_is_an_error_that_loses_nothing(path, ledger):
    import multiprocessing
    import resource

    ledger.add("ada", ["one"])

    def write_too_much():
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 50_000,) * 2)
        with pytest.raises(StorageError, match=r"full|disk I/O"):
            ledger.add("ada", [f"{number} {'x' * 1_000}" for number in range(1_000)])

    process = multiprocessing.get_context("fork").Process(target=write_too_much)
    process.start()
    process.join()
    assert process.exitcode == 0
    assert ledger.entries("ada") == ["one"]
    assert sqlite_problem(path) == ""


def test_read_only_connection_reads_and_its_error_names_the_reason(ledger):
    ledger.add("ada", ["one"])
    with ledger.database.session(writes=False) as session:
        session.rows("PRAGMA query_only = ON")
    with pytest.raises(StorageError, match="readonly database"):
        ledger.add("ada", ["two"])
    assert ledger.entries("ada") == ["one"]


@posix_only
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="the superuser may write to any file")
def test_read_only_file_can_be_read(path, ledger):
    ledger.add("ada", ["one"])
    ledger.close()
    path.chmod(0o400)
    assert ledger.entries("ada") == ["one"]
    with pytest.raises(StorageError, match="readonly database"):
        ledger.add("ada", ["two"])


def test_deleted_file_is_created_again_with_its_tables(path, ledger):
    ledger.add("ada", ["one"])
    for each in path.parent.iterdir():
        each.unlink()
    ledger.add("ada", ["two"])
    assert ledger.entries("ada") == ["two"]


def test_file_that_is_not_a_database_is_an_error_and_stays_as_it_is(path, ledger):
    path.parent.mkdir()
    path.write_text("this is not a database, and it is long enough to be taken for one" * 20)
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(StorageError, match="not a database"):
            ledger.add("ada", ["one"])
    assert path.read_bytes() == before
    assert sqlite_problem(path) == "file is not a database"


def test_path_that_cannot_exist_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    database = SqliteDatabase(tmp_path / "file" / "ledger.db", LEDGER)
    with pytest.raises(StorageError, match=r"ledger\.db failed: .*file: File exists"):
        database.open()


def test_database_in_memory_survives_errors(path):
    ledger = SqlLedger(SqliteDatabase(None, LEDGER))
    ledger.add("ada", ["one"])
    with pytest.raises(StorageError), ledger.database.session() as session:
        session.change("INSERT INTO missing VALUES (1)")
    with pytest.raises(ValueError, match="surrogates"):
        ledger.add("ada", ["\ud800"])
    assert ledger.entries("ada") == ["one"]
    ledger.close()
    assert ledger.entries("ada") == [], "its content ends when it is closed"
    ledger.close()


def test_home_directory_is_expanded(tmp_path, monkeypatch):
    from pathlib import Path

    monkeypatch.setenv("HOME", str(tmp_path))
    with contextlib.closing(SqliteDatabase(Path("~/ledger.db"), LEDGER)) as database:
        database.open()
        assert database.path == tmp_path / "ledger.db"
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
