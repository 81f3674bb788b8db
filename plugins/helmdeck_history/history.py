"""The built-in history of plans: stores for SQLite, PostgreSQL and Redis, what is learned from them, and the packs for facts.

``[history] url`` enables it: ``sqlite:PATH``, ``postgresql://HOST/DATABASE`` or ``redis://HOST``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from helmdeck_core import History, HistorySetup, HistorySpec, HistoryStore, HistoryStoreSpec, Pack, hookimpl


@hookimpl
def helmdeck_history_stores() -> Sequence[HistoryStoreSpec]:
    """The built-in stores; their drivers are imported when one is opened."""
    return (
        HistoryStoreSpec(name="sqlite", open=_sqlite, summary="one file, shared by processes"),
        HistoryStoreSpec(name="postgresql", open=_postgres, summary="a PostgreSQL database, shared by hosts"),
        HistoryStoreSpec(name="redis", open=_redis, summary="a Redis server, shared by hosts"),
        HistoryStoreSpec(name="rediss", open=_rediss, summary="a Redis server, over TLS"),
    )


@hookimpl
def helmdeck_histories() -> Sequence[HistorySpec]:
    """The history that learns."""
    return (HistorySpec(name="learning", open=_open),)


@hookimpl
def helmdeck_packs() -> Sequence[Pack]:
    """The packs for facts."""
    from helmdeck_history.memory import packs

    return packs()


def _open(setup: HistorySetup) -> History:
    if not setup.is_enabled:
        from helmdeck_history.deck_history import DeckHistory

        return DeckHistory()
    from helmdeck_history.service import LearningHistory

    return LearningHistory(setup)


def _sqlite(target: str, keep_days: float) -> HistoryStore:
    from helmdeck_core import data_directory
    from helmdeck_history.stores.databases import open_sqlite

    return open_sqlite(Path(target) if target else data_directory() / "history.db", keep_days)


def _postgres(target: str, keep_days: float) -> HistoryStore:
    from helmdeck_history.stores.databases import open_postgres

    return open_postgres(f"postgresql:{target}", keep_days)


def _redis(target: str, keep_days: float) -> HistoryStore:
    return _opened_redis(f"redis:{target}", keep_days)


def _rediss(target: str, keep_days: float) -> HistoryStore:
    return _opened_redis(f"rediss:{target}", keep_days)


def _opened_redis(url: str, keep_days: float) -> HistoryStore:
    from helmdeck_storage import require_driver

    require_driver("redis")
    from helmdeck_history.stores.redis_store import RedisStore

    return RedisStore(url, keep_days)
