"""PostgreSQL schemas and Redis prefixes of tests, which are removed at the end; a test is skipped where no server runs."""

import contextlib
import os
import uuid

import pytest

POSTGRES_URL = os.environ.get("HELMDECK_TEST_POSTGRES_URL", "postgresql://postgres@localhost:5432/postgres")
REDIS_URL = os.environ.get("HELMDECK_TEST_REDIS_URL", "redis://localhost:6379/0")


@contextlib.contextmanager
def postgres_schema():
    """Yield the URL of a new schema, a connection, and the name of the schema."""
    import psycopg

    try:
        connection = psycopg.connect(POSTGRES_URL, autocommit=True, connect_timeout=2)
    except psycopg.OperationalError as exc:
        pytest.skip(f"no PostgreSQL at HELMDECK_TEST_POSTGRES_URL or its default: {exc}")
    schema = f"helmdeck_{uuid.uuid4().hex[:12]}"
    with connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        separator = "&" if "?" in POSTGRES_URL else "?"
        yield f"{POSTGRES_URL}{separator}options=-csearch_path%3D{schema}", connection, schema
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


def emptied(postgres, version_table):
    """Return the URL of a schema after all its tables but the one of the version are emptied."""
    url, connection, schema = postgres
    tables = connection.execute(
        "SELECT tablename, hastriggers FROM pg_tables WHERE schemaname = %s AND tablename <> %s",
        (schema, version_table),
    ).fetchall()
    guarded = [f"{schema}.{name}" for name, has_triggers in tables if has_triggers]  # such as the audit log
    for name in guarded:
        connection.execute(f"ALTER TABLE {name} DISABLE TRIGGER USER")
    if tables:
        connection.execute(f"TRUNCATE {', '.join(f'{schema}.{name}' for name, _ in tables)}")
    for name in guarded:
        connection.execute(f"ALTER TABLE {name} ENABLE TRIGGER USER")
    return url


@contextlib.contextmanager
def redis_prefix():
    """Yield a URL with a new prefix of keys."""
    import redis

    client = redis.Redis.from_url(REDIS_URL, socket_connect_timeout=2)
    try:
        client.ping()
    except redis.RedisError as exc:
        pytest.skip(f"no Redis at HELMDECK_TEST_REDIS_URL or its default: {exc}")
    prefix = f"helmdeck-test-{uuid.uuid4().hex[:12]}"
    with client:
        yield f"{REDIS_URL}?prefix={prefix}"
        if keys := list(client.scan_iter(f"{prefix}*", count=1000)):
            client.delete(*keys)
