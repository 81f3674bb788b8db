"""After the failure of every model, the embedded planner plans where it is sure."""

import pytest

from helmdeck_core import CallFailed, SafetyFiltered
from helmdeck_testing import Fail, chat_server, make_deck, scripted_provider

SURE = "summarize this text: Tides follow the moon. Boats wait."
UNSURE = "fly to the moon and sing"


def deck_of(*replies, enabled=True, **config):
    options = {"packs": {"options": {"helmdeck": {"embedded_fallback": enabled}}}}
    return make_deck(scripted_provider(list(replies)), config={"model": "scripted/a", **options, **config})


FAILURES = [Fail("safety_filtered"), Fail("safety_filtered")]


def test_embedded_planner_ends_the_chain_and_is_named():
    with deck_of(*FAILURES, fallback={"scripted/": ["scripted/b"]}, recovery={"max_attempts": 2}) as deck:
        plan = deck.plan(SURE)
    assert [step.tool for step in plan.steps] == ["text.summarize"]
    assert (plan.model, plan.requested_model) == ("local/lexical", "scripted/a")
    assert [each.model for each in plan.attempts][-1] == "local/lexical"
    (notice,) = (each for each in plan.notices if "local/lexical" in each)
    assert "returned no plan (safety_filtered)" in notice and "embedded_fallback" in notice
    assert plan.to_dict()["requested_model"] == "scripted/a"


@pytest.mark.parametrize("request_text", [UNSURE, "summarize and sing the moon", "compare the texts"])
def test_failure_stays_where_the_embedded_planner_is_not_sure(request_text):
    with deck_of(*FAILURES) as deck, pytest.raises(SafetyFiltered):
        deck.plan(request_text)


def test_setting_switches_it_off():
    with deck_of(*FAILURES, enabled=False) as deck, pytest.raises(SafetyFiltered):
        deck.plan(SURE)


def test_failure_stays_without_the_embedded_planner():
    with deck_of(*FAILURES, plugins={"disable": ["local"]}) as deck, pytest.raises(SafetyFiltered):
        deck.plan(SURE)


def test_routes_and_questions_are_not_planned():
    with deck_of(*FAILURES) as deck, pytest.raises(CallFailed):
        deck.route(SURE)
    with deck_of(*FAILURES) as deck, pytest.raises(CallFailed):
        deck.ask(SURE)


def test_cost_and_tokens_of_the_failed_models_belong_to_the_plan():
    with chat_server(lambda body: {"choices": [{"message": {"content": "I cannot."}, "finish_reason": "stop"}],
                                   "usage": {"prompt_tokens": 9, "completion_tokens": 3}}) as server:  # fmt: skip
        providers = {"acme": {"kind": "openai", "base_url": server.base_url}}
        options = {"packs": {"options": {"helmdeck": {"embedded_fallback": True}}}}
        with make_deck(config={"model": "acme/a", "providers": providers, **options}) as deck:
            plan = deck.plan(SURE)
    assert plan.model == "local/lexical"
    assert plan.rejected_usage.output_tokens >= 3
    assert plan.usage.output_tokens == 0


def test_it_is_on_by_default():
    from helmdeck_core import Helmdeck

    with Helmdeck(
        file="/dev/null",
        environ={},
        autoload=False,
        model="scripted/a",
        plugins={"s": scripted_provider([Fail("safety_filtered")] * 9)},
    ) as deck:
        assert deck.plan(SURE).model == "local/lexical"
