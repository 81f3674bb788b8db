"""Plans with constrained decoding for every wire format: requests, responses and retries after a rejected schema."""

import json

import pytest

from helmdeck_core import CallFinished, ChatRequest, Message, ResponseFormat, Role, TextPart
from helmdeck_planner.choosers.words import tool_schema
from helmdeck_testing import Chunks, EventRecorder, make_deck
from helmdeck_testing.server_formats import SERVER_FORMATS, ScriptedAnswer

ASK = "scrape the page"
PACKS = {
    "packs": [
        {
            "name": "web.scrape",
            "input_schema": {
                "type": "object",
                "properties": {"url": {"type": "string"}, "depth": {"type": "integer", "minimum": 1}},
                "required": ["url"],
            },
        }
    ]
}
TEXT, COUNT, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}
DEFS = {"sentence": TEXT, "text": TEXT}


def closed(properties, required=None):
    required = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def one_of(*texts):
    return {"type": "string", "enum": [*texts]}


def plan_schema(args, nothing, **steps):
    """The schema of a plan over the one tool, without bounds."""
    why = {"$ref": "#/$defs/sentence"}
    scrape = closed({"tool": one_of("web.scrape"), "args": args, "order": COUNT, "rationale": why})
    unknown = closed({"tool": one_of("unknown"), "args": nothing, "order": COUNT, "rationale": why})
    listed = {
        "steps": {"type": "array", "items": {"anyOf": [scrape, unknown]}, **steps},
        "complexity": one_of("single-action", "pipeline-direct", "pack-chain"),
        "reasoning": TEXT,
    }
    return {**closed(listed), "$defs": DEFS}


URL = {"$ref": "#/$defs/text"}
OPTIONAL = closed({"url": URL, "depth": COUNT}, required=["url"])
NULLABLE = closed({"url": URL, "depth": {"anyOf": [COUNT, NULL]}})
STRICT = plan_schema(NULLABLE, closed({}))
OPENAI = plan_schema(NULLABLE, closed({}), minItems=1, maxItems=12)
CLAUDE = plan_schema(OPTIONAL, closed({}), minItems=1)
GEMINI = plan_schema(OPTIONAL, one_of("{}"), minItems=1, maxItems=12)
CEREBRAS = plan_schema(NULLABLE, one_of("{}"))


def in_chat(schema, **more):
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "plan", "schema": schema, **more}}}


def in_strict_chat(schema):
    return in_chat(schema, strict=True)


def in_responses(schema):
    return {"text": {"format": {"type": "json_schema", "name": "plan", "schema": schema, "strict": True}}}


def in_claude(schema):
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


def in_gemini(schema):
    return {"responseMimeType": "application/json", "responseJsonSchema": schema}


FAMILIES = {
    "openai/gpt-5.4": ("openai-chat", in_strict_chat(OPENAI)),
    "azure/deployed": ("openai-chat", in_strict_chat(STRICT)),
    "openrouter/mistralai/large": ("openai-chat", in_strict_chat(STRICT)),
    "openrouter/anthropic/claude-x": ("openai-chat", in_strict_chat(CLAUDE)),
    "openrouter/openai/gpt-5": ("openai-chat", in_strict_chat(OPENAI)),
    "mistral/large": ("openai-chat", in_strict_chat(STRICT)),
    "groq/openai/gpt-oss-120b": ("openai-chat", {"response_format": {"type": "json_object"}}),
    "groq/qwen/qwen3.8-27b": ("openai-chat", in_strict_chat(STRICT)),
    "groq/llama-3.3-70b": ("openai-chat", {"response_format": {"type": "json_object"}}),
    "cerebras/qwen-3.8": ("openai-chat", in_strict_chat(CEREBRAS)),
    "moonshot/kimi-k3": ("openai-chat", in_strict_chat(STRICT)),
    "moonshot/kimi-k2.7": ("openai-chat", {"response_format": {"type": "json_object"}}),
    "snowflake/claude-opus-5": ("openai-chat", in_strict_chat(CLAUDE)),
    "huggingface/some/model": ("openai-chat", in_strict_chat(STRICT)),
    "deepseek/v4": ("openai-chat", {"response_format": {"type": "json_object"}}),
    "openai-responses/gpt-5.4": ("openai-responses", in_responses(OPENAI)),
    "azure-responses/deployed": ("openai-responses", in_responses(STRICT)),
    "anthropic/claude-sonnet-5": ("anthropic", in_claude(CLAUDE)),
    "anthropic/claude-3-5-haiku": ("anthropic", {}),
    "gemini/gemini-3.8-flash": ("gemini", in_gemini(GEMINI)),
}
OWN_SERVERS = {"llamacpp/tiny": "openai-chat", "vllm/tiny": "openai-chat", "ollama/tiny": "ollama"}


def has_schema(fields):
    return "schema" in json.dumps(fields)


FIELDS = ("response_format", "text", "output_config", "generationConfig", "format")


def constraint_fields(body):
    """Return the fields of a request that constrain the response."""
    found = {name: body[name] for name in FIELDS if name in body}
    if "generationConfig" in found:
        found = {name: value for name, value in found["generationConfig"].items() if name.startswith("response")}
    return found


def form_of(body):
    """Which form a request holds the answer to."""
    said = json.dumps(constraint_fields(body))
    if "web.scrape" in said:
        return "arguments" if '"depth"' in said else "ids"
    return "any" if said != "{}" else ""


def step(args, tool="web.scrape"):
    return {"steps": [{"tool": tool, "args": args, "order": 1, "rationale": "r"}], "reasoning": "r"}


GOOD = json.dumps(step({"url": "u"}))


class Stage:
    """A deck with one provider, which is a server of a family, and the plans that it makes."""

    def __init__(self, chat_server, tmp_path, model, family, answer, *, plugins=(), **config):
        self.server = chat_server(self._respond)
        self.model, self.family, self._answer = model, SERVER_FORMATS[family], answer
        source = tmp_path / "catalog.json"
        source.write_text(json.dumps(PACKS))
        name = model.partition("/")[0]
        budget = {"tier": "A", "wants_strict_json": True, "is_hybrid_reasoning": "gpt-oss" in model}
        settings = {
            "catalog": {"sources": [str(source)]},
            "providers": {name: {"base_url": self.server.base_url, "api_key": "env:KEY"}},
            "budgets": {model: budget},
            "recovery": {"backoff_s": 0.0},
        }
        self.deck = make_deck(*plugins, config={**settings, **config})

    def _respond(self, body):
        found = self._answer(body)
        if not isinstance(found, str):
            return found
        if body.get("stream") is True:
            return Chunks(self.family.events(ScriptedAnswer(text=found)))
        return self.family.whole(ScriptedAnswer(text=found))

    def plan(self):
        return self.deck.plan(ASK, model=self.model)

    @property
    def bodies(self):
        return [request.body for request in self.server.requests]

    @property
    def forms(self):
        return [form_of(body) for body in self.bodies]


@pytest.fixture
def stage(chat_server, tmp_path, monkeypatch):
    monkeypatch.setenv("KEY", "k")
    made = []

    def make(model, answer=lambda body: GOOD, **how):
        family = OWN_SERVERS.get(model) or FAMILIES[model][0]
        made.append(Stage(chat_server, tmp_path, model, family, answer, **how))
        return made[-1]

    yield make
    for each in made:
        each.deck.close()


@pytest.mark.parametrize("model", [model for model in FAMILIES if "gpt-oss" not in model])
def test_schema_is_sent_in_the_format_of_the_api(stage, model):
    made = stage(model)
    plan = made.plan()
    assert constraint_fields(made.bodies[0]) == FAMILIES[model][1]
    assert [(step.tool, dict(step.args)) for step in plan.steps] == [("web.scrape", {"url": "u"})]
    assert plan.downgrades == () and len(made.bodies) == 1


def test_server_without_streamed_schemas_gets_one_only_whole(stage):
    made = stage("groq/openai/gpt-oss-120b")  # a reasoning model is streamed, so that it can be monitored
    assert made.plan().steps[0].tool == "web.scrape"
    assert made.bodies[0]["stream"] is True and constraint_fields(made.bodies[0]) == FAMILIES[made.model][1]
    budget = {"tier": "A", "wants_strict_json": True, "is_hybrid_reasoning": False}
    made = stage("groq/openai/gpt-oss-120b", budgets={made.model: budget})
    made.plan()
    assert constraint_fields(made.bodies[0]) == in_strict_chat(STRICT)


def written_for(body):
    """An answer of the form that a request holds it to."""
    return {
        "arguments": json.dumps(step({"url": "u", "depth": None})),
        "ids": json.dumps(step('{"url": "u"}')),
    }.get(form_of(body), GOOD)


@pytest.mark.parametrize("model", ["openai/gpt-5.4", "openai-responses/gpt-5.4", "azure/deployed", "mistral/large"])
def test_null_for_an_optional_argument_is_removed(stage, model):
    plan = stage(model, written_for).plan()
    assert dict(plan.steps[0].args) == {"url": "u"} and plan.steps[0].problems == ()


REFUSALS = {
    "openai/gpt-5.4": "Invalid schema for response_format 'plan': In context=(), 'required' is required to be supplied",
    "azure/deployed": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
    "openrouter/mistralai/large": "No endpoints found that can handle the requested parameters.",
    "mistral/large": "response_format.json_schema: extra fields not permitted",
    "groq/qwen/qwen3.8-27b": "This model does not support response format `json_schema`.",
    "cerebras/qwen-3.8": "Unsupported JSON schema fields in response_format",
    "openai-responses/gpt-5.4": "Invalid schema: Objects provided via 'anyOf' must not share identical first keys.",
    "anthropic/claude-sonnet-5": "The compiled grammar is too large, which would cause performance issues.",
    "gemini/gemini-3.8-flash": "The specified schema produces a constraint that has too many states for serving.",
}


def refusing(*forms, message):
    """A server that refuses some forms."""

    def answer(body):
        if form_of(body) not in forms:
            return written_for(body)
        error = {"message": message, "type": "invalid_request_error", "code": None}
        return 400, {"content-type": "application/json"}, json.dumps({"type": "error", "error": error})

    return answer


@pytest.mark.parametrize("model", REFUSALS)
def test_rejected_schema_is_left_out_of_later_requests(stage, model):
    made = stage(model, refusing("arguments", message=REFUSALS[model]))
    first, second, third = made.plan(), made.plan(), made.plan()
    assert made.forms == ["arguments", "", "ids", "ids"], "once without any, and from then on looser"
    assert all(dict(plan.steps[0].args) == {"url": "u"} for plan in (first, second, third))
    assert (first.attempts[0].cause, first.attempts[0].sub_cause) == ("invalid_request", "schema_refused")
    assert len(second.attempts) == len(third.attempts) == 1


def test_server_that_rejects_every_schema_gets_none(stage):
    made = stage("openai/gpt-5.4", refusing("arguments", "ids", "any", message="response_format is not supported"))
    for _ in range(5):
        assert made.plan().steps[0].tool == "web.scrape"
    assert made.forms == ["arguments", "", "ids", "", "any", "", "", ""]


def test_schema_is_kept_after_invalid_model_output(stage):
    def answer(body):
        if form_of(body) != "arguments" or len(made.bodies) > 1:
            return written_for(body)
        error = {"message": "Failed to validate JSON.", "code": "json_validate_failed", "failed_generation": "{"}
        return 400, {"content-type": "application/json"}, json.dumps({"error": error})

    made = stage("groq/qwen/qwen3.8-27b", answer)
    first, _ = made.plan(), made.plan()
    assert made.forms == ["arguments", "", "arguments"]
    assert first.attempts[0].cause == "constrained_deadlock"


@pytest.mark.parametrize(
    ("model", "constraint"),
    [
        ("openai/gpt-5.4", "json_schema arguments"),
        ("anthropic/claude-sonnet-5", "json_schema arguments"),
        ("gemini/gemini-3.8-flash", "json_schema arguments"),
        ("deepseek/v4", "json_object"),
        ("anthropic/claude-3-5-haiku", ""),
    ],
)
def test_constraint_is_reported_and_unused_offer_is_no_downgrade(stage, model, constraint):
    watcher = EventRecorder()
    plan = stage(model, plugins=[watcher]).plan()
    [finished] = [event for event in watcher.events if isinstance(event, CallFinished)]
    assert (finished.constraint, finished.downgrades, plan.downgrades) == (constraint, (), ())


@pytest.mark.parametrize(
    ("model", "response_format", "downgrade"),
    [
        ("anthropic/claude-sonnet-5", ResponseFormat("json_object"), "response_format json_object left out"),
        (
            "anthropic/claude-3-5-haiku",
            ResponseFormat("json_schema", "a", closed({"a": TEXT})),
            "response_format json_schema left out",
        ),
        (
            "anthropic/claude-sonnet-5",
            ResponseFormat("json_schema", "a", closed({"a": {**TEXT, "maxLength": 3}})),
            "response_format json_schema loosened: maxLength",
        ),
        (
            "groq/llama-3.3-70b",
            ResponseFormat("json_schema", "a", closed({"a": TEXT})),
            "response_format json_schema -> json_object",
        ),
        (
            "openai/gpt-5.4",
            ResponseFormat("json_schema", "a", closed({"a": {**TEXT, "maxLength": 3}})),
            "response_format json_schema loosened: maxLength",
        ),
    ],
)
def test_unsupported_format_of_the_caller_is_a_downgrade(stage, model, response_format, downgrade):
    request = ChatRequest(
        model=model, messages=(Message(Role.USER, (TextPart("x"),)),), response_format=response_format
    )
    assert stage(model).deck.complete(request).downgrades == (downgrade,)


@pytest.mark.parametrize(
    "model", [*OWN_SERVERS, *(model for model, (_, fields) in FAMILIES.items() if has_schema(fields))]
)
def test_choice_of_one_tool_is_sent_as_a_closed_list_of_names(stage, model):
    wanted = ResponseFormat("json_schema", "choice", tool_schema(["web.scrape"]))
    made = stage(model, lambda body: '{"tool": "web.scrape"}')
    answer = made.deck.complete(
        ChatRequest(model=model, messages=(Message(Role.USER, (TextPart("x"),)),), response_format=wanted)
    )
    assert answer.downgrades == ()
    assert '"enum": ["web.scrape", "unknown"]' in json.dumps(constraint_fields(made.bodies[0]))


def test_non_strict_schema_of_the_caller_is_sent_unchanged(stage):
    optional = closed({"a": TEXT, "b": TEXT}, required=["a"])
    made = stage("openai/gpt-5.4")
    response_format = ResponseFormat("json_schema", "mine", optional)
    made.deck.complete(
        ChatRequest(model=made.model, messages=(Message(Role.USER, (TextPart("x"),)),), response_format=response_format)
    )
    assert made.bodies[0]["response_format"]["json_schema"] == {"name": "mine", "schema": optional}


@pytest.mark.parametrize(
    ("model", "options", "form"),
    [
        ("openai/gpt-5.4", {"response_formats": ["json_object"]}, "any"),
        ("openai/gpt-5.4", {"schema_dialects": {"gpt-5": "none"}}, "any"),
        ("openai-responses/gpt-5.4", {"response_formats": ["json_object", "json_schema"]}, "any"),
        ("anthropic/claude-sonnet-5", {"response_formats": []}, ""),
        ("anthropic/claude-sonnet-5", {"schema_dialects": {"": "none"}}, ""),
        ("gemini/gemini-3.8-flash", {"response_formats": ["json_object"]}, "any"),
        ("deepseek/v4", {"response_formats": ["json_schema"], "schema_dialects": {"": "strict"}}, "arguments"),
    ],
)
def test_supported_formats_are_configurable(stage, model, options, form):
    provider = model.partition("/")[0]
    made = stage(model)
    again = stage(
        model, providers={provider: {"base_url": made.server.base_url, "api_key": "env:KEY", "options": options}}
    )
    again.plan()
    assert made.forms == [form]
