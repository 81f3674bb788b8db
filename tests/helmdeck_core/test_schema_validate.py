"""Values against JSON Schema: what is wrong, by path, and nothing that a schema can do to us."""

import subprocess
import sys
from fractions import Fraction

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helmdeck_core import UntrustedSchema, find_problems, schema_mistake, schema_problems
from tests.case_support import each_case

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
    assert "$.it's: required property is missing" in found
    assert any(problem.startswith("$.to[1]: 3 is not of type 'string'") for problem in found)
    assert any(problem.startswith("$.mode: ") for problem in found)
    assert any("'cc' was unexpected" in problem for problem in found)


@each_case(
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


def test_patterns_of_strangers_are_not_compiled():
    assert schema_problems({"properties": {"a": {"type": "integer", "pattern": "(" * 9}}}, {"a": "x"}) != ()


def test_schema_of_more_than_a_megabyte_is_not_read():
    schema = {"minProperties": 2, "default": "x" * 1_000_000}
    assert schema_problems(schema, {"a": 1}) == ("$: not checked: the schema is too large",)
    assert "does not have enough properties" in schema_problems(schema, {"a": 1}, is_trusted=True)[0]


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
    assert all(isinstance(problem, str) for problem in schema_problems(SCHEMA, value))


# -- values that plainly fit ----------------------------------------------------------------------------------

NAMES = st.sampled_from("abc")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.5, 1.0]) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
SCHEMAS = st.recursive(
    st.fixed_dictionaries(
        {}, optional={"type": KINDS | st.lists(KINDS, min_size=1, unique=True), "title": st.just("x")}
    )
    | st.fixed_dictionaries({"enum": st.lists(VALUES, min_size=1, max_size=3)})
    | st.sampled_from([True, False, {"minLength": 1}, {"minimum": 1}, {"const": "a"}, {"not": {"type": "string"}}]),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS,
            "properties": st.dictionaries(NAMES, inner, max_size=3),
            "patternProperties": st.just({"c": {}}),
            "required": st.lists(NAMES, unique=True, max_size=2),
            "additionalProperties": inner,
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=1),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "minProperties": st.integers(0, 2),
            "description": st.just("says nothing"),
        },
    ),
    max_leaves=6,
)


@given(SCHEMAS, VALUES)
@example({"type": "integer"}, True)
@example({"enum": [1]}, True)
@example({"properties": {"a": False}}, {"a": 1})
@example({"additionalProperties": False}, {"a": 1})
@example({"items": {"type": "string"}, "prefixItems": [{"type": "null"}]}, ["a"])
def test_what_plainly_fits_and_what_needs_a_closer_look_come_to_the_same(schema, value):
    if isinstance(schema, dict):
        assert (schema_problems(schema, value, is_trusted=True) == ()) == jsonschema.Draft202012Validator(
            schema
        ).is_valid(value)


def test_a_value_that_plainly_fits_costs_no_import():
    code = (
        "import sys; from helmdeck_core import schema_problems\n"
        "schema = {'type': 'object', 'properties': {'to': {'type': 'array', 'items': {'type': 'string'}},"
        " 'mode': {'enum': ['a', 'b']}, 'count': {'type': 'integer', 'description': 'how many'}},"
        " 'required': ['to'], 'additionalProperties': False}\n"
        "assert schema_problems(schema, {'to': ['x', 'y'], 'mode': 'b', 'count': 3}) == ()\n"
        "print('jsonschema' in sys.modules)\n"
        "assert schema_problems(schema, {'to': ['x', 3]}) != ()\n"
        "print('jsonschema' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_missing_properties_are_reported_as_data_with_their_path():
    schema = {
        "type": "object",
        "required": ["a", "to"],
        "properties": {
            "to": {"type": "object", "required": ["id", "is a required property"]},
            "n": {"type": "integer"},
        },
    }
    problems = find_problems(schema, {"to": {}, "n": "x"})
    assert {problem.path for problem in problems if problem.is_missing} == {
        "$.a",
        "$.to.id",
        "$.to.is a required property",
    }
    assert [problem.path for problem in problems if not problem.is_missing] == ["$.n"]
    assert schema_problems(schema, {"to": {}, "n": "x"}) == tuple(map(str, problems))


# -- bounded work ---------------------------------------------------------------------------------------------

TREE = {
    "$defs": {
        "node": {
            "anyOf": [
                {"properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next", "left"]},
                {"properties": {"next": {"$ref": "#/$defs/node"}}, "required": ["next", "right"]},
            ]
        }
    },
    "$ref": "#/$defs/node",
}


def nested(levels, value=None):
    for _ in range(levels):
        value = {"next": value}
    return value


@pytest.mark.parametrize(
    ("schema", "value"),
    {
        "every level doubles the work": (TREE, nested(24, {})),
        "a value of a million lists": ({"items": {"type": "string"}, "minItems": 1}, [[]] * 1_000_000),
        "a million values that match": ({"type": "array", "items": {"type": "integer"}}, [1] * 1_000_000),
        "empty subschemas": ({"items": {}, "minItems": 1}, [1] * 40_000),
        "lists in an enum": ({"items": {"enum": [[i] for i in range(2_000)]}}, [[2_000]] * 10_000),
        "long messages": ({"anyOf": [{"type": "string"}] * 200, "minItems": 1}, ["x" * 1_000] * 5_000),
    }.values(),
    ids=lambda value: "",
)
def test_a_check_that_takes_too_much_work_is_a_problem_and_not_a_match(schema, value):
    problems = find_problems(schema, value)
    assert [problem.message.partition(":")[0] for problem in problems] == ["not checked completely"]


def test_a_schema_that_takes_too_much_work_is_a_problem_unless_it_is_trusted():
    schema = {"allOf": [{"minLength": 1}] * 3_000}
    assert schema_problems(schema, "x") == ("$: not checked: the schema is too large",)
    assert schema_problems({"allOf": [{"minLength": 1}] * 300}, "x", is_trusted=True) == ()


def test_more_work_can_be_allowed():
    schema = {"type": "array", "items": {"type": "integer", "minimum": 0}}
    assert schema_problems(schema, [1] * 20_000) != ()
    assert schema_problems(schema, [1] * 20_000, max_work=5_000_000) == ()


def test_items_are_compared_in_linear_time_whatever_they_are():
    schema = {"uniqueItems": True}
    assert schema_problems(schema, [{"a": [number]} for number in range(4_000)]) == ()
    # These integers have the same hash.
    assert schema_problems(schema, [(2**61 - 1) * number for number in range(10_000)]) == ()


@given(st.lists(VALUES, max_size=4), VALUES)
@example([1, 1.0], 1)
@example([True, 1], 1.0)
@example([[True], [1]], 1)
@example([{"a": 0}, {"a": 0.0}], False)
@example([-0.0, 0], 0)
def test_comparisons_come_to_the_same_as_in_the_library(values, value):
    for schema, instance in (({"uniqueItems": True}, values), ({"const": value}, values), ({"const": value}, value)):
        assert (schema_problems(schema, instance) == ()) == jsonschema.Draft202012Validator(schema).is_valid(instance)
    if values:
        schema = {"minLength": 0, "enum": values}
        assert (schema_problems(schema, value) == ()) == jsonschema.Draft202012Validator(schema).is_valid(value)


DIALECT = "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$schema": DIALECT, "pattern": "^(b+)+$"}}},
        {"$schema": DIALECT, "properties": {"next": {"$ref": "#"}, "a": {"pattern": "^(b+)+$"}}},
    ],
)
def test_patterns_of_a_subschema_that_names_its_dialect_are_not_tried(schema):
    value = {"a": "c"} if "$schema" not in schema else {"next": {"a": "c"}}
    assert schema_problems(schema, value) == ()
    assert schema_problems(schema, value, is_trusted=True) != ()


def test_a_value_that_is_nested_too_deeply_to_be_checked_does_not_match():
    schema = {"properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}}
    assert schema_problems(schema, nested(400, {"n": "x"})) == ("$: not checked: the value is nested too deeply",)


def test_missing_properties_are_bounded_in_number():
    schema = {"required": [f"p{number}" for number in range(1_000)], "minProperties": 0}
    assert len(schema_problems(schema, {})) == 20


# -- schemas from outside of the program ------------------------------------------------------------------------

PATTERN = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^b+$"}}}


def test_patterns_of_untrusted_schemas_are_never_evaluated():
    assert find_problems(PATTERN, {"a": "c"}, is_trusted=True)
    assert find_problems(UntrustedSchema(PATTERN), {"a": "c"}, is_trusted=True) == ()
    assert find_problems(UntrustedSchema(PATTERN), {"a": 1}, is_trusted=True)


def test_untrusted_schema_may_have_hundreds_of_properties():
    schema = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(600)}, "minProperties": 1}
    assert schema_mistake(schema) == ""
    assert find_problems(UntrustedSchema(schema), {"p0": "x"}) == ()
    assert find_problems(schema, {"p0": "x"}) != ()


@pytest.mark.parametrize(
    ("schema", "mistake"),
    [
        ({"type": "object"}, ""),
        ({"type": "strng"}, "is malformed at $.type: 'strng' is not a type (did you mean 'string'?); types: array, "),
        (
            {"properties": {"n": {"type": "int"}}},
            "is malformed at $.properties.n.type: 'int' is not a type (did you mean 'integer'?)",
        ),
        ({"type": ["null", "dict"]}, "is malformed at $.type: 'dict' is not a type (did you mean 'object'?)"),
        ({"type": {}}, "is malformed at $.type: {} is not"),
        ({"$ref": "http://127.0.0.1:9/x"}, ""),
        ({"properties": {"a": {"pattern": "(" * 1_000 + "a+" * 1_000}}}, ""),
        ({"enum": ["x" * 2_000_000]}, "is too large to be checked"),
    ],
)
def test_mistake_of_an_untrusted_schema_is_found_with_bounded_work(schema, mistake):
    found = schema_mistake(schema)
    assert found.startswith(mistake) and bool(found) == bool(mistake)


@given(st.integers(-(10**9), 10**9), st.sampled_from(["0.01", "0.1", "0.25", "0.0005", "3"]))
def test_a_multiple_of_a_decimal_step_fits_whatever_its_float_is(count: int, step: str) -> None:
    value = float(Fraction(step) * count)
    assert find_problems({"multipleOf": float(step)}, value) == ()


@each_case("value", [0.075, 19.999, 1e-9])
def test_no_multiple_of_a_decimal_step_is_a_problem(value: float) -> None:
    [problem] = find_problems({"multipleOf": 0.01}, value)
    assert problem.message == f"{value!r} is not a multiple of 0.01"


def test_a_huge_number_is_compared_with_a_step_exactly() -> None:
    assert find_problems({"multipleOf": 7}, 7 * 10**5000) == ()
    assert find_problems({"multipleOf": 0.1}, 1e308) == ()
    assert find_problems({"multipleOf": 7}, 7 * 10**50 + 1) != ()


NAMED = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_a_value_with_the_type_of_one_alternative_has_the_problems_of_that_one(keyword):
    schema = {
        "properties": {"who": {keyword: [{"type": "string"}, {"$ref": "#/$defs/named"}]}},
        "$defs": {"named": NAMED},
    }
    assert schema_problems(schema, {"who": {"name": 7}}) == ("$.who.name: 7 is not of type 'string'",)
    assert schema_problems(schema, {"who": {}}) == ("$.who.name: required property is missing",)
    (neither,) = schema_problems(schema, {"who": 7})
    assert "not valid under any of the given schemas" in neither


def test_a_value_with_the_type_of_several_alternatives_does_not_fit_any():
    (problem,) = schema_problems({"anyOf": [NAMED, {"type": "object", "required": ["id"]}]}, {"nam": "x"})
    assert "not valid under any of the given schemas" in problem
