"""Separates reasoning between tags from the visible text of a response, in the same way for a stream and a whole text."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from helmdeck_core.calls.operation import copy_response
from helmdeck_core.domain.chat import ChatDelta, ChatResponse, StopReason
from helmdeck_core.domain.decode import Decoder
from helmdeck_core.domain.models import Budget

T = TypeVar("T")

LONG_TEXT = 50_000
"""Characters of a text whose reading may block the event loop, and is done in a worker thread."""
_MAX_STEPS = 2_000
"""Steps that show whether a text starts with reasoning: more than the characters of a mark with attributes."""
_FINISHED = (StopReason.END_TURN, StopReason.TOOL_CALL)


async def read_aside(text: str, read: Callable[..., T], *arguments: Any) -> T:
    """Call a function that reads a text, in a worker thread if the text is long."""
    return await asyncio.to_thread(read, *arguments) if len(text) > LONG_TEXT else read(*arguments)


def may_start_in_reasoning(budget: Budget, response: ChatResponse | None) -> bool:
    """Whether a text may start inside a block that the prompt opened: the server does not separate reasoning."""
    opens = budget.starts_in_reasoning or budget.is_hybrid_reasoning
    return opens and response is not None and not response.reasoning_content


class VisibleText:
    """Moves reasoning from the text of chunks to their reasoning; the result does not depend on the chunk borders.

    The text of an unclosed block is reasoning, because a stream cannot take back what it passed on. Whitespace between
    leading reasoning and the text is dropped.

    :param starts_in_reasoning: the prompt opened a block, unless the server separates reasoning from the text. A finished
        text that never closes the block is not reasoning after all, and becomes visible at its end.
    :param is_structured: the text is JSON, whose strings may contain tags: only leading blocks are reasoning.
    """

    def __init__(self, decoder: Decoder, *, starts_in_reasoning: bool = False, is_structured: bool = False) -> None:
        self._open = functools.partial(decoder.stream, only_leading=is_structured)
        self._stripper = self._open(starts_in_reasoning=starts_in_reasoning)
        # The text since a block that the prompt opened, and how much of it is reasoning: all of it while no tag came.
        self._opened: list[str] | None = [] if starts_in_reasoning else None
        self._reasoning_chars = 0
        self._has_text = False
        self._whitespace: list[str] = []
        self._steps_left = _MAX_STEPS

    def feed(self, deltas: Sequence[ChatDelta]) -> Sequence[ChatDelta]:
        """Process the next chunks; return those that can be passed on."""
        texts = [each.text for each in deltas if each.text]
        if not texts and self._opened != []:
            return deltas
        # The chunks in the middle of a text are looked at together.
        is_middle = self._has_text and self._opened is None and len(texts) > 1
        if is_middle and not [each for each in deltas if each.reasoning_content or each.tool_call]:
            joined = ChatDelta("".join(texts))
            each = self._separated(joined)
            return deltas if each is joined else [each] if each is not None else []
        return [each for delta in deltas if (each := self._separated(delta)) is not None]

    def finish(self, stop: StopReason) -> Sequence[ChatDelta]:
        """End the text; return the chunk that was held back, if any."""
        text, reasoning = self._visible(*self._stripper.finish())
        opened = "".join(self._opened or ())
        if stop in _FINISHED and len(opened) == self._reasoning_chars > 0:
            text = opened
        elif not (self._has_text or self._reasoning_chars):
            text = "".join(self._whitespace)
        return [ChatDelta(text, reasoning)] if text or reasoning else []

    def _separated(self, delta: ChatDelta) -> ChatDelta | None:
        if delta.reasoning_content and self._opened == []:
            self._stripper, self._opened = self._open(), None
        if not delta.text:
            return delta
        if self._opened is not None:
            self._opened.append(delta.text)
        text, reasoning = self._divided(delta.text)
        if text == delta.text and not reasoning:
            return delta
        reasoning = delta.reasoning_content + reasoning
        return ChatDelta(text, reasoning, delta.tool_call) if text or reasoning or delta.tool_call else None

    def _divided(self, chunk: str) -> tuple[str, str]:
        """The text and the reasoning of a chunk; up to the first of them, in steps that show which one it is."""
        text = reasoning = ""
        while chunk and self._steps_left and not (self._has_text or self._reasoning_chars or self._opened is not None):
            self._steps_left -= 1
            end = max(1, len(chunk) - len(chunk.lstrip()))
            more, aside = self._visible(*self._stripper.feed(chunk[:end]))
            text, reasoning, chunk = text + more, reasoning + aside, chunk[end:]
        if chunk:
            more, aside = self._visible(*self._stripper.feed(chunk))
            text, reasoning = text + more, reasoning + aside
        return text, reasoning

    def _visible(self, text: str, reasoning: str) -> tuple[str, str]:
        self._reasoning_chars += len(reasoning)
        if text and not self._has_text:
            content = text.lstrip()
            self._has_text = bool(content)
            self._whitespace.append(text)
            is_after_reasoning = self._reasoning_chars or self._opened is not None
            text = content if is_after_reasoning or not content else "".join(self._whitespace)
        return text, reasoning


def visible_response(
    response: ChatResponse, decoder: Decoder, *, starts_in_reasoning: bool, is_stream: bool, is_structured: bool
) -> ChatResponse:
    """Return a response whose text contains no reasoning; ``reasoning_content`` has it after the provider's own.

    :param is_stream: the text was streamed: what was passed on without knowledge of the whole text stays as it is.
    """
    if not response.text:
        return response
    starts = starts_in_reasoning and not response.reasoning_content
    if not is_stream:
        stripped = decoder.strip(response.text)
        starts = stripped.starts_in_reasoning or (starts and response.stop_reason not in _FINISHED)
        if not (starts or stripped.found):
            return response
    reader = VisibleText(decoder, starts_in_reasoning=starts, is_structured=is_structured)
    deltas = [*reader.feed((ChatDelta(response.text),)), *reader.finish(response.stop_reason)]
    text = "".join(delta.text for delta in deltas)
    reasoning = "".join(delta.reasoning_content for delta in deltas)
    if text == response.text and not reasoning:
        return response
    return copy_response(response, text=text, reasoning_content=response.reasoning_content + reasoning)
