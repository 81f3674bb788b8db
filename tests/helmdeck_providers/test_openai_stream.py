"""Streams of the chat wire format: the same response as without streaming, and never an invented stop reason."""

from __future__ import annotations

import asyncio
import itertools
import threading
import tracemalloc

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import (
    CallFailed,
    ChatDelta,
    ChatResponse,
    ConstrainedDeadlock,
    Disposition,
    LikelyTimeout,
    ProviderUnavailable,
    RateLimited,
    StopReason,
    StreamingProvider,
    ToolCall,
)
from helmdeck_providers.wire_formats.openai_chat.response import ChatAnswer
from helmdeck_testing import Chunks, Ending, completion
from tests.case_support import each_case
from tests.helmdeck_providers.openai_support import (
    REQUEST,
    ask,
    events,
    joined,
    opened,
    parse_response,
    read_stream,
    streamed,
    terms,
)

KEY = "sk-test-0123456789abcdef"


def chunk(delta=None, reason=None, **more):
    return {
        "object": "chat.completion.chunk",
        "model": "m",
        "choices": [{"index": 0, "delta": delta or {}, "finish_reason": reason}],
        **more,
    }


def calling(*pieces):
    return {"tool_calls": list(pieces)}


def call(index=None, id=None, name=None, arguments=None):
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {key: value for key, value in (("index", index), ("id", id), ("function", function)) if value is not None}


def read(*chunks, done=True, **fields):
    answer = ChatAnswer(terms(), **fields)
    deltas = read_stream(answer, events(*chunks, done=done))
    response = answer.finish()
    assert joined(deltas)[:2] == (response.text, response.reasoning_content)
    return response


def failing(*chunks, **fields):
    answer = ChatAnswer(terms(**fields))
    with pytest.raises(CallFailed) as caught:
        read_stream(answer, events(*chunks))
    return caught.value


# -- pieces come to the whole ---------------------------------------------------------------------------------

STREAM = events(
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning_content": "hm, é "}),
    chunk({"reasoning_content": "yes"}),
    chunk({"content": "Grüße \U0001f642 "}),
    chunk({"content": "an alle"}),
    chunk(calling(call(0, "a", "look", ""))),
    chunk(calling(call(0, arguments='{"x"'))),
    chunk(calling(call(0, arguments=": 1}"))),
    chunk(calling(call(1, "b", "see", "{}"))),
    chunk(reason="tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 7}},
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=30), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_response_does_not_depend_on_chunk_boundaries(places, end):
    body = STREAM.replace(b"\n", end)
    bounds = [0, *sorted(places), len(body)]
    answer = ChatAnswer(terms())
    deltas = read_stream(answer, *(body[start:stop] for start, stop in itertools.pairwise(bounds)))
    response = answer.finish()
    assert (response.text, response.reasoning_content) == ("Grüße \U0001f642 an alle", "hm, é yes")
    assert response.tool_calls == (ToolCall("a", "look", '{"x": 1}'), ToolCall("b", "see", "{}"))
    assert (response.stop_reason, response.raw_stop_reason) == (StopReason.TOOL_CALL, "tool_calls")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 7)
    assert joined(deltas) == (
        response.text,
        response.reasoning_content,
        [("a", "look", '{"x": 1}'), ("b", "see", "{}")],
    )


def split(text, places):
    bounds = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[start:stop] for start, stop in itertools.pairwise(bounds)]


@given(
    st.text(max_size=30),
    st.text(max_size=30),
    st.lists(st.tuples(st.sampled_from(["look", "see"]), st.sampled_from(["{}", '{"a": [1, 2]}', ""])), max_size=3),
    st.sampled_from(["stop", "length", "tool_calls", "content_filter", "news", "", None]),
    st.lists(st.integers(0, 30), max_size=4),
)
def test_streamed_and_whole_responses_are_equal(text, reasoning, calls, reason, places):
    made = [
        {"index": index, "id": f"c{index}", "function": {"name": name, "arguments": arguments}}
        for index, (name, arguments) in enumerate(calls)
    ]
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "completion_tokens_details": {"reasoning_tokens": 2}}
    message = {"content": text, "reasoning": reasoning, "tool_calls": made}
    body = {"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage}
    whole = parse_response(200, {}, events(body, done=False)[6:])
    pieces = [
        *(chunk({"reasoning": piece, "content": ""}) for piece in split(reasoning, places)),
        *(chunk({"content": piece}) for piece in split(text, places)),
        *(chunk(calling(call(each["index"], each["id"], each["function"]["name"], ""))) for each in made),
        *(
            chunk(calling(call(each["index"], arguments=piece)))
            for each in made
            for piece in split(each["function"]["arguments"], places)
        ),
        chunk(reason=reason),
        {"choices": [], "usage": usage},
    ]
    assert read(*pieces) == whole


def test_deltas_are_yielded_as_they_arrive(chat_server):
    seen = threading.Event()

    def pieces():
        yield events(chunk({"content": "first "}), done=False)
        assert seen.wait(60)
        yield events(chunk({"content": "second"}), chunk(reason="stop"))

    server = chat_server(
        lambda body: Chunks(pieces(), headers={"content-type": "text/event-stream", "x-ratelimit-limit-requests": "9"})
    )

    async def run():
        provider = opened(server.base_url, api_key=lambda: KEY)
        assert isinstance(provider, StreamingProvider)
        stream = provider.stream(REQUEST)
        assert await anext(stream) == ChatDelta("first ")
        seen.set()
        rest = [each async for each in stream]
        await provider.aclose()
        return rest

    delta, response = asyncio.run(run())
    assert delta == ChatDelta("second")
    assert isinstance(response, ChatResponse)
    assert (response.text, response.stop_reason, response.served_model) == ("first second", StopReason.END_TURN, "m")
    assert response.quota_metadata == {"x-ratelimit-limit-requests": "9"}
    (request,) = server.requests
    assert request.body["stream"] is True
    assert request.body["stream_options"] == {"include_usage": True}
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_usage_is_not_requested_if_always_sent(chat_server):
    server = chat_server(lambda body: Chunks([STREAM]))
    streamed(server.base_url, preset="mistral")
    assert "stream_options" not in server.requests[0].body


def test_whole_response_to_a_streaming_request_is_read(chat_server):
    server = chat_server(lambda body: completion("whole"))
    deltas, response = streamed(server.base_url)
    assert (deltas, response.text, response.stop_reason) == ([ChatDelta("whole")], "whole", StopReason.END_TURN)


@pytest.mark.parametrize("preset", ["vllm", "openai-responses"])
def test_stream_that_was_not_requested_is_read(chat_server, preset):
    done = {
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "whole"}]}],
        "status": "completed",
    }
    sent = {
        "vllm": events(chunk({"content": "who"}), chunk({"content": "le"}), chunk(reason="stop")),
        "openai-responses": events({"type": "response.completed", "response": done}, done=False),
    }[preset]
    server = chat_server(lambda body: (200, {"content-type": "text/event-stream"}, sent))
    (response,) = ask(server.base_url, preset=preset)
    assert (response.text, response.stop_reason) == ("whole", StopReason.END_TURN)
    assert "stream" not in server.requests[-1].body


def test_error_in_a_stream_that_was_not_requested_is_a_failure(chat_server):
    sent = events(chunk({"content": "half"}), {"error": {"message": "died", "code": 502}})
    server = chat_server(lambda body: (200, {"content-type": "text/event-stream"}, sent))
    with pytest.raises(ProviderUnavailable) as caught:
        ask(server.base_url)
    assert (caught.value.excerpt, caught.value.detail) == ("half", "died")


def test_closed_stream_closes_its_connection_and_provider_stays_usable(chat_server):
    gone = threading.Event()

    def endless():
        yield events(chunk({"content": "a"}), done=False)
        gone.wait(60)
        while True:
            yield events(chunk({"content": "x" * 1_000}), done=False)

    answers = iter([Chunks(endless()), Chunks([STREAM])])
    server = chat_server(lambda body: next(answers))

    async def run():
        provider = opened(server.base_url)
        stream = provider.stream(REQUEST)
        await anext(stream)
        await stream.aclose()
        gone.set()
        assert await asyncio.to_thread(server.dropped.wait, 10)
        *_, response = [each async for each in provider.stream(REQUEST)]
        await provider.aclose()
        return response

    assert asyncio.run(run()).stop_reason is StopReason.TOOL_CALL
    assert server.connections == 2


# -- ends -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("done", [True, False])
def test_stream_without_stop_reason_is_unknown(done):
    response = read(chunk({"content": "so far"}), done=done)
    assert (response.text, response.stop_reason, response.raw_stop_reason) == ("so far", StopReason.UNKNOWN, None)


def test_empty_body_is_an_empty_unknown_response(chat_server):
    server = chat_server(lambda body: Chunks([]))
    deltas, response = streamed(server.base_url)
    assert (deltas, response.text, response.stop_reason) == ([], "", StopReason.UNKNOWN)


def test_incomplete_last_chunk_is_ignored():
    body = events(chunk({"content": "so "}), done=False) + b'data: {"choices": [{"delta": {"content": "fa'
    answer = ChatAnswer(terms())
    assert joined(read_stream(answer, body))[0] == "so "
    assert answer.finish().stop_reason is StopReason.UNKNOWN


def test_last_event_without_empty_line_is_read():
    body = events(chunk({"content": "all"}), chunk(reason="stop"), done=False)
    answer = ChatAnswer(terms())
    read_stream(answer, body[:-2])
    assert answer.finish().stop_reason is StopReason.END_TURN


def test_last_non_empty_stop_reason_wins():
    reasons = ["", "stop", None, "length", None, ""]
    assert read(*(chunk({"content": "x"}, reason) for reason in reasons)).raw_stop_reason == "length"


def test_is_final_without_reason_makes_a_response_final():
    usage = {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
    said, called = chunk({"content": "done"}), chunk(calling(call(0, "a", "look", "{}")))

    def outcome(*chunks, done=True, **fields):
        response = read(*chunks, done=done, **fields)
        return response.stop_reason, response.disposition

    known = {"is_final_without_reason": True}
    assert outcome(said, usage, **known) == (StopReason.UNKNOWN, Disposition.FINAL)
    assert outcome(called, usage, **known) == (StopReason.UNKNOWN, Disposition.TOOLS)
    assert outcome(said, usage) == (StopReason.UNKNOWN, Disposition.RETRY)
    assert outcome(said, **known) == (StopReason.UNKNOWN, Disposition.RETRY)
    assert outcome(said, usage, done=False, **known) == (StopReason.UNKNOWN, Disposition.RETRY)


@each_case(
    ("reason", "expected", "disposition"),
    [
        ("abort", StopReason.CANCELLED, Disposition.RETRY),
        ("network_error", StopReason.UNKNOWN, Disposition.RETRY),
        ("insufficient_system_resource", StopReason.UNKNOWN, Disposition.RETRY),
        ("error", StopReason.UNKNOWN, Disposition.RETRY),
        ("load", StopReason.UNKNOWN, Disposition.STOP),
        ("sensitive", StopReason.SAFETY_BLOCKED, Disposition.STOP),
        ("model_length", StopReason.CONTEXT_WINDOW_EXCEEDED, Disposition.SHRINK),
        ("length", StopReason.MAX_TOKENS, Disposition.LONGER),
        ("tool_calls", StopReason.TOOL_CALL, Disposition.TOOLS),
    ],
)
def test_every_native_stop_reason_has_a_disposition(reason, expected, disposition):
    response = read(chunk({"content": "x"}), chunk(reason=reason))
    assert (response.stop_reason, response.disposition, response.raw_stop_reason) == (expected, disposition, reason)


# -- oddities of servers --------------------------------------------------------------------------------------


@each_case(
    "pieces",
    [
        [call(0, "a", "look", "{"), call(0, arguments="}"), call(1, "b", "see", "{}")],
        [call(0, "a", "look", "{"), call(0, "a", "look", "}"), call(1, "b", "see", "{}")],
        [call(None, "a", "look", "{"), call(None, arguments="}"), call(None, "b", "see", "{}")],
        [call(0, "a", "look", "{}"), call(0, "b", "see", "{}")],
        [call(None, "a", "look", "{}"), call(None, "b", "see", "{}")],
        [call(0, "a", None, ""), call(0, None, "look", "{}"), call(1, "b", "see", "{}")],
        [call(0, "a", "look", {}), call(1, "b", "see", None)],
        [call(0, "a", "look", "null"), call(1, "b", "see", "")],
        [call(0, "a", "look"), {"index": 7, "function": None}, "junk", None, call(1, "b", "see")],
    ],
)
@each_case("is_split", [True, False])
def test_call_chunks_are_assembled_with_any_numbering(pieces, is_split):
    chunks = [chunk(calling(piece)) for piece in pieces] if is_split else [chunk(calling(*pieces))]
    found = read(*chunks, chunk(reason="tool_calls")).tool_calls
    assert [(each.name, each.arguments) for each in found] == [("look", "{}"), ("see", "{}")]
    assert {each.id for each in found} == {"a", "b"}


def test_calls_without_id_and_index_are_separated_by_name():
    found = read(chunk(calling(call(name="look", arguments="{}"), call(name="look", arguments='{"a": 1}')))).tool_calls
    assert [each.arguments for each in found] == ["{}", '{"a": 1}']


def test_legacy_function_call_is_read():
    pieces = ({"name": "look", "arguments": ""}, {"arguments": '{"a":'}, {"arguments": "1}"})
    found = read(*(chunk({"function_call": piece}) for piece in pieces), chunk(reason="function_call"))
    assert [(each.name, each.arguments) for each in found.tool_calls] == [("look", '{"a":1}')]
    assert found.stop_reason is StopReason.TOOL_CALL


def test_call_in_both_formats_is_one_call():
    old = [{"name": "look", "arguments": written} for written in ("{", "}", " ")]
    new = (call(index=0, id="a", **piece) for piece in old)
    both = ({"function_call": one, **calling(other)} for one, other in zip(old, new, strict=True))
    assert read(*map(chunk, both), chunk(reason="tool_calls")).tool_calls == (ToolCall("a", "look", "{} "),)


def test_streamed_refusal_is_safety_blocked_and_kept():
    found = read(chunk({"refusal": "I "}), chunk({"refusal": "cannot"}), chunk(reason="stop"))
    assert (found.text, found.refusal, found.stop_reason) == ("", "I cannot", StopReason.SAFETY_BLOCKED)


def test_content_parts_and_repeated_reasoning_are_read_once():
    found = read(
        chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
        chunk({"content": [{"type": "text", "text": "an"}, {"type": "text", "text": "swer"}]}),
        chunk({"reasoning": "!", "reasoning_details": [{"type": "reasoning.text", "text": "!"}]}),
    )
    assert (found.text, found.reasoning_content) == ("answer", "hm!")


@pytest.mark.parametrize(
    "last",
    [
        {"choices": [], "usage": {"prompt_tokens": 2, "completion_tokens": 3}},
        {"choices": [], "x_groq": {"usage": {"prompt_tokens": 2, "completion_tokens": 3}}},
        {"choices": [{"index": 0, "delta": {}, "usage": {"prompt_tokens": 2, "completion_tokens": 3}}]},
    ],
)
def test_usage_is_read_from_any_location(last):
    usage = read(
        chunk({"content": "x"}, usage={"prompt_tokens": 2, "completion_tokens": 1}), last, {"choices": []}
    ).usage
    assert (usage.input_tokens, usage.output_tokens) == (2, 3)


def test_whole_message_next_to_a_delta_is_not_repeated():
    last = chunk({"content": "!"}, "stop")
    last["choices"][0]["message"] = {"content": "hello!"}
    assert read(chunk({"content": "hello"}), last).text == "hello!"


def test_second_choice_is_ignored():
    other = {"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": "length"}]}
    found = read(chunk({"content": "mine"}), other, chunk(reason="stop"))
    assert (found.text, found.raw_stop_reason) == ("mine", "stop")


def test_returned_fields_are_kept_and_joined():
    def detail(**fields):
        return chunk({"reasoning_details": [fields]})

    found = read(
        detail(type="reasoning.text", index=0, text="so "),
        detail(type="reasoning.text", index=0, text="be it"),
        detail(type="reasoning.text", index=0, signature="sig"),
        detail(type="reasoning.encrypted", index=1, data="abc"),
        returned_fields=("reasoning_details",),
    )
    assert found.opaque == {
        "reasoning_details": [
            {"type": "reasoning.text", "index": 0, "text": "so be it", "signature": "sig"},
            {"type": "reasoning.encrypted", "index": 1, "data": "abc"},
        ]
    }
    assert found.reasoning_content == "so be it"
    assert "abc" not in repr(found)


FIELDS = st.sampled_from(
    [
        "choices",
        "delta",
        "message",
        "content",
        "refusal",
        "tool_calls",
        "function_call",
        "index",
        "id",
        "function",
        "name",
        "arguments",
        "reasoning_details",
        "type",
        "text",
        "finish_reason",
        "usage",
        "prompt_tokens",
        "model",
        "x_groq",
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=15,
)


@given(st.lists(st.dictionaries(FIELDS, ANYTHING) | ANYTHING.map(chunk) | ANYTHING.map(calling).map(chunk), max_size=4))
def test_any_stream_yields_a_response(chunks):
    read(*chunks)


# -- errors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "last",
    [
        {"error": {"message": "engine died", "type": "server_error", "code": 500}},
        {
            "choices": [
                {
                    "index": 0,
                    "delta": {"content": ""},
                    "finish_reason": "error",
                    "error": {"code": 502, "message": "engine died"},
                }
            ]
        },
        {"object": "error", "message": "engine died", "code": 500},
    ],
)
def test_error_in_a_stream_is_a_failure_that_keeps_the_text(last):
    found = failing(chunk({"content": "half of"}), last)
    assert isinstance(found, ProviderUnavailable)
    assert (found.detail, found.excerpt, found.raw_length, found.stop_reason) == (
        "engine died",
        "half of",
        7,
        "Unknown",
    )


def test_stream_that_groq_stopped_early_is_a_failure_that_keeps_text_and_usage():
    last = {**chunk(), "x_groq": {"error": "over capacity", "usage": {"prompt_tokens": 7, "completion_tokens": 2}}}
    found = failing(chunk({"content": "half of"}), last)
    assert (found.detail, found.excerpt, found.usage.input_tokens) == ("over capacity", "half of", 7)


def test_error_after_a_stop_reason_keeps_it():
    found = failing(chunk({"content": "half"}, "length"), {**chunk(), "error": {"code": 502, "message": "late"}})
    assert (found.stop_reason, found.raw_stop_reason, found.detail) == ("MaxTokens", "length", "late")


@pytest.mark.parametrize("wrapped", [True, False])
def test_event_named_error_is_an_error(wrapped):
    error = {"message": "no tool", "code": "tool_use_failed", "failed_generation": "<look>{"}
    answer = ChatAnswer(terms())
    with pytest.raises(ConstrainedDeadlock) as caught:
        read_stream(
            answer,
            events(chunk({"content": "x"}), done=False) + events({"error": error} if wrapped else error, name="error"),
        )
    assert (caught.value.sub_cause, caught.value.excerpt) == ("tool_use_failed", "<look>{")


def test_damaged_chunk_is_a_failure():
    answer = ChatAnswer(terms())
    with pytest.raises(ProviderUnavailable) as caught:
        read_stream(answer, b'data: {"choices": [{"delta"\n\n' + STREAM)
    assert caught.value.sub_cause == "cut_body"


def test_rejected_streaming_request_has_its_failure_class(chat_server):
    server = chat_server(lambda body: (429, {"retry-after": "7"}, {"error": {"message": "slow down"}}))
    with pytest.raises(RateLimited) as caught:
        streamed(server.base_url)
    assert caught.value.retry_after_s == 7


@pytest.mark.parametrize("ending", [Ending.CUT, Ending.RESET])
def test_broken_connection_is_a_failure_after_the_received_deltas(chat_server, ending):
    server = chat_server(lambda body: Chunks([events(chunk({"content": "half"}), done=False)], ending))
    deltas = []

    async def run():
        provider = opened(server.base_url)
        try:
            async for each in provider.stream(REQUEST):
                deltas.append(each)
        finally:
            await provider.aclose()

    with pytest.raises(ProviderUnavailable) as caught:
        asyncio.run(run())
    assert deltas in ([ChatDelta("half")], [])  # a reset may overtake the data
    assert ending is Ending.RESET or deltas
    facts = (caught.value.raw_length, caught.value.excerpt, caught.value.stop_reason)
    assert facts == ((4, "half", "Unknown") if deltas else (0, "", "Unknown"))


def test_stalled_stream_is_a_likely_timeout(chat_server):
    gone = threading.Event()

    def pieces():
        yield events(chunk({"content": "half"}), done=False)
        gone.wait(60)

    server = chat_server(lambda body: Chunks(pieces()))
    with pytest.raises(LikelyTimeout):
        streamed(server.base_url, idle_timeout_s=0.05)
    gone.set()


def test_secret_in_a_stream_is_redacted(chat_server):
    said = [
        events(chunk({"content": "x"}, model=f"echo {KEY}"), done=False),
        events({"error": {"message": f"bad key {KEY}", "code": KEY, "failed_generation": KEY}}),
    ]
    server = chat_server(lambda body: Chunks(said))
    with pytest.raises(CallFailed) as caught:
        streamed(server.base_url, api_key=lambda: KEY, headers={"x-extra": KEY[::-1]})
    assert KEY not in repr(caught.value) + str(caught.value) + str(caught.value.to_dict())

    server = chat_server(lambda body: Chunks([events(chunk({"content": "x"}, KEY, model=f"echo {KEY}"))]))
    _, response = streamed(server.base_url, api_key=lambda: KEY)
    assert KEY not in repr(attrs.evolve(response, text=""))


def test_a_long_stream_costs_no_more_memory_than_its_text():
    piece = events(chunk({"content": "word "}), done=False)
    answer = ChatAnswer(terms())
    read_stream(answer, piece)
    tracemalloc.start()
    for _ in range(5_000):
        read_stream(answer, piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000 * 120
    assert len(answer.finish().text) == 5 * 5_001


@pytest.mark.parametrize("kind", ["content", "reasoning_content"])
def test_a_character_whose_halves_arrive_in_two_events_is_kept(kind):
    response = read(chunk({kind: "a\ud83d"}), chunk({kind: "\ude00b"}), chunk(reason="stop"))
    assert (response.text or response.reasoning_content) == "a\N{GRINNING FACE}b"


def test_arguments_that_are_not_json_numbers_are_not_changed_to_null():
    found = read(chunk(calling(call(0, "c1", "f", {"x": float("nan"), "y": None}))), chunk(reason="tool_calls"))
    assert [each.arguments for each in found.tool_calls] == ['{"x": NaN, "y": null}']


@each_case(
    ("text", "usage", "has_ended"),
    [
        ("The tide rises at", None, False),
        ("The tide ", None, False),
        ("The tide rises at noon.", None, True),
        ("The tide rises at", {"completion_tokens": 4}, True),
    ],
)
def test_end_mark_without_a_reason_ends_a_text_that_looks_finished_or_has_its_usage(text, usage, has_ended):
    answer = ChatAnswer(terms())
    read_stream(answer, events(chunk({"content": text}), *([chunk(usage=usage)] if usage else [])))
    assert answer.has_ended() is has_ended


def test_index_that_is_used_again_belongs_to_the_latest_call():
    parts = [
        call(0, "a", "look_up", ""),
        call(0, arguments='{"n": 1}'),
        call(0, "b", "look_up", ""),
        call(0, arguments='{"n": 2}'),
    ]
    response = read(*(chunk(calling(part)) for part in parts), chunk(reason="tool_calls"))
    assert response.tool_calls == (ToolCall("a", "look_up", '{"n": 1}'), ToolCall("b", "look_up", '{"n": 2}'))


WHOLE = {"content": "hello", "reasoning_content": "hm", **calling(call(0, "a", "look", "{}"))}


@each_case(
    "deltas",
    [
        [{"content": "he"}],
        [{"content": "he"}, {"content": "llo"}],
        [{"reasoning_content": "h"}, {"content": "hello"}],
        [{"reasoning_content": "hm"}],
        [{"content": "hello"}, calling(call(0, "a", "look", "")), calling(call(0, arguments="{}"))],
        [{"role": "assistant"}],
        [],
    ],
)
def test_message_at_the_end_of_a_stream_adds_only_what_no_delta_delivered(chat_server, deltas):
    end = {"choices": [{"index": 0, "message": {"role": "assistant", **WHOLE}, "finish_reason": "tool_calls"}]}
    server = chat_server(lambda body: Chunks([events(*map(chunk, deltas), end)]))
    received, response = streamed(server.base_url)
    assert (response.text, response.reasoning_content) == ("hello", "hm")
    assert response.tool_calls == (ToolCall("a", "look", "{}"),)
    assert joined(received) == ("hello", "hm", [("a", "look", "{}")])


def test_refusal_at_the_end_of_a_stream_is_read_once_and_other_text_is_left_out():
    end = {"choices": [{"index": 0, "message": {"content": "Hello.", "refusal": "I cannot"}, "finish_reason": "stop"}]}
    found = read(chunk({"content": "Well, "}), chunk({"refusal": "I can"}), end)
    assert (found.text, found.refusal) == ("Well, ", "I cannot")


def test_stream_of_messages_in_place_of_deltas_is_joined():
    pieces = [{"choices": [{"index": 0, "message": {"content": text}}]} for text in ("ha", "ha", "!")]
    assert read(*pieces, chunk(reason="stop")).text == "haha!"


def test_events_without_empty_lines_between_them_are_read():
    stream = events(chunk({"content": "one "}), chunk({"content": "two"}), chunk(reason="stop"))
    answer = ChatAnswer(terms())
    read_stream(answer, stream.replace(b"\n\n", b"\n"))
    response = answer.finish()
    assert (response.text, response.stop_reason, answer.is_done) == ("one two", StopReason.END_TURN, True)
