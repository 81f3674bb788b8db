"""Plans with constrained decoding in Bedrock: requests, and retries after a rejected schema."""

import json

import pytest

import helmdeck_provider_bedrock
from helmdeck_core import ConstrainedDeadlock
from helmdeck_provider_bedrock.faults import exception_frame
from helmdeck_testing import make_deck

CLAUDE, OTHER = "bedrock/eu.anthropic.claude-x-v1:0", "bedrock/qwen.qwen3-x"
TEXT = {"type": "string"}


def tools(optional):
    properties = {
        "port": {**TEXT, "maxLength": 9},
        **{f"day{n}": {"type": "integer", "minimum": 1} for n in range(optional)},
    }
    schema = {"type": "object", "properties": properties, "required": ["port"]}
    return {"packs": [{"name": "tide.get", "input_schema": schema}]}


def answer(args):
    step = {"tool": "tide.get", "args": args, "order": 1, "rationale": "r"}
    text = json.dumps({"steps": [step], "complexity": "single-action", "reasoning": "r"})
    message = {"role": "assistant", "content": [{"text": text}]}
    return {"output": {"message": message}, "stopReason": "end_turn", "usage": {"inputTokens": 5, "outputTokens": 2}}


@pytest.fixture
def deck_at(tmp_path, keys):
    """Create a deck with a Bedrock server of the test and one tool."""
    made = []

    def make(server, optional=1, **options):
        (tmp_path / "tools.json").write_text(json.dumps(tools(optional)))
        config = {
            "catalog": {"sources": [str(tmp_path / "tools.json")]},
            "providers": {"bedrock": {"base_url": server.base_url, "options": {"region": "eu-north-1", **options}}},
            "budgets": {model: {"tier": "A", "wants_strict_json": True} for model in (CLAUDE, OTHER)},
        }
        made.append(make_deck(helmdeck_provider_bedrock, config=config))
        return made[-1]

    yield make
    for deck in made:
        deck.close()


def schema_of(request):
    """Return the schema of a request, which is sent as a string."""
    if "outputConfig" not in request.body:
        return None
    text_format = request.body["outputConfig"]["textFormat"]
    assert text_format["type"] == "json_schema" and text_format["structure"]["jsonSchema"]["name"] == "plan"
    return json.loads(text_format["structure"]["jsonSchema"]["schema"])


def args_of(request):
    items = schema_of(request)["properties"]["steps"]["items"]
    return items.get("anyOf", [items])[0]["properties"]["args"]


def test_plan_schema_has_tools_and_arguments_without_bounds(chat_server, deck_at):
    server = chat_server(lambda body: answer({"port": "Oslo"}))
    plan = deck_at(server).plan("tides of Oslo", model=CLAUDE)
    assert dict(plan.steps[0].args) == {"port": "Oslo"} and plan.downgrades == ()
    (request,) = server.requests
    assert args_of(request) == {
        "type": "object",
        "properties": {"port": {"$ref": "#/$defs/text"}, "day0": {"type": "integer"}},
        "required": ["port"],
        "additionalProperties": False,
    }
    assert schema_of(request)["properties"]["steps"]["minItems"] == 1
    assert not {"maxLength", "maxItems", "minimum"} & set(json.dumps(schema_of(request)).replace('"', " ").split())


@pytest.mark.parametrize(("model", "form"), [(CLAUDE, "ids"), (OTHER, "arguments")])
def test_claude_limits_apply_to_claude_only(chat_server, deck_at, model, form):
    server = chat_server(lambda body: answer('{"port": "Oslo"}' if form == "ids" else {"port": "Oslo"}))
    plan = deck_at(server, optional=25).plan("tides of Oslo", model=model)
    assert dict(plan.steps[0].args) == {"port": "Oslo"}
    assert ("properties" in args_of(server.requests[0])) is (form == "arguments")


@pytest.mark.parametrize(
    "message",
    [
        "The model returned the following errors: output_config.format.schema: For 'object' type, ...",
        "This model doesn't support the outputConfig.textFormat field.",
        "Schemas contains too many optional parameters (25), which would make grammar compilation inefficient.",
    ],
)
def test_rejected_schema_is_left_out_of_the_next_request(chat_server, deck_at, message):
    def respond(body):
        if "outputConfig" in body:
            return 400, {"x-amzn-errortype": "ValidationException"}, {"message": message}
        return answer({"port": "Oslo"})

    server = chat_server(respond)
    deck = deck_at(server)
    for _ in range(4):
        assert deck.plan("tides of Oslo", model=CLAUDE).steps[0].tool == "tide.get"
    assert [bool(schema_of(request)) for request in server.requests] == [True, False, True, False, False, False]


def test_schemas_can_be_disabled_by_option(chat_server, deck_at):
    server = chat_server(lambda body: answer({"port": "Oslo"}))
    plan = deck_at(server, json_schema=False).plan("tides of Oslo", model=CLAUDE)
    assert schema_of(server.requests[0]) is None and plan.downgrades == ()


def test_constraint_is_known_before_any_request(chat_server, deck_at):
    server = chat_server(lambda body: answer({}))
    told = deck_at(server, optional=25).explain("tides", model=CLAUDE).to_dict()["constraint"]
    assert (told["kind"], told["form"], told["ids"]) == ("json_schema", "ids", 1)
    assert told["passed"] == ["arguments: 25 optional properties, at most 24"] and server.requests == []


@pytest.mark.parametrize("kind", ["modelErrorException", "modelStreamErrorException"])
def test_invalid_tool_call_is_a_failure_of_the_model(kind):
    found = exception_frame(kind, {"message": "Model produced invalid sequence as part of ToolUse."})
    assert isinstance(found, ConstrainedDeadlock) and found.sub_cause == "tool_use_failed"
