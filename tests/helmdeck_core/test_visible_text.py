"""The text of completions and streams contains no reasoning, whatever its tags and the borders of the chunks."""

from __future__ import annotations

import pytest

from helmdeck_core import CallFailed, ChatRequest, Message, ResponseFormat, Role, TextPart
from helmdeck_testing import Reply, make_deck, scripted_provider

REQUEST = ChatRequest(model="a/one", messages=(Message(Role.USER, (TextPart("hello"),)),), max_tokens=1_000)
JSON = ChatRequest(
    model="a/one", messages=REQUEST.messages, max_tokens=1_000, response_format=ResponseFormat(kind="json_object")
)

ANSWERS = [
    ("<think>so</think>\n\nHello.", "Hello.", "so"),
    ("Hello. <think>so</think>Bye.", "Hello. Bye.", "so"),
    ("[THINK]so[/THINK]Hello.", "Hello.", "so"),
    ("<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>final<|message|>Hello.", "Hello.", "so"),
    (
        "<|start|>assistant<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>final<|message|>Hello.",
        "Hello.",
        "so",
    ),
    ("Hello.<think>so", "Hello.", "so"),
    ("  Hello. ", "  Hello. ", ""),
    ("Write `<think>` and `</think>` around it.", "Write `<think>` and `</think>` around it.", ""),
    ("a < b and <b>bold</b>", "a < b and <b>bold</b>", ""),
]

FENCE = "Use this:\n```xml\n\n\n<thinking>\n\n\nStep by step.\n</thinking>\n\n<answer>x</answer>\n```\nDone."
QUOTED = [
    FENCE,
    "~~~\n<think>\n~~~",
    "1. Use:\n\n   ````\n   ```\n   </think>\n   ````",
    "```html\n<analysis>is never closed</analysis>",
    '{"html": "<think>x</think> y"}',
    '[{"html": "say \\"<think>\\" or </think>"}, ["<think>"]]',
    "To close a think block, write </think> at the end.",
    "The word assistantfinal is a mark.",
]
ANSWERS += [(raw, raw, "") for raw in QUOTED]
ANSWERS += [(f"<think>so</think>\n\n{raw}", raw, "so") for raw in QUOTED[:6]]
ANSWERS += [
    (f"{FENCE}\n<think>so</think>Bye.", f"{FENCE}\nBye.", "so"),
    (f"{FENCE}<think>so</think>", FENCE, "so"),
    ('{"a": "<think>"}\n<think>so</think>', '{"a": "<think>"}\n', "so"),
    (f"<think>so\n{FENCE}</think>Bye.", "Bye.", f"so\n{FENCE}"),
    (f"Hello.<think>so\n{FENCE[:60]}", "Hello.", f"so\n{FENCE[:60]}"),
]


def streamed(reply: str | Reply, request: ChatRequest = REQUEST, **config: object):
    with make_deck(scripted_provider([reply], "a"), config={"fallback": {}, **config}) as deck:
        *deltas, response = deck.stream(request)
    return "".join(each.text for each in deltas), "".join(each.reasoning_content for each in deltas), response


def completed(reply: str | Reply, request: ChatRequest = REQUEST, **config: object):
    with make_deck(scripted_provider([reply], "a"), config={"fallback": {}, **config}) as deck:
        return deck.complete(request)


@pytest.mark.parametrize(("raw", "text", "reasoning"), ANSWERS)
def test_reasoning_in_the_text_of_a_response_becomes_its_reasoning_content(raw: str, text: str, reasoning: str) -> None:
    response = completed(raw)
    assert (response.text, response.reasoning_content) == (text, reasoning)


@pytest.mark.parametrize("chars", [1, 3, 1_000])
@pytest.mark.parametrize(("raw", "text", "reasoning"), ANSWERS)
def test_reasoning_in_streamed_text_becomes_reasoning_deltas(raw: str, text: str, reasoning: str, chars: int) -> None:
    visible, hidden, response = streamed(Reply(raw, piece_chars=chars))
    assert (visible, hidden) == (text, reasoning)
    assert (response.text, response.reasoning_content) == (text, reasoning)


@pytest.mark.parametrize(("raw", "text", "reasoning"), ANSWERS)
def test_asked_text_contains_no_reasoning(raw: str, text: str, reasoning: str) -> None:
    with make_deck(scripted_provider([raw], "a"), config={"fallback": {}, "model": "a/one"}) as deck:
        answer = deck.ask("hello")
    assert (answer.value, answer.response.text, answer.response.reasoning_content) == (text, text, reasoning)


def test_reasoning_in_the_text_follows_that_of_the_provider() -> None:
    reply = Reply("<think>and so</think>Hello.", reasoning="first, ")
    visible, hidden, response = streamed(reply)
    assert (visible, hidden) == ("Hello.", "first, and so")
    assert (response.text, response.reasoning_content) == (visible, hidden)
    assert completed(reply).reasoning_content == hidden


def test_closing_tag_without_an_opening_one_ends_reasoning_of_a_whole_response() -> None:
    response = completed("hm, or not\n</think>\nHello.")
    assert (response.text, response.reasoning_content) == ("Hello.", "hm, or not\n")


@pytest.mark.parametrize("raw", ['{"a": "<think>x</think>"}', '<think>so</think>\n{"a": "<think>x</think>"}'])
def test_tags_inside_structured_text_are_kept(raw: str) -> None:
    expected = '{"a": "<think>x</think>"}'
    assert completed(raw, JSON).text == expected
    for chars in (1, 4, 1_000):
        visible, _, response = streamed(Reply(raw, piece_chars=chars), JSON)
        assert visible == response.text == expected


@pytest.mark.parametrize("raw", ["<think>only this", "<think>only this</think>"])
def test_response_of_reasoning_alone_is_an_empty_answer(raw: str) -> None:
    with pytest.raises(CallFailed) as caught:
        completed(raw, recovery={"max_attempts": 1})
    assert caught.value.is_empty
    assert caught.value.sub_cause == "only_reasoning"


def test_continued_response_contains_no_reasoning() -> None:
    replies = [Reply("<think>so</think>One, two, three, four, fi", "length"), "<think>on</think>five, six."]
    with make_deck(scripted_provider(replies * 2, "a"), config={"fallback": {}}) as deck:
        assert deck.complete(REQUEST).text == "One, two, three, four, five, six."
        *deltas, response = deck.stream(REQUEST)
    assert "".join(each.text for each in deltas) == response.text == "One, two, three, four, five, six."


OPENS = {"budgets": {"a/": {"is_hybrid_reasoning": True, "starts_in_reasoning": True}}}


@pytest.mark.parametrize("chars", [1, 4, 1_000])
def test_block_that_the_prompt_opened_is_reasoning_in_a_stream(chars: int) -> None:
    visible, hidden, response = streamed(Reply("hm, or not</think>\nHello.", piece_chars=chars), **OPENS)
    assert (visible, hidden) == ("Hello.", "hm, or not") == (response.text, response.reasoning_content)


def test_finished_text_that_never_closes_the_block_of_the_prompt_is_not_lost() -> None:
    visible, _, response = streamed("Hello.", **OPENS)
    assert visible == response.text == "Hello."
    assert completed("Hello.", **OPENS).text == "Hello."


def test_text_of_a_server_that_separates_reasoning_does_not_start_in_reasoning() -> None:
    visible, hidden, response = streamed(Reply("Hello.", reasoning="hm"), **OPENS)
    assert (visible, hidden) == ("Hello.", "hm") == (response.text, response.reasoning_content)


def test_truncated_text_that_never_closes_the_block_of_the_prompt_is_an_empty_answer() -> None:
    with pytest.raises(CallFailed) as caught:
        completed(Reply("hm, or no", "length"), recovery={"max_attempts": 1}, **OPENS)
    assert caught.value.is_empty
