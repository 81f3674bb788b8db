"""A truncated answer is completed within its limits, and a truncated tool call never runs."""

from __future__ import annotations

import copy
import itertools
import json

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import (
    ChatRequest,
    ChatResponse,
    ContinuationAnnouncement,
    Disposition,
    Message,
    ProviderUnavailable,
    Role,
    StopReason,
    TextPart,
    ToolCall,
    ToolDefinition,
    Usage,
)
from helmdeck_core.calls.answer_shape import AnswerShapeCheck
from helmdeck_core.calls.continuation.turn import SendRequest, Turn, TurnResult
from helmdeck_core.domain.continuation import TRANSITIONS, ContinuationLimits, TerminalReason, Trigger, TurnState
from helmdeck_recovery.continuation.merge import Merger
from helmdeck_testing import make_deck
from tests.case_support import each_case

RUNTIME = make_deck().runtime
MERGER = Merger(RUNTIME.contributions.values_of(ContinuationAnnouncement))
SEARCH = ToolDefinition("search", "Searches.", {"type": "object", "properties": {"q": {"type": "string"}}})
WHOLE_CALL = ToolCall("c1", "search", '{"q": "tides"}')
PARTIAL_CALL = ToolCall("c1", "search", '{"q": "tid')


def chat_request(*, tools: tuple[ToolDefinition, ...] = (), max_tokens: int = 100) -> ChatRequest:
    return ChatRequest(
        model="acme/small", messages=(Message(Role.USER, (TextPart("go"),)),), max_tokens=max_tokens, tools=tools
    )


def turn(request: ChatRequest | None = None, *, type: object = None, native: bool = False, **limits: int) -> Turn:
    request = request or chat_request()
    limits = {"max_completion_tokens": 400, "max_thought_share": 0.5, **limits}
    judge = AnswerShapeCheck(RUNTIME, request, type)
    return Turn(request, ContinuationLimits(**limits), judge, RUNTIME.texts, MERGER, takes_native=lambda: native)


def reply(text: str = "", stop: StopReason = StopReason.END_TURN, tokens: int = 10, **more: object) -> ChatResponse:
    return ChatResponse(
        text=text, stop_reason=stop, raw_stop_reason=stop.value.lower(), usage=Usage(output_tokens=tokens), **more
    )


def cut(text: str, tokens: int = 100, **more: object) -> ChatResponse:
    return reply(text, StopReason.MAX_TOKENS, tokens, **more)


def finished(step: object) -> ChatResponse:
    assert isinstance(step, TurnResult)
    return step.response


def sent(step: object) -> SendRequest:
    assert isinstance(step, SendRequest)
    return step


# -- the machine ---------------------------------------------------------------------------------------------------


def test_every_state_is_reachable_and_only_two_are_final():
    reached = {TurnState.REQUEST, *TRANSITIONS.values()}
    left = {state for state, _ in TRANSITIONS}
    assert reached == set(TurnState)
    assert set(TurnState) - left == {TurnState.COMPLETE, TurnState.ABORT}


def test_complete_response_is_returned_unchanged():
    answer = reply("  All of it.\n")
    assert finished(turn().feed(answer)) is answer


def test_truncated_response_is_continued_and_merged():
    this = turn()
    step = sent(this.feed(cut("The tide comes in tw")))
    assert [part.text for message in step.request.messages for part in message.parts][1] == "The tide comes in tw"
    response = finished(this.feed(reply("twice a day.")))
    assert response.text == "The tide comes in twice a day."
    assert response.stop_reason is StopReason.END_TURN
    assert response.usage.output_tokens == 110
    assert response.continuation is not None
    assert response.continuation.terminal_reason is TerminalReason.COMPLETED
    assert response.continuation.attempts == 1
    assert this.path == [
        TurnState.REQUEST,
        TurnState.EVALUATE_STOP,
        TurnState.CONTINUE_PENDING,
        TurnState.REQUEST_CONTINUATION,
        TurnState.EVALUATE_STOP,
        TurnState.COMPLETE,
    ]


def test_hint_requests_continuation_without_repetition_and_complete_tool_calls():
    messages = sent(turn().feed(cut("half of"))).request.messages
    hint = messages[-1].text.lower()
    assert messages[-1].role is Role.USER
    assert "continue with" in hint
    assert "repeat nothing" in hint
    assert "one complete call" in hint


def test_native_continuation_ends_with_the_truncated_response():
    step = sent(turn(native=True).feed(cut("half of \n")))
    assert step.is_native
    assert step.request.continues
    assert step.request.messages[-1].role is Role.ASSISTANT
    assert step.request.messages[-1].text == "half of"


def test_rejected_native_continuation_is_sent_again_with_a_hint():
    this = turn(native=True)
    step = this.without_native(sent(this.feed(cut("half of"))))
    assert not step.request.continues
    assert step.request.messages[-1].role is Role.USER
    assert finished(this.feed(reply(" it"))).text == "half of it"


@each_case(
    ("limits", "answers", "outcome", "attempts"),
    [
        ({"max_attempts": 3}, ["a b", " c d", " e f", " g h"], TerminalReason.RETRY_LIMIT, 3),
        ({"max_attempts": 0}, ["a b"], TerminalReason.RETRY_LIMIT, 0),
        ({"max_attempts": 9}, ["a b", " c d", " e f", " g h"], TerminalReason.BUDGET_EXHAUSTED, 3),
        ({"max_output_chars": 10}, ["one two", " three four"], TerminalReason.BUDGET_EXHAUSTED, 1),
        ({"max_attempts": 9}, ["one two three four"] * 3, TerminalReason.NO_PROGRESS, 2),
    ],
)
def test_limits_end_a_turn_with_a_partial_response_and_a_notice(limits, answers, outcome, attempts):
    this = turn(**limits)
    *_, last = [this.feed(cut(answer)) for answer in answers]
    response = finished(last)
    assert response.text == "".join(dict.fromkeys(answers))
    assert response.stop_reason is StopReason.MAX_TOKENS
    assert response.continuation.terminal_reason is outcome
    assert response.continuation.attempts == attempts
    assert response.continuation.notice.startswith("the response is truncated")


def test_output_limit_of_a_continuation_is_the_rest_of_the_turn_budget():
    this = turn(max_completion_tokens=150)
    assert sent(this.feed(cut("one"))).request.max_tokens == 50


def test_model_that_starts_over_gets_more_room_once():
    this = turn(max_completion_tokens=400)
    answer = "one two three four five six seven"
    assert sent(this.feed(cut(answer))).request.max_tokens == 100
    assert sent(this.feed(cut(answer))).request.max_tokens == 200
    assert finished(this.feed(reply(answer + " eight"))).text == answer + " eight"


def test_failure_during_a_turn_keeps_the_text_with_a_notice():
    this = turn()
    this.feed(cut("half of"))
    response = finished(this.fail(ProviderUnavailable("gone")))
    assert response.text == "half of"
    assert response.stop_reason is StopReason.MAX_TOKENS
    assert response.continuation.terminal_reason is TerminalReason.PROVIDER_ERROR
    assert response.continuation.cause == "provider_unavailable"


def test_failure_of_the_first_request_is_raised():
    with pytest.raises(ProviderUnavailable):
        turn().fail(ProviderUnavailable("gone"))


@each_case(
    ("stop", "outcome"),
    [
        (StopReason.SAFETY_BLOCKED, TerminalReason.SAFETY_BLOCKED),
        (StopReason.CONTEXT_WINDOW_EXCEEDED, TerminalReason.CONTEXT_WINDOW_EXCEEDED),
        (StopReason.CANCELLED, TerminalReason.PROVIDER_ERROR),
        (StopReason.UNKNOWN, TerminalReason.UNKNOWN_STOP),
    ],
)
def test_a_fatal_stop_is_never_continued(stop, outcome):
    first = reply("blocked", stop)
    assert finished(turn().feed(first)) is first
    later = turn()
    later.feed(cut("half of"))
    response = finished(later.feed(reply(" it", stop)))
    assert response.text == "half of it"
    assert response.continuation.terminal_reason is outcome


@each_case("stops", [[StopReason.END_TURN] * 2, [StopReason.END_TURN, StopReason.MAX_TOKENS]])
def test_refusal_to_continue_does_not_complete_a_truncated_answer(stops):
    this = turn()
    this.feed(cut("The tide comes in tw"))
    sent(this.feed(reply("I am sorry, but I cannot continue.", stops[0])))
    response = finished(this.feed(reply("Here is the rest:", stops[1])))
    assert (response.text, response.stop_reason) == ("The tide comes in tw", StopReason.MAX_TOKENS)
    assert response.continuation.terminal_reason is TerminalReason.NO_PROGRESS


def test_answer_that_a_continuation_repeats_to_its_end_is_complete():
    this = turn()
    this.feed(cut("The tide comes in twice a day."))
    response = finished(this.feed(reply("The tide comes in twice a day.")))
    assert (response.text, response.stop_reason) == ("The tide comes in twice a day.", StopReason.END_TURN)


def test_paused_turn_is_sent_back_unchanged():
    this = turn()
    step = sent(this.feed(reply("so far", StopReason.UNKNOWN, disposition=Disposition.RESUME, opaque={"blocks": 1})))
    assert step.request.messages[-1].role is Role.ASSISTANT
    assert step.request.messages[-1].opaque == {"blocks": 1}
    assert finished(this.feed(reply(" and on"))).text == "so far and on"


# -- structured output ---------------------------------------------------------------------------------------------


def test_truncated_json_is_continued_until_it_is_complete():
    this = turn(type=dict)
    step = sent(this.feed(cut('{"a": "one lo')))
    assert step.request.response_format is None
    assert json.loads(finished(this.feed(reply('ng line"}'))).text) == {"a": "one long line"}


def test_json_that_is_only_repeated_ends_the_turn():
    this = turn(type=dict)
    this.feed(cut('{"a": "one lo'))
    response = finished(this.feed(cut('{"a": "one lo')))
    assert response.continuation.terminal_reason is TerminalReason.NO_PROGRESS
    assert response.continuation.attempts == 1


def test_complete_json_at_the_output_limit_is_not_continued():
    answer = cut('{"a": 1}')
    assert finished(turn(type=dict).feed(answer)) is answer


def test_truncated_json_with_a_clean_stop_reason_is_continued():
    assert isinstance(turn(type=dict).feed(reply('{"a": "one lo')), SendRequest)
    assert isinstance(turn(type=dict).feed(reply('{"a": ]]')), TurnResult)


def test_rewritten_json_replaces_the_truncated_one():
    this = turn(type=dict)
    this.feed(cut('{"name": "one lo'))
    assert finished(this.feed(reply('{"name": "shorter"}'))).text == '{"name": "shorter"}'


def test_object_inside_a_truncated_list_is_not_the_answer():
    this = turn(type=dict)
    this.feed(cut('{"steps": [{"a": 1}, {"b": '))
    assert finished(this.feed(reply('{"b": 2}]}'))).text == '{"steps": [{"a": 1}, {"b": 2}]}'


@each_case(
    "begun, more",
    [
        ('["Paris", "Lon', 'don", "Ber'),
        ('["Paris", "Lon', "Sorry, here is more"),
        ('```json\n[{"a": 1}, {"a": "x', 'y"}, {"a": "z'),
        ('Here is the list:\n\n```json\n["Paris", "Lon', 'don", "Ber'),
        ("[1, 2", ", Sure! three"),
    ],
    ids=["string", "prose", "fence", "introduction", "invalid"],
)
def test_plain_text_that_ends_inside_its_json_is_truncated_whatever_the_stop_reason(begun, more):
    this = turn(max_attempts=2)
    this.feed(cut(begun))
    sent(this.feed(reply(more)))
    response = finished(this.feed(reply(" and so on")))
    assert not response.is_complete
    assert response.stop_reason is StopReason.MAX_TOKENS
    assert response.continuation.terminal_reason is TerminalReason.RETRY_LIMIT


@each_case(
    "begun, more, text",
    [
        ('["Paris", "Lon', 'don"]', '["Paris", "London"]'),
        ('["Paris", "Lon', 'don"]\n\nThese are cities.', '["Paris", "London"]\n\nThese are cities.'),
        ('["Paris", "London"]\n\nThese {a, b', "} are cit", '["Paris", "London"]\n\nThese {a, b} are cit'),
        ('["Paris", "Lon', '["Paris", "London"]', '["Paris", "London"]'),
        ("[Note: the tide comes in tw", "ice [1, 2", "[Note: the tide comes in twice [1, 2"),
        ('The call f(["a", "b', '", and', 'The call f(["a", "b", and'),
        ("```python\nx = [1, 2", ", 3", "```python\nx = [1, 2, 3"),
    ],
    ids=["whole", "text after it", "in the text after it", "restarted", "bracketed note", "code in prose", "code"],
)
def test_plain_text_outside_of_incomplete_json_ends_with_its_clean_stop_reason(begun, more, text):
    this = turn()
    this.feed(cut(begun))
    response = finished(this.feed(reply(more)))
    assert response.text == text
    assert response.is_complete


def test_incomplete_json_of_plain_text_is_continued_until_it_is_complete():
    this = turn()
    this.feed(cut('["Paris", "Lon'))
    this.feed(reply('don", "Ber'))
    response = finished(this.feed(reply('lin"]')))
    assert response.text == '["Paris", "London", "Berlin"]'
    assert response.is_complete
    assert response.continuation.attempts == 2


@each_case(
    "answer",
    [
        cut("<think>and then and then"),
        cut(""),
        cut("   \n"),
        ChatResponse(
            text='{"a": "o', stop_reason=StopReason.MAX_TOKENS, usage=Usage(output_tokens=100, reasoning_tokens=90)
        ),
    ],
    ids=["all thought", "empty", "blank", "mostly thought"],
)
def test_no_continuation_where_a_retry_is_cheaper(answer):
    this = turn(type=dict)
    assert finished(this.feed(answer)) is answer
    assert this.state is TurnState.ABORT


def test_reasoning_before_a_continuation_is_stripped():
    this = turn(type=dict)
    this.feed(cut('<think>first</think>{"a": "one lo'))
    response = finished(this.feed(reply('<think>continue</think>ng"}')))
    assert response.text == '<think>first</think>{"a": "one long"}'


# -- tool calls --------------------------------------------------------------------------------------------------------


def test_complete_tool_calls_are_returned():
    answer = reply("", StopReason.TOOL_CALL, tool_calls=(WHOLE_CALL,))
    this = turn(chat_request(tools=(SEARCH,)))
    assert finished(this.feed(answer)).tool_calls == (WHOLE_CALL,)
    assert this.state is TurnState.EXECUTE_TOOLS


@each_case(
    "answer",
    [
        cut("", tool_calls=(PARTIAL_CALL,)),
        cut("", tool_calls=(WHOLE_CALL,)),
        cut("", tool_calls=(WHOLE_CALL, attrs.evolve(PARTIAL_CALL, id="c2"))),
        reply("", StopReason.TOOL_CALL, tool_calls=(PARTIAL_CALL,)),
        reply("", StopReason.END_TURN, tool_calls=(WHOLE_CALL, attrs.evolve(PARTIAL_CALL, id="c2"))),
        cut('<tool_call>{"name": "search", "arguments": {"q": "ti'),
        reply('<tool_call>{"name": "search", "arguments": {"q": "ti'),
    ],
    ids=["cut", "whole at the limit", "list", "cut, says tools", "list, says end", "text", "text, says end"],
)
def test_possibly_truncated_tool_calls_are_dropped_and_requested_once_more(answer):
    this = turn(chat_request(tools=(SEARCH,)))
    step = sent(this.feed(answer))
    assert step.is_repair
    assert step.request.tools == (SEARCH,)
    assert "complete" in step.request.messages[-1].text
    repaired = finished(this.feed(reply("", StopReason.TOOL_CALL, tool_calls=(WHOLE_CALL,))))
    assert repaired.tool_calls == (WHOLE_CALL,)
    assert repaired.stop_reason is StopReason.TOOL_CALL
    assert repaired.continuation.repairs == 1
    assert repaired.continuation.attempts == 0


@pytest.mark.parametrize("stop", [StopReason.MAX_TOKENS, StopReason.END_TURN])
def test_complete_calls_of_a_truncated_list_are_part_of_the_repair_request(stop):
    this = turn(chat_request(tools=(SEARCH,)))
    calls = (WHOLE_CALL, attrs.evolve(PARTIAL_CALL, id="c2"))
    hint = sent(this.feed(reply("", stop, tokens=100, tool_calls=calls))).request.messages[-1].text
    assert f"{WHOLE_CALL.name}({WHOLE_CALL.arguments})" in hint and "send them again" in hint


@pytest.mark.parametrize("again", [cut("", tool_calls=(PARTIAL_CALL,)), reply("No call."), cut("")])
def test_failed_repair_leaves_text_and_notice_without_tool_calls(again):
    this = turn(chat_request(tools=(SEARCH,)))
    this.feed(cut("I will look.", tool_calls=(PARTIAL_CALL,)))
    response = finished(this.feed(again))
    assert response.tool_calls == ()
    assert response.text == "I will look."
    assert response.stop_reason is StopReason.MAX_TOKENS
    assert response.continuation.terminal_reason is TerminalReason.TOOL_REPAIR_FAILED
    assert "was not executed" in response.continuation.notice


def test_repairs_and_continuations_have_separate_limits():
    this = turn(chat_request(tools=(SEARCH,)), max_attempts=1, tool_repair_attempts=1)
    assert not sent(this.feed(cut("I will lo"))).is_repair
    assert sent(this.feed(cut("ok.", tool_calls=(PARTIAL_CALL,)))).is_repair
    response = finished(this.feed(reply("", StopReason.TOOL_CALL, tool_calls=(WHOLE_CALL,))))
    assert (response.text, response.tool_calls) == ("I will look.", (WHOLE_CALL,))


def test_tool_results_continue_the_turn_with_its_counters():
    this = turn(chat_request(tools=(SEARCH,)), max_attempts=1)
    this.feed(cut("one"))
    this.feed(reply(" two", StopReason.TOOL_CALL, tool_calls=(WHOLE_CALL,)))
    this.results(chat_request(tools=(SEARCH,)))
    assert finished(this.feed(cut("three"))).continuation.terminal_reason is TerminalReason.RETRY_LIMIT


def test_usage_of_a_response_does_not_include_earlier_tool_calls():
    this = turn(chat_request(tools=(SEARCH,)))
    first = reply("", StopReason.TOOL_CALL, 50, tool_calls=(WHOLE_CALL,))
    this.feed(first)
    this.results(chat_request(tools=(SEARCH,)))
    this.feed(cut("one", 30))
    assert finished(this.feed(reply(" two", StopReason.END_TURN, 20))).usage.output_tokens == 50


def test_copy_of_a_turn_is_continued_without_changing_the_turn():
    this = turn(chat_request(tools=(SEARCH,)), max_attempts=2)
    this.feed(cut("one"))
    this.feed(reply(" two", StopReason.TOOL_CALL, tool_calls=(WHOLE_CALL,)))
    path = [*this.path]
    for _ in range(2):  # a retry continues another copy
        again = copy.copy(this)
        again.results(chat_request(tools=(SEARCH,)))
        sent(again.feed(cut("three")))
        assert finished(again.feed(cut(" four"))).continuation.terminal_reason is TerminalReason.RETRY_LIMIT
    assert (this.path, this.state) == (path, TurnState.EXECUTE_TOOLS)


# -- any script ----------------------------------------------------------------------------------------------------------

TEXTS = st.sampled_from(
    ["", "  ", "some words", " and more words", "more", '{"a": 1', '{"a": 1}', "<think>hm", "</think>x"]
)
CALLS = st.lists(st.sampled_from([WHOLE_CALL, PARTIAL_CALL, ToolCall("", "other", "{}")]), max_size=2).map(tuple)
ANSWERS = st.builds(
    lambda text, stop, calls, tokens, pauses: reply(
        text, stop, tokens, tool_calls=calls, disposition=Disposition.RESUME if pauses else None
    ),
    TEXTS,
    st.sampled_from(list(StopReason)),
    CALLS,
    st.integers(0, 120),
    st.booleans(),
)


@given(st.lists(st.none() | ANSWERS, min_size=1, max_size=12), st.booleans(), st.sampled_from([None, dict]))
def test_every_turn_ends_within_its_limits(script, has_tools, type):
    limits = ContinuationLimits(max_attempts=2, max_completion_tokens=300, max_output_chars=60, tool_repair_attempts=1)
    request = chat_request(tools=(SEARCH,) if has_tools else ())
    this = Turn(request, limits, AnswerShapeCheck(RUNTIME, request, type), RUNTIME.texts, MERGER)
    answers = iter(itertools.chain(script, itertools.repeat(reply("the end"))))
    requests, used, last = 1, 0, None
    while True:
        last = next(answers)
        if last is None:
            if requests == 1:
                with pytest.raises(ProviderUnavailable):
                    this.fail(ProviderUnavailable("gone"))
                return
            step = this.fail(ProviderUnavailable("gone"))
        else:
            used += last.usage.output_tokens
            step = this.feed(last)
        if isinstance(step, TurnResult):
            break
        requests += 1
        assert used < limits.max_completion_tokens
        assert step.request.max_tokens <= limits.max_completion_tokens - used
    assert requests <= 1 + limits.max_attempts + limits.tool_repair_attempts
    assert this.state in (TurnState.COMPLETE, TurnState.ABORT, TurnState.EXECUTE_TOOLS)
    if this.state is TurnState.EXECUTE_TOOLS:
        assert last is not None
        assert last.stop_reason in (StopReason.TOOL_CALL, StopReason.END_TURN)
        assert all(json.loads(call.arguments) is not None for call in step.response.tool_calls)
    elif step.response.continuation is not None:
        assert step.response.tool_calls == ()


@each_case("state", TurnState)
def test_transitions_outside_the_table_are_errors(state):
    for trigger in Trigger:
        this = turn()
        this.state = state
        if (state, trigger) in TRANSITIONS:
            this._move(trigger)
            assert this.state is TRANSITIONS[state, trigger]
        else:
            with pytest.raises(KeyError):
                this._move(trigger)
