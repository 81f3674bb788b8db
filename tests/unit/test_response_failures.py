"""What an answer holds beside text, reasoning and calls is told, wherever the answer goes."""

from __future__ import annotations

import attrs
import pytest

from helmdeck_core import (
    CallFailed,
    CallFinished,
    ChatRequest,
    ChatResponse,
    EventSink,
    Message,
    Role,
    StopReason,
    TextPart,
    hookimpl,
)

FREE = "openrouter/openrouter/free"
QUESTION = ChatRequest(model=FREE, messages=(Message(Role.USER, (TextPart("paint a boat"),)),))


class Sink:
    def __init__(self):
        self.events = []

    @hookimpl
    def helmdeck_event_sinks(self):
        return [EventSink(name="all", handle=self.events.append)]


def answer(text, *unread):
    return ChatResponse(text=text, stop_reason=StopReason.END_TURN, raw_stop_reason="stop", unread=unread)


def test_response_without_text_is_empty_and_lists_its_content_kinds(answering):
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


def test_unread_content_is_reported_in_response_and_event(answering):
    sink = Sink()
    deck, _ = answering(answer("here it is", "image"), beside=(sink,))
    assert deck.complete(QUESTION).unread == ("image",)
    assert [event.unread for event in sink.events if isinstance(event, CallFinished)] == [("image",)]
