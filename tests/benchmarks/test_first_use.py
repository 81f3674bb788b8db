"""The first-use benchmark: its requests can be read, and its scores count what its page describes."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.first_use.data import OWN, ExpectedStep, Request, load_catalogs, load_requests, mcp_folder, of_half
from benchmarks.first_use.scoring import score
from helmdeck_core import Complexity, Plan, PlanOutcome, Step
from helmdeck_selection import read_catalog

SHOP = read_catalog(
    [
        {"name": "find_item", "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}},
        {
            "name": "drop_item",
            "parameters": {"type": "object", "properties": {"query": {"type": "string"}}},
            "annotations": {"readOnlyHint": False},
        },
    ],
    "test",
)


def plan(*steps: tuple[str, dict[str, Any]], gap: str = "", advice: str = "") -> Plan:
    made = [Step(order=order, tool=tool, args=args) for order, (tool, args) in enumerate(steps, 1)]
    if gap:
        made.append(Step(order=len(made) + 1, tool="unknown", rationale=f"gap: {gap}"))
    return Plan(
        steps=tuple(made),
        complexity=Complexity.PACK_CHAIN,
        outcome=PlanOutcome.PLANNED,
        rewritten_prompt="",
        reasoning="",
        prompt_variant_used="full_steps",
        model="local/lexical",
        advice=advice,
        requested_model="local/lexical",
    )


def find(**args: Any) -> ExpectedStep:
    return ExpectedStep(("find_item",), args, {})


def test_there_are_at_least_200_requests_in_two_halves_of_similar_size() -> None:
    requests = load_requests()
    assert len(requests) >= 200
    assert len({(each.catalog, each.text) for each in requests}) == len(requests)
    halves = [len(of_half(requests, half)) for half in ("dev", "held-out")]
    assert sum(halves) == len(requests) and min(halves) > 0.4 * len(requests)


def test_every_expected_tool_and_argument_exists_in_its_catalog() -> None:
    catalogs = load_catalogs(mcp_folder())
    assert {*OWN, "example"} <= catalogs.keys()
    checked = 0
    for request in load_requests():
        if request.catalog not in catalogs:
            continue
        known = {entry.id: entry for entry in catalogs[request.catalog].entries}
        for step in request.steps:
            for tool in step.tools:
                entry = known[tool.removeprefix("pipeline:")]
                schema = entry.input_schema or {"properties": entry.metadata.get("inputs", {})}
                assert {*step.args, *step.optional} <= schema["properties"].keys(), request.text
        assert {tool.removeprefix("pipeline:") for tool in request.never} <= known.keys(), request.text
        checked += 1
    assert checked > 80


def test_a_right_plan_has_all_steps_and_arguments() -> None:
    request = Request("shop", "find tea and find mugs", steps=(find(query="tea"), find(query="mugs")))
    found = score(request, plan(("find_item", {"query": "mugs"}), ("find_item", {"query": "tea"})), SHOP)
    assert (found.steps, found.tools, found.args, found.problems) == (2, 2, 2, ())


def test_a_missing_step_is_no_right_tool() -> None:
    request = Request("shop", "find tea and find mugs", steps=(find(query="tea"), find(query="mugs")))
    found = score(request, plan(("find_item", {"query": "tea"})), SHOP)
    assert (found.tools, found.args) == (1, 1)


@pytest.mark.parametrize("value", ["mugs", "coffee"])
def test_a_value_of_another_part_or_of_no_part_is_invented(value: str) -> None:
    request = Request("shop", "find tea and find mugs", steps=(find(query="tea"), find()))
    found = score(request, plan(("find_item", {"query": "tea"}), ("find_item", {"query": value})), SHOP)
    assert (found.tools, found.args, found.invented) == (2, 1, 1)


def test_a_borrowed_value_is_invented_where_another_one_is_expected() -> None:
    request = Request("shop", "find tea and find mugs", steps=(find(query="tea"), find(query="mugs")))
    found = score(request, plan(("find_item", {"query": "tea"}), ("find_item", {"query": "tea"})), SHOP)
    assert (found.args, found.invented) == (1, 1)


def test_an_unexpected_step_that_writes_is_a_wrong_write() -> None:
    request = Request("shop", "find tea", steps=(find(query="tea"),), never=("drop_item",))
    found = score(request, plan(("find_item", {"query": "tea"}), ("drop_item", {})), SHOP)
    assert (found.wrong_writes, found.negated, found.extra) == (1, 1, 1)


def test_an_excluded_value_in_an_argument_counts_as_negated() -> None:
    request = Request("shop", "find tea but not mugs", steps=(find(query="tea"),), forbidden=("mugs",))
    assert score(request, plan(("find_item", {"query": "tea but not mugs"})), SHOP).negated == 1


@pytest.mark.parametrize(("gap", "reported"), [("nothing fits 'mow the Lawn'", 1), ("nothing fits", 0), ("", 0)])
def test_a_gap_counts_if_it_names_the_part(gap: str, reported: int) -> None:
    found = score(Request("shop", "mow the lawn", gaps=("lawn",)), plan(gap=gap), SHOP)
    assert (found.gaps, found.reported) == (1, reported)


@pytest.mark.parametrize(("advice", "reported"), [("use a language model", 1), ("add a tool", 0), ("", 0)])
def test_a_request_in_an_unknown_language_needs_the_advice_to_use_a_model(advice: str, reported: int) -> None:
    found = score(Request("shop", "東京", needs_model=True), plan(gap="nothing fits", advice=advice), SHOP)
    assert (found.gaps, found.reported) == (1, reported)


def test_alternatives_inside_an_object_are_compared() -> None:
    item = {"name": "Ada", "notes": {"any": [["tall"], ["is tall"]]}}
    request = Request("shop", "find Ada who is tall", steps=(find(items=[item]),))
    found = score(request, plan(("find_item", {"items": [{"name": "Ada", "notes": ["is tall"]}]})), SHOP)
    assert (found.args, found.problems) == (1, ())
