"""Reads the value that a model's text literally holds, or says why there is none.

The order: the span from the first brace to the last one, which is all of a clean answer and most of the others; then a
walk over the text that knows reasoning, fences and prose, for the first complete object that fits; then the decode
steps that plugins add. A payload that was cut never becomes a value, and neither does anything that stands in reasoning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import msgspec

from helmdeck_core.diagnosis import failure
from helmdeck_core.domain.chat import StopReason
from helmdeck_core.domain.decode import Decoded, DecodeStep, ReasoningTag, StreamStripper, Stripped
from helmdeck_core.fragments import end_of_value, is_truncated
from helmdeck_core.marks import Marks
from helmdeck_core.reading import REFUSED, Reading, Request
from helmdeck_core.stripping import TagStream, strip

T = TypeVar("T")

_INK = re.compile(r"\S")

_BRACKETS = ("{", "}")
_BRACKET_BYTES = (b"{", b"}")

_RISKY_TAIL = re.compile(r"\s*+[,{\[\"]")
"""A tail that may be the rest of a list, of a larger object or of a string in it."""


class Decoder:
    """Strips reasoning and decodes answers, by the tags and the steps of the plugins.

    :param tags: the reasoning tags to know; a later one of the same name replaces an earlier one.
    :param steps: the ways to salvage what strict decoding refuses, tried in rising order.
    """

    def __init__(self, tags: Sequence[ReasoningTag], steps: Sequence[DecodeStep]) -> None:
        named = {tag.name: tag for tag in sorted(tags, key=lambda tag: tag.order)}
        self._tags = tuple(named.values())
        self._steps = tuple(sorted(steps, key=lambda step: step.order))
        self._readers: dict[Any, Callable[[str | bytes], Any]] = {}

    @cached_property
    def _marks(self) -> Marks:
        """The scanner; compiled at the first answer that is not just the value, for it costs more than a start-up should."""
        return Marks(self._tags)

    # -- reasoning -----------------------------------------------------------------------------------------

    def strip(self, text: str) -> Stripped:
        """Take the closed blocks of reasoning out; an unclosed one stays in place and is flagged. Idempotent."""
        return strip(text, self._marks)

    def has_reasoning(self, text: str) -> bool:
        """Whether stripping takes something out."""
        stripped = strip(text, self._marks)
        return len(stripped.found) > stripped.is_unclosed

    def stream(self, *, starts_in_reasoning: bool = False) -> StreamStripper:
        """A stripper for text that arrives in pieces.

        :param starts_in_reasoning: the prompt opened a block, so the text begins with thought.
        """
        return TagStream(self._marks, self._marks.any_close if starts_in_reasoning else None)

    # -- values --------------------------------------------------------------------------------------------

    def decode(
        self,
        raw: str | bytes,
        type: type[T],
        stop: StopReason | None = None,
        *,
        fits: Callable[[T], bool] | None = None,
    ) -> Decoded[T]:
        """Read the first complete object in an answer that fits the type.

        :param type: a msgspec Struct, an attrs class or dataclass, a ``TypedDict``, or ``dict``.
        :param stop: why the model stopped; it decides the cause of a failure.
        :param fits: a further condition, for a type that says little, such as ``dict``.
        :raises DecodeFailed: the text holds no such object; the exception says why and where.
        """
        read = self._readers.get(type) or self._add_reader(type)
        brackets = _BRACKETS if isinstance(raw, str) else _BRACKET_BYTES
        if fits is None and (raw[:1], raw[-1:]) == brackets:
            try:  # most answers are just the value, and so cost what the typed decode costs
                return Decoded(read(raw), "strict")
            except REFUSED:
                pass
        text = raw if isinstance(raw, str) else _text_of(raw)
        try:
            decoded = self._read_span(text, read, stop, fits)
            return decoded or Reading(text, Request(read, fits, stop), self._marks, self._steps).run()
        except (RecursionError, MemoryError):
            raise failure(stop, "too_deep", text) from None

    def _add_reader(self, type: type[T]) -> Callable[[str | bytes], T]:
        read = self._readers[type] = msgspec.json.Decoder(type).decode
        return read

    # -- the span that most answers are --------------------------------------------------------------------

    def _read_span(
        self, text: str, read: Callable[[str], T], stop: StopReason | None, fits: Callable[[T], bool] | None
    ) -> Decoded[T] | None:
        """Read from the first brace behind leading reasoning to the last one, if what stands around it is plain.

        One decode tells the whole story: it is the only object of the text, or more text follows it, or it was cut.
        """
        start, reasoning = (0, "") if text[:1] == "{" else self._skip_blocks(text)
        begin, end = text.find("{", start), text.rfind("}") + 1
        if begin < 0 or end <= begin:
            return None
        head = text[start:begin]
        if not self._is_plain_head(head):
            return None
        try:
            value = read(text[begin:end])
        except msgspec.DecodeError as error:
            if is_truncated(error):
                raise failure(stop, "cut", text) from None
            length = end_of_value(error, text[begin:end])
            if length is None or "```" in head:
                return None
            end = begin + length
            value = read(text[begin:end])
        except REFUSED:
            return None
        if not self._is_plain_tail(text, end) or (fits is not None and not fits(value)):
            return None
        step = "fence" if "```" in head else "object" if head.strip() or text[end:].strip() else "strict"
        return Decoded(value, step, (), reasoning)

    def _skip_blocks(self, text: str) -> tuple[int, str]:
        """Skip the closed blocks that the text begins with."""
        start, reasoning = 0, ""
        while (ink := _INK.search(text, start)) and (block := self._marks.closed_block(text, ink.start())):
            inside, inside_end, end = block
            reasoning += ("\n" if start else "") + text[inside:inside_end]
            start = end
        return start, reasoning

    def _is_plain_head(self, head: str) -> bool:
        """No mark, no list that is still open, no quote that the brace stands in."""
        if not head or head.isspace():
            return True
        return head.count("[") == head.count("]") and head[-1] != '"' and self._marks.search(head) is None

    def _is_plain_tail(self, text: str, end: int) -> bool:
        return end == len(text) or (_RISKY_TAIL.match(text, end) is None and self._marks.search(text, end) is None)


def _text_of(raw: bytes) -> str:
    """What is not UTF-8 becomes lone surrogates, which no decoder lets through as content."""
    return raw.decode("utf-8", "surrogateescape")
