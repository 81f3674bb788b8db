"""Separates reasoning between tags from the visible text of a response, in the same way for a stream and a whole text."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core.calls.operation import copy_response
from helmdeck_core.domain.chat import ChatDelta, ChatResponse
from helmdeck_core.domain.decode import Decoder


class VisibleText:
    """Moves reasoning from the text of chunks to their reasoning; the result does not depend on the chunk borders.

    The text of an unclosed block is reasoning, because a stream cannot take back what it passed on. Whitespace between
    leading reasoning and the text is dropped.

    :param is_structured: the text is JSON, whose strings may contain tags: only leading blocks are reasoning.
    """

    def __init__(self, decoder: Decoder, *, starts_in_reasoning: bool = False, is_structured: bool = False) -> None:
        self._stripper = decoder.stream(starts_in_reasoning=starts_in_reasoning, only_leading=is_structured)
        self._has_reasoning = starts_in_reasoning
        self._has_text = False
        self._whitespace = ""

    def feed(self, deltas: Sequence[ChatDelta]) -> Sequence[ChatDelta]:
        """Process the next chunks; return those that can be passed on."""
        return [each for delta in deltas if (each := self._separated(delta)) is not None]

    def finish(self) -> Sequence[ChatDelta]:
        """End the text; return the chunk that was held back, if any."""
        text, reasoning = self._visible(*self._stripper.finish())
        if not (self._has_text or self._has_reasoning):
            text = self._whitespace
        return [ChatDelta(text, reasoning)] if text or reasoning else []

    def _separated(self, delta: ChatDelta) -> ChatDelta | None:
        if not delta.text:
            return delta
        text, reasoning = self._visible(*self._stripper.feed(delta.text))
        if text == delta.text and not reasoning:
            return delta
        reasoning = delta.reasoning_content + reasoning
        return ChatDelta(text, reasoning, delta.tool_call) if text or reasoning or delta.tool_call else None

    def _visible(self, text: str, reasoning: str) -> tuple[str, str]:
        self._has_reasoning |= bool(reasoning)
        if text and not self._has_text:
            text = self._whitespace + text
            content = text.lstrip()
            self._has_text = bool(content)
            self._whitespace = "" if content else text
            text = content if self._has_reasoning or not content else text
        return text, reasoning


def visible_response(
    response: ChatResponse, decoder: Decoder, *, is_stream: bool = False, is_structured: bool = False
) -> ChatResponse:
    """Return a response whose text contains no reasoning; ``reasoning_content`` has it after the provider's own.

    :param is_stream: the text was streamed, so text before a closing tag without an opening one was passed on already.
    """
    if not response.text:
        return response
    starts = not is_stream and decoder.strip(response.text).starts_in_reasoning
    reader = VisibleText(decoder, starts_in_reasoning=starts, is_structured=is_structured)
    deltas = [*reader.feed((ChatDelta(response.text),)), *reader.finish()]
    text = "".join(delta.text for delta in deltas)
    reasoning = "".join(delta.reasoning_content for delta in deltas)
    if text == response.text:
        return response
    return copy_response(response, text=text, reasoning_content=response.reasoning_content + reasoning)
