"""From the bytes of a stream to the pieces of an answer; nothing here waits for anything."""

from __future__ import annotations

from collections.abc import Iterator

from helmdeck_core import ChatDelta, ProviderUnavailable
from helmdeck_provider_bedrock.answer import ConverseAnswer
from helmdeck_provider_bedrock.frames import DamagedFrame, FrameReader
from helmdeck_provider_kit import EventFeed


class FrameFeed(EventFeed):
    """The frames of a stream, and what they say.

    A stream that just ends, also in the middle of a frame, is no failure: the answer then has no stop reason.
    """

    def __init__(self, answer: ConverseAnswer) -> None:
        super().__init__(answer, has_lines=False)
        self._converse = answer
        self._frames = FrameReader()

    def feed(self, piece: bytes) -> Iterator[ChatDelta]:
        """Take the next piece; give what the frames that are now whole add.

        :raises CallFailed: the stream says that something failed, or is damaged.
        """
        self.have_come = True  # what is no frame is damage at once, and is never read as a body
        try:
            for frame in self._frames.feed(piece):
                yield from self._converse.take_frame(frame)
        except DamagedFrame as exc:
            headline = "the provider's stream is damaged"
            damage = ProviderUnavailable(headline, status=200, sub_cause="damaged_frame", detail=str(exc))
            raise self._converse.broken(damage) from exc

    def finish(self) -> Iterator[ChatDelta]:
        """Take the end; half a frame is none."""
        return iter(())
