"""Arguments as models write them: ``null`` for what is left out, and texts in the place of objects."""

from helmdeck_core import Catalog
from helmdeck_planner.packs.arguments import parse_arguments
from helmdeck_planner.packs.validation import StepChecker
from tests.case_support import each_case

TEXT = {"type": "string"}
NULLABLE = {"type": ["string", "null"]}
PAIR = {"type": "object", "properties": {"x": TEXT, "y": TEXT}, "required": ["x"]}


def checked(schema, args, **entry):
    data = {"packs": [{"name": "t", **({"input_schema": schema} if schema else {}), **entry}]}
    return StepChecker(Catalog.from_data(data, "test")).check("t", args, "r")


def read(properties, args, required=()):
    return dict(checked({"type": "object", "properties": properties, "required": [*required]}, args).args)


@each_case(
    ("schema", "is_kept"),
    [
        (TEXT, False),
        ({"type": "integer", "minimum": 1}, False),
        ({"enum": ["a"]}, False),
        ({"anyOf": [TEXT, {"type": "integer"}]}, False),
        ({"$ref": "#/$defs/t"}, False),
        (NULLABLE, True),
        ({"type": "null"}, True),
        ({"enum": ["a", None]}, True),
        ({"anyOf": [TEXT, {"type": "null"}]}, True),
        ({"$ref": "#/$defs/n"}, True),
        ({}, True),
        ({"description": "anything"}, True),
    ],
)
def test_null_for_an_optional_argument_is_removed_unless_allowed(schema, is_kept):
    whole = {"type": "object", "properties": {"a": schema, "b": TEXT}, "$defs": {"t": TEXT, "n": NULLABLE}}
    found = checked(whole, {"a": None, "b": "x"})
    assert dict(found.args) == ({"a": None, "b": "x"} if is_kept else {"b": "x"}) and not found.problems


def test_null_for_a_required_argument_is_a_problem():
    found = checked({"type": "object", "properties": {"a": TEXT}, "required": ["a"]}, {"a": None})
    assert dict(found.args) == {"a": None} and found.problems == ("$.a: None is not of type 'string'",)


def test_nested_nulls_are_removed():
    assert read({"p": PAIR}, {"p": {"x": "1", "y": None}}) == {"p": {"x": "1"}}
    listed = {"type": "array", "items": PAIR}
    assert read({"l": listed}, {"l": [{"x": "1", "y": None}, {"x": None}]}) == {"l": [{"x": "1"}, {"x": None}]}
    either = {"anyOf": [TEXT, PAIR, {"type": "object", "properties": {"y": TEXT, "z": NULLABLE}}]}
    assert read({"e": either}, {"e": {"x": "1", "y": None, "z": None}}) == {"e": {"x": "1", "z": None}}


def test_nulls_of_undeclared_arguments_are_kept():
    assert read({"a": TEXT}, {"other": None}) == {"other": None}
    assert dict(checked(None, {"text": None, "more": None}, metadata={"accepts": ["text"]}).args) == {"more": None}


@each_case(
    ("written", "args"),
    [
        ('{"a": "x"}', {"a": "x"}),
        (' {"a": "x", "b": null} ', {"a": "x"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ("{}", {}),
        ("", {}),
        ("  ", {}),
    ],
)
def test_arguments_can_be_a_string_with_an_object(written, args):
    found = checked({"type": "object", "properties": {"a": TEXT, "b": TEXT}}, written)
    assert dict(found.args) == args and not found.problems


@each_case("written", ["https://a.example", "[1]", "null", '{"a": ', "[" * 10_000, "x" * 500])
def test_string_without_an_object_is_a_problem_of_its_step(written):
    found = checked(None, written)
    assert (found.tool, dict(found.args)) == ("t", {})
    [problem] = found.problems
    assert problem.startswith("$: not an object of arguments, found the text '") and len(problem) < 150


def test_nested_string_is_decoded_only_where_a_structure_is_due():
    assert read({"p": PAIR}, {"p": '{"x": "1", "y": null}'}) == {"p": {"x": "1"}}
    assert read({"l": {"type": "array", "items": TEXT}}, {"l": '["a"]'}) == {"l": ["a"]}
    assert read({"t": TEXT}, {"t": '{"x": 1}'}) == {"t": '{"x": 1}'}
    assert read({"e": {"anyOf": [TEXT, PAIR]}}, {"e": '{"x": "1"}'}) == {"e": '{"x": "1"}'}
    assert read({"p": PAIR}, {"p": "no object"}) == {"p": "no object"}


PIPELINES = Catalog.from_data(
    {"pipelines": [{"id": "draw", "input_schema": {"type": "object", "properties": {"w": {"type": "integer"}}}}]},
    "test",
)


@each_case(
    ("args", "read"),
    [
        ('{"id": "draw", "inputs": {"w": 1}}', {"id": "draw", "inputs": {"w": 1}}),
        ({"id": "draw", "inputs": '{"w": 1}'}, {"id": "draw", "inputs": {"w": 1}}),
        ({"id": "draw", "inputs": {"w": None}}, {"id": "draw"}),
        ({"id": "draw", "inputs": None}, {"id": "draw"}),
        ({"id": "draw", "inputs": "{}"}, {"id": "draw"}),
    ],
)
def test_pipeline_inputs_are_converted_as_well(args, read):
    found = StepChecker(PIPELINES).check("helmdeck__pipeline-run", args, "r")
    assert dict(found.args) == read and not found.problems


def test_conversion_does_not_change_the_answer():
    written = {"a": None, "p": {"x": "1", "y": None}}
    read({"a": TEXT, "p": PAIR}, written)
    assert written == {"a": None, "p": {"x": "1", "y": None}}
    assert parse_arguments(None) == ({}, ())
