"""Presets of the chat wire format: continuation, URLs, strict schemas, returned fields and model lists."""

from __future__ import annotations

import asyncio
import json

import attrs
import pytest

from helmdeck_core import (
    ChatRequest,
    InvalidRequest,
    ListingProvider,
    Message,
    ModelInfo,
    ResponseFormat,
    Role,
    TextPart,
    ToolDefinition,
    TransientUnknown,
)
from helmdeck_testing import completion, make_deck
from tests.helmdeck_providers.openai_support import PRESETS, REQUEST, ask, opened

BEGUN = attrs.evolve(REQUEST, messages=(*REQUEST.messages, Message(Role.ASSISTANT, (TextPart("so"),))), continues=True)
CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"type": "string"}}},
    "required": ["a"],
    "additionalProperties": False,
}


@pytest.fixture
def server(chat_server):
    return chat_server(lambda body: completion("hello"))


def sent(server, request=REQUEST, **settings):
    ask(server.base_url, request, **settings)
    return server.requests[-1]


# -- continuation ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["vllm", "sglang", "fireworks"])
def test_continuation_is_requested_by_fields(server, preset):
    body = sent(server, BEGUN, preset=preset).body
    assert (body["continue_final_message"], body["add_generation_prompt"]) == (True, False)
    assert body["messages"][-1] == {"role": "assistant", "content": "so"}


def test_continuation_is_requested_by_a_message_field_and_path(server):
    for preset, path, mark in (
        ("mistral", "/v1/chat/completions", "prefix"),
        ("deepseek", "/v1/beta/chat/completions", "prefix"),
        ("moonshot", "/v1/chat/completions", "partial"),
    ):
        found = sent(server, BEGUN, preset=preset)
        assert found.body["messages"][-1] == {"role": "assistant", "content": "so", mark: True}
        assert found.path == path
    assert sent(server, preset="deepseek").path == "/v1/chat/completions"


@pytest.mark.parametrize(
    "settings", [{"preset": "openrouter"}, {"preset": "llamacpp", "options": {"prefill_server": ""}}]
)
def test_continuation_can_need_only_the_last_message(server, settings):
    body = sent(server, BEGUN, **settings).body
    assert body["messages"][-1] == {"role": "assistant", "content": "so"}
    assert "continue_final_message" not in body


CUT = {**completion("The tide comes in tw", "length"), "usage": {"prompt_tokens": 9, "completion_tokens": 16}}


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(("name", "is_native"), [("llama.cpp", True), ("uvicorn", False), ("", False)])
def test_llama_cpp_server_continues_natively_only_where_its_header_shows_it(chat_server, name, is_native, streams):
    headers = {"content-type": "application/json", **({"server": name} if name else {})}

    def answer(body):
        is_first = len(body["messages"]) == 1
        return 200, headers, json.dumps(CUT if is_first else completion("twice a day.")).encode()

    server = chat_server(answer)
    config = {"llamacpp": {"kind": "llamacpp", "base_url": server.base_url}}
    request = attrs.evolve(REQUEST, model="llamacpp/tiny", max_tokens=16)
    with make_deck(config={"providers": config}) as deck:
        response = list(deck.stream(request))[-1] if streams else deck.complete(request)
    assert response.text == "The tide comes in twice a day." and response.is_complete
    roles = [message["role"] for message in server.requests[1].body["messages"]]
    assert roles == ["user", "assistant"] + ["user"] * (not is_native)
    assert len(server.requests) == 2


@pytest.mark.parametrize("preset", ["openai", "groq", "xai", "llamacpp"])
def test_unsupported_continuation_is_rejected_before_sending(server, preset):
    with pytest.raises(InvalidRequest) as caught:
        sent(server, BEGUN, preset=preset)
    assert caught.value.sub_cause == "prefill_unsupported"
    assert server.requests == []


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"prefill": "magic"}, "options.prefill"),
        ({"has_stream_usage": "yes"}, "not a boolean"),
        ({"returned_fields": "all"}, "not a list of strings"),
    ],
)
def test_invalid_option_is_named(options, complaint):
    with pytest.raises(InvalidRequest, match=complaint):
        opened("http://127.0.0.1:1/v1", options=options)


# -- addresses ------------------------------------------------------------------------------------------------


TOOLS = (
    ToolDefinition("look", "Looks.", {"type": "object"}),
    ToolDefinition("see", "Sees.", {"type": "object"}),
)
EVERY = ["look", "see"]


@pytest.mark.parametrize(
    ("model", "choice", "tools", "written", "downgrades"),
    [
        ("openai/gpt-4o", "see", EVERY, {"type": "function", "function": {"name": "see"}}, ()),
        ("openai/gpt-4o", "required", EVERY, "required", ()),
        ("openai/gpt-4o", None, EVERY, None, ()),
        ("perplexity/sonar", "see", ["see"], "required", ()),
        ("perplexity/sonar", "none", EVERY, "none", ()),
        ("deepseek/deepseek-v4-pro", "see", EVERY, None, ("tool_choice see -> auto",)),
        ("deepseek/deepseek-v4-pro", "required", EVERY, None, ("tool_choice required -> auto",)),
        ("deepseek/deepseek-v4-pro", "none", EVERY, "none", ()),
        ("deepseek/deepseek-chat", "required", EVERY, "required", ()),
        ("moonshot/kimi-k2.6", "required", EVERY, None, ("tool_choice required -> auto",)),
        ("moonshot/moonshot-v1-8k", "see", EVERY, {"type": "function", "function": {"name": "see"}}, ()),
        ("zai/glm-5", "auto", EVERY, "auto", ()),
        ("zai/glm-5", "required", EVERY, None, ("tool_choice required -> auto",)),
        ("zai/glm-5", "none", None, None, ()),
    ],
)
def test_tool_choice_is_limited_to_supported_kinds(server, model, choice, tools, written, downgrades):
    request = attrs.evolve(REQUEST, model=model, tools=TOOLS, tool_choice=choice)
    [response] = ask(server.base_url, request, preset=model.partition("/")[0])
    body = server.requests[-1].body
    assert (tools and [tool["function"]["name"] for tool in body["tools"]]) == tools
    assert (body.get("tool_choice"), response.downgrades) == (written, downgrades)
    assert ("tools" in body) is (tools is not None)


@pytest.mark.parametrize(
    ("model", "written", "downgrades"),
    [
        ("openai/gpt-4o", ["a", "b", "c", "d"], ("1 of 5 stop sequences left out",)),
        ("openai/gpt-5-mini", None, ("stop left out",)),
        ("azure/o3", None, ("stop left out",)),
        ("xai/grok-4-fast-reasoning", None, ("stop left out",)),
        ("xai/grok-3", ["a", "b", "c", "d", "e"], ()),
        ("zai/glm-5", ["a"], ("4 of 5 stop sequences left out",)),
        ("moonshot/kimi-k2.6", ["a", "b", "c", "d", "e"], ()),
        ("vllm/tiny", ["a", "b", "c", "d", "e"], ()),
    ],
)
def test_stop_sequences_are_limited_to_the_supported_number(server, model, written, downgrades):
    request = attrs.evolve(REQUEST, model=model, stop=tuple("abcde"))
    [response] = ask(server.base_url, request, preset=model.partition("/")[0])
    assert (server.requests[-1].body.get("stop"), response.downgrades) == (written, downgrades)


@pytest.mark.parametrize("preset", ["openai", "azure", "groq", "xai", "cerebras", "moonshot", "snowflake"])
def test_output_limit_uses_the_field_of_the_preset(server, preset):
    body = sent(server, attrs.evolve(REQUEST, model=f"{preset}/m", max_tokens=7), preset=preset).body
    assert body["max_completion_tokens"] == 7 and "max_tokens" not in body


@pytest.mark.parametrize(("model", "is_sent"), [("kimi-k2.6", False), ("kimi-k3", False), ("moonshot-v1-8k", True)])
def test_fixed_temperature_model_gets_no_temperature(server, model, is_sent):
    request = attrs.evolve(REQUEST, model=f"moonshot/{model}", temperature=0.0)
    [response] = ask(server.base_url, request, preset="moonshot")
    assert ("temperature" in server.requests[-1].body) is is_sent
    assert response.downgrades == (() if is_sent else ("temperature 0 left out",))


def test_azure_key_is_sent_in_its_own_header(server):
    found = sent(server, preset="azure", api_key=lambda: "the-key")
    assert (found.path, found.headers["api-key"]) == ("/v1/chat/completions", "the-key")
    assert "authorization" not in found.headers


def test_azure_deployment_is_part_of_the_path(server):
    request = attrs.evolve(REQUEST, model="azure-deployments/my gpt/4")
    found = sent(server, request, preset="azure-deployments")
    assert found.path == "/v1/deployments/my%20gpt%2F4/chat/completions?api-version=2024-10-21"
    found = sent(server, request, preset="azure-deployments", options={"api_version": "2026-01-01"})
    assert found.path.endswith("?api-version=2026-01-01")


def test_preset_without_a_base_url_says_that_it_needs_one():
    wanting = [spec for spec in PRESETS.values() if spec.base_url is None]
    assert wanting
    assert all("needs a base_url" in spec.summary for spec in wanting)


# -- formats and fields ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "is_strict"),
    [
        (CLOSED, True),
        ({**CLOSED, "additionalProperties": True}, False),
        ({**CLOSED, "required": []}, False),
        ({**CLOSED, "properties": {"a": {"type": "object"}}}, False),
        ({"type": "object", "properties": {}, "additionalProperties": False}, True),
    ],
)
def test_only_fully_closed_schema_is_strict(server, schema, is_strict):
    request = attrs.evolve(REQUEST, response_format=ResponseFormat("json_schema", schema=schema))
    assert (
        sent(server, request, preset="openai").body["response_format"]["json_schema"].get("strict", False) is is_strict
    )
    assert "strict" not in sent(server, request, preset="vllm").body["response_format"]["json_schema"]


def test_returned_fields_are_sent_back_to_their_server_only(server):
    opaque = {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}], "reasoning_content": "hm", "other": 1}
    request = ChatRequest(model="x/m", messages=(Message(Role.ASSISTANT, (TextPart("ok"),), opaque=opaque),))
    for preset, fields in (("openrouter", {"reasoning_details"}), ("deepseek", {"reasoning_content"}), ("groq", set())):
        (message,) = sent(server, request, preset=preset).body["messages"]
        assert set(message) - {"role", "content"} == fields


# -- models ---------------------------------------------------------------------------------------------------


def listed(base_url, preset="vllm", **settings):
    async def run():
        provider = opened(base_url, preset, **settings)
        assert isinstance(provider, ListingProvider)
        try:
            return await provider.models()
        finally:
            await provider.aclose()

    return asyncio.run(run())


@pytest.mark.parametrize("is_bare", [True, False])
def test_listed_models_have_limits_from_any_field_name(chat_server, is_bare):
    rows = [
        {"id": "a", "context_length": 8000, "top_provider": {"max_completion_tokens": 500}},
        {"id": "b", "max_model_len": 4096},
        {"id": "c", "context_window": 1, "max_completion_tokens": 2},
        {"id": "d"},
        {"id": "e", "max_context_length": 5},
        {"id": "f", "meta": {"n_ctx": 2048, "n_ctx_train": 8192}},
        {"name": "no id"},
        "junk",
    ]
    server = chat_server(
        lambda body: (200, {"content-type": "application/json"}, json.dumps(rows if is_bare else {"data": rows}))
    )
    assert listed(server.base_url, api_key=lambda: "the-key") == (
        ModelInfo(id="a", input_tokens=8000, output_tokens=500),
        ModelInfo(id="b", input_tokens=4096),
        ModelInfo(id="c", input_tokens=1, output_tokens=2),
        ModelInfo(id="d"),
        ModelInfo(id="e", input_tokens=5),
        ModelInfo(id="f", input_tokens=2048),
    )
    assert server.requests[0].path == "/v1/models"
    assert server.requests[0].headers["authorization"] == "Bearer the-key"


def test_invalid_model_list_is_a_failure(chat_server):
    server = chat_server(lambda body: (200, {}, '"hello"'))
    with pytest.raises(TransientUnknown):
        listed(server.base_url)


@pytest.mark.parametrize("name", [".", ".."])
def test_a_deployment_whose_name_would_change_the_path_is_refused(chat_server, name):
    server = chat_server(lambda body: completion("hello"))
    with pytest.raises(InvalidRequest, match="is not a model name"):
        sent(server, attrs.evolve(REQUEST, model=f"azure-deployments/{name}"), preset="azure-deployments")
    assert server.requests == []
