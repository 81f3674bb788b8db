"""Converts the bytes of a stream to deltas, without I/O."""

from __future__ import annotations

from collections.abc import Iterator

from helmdeck_core import ChatDelta, ProviderUnavailable
from helmdeck_provider_bedrock.answer import ConverseAnswer
from helmdeck_provider_bedrock.frames import DamagedFrame, FrameReader
from helmdeck_provider_kit import EventFeed


class FrameFeed(EventFeed):
    """Reads the frames of a stream.

    A stream that ends early, also within a frame, is not a failure: the response then has no stop reason.
    """

    def __init__(self, answer: ConverseAnswer) -> None:
        super().__init__(answer, has_lines=False)
        self._converse = answer
        self._frames = FrameReader()

    def feed(self, chunk: bytes) -> Iterator[ChatDelta]:
        """Read a chunk and yield the deltas of the frames that are now complete.

        :raises CallFailed: the stream contains an error, or is damaged.
        """
        self.has_events = True  # invalid data is a damaged frame, never a response body
        try:
            for frame in self._frames.feed(chunk):
                yield from self._converse.take_frame(frame)
        except DamagedFrame as exc:
            headline = "the provider's stream is damaged"
            damage = ProviderUnavailable(headline, status=200, sub_cause="damaged_frame", detail=str(exc))
            raise self._converse.with_partial_response(damage) from exc

    def finish(self) -> Iterator[ChatDelta]:
        """Finish; an incomplete frame is ignored."""
        return iter(())
