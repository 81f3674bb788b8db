"""Content beside text, reasoning and tool calls is reported for every kind of call."""

from __future__ import annotations

import attrs
import pytest

from helmdeck_core import (
    CallFailed,
    CallFinished,
    ChatRequest,
    ChatResponse,
    Message,
    Role,
    StopReason,
    TextPart,
)
from helmdeck_testing import EventRecorder

FREE = "openrouter/openrouter/free"
QUESTION = ChatRequest(model=FREE, messages=(Message(Role.USER, (TextPart("paint a boat"),)),))


def answer(text, *unread):
    return ChatResponse(text=text, stop_reason=StopReason.END_TURN, raw_stop_reason="stop", unread=unread)


def test_answer_without_text_is_empty_and_names_its_unsupported_content(answering):
    for act in (lambda deck: deck.complete(QUESTION), lambda deck: deck.plan("paint a boat", model=FREE)):
        deck, _ = answering(answer("", "image", "\x1b[31m"))
        with pytest.raises(CallFailed) as caught:
            act(deck)
        assert caught.value.is_empty and caught.value.detail.endswith(r"content of other kinds: image, \x1b[31m")


@pytest.mark.parametrize("stop", [StopReason.SAFETY_BLOCKED, StopReason.UNKNOWN])
def test_failure_quotes_the_refusal_of_the_provider(answering, stop):
    for text in ("", "half of it"):
        deck, _ = answering(attrs.evolve(answer(text), stop_reason=stop, refusal="no boats\x1b on Sundays"))
        with pytest.raises(CallFailed) as caught:
            deck.plan("paint a boat", model=FREE)
        assert caught.value.detail.endswith(r"the provider says: no boats\x1b on Sundays")


def test_response_and_event_name_unsupported_content_beside_text(answering):
    sink = EventRecorder()
    deck, _ = answering(answer("here it is", "image"), beside=(sink,))
    assert deck.complete(QUESTION).unread == ("image",)
    assert [event.unread for event in sink.events if isinstance(event, CallFinished)] == [("image",)]
