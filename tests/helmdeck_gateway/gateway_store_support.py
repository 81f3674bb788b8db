"""URLs of empty stores for gateways: SQLite, PostgreSQL, Redis."""

import pytest

from tests.databases_support import postgres_schema, redis_prefix


@pytest.fixture(params=["sqlite", "postgresql", "redis"])
def store_url(request, tmp_path):
    """The URL of a store that is removed at the end."""
    match request.param:
        case "sqlite":
            yield f"sqlite:{tmp_path / 'gateway.db'}"
        case "postgresql":
            with postgres_schema() as (url, _, _):
                yield url
        case _:
            with redis_prefix() as url:
                yield url
