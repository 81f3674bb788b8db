"""Requests whose work grows with their size: limits, linear time, and threads that keep the event loop free."""

import asyncio
import json
import threading

import pytest

from helmdeck_core import ToolDefinition
from helmdeck_gateway import Gateway, GatewaySettings
from helmdeck_gateway.calls.aside import INLINE_BYTES
from helmdeck_gateway.dialects import chat
from helmdeck_gateway.dialects.parsed import unique
from helmdeck_testing import ScriptedAnswer, make_deck
from tests.helmdeck_gateway.gateway_key_support import config, keyed
from tests.helmdeck_gateway.gateway_support import DIALECTS, AppRequest, running_gateway, upstream


@pytest.fixture(scope="module")
def gateway(server):
    with running_gateway(config={"providers": {"up": upstream(server)}, "gateway": {"max_tools": 3}}) as running:
        yield running


def named(dialect, number):
    return json.loads(json.dumps(dialect.tools).replace("look_up", f"look_up_{number}"))


def send(gateway, dialect, **fields):
    return gateway.send(dialect.path, {"model": "up/m", **dialect.body("hi"), **fields})


class CountedTools(list):
    """Tools that count how often they are iterated over."""

    passes = 0

    def __iter__(self):
        self.passes += 1
        return super().__iter__()

    def __reversed__(self):
        self.passes += 1
        return super().__reversed__()


def test_first_one_of_several_tools_with_one_name_is_kept_in_one_pass():
    tools = CountedTools(ToolDefinition(f"t{number % 50}", str(number), {}) for number in range(200))
    assert [(each.name, each.description) for each in unique(tools)] == [(f"t{n}", str(n)) for n in range(50)]
    assert tools.passes == 1


@pytest.mark.parametrize("name", DIALECTS)
def test_request_with_too_many_tools_is_refused_before_a_call(gateway, server, name):
    dialect = DIALECTS[name]
    tools = [tool for number in range(4) for tool in named(dialect, number)]
    assert send(gateway, dialect, tools=tools[:3]).status == 200
    server.requests.clear()
    answer = send(gateway, dialect, tools=tools)
    assert answer.status == 400
    assert answer.body["error"]["message"] == "tools: at most 3 tools are allowed, found 4"
    assert answer.body["error"]["type"] == "invalid_request_error"
    assert server.requests == []


def test_namespaces_in_namespaces_are_bounded(gateway):
    tools = [{"type": "function", "name": "f"}]
    for _ in range(400):
        tools = [{"type": "namespace", "name": "n", "tools": tools}]
    answer = send(gateway, DIALECTS["responses"], tools=tools)
    assert answer.status == 400
    assert "at most 8 levels of namespaces are allowed" in answer.body["error"]["message"]


@pytest.mark.parametrize(("text", "thread"), [("hi", "MainThread"), ("word " * INLINE_BYTES, "helmdeck-gateway")])
def test_large_requests_are_read_in_a_thread_and_small_ones_are_not(server, monkeypatch, text, thread):
    threads = []
    parse = chat.parse

    def parse_noted(*arguments):
        threads.append(threading.current_thread().name)
        return parse(*arguments)

    async def run():
        async with make_deck(config={"providers": {"up": upstream(server)}}) as deck:
            body = {"model": "up/m", "messages": [{"role": "user", "content": text}]}
            request = AppRequest(Gateway(deck, GatewaySettings()).app, "/v1/chat/completions", body)
            return (await request.sent()).status

    monkeypatch.setattr(chat, "parse", parse_noted)
    assert asyncio.run(run()) == 200
    assert [each.rpartition("_")[0] or each for each in threads] == [thread]


@pytest.mark.parametrize("limits", [{"rate": 1, "window_s": 3_600.0}, {"day_nusd": 1}])
def test_large_request_of_a_key_that_was_just_refused_is_refused_before_it_is_read(server, monkeypatch, limits):
    read, parse = [], chat.parse
    monkeypatch.setattr(chat, "parse", lambda *arguments: read.append(1) or parse(*arguments))
    large = [{"role": "user", "content": "word " * INLINE_BYTES}]
    with keyed(config(server), **limits) as running:
        assert running.chat().status == 200
        first, second = (running.send(body={"model": "up/m", "messages": large}) for _ in range(2))
    assert first.status == second.status in (402, 429)
    assert first.body["error"]["code"] == second.body["error"]["code"]
    assert len(read) == 2, "the second large request was not read"


def schema_field(name, schema):
    match name:
        case "chat":
            return {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}}
        case "messages":
            return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
        case _:
            return {"text": {"format": {"type": "json_schema", "name": "a", "schema": schema}}}


def properties(number):
    return {"type": "object", "properties": {f"p{each}": {"type": "string"} for each in range(number)}}


def nested(depth):
    schema = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    ("schema", "mistake"),
    [
        ({"type": "object", "properties": {"a": {"type": "strng"}}}, "is malformed at $.properties.a.type"),
        (properties(40_000), "is too large to be checked"),
        (nested(150), "is nested too deeply"),
    ],
    ids=["malformed", "large", "deep"],
)
def test_schema_that_cannot_be_checked_is_refused_before_a_call(gateway, server, name, schema, mistake):
    server.requests.clear()
    answer = send(gateway, DIALECTS[name], **schema_field(name, schema))
    assert (answer.status, answer.body["error"]["type"]) == (400, "invalid_request_error")
    assert f"the JSON Schema {mistake}" in answer.body["error"]["message"]
    assert server.requests == []


@pytest.mark.parametrize("name", DIALECTS)
def test_patterns_of_a_schema_are_not_evaluated_since_they_could_block_the_process_forever(gateway, server, name):
    server.answer = ScriptedAnswer(text='{"a": "aaaaaaaa!"}')
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}, "required": ["a"]}
    answer = send(gateway, DIALECTS[name], **schema_field(name, schema))
    server.answer = ScriptedAnswer(text="hello")
    assert answer.status == 200
    assert DIALECTS[name].whole(answer.body).text == '{"a": "aaaaaaaa!"}'


def test_patterns_of_a_schema_beside_tools_are_not_evaluated(gateway, server):
    server.answer = ScriptedAnswer(text='{"a": "aaaaaaaa!"}')
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}, "required": ["a"]}
    answer = send(gateway, DIALECTS["chat"], tools=DIALECTS["chat"].tools, **schema_field("chat", schema))
    server.answer = ScriptedAnswer(text="hello")
    assert answer.status == 200
