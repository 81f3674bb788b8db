"""Requests to Gemini's generateContent."""

from __future__ import annotations

import pytest

from helmdeck_core import ImagePart, InvalidRequest, ProviderSettings, ResponseFormat, Role, ToolCall, ToolDefinition
from helmdeck_providers.wire_formats.gemini.request import Options, render, request_path
from tests.case_support import each_case
from tests.helmdeck_providers.natives_support import answered, asking, body_of, message, user

LOOK = ToolDefinition("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})


def sent(request, **options):
    return body_of(render(request, Options(**options)))


def left_out(request, **options):
    return render(request, Options(**options)).downgrades


def test_minimal_request_is_one_turn_without_settings():
    assert sent(asking("gemini/g")) == {"contents": [{"role": "user", "parts": [{"text": "say hello"}]}]}


def test_settings_are_in_generation_config():
    request = asking(
        "gemini/g",
        max_tokens=9,
        temperature=0.0,
        stop=("END",),
        extra={"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}},
    )
    assert sent(request)["generationConfig"] == {
        "maxOutputTokens": 9,
        "temperature": 0.0,
        "stopSequences": ["END"],
        "thinkingConfig": {"thinkingBudget": 0},
    }
    many = asking("gemini/g", stop=tuple("abcdef"))
    assert sent(many)["generationConfig"]["stopSequences"] == list("abcde")
    assert left_out(many) == ("1 of 6 stop sequences left out",)
    assert sent(asking("gemini/g", extra={"cachedContent": "cachedContents/1"}))["cachedContent"] == "cachedContents/1"


def test_tool_results_name_their_tool_and_form_one_turn():
    calls = ToolCall("a", "look", '{"at": "sea"}'), ToolCall("b", "stop", "")
    body = sent(
        asking(
            "gemini/g",
            message(Role.SYSTEM, "be brief"),
            user("look"),
            message(Role.ASSISTANT, tool_calls=calls),
            message(Role.TOOL, "a ship", tool_call_id="a"),
            message(Role.TOOL, "done", ImagePart("image/png", b"x"), tool_call_id="b"),
        )
    )
    assert body["systemInstruction"] == {"parts": [{"text": "be brief"}]}
    assert body["contents"][1:] == [
        {
            "role": "model",
            "parts": [
                {"functionCall": {"name": "look", "args": {"at": "sea"}}},
                {"functionCall": {"name": "stop", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "look", "response": {"result": "a ship"}}},
                {"functionResponse": {"name": "stop", "response": {"result": "done"}}},
                {"inlineData": {"mimeType": "image/png", "data": "eA=="}},
            ],
        },
    ]


def test_reused_id_belongs_to_the_nearest_previous_call():
    body = sent(
        asking(
            "gemini/g",
            *(
                message(Role.ASSISTANT, tool_calls=(ToolCall("same", "first", ""),)),
                message(Role.TOOL, "1", tool_call_id="same"),
            ),
            *(
                message(Role.ASSISTANT, tool_calls=(ToolCall("same", "second", ""),)),
                message(Role.TOOL, "2", tool_call_id="same"),
            ),
        )
    )
    results = [
        part["functionResponse"]["name"]
        for turn in body["contents"]
        for part in turn["parts"]
        if "functionResponse" in part
    ]
    assert results == ["first", "second"]


def test_images_are_sent_as_data_or_file_uri():
    parts = user(ImagePart("image/png", b"x"), ImagePart("image/jpeg", url="gs://bucket/a.jpg"))
    assert sent(asking("gemini/g", parts))["contents"][0]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "eA=="}},
        {"fileData": {"mimeType": "image/jpeg", "fileUri": "gs://bucket/a.jpg"}},
    ]


@each_case(
    ("choice", "expected"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        ("look", {"mode": "ANY", "allowedFunctionNames": ["look"]}),
    ],
)
def test_tool_choice_is_translated(choice, expected):
    body = sent(asking("gemini/g", tools=(LOOK,), tool_choice=choice))
    assert body["toolConfig"] == {"functionCallingConfig": expected}
    declaration = {"name": "look", "description": "Looks.", "parametersJsonSchema": LOOK.input_schema}
    assert body["tools"] == [{"functionDeclarations": [declaration]}]


def test_tool_without_parameters_has_no_schema():
    tool = ToolDefinition("stop", "Stops.", {"type": "object", "properties": {}})
    declarations = sent(asking("gemini/g", tools=(tool,)))["tools"][0]["functionDeclarations"]
    assert declarations == [{"name": "stop", "description": "Stops."}]


SCHEMA = {
    "type": "object",
    "properties": {
        "pick": {"$ref": "#/$defs/name"},
        "size": {"type": ["integer", "null"], "minimum": 1},
        "kind": {"const": "a"},
        "code": {"enum": [1, 2], "type": "integer"},
        "either": {"oneOf": [{"type": "string"}, {"type": "null"}]},
        "both": {"type": ["string", "number"]},
        "list": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    },
    "required": ["pick"],
    "additionalProperties": False,
    "$defs": {"name": {"type": "string", "enum": ["x"]}},
}


OPEN = {name: value for name, value in SCHEMA.items() if name != "additionalProperties"}


def test_json_mode_is_a_mime_type_and_schema_is_adapted():
    for wanted in (
        ResponseFormat("json_object"),
        ResponseFormat("json_object", "a", {**OPEN, "additionalProperties": True}),
    ):
        assert sent(asking("gemini/g", response_format=wanted))["generationConfig"] == {
            "responseMimeType": "application/json"
        }
    request = asking("gemini/g", response_format=ResponseFormat("json_schema", "a", SCHEMA))
    written = {
        **SCHEMA["properties"],
        "size": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        "kind": {"type": "string", "enum": ["a"]},
        "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "both": {"anyOf": [{"type": "string"}, {"type": "number"}]},
        "list": {"type": "array", "items": {"type": "string"}},
    }
    assert sent(request)["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseJsonSchema": {**SCHEMA, "properties": written},
    }
    assert left_out(request) == ("response_format json_schema loosened: uniqueItems",)


def test_schema_is_converted_to_openapi_for_older_servers():
    request = asking("gemini/g", response_format=ResponseFormat("json_schema", "a", SCHEMA), tools=())
    assert sent(request, schemas="openapi")["generationConfig"]["responseSchema"] == {
        "type": "object",
        "properties": {
            "pick": {"type": "string", "enum": ["x"]},
            "size": {"type": "integer", "minimum": 1, "nullable": True},
            "kind": {"type": "string", "enum": ["a"]},
            "code": {"type": "integer"},
            "either": {"anyOf": [{"type": "string"}], "nullable": True},
            "both": {"anyOf": [{"type": "string"}, {"type": "number"}]},
            "list": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["pick"],
    }
    tools = sent(asking("gemini/g", tools=(LOOK,)), schemas="openapi")["tools"]
    assert tools[0]["functionDeclarations"][0]["parameters"] == LOOK.input_schema


def test_any_value_is_a_union_of_all_types_in_openapi_and_what_it_lacks_is_reported():
    schema = {"type": "object", "properties": {"value": {}, "none": {"type": "null"}}}
    single = [{"type": kind} for kind in ("string", "number", "boolean", "object")]
    anything = {
        "anyOf": [*single, {"type": "array", "items": {"anyOf": single, "nullable": True}}],
        "nullable": True,
    }
    lacks = "lists in lists, where any value is allowed"
    request = asking("gemini/g", response_format=ResponseFormat("json_schema", "a", schema))
    properties = sent(request, schemas="openapi")["generationConfig"]["responseSchema"]["properties"]
    assert properties == {"value": anything, "none": anything}
    assert left_out(request, schemas="openapi") == (f"response_format json_schema loosened: {lacks}",)
    request = asking("gemini/g", tools=(ToolDefinition("keep", "", schema),))
    (declared,) = sent(request, schemas="openapi")["tools"][0]["functionDeclarations"]
    assert declared["parameters"]["properties"]["value"] == anything
    assert left_out(request, schemas="openapi") == (f"schema of tool 'keep' loosened: {lacks}",)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"$ref": "#"}},
        {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}},
        {"$ref": "#/nowhere"},
        {"$ref": "#"},
    ],
)
def test_recursive_schema_is_limited_in_depth(schema):
    request = asking("gemini/g", response_format=ResponseFormat("json_schema", "a", schema))
    assert "responseSchema" in sent(request, schemas="openapi")["generationConfig"]


def test_unsupported_response_format_is_reported():
    wanted = ResponseFormat("json_object")
    beside_tools = asking("gemini/gemini-2.5-flash", tools=(LOOK,), response_format=wanted)
    assert left_out(beside_tools) == ("response_format json_object left out: there are tools",)
    assert "generationConfig" in sent(asking("gemini/gemini-3-flash", tools=(LOOK,), response_format=wanted))
    assert left_out(asking("gemini/g", response_format=ResponseFormat("yaml"))) == ("response_format yaml left out",)
    assert left_out(asking("gemini/g", response_format=ResponseFormat("json_schema"))) == (
        "response_format json_schema -> json_object",
    )


VERTEX = {"auth": "bearer", "models_path": "publishers/google/models"}
PROJECT = "/projects/p/locations/global"


# -- where it goes --------------------------------------------------------------------------------------------


@each_case(
    ("model", "options", "stream", "expected"),
    [
        ("g-1", {}, False, "/models/g-1:generateContent"),
        ("g-1", {}, True, "/models/g-1:streamGenerateContent?alt=sse"),
        ("models/g-1", {}, False, "/models/g-1:generateContent"),
        ("tunedModels/t", {}, False, "/tunedModels/t:generateContent"),
        ("g-1", VERTEX, False, "/publishers/google/models/g-1:generateContent"),
        ("g-1", {**VERTEX, "project": "p"}, False, f"{PROJECT}/publishers/google/models/g-1:generateContent"),
        ("publishers/x/models/y", {**VERTEX, "project": "p"}, False, f"{PROJECT}/publishers/x/models/y:generateContent"),
        ("projects/1/endpoints/2", {**VERTEX, "project": "p"}, False, "/projects/1/endpoints/2:generateContent"),
        ("g 1?x#y", {}, False, "/models/g%201%3Fx%23y:generateContent"),
    ],
)  # fmt: skip
def test_request_path_contains_the_model(model, options, stream, expected):
    assert request_path(asking(f"gemini/{model}", stream=stream), Options(**options)) == expected


def test_model_name_cannot_change_the_path():
    with pytest.raises(InvalidRequest, match="not a model name"):
        request_path(asking("gemini/../../secret"), Options())


# -- opaque data ----------------------------------------------------------------------------------------------

PARTS = [
    {"text": "hm", "thought": True},
    {"text": "I look. ", "thoughtSignature": "c2lnMQ=="},
    {"functionCall": {"name": "look", "args": {"at": "sea"}, "id": "own"}, "thoughtSignature": "c2lnMg=="},
]


def turn(parts=PARTS):
    response = answered("gemini", {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
    return response, message(Role.ASSISTANT, response.text, tool_calls=response.tool_calls, opaque=response.opaque)


def test_signatures_and_ids_are_sent_back():
    body = sent(asking("gemini/g", user("x"), turn()[1], message(Role.TOOL, "ok", tool_call_id="own")))
    assert body["contents"][1] == {"role": "model", "parts": PARTS}
    assert body["contents"][2]["parts"][0]["functionResponse"]["id"] == "own"


def test_calls_of_another_model_get_the_placeholder_signature():
    calls = (ToolCall("a", "look", "{}"), ToolCall("b", "see", "{}"))
    foreign = message(Role.ASSISTANT, "let me see", tool_calls=calls)
    unsigned = message(
        Role.ASSISTANT, tool_calls=calls[:1], opaque={"gemini": {"parts": [{"functionCall": {"name": "look"}}]}}
    )
    signed = {"functionCall": {"name": "look"}, "thoughtSignature": "c2ln"}
    own = message(Role.ASSISTANT, tool_calls=calls[:1], opaque={"gemini": {"parts": [signed]}})
    plain = message(Role.ASSISTANT, "done")

    def marks(model):
        turns = sent(asking(model, user("a"), foreign, user("b"), unsigned, user("c"), own, user("d"), plain))[
            "contents"
        ]
        parts = [part for turn in turns for part in turn["parts"]]
        return [part.get("thoughtSignature") for part in parts if "functionCall" in part], parts

    found, parts = marks("gemini/gemini-3-pro")
    assert found == ["skip_thought_signature_validator", None, "skip_thought_signature_validator", "c2ln"]
    assert all("thoughtSignature" not in part for part in parts if "text" in part)
    assert marks("gemini/gemini-2.5-pro")[0] == [None, None, None, "c2ln"]
    assert "thoughtSignature" not in unsigned.opaque["gemini"]["parts"][0]


def test_plain_turn_has_no_opaque_data():
    response, model_turn = turn([{"text": "x"}, {"functionCall": {"name": "look", "args": {}}}])
    assert response.opaque == {}
    body = sent(
        asking("gemini/g", user("x"), model_turn, message(Role.TOOL, "ok", tool_call_id=response.tool_calls[0].id))
    )
    assert body["contents"][2]["parts"] == [{"functionResponse": {"name": "look", "response": {"result": "ok"}}}]


def test_edited_turn_is_written_without_opaque_data():
    changed = message(Role.ASSISTANT, "other", opaque=turn()[1].opaque)
    assert sent(asking("gemini/g", user("x"), changed))["contents"][1]["parts"] == [{"text": "other"}]


def test_edited_arguments_replace_those_of_the_original_part():
    original = turn()[1]
    edited = (ToolCall("own", "look", '{"at": "[EMAIL_1]"}'),)
    changed = message(Role.ASSISTANT, original.text, tool_calls=edited, opaque=original.opaque)
    call = {"name": "look", "args": {"at": "[EMAIL_1]"}, "id": "own"}
    parts = sent(asking("gemini/g", user("x"), changed))["contents"][1]["parts"]
    assert parts == [*PARTS[:2], {"functionCall": call, "thoughtSignature": "c2lnMg=="}]
    assert original.opaque["gemini"]["parts"] == PARTS


def test_continuation_sends_the_token_instead_of_the_answer():
    cut = {
        "candidates": [
            {"content": {"parts": [{"text": "1 2"}]}, "finishReason": "CONTINUATION", "continuationToken": "dG9r"}
        ]
    }
    own = answered("gemini", cut).opaque
    body = sent(asking("gemini/g", user("count"), message(Role.ASSISTANT, "1 2", opaque=own), continues=True))
    assert body == {"contents": [{"role": "user", "parts": [{"text": "count"}]}], "continuationToken": "dG9r"}
    with pytest.raises(InvalidRequest) as caught:
        sent(asking("gemini/g", user("count"), message(Role.ASSISTANT, "1 2"), continues=True))
    assert caught.value.sub_cause == "prefill_unsupported"


@each_case(
    ("options", "problem"),
    [
        ({"colour": "red"}, "unknown option"),
        ({"auth": "basic"}, "allowed: 'key', 'bearer'"),
        ({"schemas": "xml"}, "allowed: 'json_schema', 'openapi'"),
        ({"project": "a/b"}, "not valid in a URL"),
        ({"location": "x?y"}, "not valid in a URL"),
    ],
)
def test_invalid_option_is_named(options, problem):
    with pytest.raises(InvalidRequest, match=problem) as caught:
        Options.read(ProviderSettings(name="vertex", options=options))
    assert f"providers.vertex.options.{next(iter(options))}" in str(caught.value)
