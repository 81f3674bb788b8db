"""Real servers with constrained decoding: even a model that generates noise returns a valid plan."""

import pytest

from benchmarks.real_servers.plan_deck import CONTEXT, IDS, planning_deck
from helmdeck_core import CallFailed, PlanOutcome, RouteKind

RUN = "helmdeck__pipeline-run"


@pytest.fixture
def deck(any_server, tmp_path):
    with planning_deck(any_server("random", context=CONTEXT), tmp_path) as deck:
        yield deck


@pytest.mark.parametrize("words", ["one", "two words", "three words more"])
def test_noise_under_the_schema_is_a_plan_of_existing_tools(deck, words):
    plan = deck.plan(words, model="llamacpp/tiny")
    assert plan.steps and plan.outcome is not PlanOutcome.NO_STEPS and not plan.downgrades
    assert {*plan.repairs} <= {"control_characters"}  # the Python server's grammar allows them in strings
    for step in plan.steps:
        assert step.tool in {*IDS, RUN, "unknown"} and not step.problems and step.corrected_from is None
        assert step.tool != RUN or step.args["id"] == "read-draw"


def test_noise_under_the_schema_is_a_route_to_an_existing_entry(deck):
    route = deck.route("anything", model="llamacpp/tiny")
    assert route.recommendation.id in IDS or route.recommendation.kind is RouteKind.NONE
    assert {other.id for other in route.alternatives} <= IDS


def test_noise_without_a_schema_is_a_typed_failure_and_the_fallback_is_used(any_server, tmp_path):
    url = any_server("random", context=CONTEXT)
    with (
        planning_deck(url, tmp_path, is_strict=False, output_tokens=60) as deck,
        pytest.raises(CallFailed, match=r"llamacpp/tiny") as caught,
    ):
        deck.plan("read the web", model="llamacpp/tiny")
    assert caught.value.failure_class in ("length_truncated", "constrained_deadlock")
    chain = {"fallback": {"llamacpp/": ["local/lexical"]}, "recovery": {}}
    with planning_deck(url, tmp_path, is_strict=False, output_tokens=60, **chain) as deck:
        plan = deck.plan("read the web", model="llamacpp/tiny")
    assert (plan.model, [step.tool for step in plan.steps]) == ("local/lexical", ["web.read"])
