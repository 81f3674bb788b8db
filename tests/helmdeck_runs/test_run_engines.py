"""What every run engine does: records, failures, resuming, joining and cancelling are the same for all of them."""

import asyncio
import os
import threading
import uuid

import attrs
import pytest

from helmdeck_core import Cancelled, ConfigError, PackError, RunProgram
from helmdeck_runs import RecordsError, Run, RunState, StepFailedError, StepRecord, UnsupportedError, runs_of
from helmdeck_runs.engines import database, records
from helmdeck_runs.pipelines.start import make_run, resumed
from helmdeck_storage import PurgeSchedule
from helmdeck_testing import plugin_with
from tests.databases_support import postgres_schema
from tests.helmdeck_runs.pipelines_support import CHAIN, NUMBER, TEXT, deck_of, pack_of

POSTGRES_URL = os.environ.get("HELMDECK_TEST_POSTGRES_URL", "postgresql://postgres@localhost:5432/postgres")


class Flaky:
    """A pack that fails while ``fails`` is set, and counts its runs."""

    def __init__(self):
        self.fails, self.runs = True, []

    async def run(self, _, arguments):
        self.runs.append(arguments["text"])
        if self.fails and arguments["text"] == "second":
            raise ValueError("not yet")
        return {"text": arguments["text"]}


class Gate:
    """A pack that waits until it is opened, from any thread."""

    def __init__(self):
        self.started, self.opened, self.runs = threading.Semaphore(0), threading.Event(), 0

    async def run(self, _, arguments):
        self.runs += 1
        self.started.release()
        await asyncio.to_thread(self.opened.wait)
        return {}


async def side_by_side(run, steps, context):
    """A program whose steps end in another order than they are announced in."""
    last = asyncio.Event()

    async def wait():
        await last.wait()
        return "first"

    async def end():
        last.set()
        return ("second", {"pair": (1, 2)})

    steps.reserve("a", "b")
    results = await asyncio.gather(steps.run("a", wait), steps.run("b", end))
    try:
        await steps.run("c", fail)
    except StepFailedError as exc:
        results.append([exc.step_id, exc.failure["cause"], exc.failure["message"]])
    return {"results": results, "model": run.model, "caller": run.caller}


async def odd(*_):
    return {"value": {1: (2, None)}}


async def fail():
    raise PackError("x.y", "artifact_failed", "the reason")


FLAKY_STEPS = [
    {"id": "one", "pack": "test.flaky", "with": {"text": "first"}},
    {"id": "two", "pack": "test.flaky", "with": {"text": "second"}, "needs": ["one"]},
    {"id": "three", "pack": "test.flaky", "with": {"text": "third"}, "needs": ["two"]},
]
PIPELINES = {
    "chain": CHAIN,
    "flaky": {"steps": FLAKY_STEPS, "outputs": {"text": "{{steps.three.text}}"}},
    "gate": {
        "steps": [
            {"id": "s", "pack": "test.gate", "with": {}},
            {"id": "t", "pack": "test.gate", "with": {}, "needs": ["s"]},
        ],
        "inputs": {"n": {**NUMBER, "default": 0}},
    },
    "odd": {"steps": [{"id": "s", "pack": "test.odd", "with": {}}], "outputs": {"value": "{{steps.s.value}}"}},
}


class Bench:
    """A deck with its packs."""

    def __init__(self, engine, url):
        self.flaky, self.gate = Flaky(), Gate()
        packs = (
            pack_of("test.flaky", lambda *arguments: self.flaky.run(*arguments), {"text": TEXT}),
            pack_of("test.gate", lambda *arguments: self.gate.run(*arguments)),
            pack_of("test.odd", odd),
        )
        programs = plugin_with("programs", helmdeck_run_programs=[RunProgram(name="test", run=side_by_side)])
        self.deck = deck_of(PIPELINES, *packs, engine=engine, url=url, plugins=(programs,))
        self.engine = runs_of(self.deck)

    def run_of(self, name, inputs=None):
        return make_run(self.deck.catalog, name, inputs or {}, caller="local", model=None)


@pytest.fixture(scope="module", params=["memory", "sqlite", "postgresql", "dbos"])
def bench(request, tmp_path_factory):
    kind, url, dropped = request.param, None, None
    if kind in ("sqlite", "dbos"):
        url = f"sqlite:{tmp_path_factory.mktemp('runs') / 'runs.db'}"
    if kind == "postgresql":
        psycopg = pytest.importorskip("psycopg")
        try:
            connection = psycopg.connect(POSTGRES_URL, autocommit=True, connect_timeout=2)
        except psycopg.OperationalError as exc:
            pytest.skip(f"no PostgreSQL at HELMDECK_TEST_POSTGRES_URL or its default: {exc}")
        schema = f"runs_{uuid.uuid4().hex[:12]}"
        connection.execute(f"CREATE SCHEMA {schema}")
        url = f"{POSTGRES_URL}{'&' if '?' in POSTGRES_URL else '?'}options=-csearch_path%3D{schema}"
        dropped = (connection, schema)
    if kind == "dbos":
        pytest.importorskip("dbos")
        pytest.importorskip("aiosqlite")
    made = Bench("dbos" if kind == "dbos" else "local", url)
    yield made
    made.deck.close()
    if dropped:
        dropped[0].execute(f"DROP SCHEMA {dropped[1]} CASCADE")
        dropped[0].close()


def test_postgresql_records_do_not_wait_for_the_disk():
    with postgres_schema() as (url, _, _):
        rows = database.RunsDatabase(url, records.SCHEMA)
        settings = rows.submit(lambda session: session.rows("SHOW synchronous_commit")).result()
        rows.close()
    assert settings == [("off",)]


@pytest.fixture(autouse=True)
def _fresh_packs(request):
    if "bench" in request.fixturenames:
        made = request.getfixturevalue("bench")
        made.flaky, made.gate = Flaky(), Gate()


def test_a_record_has_the_output_and_every_step(bench):
    async def check():
        record = await bench.engine.execute(bench.run_of("chain", {"x": 3}))
        assert (record.state, record.output, record.is_joined) == (
            RunState.SUCCEEDED,
            {"text": "SUM: 7", "sum": 7},
            False,
        )
        full = await bench.engine.record(record.run.id)
        assert full.run.inputs == {"x": 3}
        assert [step.id for step in full.steps] == ["first", "second", "last"]
        result = full.steps[0].result
        assert result["output"] == {"sum": 5, "parts": [{"n": 3}, {"n": 2}]}
        assert (result["pack"], result["attempts"], result["cost_usd"]) == ("test.add", 1, 0.0)
        assert len(result["input_sha"]) == 16
        assert record.run.id in [each.run.id for each in await bench.engine.records(kind="pipeline", limit=1)]
        assert await bench.engine.records(kind="agent") == []
        assert await bench.engine.record("unknown") is None

    asyncio.run(check())


def test_id_of_a_run_is_reported_once_it_is_recorded(bench):
    async def check():
        ids = []
        record = await bench.engine.execute(bench.run_of("chain", {"x": 3}), None, ids.append)
        assert ids == [record.run.id]
        reported = asyncio.Event()

        def note(run_id):
            ids.append(run_id)
            reported.set()

        first = asyncio.create_task(bench.engine.execute(bench.run_of("gate", {"n": 5}), None, note))
        await asyncio.to_thread(bench.gate.started.acquire)
        await reported.wait()  # an engine may start the step in a thread before it reports the id
        assert (await bench.engine.record(ids[1])).state is RunState.RUNNING
        second = asyncio.create_task(bench.engine.execute(bench.run_of("gate", {"n": 5}), None, ids.append))
        await bench.engine.records()
        bench.gate.opened.set()
        await asyncio.gather(first, second)
        assert ids[1:] == [ids[1]] * 2, "a caller that joins gets the same id"

    asyncio.run(check())


def test_a_run_resumes_from_its_failed_step(bench):
    async def check():
        failed = await bench.engine.execute(bench.run_of("flaky"))
        assert (failed.state, failed.failure["step"], failed.failure["cause"]) == (
            RunState.FAILED,
            "two",
            "handler_failed",
        )
        assert bench.flaky.runs == ["first", "second"]
        full = await bench.engine.record(failed.run.id)
        assert [(step.id, step.failure is None) for step in full.steps] == [("one", True), ("two", False)]
        bench.flaky.fails = False
        again = await bench.engine.execute(resumed(full))
        assert (again.state, again.output, again.run.resumes) == (RunState.SUCCEEDED, {"text": "third"}, failed.run.id)
        assert bench.flaky.runs == ["first", "second", "second", "third"]
        steps = {step.id: step.result["output"] for step in (await bench.engine.record(again.run.id)).steps}
        assert steps == {"one": {"text": "first"}, "two": {"text": "second"}, "three": {"text": "third"}}

    asyncio.run(check())


def test_a_resumed_run_that_ends_before_its_first_step_keeps_the_finished_steps(bench):
    async def check():
        run = bench.run_of("gate", {"n": 5})
        task = asyncio.create_task(bench.engine.execute(attrs.evolve(run, done={"earlier": {"output": {}}})))
        await asyncio.to_thread(bench.gate.started.acquire)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        bench.gate.opened.set()
        (newest,) = await bench.engine.records(limit=1)
        record = await bench.engine.record(newest.run.id)
        assert record.state is RunState.CANCELLED
        assert resumed(record).done == {"earlier": {"output": {}}}

    asyncio.run(check())


def test_results_of_steps_are_what_json_keeps_of_them(bench):
    async def check():
        record = await bench.engine.execute(bench.run_of("odd"))
        assert record.output == {"value": {"1": [2, None]}}
        (step,) = (await bench.engine.record(record.run.id)).steps
        assert step.result["output"] == {"value": {"1": [2, None]}}

    asyncio.run(check())


def test_identical_runs_are_joined_while_they_run_and_never_after_their_end(bench):
    async def check():
        first = asyncio.create_task(bench.engine.execute(bench.run_of("gate", {"n": 1})))
        await asyncio.to_thread(bench.gate.started.acquire)
        joined = asyncio.create_task(bench.engine.execute(bench.run_of("gate", {"n": 1})))
        other = asyncio.create_task(bench.engine.execute(bench.run_of("gate", {"n": 2})))
        await asyncio.to_thread(bench.gate.started.acquire)
        await bench.engine.records()  # the joining caller has asked the database as well by then
        bench.gate.opened.set()
        one, two, three = await asyncio.gather(first, joined, other)
        assert one.run.id == two.run.id != three.run.id
        assert (one.is_joined, two.is_joined, three.is_joined) == (False, True, False)
        assert bench.gate.runs == 4
        later = await bench.engine.execute(bench.run_of("gate", {"n": 1}))
        assert later.run.id != one.run.id
        assert not later.is_joined

    asyncio.run(check())


def test_a_cancelled_run_starts_no_further_step(bench):
    async def check():
        task = asyncio.create_task(bench.engine.execute(bench.run_of("gate", {"n": 3})))
        await asyncio.to_thread(bench.gate.started.acquire)
        (running,) = [each for each in await bench.engine.records() if each.state is RunState.RUNNING]
        assert await bench.engine.cancel(running.run.id)
        record = await task
        bench.gate.opened.set()
        assert record.state is RunState.CANCELLED
        assert (await bench.engine.record(record.run.id)).state is RunState.CANCELLED
        assert not await bench.engine.cancel(record.run.id)
        assert bench.gate.runs == 1

    asyncio.run(check())


def test_a_run_is_cancelled_with_the_only_caller_that_waits(bench):
    async def check():
        task = asyncio.create_task(bench.engine.execute(bench.run_of("gate", {"n": 4})))
        await asyncio.to_thread(bench.gate.started.acquire)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        bench.gate.opened.set()
        (record,) = await bench.engine.records(limit=1)
        assert record.state is RunState.CANCELLED

    asyncio.run(check())


def test_steps_may_run_side_by_side_and_return_plain_data(bench):
    async def check():
        run = Run(kind="test", name="t", caller="ada", model="fake/m")
        record = await bench.engine.execute(run)
        assert record.output == {
            "results": [
                "first",
                ["second", {"pair": [1, 2]}],
                ["c", "artifact_failed", "x.y: artifact_failed: the reason"],
            ],
            "model": "fake/m",
            "caller": "ada",
        }
        assert [each.run.id for each in await bench.engine.records(caller="ada")] == [record.run.id]

    asyncio.run(check())


def test_a_kind_that_no_plugin_contributes_fails_and_lists_the_known_kinds(bench):
    record = asyncio.run(bench.engine.execute(Run(kind="tests", name="t")))
    assert record.state is RunState.FAILED
    assert "(did you mean 'test'?); known kinds: " in record.failure["message"]


def test_progress_reaches_the_caller_that_waits(bench):
    messages = []

    async def check():
        await bench.engine.execute(bench.run_of("chain", {"x": 1}), messages.append)

    asyncio.run(check())
    assert messages == ["first: test.add", "second: test.add", "last: test.shout"]


# -- local -------------------------------------------------------------------------------------------------


def test_the_local_engine_has_no_queue_and_says_which_engine_has():
    with deck_of({"chain": CHAIN}) as deck:
        for work in (runs_of(deck).submit(Run(kind="pipeline", name="chain")), runs_of(deck).work()):
            with pytest.raises(UnsupportedError, match=r'\[runs\] engine = "dbos"'):
                asyncio.run(work)


def test_a_run_of_a_process_that_ended_is_interrupted_and_can_be_resumed(tmp_path, monkeypatch):
    url, flaky = f"sqlite:{tmp_path / 'runs.db'}", Flaky()
    flaky.fails = False
    gate = Gate()
    packs = (pack_of("test.flaky", flaky.run, {"text": TEXT}), pack_of("test.gate", gate.run))

    async def killed(deck):
        run = attrs.evolve(make_run(deck.catalog, "flaky", {}, caller="local", model=None), id="lost")
        store = runs_of(deck)._records
        await store.add(run)
        await store.add_step("lost", 0, StepRecord(id="one", result={"output": {"text": "kept"}, "cost_usd": 0.0}))

    with deck_of(PIPELINES, *packs, url=url) as deck:
        asyncio.run(killed(deck))
        assert asyncio.run(runs_of(deck).record("lost")).state is RunState.RUNNING
    monkeypatch.setattr(
        records, "process_token", lambda number: "another"
    )  # the same process number, but another process
    with deck_of(PIPELINES, *packs, url=url) as deck:
        record = asyncio.run(runs_of(deck).record("lost"))
        assert record.state is RunState.INTERRUPTED
        assert asyncio.run(runs_of(deck).execute(resumed(record))).state is RunState.SUCCEEDED
    assert flaky.runs == ["second", "third"]


def test_records_are_kept_in_the_database_of_the_history(tmp_path):
    path = tmp_path / "history.db"
    for _ in range(2):
        with deck_of({"chain": CHAIN}, history={"url": f"sqlite:{path}"}) as deck:
            deck.run("chain", {"x": 1})
            count = len(asyncio.run(runs_of(deck).records()))
    assert count == 2
    assert path.stat().st_mode & 0o077 == 0


def test_a_database_that_cannot_be_used_is_named_without_its_password():
    url = "postgresql://ada:s3cr3t-pass@127.0.0.1:1/runs"
    pytest.importorskip("psycopg")
    with deck_of({"chain": CHAIN}, url=url) as deck, pytest.raises(RecordsError) as caught:
        deck.run("chain", {"x": 1})
    assert "127.0.0.1" in str(caught.value)
    assert "s3cr3t" not in repr(caught.value) + str(caught.value)


def test_an_unknown_kind_of_database_is_a_mistake_of_the_configuration():
    with deck_of({"chain": CHAIN}, url="mysql://h/db") as deck, pytest.raises(ConfigError, match=r"runs\.url.*'mysql:"):
        deck.run("chain", {"x": 1})


def test_a_hundred_concurrent_runs_have_one_record_each(tmp_path):
    async def check():
        async with deck_of({"chain": CHAIN}, url=f"sqlite:{tmp_path / 'runs.db'}") as deck:
            results = await asyncio.gather(*(deck.arun("chain", {"x": number}) for number in range(100)))
            assert [result["outputs"]["sum"] for result in results] == [number + 4 for number in range(100)]
            found = await runs_of(deck).records(limit=1_000)
            assert {each.run.id for each in found} == {result["run_id"] for result in results}
            assert {each.state for each in found} == {RunState.SUCCEEDED}
            assert not runs_of(deck)._active
            assert not runs_of(deck)._by_key

    asyncio.run(check())


def test_in_memory_only_the_newest_records_are_kept(monkeypatch):
    monkeypatch.setattr(records, "KEPT_IN_MEMORY", 3)
    monkeypatch.setattr(records, "PurgeSchedule", lambda: PurgeSchedule(2))

    async def check():
        async with deck_of({"chain": CHAIN}) as deck:
            for number in range(11):
                await deck.arun("chain", {"x": number})
            kept = await runs_of(deck).records()
            assert [each.run.inputs["x"] for each in kept] == [10, 9, 8, 7][: len(kept)]
            assert len(kept) <= 4

    asyncio.run(check())


def test_closing_a_deck_cancels_its_runs(tmp_path):
    url, gate = f"sqlite:{tmp_path / 'runs.db'}", Gate()

    async def check():
        deck = deck_of(PIPELINES, pack_of("test.gate", gate.run), url=url)
        task = asyncio.create_task(deck.arun("gate", {}))
        await asyncio.to_thread(gate.started.acquire)
        await deck.aclose()
        gate.opened.set()
        with pytest.raises(Cancelled):
            await task

    asyncio.run(check())
    with deck_of(PIPELINES, url=url) as deck:
        (record,) = asyncio.run(runs_of(deck).records())
        assert record.state is RunState.CANCELLED
