"""Converts the bytes of a stream to deltas, without I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from helmdeck_core import ChatDelta, ProviderUnavailable
from helmdeck_provider_bedrock.answer import ConverseAnswer
from helmdeck_provider_bedrock.frames import DamagedFrame, Frame, FrameReader
from helmdeck_providers import EventFeed


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
            for part in self._parts(chunk):
                yield from self._converse.take_all(part) if isinstance(part, list) else self._converse.take_frame(part)
        except DamagedFrame as exc:
            headline = "the provider's stream is damaged"
            damage = ProviderUnavailable(headline, status=200, sub_cause="damaged_frame", detail=str(exc))
            raise self._converse.with_partial_response(damage) from exc

    def _parts(self, chunk: bytes) -> Iterator[list[bytes] | Frame]:
        """Yield the frames; consecutive deltas as a list of their payloads."""
        deltas: list[bytes] = []
        headers: Mapping[str, str] | None = None
        is_delta = False
        try:
            for frame in self._frames.feed(chunk):
                if frame.headers is not headers:
                    headers, is_delta = frame.headers, ConverseAnswer.is_delta(frame.headers)
                if is_delta:
                    deltas.append(frame.payload)
                    continue
                if deltas:
                    yield deltas
                    deltas = []
                yield frame
        except DamagedFrame:
            if deltas:
                yield deltas
            raise
        if deltas:
            yield deltas

    def finish(self) -> Iterator[ChatDelta]:
        """Finish; an incomplete frame is ignored."""
        return iter(())
