"""Decodes the JSON value in a model response, or raises ``DecodeFailed`` with the cause.

Order: the span from the first brace to the last; then a scan for the first complete object outside reasoning and prose;
then the plugins' decode steps. Truncated payloads and reasoning never yield a value.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import attrs
import msgspec

from helmdeck_core import (
    Decoded,
    DecodeFailed,
    DecodeStep,
    ReasoningTag,
    RefusalPattern,
    StopReason,
    StreamStripper,
    Stripped,
    Tried,
    undecodable,
)
from helmdeck_plugins.reading.decoder.diagnosis import is_leak
from helmdeck_plugins.reading.decoder.fragments import end_of_value, is_truncation_error
from helmdeck_plugins.reading.decoder.reader import DECODE_ERRORS, DecodeRequest, ResponseReader
from helmdeck_plugins.reading.decoder.reasoning import TagStream, strip
from helmdeck_plugins.reading.decoder.refusal import RefusalMatcher
from helmdeck_plugins.reading.marks import ReasoningMarks

T = TypeVar("T")

_FIRST_CHARS = frozenset(("{", "[", *b"{["))
_LAST_CHARS = frozenset(("}", "]", "\n", *b"}]\n"))
"""First and last characters of a response that is nothing but the value, as characters and as bytes."""

_CACHED_LENGTH = 64  # characters
_CACHE_SIZE = 256

_RISKY_TAIL = re.compile(r"\s*+[,{\[\"]")
"""A tail that may be the rest of a list, a larger object or a string."""


class JsonDecoder:
    """A ``Decoder`` of JSON.

    :param tags: reasoning tags; a later tag replaces an earlier one of the same name.
    :param steps: decode steps for JSON that strict decoding rejects, tried in ascending order.
    :param refusals: refusal patterns by language; without any, refusals are not detected.
    """

    def __init__(
        self, tags: Sequence[ReasoningTag], steps: Sequence[DecodeStep], refusals: Sequence[RefusalPattern] = ()
    ) -> None:
        by_name = {tag.name: tag for tag in sorted(tags, key=lambda tag: tag.order)}
        self._tags = tuple(by_name.values())
        self._steps = tuple(sorted(steps, key=lambda step: step.order))
        self._refusals = RefusalMatcher(refusals)
        self._readers: dict[Any, tuple[Callable[[str | bytes], Any], bool]] = {}
        # Models wrap every response in the same few words and fences.
        self._cached_step_after = lru_cache(_CACHE_SIZE)(self._step_after)
        self._cached_is_plain_tail = lru_cache(_CACHE_SIZE)(self._is_plain_tail)

    @cached_property
    def _marks(self) -> ReasoningMarks:
        """Compiled lazily, at the first response that is not just the value: compiling would slow down start-up."""
        return ReasoningMarks(self._tags)

    # -- reasoning -----------------------------------------------------------------------------------------

    def strip(self, text: str) -> Stripped:
        """Remove closed reasoning blocks; an unclosed block stays in place and is flagged. Idempotent."""
        return strip(text, self._marks)

    def has_reasoning(self, text: str) -> bool:
        """Whether ``strip`` removes anything."""
        stripped = strip(text, self._marks)
        return len(stripped.found) > stripped.is_unclosed

    def stream(self, *, starts_in_reasoning: bool = False) -> StreamStripper:
        """Return a stripper for streamed text.

        :param starts_in_reasoning: the prompt opened a block, so the text starts inside reasoning.
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
        """Decode the first complete object, or list if ``type`` is a list, that matches the type."""
        read, wants_list = self._readers.get(type) or self._add_reader(type)
        if fits is None and raw and raw[0] in _FIRST_CHARS and raw[-1] in _LAST_CHARS:
            try:  # most responses are just the value and cost one typed decode
                return Decoded(read(raw), "strict")
            except DECODE_ERRORS as error:
                if tried is not None:
                    tried("strict", str(error))
        text = raw if isinstance(raw, str) else _to_string(raw)
        try:
            if not wants_list and (decoded := self._read_span(text, read, stop, fits)):
                return decoded
            return ResponseReader(
                text, DecodeRequest(read, fits, stop, wants_list, tried), self._marks, self._steps, self._refusals
            ).read()
        except (RecursionError, MemoryError):
            raise undecodable(stop, "too_deep", text) from None
        except DecodeFailed as exc:
            if exc.is_empty or exc.sub_cause == "refusal" or not is_leak(stop, text, output_tokens):
                raise
            raise attrs.evolve(exc, sub_cause="reasoning_leak") from None

    def _add_reader(self, type: type[T]) -> tuple[Callable[[str | bytes], T], bool]:
        if len(self._readers) >= _CACHE_SIZE:  # types may be made per call
            self._readers.clear()
        wants_list = typing.get_origin(type) is list or type is list
        reader = self._readers[type] = msgspec.json.Decoder(type).decode, wants_list
        return reader

    # -- fast path: one span -------------------------------------------------------------------------------

    def _read_span(
        self,
        text: str,
        read: Callable[[str | bytes], T],
        stop: StopReason | None,
        fits: Callable[[T], bool] | None,
    ) -> Decoded[T] | None:
        """Decode from the first brace after leading reasoning to the last brace, if the surrounding text is plain.

        One decode shows whether the object is the only one, is followed by more text, or is truncated.
        """
        start, reasoning, step = 0, "", None
        # The words before the brace are usually cached, and a cache lookup is faster than a search for a block.
        while (begin := text.find("{", start, start + _CACHED_LENGTH)) < 0 or not (
            step := self._cached_step_after(text[start:begin])
        ):
            block = self._marks.leading_block(text, start)
            if block is None:
                begin = text.find("{", start)
                step = self._step_after(text[start:begin]) if begin >= 0 else None
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
            if is_truncation_error(error):
                raise undecodable(stop, "cut", text) from None
            length = end_of_value(error, text[begin:end])
            if length is None or step == "fence":
                return None
            end = begin + length
            value = read(text[begin:end])
        except DECODE_ERRORS:
            return None
        tail = text[end:]
        if tail and not tail.isspace():
            if not (self._cached_is_plain_tail if len(tail) <= _CACHED_LENGTH else self._is_plain_tail)(tail):
                return None
            step = "object" if step == "strict" else step
        if fits is not None and not fits(value):
            return None
        return Decoded(value, step, (), reasoning)

    def _step_after(self, head: str) -> str | None:
        """The step for a value after this head; ``None`` if the head is not plain.

        A plain head has no mark, no open list and no open quote directly before the brace.
        """
        if not head or head.isspace():
            return "strict"
        if head.count("[") != head.count("]") or head[-1] == '"' or self._marks.search(head):
            return None
        return "fence" if "```" in head else "object"

    def _is_plain_tail(self, tail: str) -> bool:
        return _RISKY_TAIL.match(tail) is None and self._marks.search(tail) is None


def _to_string(raw: bytes) -> str:
    """Invalid UTF-8 becomes lone surrogates, which every decoder rejects."""
    return raw.decode("utf-8", "surrogateescape")
