"""Missing arguments: the planner gets one more chance, a callback gives them, or the run ends before anything is executed."""

import asyncio
import json

import pytest

from helmdeck_core import EntryKind, Pack, schema_problems
from helmdeck_runs import Agent, AgentOutcome
from helmdeck_testing import make_deck
from tests.helmdeck_runs.agent_support import READ_ONLY, Tools, agent_deck, entry, plan, prompts, step

NEEDS = "b.two needs text (string): add it to the request, pass --default text=VALUE"


@pytest.fixture
def make(tmp_path):
    decks = []

    def make(*replies, **options):
        tools = Tools(a_one=[{"n": 1}], b_two=[{"n": 2}], c_three=[{"n": 3}])
        entries = [entry(name, READ_ONLY) for name in tools.outputs]
        deck, model = agent_deck(tools, list(replies), entries, tmp_path=tmp_path)
        decks.append(deck)
        return Agent(deck, **options), tools, model

    yield make
    for deck in decks:
        deck.close()


def run(agent, **options):
    return asyncio.run(agent.arun("do it", **options))


FIRST = plan(step("a.one", text="x"), step("b.two"))


def test_planner_may_add_a_missing_argument_and_nothing_runs_before(make):
    agent, tools, model = make(FIRST, plan(step("a.one", text="x"), step("b.two", text="y")))
    assert run(agent).outcome is AgentOutcome.DONE
    assert tools.calls == [("a.one", {"text": "x"}), ("b.two", {"text": "y"})]
    assert "$.text: required property is missing" in prompts(model)[1]


@pytest.mark.parametrize("second", [plan(step("a.one", text="x")), plan(more=False), FIRST])
def test_run_ends_before_its_first_step_if_the_planner_does_not_add_it(make, second):
    agent, tools, _ = make(FIRST, second)
    result = run(agent)
    assert (result.outcome, tools.calls) == (AgentOutcome.NEEDS_INPUT, [])
    assert result.reason.startswith(NEEDS)


def test_planner_may_choose_another_entry(make):
    agent, tools, _ = make(FIRST, plan(step("c.three", text="x")))
    assert run(agent).outcome is AgentOutcome.PARTIAL
    assert tools.calls == [("c.three", {"text": "x"})]


def test_callback_gives_them_when_the_step_is_reached(make):
    asked = []

    async def ask(step, missing):
        asked.append((step.entry_id, missing))
        return {"text": "y"}

    agent, tools, model = make(FIRST, ask=ask)
    assert run(agent).outcome is AgentOutcome.DONE
    assert tools.calls == [("a.one", {"text": "x"}), ("b.two", {"text": "y"})]
    assert asked == [("b.two", {"text": {"type": "string"}})]
    assert len(model.requests) == 1


def test_run_ends_if_the_callback_gives_nothing_and_calls_it_again_when_it_is_resumed(make):
    agent, tools, _ = make(FIRST, ask=lambda *_: None)
    result = run(agent)
    assert result.outcome is AgentOutcome.NEEDS_INPUT
    agent._ask = lambda *_: {"text": "y"}
    assert asyncio.run(agent.aresume(result.id)).outcome is AgentOutcome.DONE
    assert tools.calls == [("a.one", {"text": "x"}), ("b.two", {"text": "y"})]


def test_dry_run_checks_the_arguments_of_every_step(make):
    agent, tools, _ = make(plan(step("a.one", text=7), step("b.two"), step("c.three", text="{{steps.1.n}}")))
    result = run(agent, dry_run=True)
    assert [each.warning for each in result.steps] == [
        "invalid arguments: $.text: 7 is not of type 'string'",
        "invalid arguments: $.text: required property is missing",
        "",
    ]
    assert (result.outcome, tools.calls) == (AgentOutcome.NEEDS_INPUT, [])
    assert NEEDS in result.reason


def test_id_of_a_run_is_known_and_recorded_before_its_first_step(make):
    agent, tools, _ = make(FIRST)
    seen = []
    result = run(agent, started=lambda run_id: seen.append((run_id, list(tools.calls))))
    assert seen == [(result.id, [])]


def example(properties, name):
    kinds = {"string": "x", "integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}
    schema = properties[name]
    return schema["enum"][0] if "enum" in schema else kinds[schema["type"]]


def test_runnable_entries_of_the_example_catalog_have_the_inputs_of_their_packs(tmp_path):
    """What fits an entry fits its pack: with the required arguments, and with all."""
    with make_deck(config={"packs": {"options": {"fs": {"root": str(tmp_path)}}}}) as deck:
        packs = {name: owned.value for name, owned in deck.runtime.contributed(Pack).items()}
        entries = [each for each in deck.catalog.entries if each.kind is EntryKind.PACK and deck.can_run(each.id)]
    assert {"helmdeck.memory_search", "fs.read", "http.fetch"} <= {each.id for each in entries}
    for each in entries:
        schema, wanted = each.input_schema or {}, packs[each.id].input_schema
        required, properties = schema.get("required", []), schema.get("properties", {})
        for names in (required, [name for name in properties if "anyOf" not in properties[name]]):
            arguments = json.loads(json.dumps({name: example(properties, name) for name in names}))
            assert schema_problems(wanted, arguments) == (), each.id


def test_default_that_no_entry_takes_is_explained_once(make):
    agent, *_ = make(plan(step("a.one", text="x"), more=True), plan(step("b.two", text="y")))
    notices = [text for label, text in run(agent, defaults={"txt": "x"}).explain() if label == "notice"]
    assert len([text for text in notices if text.startswith("the default 'txt' has no effect")]) == 1
