"""Every client dialect over every provider family, whole and streamed: nothing is lost on the way."""

import pytest

from helmdeck_core import ToolCall
from helmdeck_testing import SERVER_FORMATS, ScriptedAnswer
from tests.helmdeck_gateway.gateway_support import DIALECTS, KINDS, running_gateway, upstream

CALLS = (
    ToolCall("call_1", "look_up", '{"word":"tide","most":3}'),
    ToolCall("call_2", "look_up", '{"word":"moon"}'),
)


@pytest.fixture(scope="module")
def gateway(servers):
    providers = {f"to-{name}": upstream(server, KINDS[name]) for name, server in servers.items()}
    config = {"providers": providers, "agent": {"continuation_max_attempts": 0}}
    with running_gateway(config=config) as running:
        yield running


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request):
    return request.param


def ask(gateway, name, family, stream, **fields):
    dialect = DIALECTS[name]
    body = {"model": f"to-{family}/m", "stream": stream, **dialect.body("say #7"), **fields}
    if not stream:
        body.pop("stream_options", None)
    answer = gateway.send(dialect.path, body)
    assert answer.status == 200, answer
    return dialect.streamed(answer.events) if stream else dialect.whole(answer.body)


@pytest.mark.parametrize("family", SERVER_FORMATS)
@pytest.mark.parametrize("name", DIALECTS)
def test_text_reasoning_usage_and_clean_end_survive(gateway, servers, name, family, stream):
    servers[family].answer = ScriptedAnswer(text="The tide is high today.", reasoning="Let me think about it.")
    read = ask(gateway, name, family, stream)
    assert read.text == "The tide is high today."
    assert read.reasoning == "Let me think about it."
    assert (read.finish, read.tokens) == (DIALECTS[name].ends[0], (5, 2))


@pytest.mark.parametrize("family", SERVER_FORMATS)
@pytest.mark.parametrize("name", DIALECTS)
def test_tool_calls_keep_their_ids_order_and_arguments(gateway, servers, name, family, stream):
    servers[family].answer = ScriptedAnswer(stop="tool_calls", tool_calls=CALLS)
    read = ask(gateway, name, family, stream, tools=DIALECTS[name].tools)
    assert read.calls == [
        ("call_1", "look_up", {"word": "tide", "most": 3}),
        ("call_2", "look_up", {"word": "moon"}),
    ]
    assert read.finish == DIALECTS[name].ends[1]


@pytest.mark.parametrize("family", SERVER_FORMATS)
@pytest.mark.parametrize("name", DIALECTS)
def test_truncated_answer_is_never_a_clean_end(gateway, servers, name, family, stream):
    servers[family].answer = ScriptedAnswer(text="The tide is", stop="length", output_tokens=500)
    read = ask(gateway, name, family, stream)
    assert (read.text, read.finish) == ("The tide is", DIALECTS[name].ends[2])


CONVERSATIONS = {
    "chat": {
        "messages": [
            {"role": "user", "content": "look it up"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
                    for c in CALLS
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "high"},
            {"role": "tool", "tool_call_id": "call_2", "content": "full"},
        ]
    },
    "messages": {
        "messages": [
            {"role": "user", "content": "look it up"},
            {
                "role": "assistant",
                "content": [
                    {"type": "tool_use", "id": "call_1", "name": "look_up", "input": {"word": "tide", "most": 3}},
                    {"type": "tool_use", "id": "call_2", "name": "look_up", "input": {"word": "moon"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "call_1", "content": "high"},
                    {"type": "tool_result", "tool_use_id": "call_2", "content": [{"type": "text", "text": "full"}]},
                ],
            },
        ]
    },
    "responses": {
        "input": [
            {"role": "user", "content": "look it up"},
            *({"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.arguments} for c in CALLS),
            {"type": "function_call_output", "call_id": "call_1", "output": "high"},
            {"type": "function_call_output", "call_id": "call_2", "output": "full"},
        ]
    },
}


@pytest.mark.parametrize("family", SERVER_FORMATS)
@pytest.mark.parametrize("name", DIALECTS)
def test_conversation_with_tool_results_is_the_same_request_from_every_dialect(gateway, servers, name, family):
    server = servers[family]
    server.answer = ScriptedAnswer(text="done")
    server.requests.clear()
    tools = DIALECTS[name].tools
    ask(gateway, name, family, False, **CONVERSATIONS[name], tools=tools, max_tokens=500, max_output_tokens=500)
    ask(gateway, "chat", family, False, **CONVERSATIONS["chat"], tools=DIALECTS["chat"].tools, max_tokens=500)
    one, other = (dict(request.body) for request in server.requests)
    for field in ("max_output_tokens", "max_tokens"):  # an extra field of the other dialect
        one.pop(field, None), other.pop(field, None)
    assert one == other
    assert '"high"' in str(server.requests[0].body).replace("'", '"')


@pytest.mark.parametrize("name", DIALECTS)
def test_reasoning_that_a_provider_wants_back_returns_with_the_tool_result(gateway, servers, name):
    server = servers["anthropic"]
    server.answer = ScriptedAnswer(reasoning="Look it up.", stop="tool_calls", tool_calls=CALLS)
    ask(gateway, name, "anthropic", False, tools=DIALECTS[name].tools)
    server.requests.clear()
    ask(gateway, name, "anthropic", False, **CONVERSATIONS[name])
    turn = next(message for message in server.requests[0].body["messages"] if message["role"] == "assistant")
    assert turn["content"][0] == {"type": "thinking", "thinking": "Look it up.", "signature": "c2ln"}


def test_phases_of_a_conversation_that_began_elsewhere_reach_the_provider(gateway, servers):
    server = servers["openai-responses"]
    server.answer = ScriptedAnswer(text="hello")
    server.requests.clear()
    turns = [
        {"role": "assistant", "phase": "commentary", "content": "I look. "},
        {"role": "assistant", "phase": "final_answer", "content": [{"type": "output_text", "text": "Done."}]},
    ]
    body = {
        "model": "to-openai-responses/m",
        "input": [{"role": "user", "content": "hi"}, *turns, {"role": "user", "content": "and?"}],
    }
    answer = gateway.send("/v1/responses", body)
    assert (answer.status, answer.headers.get("x-helmdeck-dropped")) == (200, None)
    sent = [(item.get("phase"), item["content"]) for item in server.requests[0].body["input"]]
    assert sent == [(None, "hi"), ("commentary", "I look. "), ("final_answer", "Done."), (None, "and?")]


@pytest.mark.parametrize(
    ("name", "family", "fields", "sent", "dropped"),
    [
        ("chat", "anthropic", {"seed": 3, "reasoning_effort": "low"}, {"output_config": {"effort": "low"}}, "seed"),
        ("chat", "openai-responses", {"reasoning_effort": "low"}, {"reasoning": {"effort": "low"}}, None),
        ("messages", "openai-chat", {"output_config": {"effort": "high"}, "top_k": 4}, {"reasoning_effort": "high"}, "top_k"),
        ("messages", "anthropic", {"thinking": {"type": "adaptive"}}, {"thinking": {"type": "adaptive"}}, None),
        ("messages", "gemini", {"thinking": {"type": "adaptive"}}, {}, "thinking"),
        ("responses", "openai-chat", {"reasoning": {"effort": "low", "summary": "auto"}}, {"reasoning_effort": "low"}, "reasoning.summary"),
        ("messages", "openai-responses", {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "max"}}, {"reasoning": {"effort": "xhigh", "summary": "auto"}}, None),
        ("messages", "openai-chat", {"thinking": {"type": "enabled", "budget_tokens": 4000}}, {"reasoning_effort": None}, "thinking"),
        ("messages", "gemini", {"output_config": {"effort": "low"}}, {"generationConfig": {"maxOutputTokens": 500, "thinkingConfig": {"thinkingBudget": 1024}}}, None),
        ("chat", "gemini", {"reasoning_effort": "high", "top_p": 0.5}, {"generationConfig": {"topP": 0.5, "thinkingConfig": {"thinkingBudget": 24576}}}, None),
        ("chat", "anthropic", {"reasoning_effort": "none"}, {"thinking": {"type": "disabled"}}, None),
        ("responses", "ollama", {"top_p": 0.1, "tools": [{"type": "web_search"}]}, {}, "tools.web_search, top_p"),
    ],
)  # fmt: skip
def test_fields_are_translated_or_dropped_by_name(gateway, servers, name, family, fields, sent, dropped):
    server, dialect = servers[family], DIALECTS[name]
    server.answer = ScriptedAnswer(text="hello")
    server.requests.clear()
    body = {"model": f"to-{family}/m", **dialect.body("hi"), **fields}
    body.pop("stream_options", None)
    answer = gateway.send(dialect.path, body)
    assert answer.status == 200
    assert {key: server.requests[0].body.get(key) for key in sent} == sent
    assert answer.headers.get("x-helmdeck-dropped") == dropped


@pytest.mark.parametrize(
    ("model", "tokens", "sent"),
    [("gpt-5-mini", 4_000, "medium"), ("openai/gpt-oss-20b", 1, "low"), ("gpt-4o", 4_000, None)],
)
def test_limit_of_thinking_tokens_is_an_effort_for_models_that_reason(gateway, servers, model, tokens, sent):
    server = servers["openai-chat"]
    server.answer = ScriptedAnswer(text="hello")
    server.requests.clear()
    body = {
        **DIALECTS["messages"].body("hi"),
        "model": f"to-openai-chat/{model}",
        "thinking": {"type": "enabled", "budget_tokens": tokens},
    }
    assert gateway.send("/v1/messages", body).status == 200
    assert server.requests[0].body.get("reasoning_effort") == sent
