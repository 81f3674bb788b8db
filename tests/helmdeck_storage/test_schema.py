"""New databases get the tables of the schema, and old ones become equal to them; both in one transaction."""

import contextlib
import multiprocessing
import sqlite3

import attrs
import pytest

from helmdeck_storage import NewerSchemaError, PostgresDatabase, Schema, SqliteDatabase
from tests.databases_support import postgres_schema

FIRST = Schema(name="notes", version=1, tables=("CREATE TABLE notes (text TEXT NOT NULL)",))


def add_author(session):
    session.change("ALTER TABLE notes ADD COLUMN author TEXT NOT NULL DEFAULT 'unknown'")


def add_length(session):
    session.change("ALTER TABLE notes ADD COLUMN length INTEGER NOT NULL DEFAULT 0")
    session.change("UPDATE notes SET length = LENGTH(text)")


THIRD = Schema(
    name="notes",
    version=3,
    tables=(
        "CREATE TABLE notes (text TEXT NOT NULL, author TEXT NOT NULL DEFAULT 'unknown', length INTEGER NOT NULL DEFAULT 0)",
    ),
    upgrades={1: add_author, 2: add_length},
)


@pytest.fixture(params=["sqlite", "sqlite that others use too", "postgresql"])
def open_notes(request, tmp_path):
    """A function that opens the database with a schema."""
    if request.param == "postgresql":
        with postgres_schema() as (url, _, _):
            yield lambda schema: contextlib.closing(PostgresDatabase(url, schema))
    else:
        own = request.param == "sqlite"
        yield lambda schema: contextlib.closing(
            SqliteDatabase(tmp_path / "notes.db", attrs.evolve(schema, has_own_file=own), busy_timeout_s=60.0)
        )


def stored(database, columns="*"):
    with database.session(writes=False) as session:
        return session.rows(f"SELECT {columns} FROM notes ORDER BY text")


def add_note(database, text):
    with database.session() as session:
        session.change("INSERT INTO notes (text) VALUES (?)", (text,))


def test_database_of_an_earlier_version_is_upgraded_step_by_step(open_notes):
    with open_notes(FIRST) as database:
        add_note(database, "hello")
    with open_notes(THIRD) as database:
        add_note(database, "new")
        assert stored(database, "text, author, length") == [("hello", "unknown", 5), ("new", "unknown", 0)]
    with open_notes(THIRD) as database:
        assert len(stored(database)) == 2, "it is upgraded once"


def test_database_of_a_newer_release_is_refused_and_unchanged(open_notes):
    with open_notes(THIRD) as database:
        add_note(database, "hello")
    with open_notes(FIRST) as database, pytest.raises(NewerSchemaError, match=r"version 3, and .* versions up to 1"):
        database.open()
    with open_notes(THIRD) as database:
        assert len(stored(database)) == 1


def test_failed_upgrade_leaves_the_earlier_version(open_notes):
    def fail(session):
        session.change("UPDATE notes SET text = 'lost'")
        raise KeyError("the upgrade has a defect")

    with open_notes(FIRST) as database:
        add_note(database, "hello")
    with open_notes(attrs.evolve(THIRD, upgrades={1: add_author, 2: fail})) as database:
        for _ in range(2):
            with pytest.raises(KeyError):
                database.open()
    with open_notes(FIRST) as database:
        assert stored(database) == [("hello",)]


def test_tables_from_before_versions_were_stored_are_adopted(tmp_path):
    path = tmp_path / "notes.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE notes (text TEXT NOT NULL); INSERT INTO notes VALUES ('hello')")
    schema = attrs.evolve(FIRST, tables=("CREATE TABLE IF NOT EXISTS notes (text TEXT NOT NULL)",), has_own_file=False)
    with contextlib.closing(SqliteDatabase(path, schema)) as database:
        assert stored(database) == [("hello",)]
    with contextlib.closing(SqliteDatabase(path, attrs.evolve(THIRD, has_own_file=False))) as database:
        assert stored(database) == [("hello", "unknown", 5)], "it has version 1 since then"


def test_tables_are_in_the_first_schema_of_the_search_path():
    with postgres_schema() as (url, _, first), postgres_schema() as (_, _, second):
        with contextlib.closing(PostgresDatabase(url, FIRST)) as database:
            add_note(database, "hello")
        both = url.replace(first, f"{second}%2C{first}")
        with contextlib.closing(PostgresDatabase(both, FIRST)) as database:
            assert stored(database) == []


def test_two_schemas_share_a_file_if_only_one_of_them_uses_its_version(tmp_path):
    path = tmp_path / "shared.db"
    other = Schema(name="other", version=7, tables=("CREATE TABLE other (n INTEGER)",), has_own_file=False)
    for schema in (FIRST, other, FIRST, other):
        with contextlib.closing(SqliteDatabase(path, schema)) as database:
            database.open()


def test_processes_that_upgrade_at_once_upgrade_it_once(open_notes):
    fork = multiprocessing.get_context("fork")
    start = fork.Barrier(4)
    with open_notes(FIRST) as database:
        add_note(database, "hello")

    def upgrade():
        start.wait()
        with open_notes(THIRD) as database:
            add_note(database, "new")

    processes = [fork.Process(target=upgrade) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    with open_notes(THIRD) as database:
        assert stored(database, "text, length") == [("hello", 5), *[("new", 0)] * 4]
