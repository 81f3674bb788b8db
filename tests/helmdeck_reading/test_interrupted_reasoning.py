"""A continued stream has one text, and reasoning once: that of the model's own block and that of each attempt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helmdeck_core import ChatDelta, ChatRequest, Message, Role, StopReason, TextPart, ToolCallDelta
from helmdeck_core.calls.new_text import NewText
from helmdeck_core.calls.partial_answer import without_repetition
from helmdeck_core.calls.visible_text import VisibleText
from helmdeck_core.calls.watchdog import ReasoningWatchdog
from helmdeck_reading import reasoning_tags as reasoning
from helmdeck_reading.decoder.json_decoder import JsonDecoder
from helmdeck_testing import Reply, make_deck, scripted_provider

REQUEST = ChatRequest(model="a/one", messages=(Message(Role.USER, (TextPart("hello"),)),), max_tokens=1_000)


def opened(*replies: Reply, starts_in_reasoning: bool = True):
    """The streamed text, the streamed reasoning, and the response, of a model with these replies in chunks of three."""
    budget = {"is_hybrid_reasoning": True, "starts_in_reasoning": starts_in_reasoning}
    config = {"budgets": {"a/": budget}, "recovery": {"backoff_s": 0, "max_attempts": 4}, "fallback": {}}
    with make_deck(scripted_provider(replies, "a"), config=config) as deck:
        *deltas, response = deck.stream(REQUEST)
    return "".join(each.text for each in deltas), "".join(each.reasoning_content for each in deltas), response


def reply(text: str, reasoning: str = "", breaks_after: int | None = None) -> Reply:
    return Reply(text, reasoning=reasoning, breaks_after=breaks_after, piece_chars=3)


THOUGHT = "let me see</think>\n\nThe harbour has blue boats"


@pytest.mark.parametrize("breaks_after", range(7, 15))
def test_continuation_that_starts_in_reasoning_has_reasoning_and_text(breaks_after: int) -> None:
    text, reasoning, response = opened(
        reply(THOUGHT, breaks_after=breaks_after), reply("I resume</think>\n\nand nets. It is late.")
    )
    assert "</think>" not in text and "I resume" not in text
    assert text.endswith("and nets. It is late.") and reasoning == "let me see\n\nI resume"
    assert (response.text, response.reasoning_content) == (text, reasoning)


def test_continuation_of_a_continuation_starts_in_reasoning_too() -> None:
    text, reasoning, response = opened(
        reply(THOUGHT, breaks_after=12),
        reply("I resume</think>\n\nBut nets.", breaks_after=7),
        reply("once more</think>\n\nAnd so on."),
    )
    assert text == response.text and "think" not in text and text.endswith("And so on.")
    assert reasoning == response.reasoning_content == "let me see\n\nI resume\n\nonce more"


def test_text_before_a_block_that_was_interrupted_is_continued() -> None:
    replies = reply("It is blue and <think>hm hm hm", breaks_after=9), reply("It is blue and green.")
    text, reasoning, response = opened(*replies, starts_in_reasoning=False)
    assert (text, reasoning) == ("It is blue and green.", "hm hm")
    assert (response.text, response.reasoning_content) == (text, reasoning)


def test_half_a_tag_before_an_interruption_is_never_shown() -> None:
    replies = reply("The long harbour has <think>hm", breaks_after=8), reply("The long harbour has green boats.")
    text, _, response = opened(*replies, starts_in_reasoning=False)
    assert text == response.text == "The long harbour has green boats."


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        ("let me see", "let me see", "let me see"),
        ("let me", "let me see", "let me see"),
        ("let me see", "let me", "let me see"),
        ("let me see", "other idea", "let me see\n\nother idea"),
        ("let me see", "let us see", "let me see\n\nlet us see"),
    ],
)
def test_reasoning_of_a_failed_attempt_stays_and_is_not_repeated(first: str, second: str, shown: str) -> None:
    chunks = -(-len(first) // 3)
    replies = reply("Text", first, breaks_after=chunks), reply("It is blue.", second)
    text, reasoning, response = opened(*replies, starts_in_reasoning=False)
    assert (text, reasoning) == ("It is blue.", shown)
    assert (response.text, response.reasoning_content) == ("It is blue.", second)


def test_reasoning_of_a_third_attempt_is_compared_with_every_earlier_one() -> None:
    new = NewText()
    shown = []
    for text in ("abc", "abd", "abc", "abdx", "abd", "q"):
        new.begin()
        shown += [new.feed(char) for char in text]
    assert "".join(shown) == "abc\n\nabdx\n\nq"


def test_whole_answer_of_a_continued_attempt_has_no_reasoning_in_its_text() -> None:
    config = {"budgets": {"a/": {"is_hybrid_reasoning": True, "starts_in_reasoning": True}}, "fallback": {}}
    replies = reply(THOUGHT, breaks_after=12), reply("I resume</think>\n\nand nets.")
    with make_deck(scripted_provider(replies, "a"), config=config) as deck:
        response = deck.complete(REQUEST)
    assert "think" not in response.text and response.text.endswith("and nets.")
    assert response.reasoning_content == "let me see\n\nI resume"


DECODER = JsonDecoder(reasoning.helmdeck_reasoning_tags(), [])
DELTAS = st.lists(
    st.sampled_from(
        [
            ChatDelta(reasoning_content="hm hm"),
            ChatDelta(reasoning_content="x"),
            ChatDelta("<think>a"),
            ChatDelta("</think>"),
            ChatDelta("  "),
            ChatDelta("so", "hm"),
            ChatDelta(tool_call=ToolCallDelta(0, name="look")),
        ]
    ),
    max_size=8,
)


def watched(batches, starts_in_reasoning: bool, is_structured: bool, max_tokens: float | None):
    """The deltas that a watchdog passes on before it stops the model, and its state."""
    visible = VisibleText(DECODER, starts_in_reasoning=starts_in_reasoning)
    watchdog = ReasoningWatchdog(visible, max_tokens, is_structured=is_structured)
    passed: list[ChatDelta] = []
    for batch in batches:
        passed += watchdog.feed(batch)
        if watchdog.exceeds_reasoning_limit:
            break
    return passed, watchdog.has_output, watchdog.exceeds_reasoning_limit, watchdog.reasoning_tokens, watchdog.text


@given(DELTAS, st.booleans(), st.booleans(), st.sampled_from([None, 0.5, 2, 100]))
def test_reasoning_limit_does_not_depend_on_how_deltas_arrive(deltas, starts, is_structured, max_tokens) -> None:
    alone = watched([[each] for each in deltas], starts, is_structured, max_tokens)
    assert watched([deltas], starts, is_structured, max_tokens) == alone


@given(st.lists(DELTAS, max_size=3), st.booleans())
def test_visible_text_and_reasoning_do_not_depend_on_how_deltas_arrive(batches, starts) -> None:
    def visible(batches):
        text, new = VisibleText(DECODER, starts_in_reasoning=starts), NewText()
        found = [each for batch in batches for each in without_repetition(text.feed(batch), new)]
        found += text.finish(StopReason.MAX_TOKENS)
        assert all(each.text or each.reasoning_content or each.tool_call for each in found)
        texts, thoughts = ("".join(getattr(each, name) for each in found) for name in ("text", "reasoning_content"))
        return texts, thoughts, [each.tool_call for each in found if each.tool_call]

    assert visible(batches) == visible([[each] for batch in batches for each in batch])


def test_repeated_reasoning_of_a_further_attempt_is_left_out_of_a_batch() -> None:
    new = NewText()
    new.begin()
    first = [ChatDelta(reasoning_content="hm "), ChatDelta(reasoning_content="so"), ChatDelta("a"), ChatDelta()]
    assert without_repetition(first, new) == first[:-1]
    new.begin()
    second = [ChatDelta(reasoning_content="hm "), ChatDelta(reasoning_content="so"), ChatDelta("b", "!")]
    assert without_repetition(second, new) == [ChatDelta("b", "!")]
