"""Plans with constrained decoding in Cohere: requests, and retries after a rejected schema."""

import json

import pytest

import helmdeck_provider_cohere
from helmdeck_core import ChatRequest, InvalidRequest, Message, ProviderSettings, ResponseFormat, Role, TextPart
from helmdeck_testing import make_deck

MODEL = "cohere/command-x"
TEXT = {"type": "string"}
PACKS = {
    "packs": [
        {
            "name": "tide.get",
            "input_schema": {"type": "object", "properties": {"port": TEXT, "days": {"type": "integer"}}},
        },
        {"name": "wind.get", "input_schema": {"type": "object", "properties": {"port": TEXT}, "required": ["port"]}},
    ]
}
JSON_TEXT = {"type": "string", "description": "JSON, written as a text"}


def plan(args):
    step = {"tool": "tide.get", "args": args, "order": 1, "rationale": "r"}
    return {"steps": [step], "complexity": "single-action", "reasoning": "r"}


def answer(args):
    content = [{"type": "text", "text": json.dumps(plan(args))}]
    return {"message": {"role": "assistant", "content": content}, "finish_reason": "COMPLETE", "usage": {}}


@pytest.fixture
def deck_at(tmp_path, monkeypatch):
    """Create a deck with a Cohere server of the test and two tools."""
    monkeypatch.setenv("CO_API_KEY", "kq7Zr0Wm4Xc9")
    (tmp_path / "tools.json").write_text(json.dumps(PACKS))
    made = []

    def make(server, **options):
        config = {
            "catalog": {"sources": [str(tmp_path / "tools.json")]},
            "providers": {"cohere": {"base_url": server.base_url, "api_key": "env:CO_API_KEY", "options": options}},
            "budgets": {MODEL: {"tier": "A", "wants_strict_json": True}},
        }
        made.append(make_deck(helmdeck_provider_cohere, config=config))
        return made[-1]

    yield make
    for deck in made:
        deck.close()


def closed(properties):
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def step(tool, args):
    why = {"$ref": "#/$defs/sentence"}
    named = {"type": "string", "enum": [tool]}
    return closed({"tool": named, "args": args, "order": {"type": "integer"}, "rationale": why})


def test_plan_schema_has_no_bounds_and_strings_for_objects_without_required_properties(chat_server, deck_at):
    server = chat_server(lambda body: answer('{"port": "Oslo"}'))
    found = deck_at(server).plan("tides of Oslo", model=MODEL)
    assert dict(found.steps[0].args) == {"port": "Oslo"} and found.downgrades == ()
    kinds = ["single-action", "pipeline-direct", "pack-chain"]
    steps = [
        step("tide.get", JSON_TEXT),
        step("wind.get", closed({"port": {"$ref": "#/$defs/text"}})),
        step("unknown", {"type": "string", "enum": ["{}"]}),
    ]
    listed = {
        "steps": {"type": "array", "items": {"anyOf": steps}},
        "complexity": {"type": "string", "enum": kinds},
        "reasoning": TEXT,
    }
    schema = {**closed(listed), "$defs": {"sentence": TEXT, "text": TEXT}}
    assert server.requests[0].body["response_format"] == {"type": "json_object", "json_schema": schema}


def test_rejected_schema_is_left_out_of_the_next_request(chat_server, deck_at):
    def respond(body):
        if "tide.get" in json.dumps(body.get("response_format")) and "$defs" in json.dumps(body["response_format"]):
            return 400, {}, {"message": "invalid request: response_format.json_schema is too large"}
        return answer({"port": "Oslo"})

    server = chat_server(respond)
    deck = deck_at(server)
    for _ in range(4):
        assert deck.plan("tides of Oslo", model=MODEL).steps[0].tool == "tide.get"
    sent = [bool(request.body.get("response_format", {}).get("json_schema")) for request in server.requests]
    assert sent == [True, False, True, False, False, False], "two forms are tried, each once"


def test_schemas_can_be_disabled_by_option(chat_server, deck_at):
    server = chat_server(lambda body: answer({"port": "Oslo"}))
    deck_at(server, response_formats=["json_object"]).plan("tides of Oslo", model=MODEL)
    assert server.requests[0].body["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    "options", [{"colour": "red"}, {"response_formats": "json_object"}, {"response_formats": ["x"]}]
)
def test_invalid_option_is_named(options):
    settings = ProviderSettings(name="cohere", options=options)
    request = ChatRequest(
        model=MODEL,
        messages=(Message(Role.USER, (TextPart("x"),)),),
        response_format=ResponseFormat("json_object"),
    )
    (spec,) = helmdeck_provider_cohere.helmdeck_providers()
    with pytest.raises(InvalidRequest, match=f"providers.cohere.options.{next(iter(options))}"):
        spec.constrain(settings, request)
