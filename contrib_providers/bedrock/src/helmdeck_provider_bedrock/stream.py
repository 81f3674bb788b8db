"""From the bytes of a stream to the pieces of an answer; nothing here waits for anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from helmdeck_core import ChatDelta, ProviderUnavailable
from helmdeck_core.http import NOT_JSON, Secrets, decoded, plain_text, quoted
from helmdeck_provider_bedrock.answer import AnswerReader
from helmdeck_provider_bedrock.faults import exception_frame
from helmdeck_provider_bedrock.frames import DamagedFrame, Frame, FrameReader

EVENT_STREAM = "application/vnd.amazon.eventstream"


class StreamReader:
    """Feeds the events of a stream to the reader of an answer.

    A stream that just ends, also in the middle of a frame, is no failure: the answer then has no stop reason.
    """

    def __init__(self, answer: AnswerReader, secrets: Iterable[str] = ()) -> None:
        self._answer = answer
        self._frames = FrameReader()
        self._secrets = Secrets.of(secrets)

    def feed(self, piece: bytes) -> Iterator[ChatDelta]:
        """Take the next bytes; give what they add to the answer.

        :raises CallFailed: the stream says that something failed, or is damaged.
        """
        try:
            for frame in self._frames.feed(piece):
                if (delta := self._read(frame)) is not None:
                    yield delta
        except DamagedFrame as exc:
            detail = quoted(str(exc), self._secrets)
            failure = ProviderUnavailable(
                "the provider's stream is damaged", status=200, sub_cause="damaged_frame", detail=detail
            )
            raise self._answer.broken(failure) from exc

    def _read(self, frame: Frame) -> ChatDelta | None:
        if frame.headers.get(":event-type") == "contentBlockDelta" and frame.headers.get(":message-type") == "event":
            piece = self._answer.feed_piece(frame.payload)
            if piece is not None:
                return piece
        data = decoded(frame.payload) if frame.payload else {}
        if (kind := frame.headers.get(":message-type")) in ("exception", "error"):
            name = frame.headers.get(":exception-type") or frame.headers.get(":error-code") or kind
            said = frame.headers.get(":error-message") or (plain_text(frame.payload) if data is NOT_JSON else "")
            fields = data if isinstance(data, dict) and data else {"message": said}
            raise self._answer.broken(exception_frame(name, fields, self._secrets))
        if not isinstance(data, dict):
            raise DamagedFrame("the payload of a frame is not a JSON object")
        return self._answer.feed(frame.headers.get(":event-type", ""), data)
