"""Values against JSON Schema: what is wrong, by path, and nothing that a schema can do to us."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import schema_problems

SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "array", "items": {"type": "string"}}, "mode": {"enum": ["a", "b"]}},
    "required": ["to", "it's"],
    "additionalProperties": False,
}


def test_a_value_that_fits_has_no_problems():
    assert schema_problems(SCHEMA, {"to": ["x"], "it's": 1} | {}) != ()
    assert schema_problems({**SCHEMA, "required": ["to"]}, {"to": ["x"], "mode": "a"}) == ()


def test_every_problem_is_named_by_its_path():
    found = schema_problems(SCHEMA, {"to": ["x", 3], "mode": "c", "cc": 1})
    assert "$.it's: required, and not given" in found
    assert any(problem.startswith("$.to[1]: 3 is not of type 'string'") for problem in found)
    assert any(problem.startswith("$.mode: ") for problem in found)
    assert any("'cc' was unexpected" in problem for problem in found)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "frob"},
        {"$ref": "#/nowhere"},
        {"$ref": "https://nowhere.example/schema.json"},
        {"type": 7},
        {"properties": {"a": {"$ref": "#"}}, "$ref": "#"},
        {"properties": []},
    ],
)
def test_a_broken_schema_says_nothing_and_reaches_for_no_network(schema):
    assert schema_problems(schema, {"a": {"a": 1}}) == ()


HOSTILE = {"type": "object", "properties": {"a": {"pattern": "^(a+)+$", "type": "string"}}}


def test_patterns_of_strangers_are_not_tried_and_those_of_our_own_are():
    assert schema_problems(HOSTILE, {"a": "a" * 64 + "!"}) == ()
    names = {"patternProperties": {"^(a+)+$": {"type": "string"}}, "additionalProperties": False}
    assert schema_problems(names, {"a" * 64 + "!": 1}) == ()
    assert schema_problems(HOSTILE, {"a": 3}) == ("$.a: 3 is not of type 'string'",)
    assert schema_problems({"properties": {"pattern": {"type": "string"}}}, {"pattern": 3}) != ()
    assert schema_problems({"pattern": "^a$"}, "b", is_trusted=True) != ()


def test_problems_are_bounded_in_number_and_length():
    found = schema_problems({"items": {"type": "string"}}, list(range(10_000)))
    assert len(found) == 20
    assert all(len(problem) < 250 for problem in schema_problems({"type": "string"}, ["x" * 10_000]))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_no_value_makes_it_raise(value):
    schema_problems(SCHEMA, value)
