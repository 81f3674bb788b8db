"""The chat wire format over loopback HTTP: requests and successful responses."""

from __future__ import annotations

import asyncio
import base64
import json

import attrs
import pytest

from helmdeck_core import (
    AuthFailed,
    ChatRequest,
    ImagePart,
    InvalidRequest,
    Message,
    ResponseFormat,
    Role,
    StopReason,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from helmdeck_providers import in_context
from helmdeck_providers.http.stop_reason_context import looks_truncated
from helmdeck_providers.wire_formats.openai_chat.presets import PRESETS as CHAT_PRESETS
from helmdeck_testing import completion, provider_settings
from tests.case_support import each_case
from tests.helmdeck_providers.openai_support import PRESETS, Context, ask, look_up, parse_response


def user(*parts):
    return Message(Role.USER, tuple(TextPart(part) if isinstance(part, str) else part for part in parts))


def asking(model="vllm/tiny", *messages, **fields):
    return ChatRequest(model=model, messages=messages or (user("say hello"),), **fields)


@pytest.fixture
def server(chat_server):
    return chat_server(lambda body: completion("hello"))


def sent(server, request=None, **options):
    ask(server.base_url, request or asking(), **options)
    return server.requests[-1].body


def parsed(message, finish_reason="stop", max_tokens=None, usage=None, **more):
    choice = {"index": 0, "message": message, "finish_reason": finish_reason, **more}

    body = json.dumps({"model": "m", "choices": [choice], "usage": usage}).encode()
    return parse_response(200, {}, body, max_tokens=max_tokens)


# -- requests -------------------------------------------------------------------------------------------------


def test_model_name_follows_the_first_slash(server):
    body = sent(server, asking("openrouter/openrouter/free"), preset="openrouter")
    assert body == {"model": "openrouter/free", "messages": [{"role": "user", "content": "say hello"}]}
    assert server.requests[0].path == "/v1/chat/completions"


def test_roles_and_tool_results_are_translated(server):
    call = ToolCall("call_1", "look", '{"at": "sea"}')
    body = sent(
        server,
        asking(
            "vllm/tiny",
            Message(Role.SYSTEM, (TextPart("be brief"),)),
            user("look ", "out"),
            Message(Role.ASSISTANT, (), tool_calls=(call,)),
            Message(Role.TOOL, (TextPart("a ship"),), tool_call_id="call_1"),
        ),
    )
    function = {"name": "look", "arguments": '{"at": "sea"}'}
    assert body["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "look out"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "a ship", "tool_call_id": "call_1"},
    ]


def test_image_is_sent_as_data_url_next_to_the_text(server):
    body = sent(server, asking("vllm/tiny", user("what is this?", ImagePart("image/png", b"\x89PNG"))))
    url = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]


def test_image_without_data_and_url_is_rejected_before_sending(server):
    with pytest.raises(InvalidRequest, match="neither data nor a URL"):
        ask(server.base_url, asking("vllm/tiny", user(ImagePart("image/png"))))
    assert server.requests == []


def test_tools_tool_choice_stop_temperature_and_extra_are_sent(server):
    tool = ToolDefinition("look", "Looks.", {"type": "object"})
    body = sent(
        server,
        asking(tools=(tool,), tool_choice="look", stop=("END",), temperature=0.0, max_tokens=50, extra={"seed": 7}),
    )
    function = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert body["tool_choice"] == {"type": "function", "function": {"name": "look"}}
    assert (body["stop"], body["temperature"], body["max_tokens"], body["seed"]) == (["END"], 0.0, 50, 7)


@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_general_tool_choices_are_sent_unchanged(server, choice):
    tool = ToolDefinition("look", "", {"type": "object"})
    assert sent(server, asking(tools=(tool,), tool_choice=choice))["tool_choice"] == choice


def test_tool_choice_without_tools_is_not_sent(server):
    assert "tool_choice" not in sent(server, asking(tool_choice="auto"))


def test_output_limit_field_depends_on_the_preset(server):
    for preset, field in (("openai", "max_completion_tokens"), ("mistral", "max_tokens")):
        body = sent(server, asking(f"{preset}/m", max_tokens=9), preset=preset)
        assert {name: value for name, value in body.items() if "tokens" in name} == {field: 9}


def test_deployment_can_override_a_preset_option(server):
    body = sent(server, asking(max_tokens=9), options={"max_tokens_field": "n_predict"})
    assert body["n_predict"] == 9


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"max_token_field": "x"}, "unknown option .did you mean 'max_tokens_field'"),
        ({"max_tokens_field": 3}, "not a string"),
        ({"response_formats": "json_object"}, "not a list of strings"),
    ],
)
def test_invalid_option_is_named(options, complaint):
    with pytest.raises(InvalidRequest, match=complaint) as caught:
        ask("http://127.0.0.1:9/v1", options=options)
    assert f"providers.vllm.options.{next(iter(options))}" in str(caught.value)


def test_temperature_of_a_reasoning_model_is_left_out_and_reported(server):
    [response] = ask(server.base_url, asking("openai/gpt-5-mini", temperature=0.0), preset="openai")
    assert "temperature" not in server.requests[0].body
    assert response.downgrades == ("temperature 0 left out",)


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
OPEN = {**SCHEMA, "additionalProperties": True}
CLOSED = {**SCHEMA, "required": ["a"], "additionalProperties": False}
OFFERED = ResponseFormat("json_object", "plan", CLOSED)


@pytest.mark.parametrize(
    ("preset", "response_format", "expected", "downgrades"),
    [
        ("vllm", ResponseFormat("json_object"), {"type": "json_object"}, ()),
        (
            "vllm",
            ResponseFormat("json_schema", "plan", SCHEMA),
            {"type": "json_schema", "json_schema": {"name": "plan", "schema": SCHEMA}},
            (),
        ),
        (
            "deepseek",
            ResponseFormat("json_schema", "plan", SCHEMA),
            {"type": "json_object"},
            ("response_format json_schema -> json_object",),
        ),
        (
            "lmstudio",
            ResponseFormat("json_object", "plan"),
            {"type": "json_schema", "json_schema": {"name": "plan", "schema": {"type": "object"}}},
            ("response_format json_object -> json_schema",),
        ),
        (
            "vllm",
            ResponseFormat("json_schema"),
            {"type": "json_object"},
            ("response_format json_schema -> json_object",),
        ),
        ("vllm", ResponseFormat("grammar"), None, ("response_format grammar left out",)),
        # An optional schema is used only for models with constrained decoding.
        *(
            (preset, OFFERED, {"type": "json_schema", "json_schema": {"name": "plan", "schema": CLOSED}}, ())
            for preset in ("vllm", "sglang", "lmstudio", "ollama-openai", "perplexity")
        ),
        ("llamacpp", OFFERED, {"type": "json_object", "schema": CLOSED}, ()),
        ("llamacpp", ResponseFormat("json_schema", "plan", SCHEMA), {"type": "json_object", "schema": SCHEMA}, ()),
        *(
            (
                preset,
                OFFERED,
                {"type": "json_schema", "json_schema": {"name": "plan", "schema": CLOSED, "strict": True}},
                (),
            )
            for preset in ("openai", "azure", "openrouter", "mistral", "xai", "cerebras", "huggingface", "snowflake")
        ),
        *(
            (preset, OFFERED, {"type": "json_object"}, ())
            for preset in ("groq", "deepseek", "zai", "moonshot", "alibaba")
        ),
        ("vllm", ResponseFormat("json_object", "plan", OPEN), {"type": "json_object"}, ()),
        ("llamacpp", ResponseFormat("json_object", "plan", OPEN), {"type": "json_object"}, ()),
        (
            "llamacpp",
            ResponseFormat("json_object", "plan", SCHEMA),
            {"type": "json_object", "schema": {**SCHEMA, "additionalProperties": False}},
            (),
        ),
    ],
)
def test_response_format_is_sent_translated_or_left_out_and_reported(
    server, preset, response_format, expected, downgrades
):
    [response] = ask(server.base_url, asking(f"{preset}/m", response_format=response_format), preset=preset)
    assert server.requests[0].body.get("response_format") == expected
    assert response.downgrades == downgrades


def test_order_of_response_formats_decides_about_optional_schemas(server):
    response_format = asking("openai/m", response_format=OFFERED)
    ask(server.base_url, response_format, preset="openai", options={"response_formats": ["json_object", "json_schema"]})
    assert server.requests[0].body["response_format"] == {"type": "json_object"}


PREFIXED = Message(Role.SYSTEM, (TextPart("rules", ends_prefix=True), TextPart(" and the rest")))


def test_cached_prefix_is_marked_for_anthropic_behind_openrouter(server):
    body = sent(server, asking("openrouter/anthropic/claude", PREFIXED), preset="openrouter")
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "rules", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": " and the rest"},
    ]


@pytest.mark.parametrize(
    ("preset", "model"), [("openrouter", "openrouter/meta/llama"), ("openai", "openai/anthropic/claude")]
)
def test_other_models_get_a_plain_string(server, preset, model):
    assert sent(server, asking(model, PREFIXED), preset=preset)["messages"][0]["content"] == "rules and the rest"


def test_lone_surrogate_is_replaced(server):
    assert sent(server, asking("vllm/tiny", user("cut \ud83d")))["messages"][0]["content"] == "cut ?"


def test_extra_field_that_is_not_json_is_rejected(server):
    with pytest.raises(InvalidRequest, match="cannot be encoded as JSON"):
        ask(server.base_url, asking(extra={"x": object()}))


# -- keys, headers, addresses ---------------------------------------------------------------------------------


def test_key_is_read_for_each_request_and_sent_as_bearer(server):
    keys = iter(["first-key", "second-key\n"])
    ask(server.base_url, asking(), asking(), api_key=lambda: next(keys))
    assert [r.headers["authorization"] for r in server.requests] == ["Bearer first-key", "Bearer second-key"]


def test_no_key_means_no_authorization_header(server):
    ask(server.base_url)
    assert "authorization" not in server.requests[0].headers


def test_configured_headers_override_defaults(server):
    ask(server.base_url, headers={"Authorization": "Token other", "X-Team": "blue"}, api_key=lambda: "key-1")
    assert server.requests[0].headers["authorization"] == "Token other"
    assert server.requests[0].headers["x-team"] == "blue"


@pytest.mark.parametrize("key", ["", "  ", "sécret-key-4711", "two\nlines-4711"])
def test_key_that_is_invalid_in_a_header_is_rejected_and_not_shown(server, key):
    with pytest.raises(AuthFailed) as caught:
        ask(server.base_url, api_key=lambda: key)
    assert "4711" not in repr(caught.value) + str(caught.value)
    assert server.requests == []


def test_invalid_header_is_named_but_not_shown():
    with pytest.raises(InvalidRequest, match="X-Key") as caught:
        ask("http://127.0.0.1:9/v1", headers={"X-Key": "sécret"})
    assert "cret" not in repr(caught.value)


@each_case(
    "url",
    [None, "", "127.0.0.1:8000", "ftp://host/v1", "http://", "http://host:port/v1", "http://h/v1?key=1", "http://a b/"],
)
def test_invalid_base_url_error_names_the_setting(url):
    with pytest.raises(InvalidRequest, match=r"providers\.vllm\.base_url cannot be used"):
        ask(url)


def test_password_in_base_url_is_rejected_and_not_shown():
    with pytest.raises(InvalidRequest) as caught:
        ask("http://me:hunter2@host/v1")
    assert "hunter2" not in repr(caught.value) + str(caught.value)


def test_trailing_slash_of_base_url_is_ignored(server):
    ask(server.base_url + "/")
    assert server.requests[0].path == "/v1/chat/completions"


def test_requests_share_one_connection(server):
    ask(server.base_url, asking(), asking(), asking())
    assert (len(server.requests), server.connections) == (3, 1)


def test_presets_have_a_base_url_and_valid_options():
    context = Context()

    async def open_and_close():
        for spec in CHAT_PRESETS:
            settings = provider_settings(
                name=spec.name, base_url=spec.base_url or "https://a.test", options=spec.options
            )
            await spec.open(settings, context).aclose()

    asyncio.run(open_and_close())
    assert {"openai", "openrouter", "llamacpp", "lmstudio", "vllm", "mistral", "groq", "deepseek", "xai"} <= set(
        PRESETS
    )


def test_repr_of_settings_does_not_contain_the_key():
    settings = provider_settings("openai", api_key=lambda: "sk-very-secret", headers={"X-Key": "very-secret"})
    assert "secret" not in repr(settings)


# -- what an answer means -------------------------------------------------------------------------------------


def test_response_has_text_model_usage_quota_and_both_stop_reasons(chat_server):
    usage = {
        "prompt_tokens": 40,
        "completion_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 32},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }
    body = {**completion("hello"), "usage": usage}
    server = chat_server(lambda _: (200, {"X-RateLimit-Remaining-Requests": "41", "Server": "x"}, body))
    [response] = ask(server.base_url)
    assert (response.text, response.served_model, response.raw_stop_reason) == ("hello", "loopback", "stop")
    assert response.stop_reason is response.strict_stop_reason is StopReason.END_TURN
    assert attrs.astuple(response.usage) == (40, 12, 32, 0, 5)
    assert response.quota_metadata == {"x-ratelimit-remaining-requests": "41"}


@each_case(
    ("message", "expected"),
    [
        ({"content": "a", "reasoning_content": "deep"}, "deep"),
        ({"content": "a", "reasoning": "deep"}, "deep"),
        ({"content": "a", "reasoning": "deep", "reasoning_details": [{"text": "deep"}]}, "deep"),
        ({"content": "a", "reasoning_details": [{"type": "reasoning.summary", "summary": "deep"}]}, "deep"),
        ({"content": "a", "reasoning_details": [{"type": "reasoning.encrypted", "data": "xx"}]}, ""),
        ({"content": "a", "reasoning_content": None, "reasoning": {"effort": "low"}}, ""),
    ],
)
def test_reasoning_is_read_once_from_any_field(message, expected):
    response = parsed(message)
    assert (response.text, response.reasoning_content) == ("a", expected)


def test_content_parts_are_split_into_text_and_reasoning():
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    response = parsed({"content": [thought, {"type": "text", "text": "he"}, {"type": "text", "text": "llo"}]})
    assert (response.text, response.reasoning_content) == ("hello", "hm")


@pytest.mark.parametrize(
    "message", [{"content": None, "refusal": "no"}, {"content": [{"type": "refusal", "refusal": "no"}]}]
)
def test_refusal_with_a_clean_stop_reason_is_safety_blocked(message):
    response = parsed(message)
    assert response.stop_reason is StopReason.SAFETY_BLOCKED
    assert (response.strict_stop_reason, response.raw_stop_reason) == (StopReason.END_TURN, "stop")


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
TRUNCATED_CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "se'}}


def test_tool_call_with_a_clean_stop_reason_is_a_tool_call():
    response = parsed({"content": None, "tool_calls": [CALL]})
    assert (response.stop_reason, response.strict_stop_reason) == (StopReason.TOOL_CALL, StopReason.END_TURN)
    assert response.tool_calls == (ToolCall("c1", "look", '{"at": 1}'),)


@each_case("reason", ["length", "content_filter", "abort", "model_length", "quantum_halt", None])
def test_tool_calls_do_not_change_other_stop_reasons(reason):
    response = parsed({"content": None, "tool_calls": [CALL]}, reason)
    assert response.stop_reason is look_up(reason)
    assert response.stop_reason not in (StopReason.TOOL_CALL, StopReason.END_TURN)


def test_truncated_arguments_are_kept_verbatim():
    response = parsed({"content": None, "tool_calls": [TRUNCATED_CALL]}, "length")
    assert response.tool_calls[0].arguments == '{"at": "se'


@each_case(
    ("message", "expected"),
    [
        ({"function_call": {"name": "look", "arguments": "{}"}}, [("look", "{}")]),
        ({"function_call": {"name": "", "arguments": ""}}, []),
        (
            {"function_call": {"name": "see"}, "tool_calls": [CALL]},
            [(CALL["function"]["name"], CALL["function"]["arguments"])],
        ),
        ({"tool_calls": [{"id": "1", "function": {"name": "look", "arguments": ""}}]}, [("look", "{}")]),
        ({"tool_calls": [{"id": "1", "function": {"name": "look", "arguments": {"at": 1}}}]}, [("look", '{"at":1}')]),
        ({"tool_calls": [{"id": "1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}]}, [("sh", "ls")]),
        ({"tool_calls": [None, "x", {"id": "1"}]}, []),
        ({"tool_calls": {}}, []),
    ],
)
def test_calls_are_read_in_every_format_and_need_a_name(message, expected):
    assert [(call.name, call.arguments) for call in parsed(message, "tool_calls").tool_calls] == expected


@each_case("reason", [None, "", "error", "load", "network_error", "insufficient_system_resource", "newly_coined"])
def test_unknown_or_missing_stop_reason_is_not_a_clean_end(reason):
    response = parsed({"content": "looks complete."}, reason)
    assert response.stop_reason is response.strict_stop_reason is StopReason.UNKNOWN
    assert response.raw_stop_reason == reason


@pytest.mark.parametrize("message", [{"content": ""}, {"content": None}, {}])
def test_filtered_choice_may_have_no_text(message):
    response = parsed(message, "content_filter")
    assert (response.text, response.stop_reason) == ("", StopReason.SAFETY_BLOCKED)


def test_choice_without_message_is_read():
    body = b'{"choices": [{"index": 0, "finish_reason": "content_filter"}]}'
    assert parse_response(200, {}, body).stop_reason is StopReason.SAFETY_BLOCKED


def test_full_context_window_reported_as_length_is_recognised():
    response = parsed({"content": "a"}, "length", native_finish_reason="model_context_window_exceeded")
    assert response.stop_reason is StopReason.CONTEXT_WINDOW_EXCEEDED
    assert response.strict_stop_reason is StopReason.MAX_TOKENS
    assert response.raw_stop_reason == "model_context_window_exceeded"


@each_case(
    ("message", "reason"),
    [
        ({"content": '{"steps": [{"tool": "bl'}, "stop"),
        ({"content": '```json\n{"steps": ['}, "stop"),
        ({"content": ""}, "stop"),
        ({"content": "The river bends twice before it reaches the sea, " * 6 + "and then"}, "stop"),
        ({"content": "<think>what would fit?</think>\n[1, 2"}, "stop"),
        ({"content": None, "tool_calls": [TRUNCATED_CALL]}, "tool_calls"),
    ],
)
def test_unreported_truncation_at_the_limit_is_recognised(message, reason):
    response = parsed(message, reason, max_tokens=300, usage={"completion_tokens": 300})
    assert response.stop_reason is StopReason.MAX_TOKENS
    assert response.raw_stop_reason == reason


@each_case(("text", "used"), [('{"steps": []}', 300), ("positive", 300), ("It ends here.", 300), ('{"steps": [', 299)])
def test_complete_answers_keep_their_clean_stop_reason(text, used):
    response = parsed({"content": text}, "stop", max_tokens=300, usage={"completion_tokens": used})
    assert response.stop_reason is StopReason.END_TURN


def test_no_stop_reason_is_promoted_to_a_clean_end():
    for strict in StopReason:
        if strict is not StopReason.END_TURN:
            for at_limit in (False, True):
                assert in_context(strict, text="done.", is_at_limit=at_limit) is not StopReason.END_TURN


def test_only_a_short_text_may_be_whole_at_the_output_limit():
    assert not looks_truncated("A whole sentence.")
    assert looks_truncated("A whole sentence. " * 20)
    assert looks_truncated("A whole sentence. " * 20 + "And half a")


@each_case(
    ("usage", "expected"),
    [
        (None, (0, 0, 0, 0)),
        ("free", (0, 0, 0, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}, (9, 3, 4, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 3.0, "cached_tokens": 5, "reasoning_tokens": 2}, (9, 3, 5, 2)),
        ({"prompt_tokens": None, "completion_tokens": "3", "prompt_tokens_details": None}, (0, 0, 0, 0)),
        ({"prompt_tokens": 9, "num_cached_tokens": 8}, (9, 0, 8, 0)),
    ],
)
def test_usage_is_read_in_every_spelling_and_errors_are_ignored(usage, expected):
    response = parsed({"content": "a"}, usage=usage)
    assert response.text == "a"
    counts = response.usage
    assert (counts.input_tokens, counts.output_tokens, counts.cached_input_tokens, counts.reasoning_tokens) == expected


@each_case(
    "body",
    [
        b'\xef\xbb\xbf{"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}',
        b'{"choices": [{"message": {"content": "ok"}, "finish_reason": "stop", "logprob": NaN}]}',
        b'{"choices": [{"message": {"content": "ok", "x": "\xe2\x82"}, "finish_reason": "stop"}]}',
        b'{"choices": [{"message": {"content": "ok", "x": "\\ud83d"}, "finish_reason": "stop"}], "error": null}',
        b'  {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop", "error": null}], "error": {}}\n',
    ],
)
def test_irregular_fields_do_not_invalidate_a_good_answer(body):
    assert parse_response(200, {}, body).text == "ok"


# -- through a deck -------------------------------------------------------------------------------------------


def test_deck_reaches_a_server_by_configuration_only(chat_server, deck_with, monkeypatch):
    monkeypatch.setenv("MY_KEY", "key-of-mine")
    server = chat_server(lambda body: completion("hello"))
    table = {"kind": "openai", "base_url": server.base_url, "api_key": "env:MY_KEY"}
    deck = deck_with(config={"providers": {"mine": table}})
    response = deck.complete(asking("mine/org/model"))
    assert (response.text, response.stop_reason) == ("hello", StopReason.END_TURN)
    assert response.latency_s > 0
    assert server.requests[0].body["model"] == "org/model"
    assert server.requests[0].headers["authorization"] == "Bearer key-of-mine"


def test_missing_key_fails_before_sending(chat_server, deck_with, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = chat_server(lambda body: completion("hello"))
    deck = deck_with(config={"providers": {"openai": {"base_url": server.base_url, "api_key": "env:OPENAI_API_KEY"}}})
    with pytest.raises(AuthFailed, match="OPENAI_API_KEY is not set"):
        deck.complete(asking("openai/gpt-5"))
    assert server.requests == []
