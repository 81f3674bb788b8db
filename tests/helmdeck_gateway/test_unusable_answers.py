"""Answers with status 200 that are not what was requested: truncated by the provider, or prose in place of a required tool call."""

import json
import threading

import pytest

from helmdeck_core import ToolCall
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.helmdeck_gateway.gateway_support import DIALECTS, FormatServer, running_gateway, upstream

CALL = ScriptedAnswer(stop="tool_calls", tool_calls=(ToolCall("call_1", "look_up", '{"word": "tide"}'),))
OTHER_CALL = ScriptedAnswer(stop="tool_calls", tool_calls=(ToolCall("call_1", "other", "{}"),))
IN_TEXT = ScriptedAnswer(text='<tool_call>{"name": "look_up", "arguments": {"word": "tide"}}</tool_call>')
PROSE = ScriptedAnswer(text="I would rather talk about the weather.")
CUT = ScriptedAnswer(text="The tide comes in and", stop="length")
WHOLE = ScriptedAnswer(text="The tide comes in and goes out.")
REQUIRED = {
    "chat": ("required", {"type": "function", "function": {"name": "look_up"}}),
    "messages": ({"type": "any"}, {"type": "tool", "name": "look_up"}),
    "responses": ("required", {"type": "function", "name": "look_up"}),
}


class ModelServer(FormatServer):
    """A server whose answers depend on the model."""

    def __init__(self):
        super().__init__(OPENAI_CHAT)
        self.answers = {}

    def respond(self, request):
        """Return the answer of the model; the last one of several is repeated."""
        answers = self.answers[request.body["model"]]
        self.answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return super().respond(request)


@pytest.fixture(scope="module")
def server():
    running = ModelServer()
    yield running
    running.close()


@pytest.fixture(scope="module")
def gateway(server):
    config = {
        "providers": {"up": upstream(server)},
        "gateway": {"models": {"chain": ["up/first", "up/second"], "alone": "up/first"}},
        "recovery": {"backoff_s": 0, "max_wait_s": 0},
    }
    with running_gateway(config=config) as running:
        yield running


def send(gateway, server, name, model, stream=False, first=(), second=(), **fields):
    """Send a request; return the response and what its client reads."""
    server.answers = {"first": list(first), "second": list(second)}
    server.requests.clear()
    dialect = DIALECTS[name]
    body = {"model": model, **dialect.body("hi"), **fields, "stream": stream}
    if not stream:
        body.pop("stream_options", None)
    answer = gateway.send(dialect.path, body)
    if answer.status != 200:
        return answer, None
    return answer, dialect.streamed(answer.events) if stream else dialect.whole(answer.body)


def models_of(server):
    return [request.body["model"] for request in server.requests]


# -- truncated by the provider ----------------------------------------------------------------------------------


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["chat", "responses"])
def test_truncated_text_is_completed_by_the_next_model(gateway, server, name, stream):
    rest = ScriptedAnswer(text=" goes out.")
    answer, read = send(gateway, server, name, "chain", stream, [CUT], [rest if stream else WHOLE])
    assert (read.text, read.finish) == (WHOLE.text, DIALECTS[name].ends[0])
    assert models_of(server)[-1] == "second"
    assert "x-helmdeck-incomplete" not in answer.headers


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", ["chat", "responses"])
def test_text_that_no_model_completes_is_marked(gateway, server, name, stream):
    answer, read = send(gateway, server, name, "alone", stream, [CUT])
    assert (read.text[: len(CUT.text)], read.finish) == (CUT.text, DIALECTS[name].ends[2])
    assert stream or answer.headers["x-helmdeck-incomplete"] == "length_truncated"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", DIALECTS)
def test_limit_of_the_client_stays_its_own(gateway, server, name, stream):
    limit = {"max_output_tokens" if name == "responses" else "max_tokens": CUT.output_tokens}
    answer, read = send(gateway, server, name, "chain", stream, [CUT], [WHOLE], **limit)
    assert (read.text, read.finish) == (CUT.text, DIALECTS[name].ends[2])
    assert models_of(server) == ["first"]
    assert "x-helmdeck-incomplete" not in answer.headers


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", DIALECTS)
def test_text_that_the_provider_cuts_below_the_limit_of_the_client_is_continued(gateway, server, name, stream):
    limit = {"max_output_tokens" if name == "responses" else "max_tokens": 20 * CUT.output_tokens}
    rest = ScriptedAnswer(text=" goes out.")
    _, read = send(gateway, server, name, "chain", stream, [CUT, rest], **limit)
    assert (read.text, read.finish) == (WHOLE.text, DIALECTS[name].ends[0])


@pytest.mark.parametrize("stream", [False, True])
def test_continuations_end_at_the_limit_of_the_client(gateway, server, stream):
    parts = [ScriptedAnswer(text=text, stop="length") for text in ("The tide comes in and", " goes out,", " and so on")]
    limit = 2 * parts[0].output_tokens
    answer, read = send(gateway, server, "chat", "alone", stream, parts, max_tokens=limit)
    assert (read.text, read.finish) == ("The tide comes in and goes out,", "length")
    assert [request.body["max_tokens"] for request in server.requests] == [limit, limit // 2]
    assert read.tokens[1] <= limit and "x-helmdeck-incomplete" not in answer.headers


# -- required tool calls ----------------------------------------------------------------------------------------


def required(name, number=0):
    return {"tools": DIALECTS[name].tools, "tool_choice": REQUIRED[name][number]}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", DIALECTS)
def test_prose_in_place_of_a_required_call_is_requested_again_with_a_reminder(gateway, server, name, number, stream):
    _, read = send(gateway, server, name, "alone", stream, [PROSE, CALL], **required(name, number))
    assert (read.text, [call[1] for call in read.calls]) == ("", ["look_up"])
    first, second = (request.body["messages"] for request in server.requests)
    assert second[:-1] == first
    assert "call" in second[-1]["content"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", DIALECTS)
def test_next_model_is_called_after_a_reminder_without_effect(gateway, server, name, stream):
    _, read = send(gateway, server, name, "chain", stream, [PROSE], [CALL], **required(name))
    assert [call[1] for call in read.calls] == ["look_up"]
    assert models_of(server) == ["first", "first", "second"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", DIALECTS)
def test_prose_of_all_models_is_a_typed_error(gateway, server, name, stream):
    answer, _ = send(gateway, server, name, "chain", stream, [PROSE], [PROSE], **required(name))
    assert answer.status == 502
    error = answer.body["error"]
    assert (error["cause"], error["sub_cause"]) == ("constrained_deadlock", "no_tool_call")
    assert PROSE.text not in json.dumps(answer.body)


def test_call_of_another_tool_than_the_named_one_is_none(gateway, server):
    tools = [*DIALECTS["chat"].tools, json.loads(json.dumps(DIALECTS["chat"].tools[0]).replace("look_up", "other"))]
    fields = {"tools": tools, "tool_choice": REQUIRED["chat"][1]}
    _, read = send(gateway, server, "chat", "alone", False, [OTHER_CALL, CALL], **fields)
    assert [call[1] for call in read.calls] == ["look_up"]


@pytest.mark.parametrize("stream", [False, True])
def test_required_call_that_a_model_writes_as_text_is_one(gateway, server, stream):
    _, read = send(gateway, server, "chat", "alone", stream, [IN_TEXT], **required("chat"))
    assert (read.text, [call[1] for call in read.calls]) == ("", ["look_up"])
    assert len(server.requests) == 1


@pytest.mark.parametrize("choice", ["auto", "none", None])
def test_prose_is_an_answer_where_no_call_is_required(gateway, server, choice):
    _, read = send(gateway, server, "chat", "alone", False, [PROSE], tools=DIALECTS["chat"].tools, tool_choice=choice)
    assert read.text == PROSE.text
    assert len(server.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("answer", "readings"), [(PROSE, 1), (CALL, 1), (IN_TEXT, 2)])
def test_text_is_searched_for_tool_calls_once_and_again_only_to_remove_them(
    gateway, server, monkeypatch, answer, readings, stream
):
    reader, count = gateway.gateway.deck.runtime.tool_calls, []
    for name in ("read", "judge"):
        method = getattr(reader, name)
        monkeypatch.setattr(reader, name, lambda *a, method=method, **k: count.append(1) or method(*a, **k))
    send(gateway, server, "chat", "alone", stream, [answer], tools=DIALECTS["chat"].tools)
    assert len(count) == readings


def test_long_text_is_searched_for_tool_calls_in_a_thread(gateway, server, monkeypatch):
    reader, threads = gateway.gateway.deck.runtime.tool_calls, set()
    for name in ("read", "judge"):
        method = getattr(reader, name)
        noted = lambda *a, method=method, **k: threads.add(threading.current_thread().name) or method(*a, **k)  # noqa: E731
        monkeypatch.setattr(reader, name, noted)
    long = ScriptedAnswer(text="word " * 20_000 + IN_TEXT.text)
    _, read = send(gateway, server, "chat", "alone", False, [long], tools=DIALECTS["chat"].tools)
    assert [call[1] for call in read.calls] == ["look_up"]
    assert "gateway" not in threads
