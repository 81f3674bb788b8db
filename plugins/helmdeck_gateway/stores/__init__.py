"""The state of a gateway that several processes share: in memory, SQLite, PostgreSQL or Redis.

``[gateway] store`` selects it: ``sqlite:PATH``, ``postgresql://HOST/DATABASE`` or ``redis://HOST``.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from helmdeck_core import data_directory
from helmdeck_gateway.stores.store import MAX_DOCUMENTS as MAX_DOCUMENTS
from helmdeck_gateway.stores.store import GatewayStore as GatewayStore
from helmdeck_gateway.stores.store import StoreError as StoreError

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
    :raises StoreError: the scheme is unknown, the URL is malformed, or its driver is not installed.
    """
    scheme, colon, rest = url.partition(":")
    if scheme == "postgres":
        scheme, url = "postgresql", f"postgresql:{rest}"
    if not colon or scheme not in SCHEMES:
        shown = f"{scheme}:..." if colon else "a value without a scheme"
        raise StoreError(f"gateway.store: {shown} is not a store; allowed: sqlite:PATH, postgresql://..., redis://...")
    match scheme:
        case "memory":
            from helmdeck_gateway.stores.memory import MemoryStore

            return MemoryStore(max_documents=max_documents)
        case "sqlite":
            from helmdeck_gateway.stores.sqlite import SqliteStore

            return SqliteStore(rest or default_path(), max_documents=max_documents)
        case "postgresql":
            _require("postgres", "psycopg", "psycopg_pool")
            from helmdeck_gateway.stores.postgres import PostgresStore, is_valid_url

            if not is_valid_url(url):
                raise StoreError(MALFORMED)
            return PostgresStore(url, max_documents=max_documents)
        case _:
            _require("redis", "redis")
            from helmdeck_gateway.stores.redis_store import PREFIX, RedisStore

            try:
                parts = urlsplit(url)
                query = dict(parse_qsl(parts.query))
                prefix = query.pop("prefix", PREFIX)
                plain = urlunsplit(parts._replace(query=urlencode(query)))
                return RedisStore(plain, prefix=prefix, max_documents=max_documents)
            except ValueError:  # its message may repeat a part of the password
                raise StoreError(MALFORMED) from None


def _require(extra: str, *modules: str) -> None:
    if missing := [name for name in modules if find_spec(name) is None]:
        raise StoreError(f"{missing[0]} is not installed; install it with: pip install 'helmdeck[{extra}]'")
