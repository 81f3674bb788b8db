"""Evidence is shared by processes and restored at start, and advice is computed from it."""

import threading
import time

import attrs
import pytest

from helmdeck_chains import AdaptivePolicy, AdvisePolicy, ChainOptions, Learning, estimate_savings, kind_text, replay
from helmdeck_chains.learning import Trial
from helmdeck_chains.sharing import Sharing
from helmdeck_history import EvidenceRow
from helmdeck_history.stores.databases import open_sqlite

KIND = ("helmdeck.plan:Plan", "size0:catalog0", "ascii")


def make_learning():
    return Learning(ChainOptions(), lambda model, usage: {"acme/cheap": 0.001}.get(model, 0.1))


@pytest.fixture
def make_sharing(tmp_path):
    made = []

    def make(learning, failures=None):
        report = pytest.fail if failures is None else failures.append
        made.append(Sharing(lambda: open_sqlite(tmp_path / "history.db", 30.0), learning, threading.Lock(), report))
        return made[-1]

    yield make
    for each in made:
        each.close()


def trial(usable=True, model="acme/cheap"):
    return Trial(model=model, usable=usable, usd=0.002, seconds=1.5, is_after=False)


@pytest.fixture(autouse=True)
def no_threads(monkeypatch):
    monkeypatch.setattr(Sharing, "start", lambda self: None)


def test_evidence_of_one_process_reaches_others_once_and_survives_a_restart(make_sharing):
    one, other, later = make_learning(), make_learning(), make_learning()
    first, second = make_sharing(one), make_sharing(other)
    for number in range(100):
        first.put(KIND, [trial(usable=number % 4 > 0)])
        if number % 30 == 0:
            first.exchange()
            second.exchange()
    for sharing in (first, second, second, make_sharing(later)):
        assert sharing.exchange()
    for learning in (other, later):
        estimate = learning.models["acme/cheap"].estimate(KIND)
        assert estimate.usable == pytest.approx(0.75, abs=0.06)
        assert estimate.usd == pytest.approx(0.002, rel=0.1)
        assert learning.calls == 100
    assert not one.models, "a process does not read what it wrote"


@pytest.mark.parametrize(
    "damaged",
    [
        {"kind": "not JSON"},
        {"kind": "5"},
        {"attempts": -10},
        {"attempts": "x"},
        {"usable": -50},
        {"usable": 11},
        {"usd": float("inf")},
        {"seconds": float("nan")},
    ],
)
def test_damaged_evidence_of_the_store_is_ignored(damaged):
    class Store:
        def add_evidence(self, rows):
            pytest.fail("nothing waits")

        def evidence(self, since):
            row = EvidenceRow("other", int(since), "acme/cheap", kind_text(KIND), False, 10, 5, 10, 0.02, 15.0)
            return [attrs.evolve(row, **damaged), attrs.evolve(row, source="third")]

    learning = make_learning()
    assert Sharing(Store, learning, threading.Lock(), pytest.fail).exchange()
    assert learning.calls == 10, "the row that is not damaged counts"


def test_evidence_waits_while_the_store_is_down(tmp_path, monkeypatch):
    failures, is_down = [], [True]

    def open_store():
        if is_down[0]:
            raise OSError("the disk is gone")
        return open_sqlite(tmp_path / "history.db", 30.0)

    sharing = Sharing(open_store, make_learning(), threading.Lock(), failures.append)
    sharing.put(KIND, [trial()])
    assert not sharing.exchange()
    is_down[0] = False
    sharing.put(KIND, [trial(usable=False)])
    assert sharing.exchange()
    assert [str(each) for each in failures] == ["the disk is gone"]
    store = open_sqlite(tmp_path / "history.db", 30.0)
    assert [(row.attempts, row.usable) for row in store.evidence(0)] == [(2, 1)]
    store.close()
    sharing.close()


def row(model, usable, attempts, is_after=False, usd=0.001):
    period = int(time.time()) // 300 * 300
    return EvidenceRow(
        "s", period, model, kind_text(KIND), is_after, attempts, usable, attempts, usd * attempts, attempts
    )


def advice_of(rows):

    policy = AdvisePolicy(ChainOptions(), make_learning())
    replay(policy.learning, rows)
    return estimate_savings(policy, ("acme/strong", "acme/cheap"), rows)


def test_advice_has_an_interval_that_narrows_with_evidence_about_the_advised_model():
    strong = row("acme/strong", 190, 200, usd=0.1)
    unknown = advice_of([strong])
    known = advice_of([strong, row("acme/cheap", 180, 200)])
    for advice in (unknown, known):
        assert advice.kinds[0].order == ("acme/cheap", "acme/strong")
        assert advice.calls >= 200
        expected, low, high = advice.saving_share
        assert 0 < low < expected < high < 1
    assert unknown.kinds[0].unproven == ("acme/cheap",)
    assert known.kinds[0].unproven == ()
    assert known.saving_share[2] - known.saving_share[1] < unknown.saving_share[2] - unknown.saving_share[1]


def test_advice_keeps_an_order_that_is_the_cheapest():
    policy = AdaptivePolicy(ChainOptions(), make_learning())
    rows = [row("acme/cheap", 195, 200)]

    replay(policy.learning, rows)
    assert estimate_savings(policy, ("acme/cheap", "acme/strong"), rows).saving_usd == (0.0, 0.0, 0.0)
