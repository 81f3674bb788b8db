"""Only whole, undamaged answers are stored, and only bytes that are whole are an answer."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_cache.entries import decoded, encoded
from helmdeck_cache.usable_answers import problem_of_answer
from helmdeck_core import (
    CachedAnswer,
    ChatRequest,
    ChatResponse,
    Disposition,
    Message,
    Role,
    StopReason,
    TextPart,
    ToolCall,
    ToolDefinition,
    Usage,
)
from tests.case_support import each_case

REQUEST = ChatRequest(
    model="up/m",
    messages=(Message(Role.USER, (TextPart("which port?"),)),),
    tools=(ToolDefinition("look_up", "d", {"type": "object"}),),
)
GOOD = ChatResponse(text="443", stop_reason=StopReason.END_TURN)
CALL = ChatResponse(text="", stop_reason=StopReason.TOOL_CALL, tool_calls=(ToolCall("1", "look_up", '{"a": 1}'),))


@each_case(
    "response, problem",
    [
        (GOOD, ""),
        (CALL, ""),
        (attrs.evolve(GOOD, text=" \n"), "empty"),
        (attrs.evolve(GOOD, stop_reason=StopReason.MAX_TOKENS), "incomplete"),
        (attrs.evolve(GOOD, stop_reason=StopReason.UNKNOWN), "incomplete"),
        (attrs.evolve(GOOD, is_interrupted=True), "incomplete"),
        (attrs.evolve(GOOD, disposition=Disposition.RESUME), "incomplete"),
        (attrs.evolve(GOOD, stop_reason=StopReason.SAFETY_BLOCKED), "refusal"),
        (attrs.evolve(GOOD, refusal="I cannot"), "refusal"),
        (attrs.evolve(GOOD, downgrades=("2 oldest messages left out",)), "degraded"),
        (attrs.evolve(GOOD, unread=("image",)), "degraded"),
        (attrs.evolve(CALL, tool_calls=(ToolCall("1", "other", "{}"),)), "tool_calls"),
        (attrs.evolve(CALL, tool_calls=(ToolCall("1", "look_up", '{"a": '),)), "tool_calls"),
        (attrs.evolve(CALL, tool_calls=(ToolCall("1", "look_up", "[]"),)), "tool_calls"),
    ],
)
def test_unusable_answers_have_a_reason_not_to_be_stored(response, problem):
    assert problem_of_answer(REQUEST, response) == problem


ANSWER = CachedAnswer(
    response=attrs.evolve(
        CALL,
        text="ünï",
        reasoning_content="because",
        opaque={"signature": "s", "n": [1]},
        usage=Usage(input_tokens=5, output_tokens=2, reasoning_tokens=1),
        served_model="m-1",
        raw_stop_reason="tool_calls",
        strict_stop_reason=StopReason.TOOL_CALL,
    ),
    model="up/m",
    cost_usd=0.25,
    stored_s=1.5,
)
DATA = encoded(ANSWER, "owner")


def test_an_answer_is_the_same_after_it_was_stored():
    assert decoded(DATA, "owner") == ANSWER


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_damaged_bytes_are_ignored(index, change):
    damaged = bytearray(DATA)
    damaged[index] ^= change
    assert decoded(bytes(damaged), "owner") is None
    assert decoded(DATA[:index], "owner") is None


def test_bytes_of_another_owner_or_a_newer_release_are_ignored():
    assert decoded(DATA, "other") is None
    assert decoded(b"2" + DATA[1:], "owner") is None
    assert decoded(b"", "owner") is None
