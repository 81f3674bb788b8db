"""Truncated answers are continued in every kind of call, and the continuation is recorded."""

from __future__ import annotations

import asyncio

import pytest

from helmdeck_core import (
    ChatRequest,
    ChatResponse,
    ContinuationAttempt,
    ContinuationTerminated,
    InvalidRequest,
    Message,
    NativeContinuation,
    Role,
    StopReason,
    StopReasonObserved,
    TerminalReason,
    TextPart,
    ToolCall,
    ToolDefinition,
    ToolPayloadRepair,
    Usage,
    hookimpl,
)
from helmdeck_testing import EventRecorder, Fail, Reply, completion, make_deck, scripted_provider

PLAN = (
    '{"steps": [{"order": 1, "tool": "blog.draft", "args": {"brief": "the tide tables"}, "rationale": "requested"}], '
    '"complexity": "single-action", "reasoning": "one step"}'
)
TOOL = ToolDefinition("search", "Searches.", {"type": "object"})


def asking(**more) -> ChatRequest:
    return ChatRequest(model="scripted/any", messages=(Message(Role.USER, (TextPart("go"),)),), max_tokens=100, **more)


def part(text: str, stop: str = "length", **more) -> Reply:
    return Reply(text, stop, usage=Usage(input_tokens=7, output_tokens=100), **more)


def test_truncated_response_to_a_written_request_is_completed():
    script, recorder = scripted_provider([part("The tide comes in tw"), part("ice a day.", "stop")]), EventRecorder()
    with make_deck(script, recorder) as deck:
        response = deck.complete(asking())
    assert response.text == "The tide comes in twice a day."
    assert response.usage == Usage(input_tokens=14, output_tokens=200)
    assert response.continuation.to_dict() == {"terminal_reason": "completed", "attempts": 1, "parts": [20, 10]}
    observed = recorder.of(StopReasonObserved)
    assert [(event.raw_stop_reason, event.iteration) for event in observed] == [("length", 1), ("stop", 2)]
    assert len({event.call_id for event in recorder.of(StopReasonObserved, ContinuationTerminated)}) == 1
    (attempt,) = recorder.of(ContinuationAttempt)
    assert (attempt.attempt_index, attempt.output_tokens, attempt.output_chars) == (1, 100, 20)
    assert (attempt.remaining_tokens, attempt.remaining_chars) == (300, 120_000 - 20)
    (ended,) = recorder.of(ContinuationTerminated)
    assert (ended.terminal_reason, ended.attempts) == (TerminalReason.COMPLETED, 1)


def test_truncated_plan_is_completed_and_decoded():
    script = scripted_provider([Reply(PLAN[:90], "length"), Reply(PLAN[80:], "stop")])
    with make_deck(script, model="scripted/any") as deck:
        plan = deck.plan("draft a blog post about the tide tables")
    assert plan.steps[0].tool == "blog.draft"
    assert len(plan.attempts) == 1
    assert script.requests[1].messages[-2].role is Role.ASSISTANT


def test_complete_response_is_returned_unchanged_after_one_request():
    script, recorder = scripted_provider([Reply("  as it is \n")]), EventRecorder()
    with make_deck(script, recorder) as deck:
        assert deck.complete(asking()).text == "  as it is \n"
    assert len(script.requests) == 1
    assert not recorder.of(ContinuationAttempt, ContinuationTerminated)


def test_limits_come_from_the_configuration():
    script, recorder = scripted_provider([part("a b"), part(" c d")]), EventRecorder()
    with make_deck(script, recorder, config={"agent": {"continuation_max_attempts": 1}}) as deck:
        response = deck.complete(asking())
    assert response.text == "a b c d"
    assert response.stop_reason is StopReason.MAX_TOKENS
    assert recorder.of(ContinuationTerminated)[0].terminal_reason is TerminalReason.RETRY_LIMIT


def test_failed_continuation_keeps_the_partial_response():
    script = scripted_provider([part("half of"), Fail("provider_unavailable")])
    with make_deck(script) as deck:
        response = deck.complete(asking())
    assert response.text == "half of"
    assert response.continuation.is_partial
    assert "provider_unavailable" in response.continuation.notice


def test_timeout_of_a_continuation_keeps_the_partial_response(virtual_time):
    script = scripted_provider([part("half of"), Reply("never comes", delay_s=60)])
    with make_deck(script, config={"recovery": {"deadline_s": 0.4}}) as deck:
        response = deck.complete(asking())
    assert response.text == "half of"
    assert response.continuation.terminal_reason is TerminalReason.PROVIDER_ERROR
    assert response.continuation.cause == "likely_timeout"


def test_a_cancelled_continuation_is_cancelled():
    async def run() -> None:
        has_request = asyncio.Event()

        def late(_: ChatRequest) -> Reply:
            has_request.set()
            return Reply("never comes", delay_s=60)

        async with make_deck(scripted_provider([part("half of"), late])) as deck:
            task = asyncio.ensure_future(deck.acomplete(asking()))
            await has_request.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


class Takes:
    """Models that continue their own unfinished answer."""

    @hookimpl
    def helmdeck_native_continuations(self):
        return [
            NativeContinuation(prefix="scripted/"),
            NativeContinuation(prefix="scripted/never", is_taken=False),
        ]


def test_native_continuation_is_used_and_a_rejection_is_remembered():
    refusal = InvalidRequest("no prefill", status=400)
    script = scripted_provider([part("ha"), refusal, part("lf", "stop"), part("ha"), part("lf", "stop")])
    with make_deck(script, Takes()) as deck:
        assert deck.complete(asking()).text == "half"
        assert deck.complete(asking()).text == "half"
    assert [request.continues for request in script.requests] == [False, True, False, False, False]


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("more", ["\n\nTwo.", "\nTwo.", "Two."], ids=ascii)
def test_prefill_does_not_double_the_whitespace_that_it_is_sent_without(more, is_stream):
    script = scripted_provider([part("One.\n\n"), part(more, "stop")])
    with make_deck(script, Takes()) as deck:
        answer = list(deck.stream(asking()))[-1] if is_stream else deck.complete(asking())
    assert script.requests[1].messages[-1].text == "One."
    assert answer.text == "One.\n\nTwo."


def test_hint_keeps_whitespace_that_a_continuation_starts_with():
    with make_deck(scripted_provider([part("One.\n"), part("\nTwo.", "stop")])) as deck:
        assert deck.complete(asking()).text == "One.\n\nTwo."


def test_longest_prefix_decides_on_native_continuation():
    script = scripted_provider([part("ha"), part("lf", "stop")] * 2)
    with make_deck(script, Takes()) as deck:
        deck.complete(asking())
        deck.complete(ChatRequest(model="scripted/never-this", messages=asking().messages, max_tokens=100))
    assert [request.continues for request in script.requests] == [False, True, False, False]


def test_truncated_tool_calls_are_repaired_once_and_reported():
    cut, whole = ToolCall("c1", "search", '{"q": "ti'), ToolCall("c1", "search", '{"q": "tides"}')
    script = scripted_provider([part("", tool_calls=(cut,)), part("", "tool_calls", tool_calls=(whole,))])
    recorder = EventRecorder()
    with make_deck(script, recorder) as deck:
        response = deck.complete(asking(tools=(TOOL,)))
    assert response.tool_calls == (whole,)
    (repair,) = recorder.of(ToolPayloadRepair)
    assert (repair.parse_issue, repair.repair_attempts, repair.is_successful) == ("cut", 1, True)


def test_tool_calls_that_stay_truncated_are_not_returned():
    cut = ToolCall("c1", "search", '{"q": "ti')
    script, recorder = scripted_provider([part("Looking.", tool_calls=(cut,))] * 2), EventRecorder()
    with make_deck(script, recorder) as deck:
        response = deck.complete(asking(tools=(TOOL,)))
    assert response.tool_calls == ()
    assert response.text == "Looking."
    assert recorder.of(ToolPayloadRepair)[0].is_successful is False


def test_continuations_over_http_are_joined(chat_server):
    def answer(body):
        is_first = len(body["messages"]) == 1
        return completion("The gauge reads fo" if is_first else "reads four metres.", "length" if is_first else "stop")

    server = chat_server(answer)
    config = {"providers": {"vllm": {"base_url": server.base_url}}}
    with make_deck(config=config) as deck:
        request = ChatRequest(model="vllm/tiny", messages=asking().messages, max_tokens=8)
        assert deck.complete(request).text == "The gauge reads four metres."
    assert server.requests[1].body["messages"][-1]["role"] == "assistant"


def test_text_that_ends_in_whitespace_only_is_not_continued():
    script = scripted_provider([part("The tide" + "\n" * 500)])
    with make_deck(script) as deck:
        assert deck.complete(asking()).continuation is None
    script = scripted_provider([part("The tide comes"), part(" in" + " \n" * 500)])
    with make_deck(script) as deck:
        assert deck.complete(asking()).continuation.terminal_reason is TerminalReason.NO_PROGRESS


# -- streams -----------------------------------------------------------------------------------------------------------

ANSWER = (
    "The pilot read the gauge twice and wrote the lower figure down. No one on the bridge asked her why, because "
    "everybody on the bridge had seen the other gauge.\n\nIn the afternoon the wind went round to the north, and the "
    "harbour, which had been open since the spring, was closed to anything with a keel."
)


def streamed(*replies, **options) -> tuple[str, str, ChatResponse]:
    """The text of the deltas, their reasoning, and the response."""
    with make_deck(scripted_provider(replies), **options) as deck:
        *pieces, response = deck.stream(asking())
    return "".join(piece.text for piece in pieces), "".join(piece.reasoning_content for piece in pieces), response


@pytest.mark.parametrize(
    "more",
    [
        ANSWER[100:],
        ANSWER[60:],
        ANSWER,
        "Sure, continuing from where I left off:\n\n" + ANSWER[40:],
        "<think>where was I?</think>" + ANSWER[100:],
    ],
    ids=["exactly", "overlap", "everything again", "announced", "thought first"],
)
def test_continued_stream_has_no_seam(more):
    text, _, response = streamed(part(ANSWER[:100]), part(more, "stop"))
    assert text == response.text == ANSWER
    assert response.continuation.terminal_reason is TerminalReason.COMPLETED


def test_complete_stream_is_not_continued():
    text, _, response = streamed(part("All of it.", "stop"))
    assert text == response.text == "All of it."
    assert response.continuation is None


def test_chunks_before_a_failed_continuation_are_kept():
    text, _, response = streamed(part("half of"), Fail("provider_unavailable"))
    assert text == response.text == "half of"
    assert response.continuation.terminal_reason is TerminalReason.PROVIDER_ERROR


def test_repaired_tool_call_comes_with_the_response_without_chunks():
    cut, whole = ToolCall("c1", "search", '{"q": "ti'), ToolCall("c1", "search", '{"q": "tides"}')
    script = scripted_provider([part("Looking.", tool_calls=(cut,)), part("Here:", "tool_calls", tool_calls=(whole,))])
    with make_deck(script) as deck:
        *pieces, response = deck.stream(asking(tools=(TOOL,)))
    assert "".join(piece.text for piece in pieces) == response.text == "Looking."
    assert response.tool_calls == (whole,)


def test_closing_a_stream_during_a_continuation_ends_it():
    script = scripted_provider([part(ANSWER[:100]), part(ANSWER[100:], "stop")])

    async def run() -> None:
        async with make_deck(script) as deck:
            pieces = deck.astream(asking())
            seen = ""
            async for piece in pieces:
                seen += "" if isinstance(piece, ChatResponse) else piece.text
                if len(seen) > 110:
                    break
            await pieces.aclose()
            assert ANSWER.startswith(seen)

    asyncio.run(run())
