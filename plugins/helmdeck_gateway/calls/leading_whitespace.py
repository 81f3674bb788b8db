"""Holds back whitespace before the text of a stream: while nothing else was sent, another model can still answer."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import ChatDelta


class LeadingWhitespace:
    """Whitespace at the start of one stream; that of a failed attempt is dropped."""

    def __init__(self) -> None:
        self._held = ""
        self._attempt = 0
        self._is_over = False

    def feed(self, deltas: Sequence[ChatDelta], attempt: int) -> Sequence[ChatDelta]:
        """Return the deltas to pass on, with the whitespace before them.

        :param attempt: number of the attempt that the deltas belong to.
        """
        if self._is_over:
            return deltas
        if attempt != self._attempt:
            self._held, self._attempt = "", attempt
        return [each for delta in deltas if (each := self._feed(delta)) is not None]

    def _feed(self, delta: ChatDelta) -> ChatDelta | None:
        if self._is_over:
            return delta
        if delta.tool_call is None and not delta.text.strip():
            self._held += delta.text
            return ChatDelta("", delta.reasoning_content) if delta.reasoning_content else None
        self._is_over = True
        return ChatDelta(self._held + delta.text, delta.reasoning_content, delta.tool_call) if self._held else delta
