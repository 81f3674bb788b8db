"""Which process executes a run: a run is resumed once at a time, and a reused process number is another process."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from helmdeck_runs import Run, RunState, runs_of
from helmdeck_runs.engines import records
from helmdeck_runs.failures import RunInUseError
from helmdeck_runs.pipelines.start import make_run, resumed
from tests.databases_support import postgres_schema
from tests.helmdeck_runs.pipelines_support import TEXT, deck_of, pack_of
from tests.helmdeck_runs.test_run_engines import FLAKY_STEPS, Flaky

HAS_START_TIMES = Path("/proc/self/stat").exists()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        yield f"sqlite:{tmp_path / 'runs.db'}"
        return
    with postgres_schema() as (url, _, _):
        yield url


class Waiting(Flaky):
    """The second run of the second step waits until it is released."""

    def __init__(self):
        super().__init__()
        self.started, self.released = asyncio.Event(), asyncio.Event()

    async def run(self, context, arguments):
        if arguments["text"] == "second" and not self.fails:
            self.started.set()
            await self.released.wait()
        return await super().run(context, arguments)


def test_a_run_is_resumed_by_one_deck_at_a_time(url):
    async def check():
        flaky = Waiting()
        pack = pack_of("test.flaky", flaky.run, {"text": TEXT})
        with deck_of({"flaky": {"steps": FLAKY_STEPS}}, pack, url=url) as deck, deck_of({}, pack, url=url) as other:
            run = attrs.evolve(make_run(deck.catalog, "flaky", {}, caller="local", model=None), key="")
            failed = await runs_of(deck).execute(run)
            flaky.fails = False
            again = resumed(await runs_of(deck).record(failed.run.id))
            first = asyncio.create_task(runs_of(deck).execute(again))
            await flaky.started.wait()
            with pytest.raises(
                RunInUseError, match=f"the run {failed.run.id} is already resumed, as run .* wait until"
            ):
                await runs_of(other).execute(again)
            flaky.released.set()
            assert (await first).state is RunState.SUCCEEDED
            assert len(await runs_of(other).records()) == 2, "the refused run is not recorded"
        return flaky.runs

    assert asyncio.run(check()) == ["first", "second", "second", "third"]


def test_claims_of_two_transactions_wait_for_one_another():
    with postgres_schema() as (url, _, _):
        stores = [records.Records(url, 30) for _ in range(8)]
        run = Run(kind="pipeline", name="chain")

        async def claim(number, store):
            await store.add(attrs.evolve(run, id=f"run-{number}", resumes="first"))

        async def check():
            await stores[0].add(attrs.evolve(run, id="first"))
            return await asyncio.gather(*(claim(*each) for each in enumerate(stores)), return_exceptions=True)

        outcomes = asyncio.run(check())
        for store in stores:
            store.close()
    assert [type(each) for each in outcomes].count(type(None)) == 1
    assert [type(each) for each in outcomes].count(RunInUseError) == 7


@pytest.mark.skipif(not HAS_START_TIMES, reason="this system has no /proc with start times")
def test_a_reused_process_number_is_another_process():
    host, number, token = records.executor_id().split(":")
    assert int(number) == os.getpid()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        own = f"{host}:{child.pid}:{records.process_token(child.pid)}"
        earlier = f"{host}:{child.pid}:{token}"
        assert not records.is_dead(own)
        assert records.is_dead(earlier), "the number belongs to a process that started later"
        assert not records.is_dead(f"{host}:{child.pid}:a1b2c3d4"), "without a start time, the number decides"
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert records.is_dead(own), "a process that ended and was not waited for is dead"
