"""What strict answers are constrained to: ids that exist, arguments that fit, and an end to everything."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from helmdeck_core import Catalog, Complexity, Helmdeck, Task
from helmdeck_planner.packs import constraints
from helmdeck_planner.packs.constraints import ARGUMENTS, MOST_ENTRIES, MOST_IDS, VALUE, plan_forms, route_forms
from tests.case_support import each_case
from tests.schema_parts_support import assert_is_schema, parts

FREE = "openrouter/openrouter/free"
FRONTIER = "openai/gpt-4o"
MIDDLE = "openrouter/mistralai/large"
ASK = "draft a blog post about our launch"
RUN = "helmdeck__pipeline-run"

SMALL = {
    "packs": [
        {
            "name": "web.scrape",
            "input_schema": {
                "type": "object",
                "properties": {"url": {"type": "string"}, "render": {"type": "boolean"}},
                "required": ["url"],
            },
        },
        {"name": "image.make", "input_schema": {"type": "object", "properties": {"size": {"enum": ["s", "l"]}}}},
        {"name": "note.add", "metadata": {"accepts": ["text"]}},
        {"name": "clock.now"},
    ],
    "pipelines": [{"id": "scrape-draw", "metadata": {"inputs": {"width": {"type": "integer"}}}}],
}


def catalog(data=SMALL):
    return Catalog.from_data(data, "test")


def task(entries, variant="full_steps", done=()):
    return Task(name="plan", variant=variant, model="a/b", request="x", catalog=entries, done=done)


def planned(entries, form="arguments", **how):
    return {each.name: each for each in plan_forms(task(entries, **how), single_pick="single_pick")}[form].schema


def routed(entries, form="arguments"):
    return {each.name: each for each in route_forms(task(entries), most_alternatives=3)}[form].schema


def plan_of(tool, args=None):
    step = {"order": 1, "tool": tool, "args": args or {}, "rationale": "why"}
    return {"steps": [step], "complexity": "single-action", "reasoning": "because"}


def fits(schema, value):
    return Draft202012Validator(schema).is_valid(value)


def assert_it_ends(schema):
    assert_is_schema(schema)
    for part in parts(schema):
        assert part.keys() <= {
            "type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "maxLength",
            "enum", "anyOf", "$ref", "$defs", "description",
        }  # fmt: skip
        if "$ref" in part:
            assert part["$ref"].removeprefix("#/$defs/") in schema["$defs"]
        elif part.get("type") == "object":
            assert part["additionalProperties"] is False and set(part["required"]) <= set(part["properties"])
        elif part.get("type") == "array":
            assert part["maxItems"] <= 20
        elif part.get("type") == "string":
            assert "enum" in part or part["maxLength"] <= (ARGUMENTS if "description" in part else VALUE)
        else:
            assert part.get("enum") or part.get("anyOf") or part["type"] in ("integer", "number", "boolean", "null")


@pytest.fixture(scope="module")
def everything():
    return Helmdeck(environ={}).catalog


def ids_in(schema):
    steps = schema["properties"]["steps"]["items"]["anyOf"]
    tools = [tool for step in steps for tool in step["properties"]["tool"]["enum"]]
    args = [step["properties"]["args"] for step in steps if RUN in step_tools(step)]
    runs = [run["properties"]["id"]["enum"] for each in args for run in each.get("anyOf", [each])]
    return [tool for tool in tools if tool not in (RUN, "unknown")], [each for ids in runs for each in ids]


def step_tools(step):
    return step["properties"]["tool"]["enum"]


@pytest.mark.parametrize("form", ["arguments", "ids"])
def test_schemas_are_closed_and_bounded(everything, form):
    for schema in (
        planned(everything, form),
        planned(everything, form, variant="single_pick"),
        routed(everything, form),
    ):
        assert_it_ends(schema)


@pytest.mark.parametrize("form", ["arguments", "ids"])
def test_objects_of_one_union_are_distinguished_by_the_values_of_their_first_property(everything, form):
    for schema in (planned(everything, form), routed(everything, form)):
        for part in parts(schema):
            objects = [each["properties"] for each in part.get("anyOf", ()) if each.get("properties")]
            firsts = [next(iter(properties.items())) for properties in objects]
            assert len({name for name, _ in firsts}) <= 1
            values = [value for _, first in firsts for value in first["enum"]]
            assert len(values) == len(set(values))


def test_id_form_is_small_and_has_string_arguments(everything):
    exact, ids = planned(everything), planned(everything, "ids")
    assert [sorted(found) for found in ids_in(exact)] == [sorted(found) for found in ids_in(ids)]
    assert len(json.dumps(ids)) < len(json.dumps(exact)) / 5
    assert fits(ids, plan_of("web.scrape", '{"urls": ["https://a.example"]}'))
    assert fits(ids, plan_of(RUN, {"id": "grounded-blog"}))
    assert fits(ids, plan_of(RUN, {"id": "grounded-blog", "inputs": "{}"}))
    assert not fits(ids, plan_of("web.scrap", "{}")) and not fits(ids, plan_of(RUN, {"id": "web.scrape"}))


def test_the_tools_are_the_packs_the_pipelines_and_the_gap_and_nothing_else(everything):
    packs, pipelines = ids_in(planned(everything))
    assert sorted(packs) == sorted(entry.id for entry in everything.packs)
    assert sorted(pipelines) == sorted(entry.id for entry in everything.pipelines)
    assert fits(planned(everything), plan_of("unknown"))


@each_case(
    ("tool", "args"),
    [
        ("web.scrape", {"url": "https://a.example"}),
        ("web.scrape", {"url": "https://a.example", "render": True}),
        ("image.make", {}),
        ("image.make", {"size": "s"}),
        ("note.add", {"text": "x"}),
        ("note.add", {"text": 5}),
        ("clock.now", {}),
        (RUN, {"id": "scrape-draw"}),
        (RUN, {"id": "scrape-draw", "inputs": {"width": 5}}),
        ("unknown", {}),
    ],
)
def test_steps_that_the_catalog_allows_fit(tool, args):
    assert fits(planned(catalog()), plan_of(tool, args))


@each_case(
    ("tool", "args"),
    [
        ("web.scrap", {"url": "x"}),
        ("scrape-draw", {}),
        ("helmdeck.plan", {}),
        ("", {}),
        ("web.scrape", {}),
        ("web.scrape", {"size": "s"}),
        ("image.make", {"size": "xl"}),
        ("clock.now", {"zone": "x"}),
        ("unknown", {"a": 1}),
        (RUN, {}),
        (RUN, {"id": "web.scrape"}),
        (RUN, {"id": "scrape-draw", "inputs": {"width": "five"}}),
        ("note.add", {"text": "x" * (VALUE + 1)}),
    ],
)
def test_steps_outside_the_catalog_do_not_fit(tool, args):
    assert not fits(planned(catalog()), plan_of(tool, args))


def test_single_pick_schema_allows_one_step():
    single = planned(catalog(), variant="single_pick")
    one = plan_of("clock.now")
    assert fits(single, {**one, "more_steps_likely": True}) and not fits(single, one)
    assert not fits(single, {**one, "steps": one["steps"] * 2, "more_steps_likely": True})
    assert not fits(planned(catalog()), {**one, "more_steps_likely": True})


def test_schema_requires_a_step_unless_steps_were_executed():
    nothing = {"steps": [], "complexity": "single-action", "reasoning": ""}
    assert not fits(planned(catalog()), nothing) and fits(planned(catalog(), done=("x",)), nothing)
    assert all(fits(planned(catalog()), {**plan_of("unknown"), "complexity": each}) for each in Complexity)


def test_a_route_names_what_exists_under_its_own_kind_with_its_own_inputs():
    schema = routed(catalog())

    def route(kind, entry_id, inputs=None, others=()):
        chosen = {"kind": kind, "id": entry_id, "suggested_inputs": inputs or {}, "why": "w"}
        others = [{"kind": "pack", "id": other, "why": "w"} for other in others]
        return {"recommendation": chosen, "alternatives": others, "gap_warning": None, "reasoning": "r"}

    assert fits(schema, route("pipeline", "scrape-draw", {"width": 3}, ["web.scrape", "clock.now"]))
    assert fits(schema, route("pack", "image.make", {"size": "l"})) and fits(schema, route("none", ""))
    assert not fits(schema, route("pack", "scrape-draw")) and not fits(schema, route("none", "web.scrape"))
    assert not fits(schema, route("pack", "image.make", {"url": "x"})) and not fits(schema, route("pack", "nope"))
    assert not fits(schema, route("none", "", others=["clock.now"] * 4))


def test_an_empty_catalog_leaves_the_gap():
    empty = Catalog()
    assert fits(planned(empty), plan_of("unknown")) and not fits(planned(empty), plan_of("web.scrape"))
    assert_it_ends(planned(empty))
    assert_it_ends(routed(empty))


def test_schema_of_a_catalog_is_deterministic_and_cached(everything):
    again = Catalog(everything.entries)
    for make in (planned, routed):
        assert json.dumps(make(everything)) == json.dumps(make(again))
        assert make(everything) is make(everything)


@pytest.mark.parametrize("make", [planned, routed])
def test_too_large_catalog_has_no_schema(make):
    many = [{"name": f"tool.{number}"} for number in range(MOST_IDS + 1)]
    for form, most in (("arguments", MOST_ENTRIES), ("ids", MOST_IDS)):
        assert make(catalog({"packs": many[: most + 1]}), form) is None
        assert make(catalog({"packs": many[:most]}), form) is not None
    wide = {f"{'input' * 10}{number}": {"type": "integer"} for number in range(3_000)}
    wide = catalog({"packs": [{"name": "wide", "input_schema": {"properties": wide}}]})
    assert make(wide) is None and make(wide, "ids") is not None


LEAVES = st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["string", "object", "array", "#/x", "a"])
KEYS = st.sampled_from(["type", "properties", "items", "enum", "anyOf", "oneOf", "required", "$ref", "const", "a"])
SCHEMAS = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4))


@given(st.dictionaries(KEYS, SCHEMAS, max_size=4), SCHEMAS)
def test_schema_made_of_any_input_schema_is_finite(schema, accepts):
    packs = [{"name": "a", "input_schema": schema}, {"name": "b", "metadata": {"accepts": accepts, "inputs": schema}}]
    entries = catalog({"packs": packs, "pipelines": [{"id": "c", "metadata": {"inputs": accepts}}]})
    assert_it_ends(planned(entries))
    assert_it_ends(routed(entries))


def test_schema_of_a_recursive_input_is_finite():
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}}, "required": ["left"]}
    schema = planned(catalog({"packs": [{"name": "t", "input_schema": tree}]}))
    assert_it_ends(schema)
    assert fits(schema, plan_of("t", {"left": "x"}))


# -- what a request offers ----------------------------------------------------------------------------------------

GOOD = plan_of("blog.draft", {"brief": "our launch"})


def request_of(answering, model, **options):
    deck, provider = answering(GOOD, **options)
    deck.plan(ASK, model=model)
    return provider.requests[0]


def test_request_with_json_mode_offers_the_schema_of_the_shown_entries(answering):
    every = request_of(answering, FRONTIER).response_format
    assert (every.kind, every.name) == ("json_object", "plan")
    assert set(ids_in(every.schema)[0]) >= {"blog.draft", "web.search"}
    few = request_of(answering, MIDDLE, config={"budgets": {MIDDLE: {"max_catalog_bytes": 1_500}}})
    packs, pipelines = ids_in(few.response_format.schema)
    shown = {entry.id for entry in few.task.catalog.entries}
    assert {*packs, *pipelines} == shown and 0 < len(shown) < 20


def test_request_without_json_mode_offers_no_schema(answering):
    assert request_of(answering, FREE).response_format is None


def test_schema_is_not_part_of_the_prompt(answering):
    strict = request_of(answering, FRONTIER)
    plain = request_of(answering, FRONTIER, config={"budgets": {FRONTIER: {"wants_strict_json": False}}})
    assert plain.response_format is None and strict.messages == plain.messages


@pytest.mark.parametrize(("number", "forms"), [(MOST_ENTRIES + 1, ["ids"]), (MOST_IDS + 1, [])])
def test_large_catalog_falls_back_to_ids_then_to_json_mode(answering, tmp_path, number, forms):
    source = tmp_path / "many.json"
    source.write_text(json.dumps({"packs": [{"name": f"tool.{n}"} for n in range(number)]}))
    wanted = request_of(answering, FRONTIER, config={"catalog": {"sources": [str(source)]}}).response_format
    assert wanted.kind == "json_object"
    assert [form.name for form in wanted.offer.forms if form.schema is not None] == forms


def test_schema_is_made_on_demand(answering, monkeypatch, tmp_path):
    source = tmp_path / "own.json"  # decks of equal catalogs share their schemas
    source.write_text(json.dumps({"packs": [{"name": "tool.of_this_test", "input_schema": {"type": "object"}}]}))
    made = []
    monkeypatch.setattr(constraints, "_whole", lambda properties: made.append(properties))
    wanted = request_of(answering, FRONTIER, config={"catalog": {"sources": [str(source)]}}).response_format
    assert [form.name for form in wanted.offer.forms] == ["arguments", "ids"] and made == []
    assert wanted.schema is None and len(made) == 2


@pytest.mark.parametrize("cap", [None, 1_500])
def test_offer_is_steady_where_the_next_request_has_the_same_schema(answering, cap):
    config = {"budgets": {MIDDLE: {"max_catalog_bytes": cap}}} if cap else None
    assert request_of(answering, MIDDLE, config=config).response_format.offer.is_steady is (cap is None)


def test_route_schema_is_finite(answering):
    deck, provider = answering({"recommendation": {"id": "blog.draft"}})
    deck.route(ASK, model=FRONTIER)
    assert_it_ends(provider.requests[0].response_format.schema)
