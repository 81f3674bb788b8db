"""References in pipelines: types are kept, values are never expanded again, and nothing that is missing goes unnoticed."""

import pytest

from helmdeck_runs.pipelines.references import MissingValueError, expanded, references_of
from tests.case_support import each_case

VALUES = {
    "inputs": {"name": "Ada", "count": 3, "flag": False, "nothing": None, "code": "{{steps.a.text}}"},
    "steps": {"a": {"text": "hello", "rows": [{"n": 1}, {"n": 2.5}], "more": {"a-b": "x"}}, "with-dash": {"y": "z"}},
}


@each_case(
    ("template", "value"),
    [
        ("{{inputs.count}}", 3),
        ("{{ inputs.flag }}", False),
        ("{{inputs.nothing}}", None),
        ("{{steps.a.rows}}", [{"n": 1}, {"n": 2.5}]),
        ("{{steps.a.rows[1].n}}", 2.5),
        ("{{steps.a.more.a-b}}", "x"),
        ("{{steps.with-dash.y}}", "z"),
        ("{{steps.a}}", VALUES["steps"]["a"]),
        ("{{inputs.name}} has {{inputs.count}}", "Ada has 3"),
        ("rows: {{steps.a.rows}}", 'rows: [{"n":1},{"n":2.5}]'),
        ("is {{inputs.flag}}, {{inputs.nothing}}", "is false, null"),
        ("{{'{{inputs.name}}'}}", "{{inputs.name}}"),
        ("no { braces } here }}", "no { braces } here }}"),
        ({"a": ["{{inputs.count}}", {"b": "{{inputs.name}}"}], "c": 1.5}, {"a": [3, {"b": "Ada"}], "c": 1.5}),
        ({"{{inputs.name}}": 1}, {"{{inputs.name}}": 1}),
    ],
)
def test_a_reference_alone_keeps_its_type_and_is_rendered_within_text(template, value):
    found = expanded(template, VALUES)
    assert found == value
    assert type(found) is type(value)


def test_many_braces_that_are_not_closed_are_read_in_linear_time():
    text = "{{" * 200_000
    assert expanded(text, VALUES) == text


def test_values_that_look_like_references_are_not_expanded_again():
    assert expanded("{{inputs.code}}", VALUES) == "{{steps.a.text}}"
    assert expanded("<{{inputs.code}}>", VALUES) == "<{{steps.a.text}}>"


def test_an_optional_input_that_is_missing_is_dropped_null_or_empty():
    template = {"kept": 1, "dropped": "{{inputs.gone}}", "list": ["{{inputs.gone}}", 2], "text": "a{{inputs.gone}}b"}
    assert expanded(template, VALUES) == {"kept": 1, "list": [None, 2], "text": "ab"}


@each_case(
    ("template", "problem"),
    [
        ("{{steps.a.title}}", "steps.a has no 'title'; it has: text, rows, more"),
        ("{{steps.a.rows[2]}}", "steps.a.rows has 2 items"),
        ("{{steps.a.text.length}}", "steps.a.text is a string, not an object"),
        ("{{steps.a.more[0]}}", "steps.a.more is an object, not a list"),
        ("text {{steps.b.x}}", "no such step"),
        ({"key": ["{{steps.a.title}}"]}, "steps.a has no 'title'"),
    ],
)
def test_a_missing_output_of_a_step_fails_and_is_named(template, problem):
    with pytest.raises(MissingValueError) as caught:
        expanded(template, VALUES)
    assert problem in str(caught.value)
    assert str(caught.value).startswith("{{steps.")


@each_case("text", ["{{input.x}}", "{{inputs}}", "{{steps[0].x}}", "{{inputs.x | upper}}", "{{}}", "{{inputs.x y}}"])
def test_what_is_not_a_reference_is_refused(text):
    with pytest.raises(ValueError, match="is not a reference|a name follows"):
        references_of([text])
