"""Arguments that are nested too deeply are an answer that cannot be used, so that a fallback model is called."""

from __future__ import annotations

import json

import pytest

from helmdeck_core import CallFailed, Helmdeck
from helmdeck_testing import make_deck, scripted_provider

LEVELS = [101, 400, 500, 700, 950, 5_000]


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def plan_with(args: str) -> str:
    step = f'{{"order":1,"tool":"blog.draft","args":{args},"rationale":"r"}}'
    return f'{{"steps":[{step}],"complexity":"single-action","reasoning":"x"}}'


def route_with(inputs: str) -> str:
    best = f'{{"kind":"pack","id":"blog.draft","why":"w","suggested_inputs":{inputs}}}'
    return f'{{"recommendation":{best},"alternatives":[],"gap_warning":null,"reasoning":"x"}}'


def deck_of(bad: str, good: str) -> Helmdeck:
    fallback = {"fallback": {"a/": ["b/two"]}}
    return make_deck(scripted_provider([bad] * 4, "a"), scripted_provider([good] * 4, "b"), config=fallback)


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("prefix", ["", "Here it is: "])
def test_plan_with_arguments_nested_too_deeply_falls_back(levels: int, prefix: str) -> None:
    bad = prefix + plan_with(f'{{"brief":{nested(levels)}}}')
    with deck_of(bad, plan_with('{"brief":"b"}')) as deck:
        plan = deck.plan("draft a blog post", model="a/one")
    assert (plan.model, plan.steps[0].args) == ("b/two", {"brief": "b"})
    assert plan.attempts[0].cause == "constrained_deadlock"


@pytest.mark.parametrize("levels", LEVELS)
def test_route_with_inputs_nested_too_deeply_falls_back(levels: int) -> None:
    bad = route_with(f'{{"brief":{nested(levels)}}}')
    with deck_of(bad, route_with('{"brief":"b"}')) as deck:
        assert deck.route("draft a blog post", model="a/one").model == "b/two"


@pytest.mark.parametrize("levels", LEVELS)
def test_string_of_arguments_nested_too_deeply_is_a_problem_of_the_step(levels: int) -> None:
    with deck_of(plan_with(json.dumps(f'{{"brief":{nested(levels)}}}')), plan_with("{}")) as deck:
        plan = deck.plan("draft a blog post", model="a/one")
    assert plan.steps[0].args == {}
    assert any("not an object of arguments" in problem for problem in plan.steps[0].problems)


def test_failure_names_the_limit() -> None:
    bad = plan_with(f'{{"brief":{nested(500)}}}')
    with deck_of(bad, bad) as deck, pytest.raises(CallFailed, match="at most 100 levels"):
        deck.plan("draft a blog post", model="a/one")


def test_arguments_of_eighty_levels_are_planned() -> None:
    with deck_of(plan_with(f'{{"brief":{nested(80)}}}'), "") as deck:
        plan = deck.plan("draft a blog post", model="a/one")
    assert plan.model == "a/one"
    assert str(plan)
    assert json.dumps(plan.to_dict())
