"""The contract test suite of history stores: subclass it, and all tests run against your store.

::

    from helmdeck_testing import HistoryStoreContract

    class TestAcmeHistory(HistoryStoreContract):
        @pytest.fixture
        def open_store(self, acme_database):
            return lambda keep_days=30.0: AcmeStore(acme_database, keep_days)

The fixture returns a function that opens a store on the same storage each time; the storage is empty before each test. Tests of
optional parts (see ``helmdeck_history``) are skipped if the store does not have them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest

from helmdeck_core import UNKNOWN_TOOL, HistoryStore, PlanRecord, RecordedStep
from helmdeck_history import (
    HALF_LIFE_S,
    BatchingStore,
    ClosingStore,
    EvidenceRow,
    EvidenceStore,
    ExportingStore,
    Fact,
    FactStore,
    ForgettingStore,
    LearningStore,
    PurgingStore,
    Scope,
    record_of_row,
    record_to_row,
)

OpenStore = Callable[..., Any]
DAY_S = 86_400.0
ODD_CALLERS = ("", "a:b", "{x}", "*", "%", "_", "ada%", "ünï", "a'b\"; --", "[a-z]", "\\")


def make_record(caller: str = "ada", *tools: str, age_s: float = 0.0, **changes: Any) -> PlanRecord:
    """Return a record of a plan with some tools."""
    steps = tuple(RecordedStep(order, tool, "0" * 16) for order, tool in enumerate(tools, 1))
    fields: dict[str, Any] = {"intent_sha": "a" * 16, "outcome": "planned", "model": "acme/small", "duration_s": 1.5}
    return PlanRecord(caller=caller, **{**fields, "time": time.time() - age_s, "steps": steps, **changes})


class HistoryStoreContract:
    """The contract test suite."""

    @pytest.fixture
    def open_store(self) -> OpenStore:
        """Return the function that opens a store with ``keep_days``; to be overridden."""
        raise NotImplementedError("override the fixture open_store")

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Any:
        """An open store, which is closed after the test."""
        store = open_store()
        yield store
        if isinstance(store, ClosingStore):
            store.close()

    # -- records -----------------------------------------------------------------------------------------------

    def test_every_field_of_a_record_is_returned(self, store: HistoryStore) -> None:
        values = {"style": "photo", "hosts": 2, "ratio": 0.5, "strict": True}
        steps = (RecordedStep(1, "image.generate", "f" * 16, values), RecordedStep(2, UNKNOWN_TOOL, "e" * 16))
        every = make_record(complexity="pack-chain", steps=steps, sketch=(1, 2**63 - 1), kind="route")
        failed = make_record("bob", cause="likely_timeout", outcome="failed")
        store.add(every)
        store.add(failed)
        assert store.plans("ada") == (every,)
        assert store.plans("bob") == (failed,)

    def test_records_are_newest_first_and_limited(self, store: HistoryStore) -> None:
        for age_s in (30, 10, 20):
            store.add(make_record(age_s=age_s, model=str(age_s)))
        assert [each.model for each in store.plans("ada")] == ["10", "20", "30"]
        assert [each.model for each in store.plans("ada", 2)] == ["10", "20"]

    def test_callers_are_kept_apart_whatever_their_names_are(self, store: HistoryStore) -> None:
        for caller in ODD_CALLERS:
            store.add(make_record(caller, model=f"of {caller}"))
        assert [[each.model for each in store.plans(caller)] for caller in ODD_CALLERS] == [
            [f"of {caller}"] for caller in ODD_CALLERS
        ]
        assert store.plans("ad") == ()

    def test_known_id_is_ignored(self, store: HistoryStore) -> None:
        record = make_record("ada", "blog.draft")
        store.add(record)
        store.add(attrs.evolve(record, model="another"))
        assert store.plans("ada") == (record,)
        if isinstance(store, LearningStore):
            assert store.weights("ada", "a" * 16, (), time.time())["blog.draft"] == pytest.approx(1, abs=0.01)

    def test_expired_records_are_neither_stored_nor_returned(self, open_store: OpenStore) -> None:
        week, day = open_store(7.0), open_store(1.0)
        week.add(make_record("ada", "blog.draft", age_s=8 * DAY_S))
        assert week.plans("ada") == ()
        week.add(make_record("ada", "blog.draft", age_s=2 * DAY_S))
        assert len(week.plans("ada")) == 1
        assert day.plans("ada") == ()
        if isinstance(day, LearningStore):
            assert not day.weights("ada", "a" * 16, (), time.time())
            assert day.groups("ada", 10) == ()
        if isinstance(day, PurgingStore):
            assert day.purge() == 1
            assert week.plans("ada") == ()
        _close(week, day)

    def test_other_instances_see_the_records_at_once(self, open_store: OpenStore) -> None:
        first, second = open_store(), open_store()
        first.add(make_record(model="1"))
        assert [each.model for each in second.plans("ada")] == ["1"]
        _close(first, second)
        third = open_store()
        assert [each.model for each in third.plans("ada")] == ["1"]
        _close(third)

    def test_concurrent_threads_lose_no_record(self, open_store: OpenStore) -> None:
        stores, failures = (open_store(), open_store()), []

        def write(number: int) -> None:
            try:
                for _ in range(10):
                    stores[number % 2].add(make_record("ada", f"tool.{number}", sketch=(1, 2, number)))
                    stores[number % 2].plans("ada", 5)
            except BaseException as exc:
                failures.append(exc)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(stores[0].plans("ada", 1_000)) == 80
        _close(*stores)

    def test_batch_with_a_record_that_cannot_be_stored_is_refused_as_a_whole(self, store: HistoryStore) -> None:
        _require(store, BatchingStore)
        assert isinstance(store, BatchingStore)
        with pytest.raises(ValueError):
            store.add_all((make_record("ada"), make_record("\ud800")))
        assert store.plans("ada") == ()
        store.add_all(())
        store.add_all((make_record("ada"), make_record("bob")))
        assert len(store.plans("ada")) == len(store.plans("bob")) == 1

    # -- what is learned ---------------------------------------------------------------------------------------

    def test_weight_of_a_tool_grows_with_use_and_decays(self, store: HistoryStore) -> None:
        _require(store, LearningStore)
        assert isinstance(store, LearningStore)
        store.add(make_record("ada", "old", age_s=HALF_LIFE_S))
        for _ in range(3):
            store.add(make_record("ada", "new"))
        store.add(make_record("ada", "other", intent_sha="b" * 16))
        store.add(make_record("bob", "foreign"))
        weights = store.weights("ada", "a" * 16, (), time.time())
        assert weights == {"new": pytest.approx(3, abs=0.01), "old": pytest.approx(0.5, abs=0.01)}
        assert list(weights) == ["new", "old"], "the highest first"
        later = store.weights("ada", "a" * 16, (), time.time() + HALF_LIFE_S)
        assert later["new"] == pytest.approx(1.5, abs=0.01)

    def test_failed_attempts_gaps_and_runs_have_no_weight(self, store: HistoryStore) -> None:
        _require(store, LearningStore)
        assert isinstance(store, LearningStore)
        store.add(make_record("ada", "failed", cause="likely_timeout"))
        store.add(make_record("ada", UNKNOWN_TOOL, "planned"))
        store.add(make_record("ada", "run", intent_sha="", kind="run"))
        assert list(store.weights("ada", "a" * 16, (), time.time())) == ["planned"]
        (group,) = store.groups("ada", 10)
        assert (group.plans, group.tools) == (1, {"planned": 1})

    def test_similar_requests_count_by_the_square_of_their_similarity(self, store: HistoryStore) -> None:
        _require(store, LearningStore)
        assert isinstance(store, LearningStore)
        store.add(make_record("ada", "near", intent_sha="b" * 16, sketch=(1, 2, 3, 4)))
        store.add(make_record("ada", "far", intent_sha="c" * 16, sketch=(1, 20, 30, 40)))
        store.add(make_record("bob", "foreign", intent_sha="d" * 16, sketch=(1, 2, 3, 4)))
        weights = store.weights("ada", "a" * 16, (1, 2, 3, 9), time.time())
        assert weights == {"near": pytest.approx(0.36, abs=0.01)}  # 3 of 5 hashes
        (found,) = store.similar("ada", "a" * 16, (1, 2, 3, 9), 5)
        assert found.intent_sha == "b" * 16
        assert found.similarity == pytest.approx(0.6)
        (same,) = store.similar("ada", "b" * 16, (1, 2, 3, 4), 5)
        assert same.similarity == 1.0

    def test_values_are_counted_over_the_newest(self, store: HistoryStore) -> None:
        _require(store, LearningStore)
        assert isinstance(store, LearningStore)
        for age_s, style in ((40, "sketch"), (30, "photo"), (20, "photo"), (10, 'odd "name"')):
            store.add(make_record(age_s=age_s, steps=(RecordedStep(1, "image.generate", "", {"style": style}),)))
        store.add(make_record("bob", steps=(RecordedStep(1, "image.generate", "", {"style": "foreign"}),)))
        newest = [("image.generate", "style", "photo", 2), ("image.generate", "style", 'odd "name"', 1)]
        assert list(store.values("ada", 3)) == newest
        assert len(store.values("ada", 100)) == 3

    def test_groups_are_the_most_frequent_first_then_the_newest(self, store: HistoryStore) -> None:
        _require(store, LearningStore)
        assert isinstance(store, LearningStore)
        store.add(make_record("ada", "z", intent_sha="1" * 16, age_s=50))
        store.add(make_record("ada", "z", intent_sha="2" * 16, age_s=10))
        for number in range(8):
            tools = [f"tool.{place}" for place in range(number)]
            store.add(make_record("ada", *tools, "x", "x", intent_sha="3" * 16, age_s=60, model=f"m{number % 4}"))
        frequent, newest, oldest = store.groups("ada", 10)
        assert [each.intent_sha[0] for each in (frequent, newest, oldest)] == ["3", "2", "1"]
        assert (frequent.plans, newest.plans) == (8, 1)
        assert list(frequent.tools.items()) == [("x", 8), ("tool.0", 7), ("tool.1", 6), ("tool.2", 5), ("tool.3", 4)]
        assert frequent.models == {"m0": 2, "m1": 2, "m2": 2}
        assert len(store.groups("ada", 2)) == 2
        assert store.groups("bob", 10) == ()

    # -- deletion and export -----------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("scope", "left"),
        [
            (Scope(), []),
            (Scope(intent_sha="a" * 16), ["2", "4"]),
            (Scope(tool="blog.draft"), ["2", "3"]),
            (Scope(before=1.0), ["1", "2", "3", "4"]),
            (Scope(tool="blog.draft", intent_sha="a" * 16), ["2", "3", "4"]),
            (Scope(tool="blog.%"), ["1", "2", "3", "4"]),
        ],
        ids=str,
    )
    def test_forget_deletes_what_meets_all_conditions(
        self, store: HistoryStore, scope: Scope, left: Sequence[str]
    ) -> None:
        _require(store, ForgettingStore)
        assert isinstance(store, ForgettingStore)
        records = [
            make_record("ada", "blog.draft", "x", model="1", age_s=4),
            make_record("ada", "x", model="2", intent_sha="b" * 16, age_s=3),
            make_record("ada", "x", model="3", age_s=2),
            make_record("ada", "blog.draft", model="4", intent_sha="c" * 16, age_s=1),
            make_record("bob", "blog.draft", model="5"),
        ]
        for record in records:
            store.add(record)
        assert store.forget("ada", scope) == 4 - len(left)
        assert [each.model for each in store.plans("ada")] == left[::-1]
        assert [each.model for each in store.plans("bob")] == ["5"]

    def test_forget_by_time_and_nothing_derived_is_left(self, store: HistoryStore) -> None:
        _require(store, ForgettingStore)
        assert isinstance(store, ForgettingStore)
        values = {"style": "photo"}
        for age_s in (100, 10):
            step = RecordedStep(1, f"tool.{age_s}", "", values)
            store.add(make_record(steps=(step,), age_s=age_s, intent_sha=f"{age_s:016}", sketch=(1, 2, 3)))
        assert store.forget("ada", Scope(before=time.time() - 50)) == 1
        if isinstance(store, LearningStore):
            assert list(store.weights("ada", "f" * 16, (1, 2, 3), time.time())) == ["tool.10"]
            assert [row[3] for row in store.values("ada", 10)] == [1]
        assert store.forget("ada", Scope()) == 1
        if isinstance(store, LearningStore):
            assert not store.weights("ada", "f" * 16, (1, 2, 3), time.time())
            assert store.similar("ada", "f" * 16, (1, 2, 3), 5) == ()
            assert list(store.values("ada", 10)) == []

    def test_export_can_be_stored_again(self, store: HistoryStore) -> None:
        _require(store, ExportingStore)
        assert isinstance(store, ExportingStore)
        for age_s in (30, 10, 20):
            store.add(make_record("ada", "blog.draft", age_s=age_s, sketch=(1, 2)))
        rows = [record_to_row(record) for record in store.export("ada")]
        assert [row["time"] for row in rows] == sorted(row["time"] for row in rows)
        for row in rows:
            store.add(record_of_row({**row, "caller": "bob", "id": f"{row['id']}-2"}))
        assert [record_to_row(each)["steps"] for each in store.export("bob")] == [row["steps"] for row in rows]

    # -- facts -------------------------------------------------------------------------------------------------

    def test_facts_are_kept_per_caller_until_they_expire(self, store: HistoryStore) -> None:
        _require(store, FactStore)
        assert isinstance(store, FactStore)
        now = time.time()

        def fact(number: int, caller: str = "ada", lifetime_s: float = 60.0) -> Fact:
            return Fact(
                id=str(number), caller=caller, text=f"fact {number} 🍵\n", tags=("a", "b"), time=now + number,
                expires=now + lifetime_s,
            )  # fmt: skip

        facts = [fact(1), fact(2), fact(3, "bob"), fact(4, lifetime_s=-1.0)]
        store.add_facts(facts)
        store.add_facts(facts[:1])
        assert store.facts("ada") == (facts[1], facts[0])
        assert store.facts("bob") == (facts[2],)
        assert store.forget_facts("ada", ["3"]) == 0, "another caller's"
        assert store.forget_facts("ada", ["1", "x"]) == 1
        assert store.forget_facts("ada", []) == 0
        assert store.facts("ada") == (facts[1],)
        if isinstance(store, PurgingStore):
            assert store.purge() == 1
        store.forget_facts("ada")
        assert store.facts("ada") == ()
        assert store.facts("bob") == (facts[2],)

    # -- evidence about models ---------------------------------------------------------------------------------

    def test_evidence_of_all_processes_is_summed_and_expires(self, open_store: OpenStore) -> None:
        store, other = open_store(), open_store()
        _require(store, EvidenceStore)
        assert isinstance(store, EvidenceStore)
        assert isinstance(other, EvidenceStore)
        now = int(time.time())

        def row(source: str, period: int = now, attempts: int = 2, *, is_after: bool = False) -> EvidenceRow:
            return EvidenceRow(source, period, "a/ü", '["x:y","{z}"]', is_after, attempts, 1, attempts, 0.25, 1.5)

        store.add_evidence([row("s"), row("s", is_after=True), row("s", now - 40 * 86_400)])
        other.add_evidence([row("s", attempts=3), row("t", now + 1)])
        store.add_evidence([])
        expected = [
            EvidenceRow("s", now, "a/ü", '["x:y","{z}"]', False, 5, 2, 5, 0.5, 3.0),
            row("s", is_after=True),
            row("t", now + 1),
        ]
        assert list(store.evidence(0.0)) == list(other.evidence(0.0)) == expected
        assert list(store.evidence(now + 1)) == expected[2:]
        _close(store, other)

    def test_close_is_idempotent(self, open_store: OpenStore) -> None:
        store = open_store()
        store.add(make_record())
        _close(store, store)


def _close(*stores: object) -> None:
    for store in stores:
        if isinstance(store, ClosingStore):
            store.close()


def _require(store: object, protocol: type) -> None:
    if not isinstance(store, protocol):
        pytest.skip(f"the store is no {protocol.__name__}")
