"""Unmodified SDKs over the gateway: healthy models, and models whose failures the gateway recovers from.

An SDK that is not installed is skipped: ``pip install openai anthropic``.
"""

import json

import pytest

from helmdeck_core import ToolCall
from helmdeck_testing import OPENAI_CHAT, ScriptedAnswer, failing_server
from tests.helmdeck_gateway.gateway_support import FormatServer, running_gateway, upstream

pytestmark = pytest.mark.filterwarnings("default")  # deprecations inside the SDKs

ASK = [{"role": "user", "content": "say #7"}]
CALL = ToolCall("call_1", "look_up", '{"word":"tide"}')
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}}


@pytest.fixture(scope="module")
def failing():
    with failing_server(OPENAI_CHAT, text="answer #0") as server:
        yield server


@pytest.fixture(scope="module")
def spare():
    with failing_server(OPENAI_CHAT, text="answer #0") as server:
        yield server


@pytest.fixture(scope="module")
def scripted():
    server = FormatServer(OPENAI_CHAT)
    yield server
    server.close()


@pytest.fixture(scope="module")
def gateway(failing, spare, scripted):
    config = {
        "providers": {
            "up": upstream(failing), "alone": upstream(failing), "spare": upstream(spare), "other": upstream(scripted),
        },
        "fallback": {"up/": ["spare/m"]},
        "recovery": {"backoff_s": 0.01, "cool_down_after": 0, "max_wait_s": 0.01},
    }  # fmt: skip
    with running_gateway(config=config) as running:
        yield running


@pytest.fixture(params=["good", "empty_stop", "unavailable", "rate_limited", "html_page", "alien_json"])
def mode(request, failing):
    failing.mode = request.param
    yield request.param
    failing.mode = "good"


@pytest.fixture
def openai(gateway):
    package = pytest.importorskip("openai")
    return package.OpenAI(base_url=f"{gateway.url}/v1", api_key="none", max_retries=0, timeout=10)


@pytest.fixture
def anthropic(gateway):
    package = pytest.importorskip("anthropic")
    return package.Anthropic(base_url=gateway.url, api_key="none", max_retries=0, timeout=10)


def test_openai_chat_is_answered_whatever_the_first_model_does(openai, mode):
    answer = openai.chat.completions.create(model="up/m", messages=ASK)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("answer #7", "stop")


def test_openai_chat_stream_is_answered_whatever_the_first_model_does(openai, mode):
    with openai.chat.completions.stream(model="up/m", messages=ASK) as events:
        answer = events.get_final_completion()
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == ("answer #7", "stop")


def test_openai_responses_are_answered_whatever_the_first_model_does(openai, mode):
    answer = openai.responses.create(model="up/m", input="say #7")
    assert (answer.output_text, answer.status) == ("answer #7", "completed")
    more = openai.responses.create(model="up/m", input="again #8", previous_response_id=answer.id)
    assert more.status == "completed"
    with openai.responses.stream(model="up/m", input="say #7") as events:
        assert events.get_final_response().output_text == "answer #7"


def test_anthropic_messages_are_answered_whatever_the_first_model_does(anthropic, mode):
    answer = anthropic.messages.create(model="up/m", messages=ASK, max_tokens=50)
    assert (answer.content[0].text, answer.stop_reason) == ("answer #7", "end_turn")
    with anthropic.messages.stream(model="up/m", messages=ASK, max_tokens=50) as events:
        answer = events.get_final_message()
    assert (answer.content[0].text, answer.stop_reason) == ("answer #7", "end_turn")
    assert answer.usage.input_tokens > 0


def test_openai_reads_reasoning_tools_and_structured_output(openai, scripted):
    scripted.answer = ScriptedAnswer(stop="tool_calls", reasoning="Hm.", tool_calls=(CALL,))
    tools = [{"type": "function", "function": {"name": "look_up", "description": "d", "parameters": SCHEMA}}]
    with openai.chat.completions.stream(model="other/m", messages=ASK, tools=tools) as events:
        (call,) = events.get_final_completion().choices[0].message.tool_calls
    assert (call.id, call.function.name, json.loads(call.function.arguments)) == ("call_1", "look_up", {"word": "tide"})
    with openai.responses.stream(
        model="other/m", input="x", tools=[{"type": "function", "name": "look_up", "parameters": SCHEMA}]
    ) as events:
        reasoning, call = events.get_final_response().output
    assert (reasoning.summary[0].text, call.call_id, call.name) == ("Hm.", "call_1", "look_up")
    pydantic = pytest.importorskip("pydantic")
    person = pydantic.create_model("Person", word=(str, ...))
    scripted.answer = ScriptedAnswer(text='Sure: {"word": "tide",}')
    parsed = openai.chat.completions.parse(model="other/m", messages=ASK, response_format=person)
    assert parsed.choices[0].message.parsed.word == "tide"


def test_anthropic_reads_thinking_and_tools(anthropic, scripted):
    scripted.answer = ScriptedAnswer(stop="tool_calls", reasoning="Hm.", tool_calls=(CALL,))
    tools = [{"name": "look_up", "description": "d", "input_schema": SCHEMA}]
    with anthropic.messages.stream(model="other/m", messages=ASK, max_tokens=50, tools=tools) as events:
        thinking, call = events.get_final_message().content
    assert (thinking.thinking, call.id, call.input) == ("Hm.", "call_1", {"word": "tide"})
    assert anthropic.messages.count_tokens(model="other/m", messages=ASK).input_tokens > 0
    assert anthropic.models.list().data


def test_sdks_raise_their_own_exceptions_once(openai, anthropic, failing):
    import anthropic as anthropic_package
    import openai as openai_package

    failing.mode = "bad_request"
    retrying = openai.with_options(max_retries=5)
    try:
        failing.requests.clear()
        with pytest.raises(openai_package.BadRequestError, match="next:"):
            retrying.chat.completions.create(model="alone/m", messages=ASK)
        assert len(failing.requests) == 1
        with pytest.raises(anthropic_package.BadRequestError, match="next:"):
            anthropic.messages.create(model="alone/m", messages=ASK, max_tokens=5)
        failing.mode = "error_in_200"
        with pytest.raises(openai_package.APIError, match="upstream error"):
            list(openai.chat.completions.create(model="alone/m", messages=ASK, stream=True))
        with (
            pytest.raises(anthropic_package.APIStatusError),
            anthropic.messages.stream(model="alone/m", messages=ASK, max_tokens=5) as events,
        ):
            events.get_final_message()
    finally:
        failing.mode = "good"
