"""Arguments written as text between tags have the types of the tool's schema, however the schema states them."""

from __future__ import annotations

from typing import Any

import pytest

from helmdeck_core import ToolDefinition
from helmdeck_testing import make_deck
from tests.case_support import each_case

DECK = make_deck()

FORMS = {
    "qwen": "<tool_call>\n<function=f>\n<parameter=x>\n{}\n</parameter>\n</function>\n</tool_call>",
    "glm": "<tool_call>f\n<arg_key>x</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>",
    "seed": "<seed:tool_call>\n<function=f>\n<parameter=x>{}</parameter>\n</function>\n</seed:tool_call>",
    "invoke": '<function_calls>\n<invoke name="f">\n<parameter name="x">{}</parameter>\n</invoke>\n</function_calls>',
    "minimax": '<minimax:tool_call>\n<invoke name="f">\n<parameter name="x">{}</parameter>\n</invoke>\n</minimax:tool_call>',
}
DEFINITIONS = {
    "Count": {"type": "integer"},
    "Self": {"anyOf": [{"$ref": "#/$defs/Self"}, {"type": "integer"}]},
    "a/b": {"type": "boolean"},
}


def argument(text: str, schema: Any, form: str = "qwen") -> Any:
    tool = ToolDefinition("f", "", {"type": "object", "properties": {"x": schema}, "$defs": DEFINITIONS})
    [found] = DECK.tool_calls(FORMS[form].replace("{}", text), tools=[tool]).calls
    return found.args["x"]


@pytest.mark.parametrize("form", FORMS)
@each_case(
    ("schema", "text", "value"),
    [
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
        ({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}, '["a", "b"]', ["a", "b"]),
        ({"oneOf": [{"type": "number"}, {"type": "boolean"}]}, "2.5", 2.5),
        ({"allOf": [{"type": "boolean"}]}, "True", True),
        ({"$ref": "#/$defs/Count", "description": "how many"}, "5", 5),
        ({"$ref": "#/$defs/a~1b"}, "false", False),
        ({"anyOf": [{"$ref": "#/$defs/Count"}, {"type": "null"}]}, "5", 5),
        ({"enum": [1, 2]}, "2", 2),
        ({"const": 3}, "3", 3),
    ],
)
def test_schema_without_strings_makes_an_argument_json(schema, text, value, form):
    found = argument(text, schema, form)
    assert (found, type(found)) == (value, type(value))


@each_case(
    ("schema", "text"),
    [
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "5"),
        ({"allOf": [{"type": ["string", "integer"]}, {"description": "an id"}]}, "5"),
        ({"enum": ["1", "2"]}, "1"),
        ({"description": "anything"}, "5"),
        (True, "5"),
        ({"$ref": "#/$defs/Missing"}, "5"),
        ({"$ref": "https://example.com/schema.json"}, "5"),
    ],
)
def test_string_that_the_schema_allows_is_kept(schema, text):
    assert argument(text, schema) == text


def test_the_word_null_for_a_nullable_string_is_kept():
    assert argument("null", {"anyOf": [{"type": "string"}, {"type": "null"}]}) == "null"
    assert argument("null", {"type": ["string", "null"]}) == "null"


def test_listed_strings_leave_other_values_to_the_other_types():
    schema = {"anyOf": [{"type": "integer"}, {"type": "string", "const": "auto"}]}
    assert (argument("auto", schema), argument("5", schema)) == ("auto", 5)
    assert (argument("null", {"enum": ["on", None]}), argument("true", {"enum": ["on", None]})) == (None, "true")


def test_value_that_no_type_allows_is_json_only_where_no_string_is_allowed():
    assert argument("5.5", {"anyOf": [{"type": "integer"}, {"type": "null"}]}) == 5.5
    assert argument("soon", {"anyOf": [{"type": "integer"}, {"type": "null"}]}) == "soon"
    assert argument("7", {"enum": ["1", "2"]}) == "7"


def test_references_are_followed_a_bounded_number_of_times():
    assert argument("5", {"allOf": [{"$ref": "#/$defs/Self"}, {"type": "integer"}]}) == 5
    nested: dict[str, Any] = {"type": "integer"}
    for _ in range(1_000):
        nested = {"anyOf": [nested]}
    assert argument("5", nested) == "5"


def test_references_that_share_references_take_linear_work(work_counter):
    def read(count: int) -> None:
        chain = {f"D{n}": {"anyOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(count)}
        schema = {"properties": {"x": {"$ref": "#/$defs/D0"}}, "$defs": {**chain, f"D{count}": {"type": "integer"}}}
        DECK.tool_calls(FORMS["qwen"].replace("{}", "5"), tools=[ToolDefinition("f", "", schema)])

    read(1)
    work_counter.assert_linear(read, 7)
