"""The schemas of plans and routes in the dialects of all interfaces: a plan that was possible stays possible, and no limit is passed."""

import attrs
import msgspec
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from helmdeck_core import UNKNOWN_TOOL, Catalog, Helmdeck, InvalidRequest, ProviderSettings, ResponseFormat, SchemaOffer
from helmdeck_planner.choosers.words import tool_schema
from helmdeck_planner.packs.plan import PlanAnswer
from helmdeck_planner.packs.route import RouteAnswer
from helmdeck_planner.packs.validation import StepChecker
from helmdeck_providers.schemas.constraint import adapted_form, constrained, pick_form
from helmdeck_providers.schemas.server_dialects import DIALECTS, OPENAI_MODELS, dialect_of
from helmdeck_providers.wire_formats.openai_chat.request import Options
from tests.case_support import each_case
from tests.helmdeck_providers.schema_support import (
    NARROW,
    RUN,
    assert_is_taken,
    catalogs,
    expressed,
    forms_of,
    is_same,
    values,
)
from tests.schema_parts_support import assert_is_schema

EVERY = pytest.mark.parametrize("dialect", [pytest.param(each, id=name) for name, each in NARROW.items()])
KINDS = pytest.mark.parametrize("kind", ["plan", "route"])


@pytest.fixture(scope="module")
def everything():
    return Helmdeck(environ={}).catalog


@pytest.fixture(scope="module")
def example_forms(everything):
    """The forms of plans and routes over the example catalog."""
    return {kind: forms_of(everything, kind) for kind in ("plan", "route")}


def checked(entries, plan):
    """Tools and arguments of a plan, as the pack reads them."""
    answer = msgspec.convert(plan, PlanAnswer)
    steps = [StepChecker(entries).check(step.tool, step.args, step.rationale) for step in answer.steps]
    return [(step.tool, dict(step.args)) for step in steps]


@given(data=st.data())
def test_every_valid_plan_is_valid_in_every_dialect_and_reads_the_same(data):
    entries = data.draw(catalogs())
    forms = forms_of(entries)
    plan = data.draw(values(forms["arguments"].schema, forms["arguments"].schema))
    meant = checked(entries, plan)
    for dialect in NARROW.values():
        for form in forms.values():
            written = adapted_form(form, dialect)
            note(f"{dialect.name} {form.name}: {written}")
            if isinstance(written, str):
                assert form.name == "arguments" and "at most" in written, "only a limit may stand against it"
                continue
            read = checked(entries, expressed(plan, written.schema, written.schema))
            assert [tool for tool, _ in read] == [tool for tool, _ in meant]
            assert all(is_same(said, args) for (_, said), (_, args) in zip(read, meant, strict=True))


@settings(max_examples=30)
@given(entries=catalogs())
def test_every_schema_uses_only_supported_keywords(entries):
    for dialect in NARROW.values():
        for form in (*forms_of(entries).values(), *forms_of(entries, "route").values()):
            found = adapted_form(form, dialect)
            if not isinstance(found, str):
                assert_is_taken(found.schema, dialect)


@EVERY
@KINDS
def test_schemas_of_the_example_catalog_use_only_supported_keywords(dialect, kind, example_forms):
    picked, passed = pick_form(SchemaOffer(tuple(example_forms[kind].values())), dialect)
    schema = adapted_form(picked, dialect).schema
    assert_is_taken(schema, dialect)
    assert_is_schema(schema)
    expected = "ids" if dialect.most_optional or dialect.name in ("azure", "cerebras") else "arguments"
    assert (picked.name, len(passed)) == (expected, int(expected == "ids"))


@EVERY
def test_every_route_is_valid_in_every_dialect(dialect, example_forms):
    form = example_forms["route"]["arguments"]
    route = {
        "recommendation": {"id": "web.scrape", "kind": "pack", "suggested_inputs": {"urls": ["u"]}, "why": "w"},
        "alternatives": [{"id": "blog.draft", "kind": "pack", "why": "w"}],
        "gap_warning": None,
        "reasoning": "r",
    }
    assert Draft202012Validator(form.schema).is_valid(route)
    picked, _ = pick_form(SchemaOffer(tuple(example_forms["route"].values())), dialect)
    schema = adapted_form(picked, dialect).schema
    assert msgspec.convert(expressed(route, schema, schema), RouteAnswer).recommendation.id == "web.scrape"


@EVERY
def test_unknown_tool_is_invalid_in_every_dialect(dialect, example_forms):
    picked, _ = pick_form(SchemaOffer(tuple(example_forms["plan"].values())), dialect)
    schema = adapted_form(picked, dialect).schema
    for tool, args, is_possible in (
        ("clock.now", {}, False),
        ("web.scrap", {"urls": ["u"]}, False),
        (RUN, {"id": "web.scrape"}, False),
        (RUN, {"id": "grounded-blog"}, True),
        ("web.scrape", {"urls": ["u"]}, True),
        ("unknown", {}, True),
    ):
        step = {"tool": tool, "args": args, "order": 1, "rationale": "r"}
        plan = {"steps": [step], "complexity": "single-action", "reasoning": "r"}
        try:
            expressed(plan, schema, schema)
        except Exception:
            assert not is_possible
        else:
            assert is_possible


def many(number, inputs):
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in inputs}, "required": inputs[:1]}
    return Catalog.from_data({"packs": [{"name": f"tool.{n:04}", "input_schema": schema} for n in range(number)]}, "t")


@each_case(
    ("name", "number", "inputs", "form", "why"),
    [
        ("openai", 200, ["a", "b"], "arguments", ""),
        ("openai", 1_001, ["a"], None, "too many entries"),
        ("openai", 999, ["a"], None, "1,003 values of enumerations, at most 1,000"),
        ("openai", 201, ["a"], "ids", "too many entries"),
        ("anthropic", 1, ["a", *"bcdefghijklmnopqrstuvwxy"], "arguments", ""),
        ("anthropic", 1, ["a", *"bcdefghijklmnopqrstuvwxyz"], "ids", "25 optional properties, at most 24"),
        ("azure", 3, [*"abcdefghijklmnopqrstuvwxyz"], "arguments", ""),
        ("azure", 1, [f"input{n}" for n in range(100)], "ids", "111 properties, at most 100"),
        ("cerebras", 40, ["a"], "arguments", ""),
        ("cerebras", 450, ["a"], None, "bytes, at most 5,000"),
        ("gemini", 200, ["a", "b"], "arguments", ""),
    ],
)
def test_schema_above_the_limits_is_reduced_to_ids_then_to_any_json(name, number, inputs, form, why):
    picked, passed = pick_form(SchemaOffer(tuple(forms_of(many(number, inputs)).values())), DIALECTS[name])
    assert (picked.name if picked else None) == form
    assert why in "; ".join(passed)


def test_slow_compiling_server_gets_the_smallest_schema(example_forms):
    offer = SchemaOffer(tuple(example_forms["plan"].values()), is_steady=False)
    assert pick_form(offer, DIALECTS["openai"])[0].name == "ids"
    assert pick_form(offer, DIALECTS["json-schema"])[0].name == "arguments"


def test_schema_is_adapted_once_per_dialect(everything):
    form = forms_of(everything)["arguments"]
    same = attrs.evolve(DIALECTS["openai"])
    assert adapted_form(form, DIALECTS["openai"]) is adapted_form(form, same)
    assert forms_of(everything)["arguments"] is form


@each_case(
    ("model", "name"),
    [("gpt-5.4", "openai"), ("gpt-4o", "openai"), ("gpt-4.1-mini", "openai"), ("o3-mini", "openai")]
    + [(model, None) for model in ("gpt-4-turbo", "gpt-4", "gpt-3.5-turbo", "gpt-4o-2024-05-13", "o1-mini")],
)
def test_longest_model_prefix_selects_the_dialect(model, name):
    found = dialect_of(model, OPENAI_MODELS)
    assert (found.name if found else None) == name


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ({"": "klingon"}, "found 'klingon' for ''; allowed: 'json-schema'"),
        ({"": 1}, "not a string; allowed: a string"),
        ("x", "table"),
    ],
)
def test_unknown_dialect_is_named(value, complaint):
    with pytest.raises(InvalidRequest, match=complaint):
        Options.read(ProviderSettings(name="mine", options={"schema_dialects": value}))


EVERY_DIALECT = pytest.mark.parametrize(
    "dialect", [pytest.param(each, id=name) for name, each in {**DIALECTS, **NARROW}.items()]
)


@EVERY_DIALECT
def test_choice_of_one_name_of_a_list_stays_closed_in_every_dialect(dialect):
    names = [*(f"pack.tool_{number}" for number in range(11)), "工具", UNKNOWN_TOOL]
    wanted = ResponseFormat("json_schema", "choice", tool_schema(names[:-1]))
    sent = constrained(wanted, ("json_schema",), dialect)
    assert (sent.kind, sent.downgrades) == ("json_schema", ())
    assert sent.schema["properties"]["tool"]["enum"] == names
    assert sent.schema["required"] == ["tool"]
    assert sent.schema.get("additionalProperties", False) is False
