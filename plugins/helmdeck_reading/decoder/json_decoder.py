"""Decodes the JSON value in a model response, or raises ``DecodeFailed`` with the cause.

Order: the span from the first brace to the last; then a scan for the first complete object outside reasoning and prose;
then the plugins' decode steps. Truncated payloads and reasoning never yield a value.
"""

from __future__ import annotations

import re
import types
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
    loop_of,
    undecodable,
)
from helmdeck_reading.decoder.control_tokens import has_token
from helmdeck_reading.decoder.diagnosis import FINISHED, is_leak
from helmdeck_reading.decoder.fragments import end_of_value, ends_in_key, is_truncation_error
from helmdeck_reading.decoder.json_bounds import ascii_brackets
from helmdeck_reading.decoder.reasoning_stripper import TagStream, strip
from helmdeck_reading.decoder.refusal_matcher import RefusalMatcher
from helmdeck_reading.decoder.response_decoder import DecodeRequest, ResponseDecoder
from helmdeck_reading.optional_fields import with_a_field
from helmdeck_reading.reasoning_marks import ReasoningMarks, reasoning_marks

T = TypeVar("T")

_OpenReader = tuple[Callable[[str | bytes], Any], bool, bool]
"""A typed decoder, whether it decodes a list, and whether it decodes a list as well as an object."""

_FIRST_CHARS = frozenset(("{", "[", *b"{["))
_LAST_CHARS = frozenset(("}", "]", "\n", *b"}]\n"))
"""First and last characters of a response that is nothing but the value, as characters and as bytes."""

_VALUE_STARTS = ("{", "[", "```")
_VALUE_ENDS = ("}", "]", "```")

_CACHED_LENGTH = 64  # characters
_CACHE_SIZE = 256

_MAX_READERS = 128
"""Typed decoders that are kept; a type that is made per call is used once only."""

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
        self._reader_of: Callable[[Any], _OpenReader] = lru_cache(_MAX_READERS)(_open_reader)
        # Models wrap every response in the same few words and fences.
        self._cached_step_after = lru_cache(_CACHE_SIZE)(self._step_after)
        self._cached_is_plain_tail = lru_cache(_CACHE_SIZE)(self._is_plain_tail)

    @cached_property
    def _marks(self) -> ReasoningMarks:
        """Compiled lazily, at the first response that is not just the value: compiling would slow down start-up."""
        return reasoning_marks(tuple(tag for tag in self._tags if tag.close))

    @cached_property
    def _text_marks(self) -> ReasoningMarks:
        """With the control tokens that enclose nothing: they are no part of a text, but say nothing about a value."""
        return reasoning_marks(self._tags)

    # -- reasoning -----------------------------------------------------------------------------------------

    def strip(self, text: str) -> Stripped:
        """Remove closed reasoning blocks; an unclosed block stays in place and is flagged."""
        return strip(text, self._text_marks)

    def has_reasoning(self, text: str) -> bool:
        """Whether ``strip`` removes anything."""
        stripped = strip(text, self._text_marks)
        return len(stripped.found) > stripped.is_unclosed

    def stream(self, *, starts_in_reasoning: bool = False, only_leading: bool = False) -> StreamStripper:
        """Return a stripper for streamed text; the parameters are those of ``Decoder.stream``."""
        return TagStream(self._text_marks, starts_in_reasoning=starts_in_reasoning, only_leading=only_leading)

    # -- values --------------------------------------------------------------------------------------------

    def decode(
        self,
        raw: str | bytes,
        type: type[T],
        stop: StopReason | None = None,
        *,
        fits: Callable[[T], bool] | None = None,
        output_tokens: int = 0,
        may_start_in_reasoning: bool = False,
        tried: Tried | None = None,
    ) -> Decoded[T]:
        """Decode the first complete object, or list if ``type`` is a list, that matches the type."""
        read, wants_list, accepts_list = self._reader_of(type)
        if fits is None and raw and raw[0] in _FIRST_CHARS and raw[-1] in _LAST_CHARS:
            try:  # most responses are just the value and cost one typed decode
                return Decoded(read(raw), "strict")
            except Exception as error:
                if tried is not None:
                    tried("strict", str(error))
        text = raw if isinstance(raw, str) else _to_string(raw)
        if may_start_in_reasoning and stop not in FINISHED and self._is_reasoning(text, type):
            raise undecodable(stop, "unclosed_reasoning", text, is_empty=True)
        try:
            if not wants_list and (decoded := self._read_span(text, read, stop, fits)):
                return decoded
            return ResponseDecoder(
                text,
                DecodeRequest(read, fits, stop, wants_list, accepts_list, tried),
                self._marks,
                self._steps,
                self._refusals,
            ).read()
        except (RecursionError, MemoryError):
            raise undecodable(stop, "too_deep", text) from None
        except DecodeFailed as exc:
            if exc.is_empty or exc.sub_cause == "refusal" or not is_leak(stop, text, output_tokens):
                raise
            raise attrs.evolve(exc, sub_cause="reasoning_leak") from None

    def _is_reasoning(self, text: str, type: type[Any]) -> bool:
        """Whether a text that ended early is reasoning that the prompt opened, as far as it goes."""
        content = text.strip()
        if not content or self._marks.search(content):
            return False
        if not content.startswith(_VALUE_STARTS):
            return True
        if content.endswith(_VALUE_ENDS):
            return False
        try:
            self.decode(content, type)
        except DecodeFailed:
            return False  # a truncated value
        return True

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
        if "{" not in text:
            return None
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
                raise undecodable(stop, loop_of(text) or "cut", text) from None
            length = end_of_value(error, text[begin:end])
            if length is None or step == "fence":
                return None
            end = begin + length
            try:
                value = read(text[begin:end])
            except Exception:
                return None
        except Exception:
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
        if ends_in_key(head):
            return None
        if has_token(head) or ascii_brackets(head) is not head:
            return None
        return "fence" if "```" in head else "object"

    def _is_plain_tail(self, tail: str) -> bool:
        return _RISKY_TAIL.match(tail) is None and self._marks.search(tail) is None


def _open_reader(type: Any) -> _OpenReader:
    is_union = typing.get_origin(type) in (typing.Union, types.UnionType)
    read = with_a_field(msgspec.json.Decoder(type).decode, type)
    return read, _is_list(type), is_union and any(map(_is_list, typing.get_args(type)))


def _is_list(type: Any) -> bool:
    return type is list or typing.get_origin(type) is list


def _to_string(raw: bytes) -> str:
    """Invalid UTF-8 becomes lone surrogates, which every decoder rejects."""
    return raw.decode("utf-8", "surrogateescape")
