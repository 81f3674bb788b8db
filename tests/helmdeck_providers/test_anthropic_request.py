"""Requests to Anthropic's Messages API."""

from __future__ import annotations

import base64

import pytest

from helmdeck_core import (
    ImagePart,
    InvalidRequest,
    ProviderSettings,
    ResponseFormat,
    Role,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from helmdeck_providers.wire_formats.anthropic.request import Options, render
from tests.case_support import each_case
from tests.helmdeck_providers.natives_support import answered, asking, body_of, message, user

LOOK = ToolDefinition("look", "Looks.", {"properties": {"at": {"type": "string"}}})
SCHEMA = {
    "type": "object",
    "properties": {"pick": {"$ref": "#/$defs/name"}, "size": {"type": "integer", "minimum": 1}},
    "required": ["pick"],
    "$defs": {"name": {"type": "string", "minLength": 1}},
}


def sent(request, **options):
    return body_of(render(request, Options(**options)))


def left_out(request, **options):
    return render(request, Options(**options)).downgrades


def test_minimal_request_has_model_and_default_max_tokens():
    assert sent(asking("anthropic/claude-haiku-4-5")) == {
        "model": "claude-haiku-4-5",
        "max_tokens": 8192,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "say hello"}]}],
    }
    assert sent(asking("anthropic/claude-haiku-4-5", max_tokens=9))["max_tokens"] == 9
    assert sent(asking("anthropic/claude-haiku-4-5"), max_tokens=100)["max_tokens"] == 100


def test_betas_of_one_request_are_added_to_those_of_the_settings():
    request = asking("anthropic/c", extra={"anthropic-beta": "two, one"})
    rendered = render(request, Options(betas=("one",)))
    assert rendered.headers == {"anthropic-beta": "one,two"}
    assert "anthropic-beta" not in body_of(rendered)
    assert not render(asking("anthropic/c"), Options(betas=("one",))).headers


@each_case("value", ["a\r\nx-api-key: b", "a;b", 3, "a" * 5_000])
def test_betas_of_one_request_have_to_be_names(value):
    with pytest.raises(InvalidRequest, match="names separated by commas"):
        render(asking("anthropic/c", extra={"anthropic-beta": value}), Options())


def test_system_is_separate_and_turns_of_one_role_are_joined():
    body = sent(
        asking(
            "anthropic/c",
            message(Role.SYSTEM, "be brief"),
            user("look"),
            message(
                Role.ASSISTANT,
                "I look",
                tool_calls=(ToolCall("t1", "look", '{"at": "sea"}'), ToolCall("t2", "look", "")),
            ),
            message(Role.TOOL, "a ship", tool_call_id="t1"),
            message(Role.TOOL, tool_call_id="t2"),
            user("and now?"),
        )
    )
    assert body["system"] == [{"type": "text", "text": "be brief"}]
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look"},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "sea"}},
                {"type": "tool_use", "id": "t2", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "a ship"}]},
                {"type": "tool_result", "tool_use_id": "t2"},
                {"type": "text", "text": "and now?"},
            ],
        },
    ]


def test_foreign_ids_are_sanitised_in_calls_and_results():
    body = sent(
        asking(
            "anthropic/c",
            user("look"),
            message(Role.ASSISTANT, tool_calls=(ToolCall("functions.look:0", "look", "not json"),)),
            message(Role.TOOL, "?", tool_call_id="functions.look:0"),
        )
    )
    call, result = body["messages"][1]["content"][0], body["messages"][2]["content"][0]
    assert call["id"] == result["tool_use_id"] == "functions_look_0"
    assert call["input"] == {"INVALID_JSON": "not json"}


def test_images_of_system_and_assistant_messages_are_in_turns_of_the_user():
    image = ImagePart("image/png", b"x")
    written = sent(
        asking(
            "anthropic/c",
            message(Role.SYSTEM, "the logo", image),
            user("draw"),
            message(Role.ASSISTANT, "drawn", image),
            user("bluer"),
        )
    )
    assert written["system"] == [{"type": "text", "text": "the logo"}]
    kinds = [(turn["role"], [block["type"] for block in turn["content"]]) for turn in written["messages"]]
    assert kinds == [("user", ["text", "image", "text"]), ("assistant", ["text"]), ("user", ["text", "image", "text"])]


def test_images_are_sent_as_data_or_url():
    images = ImagePart("image/png", b"\x89PNG"), ImagePart("image/png", url="https://img.example/a.png")
    inline = ImagePart("image/png", url="data:image/gif;base64,R0lG")
    content = sent(asking("anthropic/c", user(*images, inline)))["messages"][0]["content"]
    assert [block["source"] for block in content] == [
        {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"\x89PNG").decode()},
        {"type": "url", "url": "https://img.example/a.png"},
        {"type": "base64", "media_type": "image/gif", "data": "R0lG"},
    ]
    with pytest.raises(InvalidRequest, match="neither data nor a URL"):
        sent(asking("anthropic/c", user(ImagePart("image/png"))))


@each_case(
    ("choice", "expected"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ("look", {"type": "tool", "name": "look"}),
    ],
)
def test_tool_choice_is_translated(choice, expected):
    body = sent(asking("anthropic/c", tools=(LOOK,), tool_choice=choice))
    assert body["tool_choice"] == expected
    assert body["tools"] == [
        {
            "name": "look",
            "description": "Looks.",
            "input_schema": {"type": "object", "properties": {"at": {"type": "string"}}},
        }
    ]
    assert "tool_choice" not in sent(asking("anthropic/c", tool_choice=choice))


def test_schema_is_closed_and_loses_its_bounds():
    request = asking("anthropic/c", response_format=ResponseFormat("json_schema", "answer", SCHEMA))
    assert sent(request)["output_config"] == {
        "format": {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "properties": {"pick": {"$ref": "#/$defs/name"}, "size": {"type": "integer"}},
                "required": ["pick"],
                "additionalProperties": False,
                "$defs": {"name": {"type": "string"}},
            },
        }
    }
    assert left_out(request) == ("response_format json_schema loosened: minLength, minimum",)


@each_case(
    ("schema", "why"),
    [
        ({"type": "object"}, "it has open objects"),
        ({"type": "object", "properties": {"args": {"type": "object"}}}, "it has open objects"),
        ({"type": "object", "properties": {"any": {}}}, "it says nothing at some place"),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
            "it has open objects",
        ),
        ({"type": "array", "items": {"$ref": "#"}}, "it refers to itself"),
    ],
)
def test_schema_with_open_objects_is_left_out(schema, why):
    request = asking("anthropic/c", response_format=ResponseFormat("json_schema", "answer", schema))
    assert "output_config" not in sent(request)
    assert left_out(request) == (f"response_format json_schema left out: {why}",)


@pytest.mark.parametrize(
    "response_format", [ResponseFormat("json_object"), ResponseFormat("json_schema"), ResponseFormat("yaml")]
)
def test_unsupported_response_format_is_left_out_and_reported(response_format):
    request = asking("anthropic/c", response_format=response_format)
    assert sent(request).keys() == {"model", "max_tokens", "messages"}
    assert left_out(request) == (f"response_format {response_format.kind} left out",)


@each_case(
    ("model", "options", "is_sent"),
    [
        ("claude-sonnet-4-6", {}, True),
        ("claude-opus-4-7", {}, False),
        ("claude-haiku-5-5", {}, False),
        ("claude-haiku-4-5", {"version": "2026-10-21"}, False),
    ],
)
def test_temperature_is_sent_to_supporting_models_only(model, options, is_sent):
    request = asking(f"anthropic/{model}", temperature=0.0)
    assert ("temperature" in sent(request, **options)) == is_sent
    assert left_out(request, **options) == (() if is_sent else ("temperature 0 left out",))


def test_whitespace_only_stop_sequences_are_left_out():
    request = asking("anthropic/c", stop=("END", "\n\n"))
    assert sent(request)["stop_sequences"] == ["END"]
    assert left_out(request) == ("whitespace-only stop sequence left out",)


def test_extra_fields_override_and_objects_are_merged():
    response_format = ResponseFormat("json_schema", "answer", SCHEMA)
    body = sent(
        asking("anthropic/c", response_format=response_format, extra={"output_config": {"effort": "low"}, "top_k": 5})
    )
    assert body["top_k"] == 5
    assert body["output_config"].keys() == {"format", "effort"}


# -- cache markers --------------------------------------------------------------------------------------------


def test_cache_markers_are_set_at_prefix_ends_at_most_four():
    prefix = TextPart("the same", ends_prefix=True)
    body = sent(
        asking("anthropic/c", message(Role.SYSTEM, prefix), user(prefix, "now", TextPart("", ends_prefix=True)))
    )
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert ["cache_control" in block for block in body["messages"][0]["content"]] == [True, True]
    many = sent(asking("anthropic/c", user(*[prefix] * 6)), cache_ttl="1h")["messages"][0]["content"]
    assert [block.get("cache_control") for block in many] == [None, None, *[{"type": "ephemeral", "ttl": "1h"}] * 4]


# -- continuation ---------------------------------------------------------------------------------------------


def test_continued_answer_has_no_trailing_whitespace():
    request = asking(
        "anthropic/claude-haiku-4-5", user("count"), message(Role.ASSISTANT, "1 2 ", " \n"), continues=True
    )
    assert sent(request)["messages"][-1] == {"role": "assistant", "content": [{"type": "text", "text": "1 2"}]}


def test_continuation_has_no_schema():
    response_format = ResponseFormat("json_schema", "answer", SCHEMA)
    request = asking(
        "anthropic/claude-haiku-4-5",
        user("x"),
        message(Role.ASSISTANT, "{"),
        continues=True,
        response_format=response_format,
    )
    assert "output_config" not in sent(request)
    assert left_out(request) == ("response_format json_schema left out",)


REFUSING = [
    "claude-opus-4-6", "claude-opus-4-7", "claude-opus-4-8", "claude-sonnet-4-6", "claude-sonnet-5", "claude-sonnet-5-5",
    "claude-opus-5", "claude-opus-5-5", "claude-haiku-5-5", "claude-fable-5", "claude-fable-5-1", "claude-mythos-5",
    "claude-mythos-5-1", "claude-mythos-preview", "claude-unheard-of",
]  # fmt: skip


@each_case("model", REFUSING)
def test_continuation_is_rejected_for_models_without_prefill(model):
    with pytest.raises(InvalidRequest) as caught:
        sent(asking(f"anthropic/{model}", user("x"), message(Role.ASSISTANT, "y"), continues=True))
    assert caught.value.sub_cause == "prefill_unsupported"


@each_case("model", ["claude-haiku-4-5-20251001", "claude-opus-4-5", "claude-sonnet-4-5", "claude-3-haiku"])
def test_continuation_is_sent_to_models_with_prefill_unless_thinking(model):
    request = asking(f"anthropic/{model}", user("x"), message(Role.ASSISTANT, "y"), continues=True)
    assert sent(request)["messages"][-1]["role"] == "assistant"
    thinking = asking(
        f"anthropic/{model}",
        user("x"),
        message(Role.ASSISTANT, "y"),
        continues=True,
        extra={"thinking": {"type": "enabled"}},
    )
    with pytest.raises(InvalidRequest, match="cannot be continued"):
        sent(thinking)


def test_paused_turn_and_paid_fallback_continue_with_every_model():
    paused = {
        "type": "message",
        "content": [{"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}}],
        "stop_reason": "pause_turn",
    }
    own = answered("anthropic", paused).opaque
    request = asking("anthropic/claude-opus-5", user("x"), message(Role.ASSISTANT, opaque=own), continues=True)
    assert sent(request)["messages"][-1]["content"] == paused["content"]
    paid = asking(
        "anthropic/claude-opus-5", user("x"), message(Role.ASSISTANT, "y"), continues=True,
        extra={"fallback_credit_token": "t"},
    )  # fmt: skip
    assert sent(paid)["fallback_credit_token"] == "t"


def test_twice_paused_turn_is_sent_back_with_its_earlier_text():
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}}
    blocks = [{"type": "text", "text": "now the second "}, search]
    own = answered("anthropic", {"type": "message", "content": blocks, "stop_reason": "pause_turn"}).opaque
    turn = message(Role.ASSISTANT, "First one, now the second", opaque=own)
    content = sent(asking("anthropic/c", user("x"), turn, continues=True))["messages"][-1]["content"]
    assert content == [{"type": "text", "text": "First one, "}, *blocks]


# -- opaque data ----------------------------------------------------------------------------------------------

THOUGHT = [
    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "eA=="},
    {"type": "text", "text": "I look. "},
    {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "sea"}},
]


def turn(blocks=THOUGHT):
    response = answered("anthropic", {"type": "message", "content": blocks, "stop_reason": "tool_use"})
    return response, message(Role.ASSISTANT, response.text, tool_calls=response.tool_calls, opaque=response.opaque)


def test_signed_thinking_is_sent_back_unchanged_in_its_position():
    body = sent(asking("anthropic/c", user("x"), turn()[1], message(Role.TOOL, "ok", tool_call_id="t1")))
    assert body["messages"][1]["content"] == THOUGHT


def test_thinking_of_an_edited_turn_is_sent_back():
    _, original = turn()
    changed = message(Role.ASSISTANT, "other", opaque=original.opaque)
    content = sent(asking("anthropic/c", user("x"), changed))["messages"][1]["content"]
    assert content == [*THOUGHT[:2], {"type": "text", "text": "other"}]


def test_edited_arguments_replace_those_of_the_original_block():
    _, original = turn()
    edited = (ToolCall("t1", "look", '{"at": "[EMAIL_1]"}'),)
    changed = message(Role.ASSISTANT, original.text, tool_calls=edited, opaque=original.opaque)
    content = sent(asking("anthropic/c", user("x"), changed))["messages"][1]["content"]
    assert content == [*THOUGHT[:3], {**THOUGHT[3], "input": {"at": "[EMAIL_1]"}}]


def test_text_of_whitespace_only_is_left_out():
    blank = [{"type": "text", "text": " \n"}, *THOUGHT[:2], THOUGHT[3]]
    asked = asking(
        "anthropic/c", message(Role.USER, "\n", "go"), turn(blank)[1], message(Role.TOOL, " ", tool_call_id="t1")
    )
    turns = [each["content"] for each in sent(asked)["messages"]]
    assert turns == [[{"type": "text", "text": "go"}], blank[1:], [{"type": "tool_result", "tool_use_id": "t1"}]]


def test_plain_turn_has_no_opaque_data():
    assert turn(THOUGHT[2:])[0].opaque == {}


@pytest.mark.parametrize("opaque", [{"anthropic": 7}, {"anthropic": {"content": ["x"]}}, {"gemini": {"parts": [{}]}}])
def test_opaque_data_of_another_provider_is_ignored(opaque):
    content = sent(asking("anthropic/c", user("x"), message(Role.ASSISTANT, "y", opaque=opaque)))["messages"][1][
        "content"
    ]
    assert content == [{"type": "text", "text": "y"}]


# -- options --------------------------------------------------------------------------------------------------


@each_case(
    ("options", "problem"),
    [
        ({"colour": "red"}, "unknown option"),
        ({"auth": "basic"}, "allowed: 'x-api-key', 'bearer'"),
        ({"cache_ttl": "2h"}, "allowed: '5m', '1h'"),
        ({"max_tokens": 0}, "max_tokens: not above 0"),
        ({"max_tokens": True}, "not an integer"),
        ({"betas": "one"}, "not a list of strings"),
        ({"version": ""}, "version: empty; allowed: a non-empty string"),
    ],
)
def test_invalid_option_is_named(options, problem):
    with pytest.raises(InvalidRequest, match=problem) as caught:
        Options.read(ProviderSettings(name="anthropic", options=options))
    assert f"providers.anthropic.options.{next(iter(options))}" in str(caught.value)
