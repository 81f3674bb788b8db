"""The history of plans: one row a plan, hashes and names only, apart by caller."""

import hashlib
import multiprocessing
import sqlite3
import time

import pytest

from helmdeck_core import (
    HistoryFailed,
    HistoryStoreSpec,
    LikelyTimeout,
    PlanRecord,
    PluginError,
    RecordedStep,
    args_sha,
    hookimpl,
    intent_sha,
)
from helmdeck_plugins.history import SqliteHistory
from helmdeck_testing import EventRecorder

FREE = "openrouter/openrouter/free"
GOOD = '{"steps":[{"tool":"blog.draft","args":{"brief":"secret words"},"rationale":"r"}],"reasoning":"x"}'


@pytest.fixture
def history(answering, tmp_path):
    def make(*replies, **options):
        config = {"history": {"url": f"sqlite:{tmp_path / 'deep' / 'history.db'}"}, **options.pop("config", {})}
        return answering(*replies, config=config, **options)[0]

    return make


def record(caller="ada", **changes):
    values = {"intent_sha": "0" * 16, "outcome": "planned", "model": "a/b", "duration_s": 1.0, "time": time.time()}
    return PlanRecord(caller=caller, **{**values, **changes})


def test_plan_adds_one_row_with_hashes_and_metadata(history):
    deck, before = history(GOOD), time.time()
    deck.plan("  Draft A Post ", model=FREE, caller="ada")
    (row,) = deck.plan_history("ada")
    assert row.intent_sha == hashlib.sha256(b"draft a post").hexdigest()[:16] == intent_sha("draft a post")
    assert (row.complexity, row.outcome, row.model, row.cause) == ("single-action", "planned", FREE, None)
    assert row.steps == (RecordedStep(1, "blog.draft", args_sha({"brief": "secret words"})),)
    assert before <= row.time <= time.time() and row.duration_s >= 0


def test_failed_plan_is_recorded_with_its_cause(history):
    deck = history("")
    with pytest.raises(LikelyTimeout):
        deck.plan("draft a post", model=FREE)
    (row,) = deck.plan_history()
    assert (row.outcome, row.cause, row.steps, row.complexity) == ("failed", "likely_timeout", (), None)


def test_file_contains_no_request_or_argument_text(history, tmp_path):
    deck = history(GOOD)
    deck.plan("draft a clandestine post", model=FREE)
    content = b"".join(path.read_bytes() for path in (tmp_path / "deep").iterdir())
    assert b"blog.draft" in content
    assert b"clandestine" not in content and b"secret words" not in content


def test_callers_are_isolated(history):
    deck = history(GOOD)
    for caller in ("ada", "bob", "ada"):
        deck.plan("draft a post", model=FREE, caller=caller)
    assert [len(deck.plan_history(caller)) for caller in ("ada", "bob", "eve")] == [2, 1, 0]


def test_no_store_records_nothing_and_raises_nothing(answering):
    deck, _ = answering(GOOD)
    deck.plan("draft a post", model=FREE)
    assert deck.plan_history() == ()


def test_failed_write_does_not_fail_the_plan(history, tmp_path):
    recorder = EventRecorder()
    deck = history(GOOD, beside=(recorder,))
    deck.plan("draft a post", model=FREE)
    with sqlite3.connect(tmp_path / "deep" / "history.db") as connection:
        connection.execute("DROP TABLE plan_history")
    connection.close()
    assert deck.plan("draft a post", model=FREE).steps
    (failed,) = recorder.of(HistoryFailed)
    assert "plan_history" in failed.detail


def test_unopenable_store_does_not_fail_the_plan(answering, tmp_path):
    (tmp_path / "file").write_text("in the way")
    deck, _ = answering(GOOD, config={"history": {"url": f"sqlite:{tmp_path / 'file' / 'history.db'}"}})
    assert deck.plan("draft a post", model=FREE).steps


def test_locked_store_blocks_neither_the_loop_nor_every_plan(history, tmp_path, monkeypatch):
    import asyncio

    import helmdeck_plugins.history as module

    recorder, ticks = EventRecorder(), []

    async def run(deck):
        async def tick():
            while True:
                ticks.append(True)
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        for _ in range(5):
            await deck.aplan("draft a post", model=FREE)
        ticking.cancel()

    monkeypatch.setattr(module, "BUSY_TIMEOUT_S", 0.2)
    deck = history(GOOD, beside=(recorder,))
    deck.plan("draft a post", model=FREE)
    with sqlite3.connect(tmp_path / "deep" / "history.db", isolation_level=None) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        asyncio.run(run(deck))
        connection.execute("ROLLBACK")
    connection.close()
    assert len(recorder.of(HistoryFailed)) == 1, "the others did not wait for it"
    assert len(ticks) > 20, "the event loop kept running"


def test_records_expire(tmp_path):
    store = SqliteHistory(str(tmp_path / "h.db"), keep_days=1)
    store.add(record(time=time.time() - 90_000))
    assert store.plans("ada") == ()
    store.add(record())
    assert len(store.plans("ada")) == 1
    with sqlite3.connect(tmp_path / "h.db") as connection:
        assert connection.execute("SELECT count(*) FROM plan_history").fetchone() == (1,)
    connection.close()


def test_records_are_newest_first(tmp_path):
    store = SqliteHistory(str(tmp_path / "h.db"), keep_days=1)
    now = time.time()
    for age in (30, 10, 20):
        store.add(record(time=now - age, model=str(age)))
    assert [each.model for each in store.plans("ada")] == ["10", "20", "30"]
    assert [each.model for each in store.plans("ada", limit=1)] == ["10"]


def write_many(path, caller):
    store = SqliteHistory(path, keep_days=1)
    for number in range(20):
        store.add(record(caller, model=f"m{number}"))


def test_concurrent_processes_can_write(tmp_path):
    path = str(tmp_path / "h.db")
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=write_many, args=(path, "ada")) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    assert len(SqliteHistory(path, keep_days=1).plans("ada")) == 80


def test_argument_hash_ignores_their_order():
    assert args_sha({"a": 1, "b": [2]}) == args_sha({"b": [2], "a": 1}) != args_sha({"a": 1})


def test_unknown_url_scheme_is_a_mistake_with_the_valid_ones(answering):
    from helmdeck_core import ConfigError

    with pytest.raises(ConfigError, match=r"history\.url.*sqlite:"):
        answering(GOOD, config={"history": {"url": "redis://localhost"}})


# -- stores that fail -------------------------------------------------------------------------------------------


class Odd(BaseException):
    """Not an Exception."""


class Store:
    """A store that fails for the callers in ``failing``, or for all."""

    def __init__(self, failure, failing=None):
        self.failure, self.failing, self.callers = failure, failing, []

    @hookimpl
    def helmdeck_history_stores(self):
        return (HistoryStoreSpec(name="odd", open=lambda target, days: self, summary="fails"),)

    def add(self, record):
        self.use(record.caller)

    def plans(self, caller, limit=100):
        self.use(caller)
        return ()

    def use(self, caller):
        self.callers.append(caller)
        if self.failing is None or caller in self.failing:
            raise self.failure


ODD = {"history": {"url": "odd:hugo:Pa55word@host"}}


def test_caller_whose_id_cannot_be_stored_does_not_disable_the_history_of_others(history):
    recorder = EventRecorder()
    deck = history(GOOD, beside=(recorder,))
    for caller in ("\ud800", "ada", "\ud800", "ada"):
        assert deck.plan("draft a post", model=FREE, caller=caller).steps
    assert len(deck.plan_history("ada")) == 2
    assert [event.caller for event in recorder.of(HistoryFailed)] == ["\ud800"]


def test_store_that_fails_for_two_callers_in_a_row_is_disabled_for_all(answering):
    store = Store(OSError("disk full"))
    deck, _ = answering(GOOD, beside=(store,), config=ODD)
    for caller in ("ada", "ada", "bob", "bob", "eve", "ada"):
        deck.plan("draft a post", model=FREE, caller=caller)
    assert store.callers == ["ada", "bob"]


@pytest.mark.parametrize("failure", [StopIteration("x"), SystemExit(3), Odd("x"), MemoryError(), RecursionError()])
def test_no_exception_of_a_store_changes_a_plan(answering, failure):
    recorder = EventRecorder()
    deck, _ = answering(GOOD, beside=(Store(failure), recorder), config=ODD)
    assert deck.plan("draft a post", model=FREE).steps
    (failed,) = recorder.of(HistoryFailed)
    assert type(failure).__name__ in failed.detail


@pytest.mark.parametrize("failure", [OSError("Pa55word"), StopIteration("x"), SystemExit(3), Odd("x")])
def test_failure_to_read_the_history_names_the_plugin_and_no_secret(answering, failure):
    deck, _ = answering(GOOD, beside=(Store(failure),), config=ODD)
    with pytest.raises(
        PluginError, match=f"failed in helmdeck_history_stores: odd: {type(failure).__name__}"
    ) as caught:
        deck.plan_history("ada")
    assert "Pa55word" not in str(caught.value) + "".join(caught.value.__notes__)
    assert caught.value.__context__ is None


def test_store_that_cannot_be_opened_is_named_whatever_it_raises(answering):
    class Broken:
        @hookimpl
        def helmdeck_history_stores(self):
            def fail(target, days):
                raise Odd("no")

            return (HistoryStoreSpec(name="odd", open=fail, summary="fails"),)

    deck, _ = answering(GOOD, beside=(Broken(),), config=ODD)
    with pytest.raises(PluginError, match="odd: Odd: no"):
        deck.plan_history()
    assert deck.plan("draft a post", model=FREE).steps
