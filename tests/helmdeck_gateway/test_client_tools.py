"""What coding agents send beyond functions: tools of other types, fields of one API, and unbounded retries."""

import json

import pytest

from helmdeck_core import ToolCall
from helmdeck_gateway.dialects.responses_tools import Declared, declared_tools, read_tools
from helmdeck_testing import ANTHROPIC, OPENAI_CHAT, OPENAI_RESPONSES, ScriptedAnswer
from tests.helmdeck_gateway.gateway_support import FormatServer, running_gateway, upstream

PATCH = "*** Begin Patch\n*** End Patch\n"
TOOLS = [
    {
        "type": "custom",
        "name": "apply_patch",
        "description": "Edits files.",
        "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "x"'},
    },
    {"type": "local_shell"},
    {"type": "namespace", "name": "files", "tools": [{"type": "custom", "name": "note"}]},
]
SHELL = {"command": ["ls", "-l"], "timeout_ms": 1000}


@pytest.fixture(scope="module")
def servers():
    found = {"chat": FormatServer(OPENAI_CHAT), "resp": FormatServer(OPENAI_RESPONSES), "msg": FormatServer(ANTHROPIC)}
    yield found
    for each in found.values():
        each.close()


@pytest.fixture(scope="module")
def gateway(servers):
    kinds = {"chat": "openai-compatible", "resp": "responses", "msg": "anthropic"}
    config = {
        "providers": {name: upstream(server, kinds[name]) for name, server in servers.items()},
        "recovery": {"backoff_s": 0.01, "max_wait_s": 0.01, "cool_down_after": 0},
    }
    with running_gateway(config=config) as running:
        yield running


@pytest.fixture(params=["chat", "resp", "msg"])
def target(request, servers):
    servers[request.param].requests.clear()
    return request.param


def respond(gateway, servers, target, answer, stream=False, **fields):
    servers[target].answer = answer
    body = {"model": f"{target}/m", "input": "x", "tools": TOOLS, "stream": stream, **fields}
    response = gateway.send("/v1/responses", body)
    assert response.status == 200, response
    return response


def called(name, arguments):
    return ScriptedAnswer(stop="tool_calls", tool_calls=(ToolCall("call_1", name, json.dumps(arguments)),))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_custom_tool_call_has_its_input(gateway, servers, target, stream):
    response = respond(gateway, servers, target, called("apply_patch", {"input": PATCH}), stream)
    body = response.events[-1]["response"] if stream else response.body
    (item,) = body["output"]
    assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "apply_patch", PATCH)
    assert (item["call_id"], item["status"]) == ("call_1", "completed")
    assert response.headers["x-helmdeck-dropped"] == "tools.format"
    if stream:
        kinds = [event["type"] for event in response.events]
        assert kinds[2:] == [
            "response.output_item.added",
            "response.custom_tool_call_input.delta",
            "response.custom_tool_call_input.done",
            "response.output_item.done",
            "response.completed",
        ]
        added, delta, done = response.events[2:5]
        assert (added["item"]["input"], delta["delta"], done["input"]) == ("", PATCH, PATCH)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_local_shell_call_has_its_action(gateway, servers, target, stream):
    response = respond(gateway, servers, target, called("local_shell", SHELL), stream)
    (item,) = (response.events[-1]["response"] if stream else response.body)["output"]
    assert (item["type"], item["action"]) == ("local_shell_call", {"type": "exec", "env": {}, **SHELL})


def test_custom_tool_of_a_namespace_keeps_it(gateway, servers):
    response = respond(gateway, servers, "chat", called("note", {"input": "hi"}))
    (item,) = response.body["output"]
    assert (item["type"], item["namespace"], item["input"]) == ("custom_tool_call", "files", "hi")


def test_input_that_a_model_wrote_without_an_object_is_kept(gateway, servers):
    answer = ScriptedAnswer(stop="tool_calls", tool_calls=(ToolCall("call_1", "apply_patch", '{"patch": "x"}'),))
    (item,) = respond(gateway, servers, "chat", answer).body["output"]
    assert item["input"] == '{"patch": "x"}'


def test_calls_and_results_of_earlier_turns_reach_the_model(gateway, servers, target):
    conversation = [
        {"role": "user", "content": "x"},
        {"type": "custom_tool_call", "call_id": "call_1", "name": "apply_patch", "input": PATCH},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "patched"},
        {"type": "local_shell_call", "call_id": "call_2", "action": {"type": "exec", "env": {}, **SHELL}},
        {"type": "local_shell_call_output", "id": "call_2", "output": "total 0"},
    ]
    response = respond(gateway, servers, target, ScriptedAnswer(text="done"), input=conversation)
    assert response.headers["x-helmdeck-dropped"] == "tools.format"
    sent = json.dumps(servers[target].requests[-1].body)
    for text in ("apply_patch", "Begin Patch", "patched", "local_shell", "total 0", "call_2", "start: "):
        assert text in sent


def test_cache_key_of_a_conversation_crosses_both_apis_of_openai(gateway, servers):
    respond(gateway, servers, "chat", ScriptedAnswer(text="x"), prompt_cache_key="k", tools=[])
    assert servers["chat"].requests[-1].body["prompt_cache_key"] == "k"
    servers["resp"].answer = ScriptedAnswer(text="x")
    assert gateway.chat("resp/m", prompt_cache_key="k").status == 200
    assert servers["resp"].requests[-1].body["prompt_cache_key"] == "k"
    servers["msg"].answer = ScriptedAnswer(text="x")
    assert gateway.chat("msg/m", prompt_cache_key="k").headers["x-helmdeck-dropped"] == "prompt_cache_key"


def test_request_not_to_store_reaches_providers_of_the_same_api(gateway, servers):
    servers["chat"].answer = ScriptedAnswer(text="x")
    assert "x-helmdeck-dropped" not in gateway.chat("chat/m", store=False).headers
    assert servers["chat"].requests[-1].body["store"] is False
    assert gateway.chat("chat/m", store=True).headers["x-helmdeck-dropped"] == "store"
    assert "store" not in servers["chat"].requests[-1].body


@pytest.mark.parametrize("name", ["strict", "tools.function.strict"])
def test_strict_tools_are_reported(gateway, servers, name):
    tool = {"name": "look_up", "parameters": {"type": "object"}, "strict": True}
    servers["chat"].answer = ScriptedAnswer(text="x")
    if name == "strict":
        answer = respond(gateway, servers, "chat", ScriptedAnswer(text="x"), tools=[{"type": "function", **tool}])
        assert answer.headers["x-helmdeck-dropped"] == "tools.strict"
    else:
        answer = gateway.chat("chat/m", tools=[{"type": "function", "function": tool}])
        assert answer.headers["x-helmdeck-dropped"] == name


@pytest.mark.parametrize(
    ("agent", "status"),
    [("codex_exec/0.169.0", 424), ("OpenAI/Python 3.54.0", 504), ("", 504)],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_final_error_stops_clients_that_ignore_the_header(gateway, servers, monkeypatch, agent, status, stream):
    monkeypatch.setattr(servers["chat"], "answer", ScriptedAnswer(output_tokens=1))
    body = {"model": "chat/m", "messages": [{"role": "user", "content": "x"}], "stream": stream}
    answer = gateway.send("/v1/chat/completions", body, headers={"user-agent": agent})
    assert answer.headers["x-should-retry"] == "false"
    assert (answer.status, answer.body["error"]["cause"]) == (status, "likely_timeout")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
def test_final_error_for_a_client_that_reads_its_text_names_the_call_only(gateway, servers, monkeypatch, path):
    monkeypatch.setattr(servers["chat"], "answer", ScriptedAnswer(output_tokens=1))
    body = {"model": "chat/m", "max_tokens": 9, "stream": True}
    body |= {"input": "x"} if path.endswith("responses") else {"messages": [{"role": "user", "content": "x"}]}
    answer = gateway.send(path, body, headers={"user-agent": "opencode/1.18"})
    error = answer.body["error"]
    assert (answer.status, error["code"], error["type"]) == (424, "all_models_failed", "api_error")
    assert error["message"].endswith(f"--run {answer.headers['x-helmdeck-call-id']} shows the attempts")
    assert int(answer.headers["content-length"]) == len(answer.raw)
    assert not any(word in answer.raw.decode() for word in ("503", "unavailable", "overloaded", "timeout"))
    assert answer.body.get("type") == ("error" if path.endswith("messages") else None)


def test_betas_of_a_client_reach_providers_of_the_same_api(gateway, servers):
    body = {
        "model": "msg/m",
        "messages": [{"role": "user", "content": "x"}],
        "max_tokens": 5,
        "thinking": {"type": "adaptive"},
    }
    headers = {"anthropic-beta": "context-management-2025-06-27, effort-2025-11-24"}
    servers["msg"].answer = servers["chat"].answer = ScriptedAnswer(text="x")
    answer = gateway.send("/v1/messages?beta=true", body, headers=headers)
    assert (answer.status, "x-helmdeck-dropped" in answer.headers) == (200, False)
    sent = servers["msg"].requests[-1]
    assert sent.headers["anthropic-beta"] == "context-management-2025-06-27,effort-2025-11-24"
    assert "anthropic-beta" not in sent.body
    answer = gateway.send("/v1/messages", {**body, "model": "chat/m"}, headers=headers)
    assert answer.headers["x-helmdeck-dropped"] == "thinking, anthropic-beta"
    assert "anthropic-beta" not in servers["chat"].requests[-1].headers


def test_betas_that_are_no_names_are_rejected(gateway, servers):
    body = {"model": "msg/m", "messages": [{"role": "user", "content": "x"}], "max_tokens": 5}
    servers["msg"].requests.clear()
    answer = gateway.send("/v1/messages", body, headers={"anthropic-beta": "a;b\t{"})
    assert (answer.status, servers["msg"].requests) == (400, [])


def test_tools_of_all_kinds_in_namespaces_are_declared_under_the_innermost_one():
    inner = [{"type": "custom", "name": "patch"}, {"name": "look_up"}]
    outer = {"type": "namespace", "name": "outer", "tools": [{"type": "local_shell"}]}
    outer["tools"].append({"type": "namespace", "name": "inner", "tools": inner})
    tools = [outer, {"type": "function", "name": "plain"}, {"type": "web_search"}]
    assert [tool.name for tool in read_tools(tools, "tools", [])] == ["local_shell", "patch", "look_up", "plain"]
    assert declared_tools({"tools": tools}) == {
        "local_shell": Declared("local_shell", "outer"),
        "patch": Declared("custom", "inner"),
        "look_up": Declared("function", "inner"),
    }
