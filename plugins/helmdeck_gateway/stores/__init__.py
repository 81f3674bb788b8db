"""The state of a gateway that several processes share: in memory, SQLite, PostgreSQL or Redis.

``[gateway] store`` selects it: ``sqlite:PATH``, ``postgresql://HOST/DATABASE`` or ``redis://HOST``.
"""

from __future__ import annotations

from pathlib import Path

from helmdeck_core import data_directory
from helmdeck_gateway.stores.store import MAX_DOCUMENTS as MAX_DOCUMENTS
from helmdeck_gateway.stores.store import GatewayStore as GatewayStore
from helmdeck_storage import StorageError, require_driver

SCHEMES = ("memory", "sqlite", "postgresql", "redis", "rediss")
MALFORMED = (
    "gateway.store: the URL is malformed; characters such as @, / and # in a password are written as %40, %2F and %23"
)


def default_path() -> Path:
    """Return the SQLite file that is used where no store is configured."""
    return data_directory() / "gateway.db"


def open_store(url: str, *, max_documents: int = MAX_DOCUMENTS) -> GatewayStore:
    """Return a store, which connects at its first use.

    :param url: ``memory:``, ``sqlite:PATH``, ``postgresql://…`` or ``redis://…``. For Redis, ``?prefix=NAME`` sets the prefix of
        all keys; for PostgreSQL, ``?options=-csearch_path%3DNAME`` selects a schema.
    :param max_documents: documents that are kept of each kind.
    :raises StorageError: the scheme is unknown, the URL is malformed, or its driver is not installed.
    """
    scheme, colon, rest = url.partition(":")
    if scheme == "postgres":
        scheme, url = "postgresql", f"postgresql:{rest}"
    if not colon or scheme not in SCHEMES:
        shown = f"{scheme}:..." if colon else "a value without a scheme"
        raise StorageError(
            f"gateway.store: {shown} is not a store; allowed: sqlite:PATH, postgresql://..., redis://..."
        )
    require_driver(scheme)
    match scheme:
        case "memory":
            from helmdeck_gateway.stores.memory import MemoryStore

            return MemoryStore(max_documents=max_documents)
        case "sqlite":
            from helmdeck_gateway.stores.sqlite import SqliteStore

            return SqliteStore(Path(rest) if rest else default_path(), max_documents=max_documents)
        case "postgresql":
            from helmdeck_gateway.stores.postgres import PostgresStore
            from helmdeck_storage import is_valid_postgres_url

            if not is_valid_postgres_url(url):
                raise StorageError(MALFORMED)
            return PostgresStore(url, max_documents=max_documents)
        case _:
            from helmdeck_gateway.stores.redis_store import RedisStore

            try:
                return RedisStore(url, max_documents=max_documents)
            except ValueError:  # its message may repeat a part of the password
                raise StorageError(MALFORMED) from None
