"""Reads the value that a model's text literally holds, or says why there is none.

The order: the span from the first brace to the last one, which is all of a clean answer and most of the others; then a
walk over the text that knows reasoning, fences and prose, for the first complete object that fits; then the decode
steps that plugins add. A payload that was cut never becomes a value, and neither does anything that stands in reasoning.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import attrs
import msgspec

from helmdeck_core.domain.chat import StopReason
from helmdeck_core.domain.decode import (
    Decoded,
    DecodeFailed,
    DecodeStep,
    ReasoningTag,
    RefusalPattern,
    StreamStripper,
    Stripped,
    Tried,
)
from helmdeck_core.reading.diagnosis import failure, is_leak
from helmdeck_core.reading.fragments import end_of_value, is_truncated
from helmdeck_core.reading.reader import REFUSED, Reading, Request
from helmdeck_core.reading.reasoning import TagStream, strip
from helmdeck_core.reading.reasoning_marks import Marks
from helmdeck_core.reading.refusal import RefusalMatcher

T = TypeVar("T")

_OPENING = frozenset(("{", "[", *b"{["))
_CLOSING = frozenset(("}", "]", "\n", *b"}]\n"))
"""What a text begins and ends with that is only a value, as characters and as bytes."""

_SHORT = 64  # characters
_MOST_KNOWN = 256

_RISKY_TAIL = re.compile(r"\s*+[,{\[\"]")
"""A tail that may be the rest of a list, of a larger object or of a string in it."""


class Decoder:
    """Strips reasoning and decodes answers, by the tags and the steps of the plugins.

    :param tags: the reasoning tags to know; a later one of the same name replaces an earlier one.
    :param steps: the ways to salvage what strict decoding refuses, tried in rising order.
    :param refusals: how refusals begin, by language; without any, a refusal is prose like any other.
    """

    def __init__(
        self, tags: Sequence[ReasoningTag], steps: Sequence[DecodeStep], refusals: Sequence[RefusalPattern] = ()
    ) -> None:
        named = {tag.name: tag for tag in sorted(tags, key=lambda tag: tag.order)}
        self._tags = tuple(named.values())
        self._steps = tuple(sorted(steps, key=lambda step: step.order))
        self._refusals = RefusalMatcher(refusals)
        self._readers: dict[Any, tuple[Callable[[str | bytes], Any], bool]] = {}
        # Models put the same few words and fences around every answer.
        self._known_head = lru_cache(_MOST_KNOWN)(self._step_behind)
        self._known_tail = lru_cache(_MOST_KNOWN)(self._is_plain_tail)

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
        output_tokens: int = 0,
        tried: Tried | None = None,
    ) -> Decoded[T]:
        """Read the first complete object, or list where one is asked for, in an answer that fits the type.

        :param type: a msgspec Struct, an attrs class or dataclass, a ``TypedDict``, ``dict``, or a list of one of these.
        :param stop: why the model stopped; it decides the cause of a failure.
        :param fits: a further condition, for a type that says little, such as ``dict``.
        :param output_tokens: what the provider says was generated; 0 when it does not say. Far more than the text holds
            makes a failure a ``reasoning_leak``.
        :param tried: is told every way to read the answer that was tried, by its name, and what came of it.
        :raises DecodeFailed: the text holds no such value; the exception says why and where.
        """
        read, wants_list = self._readers.get(type) or self._add_reader(type)
        if fits is None and raw and raw[0] in _OPENING and raw[-1] in _CLOSING:
            try:  # most answers are just the value, and so cost what the typed decode costs
                return Decoded(read(raw), "strict")
            except REFUSED as error:
                if tried is not None:
                    tried("strict", str(error))
        text = raw if isinstance(raw, str) else _text_of(raw)
        try:
            if not wants_list and (decoded := self._read_span(text, read, stop, fits)):
                return decoded
            return Reading(
                text, Request(read, fits, stop, wants_list, tried), self._marks, self._steps, self._refusals
            ).run()
        except (RecursionError, MemoryError):
            raise failure(stop, "too_deep", text) from None
        except DecodeFailed as exc:
            if exc.is_empty or exc.sub_cause == "refusal" or not is_leak(stop, text, output_tokens):
                raise
            raise attrs.evolve(exc, sub_cause="reasoning_leak") from None

    def _add_reader(self, type: type[T]) -> tuple[Callable[[str | bytes], T], bool]:
        wants_list = typing.get_origin(type) is list or type is list
        reader = self._readers[type] = msgspec.json.Decoder(type).decode, wants_list
        return reader

    # -- the span that most answers are --------------------------------------------------------------------

    def _read_span(
        self,
        text: str,
        read: Callable[[str | bytes], T],
        stop: StopReason | None,
        fits: Callable[[T], bool] | None,
    ) -> Decoded[T] | None:
        """Read from the first brace behind leading reasoning to the last one, if what stands around it is plain.

        One decode tells the whole story: it is the only object of the text, or more text follows it, or it was cut.
        """
        start, reasoning, step = 0, "", None
        # The few words before a brace are mostly known, and knowing them is quicker than to look for a block.
        while (begin := text.find("{", start, start + _SHORT)) < 0 or not (step := self._known_head(text[start:begin])):
            block = self._marks.leading_block(text, start)
            if block is None:
                begin = text.find("{", start)
                step = self._step_behind(text[start:begin]) if begin >= 0 else None
                break
            inside, inside_end, end = block
            reasoning += ("\n" if start else "") + text[inside:inside_end]
            start = end
        end = text.rfind("}") + 1
        if step is None or end <= begin:
            return None
        try:
            value = read(text[begin:end])
        except msgspec.DecodeError as error:
            if is_truncated(error):
                raise failure(stop, "cut", text) from None
            length = end_of_value(error, text[begin:end])
            if length is None or step == "fence":
                return None
            end = begin + length
            value = read(text[begin:end])
        except REFUSED:
            return None
        tail = text[end:]
        if tail and not tail.isspace():
            if not (self._known_tail if len(tail) <= _SHORT else self._is_plain_tail)(tail):
                return None
            step = "object" if step == "strict" else step
        if fits is not None and not fits(value):
            return None
        return Decoded(value, step, (), reasoning)

    def _step_behind(self, head: str) -> str | None:
        """How a value behind this is read; ``None`` when the head is not plain.

        A plain one has no mark in it, no list that is still open, and no quote that the brace stands in.
        """
        if not head or head.isspace():
            return "strict"
        if head.count("[") != head.count("]") or head[-1] == '"' or self._marks.search(head):
            return None
        return "fence" if "```" in head else "object"

    def _is_plain_tail(self, tail: str) -> bool:
        return _RISKY_TAIL.match(tail) is None and self._marks.search(tail) is None


def _text_of(raw: bytes) -> str:
    """What is not UTF-8 becomes lone surrogates, which no decoder lets through as content."""
    return raw.decode("utf-8", "surrogateescape")
