"""Bounds of lists and strings for a model that repeats itself."""

from __future__ import annotations

from helmdeck_core import find_problems
from helmdeck_core.context.schema_bounds import Bounds, bounded_schema

BOUNDS = Bounds(items=50, chars=400)


def test_every_list_and_string_gets_a_maximum_and_keeps_a_lower_one_and_its_minimum():
    schema = {
        "type": "object",
        "properties": {
            "note": {"type": ["string", "null"]},
            "code": {"type": "string", "maxLength": 2_000},
            "id": {"type": "string", "maxLength": 8},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "rows": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/row"}, {"type": "integer"}]}},
            "two": {"type": "array", "minItems": 40, "items": {"type": "string", "minLength": 300}},
        },
        "$defs": {
            "row": {"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/row"}}}
        },
    }
    found = bounded_schema(schema, 6_000, BOUNDS)
    properties = found["properties"]
    assert properties["note"]["maxLength"] == 400 and properties["kind"] == schema["properties"]["kind"]
    assert (properties["code"]["maxLength"], properties["id"]["maxLength"]) == (400, 8)
    assert properties["rows"]["maxItems"] == 6_000 // 6 // 64
    assert (properties["two"]["maxItems"], properties["two"]["items"]["maxLength"]) == (40, 300)
    assert found["$defs"]["row"]["properties"]["name"]["maxLength"] == 40
    assert "maxLength" not in schema["properties"]["note"]


def test_lists_within_lists_share_the_room_of_the_response():
    schema: dict[str, object] = {"type": "string"}
    for _ in range(5):
        schema = {"type": "array", "items": schema}
    most, value = bounded_schema(schema, 4_500, BOUNDS), 1
    while most["type"] == "array":
        value, most = value * most["maxItems"], most["items"]
    assert value * most["maxLength"] <= 4_500


def test_a_value_of_the_bounded_schema_fits_the_schema():
    schema = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}, "required": ["a"]}
    bounded = bounded_schema(schema, 1_000, BOUNDS)
    assert not find_problems(bounded, {"a": ["x" * 40] * 15}) and not find_problems(schema, {"a": ["x" * 40] * 15})
    assert find_problems(bounded, {"a": ["x"] * 16}) and find_problems(bounded, {"a": ["x" * 401]})
