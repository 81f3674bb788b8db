"""One interface to SQLite and PostgreSQL."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from helmdeck_core import Mistake
from helmdeck_storage.errors import StorageError
from helmdeck_storage.schema import Schema, Session

Dialect = Literal["sqlite", "postgresql"]

_DRIVERS: Final = {
    "postgresql": ("postgres", ("psycopg", "psycopg_pool")),
    "redis": ("redis", ("redis",)),
    "rediss": ("redis", ("redis",)),
}
"""The extra and the modules that a scheme needs."""


class Database(abc.ABC):
    """The tables of one schema. It connects at the first use; thread-safe, and usable in a forked process."""

    dialect: ClassVar[Dialect]

    @abc.abstractmethod
    def session(self, *, writes: bool = True) -> AbstractContextManager[Session]:
        """Return a transaction, which is committed at the end of the block and undone if the block raises.

        :raises ValueError: a value cannot be stored, such as a string that is not valid Unicode.
        :raises StorageError: the database cannot be used.
        """

    def read(self, statement: str, parameters: Sequence[Any] = ()) -> Sequence[tuple[Any, ...]]:
        """Return the rows of one statement that changes nothing, in a transaction of its own.

        :raises StorageError: the database cannot be used.
        """
        with self.session(writes=False) as session:
            return session.rows(statement, parameters)

    @abc.abstractmethod
    def close(self) -> None:
        """Close the idle connections; a later use opens others. Idempotent."""

    def open(self) -> None:
        """Connect, and create or upgrade the tables, which otherwise happens at the first use.

        :raises NewerSchemaError: a newer release wrote the database.
        :raises StorageError: the database cannot be used.
        """
        with self.session(writes=False):
            pass


def open_database(
    url: str, schema: Schema, *, default_file: Path, busy_timeout_s: float = 5.0, waits_for_disk: bool = True
) -> Database:
    """Return the database of a URL, which connects at its first use.

    :param url: ``sqlite:PATH`` or ``postgresql://...``.
    :param default_file: for ``sqlite:`` without a path.
    :param busy_timeout_s: seconds to wait for other processes that write; SQLite only.
    :param waits_for_disk: ``False``: the newest transactions may be lost if the server of PostgreSQL crashes.
    :raises StorageError: the driver is not installed.

    >>> from pathlib import Path
    >>> from helmdeck_storage import Schema, open_database
    >>> schema = Schema(name="notes", version=1, tables=["CREATE TABLE notes (text TEXT)"])
    >>> database = open_database("sqlite:notes.db", schema, default_file=Path("notes.db"))
    >>> with database.session() as session:
    ...     session.change("INSERT INTO notes VALUES (?)", ("tide at nine",))
    ...     session.rows("SELECT text FROM notes")
    1
    [('tide at nine',)]
    >>> database.close()
    """
    scheme, _, target = url.partition(":")
    if scheme == "sqlite":
        from helmdeck_storage.sqlite import SqliteDatabase

        return SqliteDatabase(Path(target) if target else default_file, schema, busy_timeout_s=busy_timeout_s)
    require_driver("postgresql")
    from helmdeck_storage.postgres import PostgresDatabase

    return PostgresDatabase(f"postgresql:{target}", schema, waits_for_disk=waits_for_disk)


def require_driver(scheme: str) -> None:
    """Check that the driver of a scheme is installed.

    :raises StorageError: it is not; the message names the extra.

    >>> from helmdeck_storage import require_driver
    >>> require_driver("sqlite")
    """
    from importlib.util import find_spec

    extra, modules = _DRIVERS.get(scheme, ("", ()))
    if missing := [name for name in modules if find_spec(name) is None]:
        raise StorageError(f"{missing[0]} is not installed; install it with: pip install 'helmdeck[{extra}]'")


def driver_mistakes(where: str, url: str | None) -> tuple[Mistake, ...]:
    """Return the mistake of a configured store whose driver is not installed. Nothing is connected.

    :param where: the key of the URL.

    >>> from helmdeck_storage import driver_mistakes
    >>> driver_mistakes("history.url", "sqlite:history.db")
    ()
    """
    scheme = (url or "").partition(":")[0]
    try:
        require_driver("postgresql" if scheme == "postgres" else scheme)
    except StorageError as exc:
        return (Mistake(where, str(exc), repr(f"{scheme}:...")),)
    return ()
