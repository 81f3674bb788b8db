"""What the gateway adds to a call: narrowed tools, plans, keys, call traces, embeddings, and its operation."""

import asyncio
import json
import re
import socket

import attrs
import pytest

from helmdeck_core import (
    CallLimits,
    ChatRequest,
    Config,
    ConfigError,
    LoadedConfig,
    Message,
    Role,
    SecretRef,
    TextPart,
    ToolCall,
    ToolDefinition,
)
from helmdeck_core.cli import main
from helmdeck_gateway import GatewaySettings, Principal, Problem
from helmdeck_gateway.accounts.principals import SharedKey
from helmdeck_gateway.calls.tool_budget import Narrower, size_of
from helmdeck_gateway.commands.serve import with_sinks
from helmdeck_gateway.http_server.server import Address
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer, chat_server, make_deck
from tests.helmdeck_gateway.gateway_support import DIALECTS, FormatServer, running_gateway, upstream

WEAK = "openrouter/openrouter/free"
"""Tier C: 10,000 bytes of catalog."""

TOPICS = (
    "weather invoice calendar music translate shipping hotel flight recipe stock news movie sport map photo".split()
)


def tool(topic, size=900):
    words = " ".join(f"{topic} {word}" for word in ("search", "details", "history", "options") * 40)
    properties = {"query": {"type": "string", "description": words[:size], "title": "Query"}}
    return ToolDefinition(
        f"{topic}_tool", f"Look up {topic}. {words}"[:size], {"type": "object", "properties": properties}
    )


def request(text, tools, *earlier, **fields):
    return ChatRequest(
        model=WEAK, messages=(*earlier, Message(Role.USER, (TextPart(text),))), tools=tuple(tools), **fields
    )


def narrow(narrower, request):
    return asyncio.run(narrower.narrow(request))


@pytest.fixture(scope="module")
def narrower():
    return Narrower(make_deck())


def test_tools_within_the_budget_are_not_touched(narrower):
    assert narrow(narrower, request("x", [tool("weather"), tool("invoice")])) is None


def test_descriptions_are_shortened_before_a_tool_is_left_out(narrower):
    tools = [tool(topic, 2_000) for topic in TOPICS[:8]]
    narrowed = narrow(narrower, request("x", tools))
    assert [each.name for each in narrowed.tools] == [each.name for each in tools]
    assert narrowed.left_out == ()
    assert narrowed.record.dropped == ("tools.annotations", "tools.descriptions")
    assert narrowed.record.after_bytes == size_of(narrowed.tools) <= 10_000 < narrowed.record.before_bytes
    annotations, descriptions = narrowed.record.steps
    assert descriptions.after_bytes == narrowed.record.after_bytes < annotations.after_bytes


@pytest.fixture(scope="module")
def many():
    return [tool(f"{topic}{number}") for number in range(4) for topic in TOPICS]


def test_best_tools_are_kept_in_the_order_of_the_client(narrower, many):
    narrowed = narrow(narrower, request("What is the weather2 like, and is there a hotel3?", many))
    names = [each.name for each in narrowed.tools]
    assert {"weather2_tool", "hotel3_tool"} <= set(names)
    assert names == [each.name for each in many if each.name in names]
    assert size_of(narrowed.tools) <= 10_000
    assert len(names) + len(narrowed.left_out) == len(many)


def test_tools_in_use_and_the_required_one_stay(narrower, many):
    call = ToolCall("c", "photo3_tool", "{}")
    earlier = Message(Role.ASSISTANT, (), (call,)), Message(Role.TOOL, (TextPart("done"),), tool_call_id="c")
    narrowed = narrow(narrower, request("music1", many, *earlier, tool_choice="stock2_tool"))
    assert {"photo3_tool", "stock2_tool", "music1_tool"} <= {each.name for each in narrowed.tools}


def test_tool_that_the_description_of_a_kept_tool_names_stays(narrower, many):
    edit = attrs.evolve(
        many[0], name="Edit", description="Edit a note. Use the `weather2_tool` before. " + "more " * 200
    )
    narrowed = narrow(narrower, request("edit the note", [*many, edit]))
    names = {each.name for each in narrowed.tools}
    assert {"Edit", "weather2_tool"} <= names and "weather1_tool" not in names


def test_later_turns_of_a_conversation_send_the_same_bytes(narrower, many):
    start = Message(Role.USER, (TextPart("Find a recipe1."),))
    first = narrow(narrower, attrs.evolve(request("x", many), messages=(start,)))
    call = ToolCall("c", first.tools[0].name, "{}")
    turn = Message(Role.ASSISTANT, (), (call,)), Message(Role.TOOL, (TextPart("ok"),), tool_call_id="c")
    second = narrow(narrower, attrs.evolve(request("x", many), messages=(start, *turn)))
    assert second.tools == first.tools


@pytest.fixture(scope="module")
def server():
    running = FormatServer(OPENAI_CHAT)
    yield running
    running.close()


@pytest.fixture(scope="module")
def gateway(server, tmp_path_factory):
    file = tmp_path_factory.mktemp("traces") / "traces.db"
    config = {
        "providers": {"up": upstream(server)},
        "events": {"sinks": ["gateway", "traces"], "options": {"traces": {"file": str(file)}}},
        "gateway": {"max_request_bytes": 400_000},
    }
    with running_gateway(config=config) as running:
        running.traces = file
        yield running


def wire(tools):
    return [
        {"type": "function", "function": {"name": t.name, "description": t.description, "parameters": t.input_schema}}
        for t in tools
    ]


def test_narrowing_is_reported_in_headers_and_in_the_trace_of_the_call(gateway, server, many):
    server.answer = ScriptedAnswer(text="hello")
    server.requests.clear()
    answer = gateway.chat(text="weather2", tools=wire(many))
    sent = [each["function"]["name"] for each in server.requests[0].body["tools"]]
    assert "weather2_tool" in sent and len(sent) < len(many)
    steps = "tools.annotations; tools.descriptions; tools.selection"
    assert re.fullmatch(rf"{len(sent)} of {len(many)}; \d+ of \d+ bytes; {steps}", answer.headers["x-helmdeck-tools"])
    assert "hotel0_tool" in answer.headers["x-helmdeck-tools-left-out"]
    trace = gateway.gateway.deck.call_trace(answer.headers["x-helmdeck-call-id"])
    (event,) = [each for each in trace.events if each["event"] == "catalog_selected"]
    assert event["record"]["left_out"] == len(many) - len(sent)


def test_narrowing_can_be_switched_off_per_request(gateway, server, many):
    server.requests.clear()
    body = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}], "tools": wire(many)}
    answer = gateway.send("/v1/chat/completions", body, headers={"x-helmdeck-narrow-tools": "off"})
    assert "x-helmdeck-tools" not in answer.headers
    assert len(server.requests[0].body["tools"]) == len(many)


def test_another_process_finds_the_trace_of_a_call_by_its_header(gateway):
    answer = gateway.chat()
    call_id = answer.headers["x-helmdeck-call-id"]
    config = {"events": {"sinks": ["traces"], "options": {"traces": {"file": str(gateway.traces)}}}}
    with make_deck(config=config) as deck:
        assert deck.call_trace(call_id).outcome == "answered"


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_plan_is_a_model(gateway, name, stream):
    dialect = DIALECTS[name]
    intent = "Generate an image of a lighthouse"
    body = {"model": "helmdeck/plan", "stream": stream, **dialect.body(intent), "seed": 3}
    answer = gateway.send(dialect.path, body)
    assert answer.status == 200, answer
    read = dialect.streamed(answer.events) if stream else dialect.whole(answer.body)
    assert json.loads(read.text)["steps"][0]["tool"]
    assert read.finish == dialect.ends[0]
    assert "seed" in answer.headers["x-helmdeck-dropped"]
    assert answer.headers["x-helmdeck-model"] == "local/lexical"


def test_tool_call_that_the_model_wrote_as_text_becomes_a_tool_call(gateway, server):
    server.answer = ScriptedAnswer(text='<tool_call>{"name": "music_tool", "arguments": {"query": "jazz"}}</tool_call>')
    for name, dialect in DIALECTS.items():
        tools = {"chat": wire([tool("music")])}.get(name) or [
            {
                "type": "function" if name == "responses" else "custom",
                "name": "music_tool",
                "input_schema": {},
                "parameters": {},
            }
        ]
        body = {"model": "up/m", **dialect.body("play jazz"), "tools": tools}
        body.pop("stream_options", None)
        read = dialect.whole(gateway.send(dialect.path, body).body)
        assert [(call[1], call[2]) for call in read.calls] == [("music_tool", {"query": "jazz"})]
        assert (read.text, read.finish) == ("", dialect.ends[1])


def test_embeddings_are_passed_through_to_the_provider():
    vectors = {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}], "model": "e"}
    with chat_server(lambda _: vectors) as server:
        config = {"providers": {"up": upstream(server), "claude": upstream(server, "anthropic")}}
        with running_gateway(config=config) as gateway:
            answer = gateway.send("/v1/embeddings", {"model": "up/e", "input": ["x"], "dimensions": 1})
            assert answer.body == vectors
            assert server.requests[0].body == {"model": "e", "input": ["x"], "dimensions": 1}
            refused = gateway.send("/v1/embeddings", {"model": "claude/e", "input": "x"})
            assert (refused.status, refused.body["error"]["code"]) == (404, "model_not_found")


def test_openapi_document_lists_every_endpoint(gateway):
    document = gateway.send("/openapi.json", method="GET").body
    routes = {re.sub(r"\{.*\}", "{}", route.path) for route in gateway.gateway.app.routes}
    listed = {re.sub(r"\{.*\}(:\w+)?", "{}", path) for path in document["paths"]}
    assert routes - listed == {"/openapi.json", "/api/hello", "/console"}
    assert listed <= routes


class TwoKeys:
    async def authorise(self, headers):
        match headers.get(b"authorization"):
            case b"Bearer one":
                return Principal(caller="one", models=frozenset(["up/m"]), narrows_tools=False)
            case b"Bearer two":
                return Principal(caller="two")
        raise Problem(message="who are you?", status=401, kind="authentication_error", code="invalid_api_key")


def test_authoriser_decides_who_may_use_which_model(server, many):
    server.answer = ScriptedAnswer(text="hello")
    with running_gateway(config={"providers": {"up": upstream(server)}}, authoriser=TwoKeys()) as gateway:

        def send(key, path="/v1/chat/completions", **body):
            fields = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}], **body}
            return gateway.send(path, fields, headers={"authorization": f"Bearer {key}"})

        assert send("none").status == 401
        assert gateway.send("/v1/models", method="GET").status == 401
        server.requests.clear()
        assert send("one", tools=wire(many)).status == 200
        assert len(server.requests[0].body["tools"]) == len(many)
        assert send("one", models=["up/other"], route="fallback").headers["x-helmdeck-dropped"] == "models, route"
        assert "models" not in server.requests[-1].body
        assert send("one", model="local/lexical").body["error"]["code"] == "model_not_allowed"
        assert send("one", "/v1/embeddings", model="up/e").status == 403
        answer = send("two", "/v1/responses", input="hi")
        path = f"/v1/responses/{answer.body['id']}"
        assert gateway.send(path, method="GET", headers={"authorization": "Bearer one"}).status == 404
        assert gateway.send(path, method="GET", headers={"authorization": "Bearer two"}).status == 200
        assert gateway.send("/healthz", method="GET").status == 200


def test_shared_key_is_compared_and_never_shown(monkeypatch, server):
    monkeypatch.setenv("GATE_KEY", "a-key-of-the-gateway")
    settings = GatewaySettings(key=SecretRef("env", "GATE_KEY"))
    with running_gateway(config={"providers": {"up": upstream(server)}}, settings=settings) as gateway:
        assert gateway.chat().status == 401
        body = {"model": "up/m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}
        for headers in ({"authorization": "Bearer a-key-of-the-gateway"}, {"x-api-key": "a-key-of-the-gateway"}):
            assert gateway.send("/v1/messages", body, headers=headers).status == 200
    monkeypatch.setenv("GATE_KEY", "short")
    with pytest.raises(ConfigError, match="gateway.key: the key has fewer than 16 characters, found env:GATE_KEY"):
        SharedKey(SecretRef("env", "GATE_KEY"))


def test_key_that_cannot_be_read_is_a_mistake_of_the_configuration():
    with pytest.raises(ConfigError, match="gateway.metrics_key: cannot be read, found file:/no/such/key"):
        SharedKey(SecretRef("file", "/no/such/key"), "gateway.metrics_key")


def test_body_above_the_limit_is_rejected_and_requests_beyond_the_limit_get_retry_after(gateway):
    answer = gateway.send("/v1/chat/completions", b" " * 400_001)
    assert (answer.status, answer.body["error"]["code"]) == (413, "request_too_large")
    counters = gateway.gateway.counters
    counters.under_way += 2_000
    try:
        answer = gateway.chat()
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
    finally:
        counters.under_way -= 2_000


def test_draining_gateway_is_not_ready_and_refuses_new_requests(gateway):
    gateway.gateway.drain()
    try:
        assert gateway.send("/readyz", method="GET").status == 503
        answer = gateway.chat()
        assert (answer.status, answer.body["error"]["code"]) == (503, "draining")
    finally:
        gateway.gateway.counters.is_draining = False


def test_settings_report_every_mistake_of_the_aliases():
    with pytest.raises(Exception, match=r"2 mistakes[\s\S]*gateway.models.a[\s\S]*gateway.models.b"):
        GatewaySettings.read({"models": {"a": "x", "b": "/", "c": "local/lexical"}})


def test_limits_of_the_settings_apply_to_the_call(server):
    with running_gateway(config={"providers": {"up": upstream(server)}, "gateway": {"deadline_s": 9.5}}) as gateway:
        assert gateway.gateway.service._limits == CallLimits(deadline_s=9.5)


def test_accepted_connections_send_small_writes_at_once():
    listener = Address(port=0).listen()
    with listener, socket.create_connection(listener.getsockname()[:2]):
        listener.setblocking(True)
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP, "asyncio sets TCP_NODELAY only then"


def test_command_names_the_missing_key_and_every_mistake(capsys, tmp_path):
    def helmdeck(*arguments):
        code = main([*arguments, "--no-plugins"])
        return code, *capsys.readouterr()

    file = tmp_path / "helmdeck.toml"
    file.write_text("[gateway]\nping = 5\nmax_request = 5\n")
    code, _, err = helmdeck("serve", "--config", str(file))
    assert code == 2
    assert "'ping_s'" in err and "'max_requests'" in err
    file.write_text("")
    code, _, err = helmdeck("serve", "--config", str(file), "--host", "0.0.0.0")
    assert (code, "[gateway] key" in err) == (2, True)


def test_sinks_of_the_gateway_are_enabled_once_and_can_be_left_out():
    loaded = LoadedConfig(Config(), {})
    assert with_sinks(loaded, has_traces=True).config.events.sinks == ("gateway", "requests")
    assert with_sinks(loaded, has_traces=False).config.events.sinks == ("gateway",)
    again = with_sinks(with_sinks(loaded, has_traces=True), has_traces=True)
    assert again.config.events.sinks == ("gateway", "requests")
