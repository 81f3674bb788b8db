"""From the bytes of a stream to the pieces of an answer; nothing here waits for anything."""

from __future__ import annotations

from collections.abc import Iterator

from helmdeck_core import ChatDelta
from helmdeck_core.http import NOT_JSON, EventDecoder, decoded
from helmdeck_provider_cohere.answer import AnswerReader


class StreamReader:
    """Feeds the events of a stream to the reader of an answer.

    A stream that just ends, also in the middle of an event, is no failure: the answer then has no stop reason.

    :ivar has_begun: whether there was an event.
    """

    def __init__(self, answer: AnswerReader) -> None:
        self.has_begun = False
        self._answer = answer
        self._events = EventDecoder()

    def feed(self, piece: bytes) -> Iterator[ChatDelta]:
        """Take the next bytes; give what they add to the answer.

        :raises CallFailed: the stream says that something failed, or is damaged.
        """
        for event in self._events.feed(piece):
            self.has_begun = True
            if (delta := self._answer.feed(event.data)) is not None:
                yield delta

    def finish(self) -> Iterator[ChatDelta]:
        """Take the end; an event that only lacks its last line end counts."""
        for event in self._events.finish():
            self.has_begun = True
            if decoded(event.data) is not NOT_JSON and (delta := self._answer.feed(event.data)) is not None:
                yield delta
