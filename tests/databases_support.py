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
        connection.execute("SET synchronous_commit = off")
        connection.execute(f"CREATE SCHEMA {schema}")
        separator = "&" if "?" in POSTGRES_URL else "?"
        # Without it, each commit waits for the disk, which only matters to a server that crashes.
        options = f"-csearch_path%3D{schema}%20-csynchronous_commit%3Doff"
        yield f"{POSTGRES_URL}{separator}options={options}", connection, schema
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


def emptied(postgres, version_table):
    """Return the URL of a schema after all its tables but the one of the version are emptied."""
    url, connection, schema = postgres
    tables = connection.execute(
        "SELECT tablename, hastriggers FROM pg_tables WHERE schemaname = %s AND tablename <> %s",
        (schema, version_table),
    ).fetchall()
    statements = []  # deleting a few rows takes a tenth of truncating their tables
    for name, has_triggers in tables:
        table = f"{schema}.{name}"
        if not has_triggers:
            statements.append(f"DELETE FROM {table}")
        elif connection.execute(f"SELECT FROM {table} LIMIT 1").rowcount:  # such as the audit log
            change = f"ALTER TABLE {table} {{}} TRIGGER USER"
            statements += [change.format("DISABLE"), f"DELETE FROM {table}", change.format("ENABLE")]
    connection.execute("; ".join(statements))
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
