"""The history of plans: one row a plan, hashes and names only, apart by caller."""

import asyncio
import hashlib
import sqlite3
import threading
import time

import pytest

from helmdeck_core import (
    HistoryFailed,
    HistoryStoreSpec,
    LikelyTimeout,
    PackError,
    PluginError,
    RecordedStep,
    args_sha,
    hookimpl,
    intent_sha,
)
from helmdeck_history import writer
from helmdeck_history.access import HistoryError
from helmdeck_history.stores import databases
from helmdeck_planner.packs import questions
from helmdeck_testing import EventRecorder

FREE = "openrouter/openrouter/free"
GOOD = '{"steps":[{"tool":"blog.draft","args":{"brief":"secret words"},"rationale":"r"}],"reasoning":"x"}'


@pytest.fixture
def history(answering, tmp_path):
    def make(*replies, **options):
        config = {"history": {"url": f"sqlite:{tmp_path / 'deep' / 'history.db'}"}, **options.pop("config", {})}
        return answering(*replies, config=config, **options)[0]

    return make


def test_plan_adds_one_row_with_hashes_and_metadata(history):
    deck, before = history(GOOD), time.time()
    deck.plan("  Draft A Post ", model=FREE, caller="ada")
    (row,) = deck.history.records("ada")
    assert row.intent_sha == hashlib.sha256(b"draft a post").hexdigest()[:16] == intent_sha("draft a post")
    assert (row.complexity, row.outcome, row.model, row.cause) == ("single-action", "planned", FREE, None)
    assert row.steps == (RecordedStep(1, "blog.draft", args_sha({"brief": "secret words"})),)
    assert before <= row.time <= time.time() and row.duration_s >= 0


def test_failed_plan_is_recorded_with_its_cause(history):
    deck = history("")
    with pytest.raises(LikelyTimeout):
        deck.plan("draft a post", model=FREE)
    (row,) = deck.history.records()
    assert (row.outcome, row.cause, row.steps, row.complexity) == ("failed", "likely_timeout", (), None)


def test_file_contains_no_request_or_argument_text(history, tmp_path):
    deck = history(GOOD)
    deck.plan("draft a clandestine post", model=FREE)
    deck.history.flush()
    content = b"".join(path.read_bytes() for path in (tmp_path / "deep").iterdir())
    assert b"blog.draft" in content
    assert b"clandestine" not in content and b"secret words" not in content


def test_callers_are_isolated(history):
    deck = history(GOOD)
    for caller in ("ada", "bob", "ada"):
        deck.plan("draft a post", model=FREE, caller=caller)
    assert [len(deck.history.records(caller)) for caller in ("ada", "bob", "eve")] == [2, 1, 0]


def test_no_store_records_nothing_and_raises_nothing(answering):
    deck, _ = answering(GOOD)
    deck.plan("draft a post", model=FREE)
    assert deck.history.records() == ()


def test_failed_write_does_not_fail_the_plan_and_is_reported_once(history, tmp_path):
    recorder = EventRecorder()
    deck = history(GOOD, beside=(recorder,))
    deck.plan("draft a post", model=FREE)
    deck.history.flush()
    with sqlite3.connect(tmp_path / "deep" / "history.db") as connection:
        connection.execute("DROP TABLE plan_history")
    connection.close()
    for _ in range(3):
        assert deck.plan("draft a post", model=FREE).steps
    deck.close()
    (failed,) = recorder.of(HistoryFailed)
    assert "plan_history" in failed.detail


def test_unopenable_store_does_not_fail_the_plan(answering, tmp_path):
    (tmp_path / "file").write_text("in the way")
    deck, _ = answering(GOOD, config={"history": {"url": f"sqlite:{tmp_path / 'file' / 'history.db'}"}})
    assert deck.plan("draft a post", model=FREE).steps


def test_locked_store_blocks_neither_the_loop_nor_any_plan(history, tmp_path, monkeypatch):
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

    monkeypatch.setattr(databases, "BUSY_TIMEOUT_S", 0.1)
    deck = history(GOOD, beside=(recorder,))
    deck.plan("draft a post", model=FREE)
    deck.history.flush()
    deck.close()  # so that its connections get the new timeout
    with sqlite3.connect(tmp_path / "deep" / "history.db", isolation_level=None) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        asyncio.run(run(deck))
        connection.execute("ROLLBACK")
    connection.close()
    assert len(ticks) > 20, "the event loop kept running"
    assert len(recorder.of(HistoryFailed)) <= 1
    deck.close()
    assert len(deck.history.records()) == 6, "the records waited for the store"


def test_records_wait_while_the_store_is_down_and_the_oldest_are_dropped(answering, monkeypatch):
    monkeypatch.setattr(writer, "MAX_WAITING", 3)
    store = Store(OSError("down"))
    recorder = EventRecorder()
    deck, _ = answering(GOOD, beside=(store, recorder), config=ODD)
    for number in range(5):
        deck.plan(f"draft post {number}", model=FREE)
    assert not deck.history.flush()
    store.failing = ()
    deck.close()
    assert [record.intent_sha for record in store.records] == [intent_sha(f"draft post {n}") for n in (2, 3, 4)]
    assert len(recorder.of(HistoryFailed)) == 1, "one warning"


def test_records_that_wait_for_the_store_are_deleted_too(history, tmp_path, monkeypatch):
    monkeypatch.setattr(databases, "BUSY_TIMEOUT_S", 0.0)
    deck = history(GOOD)
    deck.plan("draft a post", model=FREE)
    assert len(deck.history.records()) == 1
    connection = sqlite3.connect(tmp_path / "deep" / "history.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    deck.plan("draft a private post", model=FREE)
    assert not deck.history.flush()
    with pytest.raises(HistoryError):
        deck.history.forget()
    connection.execute("ROLLBACK")
    connection.close()
    assert deck.history.forget() == 2
    deck.close()
    assert deck.history.records() == ()


def test_a_run_of_a_listed_pack_is_recorded_with_its_outcome(history, answering):
    deck = history(GOOD)
    deck.run("helmdeck.memory_store", {"text": "tea, not coffee"}, caller="ada")
    with pytest.raises(PackError):
        deck.run("helmdeck.memory_store", {"text": " "}, caller="ada")
    deck.run("helmdeck.plan", {"intent": "draft a post"}, model=FREE, caller="ada")
    kinds = [
        (each.kind, each.outcome, each.cause, [step.tool for step in each.steps])
        for each in deck.history.records("ada")
    ]
    assert kinds[1:] == [
        ("run", "failed", "invalid_input", ["helmdeck.memory_store"]),
        ("run", "run", None, ["helmdeck.memory_store"]),
    ]
    assert kinds[0][0] == "plan", "the packs that plan record themselves"


def test_a_route_is_recorded_and_teaches_as_a_plan_does(history):
    route = '{"recommendation":{"kind":"pack","id":"audio.transcribe","suggested_inputs":{},"why":"w"},"reasoning":"x"}'
    deck = history(route)
    deck.route("draft a post", model=FREE)
    (record,) = deck.history.records()
    assert (record.kind, record.outcome, [step.tool for step in record.steps]) == (
        "route",
        "pack",
        ["audio.transcribe"],
    )
    assert dict(deck.history.learned("local", "draft a post").planned) == {"audio.transcribe": 0.5}


def test_plan_does_not_wait_for_a_store_that_does_not_answer(answering, monkeypatch):
    monkeypatch.setattr(questions, "LEARNED_S", 0.05)
    answer = threading.Event()

    class Silent(Store):
        def plans(self, caller, limit=100):
            assert answer.wait(60)
            return ()

    deck, _ = answering(GOOD, beside=(Silent(None, ()),), config=ODD)
    assert deck.plan("draft a post", model=FREE).steps
    answer.set()
    deck.close()


@pytest.mark.parametrize("url", ["off", "", "OFF"])
def test_history_can_be_switched_off(answering, url):
    deck, _ = answering(GOOD, config={"history": {"url": url}})
    deck.plan("draft a post", model=FREE)
    assert not deck.history.is_enabled
    assert deck.history.records() == deck.history.plans() == deck.history.export() == ()
    assert deck.history.forget() == 0


def test_argument_hash_ignores_their_order():
    assert args_sha({"a": 1, "b": [2]}) == args_sha({"b": [2], "a": 1}) != args_sha({"a": 1})


def test_unknown_url_scheme_is_a_mistake_with_the_valid_ones(answering):
    from helmdeck_core import ConfigError

    with pytest.raises(ConfigError, match=r"history\.url.*sqlite:"):
        answering(GOOD, config={"history": {"url": "mysql://localhost"}})


# -- stores that fail -------------------------------------------------------------------------------------------


class Odd(BaseException):
    """Not an Exception."""


class Store:
    """A store that fails for the callers in ``failing``, or for all."""

    def __init__(self, failure, failing=None):
        self.failure, self.failing, self.callers, self.records = failure, failing, [], []

    @hookimpl
    def helmdeck_history_stores(self):
        return (HistoryStoreSpec(name="odd", open=lambda target, days: self, summary="fails"),)

    def add(self, record):
        self.use(record.caller)
        self.records.append(record)

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
    assert len(deck.history.records("ada")) == 2
    assert [event.caller for event in recorder.of(HistoryFailed)] == ["\ud800"]


def test_store_that_fails_is_left_alone_for_a_while(answering):
    store = Store(OSError("disk full"))
    deck, _ = answering(GOOD, beside=(store,), config=ODD)
    for caller in ("ada", "ada", "bob", "bob", "eve", "ada"):
        deck.plan("draft a post", model=FREE, caller=caller)
    assert len(store.callers) <= 2, "one read and one write"


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
        deck.history.records("ada")
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
        deck.history.records()
    assert deck.plan("draft a post", model=FREE).steps
