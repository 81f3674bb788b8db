"""What a planning request names and contains is checked before a model is called: executed steps, defaults, undecodable text."""

import pytest

from helmdeck_core import Catalog, CompletedStep, Helmdeck, PackError, PlanOutcome
from helmdeck_planner.packs.input_names import input_names, unused_defaults
from tests.case_support import each_case

ASK = "draft a blog post about our launch"


@pytest.fixture
def deck(answering):
    """A deck, and the provider of its model."""
    deck, provider = answering({"steps": []}, config={"model": "openai/gpt-4o"})
    return deck, provider


def test_executed_step_that_the_catalog_lacks_is_an_error_with_the_nearest_ids(deck):
    planner, provider = deck
    with pytest.raises(PackError) as caught:
        planner.plan(ASK, done=[CompletedStep("helmdeck.memory_store"), CompletedStep("blog.drft", "text")])
    detail = caught.value.detail
    assert detail.startswith(
        "done: the catalog has no entry 'blog.drft' (did you mean 'blog.draft'?); entries: blog.draft, "
    )
    assert "`helmdeck catalog show` lists all" in detail and not provider.requests


@pytest.mark.parametrize("pack", ["helmdeck.plan", "helmdeck.route"])
def test_pack_reports_an_executed_step_that_the_catalog_lacks_like_plan(deck, pack):
    planner, provider = deck
    with pytest.raises(PackError) as expected:
        planner.plan(ASK, done=[CompletedStep("blog.drft")])
    with pytest.raises(PackError) as caught:
        planner.run(pack, {"intent": ASK, "done": [{"tool": "blog.drft"}]})
    assert (caught.value.pack, caught.value.detail) == (pack, expected.value.detail) and not provider.requests


def test_steps_of_an_earlier_plan_are_accepted_pipelines_and_gaps_included(deck):
    planner, _ = deck
    pipeline = planner.catalog.pipelines[0].id
    done = [CompletedStep(name) for name in ("blog.draft", pipeline, "helmdeck__pipeline-run", "unknown")]
    assert planner.plan(ASK, done=done).outcome is PlanOutcome.COMPLETE


def test_default_that_no_entry_has_an_input_for_is_a_notice():
    with Helmdeck(model="local/lexical") as deck:
        defaults = {"brief": "tides", "breif": "x", "zzz": 1}
        plan, route = deck.plan(ASK, defaults=defaults), deck.route(ASK, defaults=defaults)
    expected = (
        "the default 'breif' has no effect: no entry of the catalog has an input of this name (did you mean 'brief'?)",
        "the default 'zzz' has no effect: no entry of the catalog has an input of this name",
    )
    assert plan.notices == route.notices == expected


def catalog(*schemas):
    rows = [{"name": f"t{number}", "description": "d", "inputSchema": each} for number, each in enumerate(schemas)]
    return Catalog.from_data({"packs": rows}, "test")


CITY = {
    "type": "object",
    "properties": {"to": {"$ref": "#/$defs/place"}},
    "$defs": {"place": {"properties": {"city": {}}}},
}


@each_case(
    ("schemas", "unused"),
    [
        ([CITY], ["zzz"]),
        ([CITY, {"type": "object"}], ["zzz"]),
        ([CITY, {"type": "object", "additionalProperties": True}], []),
        ([CITY, {"type": "object", "patternProperties": {"^z": {}}}], []),
        ([{"type": "object"}], []),
    ],
)
def test_only_a_catalog_that_closes_its_inputs_has_unused_defaults(schemas, unused):
    found = unused_defaults(["to", "city", "zzz"], catalog(*schemas))
    assert [name for name in ("to", "city", "zzz") if any(f"'{name}'" in notice for notice in found)] == unused


def test_inputs_of_a_deeply_nested_schema_are_found():
    schema = {"properties": {"deep": {}}}
    for _ in range(5_000):
        schema = {"items": schema}
    assert input_names(catalog(schema)) == {"deep"}


@each_case("name", ["intent", "context"])
@each_case("method", ["plan", "route"])
def test_text_with_a_surrogate_is_invalid_input_and_never_sent(deck, method, name):
    planner, provider = deck
    request = {"intent": ASK, name: "caf\udce9 about tides"}
    with pytest.raises(PackError, match=rf"invalid_input: {name}: character 4 is the surrogate '.udce9'") as caught:
        getattr(planner, method)(request.pop("intent"), **request)
    assert str(caught.value).encode() and not provider.requests
