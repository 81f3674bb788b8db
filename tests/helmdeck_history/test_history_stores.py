"""All built-in stores meet one contract; no record is lost or written twice when a process or connection ends."""

import multiprocessing
import os
import random
import signal
import time
import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helmdeck_core import RecordedStep
from helmdeck_history import HistoryError, Scope, projections, record_to_row
from helmdeck_history.stores.databases import open_postgres, open_sqlite
from helmdeck_history.stores.redis_store import RedisStore
from helmdeck_testing import HistoryStoreContract
from helmdeck_testing.history_contract import make_record
from tests.databases_support import emptied, postgres_schema, redis_prefix

FORK = multiprocessing.get_context("fork")


@pytest.fixture(scope="module")
def postgres():
    with postgres_schema() as made:
        yield made


@pytest.fixture
def empty_postgres(postgres):
    return emptied(postgres, "history_schema")


@pytest.fixture
def redis_url():
    with redis_prefix() as url:
        yield url


class TestSqlite(HistoryStoreContract):
    @pytest.fixture
    def open_store(self, tmp_path):
        return lambda keep_days=30.0: open_sqlite(tmp_path / "history.db", keep_days)


class TestPostgres(HistoryStoreContract):
    @pytest.fixture
    def open_store(self, empty_postgres):
        return lambda keep_days=30.0: open_postgres(empty_postgres, keep_days)


class TestRedis(HistoryStoreContract):
    @pytest.fixture
    def open_store(self, redis_url):
        return lambda keep_days=30.0: RedisStore(redis_url, keep_days)


# -- the stores compute the same --------------------------------------------------------------------------------

SHAS = st.sampled_from(["a" * 16, "b" * 16, "c" * 16, ""])
RECORDS = st.lists(
    st.builds(
        lambda sha, tools, style, age_s, cause: make_record(
            "ada",
            intent_sha=sha,
            age_s=age_s,
            cause=cause,
            sketch={"a": (1, 2, 3, 4), "b": (2, 3, 4, 5), "c": (9,)}.get(sha[:1], ()),
            steps=tuple(RecordedStep(n, tool, "", {"style": style}) for n, tool in enumerate(tools, 1)),
        ),
        SHAS,
        st.lists(st.sampled_from(["x", "y", "z", "unknown"]), max_size=3),
        st.sampled_from(["photo", "sketch"]),
        st.integers(1, 2_000_000),
        st.sampled_from([None, None, "likely_timeout"]),
    ),
    max_size=12,
)


@settings(max_examples=10)
@given(records=RECORDS, sha=SHAS.filter(bool))
def test_stores_compute_what_follows_from_their_records(tmp_path_factory, records, sha):
    store = open_sqlite(tmp_path_factory.mktemp("h") / "h.db", 30.0)
    store.add_all(records)
    newest, now, sketch = store.plans("ada"), time.time(), (1, 2, 3, 4)
    assert store.weights("ada", sha, sketch, now) == pytest.approx(projections.weights(newest, sha, sketch, now))
    assert store.groups("ada", 10) == projections.groups(newest, 10)
    assert store.similar("ada", sha, sketch, 10) == projections.similar(newest, sha, sketch, 10)
    assert sorted(store.values("ada", 100)) == sorted(projections.values(newest, 100))
    store.forget("ada", Scope(tool="x"))
    kept = store.plans("ada")
    assert store.weights("ada", sha, sketch, now) == pytest.approx(projections.weights(kept, sha, sketch, now))
    later = now + 20 * 86_400  # some records have expired by then, and are still in the tables
    valid = [record for record in kept if record.time >= later - 30 * 86_400]
    assert store.weights("ada", sha, sketch, later) == pytest.approx(projections.weights(valid, sha, sketch, later))
    store.forget("ada", Scope())
    with store.database.session(writes=False) as session:
        for table in ("history_part_digest", "history_intent_digest"):
            assert session.rows(f"SELECT * FROM {table}") == [], "nothing that was derived is left"
    store.close()


def test_digests_equal_the_statements_that_they_replace(tmp_path):
    store, rng = open_sqlite(tmp_path / "h.db", 30.0), random.Random(4)
    store.add_all(
        [
            make_record(
                "ada",
                *rng.choices("abcdef", k=rng.randrange(3)),
                intent_sha=f"{number % 60:016}",
                sketch=tuple(sorted(random.Random(number % 60).sample(range(24), 1 + number % 12))),
                age_s=rng.randrange(2_000_000),
            )
            for number in range(400)
        ]
    )
    now, compared = time.time(), 0
    for _ in range(30):
        sketch = tuple(sorted(rng.sample(range(24), rng.randrange(9))))
        found = store.weights("ada", "x", sketch, now)
        assert found == pytest.approx(store.computed_weights("ada", "x", sketch, now))
        compared += bool(found)
    assert compared > 10
    store.close()


STORES = pytest.mark.parametrize(
    ("open_store", "fixture"),
    [(open_sqlite, None), (open_postgres, "empty_postgres"), (RedisStore, "redis_url")],
    ids=["sqlite", "postgres", "redis"],
)


@STORES
def test_groups_follow_from_the_records_in_every_store(request, tmp_path, open_store, fixture):
    store = open_store(request.getfixturevalue(fixture) if fixture else tmp_path / "h.db", 30.0)
    rng, now = random.Random(5), int(time.time())
    records = [
        make_record(
            "ada",
            *rng.choices("abcdefgh", k=rng.randrange(4)),
            intent_sha=rng.choice(["", *(letter * 16 for letter in "abcdefgh")]),
            sketch=tuple(range(rng.randrange(4), 6)),
            model=rng.choice(["m1", "m2", "m3", "m4", ""]),
            cause=rng.choice([None, None, None, "likely_timeout"]),
            time=now - number,
        )
        for number in range(150)
    ]
    for start in range(0, 150, 50):
        store.add_all(records[start : start + 50])
    assert store.groups("ada", 5) == projections.groups(records, 5)
    assert store.forget("ada", Scope(tool="a")) > 5
    kept = [record for record in records if all(step.tool != "a" for step in record.steps)]
    assert store.groups("ada", 25) == projections.groups(kept, 25)
    store.close()


# -- processes --------------------------------------------------------------------------------------------------


def write_many(open_store, url, caller, count):
    store = open_store(url, 30.0)
    for number in range(count):
        store.add(make_record(caller, f"tool.{number % 7}", model=f"{os.getpid()}-{number}", sketch=(1, number)))
    store.close()


@STORES
def test_processes_that_write_at_once_lose_no_record(request, tmp_path, open_store, fixture):
    url = request.getfixturevalue(fixture) if fixture else tmp_path / "history.db"
    processes = [FORK.Process(target=write_many, args=(open_store, url, "ada", 25)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    store = open_store(url, 30.0)
    assert len({each.model for each in store.plans("ada", 1_000)}) == 100
    assert sum(group.plans for group in store.groups("ada", 10)) == 100
    store.close()


def write_until_killed(path, started):
    store = open_sqlite(path, 30.0)
    number = 0
    while True:
        number += 1
        store.add_all([make_record("ada", "x", "y", model=f"{number}", sketch=(1, 2, 3)) for _ in range(3)])
        if number == 5:
            started.set()


def test_killed_process_leaves_no_half_row_and_no_corrupt_file(tmp_path):
    path, started = tmp_path / "history.db", FORK.Event()
    process = FORK.Process(target=write_until_killed, args=(path, started), daemon=True)
    process.start()
    assert started.wait(60)
    os.kill(process.pid, signal.SIGKILL)
    process.join(60)
    store = open_sqlite(path, 30.0)
    rows = store.plans("ada", 100_000)
    assert len(rows) >= 15 and len(rows) % 3 == 0, "batches are complete"
    with store.database.session(writes=False) as session:
        assert session.rows("PRAGMA integrity_check") == [("ok",)]
        assert session.rows("SELECT COUNT(*) FROM history_step") == [(2 * len(rows),)]
    store.add(make_record())
    assert len(store.plans("ada", 100_000)) == len(rows) + 1
    store.close()


# -- rows ------------------------------------------------------------------------------------------


def test_rows_are_plain_data_that_json_can_represent():
    row = record_to_row(make_record("ada", "x", sketch=(1,)))
    assert {type(value) for value in row.values()} <= {str, int, float, list, type(None)}


# -- errors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["postgresql", "redis"])
def test_server_that_is_not_reachable_is_an_error_without_the_password(answering, scheme):
    url = f"{scheme}://ada:Pa55word@127.0.0.1:1/0"
    deck, _ = answering("{}", config={"history": {"url": url}})
    with pytest.raises(
        HistoryError, match=r"the plan history cannot be read or written: .*; check \[history\] url"
    ) as caught:
        deck.history.records()
    assert "Pa55word" not in "".join(traceback.format_exception(caught.value))
    assert deck.plan("draft a post", model="local/lexical").steps
    deck.close()


@pytest.mark.parametrize(("scheme", "extra"), [("postgresql", "postgres"), ("redis", "redis"), ("rediss", "redis")])
def test_missing_driver_names_the_extra(answering, monkeypatch, scheme, extra):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    deck, _ = answering("{}", config={"history": {"url": f"{scheme}://localhost"}})
    with pytest.raises(HistoryError, match=rf"pip install 'helmdeck\[{extra}\]'"):
        deck.history.records()


def test_file_that_cannot_be_written_is_an_error_of_its_setting_and_not_of_the_plugin(answering, tmp_path):
    (tmp_path / "occupied").write_text("")
    deck, _ = answering("{}", config={"history": {"url": f"sqlite:{tmp_path / 'occupied' / 'history.db'}"}})
    with pytest.raises(HistoryError, match=r"cannot be read or written: .*history\.db.*; check \[history\] url"):
        deck.history.records()
    with pytest.raises(HistoryError, match=r"check \[history\] url"):
        deck.run("helmdeck.memory_store", {"text": "tea at four"})
    deck.close()
