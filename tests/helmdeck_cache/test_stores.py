"""The stores of exact answers meet one contract."""

import asyncio

import pytest

from helmdeck_cache.stores import open_store
from helmdeck_cache.stores.memory import OVERHEAD_BYTES, MemoryStore
from helmdeck_cache.stores.sqlite import SqliteStore
from helmdeck_storage import PurgeSchedule, StorageError
from tests.databases_support import redis_prefix


class StoreContract:
    def use(self, url, action, max_bytes=1_000_000):
        async def run():
            store = open_store(url, max_bytes=max_bytes)
            try:
                return await action(store)
            finally:
                await store.aclose()

        return asyncio.run(run())

    def test_the_last_bytes_of_a_key_are_kept_for_its_tenant_alone(self, url):
        async def action(store):
            await store.put("ada", "k", b"first", 60)
            await store.put("ada", "k", b"\0second\xff", 60)
            await store.put("bob", "k", b"other", 60)
            return [await store.get(*each) for each in (("ada", "k"), ("bob", "k"), ("eve", "k"), ("ada", "none"))]

        assert self.use(url, action) == [b"\0second\xff", b"other", None, None]

    def test_expired_bytes_are_gone(self, url):
        async def action(store):
            await store.put("ada", "k", b"x", 0.000_001)
            for _ in range(2_000):  # Redis expires keys by the millisecond
                if await store.get("ada", "k") is None:
                    break
            return (await store.stats())["answers"]

        assert self.use(url, action) == 0

    def test_figures_and_deletion_by_tenant(self, url):
        async def action(store):
            before = await store.stats()
            for number in range(3):
                await store.put("ada", str(number), b"12345", 60)
            await store.put("bob*", "k", b"12345", 60)
            figures = await store.stats()
            deleted = await store.clear("ada"), await store.clear("ada"), await store.get("bob*", "k")
            return before, figures, deleted, await store.clear(), (await store.stats())["answers"]

        before, figures, deleted, rest, left = self.use(url, action)
        assert before == {"answers": 0, "bytes": 0, "tenants": 0}
        assert (figures["answers"], figures["tenants"]) == (4, 2)
        assert 20 <= figures["bytes"] <= 20 + 4 * OVERHEAD_BYTES
        assert (deleted, rest, left) == ((3, 0, b"12345"), 1, 0)


class TestMemory(StoreContract):
    @pytest.fixture
    def url(self):
        return "memory:"

    def test_the_least_recently_used_bytes_are_removed_first(self):
        async def run():
            store = MemoryStore(3 * (OVERHEAD_BYTES + 10))
            for key in "abc":
                await store.put("t", key, bytes(10), 60)
            await store.get("t", "a")
            await store.put("t", "d", bytes(10), 60)
            kept = [key for key in "abcd" if await store.get("t", key)]
            await store.put("t", "large", bytes(10_000), 60)
            return kept, await store.get("t", "large"), (await store.stats())["bytes"]

        assert asyncio.run(run()) == (["a", "c", "d"], None, 0)


class TestSqlite(StoreContract):
    @pytest.fixture
    def url(self, tmp_path):
        return f"sqlite:{tmp_path / 'new' / 'cache.db'}"

    def test_bytes_are_bounded_and_outlive_the_process(self, tmp_path):
        async def run():
            store = SqliteStore(tmp_path / "c.db", 5_500)
            for number in range(20):
                store._purges = PurgeSchedule()  # every write removes what is too much
                await store.put("t", str(number), bytes(1_000), 60)
            await store.aclose()
            again = SqliteStore(tmp_path / "c.db", 5_500)
            kept = [number for number in range(20) if await again.get("t", str(number))]
            await again.aclose()
            return kept

        assert asyncio.run(run()) == [15, 16, 17, 18, 19]


class TestRedis(StoreContract):
    @pytest.fixture
    def url(self):
        with redis_prefix() as url:
            yield url


def test_a_url_that_is_no_store_is_an_error_without_its_password():
    for url in ("postgresql://u:hunter22@h/d", "redis://u:hunter22@h:port/0", "hunter22"):
        with pytest.raises(StorageError) as caught:
            open_store(url, max_bytes=1)
        assert "hunter22" not in str(caught.value)
        assert "cache.store" in str(caught.value)
