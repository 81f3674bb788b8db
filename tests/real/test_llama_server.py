"""The whole path against real inference servers: what they really refuse, cut, drop and never end."""

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
"""The model may write nothing but the letter a where the grammar leaves it a choice."""


@attrs.frozen
class Weather:
    """What is asked for."""

    city: str


def request(text="hi", **fields):
    fields = {"extra": {"seed": 1}, **fields}  # noise may hold the mark of the end, too
    return ChatRequest(model="llamacpp/tiny", messages=(Message(Role.USER, (TextPart(text),)),), **fields)


def schema_of(**properties):
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def schema(**properties):
    return ResponseFormat("json_schema", schema=schema_of(**properties))


def at(url, **config):
    return {"providers": {"llamacpp": {"base_url": url}}, **config}


def failed_stream(url, asked, **config):
    """What came of a stream, and the failure that ended it."""
    pieces = []
    with make_deck(config=at(url, **ONCE, **config)) as deck, pytest.raises(CallFailed) as caught:
        pieces += deck.stream(asked)
    return pieces, caught.value


@pytest.fixture
def noise(any_server, deck_with):
    """A deck whose model writes noise and never stops by itself."""
    return deck_with(config=at(any_server("random", context=2048), **ONCE))


@pytest.fixture
def letters(any_server, deck_with):
    """Make decks whose model writes words and stops at some full stop."""
    url = any_server("bigram", context=512)
    return lambda **config: deck_with(config=at(url, **config))


# -- answers ---------------------------------------------------------------------------------------------------


def test_the_output_limit_is_the_stop_reason_and_the_tokens_are_counted(noise):
    response = noise.complete(request(max_tokens=20))
    assert (response.stop_reason, response.raw_stop_reason) == (StopReason.MAX_TOKENS, "length")
    assert 20 <= response.usage.output_tokens <= 21  # the one in Python counts a character of two tokens once more
    assert response.usage.input_tokens > 10
    assert response.served_model == "tiny"


def test_a_model_that_stops_by_itself_has_ended_its_turn(letters):
    response = letters(**ONCE).complete(request(max_tokens=400, extra={"seed": 1}))
    assert (response.stop_reason, response.raw_stop_reason) == (StopReason.END_TURN, "stop")
    assert response.text.endswith(".")


def test_a_stream_comes_to_the_same_text_as_an_answer_in_one_piece(noise):
    asked = request(max_tokens=40, temperature=0.0)
    *deltas, streamed = noise.stream(asked)
    whole = noise.complete(asked)
    assert "".join(delta.text for delta in deltas if isinstance(delta, ChatDelta)) == streamed.text == whole.text
    assert streamed.raw_stop_reason == "length"


def test_the_tokens_of_a_stream_are_counted_where_the_server_says_them(llama_server, deck_with):
    deck = deck_with(config=at(llama_server("random", context=2048), **ONCE))
    *_, streamed = deck.stream(request(max_tokens=40))
    assert streamed.usage.output_tokens == 40


def test_an_answer_that_was_cut_is_continued(letters):
    response = letters().complete(request("tell me", max_tokens=20, extra={"seed": 1}))
    assert response.continuation is not None
    assert response.continuation.attempts >= 1
    assert response.usage.output_tokens > 20


def test_a_tool_call_that_the_server_writes_in_two_forms_is_one_call(llama_cpp_python, deck_with):
    deck = deck_with(config=at(llama_cpp_python("random", context=2048), **ONCE))
    tool = ToolDefinition("look", "", schema_of(city={"enum": ["Oslo", "Rome"]}))
    asked = request(max_tokens=80, tools=(tool,), tool_choice="look")
    *_, streamed = deck.stream(asked)
    for response in (deck.complete(asked), streamed):
        (call,) = response.tool_calls
        assert (call.name, json.loads(call.arguments)["city"] in ("Oslo", "Rome")) == ("look", True)
        assert response.stop_reason is StopReason.TOOL_CALL


# -- a prompt over the context ---------------------------------------------------------------------------------


def test_a_prompt_over_the_context_is_told_as_that(letters):
    with pytest.raises(ContextWindowExceeded) as caught:
        letters(**ONCE).complete(request(LONG, max_tokens=10))
    assert caught.value.status == 400


def test_a_stream_over_the_context_is_refused_before_it_begins(llama_server):
    pieces, failure = failed_stream(llama_server("bigram", context=512), request(LONG, max_tokens=10))
    assert not pieces and isinstance(failure, ContextWindowExceeded)


def test_a_stream_over_the_context_that_is_a_200_without_a_word_is_a_likely_timeout(llama_cpp_python):
    pieces, failure = failed_stream(llama_cpp_python("bigram", context=512), request(LONG, max_tokens=10))
    assert not pieces and isinstance(failure, LikelyTimeout)
    assert (failure.sub_cause, failure.raw_stop_reason, failure.is_empty) == ("empty", None, True)
    assert "the prompt is too long" in str(failure) and "no stop reason" in str(failure)


# -- grammars --------------------------------------------------------------------------------------------------


def test_a_grammar_that_never_ends_is_bounded_by_the_output_limit_and_never_becomes_a_value(noise):
    asked = request(max_tokens=60, response_format=schema(name={"type": "string"}), extra=NEVER_CLOSED)
    response = noise.complete(asked)
    assert (response.stop_reason, response.usage.output_tokens) == (StopReason.MAX_TOKENS, 60)
    with pytest.raises(LengthTruncated):
        noise.decode(response.text, dict, response.raw_stop_reason)


def test_a_grammar_that_runs_to_the_end_of_the_context_is_told_as_a_loop(any_server, deck_with):
    deck = deck_with(config=at(any_server("bigram", context=512), **ONCE))
    with pytest.raises(LengthTruncated) as caught:
        deck.complete(request(response_format=schema(name={"type": "string"}), extra=NEVER_CLOSED))
    assert caught.value.sub_cause == "repeated_token" and "over and over" in str(caught.value)


def test_a_schema_that_the_server_does_not_know_is_refused_and_not_asked_again(llama_server, deck_with):
    deck = deck_with(config=at(llama_server("random", context=2048)))
    with pytest.raises(InvalidRequest) as caught:
        deck.complete(request(max_tokens=20, response_format=ResponseFormat("json_schema", schema={"type": "frob"})))
    assert (caught.value.status, caught.value.sub_cause, len(caught.value.attempts)) == (400, "schema_refused", 1)


def test_what_comes_of_a_schema_that_the_server_dropped_is_not_taken_for_what_was_asked(llama_cpp_python, deck_with):
    deck = deck_with(config=at(llama_cpp_python("random", context=2048), **ONCE))
    wrong = {**schema_of(city={"type": "string"}), "$ref": "#/nowhere"}
    causes = set()
    for seed in range(4):
        asked = request(
            max_tokens=60, response_format=ResponseFormat("json_schema", schema=wrong), extra={"seed": seed}
        )
        response = deck.complete(asked)
        with pytest.raises((ConstrainedDeadlock, LengthTruncated)) as caught:
            deck.decode(response.text, Weather, response.raw_stop_reason)
        causes.add(caught.value.sub_cause)
    assert causes <= {"wrong_shape", "cut", "malformed", "not_an_object"}


def test_a_kind_of_format_that_the_server_does_not_know_is_a_refused_schema_and_no_outage(llama_cpp_python, deck_with):
    options = {"has_json_mode_schemas": False}
    providers = {"llamacpp": {"base_url": llama_cpp_python("random", context=2048), "options": options}}
    deck = deck_with(config={"providers": providers})
    with pytest.raises(InvalidRequest) as caught:
        deck.complete(request(max_tokens=20, response_format=schema(city={"type": "string"})))
    assert (caught.value.status, caught.value.sub_cause, len(caught.value.attempts)) == (500, "schema_refused", 1)


def test_a_model_that_writes_noise_gives_an_object_where_the_grammar_is_closed(noise):
    tools = ["blog.draft", "podcast.generate", "github.create_issue"]
    step = schema_of(tool={"enum": tools}, rationale={"type": "string", "maxLength": 20})
    closed = schema(steps={"type": "array", "minItems": 1, "maxItems": 3, "items": step})
    response = noise.complete(request(max_tokens=900, response_format=closed))
    assert response.stop_reason is StopReason.END_TURN
    plan = noise.decode(response.text, dict, response.raw_stop_reason).value
    assert {each["tool"] for each in plan["steps"]} <= set(tools)


# -- streams that are cut --------------------------------------------------------------------------------------


def test_a_stream_that_is_cut_on_its_way_is_a_failure_with_what_came_before_it(any_server):
    async def run():
        fault = Fault(FaultKind.CUT, behind=b"data: ", after=600)
        url = any_server("random", context=2048)
        async with faulty_proxy(url, fault) as proxy, make_deck(config=at(proxy.base_url, **ONCE)) as deck:
            return await read(deck.astream(request(max_tokens=200)))

    pieces, failure = asyncio.run(run())
    assert pieces and isinstance(failure, ProviderUnavailable)
    assert failure.raw_length == len("".join(piece.text for piece in pieces).encode())


def test_a_stream_that_the_server_cuts_for_another_request_is_a_failure_and_the_other_one_is_answered(llama_cpp_python):
    async def run():
        async with make_deck(config=at(llama_cpp_python("random", context=2048), **ONCE)) as deck:
            begun = asyncio.Event()
            first = asyncio.create_task(read(deck.astream(request(max_tokens=1500)), begun))
            await begun.wait()
            return await read(deck.astream(request(max_tokens=4))), await first

    (answered, no_failure), (pieces, failure) = asyncio.run(run())
    assert answered and no_failure is None
    assert pieces and isinstance(failure, ProviderUnavailable) and failure.sub_cause == "broken_off"


async def read(stream, begun=None):
    pieces = []
    try:
        async for piece in stream:
            pieces.append(piece)
            if begun:
                begun.set()
    except CallFailed as exc:
        return pieces, exc
    return pieces, None
