"""A pipeline with mistakes never runs, and all of its mistakes are reported at once."""

import pytest

from helmdeck_core import PackError
from helmdeck_runs.pipelines.validation import checked_definition
from tests.helmdeck_runs.pipelines_support import CHAIN, deck_of


def problems(deck, name):
    return [str(each) for each in checked_definition(deck.catalog.get(name), deck.catalog)[1]]


def problems_of(data, **more):
    with deck_of({"p": data, **more}) as deck:
        return problems(deck, "p")


def step(step_id="s", pack="test.add", **arguments):
    return {"id": step_id, "pack": pack, "with": arguments}


def test_a_pipeline_without_mistakes_has_none():
    assert problems_of(CHAIN) == []


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        ([step(pack="test.ad", a=1, b=2)], "no entry of the catalog has this name (did you mean 'test.add'?)"),
        ([step(a=1, b=2), step(a=1, b=2)], "an earlier step has this id, found 's'"),
        ([step(a="{{steps.t.sum}}", b=2), step("t", a=1, b=2)], "the step comes later, found 't'"),
        ([step(a="{{steps.s.sum}}", b=2)], "a step cannot use its own output"),
        ([step(a="{{steps.other.sum}}", b=2)], "unknown step"),
        ([{**step(a=1, b=2), "needs": ["t"]}], "needs: unknown step, found 't'"),
        ([step(a="{{inputs.y}}", b=2)], "unknown input, found 'y'"),
        ([step(a=1)], "with.b: required by test.add, and missing"),
        ([step(a=1, b=2, c=3)], "with.c: test.add has no such input"),
        ([step(a="one", b=2)], "'one' is not of type"),
        ([step(a="{{inputs.x}} more", b=2)], "text is of type string; allowed: integer"),
        ([step(a="{{inputs.words}}", b=2)], "{{inputs.words}} is of type string; allowed: integer"),
        ([step(a="{{input.x}}", b=2)], "{{input.x}} is not a reference"),
        ([{**step(a=1, b=2), "retry": {"on": ["rate_limit"]}}], "unknown cause (did you mean 'rate_limited'?)"),
        ([{**step(a=1, b=2), "timeout_s": 0}], "not a number above 0, found 0"),
        ([{**step(a=1, b=2), "timeout": 1}], "unknown key (did you mean 'timeout_s'?)"),
        ([{"pack": "test.add"}], "id: missing or not a string"),
        ([step("a b", a=1, b=2)], "not an id, found 'a b'"),
        ([step("_start", a=1, b=2)], "a reserved id, found '_start'"),
        (["test.add"], "steps[0]: not an object"),
        ([], "a pipeline that runs has steps"),
    ],
)
def test_each_mistake_names_its_place(steps, problem):
    found = problems_of({"steps": steps, "inputs": {"x": {"type": "integer"}, "words": {"type": "string"}}})
    assert any(problem in each for each in found), found
    assert all(each.startswith("pipeline p: ") for each in found)


def test_references_are_compared_with_the_output_schema_of_the_pack():
    entry = {
        "name": "srv.read",
        "output_schema": {"properties": {"text": {"type": "string"}}, "additionalProperties": False, "type": "object"},
    }
    from helmdeck_core import Catalog, CatalogSource
    from helmdeck_testing import plugin_with

    source = CatalogSource(name="srv", load=lambda: Catalog.from_data({"packs": [entry]}, "srv"))
    data = {"steps": [step("r", "srv.read"), step("s", a="{{steps.r.text}}", b="{{steps.r.txt}}")]}
    plugins = (plugin_with(helmdeck_catalog_sources=[source]),)
    with deck_of({"p": data}, plugins=plugins, catalog={"sources": ["srv", "packs"]}) as deck:
        found = problems(deck, "p")
    assert any("{{steps.r.text}} is of type string; allowed: integer" in each for each in found), found
    assert any("no output 'txt' (did you mean 'text'?)" in each for each in found), found


def test_pipelines_that_run_each_other_are_refused():
    other = {"steps": [{"id": "s", "pack": "helmdeck__pipeline-run", "with": {"id": "p"}}]}
    found = problems_of({"steps": [{"id": "s", "pack": "q", "with": {}}]}, q=other)
    assert [each for each in found if "the pipeline runs itself: p -> q -> p" in each]


def test_a_run_with_mistakes_starts_no_step_and_reports_all_of_them():
    ran = []

    async def record(_, arguments):
        ran.append(arguments)
        return {}

    from tests.helmdeck_runs.pipelines_support import pack_of

    data = {"steps": [{"id": "a", "pack": "test.record"}, {"id": "b", "pack": "nope"}, {"id": "b", "pack": "nope"}]}
    with deck_of({"p": data}, pack_of("test.record", record)) as deck:
        with pytest.raises(PackError, match=r"invalid_input: 3 mistakes") as caught:
            deck.run("p", {})
        assert str(caught.value).count("nope") == 2
        assert ran == []
        assert deck._portal.run(deck.runs.records()) == []


def test_input_that_is_not_text_is_named():
    data = {"steps": [step("s", "test.shout", text="{{inputs.text}}")], "inputs": {"text": {"type": "string"}}}
    with deck_of({"p": data}) as deck, pytest.raises(PackError, match="text: character 4 is the surrogate") as caught:
        deck.run("p", {"text": "caf\udce9"})
    assert caught.value.code == "invalid_input"


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        ({}, "the input 'x' is missing"),
        ({"x": "1"}, "x: $: '1' is not of type"),
        ({"x": 1, "y": 2}, "unknown input 'y'"),
    ],
)
def test_inputs_are_checked_before_anything_runs(inputs, problem):
    with deck_of({"p": CHAIN}) as deck, pytest.raises(PackError) as caught:
        deck.run("p", inputs)
    assert caught.value.code == "invalid_input"
    assert problem.split(": $")[0] in str(caught.value)
