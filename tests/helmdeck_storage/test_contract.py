"""SQLite, PostgreSQL and Redis pass the contract of storage."""

import pytest

from helmdeck_storage import PostgresDatabase, RedisServer, SqliteDatabase
from helmdeck_storage.contract import LEDGER, RedisLedger, SqlLedger, StorageContract
from tests.databases_support import REDIS_URL, postgres_schema, redis_prefix


class TestSqlite(StorageContract):
    @pytest.fixture
    def open_ledger(self, tmp_path):
        return lambda: SqlLedger(SqliteDatabase(tmp_path / "new" / "ledger.db", LEDGER, busy_timeout_s=60.0))


class TestPostgres(StorageContract):
    @pytest.fixture
    def postgres(self):
        with postgres_schema() as made:
            yield made

    @pytest.fixture
    def open_ledger(self, postgres):
        url = f"{postgres[0]}&application_name={postgres[2]}"
        return lambda: SqlLedger(PostgresDatabase(url, LEDGER))

    @pytest.fixture
    def end_connections(self, postgres):
        statement = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
        return lambda: len(postgres[1].execute(statement, (postgres[2],)).fetchall())


class TestRedis(StorageContract):
    @pytest.fixture
    def redis_url(self):
        with redis_prefix() as url:
            yield url

    @pytest.fixture
    def open_ledger(self, redis_url):
        name = redis_url.rpartition("=")[2]
        return lambda: RedisLedger(RedisServer(f"{redis_url}&client_name={name}", "ledger", "helmdeck-test"))

    @pytest.fixture
    def end_connections(self, redis_url):
        import redis

        def end():
            with redis.Redis.from_url(REDIS_URL) as client:
                name = redis_url.rpartition("=")[2]
                ids = [each["id"] for each in client.client_list() if each["name"] == name]
                return sum(client.client_kill_filter(_id=each) for each in ids)

        return end
