"""An empty answer to the result of a tool, which would end an agent silently, is requested once more."""

import attrs
import pytest

from helmdeck_core import ChatResponse, Continuation, StopReason, TerminalReason, ToolCall
from helmdeck_gateway.calls.service import is_truncated
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer
from tests.helmdeck_gateway.gateway_support import DIALECTS, FormatServer, running_gateway, upstream
from tests.helmdeck_gateway.test_matrix import CONVERSATIONS

EMPTY = ScriptedAnswer(output_tokens=1)
CONTINUE = "Continue: call the next tool"


class SilentAfterTools(FormatServer):
    """A server whose answers to the results of tools are empty, until the user's message requests more."""

    is_always_silent = False

    def respond(self, request):
        self.arrived.set()
        last = request.body["messages"][-1]
        is_silent = last["role"] == "tool" or self.is_always_silent
        return (
            self.server_format.whole(EMPTY if is_silent else self.answer)
            if not request.body.get("stream")
            else (self._streamed(self.server_format.events(EMPTY if is_silent else self.answer)))
        )


@pytest.fixture(scope="module")
def server():
    server = SilentAfterTools(OPENAI_CHAT, ScriptedAnswer(text="It is high."))
    yield server
    server.close()


@pytest.fixture(scope="module")
def gateway(server):
    config = {"providers": {"up": upstream(server)}, "recovery": {"backoff_s": 0.01, "max_wait_s": 0.01}}
    with running_gateway(config=config) as running:
        yield running


def ask(gateway, server, name, stream):
    server.requests.clear()
    dialect = DIALECTS[name]
    body = {"model": "up/m", **dialect.body("x"), **CONVERSATIONS[name], "tools": dialect.tools, "stream": stream}
    if not stream:
        body.pop("stream_options", None)
    answer = gateway.send(dialect.path, body)
    assert answer.status == 200, answer
    return answer, dialect.streamed(answer.events) if stream else dialect.whole(answer.body)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", DIALECTS)
def test_silent_model_is_called_again_with_a_message(gateway, server, name, stream):
    answer, read = ask(gateway, server, name, stream)
    assert (read.text, read.finish) == ("It is high.", DIALECTS[name].ends[0])
    assert read.tokens == (10, 3)
    first, second = (request.body["messages"] for request in server.requests)
    assert second[:-1] == first
    assert second[-1]["content"].startswith(CONTINUE)
    assert answer.headers["x-helmdeck-call-id"]


def test_tool_call_of_the_second_call_reaches_the_client(gateway, server, monkeypatch):
    call = ToolCall("call_9", "look_up", '{"word":"ebb"}')
    monkeypatch.setattr(server, "answer", ScriptedAnswer(stop="tool_calls", tool_calls=(call,)))
    _, read = ask(gateway, server, "chat", True)
    assert (read.calls, read.finish) == ([("call_9", "look_up", {"word": "ebb"})], "tool_calls")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_empty_answer_stands_if_no_model_adds_anything(gateway, server, monkeypatch, stream):
    monkeypatch.setattr(server, "is_always_silent", True)
    answer, read = ask(gateway, server, "chat", stream)
    assert (read.text, read.finish) == ("", "stop")
    assert answer.headers["x-helmdeck-model"] == "up/m"


def continued(*parts, stop_reason=StopReason.END_TURN, models=("up/a", "up/b"), **fields):
    """Return a response of which an interrupted attempt wrote the first part."""
    record = Continuation(terminal_reason=TerminalReason.COMPLETED, parts=tuple(map(len, parts)), models=models)
    return ChatResponse(text="".join(parts), stop_reason=stop_reason, continuation=record, **fields)


@pytest.mark.parametrize("more", ["", " \n"])
def test_interrupted_sentence_that_no_model_continues_is_truncated(more):
    assert is_truncated(continued("The tide ri", more))


@pytest.mark.parametrize(
    "response",
    [
        continued("The tide ri", "ses."),
        continued("The tide rises.", ""),
        continued("```\ntide()\n```\n", ""),
        continued("潮が満ちる。", ""),
        continued("The tide ri", "", stop_reason=StopReason.SAFETY_BLOCKED),
        continued("The tide ri", "", models=()),
        continued("The tide ri", "", tool_calls=(ToolCall("c", "look_up", "{}"),)),
        attrs.evolve(continued("The tide ri", ""), continuation=None),
    ],
    ids=["continued", "sentence", "fence", "japanese", "blocked", "not interrupted", "tool call", "first attempt"],
)
def test_other_responses_are_not_truncated(response):
    assert not is_truncated(response)
