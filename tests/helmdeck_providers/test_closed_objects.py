"""Schemas of typed answers are sent with closed objects, so that a weak model cannot invent properties."""

import json
from dataclasses import dataclass

from helmdeck_providers.schemas.constraint import closed_objects
from helmdeck_testing import completion, make_deck
from tests.case_support import each_case

TEXT = {"type": "string"}


@dataclass
class Item:
    name: str
    price: float


@dataclass
class Order:
    customer: str
    items: list[Item]


def test_typed_answer_is_constrained_to_closed_objects(chat_server):
    server = chat_server(lambda body: completion('{"customer": "Kim", "items": []}'))
    providers = {"llamacpp": {"base_url": server.base_url}}
    budgets = {"llamacpp/m": {"enforces_schema": True}}
    with make_deck(config={"providers": providers, "budgets": budgets}) as deck:
        assert deck.ask("Read the order.", Order, model="llamacpp/m").value == Order("Kim", [])
    sent = server.requests[-1].body["response_format"]["schema"]
    assert sent["additionalProperties"] is False
    assert json.dumps(sent).count('"additionalProperties": false') == 2


@each_case(
    ("schema", "is_closed"),
    [
        ({"type": "object", "properties": {"a": TEXT}}, True),
        ({"type": "object", "properties": {"a": TEXT}, "additionalProperties": True}, False),
        ({"type": "object", "properties": {"a": TEXT}, "allOf": [{"properties": {"b": TEXT}}]}, False),
        ({"type": "object", "properties": {"a": TEXT}, "patternProperties": {"^x-": TEXT}}, False),
        ({"type": "object", "additionalProperties": TEXT}, False),
        ({"type": "object"}, False),
    ],
)
def test_only_objects_that_say_nothing_about_further_properties_are_closed(schema, is_closed):
    assert (closed_objects(schema).get("additionalProperties") is False) is is_closed
    nested = closed_objects({"type": "object", "properties": {"in": schema, "list": {"items": schema}}})
    assert nested["additionalProperties"] is False
    for each in (nested["properties"]["in"], nested["properties"]["list"]["items"]):
        assert (each.get("additionalProperties") is False) is is_closed


def test_given_schema_is_unchanged():
    schema = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": TEXT}}}}
    before = json.dumps(schema)
    closed_objects(schema)
    assert json.dumps(schema) == before
