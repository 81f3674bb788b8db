"""Alternatives at the root of a tool's schema are merged for the APIs that reject them."""

from __future__ import annotations

import pytest

from helmdeck_core import ChatRequest, ToolDefinition
from helmdeck_providers import tool_schema
from helmdeck_providers.wire_formats.anthropic import request as anthropic
from helmdeck_providers.wire_formats.gemini import request as gemini
from helmdeck_providers.wire_formats.openai_chat import request as openai_chat
from helmdeck_providers.wire_formats.openai_responses import request as openai_responses
from tests.case_support import each_case
from tests.helmdeck_providers.natives_support import body_of, user
from tests.helmdeck_providers.openai_support import PRESETS

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
ONE_OF_BOTH = {"anyOf": [{"required": ["id"]}, {"required": ["name"]}], "properties": {"id": NUMBER, "name": TEXT}}
MERGED = {"type": "object", "properties": {"id": NUMBER, "name": TEXT}}
LOOSENED = "schema of tool 'find' loosened: anyOf"


@each_case(
    ("schema", "merged"),
    [
        ({}, {"type": "object"}),
        (ONE_OF_BOTH, MERGED),
        (
            {"oneOf": [{"properties": {"id": NUMBER, "x": TEXT}, "required": ["id", "x"]}, {"required": ["x"]}]},
            {"type": "object", "properties": {"id": NUMBER, "x": TEXT}, "required": ["x"]},
        ),
        (
            {"required": ["a"], "allOf": [{"properties": {"a": TEXT}}, {"required": ["b"], "properties": {"b": TEXT}}]},
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a", "b"]},
        ),
        (
            {"anyOf": [{"properties": {"a": TEXT}}, {"properties": {"a": NUMBER}}]},
            {"type": "object", "properties": {"a": {"anyOf": [TEXT, NUMBER]}}},
        ),
        (
            {"anyOf": [{"$ref": "#/$defs/p"}], "$defs": {"p": {"properties": {"a": TEXT}}}},
            {"type": "object", "properties": {"a": TEXT}, "$defs": {"p": {"properties": {"a": TEXT}}}},
        ),
        (
            {"not": {"required": ["a"]}, "anyOf": [7, {"properties": 7, "required": 7}]},
            {"type": "object", "properties": {}},
        ),
    ],
)
def test_alternatives_become_properties_of_one_object(schema, merged):
    downgrades = []
    assert tool_schema(ToolDefinition("find", "", schema), downgrades) == merged
    assert len(downgrades) == (len(schema) > 0)


def written(module, name, options):
    tool = ToolDefinition("find", "Finds.", ONE_OF_BOTH)
    rendered = module.render(ChatRequest(model=f"{name}/m", messages=(user("x"),), tools=(tool,)), options)
    return body_of(rendered)["tools"][0], rendered.downgrades


CHAT = openai_chat.Options(**PRESETS["openai"].options)


@pytest.mark.parametrize(
    ("module", "options", "schema"),
    [
        (anthropic, anthropic.Options(), lambda tool: tool["input_schema"]),
        (gemini, gemini.Options(), lambda tool: tool["functionDeclarations"][0]["parametersJsonSchema"]),
        (openai_responses, openai_responses.Options(), lambda tool: tool["parameters"]),
        (openai_chat, CHAT, lambda tool: tool["function"]["parameters"]),
    ],
    ids=["anthropic", "gemini", "responses", "chat"],
)
def test_api_without_alternatives_gets_the_merged_schema(module, options, schema):
    tool, downgrades = written(module, "any", options)
    assert (schema(tool), downgrades) == (MERGED, (LOOSENED,))


def test_other_servers_get_the_schema_as_it_is():
    tool, downgrades = written(openai_chat, "any", openai_chat.Options())
    assert (tool["function"]["parameters"], downgrades) == (ONE_OF_BOTH, ())
