"""Complete calls against real inference servers: rejections, truncation, ignored fields and endless output."""

from __future__ import annotations

import asyncio
import json

import attrs
import pytest

from helmdeck_core import (
    CallFailed,
    ChatDelta,
    ChatRequest,
    ConstrainedDeadlock,
    ContextWindowExceeded,
    InvalidRequest,
    LengthTruncated,
    LikelyTimeout,
    Message,
    ProviderUnavailable,
    ResponseFormat,
    Role,
    StopReason,
    TextPart,
    ToolDefinition,
)
from helmdeck_testing import Fault, FaultKind, faulty_proxy, make_deck

ONCE = {"agent": {"continuation_max_attempts": 0}, "recovery": {"max_attempts": 1}}
LONG = "word " * 800
NEVER_CLOSED = {"logit_bias": {"97": 100}}
"""Forces the letter a wherever the grammar allows it."""


@attrs.frozen
class Weather:
    """The requested type."""

    city: str


def request(text="hi", **fields):
    fields = {"extra": {"seed": 1}, **fields}  # noise may contain the end-of-sequence token
    return ChatRequest(model="llamacpp/tiny", messages=(Message(Role.USER, (TextPart(text),)),), **fields)


def schema_of(**properties):
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def schema(**properties):
    return ResponseFormat("json_schema", schema=schema_of(**properties))


def at(url, **config):
    return {"providers": {"llamacpp": {"base_url": url}}, **config}


def failed_stream(url, chat_request, **config):
    """Return the deltas of a stream and the failure that ended it."""
    deltas = []
    with make_deck(config=at(url, **ONCE, **config)) as deck, pytest.raises(CallFailed) as caught:
        deltas += deck.stream(chat_request)
    return deltas, caught.value


@pytest.fixture
def noise(any_server, deck_with):
    """A deck with a model that generates noise up to the output limit."""
    return deck_with(config=at(any_server("random", context=2048), **ONCE))


@pytest.fixture
def letters(any_server, deck_with):
    """Create decks with a model that generates words and stops at a full stop."""
    url = any_server("bigram", context=512)
    return lambda **config: deck_with(config=at(url, **config))


# -- answers ---------------------------------------------------------------------------------------------------


def test_output_limit_is_the_stop_reason_and_usage_is_read(noise):
    response = noise.complete(request(max_tokens=20))
    assert (response.stop_reason, response.raw_stop_reason) == (StopReason.MAX_TOKENS, "length")
    assert 20 <= response.usage.output_tokens <= 21  # the Python server counts a two-token character twice
    assert response.usage.input_tokens > 10
    assert response.served_model == "tiny"


def test_model_that_stops_has_a_clean_end(letters):
    response = letters(**ONCE).complete(request(max_tokens=400, extra={"seed": 1}))
    assert (response.stop_reason, response.raw_stop_reason) == (StopReason.END_TURN, "stop")
    assert response.text.endswith(".")


def test_streamed_and_whole_responses_have_the_same_text(noise):
    chat_request = request(max_tokens=40, temperature=0.0)
    *deltas, streamed = noise.stream(chat_request)
    whole = noise.complete(chat_request)
    assert "".join(delta.text for delta in deltas if isinstance(delta, ChatDelta)) == streamed.text == whole.text
    assert streamed.raw_stop_reason == "length"


def test_streamed_usage_is_read(llama_server, deck_with):
    deck = deck_with(config=at(llama_server("random", context=2048), **ONCE))
    *_, streamed = deck.stream(request(max_tokens=40))
    assert streamed.usage.output_tokens == 40


def test_truncated_response_is_continued(letters):
    response = letters().complete(request("tell me", max_tokens=20, extra={"seed": 1}))
    assert response.continuation is not None
    assert response.continuation.attempts >= 1
    assert response.usage.output_tokens > 20


def test_tool_call_in_two_formats_is_one_call(llama_cpp_python, deck_with):
    deck = deck_with(config=at(llama_cpp_python("random", context=2048), **ONCE))
    tool = ToolDefinition("look", "", schema_of(city={"enum": ["Oslo", "Rome"]}))
    chat_request = request(max_tokens=80, tools=(tool,), tool_choice="look")
    *_, streamed = deck.stream(chat_request)
    for response in (deck.complete(chat_request), streamed):
        (call,) = response.tool_calls
        assert (call.name, json.loads(call.arguments)["city"] in ("Oslo", "Rome")) == ("look", True)
        assert response.stop_reason is StopReason.TOOL_CALL


# -- prompt exceeds the context window -------------------------------------------------------------------------


def test_too_long_prompt_is_context_window_exceeded(letters):
    with pytest.raises(ContextWindowExceeded) as caught:
        letters(**ONCE).complete(request(LONG, max_tokens=10))
    assert caught.value.status == 400


def test_too_long_prompt_fails_before_the_first_delta(llama_server):
    deltas, failure = failed_stream(llama_server("bigram", context=512), request(LONG, max_tokens=10))
    assert not deltas and isinstance(failure, ContextWindowExceeded)


def test_empty_200_stream_for_a_too_long_prompt_is_a_likely_timeout(llama_cpp_python):
    deltas, failure = failed_stream(llama_cpp_python("bigram", context=512), request(LONG, max_tokens=10))
    assert not deltas and isinstance(failure, LikelyTimeout)
    assert (failure.sub_cause, failure.raw_stop_reason, failure.is_empty) == ("empty", None, True)
    assert "the prompt is too long" in str(failure) and "no stop reason" in str(failure)


# -- grammars --------------------------------------------------------------------------------------------------


def test_endless_grammar_is_truncated_at_the_output_limit_and_not_decoded(noise):
    chat_request = request(max_tokens=60, response_format=schema(name={"type": "string"}), extra=NEVER_CLOSED)
    response = noise.complete(chat_request)
    assert (response.stop_reason, response.usage.output_tokens) == (StopReason.MAX_TOKENS, 60)
    with pytest.raises(LengthTruncated):
        noise.decode(response.text, dict, response.raw_stop_reason)


def test_endless_grammar_up_to_the_context_window_is_a_repetition(any_server, deck_with):
    deck = deck_with(config=at(any_server("bigram", context=512), **ONCE))
    with pytest.raises(LengthTruncated) as caught:
        deck.complete(request(response_format=schema(name={"type": "string"}), extra=NEVER_CLOSED))
    assert caught.value.sub_cause == "repeated_token" and "over and over" in str(caught.value)


def test_unsupported_schema_is_rejected_and_not_retried(llama_server, deck_with):
    deck = deck_with(config=at(llama_server("random", context=2048)))
    with pytest.raises(InvalidRequest) as caught:
        deck.complete(request(max_tokens=20, response_format=ResponseFormat("json_schema", schema={"type": "frob"})))
    assert (caught.value.status, caught.value.sub_cause, len(caught.value.attempts)) == (400, "schema_refused", 1)


def test_response_to_an_ignored_schema_is_not_accepted(llama_cpp_python, deck_with):
    deck = deck_with(config=at(llama_cpp_python("random", context=2048), **ONCE))
    wrong = {**schema_of(city={"type": "string"}), "$ref": "#/nowhere"}
    causes = set()
    for seed in range(4):
        chat_request = request(
            max_tokens=60, response_format=ResponseFormat("json_schema", schema=wrong), extra={"seed": seed}
        )
        response = deck.complete(chat_request)
        with pytest.raises((ConstrainedDeadlock, LengthTruncated)) as caught:
            deck.decode(response.text, Weather, response.raw_stop_reason)
        causes.add(caught.value.sub_cause)
    assert causes <= {"wrong_shape", "cut", "malformed", "not_an_object"}


def test_unsupported_format_with_status_500_is_a_rejected_schema(llama_cpp_python, deck_with):
    options = {"has_json_mode_schemas": False}
    providers = {"llamacpp": {"base_url": llama_cpp_python("random", context=2048), "options": options}}
    deck = deck_with(config={"providers": providers})
    with pytest.raises(InvalidRequest) as caught:
        deck.complete(request(max_tokens=20, response_format=schema(city={"type": "string"})))
    assert (caught.value.status, caught.value.sub_cause, len(caught.value.attempts)) == (500, "schema_refused", 1)


def test_noise_under_a_closed_grammar_is_a_valid_object(noise):
    tools = ["blog.draft", "podcast.generate", "github.create_issue"]
    step = schema_of(tool={"enum": tools}, rationale={"type": "string", "maxLength": 20})
    closed = schema(steps={"type": "array", "minItems": 1, "maxItems": 3, "items": step})
    response = noise.complete(request(max_tokens=900, response_format=closed))
    assert response.stop_reason is StopReason.END_TURN
    plan = noise.decode(response.text, dict, response.raw_stop_reason).value
    assert {each["tool"] for each in plan["steps"]} <= set(tools)


# -- interrupted streams ---------------------------------------------------------------------------------------


def test_interrupted_stream_is_a_failure_with_the_partial_response(any_server):
    async def run():
        fault = Fault(FaultKind.CUT, behind=b"data: ", after=600)
        url = any_server("random", context=2048)
        async with faulty_proxy(url, fault) as proxy, make_deck(config=at(proxy.base_url, **ONCE)) as deck:
            return await read(deck.astream(request(max_tokens=200)))

    deltas, failure = asyncio.run(run())
    assert deltas and isinstance(failure, ProviderUnavailable)
    assert failure.raw_length == len("".join(delta.text for delta in deltas).encode())


def test_stream_preempted_by_another_request_is_a_failure(llama_cpp_python):
    async def run():
        async with make_deck(config=at(llama_cpp_python("random", context=2048), **ONCE)) as deck:
            started = asyncio.Event()
            first = asyncio.create_task(read(deck.astream(request(max_tokens=1500)), started))
            await started.wait()
            return await read(deck.astream(request(max_tokens=4))), await first

    (other, no_failure), (deltas, failure) = asyncio.run(run())
    assert other and no_failure is None
    assert deltas and isinstance(failure, ProviderUnavailable) and failure.sub_cause == "disconnected"


async def read(stream, started=None):
    deltas = []
    try:
        async for delta in stream:
            deltas.append(delta)
            if started:
                started.set()
    except CallFailed as exc:
        return deltas, exc
    return deltas, None
