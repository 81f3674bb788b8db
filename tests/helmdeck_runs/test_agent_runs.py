"""Agent runs on the run engine: they are recorded, resumed by id in another process, and cancelled."""

import asyncio
import importlib.util

import pytest

from helmdeck_core import PackError
from helmdeck_runs import Agent, AgentOutcome, RunState, runs_of
from tests.helmdeck_runs.agent_support import READ_ONLY, WAITS, Tools, agent_deck, entry, plan, step

STEPS = [step("a.one", text="x"), step("b.two", text="{{steps.1.id}}")]
ENTRIES = [entry("a.one", READ_ONLY), entry("b.two")]
ENGINES = [
    "local",
    pytest.param(
        "dbos", marks=pytest.mark.skipif(not importlib.util.find_spec("dbos"), reason="the extra dbos is not installed")
    ),
]


def make(tmp_path, replies, engine="local", **outputs):
    tools = Tools(**(outputs or {"a_one": [{"id": 7}], "b_two": [{}]}))
    runs = {"engine": engine, "url": f"sqlite:{tmp_path}/runs.db"}
    deck, model = agent_deck(tools, replies, ENTRIES, tmp_path=tmp_path, runs=runs)
    return deck, tools, model


def run(deck, work):
    async def main():
        async with deck:
            return await work(deck)

    return asyncio.run(main())


@pytest.mark.parametrize("engine", ENGINES)
def test_run_that_waits_for_a_confirmation_is_resumed_by_another_deck(tmp_path, engine):
    deck, tools, model = make(tmp_path, [plan(*STEPS)], engine, a_one=[{"id": 7}], b_two=[WAITS])

    async def start(deck):
        return await Agent(deck, confirm=lambda _: False).arun("do it")

    first = run(deck, start)
    assert first.outcome is AgentOutcome.DECLINED
    assert [name for name, _ in tools.calls] == ["a.one"]

    deck, tools, model = make(tmp_path, [], engine)
    second = run(deck, lambda deck: Agent(deck, approve_all=True).aresume(first.id))
    assert (second.outcome, second.id != first.id) == (AgentOutcome.DONE, True)
    assert tools.calls == [("b.two", {"text": 7})]
    assert not model.requests


def test_record_has_the_parts_of_a_run(tmp_path):
    deck, _, _ = make(tmp_path, [plan(*STEPS)])

    async def work(deck):
        result = await Agent(deck, approve_all=True).arun("do it", defaults={"lang": "en"})
        return result, await runs_of(deck).record(result.id), await runs_of(deck).records(kind="agent")

    result, record, records = run(deck, work)
    assert (record.state, record.output["outcome"]) == (RunState.SUCCEEDED, "done")
    assert [each.id for each in record.steps] == ["plan-1", "step-1", "step-2"]
    assert [each.run.id for each in records] == [result.id]


def test_cancelled_run_is_recorded_as_cancelled(tmp_path):
    deck, tools, _ = make(tmp_path, [plan(*STEPS)], a_one=[WAITS], b_two=[{}])

    async def work(deck):
        tools.started = asyncio.Event()
        task = asyncio.create_task(Agent(deck, approve_all=True).arun("do it"))
        await tools.started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (record,) = await runs_of(deck).records(kind="agent")
        return record

    assert run(deck, work).state is RunState.CANCELLED
    assert [name for name, _ in tools.calls] == ["a.one"]


def test_run_that_has_not_ended_is_not_resumed(tmp_path):
    deck, tools, _ = make(tmp_path, [plan(*STEPS)], a_one=[WAITS], b_two=[{}])

    async def work(deck):
        tools.started = asyncio.Event()
        task = asyncio.create_task(Agent(deck, approve_all=True).arun("do it"))
        await tools.started.wait()
        (record,) = await runs_of(deck).records(kind="agent")
        with pytest.raises(PackError, match=f"the run {record.run.id} is running in the process"):
            await Agent(deck, approve_all=True).aresume(record.run.id)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(deck, work)
    assert [name for name, _ in tools.calls] == ["a.one"]


def test_unknown_run_is_an_error(tmp_path):
    deck, _, _ = make(tmp_path, [])
    with pytest.raises(PackError, match="there is no agent run 'no-such'"):
        run(deck, lambda deck: Agent(deck).aresume("no-such"))
