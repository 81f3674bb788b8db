"""The stores of the gateway meet one contract."""

import asyncio
import stat
import uuid

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmdeck_gateway.stores import open_store
from helmdeck_gateway.stores.contract import NOON_S, GatewayStoreContract, admit
from helmdeck_gateway.stores.memory import MemoryStore
from helmdeck_gateway.stores.postgres import PostgresStore
from helmdeck_gateway.stores.records import Limits, Node, Open, Refusal, periods, seconds_left, to_nusd
from helmdeck_gateway.stores.sqlite import SqliteStore
from helmdeck_storage import PurgeSchedule, StorageError
from tests.case_support import each_case
from tests.databases_support import emptied, postgres_schema, redis_prefix


@pytest.fixture(scope="module")
def postgres():
    with postgres_schema() as made:
        yield made


@pytest.fixture
def postgres_url(postgres):
    return emptied(postgres, "gateway_schema")


@pytest.fixture
def redis_url():
    with redis_prefix() as url:
        yield url


def kept_of_a_limit_in_bytes(use, open_with):
    """The numbers of the documents of 1,000 bytes that are left of 30 under a limit of 5,500 bytes."""

    async def run(_):
        store = open_with(max_bytes=5_500)
        for number in range(30):
            store._purges = PurgeSchedule()  # every write removes what is too much
            await store.put("response", str(number), "ada", bytes(1_000), 60)
        await store.put("turn", "other", "ada", b"x", 60)
        kept = [number for number in range(30) if await store.get("response", str(number), "ada")]
        await store.put("response", "large", "ada", bytes(9_000), 60)
        kept.append(len(await store.get("response", "large", "ada")))
        await store.aclose()
        return kept

    return use(run)


class TestMemory(GatewayStoreContract):
    @pytest.fixture
    def open_store(self):
        return MemoryStore

    test_documents_are_shared_by_all_who_open_the_storage = None  # memory belongs to one object


class TestSqlite(GatewayStoreContract):
    @pytest.fixture
    def open_store(self, tmp_path):
        return lambda **options: open_store(f"sqlite:{tmp_path / 'new' / 'gateway.db'}", **options)

    def test_documents_are_bounded_in_bytes(self, use, tmp_path):
        kept = kept_of_a_limit_in_bytes(use, lambda **options: SqliteStore(tmp_path / "bytes.db", **options))
        assert kept == [*range(25, 30), 9_000]

    def test_only_its_owner_can_read_the_file(self, use, tmp_path):
        use(lambda store: store.put("response", "r", "ada", b"x", 60))
        assert stat.S_IMODE((tmp_path / "new" / "gateway.db").stat().st_mode) == 0o600


class TestPostgres(GatewayStoreContract):
    @pytest.fixture
    def open_store(self, postgres_url):
        return lambda **options: open_store(postgres_url, **options)

    def test_documents_are_bounded_in_bytes(self, use, postgres_url):
        kept = kept_of_a_limit_in_bytes(use, lambda **options: PostgresStore(postgres_url, **options))
        assert kept == [*range(25, 30), 9_000]


class TestRedis(GatewayStoreContract):
    @pytest.fixture
    def open_store(self, redis_url):
        return lambda **options: open_store(redis_url, **options)


# -- the stores compute the same --------------------------------------------------------------------------------

CALLS = st.sampled_from(["c1", "c2", "c3", "c4", "c5"])
AMOUNTS = st.integers(0, 60)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("admit"), CALLS, AMOUNTS, st.sampled_from([1.0, 40.0, 100_000.0]), AMOUNTS),
        st.tuples(st.just("settle"), CALLS, AMOUNTS, AMOUNTS),
        st.tuples(st.just("renew"), CALLS, AMOUNTS, AMOUNTS),
        st.tuples(st.just("wait"), st.sampled_from([0.5, 30.0, 50_000.0, 1_300_000.0])),
    ),
    max_size=25,
)
LIMITS = st.builds(
    Limits,
    rate=st.none() | st.integers(1, 3),
    concurrency=st.none() | st.integers(1, 3),
    day_nusd=st.none() | st.integers(0, 100),
    month_nusd=st.none() | st.integers(0, 200),
    tokens=st.none() | st.integers(1, 100),
)


async def played(store, account, steps, limits):
    """The results of steps of one to three nodes, and the usage of each node after each of them."""
    accounts = [f"{account}-{place}" for place in range(len(limits))]
    nodes = [Node(*pair) for pair in zip(accounts, limits, strict=True)]
    now, results = NOON_S, []
    for name, *rest in steps:
        match name:
            case "admit":
                call, held, lease_s, tokens = rest
                result = await store.admit(nodes, Open(call, held, tokens), lease_s, now_s=now)
                if isinstance(result, Refusal):
                    result = attrs.evolve(result, retry_after_s=round(result.retry_after_s, 5))
                results.append(result)
            case "settle":
                results.append(await store.settle(accounts, *rest))
            case "renew":
                await store.renew(accounts, [Open(*rest)], 40, now_s=now)
            case _:
                now += rest[0]
        results += [await store.usage(each, now_s=now) for each in accounts]
    return results


@pytest.fixture(scope="module")
def account_stores(postgres, tmp_path_factory):
    """The stores with their event loop, which all examples use."""
    with redis_prefix() as redis, asyncio.Runner() as runner:
        urls = [f"sqlite:{tmp_path_factory.mktemp('gateway') / 'g.db'}", postgres[0], redis]
        stores = [open_store(url) for url in urls]
        yield runner, stores
        for store in stores:
            runner.run(store.aclose())


@settings(max_examples=25)
@given(steps=STEPS, limits=st.lists(LIMITS, min_size=1, max_size=3))
def test_stores_account_as_memory_does(account_stores, steps, limits):
    runner, stores = account_stores
    account = uuid.uuid4().hex

    async def run():
        expected = await played(MemoryStore(), account, steps, limits)
        for store in stores:
            assert await played(store, account, steps, limits) == expected

    runner.run(run())


@pytest.mark.parametrize(
    ("now_s", "expected", "left_s"),
    [
        (0.0, ("1970-01-01", "1970-01"), (86_400, 31 * 86_400)),
        (951_782_399.0, ("2000-02-28", "2000-02"), (1, 86_401)),
        (1_798_761_599.0, ("2026-12-31", "2026-12"), (1, 1)),
    ],
)
def test_days_and_months_are_those_of_utc(now_s, expected, left_s):
    assert (periods(now_s), seconds_left(now_s)) == (expected, left_s)


@given(now_s=st.floats(0, 4_000_000_000))
@settings(max_examples=25)
def test_stores_agree_on_days(account_stores, now_s):
    runner, stores = account_stores
    account, now_s = uuid.uuid4().hex, round(now_s, 3)
    limits = Limits(day_nusd=0, month_nusd=0)
    for each in (limits, Limits(day_nusd=0)):
        found = [runner.run(admit(store, account, "c", each, 0, 1, now_s=now_s)) for store in stores]
        expected = runner.run(admit(MemoryStore(), account, "c", each, 0, 1, now_s=now_s))
        assert [round(each.retry_after_s, 2) for each in found] == [round(expected.retry_after_s, 2)] * 3


@each_case(
    ("usd", "nusd"), [(0.0, 0), (1.0, 10**9), (0.1 + 0.2, 300_000_000), (1e-10, 1), (-5.0, 0), (1e300, 9 * 10**15)]
)
def test_amounts_are_rounded_up(usd, nusd):
    assert to_nusd(usd) == nusd


# -- bounds and errors ------------------------------------------------------------------------------------------


def test_memory_is_bounded_by_bytes():
    async def run():
        store = MemoryStore(max_bytes=100)
        for name in "abc":
            await store.put("response", name, "ada", bytes(40), 60)
        return [await store.get("response", name, "ada") is not None for name in "abc"]

    assert asyncio.run(run()) == [False, True, True]


@pytest.mark.parametrize(
    "url", ["postgresql://ada:s3cret@127.0.0.1:9/x", "redis://:s3cret@127.0.0.1:9", "sqlite:/dev/null/x"]
)
def test_store_that_does_not_answer_is_an_error_without_its_password(url):
    async def run():
        store = open_store(url)
        try:
            with pytest.raises(StorageError) as caught:
                await store.get("response", "r", "ada")
        finally:
            await store.aclose()
        return caught.value

    error = asyncio.run(run())
    assert "s3cret" not in f"{error}{error!r}{error.__cause__!r}"


@pytest.mark.parametrize("url", ["mysql://ada:s3cret@x", "s3cret"])
def test_unknown_store_is_an_error_without_its_password(url):
    with pytest.raises(StorageError, match="is not a store; allowed: sqlite:PATH") as caught:
        open_store(url)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "redis://:s3cret/x@host:6379",
        "redis://[s3cret",
        "redis://ada:pw@host?socket_timeout=s3cret",
        "postgresql://ada:s3cret%zz@host/d",
        "postgresql://ada:pw@s3cret@host/d",
        "postgresql:s3cret",
    ],
)
def test_malformed_url_is_an_error_without_its_password(url):
    with pytest.raises(StorageError, match="gateway.store: the URL is malformed; characters such as") as caught:
        open_store(url)
    shown = f"{caught.value}{caught.value!r}{caught.value.__cause__!r}"
    assert "s3cret" not in shown
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_newer_schema_is_refused(tmp_path):
    import sqlite3

    sqlite3.connect(tmp_path / "g.db").execute("PRAGMA user_version = 99").connection.close()

    async def run():
        store = open_store(f"sqlite:{tmp_path / 'g.db'}")
        try:
            await store.get("response", "r", "ada")
        finally:
            await store.aclose()

    with pytest.raises(StorageError, match="newer release"):
        asyncio.run(run())
