"""Tables as data: what a new database gets, and how the database of an earlier release becomes the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from helmdeck_storage.errors import newer_schema


class Session(Protocol):
    """A transaction. Statements have question marks for parameters, and no other question marks."""

    def rows(self, statement: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement; return its rows."""
        ...

    def row(self, statement: str, parameters: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """Execute a statement; return its first row."""
        ...

    def change(self, statement: str, parameters: Sequence[Any] = ()) -> int:
        """Execute a statement; return the number of changed rows."""
        ...

    def many(self, statement: str, parameters: Sequence[Sequence[Any]]) -> None:
        """Execute a statement once for each tuple of parameters."""
        ...


@attrs.frozen(kw_only=True)
class Schema:
    """The tables of one capability in SQLite or PostgreSQL.

    A new database executes ``tables`` and has ``version``. The database of an earlier release executes the upgrades from its
    version on, each of which leads to the next version. Both happen in one transaction, while other processes wait. Version 0
    is a database without a version: a new one, or one from before versions were stored; in the latter case, ``tables`` must
    say ``IF NOT EXISTS``.

    :ivar name: short; PostgreSQL stores the version in the table ``NAME_schema``.
    :ivar upgrades: by the version that they start from.
    :ivar has_own_file: whether nothing else is in the SQLite file, whose ``user_version`` is then the version of the schema.
        Otherwise it is in the table ``NAME_schema``, as in PostgreSQL.
    """

    name: str
    version: int
    tables: Sequence[str]
    upgrades: Mapping[int, Callable[[Session], None]] = attrs.field(factory=dict)
    has_own_file: bool = True

    @property
    def version_table(self) -> str:
        """The table with the version, where ``user_version`` is not used."""
        return f"{self.name}_schema"


def upgrade(session: Session, schema: Schema, version: int, subject: str, place: str) -> None:
    """Bring a database to the version of the schema.

    :raises NewerSchemaError: its version is newer.
    """
    if version > schema.version:
        raise newer_schema(subject, place, version, schema.version)
    if version == 0:
        for statement in schema.tables:
            session.change(statement)
        return
    for step in range(version, schema.version):
        schema.upgrades[step](session)


def stored_version(session: Session, schema: Schema) -> int:
    """Return the version in the version table, which is created if it does not exist."""
    session.change(f"CREATE TABLE IF NOT EXISTS {schema.version_table} (version INTEGER NOT NULL)")
    rows = session.rows(f"SELECT version FROM {schema.version_table}")  # noqa: S608 - a name of ours
    return int(rows[0][0]) if rows else 0


def store_version(session: Session, schema: Schema, before: int) -> None:
    """Write the version of the schema to the version table."""
    table = schema.version_table
    statement = f"UPDATE {table} SET version = ?" if before else f"INSERT INTO {table} VALUES (?)"  # noqa: S608
    session.change(statement, (schema.version,))
