"""Schemas in the dialects of interfaces: what a dialect cannot say is loosened, named, or refused; nothing is tightened."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from helmdeck_providers import SchemaDialect
from helmdeck_providers.schemas.adapt import UnsupportedSchema, adapt_schema
from helmdeck_providers.schemas.dialect import measured
from tests.case_support import each_case

PLAIN = SchemaDialect(name="plain", keywords=frozenset(("description", "maxLength", "minItems", "format")))
CLOSED = attrs.evolve(PLAIN, closes_objects=True)
STRICT = attrs.evolve(CLOSED, requires_all=True, distinguishes_by_first_property=True)
TEXT = {"type": "string"}
NULL = {"type": "null"}


def closed(properties, required=None):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def narrowed(schema, dialect, **how):
    return adapt_schema(schema, dialect, **how).schema


def one(schema, dialect=PLAIN, **how):
    """The adapted schema, and the dropped constraints."""
    found = adapt_schema(schema, dialect, **how)
    return found.schema, found.lost


def test_a_dialect_that_takes_everything_gets_the_very_schema():
    schema = {"not": {"type": "string"}, "maxLength": 9}
    assert narrowed(schema, SchemaDialect(name="all")) is schema


def test_a_bound_that_is_too_large_is_left_out_even_where_everything_is_taken():
    schema = closed({"a": {"type": "string", "maxLength": 5}, "b": {"anyOf": [{"type": "string", "maxLength": 9}]}})
    found, lost = one(schema, SchemaDialect(name="short", most_length=5))
    assert found["properties"] == {"a": {"type": "string", "maxLength": 5}, "b": {"anyOf": [TEXT]}}
    assert lost == ("maxLength",) and schema["properties"]["b"]["anyOf"][0]["maxLength"] == 9


@each_case(
    ("schema", "written", "lost"),
    [
        ({"type": "string", "maxLength": 3, "minLength": 1}, {"type": "string", "maxLength": 3}, ("minLength",)),
        ({"type": "string", "format": "uri"}, {"type": "string", "format": "uri"}, ()),
        ({"type": "integer", "maximum": 3, "default": 1}, {"type": "integer"}, ("maximum",)),
        ({"type": "string", "title": "T", "description": "D"}, {"type": "string", "description": "D"}, ()),
        ({"const": "a"}, {"type": "string", "enum": ["a"]}, ()),
        ({"enum": [1, 2]}, {"type": "integer", "enum": [1, 2]}, ()),
        ({"enum": [1, 2.5]}, {"type": "number", "enum": [1, 2.5]}, ()),
        ({"enum": ["a", None]}, {"anyOf": [{"type": "string", "enum": ["a"]}, NULL]}, ()),
        ({"enum": [True, False]}, {"type": "boolean"}, ()),
        ({"type": ["string", "null"], "maxLength": 2}, {"anyOf": [{"type": "string", "maxLength": 2}, NULL]}, ()),
        ({"oneOf": [TEXT, NULL]}, {"anyOf": [TEXT, NULL]}, ()),
        ({"anyOf": [TEXT, {"anyOf": [TEXT, NULL]}]}, {"anyOf": [TEXT, NULL]}, ()),
        ({"anyOf": [TEXT]}, TEXT, ()),
        ({"allOf": [TEXT]}, TEXT, ("allOf",)),
        ({"type": "string", "anyOf": [{"minLength": 1}]}, TEXT, ("anyOf",)),
        ({"type": "string", "not": {"const": "a"}}, TEXT, ("not",)),
        ({"type": "array", "items": TEXT, "minItems": 2}, {"type": "array", "items": TEXT, "minItems": 2}, ()),
        ({"items": TEXT}, {"type": "array", "items": TEXT}, ()),
        ({"type": "object"}, {"type": "object"}, ()),
    ],
)
def test_what_a_dialect_does_not_know_is_written_otherwise_or_left_out_and_named(schema, written, lost):
    assert one(schema) == (written, lost)


@each_case(
    ("schema", "written", "lost"),
    [
        ({"anyOf": [TEXT, NULL], "maxLength": 5}, {"anyOf": [TEXT, NULL]}, "maxLength"),
        ({"minimum": 5}, {}, "minimum"),
        ({"type": "array", "items": [TEXT]}, {"type": "array"}, "items"),
        ({"$ref": "https://example.org/schema"}, {}, "$ref"),
    ],
)
def test_constraint_without_a_place_is_named(schema, written, lost):
    assert one(schema, attrs.evolve(PLAIN, has_any_value=True)) == (written, (lost,))


def test_reference_may_be_percent_encoded():
    schema = {**closed({"a": {"$ref": "#/$defs/List%5Bint%5D"}}), "$defs": {"List[int]": TEXT}}
    assert narrowed(schema, PLAIN)["$defs"] == {"List[int]": TEXT}
    assert narrowed(schema, attrs.evolve(PLAIN, has_references=False))["properties"] == {"a": TEXT}


def test_a_bound_may_be_taken_up_to_a_largest_value_only():
    few = attrs.evolve(PLAIN, most_min_items=1, formats=frozenset(("date",)), most_length=9)
    assert one({"type": "array", "items": TEXT, "minItems": 5}, few)[0]["minItems"] == 1
    assert one({"type": "string", "format": "email", "maxLength": 10}, few) == (TEXT, ("maxLength", "format"))


def test_an_object_that_lists_its_properties_is_closed_and_an_open_one_never():
    listed = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    assert narrowed(listed, CLOSED) == closed({"a": TEXT})
    assert narrowed(listed, PLAIN) == listed
    for open_one in ({"type": "object"}, {**listed, "additionalProperties": True}, {**listed, "patternProperties": {}}):
        with pytest.raises(UnsupportedSchema, match="open objects"):
            adapt_schema(closed({"x": open_one}), CLOSED)
        assert narrowed(closed({"x": open_one}), CLOSED, is_read_freely=True)["properties"]["x"]["type"] == "string"


def test_what_is_optional_may_be_null_only_where_the_reader_undoes_it():
    schema = closed({"a": TEXT, "b": {"type": "integer"}, "c": {"anyOf": [TEXT, NULL]}}, required=["a"])
    assert narrowed(schema, CLOSED) == schema
    found = narrowed(schema, STRICT, is_read_freely=True)
    assert found == closed({"a": TEXT, "b": {"anyOf": [{"type": "integer"}, NULL]}, "c": {"anyOf": [TEXT, NULL]}})
    with pytest.raises(UnsupportedSchema, match="optional properties"):
        adapt_schema(schema, STRICT)


def kind(*values, **more):
    return closed({"kind": {"type": "string", "enum": [*values]}, **more})


def test_objects_with_distinct_first_properties_stay_distinct():
    for options in ([kind("a", x=TEXT), kind("b", y=TEXT)], [closed({"a": TEXT}), closed({"b": TEXT})]):
        assert one({"anyOf": options}, STRICT) == ({"anyOf": options}, ())


def test_objects_that_it_does_not_tell_apart_become_one_that_allows_both():
    options = [closed({"n": TEXT, "x": TEXT}), closed({"n": {"type": "integer"}, "y": TEXT}), kind("a")]
    with pytest.raises(UnsupportedSchema, match="not distinguished"):
        adapt_schema({"anyOf": options}, STRICT)
    found, lost = one({"anyOf": options}, STRICT, is_read_freely=True)
    either = {"anyOf": [TEXT, NULL]}
    merged = closed({"n": {"anyOf": [TEXT, {"type": "integer"}]}, "x": either, "y": either})
    assert (found, lost) == ({"anyOf": [merged, kind("a")]}, ("anyOf",))
    overlapping = [kind("a", x=TEXT), kind("b", y=TEXT), kind("a", "b", z=TEXT)]
    found = narrowed({"anyOf": overlapping}, STRICT, is_read_freely=True)
    assert sorted(found["properties"]) == ["kind", "x", "y", "z"], "the third is like both of the others"


def test_definitions_stay_where_they_are_known_and_are_written_out_where_not():
    schema = {**closed({"a": {"$ref": "#/definitions/t"}, "b": {"$ref": "#/$defs/u"}}), "$defs": {"u": NULL, "v": TEXT}}
    schema["definitions"] = {"t": {"type": "string", "minLength": 1}}
    found, lost = one(schema, CLOSED)
    assert found["properties"] == {"a": {"$ref": "#/$defs/t"}, "b": {"$ref": "#/$defs/u"}}
    assert found["$defs"] == {"t": TEXT, "u": NULL} and lost == ("minLength",)
    assert narrowed(schema, attrs.evolve(CLOSED, has_references=False)) == closed({"a": TEXT, "b": NULL})


def test_a_schema_that_refers_to_itself_is_taken_where_that_is_known():
    tree = closed({"left": {"anyOf": [{"$ref": "#/$defs/tree"}, NULL]}})
    whole = {**closed({"tree": {"$ref": "#/$defs/tree"}}), "$defs": {"tree": tree}}
    assert narrowed(whole, attrs.evolve(CLOSED, takes_recursion=True)) == whole
    root = closed({"next": {"$ref": "#"}})
    assert narrowed(root, attrs.evolve(CLOSED, takes_recursion=True)) == root
    for endless in (whole, root, {"$ref": "#"}, closed({"a": {"$ref": "#"}, "b": {"$ref": "#"}})):
        for dialect in (CLOSED, attrs.evolve(CLOSED, has_references=False)):
            with pytest.raises(UnsupportedSchema, match="refers to itself"):
                adapt_schema(endless, dialect)
        assert narrowed(endless, attrs.evolve(PLAIN, has_references=False, anything={"type": "object"}))


def test_what_lies_too_deep_is_a_text_for_a_reader_who_undoes_it():
    schema = closed({"a": closed({"b": {"type": "array", "items": closed({"c": TEXT})}})})
    shallow = attrs.evolve(CLOSED, most_depth=3)
    found = adapt_schema(schema, shallow, is_read_freely=True)
    assert found.schema["properties"]["a"]["properties"]["b"]["items"]["type"] == "string" and not found.excess
    with pytest.raises(UnsupportedSchema, match="3 levels"):
        adapt_schema(schema, shallow)


def test_objects_that_are_empty_or_require_nothing_are_texts_where_a_dialect_has_none():
    full = attrs.evolve(CLOSED, needs_properties=True)
    assert narrowed(closed({"a": closed({})}), full, is_read_freely=True)["properties"]["a"] == {
        "type": "string",
        "enum": ["{}"],
    }
    needy = attrs.evolve(CLOSED, needs_required=True)
    found = narrowed(closed({"a": closed({"b": TEXT}, required=[])}), needy, is_read_freely=True)
    assert found["properties"]["a"]["type"] == "string"
    for dialect, what in ((full, "empty objects"), (needy, "require nothing")):
        with pytest.raises(UnsupportedSchema, match=what):
            adapt_schema(closed({"a": closed({} if dialect is full else {"b": TEXT}, required=[])}), dialect)


@each_case(
    ("limit", "most", "message"),
    [
        ("most_depth", 2, "3 levels, at most 2"),
        ("most_properties", 5, "6 properties, at most 5"),
        ("most_properties_each", 2, "3 properties of one object, at most 2"),
        ("most_optional", 1, "2 optional properties, at most 1"),
        ("most_unions", 1, "2 unions, at most 1"),
        ("most_choices", 2, "3 values of enumerations, at most 2"),
        ("most_text", 29, "30 characters of names and values, at most 29"),
        ("most_size", 100, "bytes, at most 100"),
    ],
)
def test_every_limit_is_counted_and_named(limit, most, message):
    inner = closed({"a": {"type": "string", "enum": ["long", "longer"]}, "bb": TEXT}, required=["a"])
    schema = closed(
        {
            "list": {"type": "array", "items": inner},
            "either": {"anyOf": [TEXT, closed({"kind": {"type": "string", "enum": ["x"]}})]},
            "v": {"$ref": "#/$defs/v"},
        },
        required=["list", "either"],
    )
    schema["$defs"] = {"v": {"anyOf": [TEXT, NULL]}}
    roomy = attrs.evolve(CLOSED, **{limit: 10_000})
    assert adapt_schema(schema, roomy).excess == ()
    if limit == "most_depth":  # what would lie deeper is never written
        assert measured(schema).beyond(attrs.evolve(CLOSED, most_depth=2)) == (message,)
    else:
        assert message in adapt_schema(schema, attrs.evolve(CLOSED, **{limit: most})).excess[0]


def test_only_an_enumeration_of_many_texts_has_a_limit_of_its_own():
    dialect = attrs.evolve(CLOSED, most_choice_text=1_000)
    for number, excess in ((250, ()), (251, ("1,004 characters of one enumeration, at most 1,000",))):
        texts = {"type": "string", "enum": [f"{place:04}" for place in range(number)]}
        assert adapt_schema(closed({"a": texts}), dialect).excess == excess


# -- laws ------------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c"])
BOUNDS = st.fixed_dictionaries({"type": st.just("string")}, optional={"maxLength": st.integers(0, 3)})
LEAVES = st.one_of(
    BOUNDS,
    st.sampled_from([{"type": kind} for kind in ("integer", "number", "boolean", "null")]),
    st.sampled_from([{"enum": ["a", "b"]}, {"enum": [1, "a", None]}, {"const": 3}]),
)


def objects(inner):
    listed = st.dictionaries(NAMES, inner, max_size=3)
    return listed.flatmap(
        lambda properties: (
            st.lists(st.sampled_from(sorted(properties)), unique=True).map(
                lambda required: closed(properties, required)
            )
            if properties
            else st.just(closed({}))
        )
    )


SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        objects(inner),
        inner.map(lambda items: {"type": "array", "items": items, "maxItems": 2}),
        st.lists(inner, min_size=1, max_size=3).map(lambda options: {"anyOf": options}),
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b", "abcd"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
DIALECTS = [PLAIN, CLOSED, attrs.evolve(CLOSED, has_references=False, most_min_items=1)]


@pytest.mark.parametrize("dialect", DIALECTS, ids=["plain", "closed", "inline"])
@given(schema=SCHEMAS, value=VALUES)
def test_a_value_that_fits_a_schema_fits_the_adapted_schema(dialect, schema, value):
    if Draft202012Validator(schema).is_valid(value):
        assert Draft202012Validator(narrowed(schema, dialect)).is_valid(value)


@given(schema=SCHEMAS)
def test_what_is_narrowed_once_is_not_narrowed_further(schema):
    for dialect in (PLAIN, CLOSED, STRICT):
        once = narrowed(schema, dialect, is_read_freely=True)
        assert narrowed(once, dialect, is_read_freely=True) == once


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["string", "object", "#", "#/$defs/a", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "properties", "items", "enum", "anyOf", "required", "$ref", "$defs", "const", "a"]),
        inner,
        max_size=4,
    ),
)  # fmt: skip


@given(schema=st.dictionaries(st.sampled_from(["type", "properties", "$ref", "anyOf", "enum", "$defs"]), JUNK))
def test_whatever_a_schema_is_it_is_put_into_a_dialect_or_refused_as_unsayable(schema):
    for dialect in (PLAIN, CLOSED, STRICT, attrs.evolve(PLAIN, anything={"type": "object"}, null_keyword=True)):
        for is_read_freely in (False, True):
            try:
                found = adapt_schema(schema, dialect, is_read_freely=is_read_freely).schema
            except UnsupportedSchema:
                continue
            Draft202012Validator.check_schema({k: v for k, v in found.items() if k != "nullable"})
