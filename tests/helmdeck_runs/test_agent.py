"""The agent: plans are executed, failures given back, limits kept, confirmations respected."""

import asyncio

import pytest

from helmdeck_core import PackError, Usage
from helmdeck_runs import Agent, AgentLimits, AgentOutcome
from helmdeck_testing import Fail, Reply
from tests.helmdeck_runs.agent_support import READ_ONLY, WAITS, Tools, agent_deck, entry, failing, plan, prompts, step


@pytest.fixture
def make(tmp_path):
    """Make an agent over packs; returns it with the calls of the packs and the scripted model."""
    decks = []

    def make(replies, *, tier="A", config=None, entries=None, options=None, **outputs):
        tools = Tools(**outputs)
        entries = entries or [entry(name, READ_ONLY) for name in tools.outputs]
        deck, model = agent_deck(tools, replies, entries, tier=tier, tmp_path=tmp_path, **(config or {}))
        decks.append(deck)
        return Agent(deck, **(options or {})), tools, model

    yield make
    for deck in decks:
        deck.close()


def run(agent, intent="do it", **options):
    return asyncio.run(agent.arun(intent, **options))


# -- plan, run, plan -------------------------------------------------------------------------------------------


def test_all_steps_of_a_full_plan_are_executed_with_one_call(make):
    agent, tools, model = make(
        [plan(step("a.one", text="x"), step("b.two", text="y"))], a_one=[{"n": 1}], b_two=[{"n": 2}]
    )
    result = run(agent)
    assert (result.outcome, result.outputs) == (AgentOutcome.DONE, {1: {"n": 1}, 2: {"n": 2}})
    assert tools.calls == [("a.one", {"text": "x"}), ("b.two", {"text": "y"})]
    assert len(model.requests) == 1


def test_single_steps_are_planned_with_the_output_of_the_last_one(make):
    replies = [plan(step("a.one", text="x"), more=True), plan(step("b.two", text="y"), more=False)]
    agent, tools, model = make(replies, tier="C", a_one=[{"id": "note-7"}], b_two=[{"n": 2}])
    assert run(agent).outcome is AgentOutcome.DONE
    assert [name for name, _ in tools.calls] == ["a.one", "b.two"]
    assert "note-7" in prompts(model)[1]


def test_loop_over_single_steps_ends_when_the_planner_has_nothing_left(make):
    replies = [plan(step("a.one", text="x"), more=True), plan(more=False)]
    agent, tools, _ = make(replies, tier="C", a_one=[{}])
    assert run(agent).outcome is AgentOutcome.DONE
    assert len(tools.calls) == 1


def test_outputs_of_earlier_steps_are_arguments_of_later_ones(make):
    steps = [step("a.one", text="x"), step("b.two", text="{{steps.1.text}}", size="{{steps.1.size}}")]
    agent, tools, _ = make([plan(*steps)], a_one=[{"text": "{{steps.1.other}}", "size": 3}], b_two=[{}])
    assert run(agent).outcome is AgentOutcome.DONE
    assert tools.calls[1] == ("b.two", {"text": "{{steps.1.other}}", "size": 3})


def test_reference_in_the_request_is_not_expanded(make):
    agent, tools, _ = make(
        [plan(step("a.one", text="x"), step("b.two", text="{{steps.1.key}}"))], a_one=[{"key": "K"}], b_two=[{}]
    )
    run(agent, "store the text {{steps.1.key}}")
    assert tools.calls[1] == ("b.two", {"text": "{{steps.1.key}}"})


def test_missing_reference_is_given_back_to_the_planner(make):
    replies = [plan(step("a.one", text="{{steps.4.x}}")), plan(step("a.one", text="x"))]
    agent, tools, model = make(replies, a_one=[{}])
    assert run(agent).outcome is AgentOutcome.DONE
    assert "step 4 has no output" in prompts(model)[1]
    assert tools.calls == [("a.one", {"text": "x"})]


# -- failures --------------------------------------------------------------------------------------------------


def test_failure_is_given_back_once_with_its_cause_and_later_steps_are_planned_again(make):
    replies = [plan(step("a.one", text="x"), step("b.two", text="y")), plan(step("c.three", text="z"), more=True)]
    agent, tools, model = make(
        [*replies, plan()],
        a_one=[failing("a.one")],
        b_two=[{}],
        c_three=[{}],
        config={"budgets": {"scripted": {"tier": "C"}}},
    )
    result = run(agent)
    assert [name for name, _ in tools.calls] == ["a.one", "c.three"]
    first, second, third = prompts(model)
    assert "FAILED" not in first.partition("REQUEST")[0].partition("DONE (")[2]
    assert 'a.one FAILED -> "handler_failed: a.one: handler_failed: the disk is full"' in second
    assert "the disk is full" not in third
    assert 'a.one FAILED -> "handler_failed, as reported"' in third
    assert result.outcome is AgentOutcome.PARTIAL
    assert "step 1 (a.one) failed" in result.reason


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        ({"names": ["caf\udce9"]}, "invalid_output: $.names[0]: character 4 is the surrogate '\\udce9'"),
        (failing("a.one", "there is no file caf\udce9"), r"handler_failed: there is no file caf\udce9"),
    ],
)
def test_text_that_is_not_utf8_is_a_failure_that_the_planner_sees(make, outcome, text):
    first = plan(step("a.one", text="x"))
    agent, _, model = make([first, plan(step("b.two", text="y"))], a_one=[outcome], b_two=[{"n": 2}])
    assert run(agent).outcome is AgentOutcome.PARTIAL
    assert text in prompts(model)[1].replace("\\\\", "\\")


def test_second_failure_of_a_tool_ends_the_run(make):
    agent, tools, model = make([plan(step("a.one", text="x")), plan(step("a.one", text="y"))], a_one=[failing("a.one")])
    result = run(agent)
    assert result.outcome is AgentOutcome.FAILED
    assert "a.one failed again: handler_failed" in result.reason
    assert (len(tools.calls), len(model.requests)) == (2, 2)


def test_arguments_that_do_not_fit_are_a_failure_without_a_call(make):
    agent, tools, model = make([plan(step("a.one", wrong=1)), plan(step("a.one", text="x"))], a_one=[{}])
    assert run(agent).outcome is AgentOutcome.DONE
    assert "invalid_input: $.text" in prompts(model)[1]
    assert len(tools.calls) == 1


def test_failed_planning_call_ends_the_run_with_its_cause(make):
    agent, _, _ = make([Fail("auth_failed")], a_one=[{}])
    result = run(agent)
    assert result.outcome is AgentOutcome.FAILED
    assert "auth_failed" in result.reason


def test_gap_is_reported_beside_what_was_executed(make):
    agent, tools, _ = make([plan(step("a.one", text="x"), step("no.such", text="y"))], a_one=[{}])
    result = run(agent)
    assert (result.outcome, len(result.gaps), len(tools.calls)) == (AgentOutcome.PARTIAL, 1, 1)


def test_request_that_nothing_serves_is_a_gap(make):
    agent, _, _ = make([plan({**step("unknown"), "rationale": "gap: nothing brews tea"})], a_one=[{}])
    result = run(agent)
    assert (result.outcome, result.gaps) == (AgentOutcome.GAP, ("nothing brews tea",))
    assert result.reason == "nothing in the catalog serves the request: nothing brews tea"


def test_empty_request_is_rejected(make):
    agent, _, _ = make([], a_one=[{}])
    with pytest.raises(PackError, match="the request is empty"):
        run(agent, "  ")


# -- limits ----------------------------------------------------------------------------------------------------


USAGE = Usage(input_tokens=90, output_tokens=10)


def endless(n=40):
    return [Reply(text=plan(step("a.one", text=str(each)), more=True), usage=USAGE) for each in range(n)]


def counted(n=40):
    return [{"n": each} for each in range(n)]


def test_step_limit(make):
    agent, tools, _ = make(endless(), tier="C", a_one=counted(), options={"limits": AgentLimits(max_steps=4)})
    result = run(agent)
    assert (result.outcome, len(tools.calls)) == (AgentOutcome.STEP_LIMIT, 4)


def test_configured_limits_apply(make):
    agent, tools, _ = make(endless(), tier="C", a_one=counted(), config={"agent": {"max_steps": 2}})
    assert run(agent).outcome is AgentOutcome.STEP_LIMIT
    assert len(tools.calls) == 2


def test_token_limit(make):
    agent, _, model = make(endless(), tier="C", a_one=counted(), options={"limits": AgentLimits(max_tokens=250)})
    result = run(agent)
    assert (result.outcome, len(model.requests), result.spent.tokens) == (AgentOutcome.TOKEN_LIMIT, 3, 300)


def test_cost_limit(make):
    prices = {"scripted": {"tier": "C", "input_cost_usd_per_mtok": 100.0, "output_cost_usd_per_mtok": 100.0}}
    limits = AgentLimits(max_cost_usd=0.015)
    agent, _, model = make(endless(), a_one=counted(), config={"budgets": prices}, options={"limits": limits})
    result = run(agent)
    assert result.outcome in (AgentOutcome.COST_LIMIT, AgentOutcome.FAILED)
    assert len(model.requests) <= 2


def test_time_limit_is_the_deadline_of_every_call(make):
    agent, tools, _ = make(
        [Reply(text=plan(step("a.one", text="x")), delay_s=30)],
        a_one=[{}],
        options={"limits": AgentLimits(max_seconds=0.2)},
    )
    result = run(agent)
    assert (result.outcome, tools.calls) == (AgentOutcome.FAILED, [])
    assert "likely_timeout" in result.reason


def test_repeated_step_without_progress_ends_the_run(make):
    agent, tools, _ = make([plan(step("a.one", text="x"), more=True)] * 5, tier="C", a_one=[{}])
    result = run(agent)
    assert (result.outcome, len(tools.calls)) == (AgentOutcome.NO_PROGRESS, 1)
    assert "planned again with the same arguments" in result.reason


def test_alternating_steps_end_the_run(make):
    replies = [plan(step(("a.one", "b.two")[n % 2], text="x"), more=True) for n in range(20)]
    agent, tools, _ = make(replies, tier="C", a_one=counted(), b_two=counted())
    result = run(agent)
    assert result.outcome in (AgentOutcome.NO_PROGRESS, AgentOutcome.FAILED)
    assert len(tools.calls) <= 8


# -- confirmations ---------------------------------------------------------------------------------------------


def test_without_a_confirmation_nothing_of_the_plan_is_executed(make):
    entries = [entry("a.one", READ_ONLY), entry("b.two")]
    agent, tools, _ = make(
        [plan(step("a.one", text="x"), step("b.two", text="y"))], entries=entries, a_one=[{}], b_two=[{}]
    )
    result = run(agent)
    assert (result.outcome, tools.calls) == (AgentOutcome.NEEDS_CONFIRMATION, [])
    assert "b.two needs a confirmation (not annotated as read-only): pass --yes" in result.reason


def test_callback_sees_the_resolved_arguments_and_decides(make):
    seen = []

    async def confirm(step):
        seen.append((step.entry_id, dict(step.arguments)))
        return step.entry_id == "a.one"

    steps = [step("a.one", text="x"), step("b.two", text="{{steps.1.path}}")]
    agent, tools, _ = make(
        [plan(*steps)],
        entries=[entry("a.one"), entry("b.two")],
        options={"confirm": confirm},
        a_one=[{"path": "/etc"}],
        b_two=[{}],
    )
    result = run(agent)
    assert seen == [("a.one", {"text": "x"}), ("b.two", {"text": "/etc"})]
    assert (result.outcome, tools.calls) == (AgentOutcome.DECLINED, [("a.one", {"text": "x"})])


@pytest.mark.parametrize("answer", [None, "yes", 1, "False", object()])
def test_only_true_confirms(make, answer):
    agent, tools, _ = make(
        [plan(step("a.one", text="x"))], entries=[entry("a.one")], options={"confirm": lambda _: answer}, a_one=[{}]
    )
    assert run(agent).outcome is AgentOutcome.DECLINED
    assert tools.calls == []


def test_policy_of_the_configuration_allows_and_denies(make):
    entries = [entry("a.one"), entry("b.two", READ_ONLY)]
    config = {"agent": {"policy": {"a.*": "allow", "b.two": "deny"}}}
    replies = [plan(step("a.one", text="x"), step("b.two", text="y")), plan()]
    agent, tools, model = make(
        replies, entries=entries, config=config, options={"approve_all": True}, a_one=[{}], b_two=[{}]
    )
    result = run(agent)
    assert [name for name, _ in tools.calls] == ["a.one"]
    assert "b.two is denied by policy 'b.two'" in prompts(model)[1]
    assert result.outcome is AgentOutcome.PARTIAL


def test_dry_run_executes_nothing(make):
    agent, tools, _ = make(
        [plan(step("a.one", text="x"))], entries=[entry("a.one")], options={"approve_all": True}, a_one=[{}]
    )
    result = run(agent, dry_run=True)
    assert (result.outcome, tools.calls) == (AgentOutcome.DRY_RUN, [])
    assert dict(result.explain())["step 1"] == "a.one: needed for a.one; not annotated as read-only"


# -- record ----------------------------------------------------------------------------------------------------


def test_resumed_run_executes_only_what_did_not_succeed(make):
    outputs = {"a_one": [{"n": 1}], "b_two": [failing("b.two"), failing("b.two"), {"n": 2}]}
    steps = step("a.one", text="x"), step("b.two", text="y")
    agent, tools, model = make([plan(*steps), plan(steps[1]), plan()], **outputs)
    first = run(agent)
    assert first.outcome is AgentOutcome.FAILED
    second = run(agent, resume=first)
    assert (second.outcome, second.outputs) == (AgentOutcome.DONE, {1: {"n": 1}, 2: {"n": 2}})
    assert [name for name, _ in tools.calls] == ["a.one", "b.two", "b.two", "b.two"]
    assert len(model.requests) == 2


def test_declined_confirmation_is_requested_again_and_a_given_one_is_not(make):
    answers, asked = [True, False, True], []

    def confirm(step):
        asked.append(step.entry_id)
        return answers.pop(0)

    entries = [entry("a.one"), entry("b.two")]
    agent, tools, _ = make(
        [plan(step("a.one", text="x"), step("b.two", text="y"))],
        entries=entries,
        options={"confirm": confirm},
        a_one=[{}],
        b_two=[{}],
    )
    first = run(agent)
    assert run(agent, resume=first).outcome is AgentOutcome.DONE
    assert asked == ["a.one", "b.two", "b.two"]
    assert [name for name, _ in tools.calls] == ["a.one", "b.two"]


def test_cancelled_run_cancels_the_step_and_starts_no_other_one(make):
    agent, tools, _ = make([plan(step("a.one", text="x"), step("b.two", text="y"))], a_one=[WAITS], b_two=[{}])

    async def main():
        tools.started = asyncio.Event()
        task = asyncio.create_task(agent.arun("do it"))
        await tools.started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [name for name, _ in tools.calls] == ["a.one"]


def test_result_is_plain_data_with_the_calls_that_it_made(make):
    agent, _, _ = make([plan(step("a.one", text="x"))], a_one=[{"n": 1}])
    wire = run(agent).to_dict()
    assert wire["outcome"] == "done"
    assert wire["steps"][0]["output"] == {"n": 1}
    assert len(wire["plans"][0]["call_id"]) == 16
