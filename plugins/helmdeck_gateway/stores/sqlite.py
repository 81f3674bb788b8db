"""The SQLite store: one file, shared by the processes of one host."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

from helmdeck_gateway.stores import sqlite_accounts as accounts
from helmdeck_gateway.stores.records import Admission, KeyRecord, Limits, Open, Refusal, Usage
from helmdeck_gateway.stores.store import MAX_DOCUMENTS, StoreError, checked, document_id

P = ParamSpec("P")
T = TypeVar("T")

VERSION: Final = 1
BUSY_TIMEOUT_S: Final = 10.0
"""Seconds to wait for another process that writes."""

PRUNE_EVERY: Final = 50
"""Documents that a process stores between two removals of expired and surplus ones."""

_TABLES: Final = (
    """CREATE TABLE gateway_documents (
        id TEXT PRIMARY KEY, kind TEXT NOT NULL, stored REAL NOT NULL, expires REAL NOT NULL, data BLOB NOT NULL)""",
    "CREATE INDEX gateway_documents_by_age ON gateway_documents (kind, stored)",
    *accounts.TABLES,
)

_SURPLUS: Final = """
DELETE FROM gateway_documents WHERE id IN (
SELECT id FROM gateway_documents WHERE kind = ? ORDER BY stored DESC LIMIT -1 OFFSET ?)"""


class SqliteStore:
    """The state of a gateway in a SQLite file, which only its owner can read.

    One thread of the process uses the file, so that the event loop never waits for it.

    :param path: missing folders are created.
    """

    def __init__(self, path: str | Path, *, max_documents: int = MAX_DOCUMENTS) -> None:
        self.path = Path(path).expanduser()
        self._max_documents = max_documents
        self._thread: ThreadPoolExecutor | None = None
        self._connection: sqlite3.Connection | None = None
        self._puts = 0

    async def put(self, kind: str, key: str, owner: str, data: bytes, ttl_s: float) -> None:
        """Implement ``DocumentStore.put``."""
        await self._run(self._put, kind, document_id(kind, key, owner), checked(data), ttl_s)

    async def get(self, kind: str, key: str, owner: str) -> bytes | None:
        """Implement ``DocumentStore.get``."""
        return await self._run(self._get, document_id(kind, key, owner))

    async def delete(self, kind: str, key: str, owner: str) -> bool:
        """Implement ``DocumentStore.delete``."""
        return await self._run(self._delete, document_id(kind, key, owner))

    async def save_key(self, record: KeyRecord) -> bool:
        """Implement ``KeyStore.save_key``."""
        return await self._run(accounts.save_key, record)

    async def find_key(self, digest: str) -> KeyRecord | None:
        """Implement ``KeyStore.find_key``."""
        return await self._run(accounts.find_key, digest)

    async def list_keys(self) -> Sequence[KeyRecord]:
        """Implement ``KeyStore.list_keys``."""
        return await self._run(accounts.list_keys)

    async def admit(
        self, account: str, call_id: str, limits: Limits, held_nusd: int, lease_s: float, *, now_s: float | None = None
    ) -> Admission | Refusal:
        """Implement ``AccountStore.admit``."""
        return await self._run(accounts.admit, account, call_id, limits, held_nusd, lease_s, now_s)

    async def renew(self, account: str, calls: Sequence[Open], lease_s: float, *, now_s: float | None = None) -> None:
        """Implement ``AccountStore.renew``."""
        await self._run(accounts.renew, account, calls, lease_s, now_s)

    async def settle(self, account: str, call_id: str, cost_nusd: int, *, unpriced: bool = False) -> bool:
        """Implement ``AccountStore.settle``."""
        return await self._run(accounts.settle, account, call_id, cost_nusd, int(unpriced))

    async def usage(self, account: str, *, now_s: float | None = None) -> Usage:
        """Implement ``AccountStore.usage``."""
        return await self._run(accounts.usage, account, now_s)

    async def aclose(self) -> None:
        """Close the file; a later use opens it again."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.get_running_loop().run_in_executor(thread, self._close)
            thread.shutdown(wait=False)

    # -- in the thread -----------------------------------------------------------------------------------------

    def _put(self, connection: sqlite3.Connection, kind: str, name: str, data: bytes, ttl_s: float) -> None:
        now = time.time()
        statement = "INSERT OR REPLACE INTO gateway_documents (id, kind, stored, expires, data) VALUES (?, ?, ?, ?, ?)"
        connection.execute(statement, (name, kind, now, now + ttl_s, data))
        self._puts += 1
        if self._puts % PRUNE_EVERY == 0:
            connection.execute("DELETE FROM gateway_documents WHERE kind = ? AND expires <= ?", (kind, now))
            connection.execute(_SURPLUS, (kind, self._max_documents))

    def _get(self, connection: sqlite3.Connection, name: str) -> bytes | None:
        statement = "SELECT data FROM gateway_documents WHERE id = ? AND expires > ?"
        row = connection.execute(statement, (name, time.time())).fetchone()
        return row[0] if row is not None else None

    def _delete(self, connection: sqlite3.Connection, name: str) -> bool:
        statement = "DELETE FROM gateway_documents WHERE id = ? AND expires > ?"
        return connection.execute(statement, (name, time.time())).rowcount > 0

    # -- the connection ----------------------------------------------------------------------------------------

    async def _run(
        self, action: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run a transaction in the thread of the store."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="helmdeck-gateway-store")

        def transaction() -> T:
            try:
                connection = self._opened()
                connection.execute("BEGIN IMMEDIATE")
                try:
                    result = action(connection, *args, **kwargs)
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
            except (sqlite3.Error, OSError) as exc:
                self._close()
                raise StoreError(f"the store {self.path.name} failed: {exc}") from exc
            return result

        return await asyncio.get_running_loop().run_in_executor(self._thread, transaction)

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with contextlib.suppress(FileExistsError):
                # Only its owner may read it; SQLite gives the files beside it the same permissions.
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            connection = sqlite3.connect(
                self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            try:
                # With a write-ahead log, a commit survives the end of a process without a flush to the disk.
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute("BEGIN IMMEDIATE")
                self._migrate(connection)
                connection.execute("COMMIT")
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise StoreError(
                f"{self.path.name} was written by a newer release: its schema has version {version}, and this release "
                f"knows versions up to {VERSION}; update helmdeck, or use another file"
            )
        if version == 0:
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
