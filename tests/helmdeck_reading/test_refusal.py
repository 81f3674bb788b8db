"""Refusals and reasoning leaks are distinguished from other responses without a value."""

from __future__ import annotations

import pytest

from helmdeck_core import DecodeFailed, FailureClass, StopReason
from helmdeck_reading import json_repair, refusals
from helmdeck_reading import reasoning_tags as reasoning
from helmdeck_reading.decoder.json_decoder import JsonDecoder as Decoder
from tests.case_support import each_case

DECODER = Decoder(
    reasoning.helmdeck_reasoning_tags(), json_repair.helmdeck_decode_steps(), refusals.helmdeck_refusal_patterns()
)


def decode_failure(text: str, stop: StopReason | None = StopReason.END_TURN) -> DecodeFailed:
    with pytest.raises(DecodeFailed) as caught:
        DECODER.decode(text, dict, stop)
    return caught.value


@each_case(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m really sorry, but I cannot assist with that request.",
        "I cannot help with that.",
        "**I can't provide that information.**",
        "Sorry, I can't do that.",
        "I apologize, but I am unable to generate this content.",
        "As an AI language model, I cannot participate in this.",
        "Thank you for asking. I must respectfully decline to continue.",
        "Es tut mir leid, aber dabei kann ich nicht helfen.",
        "Je suis désolé, mais je ne peux pas vous aider.",
        "Lo siento, pero no puedo ayudar con eso.",
        "抱歉，我无法提供帮助。",
        "申し訳ありませんが、お手伝いできません。",
        "<think>Should I? {\"steps\": []}</think>\nI'm sorry, but I can't help with that.",
    ],
)
def test_refusal_is_detected_in_prose(text: str) -> None:
    failure = decode_failure(text)
    assert (failure.cause, failure.sub_cause) == (FailureClass.CONSTRAINED_DEADLOCK, "refusal")
    assert failure.excerpt
    assert decode_failure(text, StopReason.MAX_TOKENS).sub_cause == "no_json"


@each_case(
    "text",
    [
        "I cannot find the file that you mention.",
        "I can't help but notice that the list is empty.",
        "Sorry, the page was not found.",
        "The tool cannot help with that.",
        "You can't do that in one step.",
        "I will help with that right away.",
        "I would rather not.",
        "We can provide what you asked for.",
        "Here is the plan. First, fetch the page. Then, rewrite it. Users say: I cannot help with that.",
        "Unfortunately, step 2 needs a key.",
        "抱歉，文件不存在。",
    ],
)
def test_other_prose_is_not_a_refusal(text: str) -> None:
    assert decode_failure(text).sub_cause == "no_json"


def test_far_more_tokens_than_text_are_a_reasoning_leak() -> None:
    def sub_cause(text: str, tokens: int) -> str:
        with pytest.raises(DecodeFailed) as caught:
            DECODER.decode(text, dict, StopReason.END_TURN, output_tokens=tokens)
        return caught.value.sub_cause

    text = "Let me put that together for you, one moment please while I think it up"
    assert len(text) == 71
    assert sub_cause(text, 423) == "reasoning_leak"
    assert sub_cause(text, 20) == sub_cause(text, 0) == "no_json"
    assert sub_cause('{"steps": [', 423) == "reasoning_leak"
    assert sub_cause("", 423) == "empty_though_finished"
    assert sub_cause("I'm sorry, but I can't help with that.", 423) == "refusal"
    assert DECODER.decode('{"a": 1}', dict, output_tokens=423).value == {"a": 1}
