"""Types of the decoder: reasoning tags, decode steps, and results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import attrs
import msgspec

from helmdeck_core.domain.chat import StopReason
from helmdeck_core.domain.patterns import pattern_problem
from helmdeck_core.errors import FAILURES, CallFailed, FailureClass, HelmdeckError

T = TypeVar("T")


Tried = Callable[[str, str], None]
"""Receives the name of each decode attempt, and its result."""


@attrs.frozen(kw_only=True)
class ReasoningTag:
    """A pair of tags around reasoning in a response.

    :ivar name: unique; contributing the same name again replaces the tag.
    :ivar open: the opening tag, such as ``<muse>``, case-insensitive. Empty for reasoning that always starts in the prompt.
    :ivar close: the closing tags, the usual one first. Empty for a control token that encloses nothing: it is left out of
        the text.
    :ivar has_attributes: the opening tag ends in ``>`` and may have attributes.
    :ivar closes_alone: a closing tag without an opening one ends reasoning that started in the prompt.
    """

    name: str
    open: str
    close: tuple[str, ...]
    has_attributes: bool = False
    closes_alone: bool = True
    order: int = 0


@attrs.frozen(kw_only=True)
class RefusalPattern:
    """How refusals start in one language.

    :ivar language: BCP 47 tag, such as ``nl``; contributing the same tag again replaces the pattern.
    :ivar pattern: regular expression that matches at the start of a refusing sentence, case-insensitive, after
        whitespace is collapsed to single spaces.
    """

    language: str
    pattern: str
    order: int = 0

    @property
    def name(self) -> str:
        """The language tag."""
        return self.language

    @property
    def problem(self) -> str:
        """Why the value cannot be used; empty if it can."""
        return pattern_problem(self.pattern)


@attrs.frozen
class Stripped:
    """Text without its reasoning.

    :ivar text: the remaining text without surrounding whitespace.
    :ivar reasoning: the removed text, joined by line breaks; for diagnosis only.
    :ivar found: names of the matched tags, in order.
    :ivar is_unclosed: the last block has no closing tag and remains in ``text``.
    :ivar starts_in_reasoning: a closing tag without an opening one ended reasoning that started in the prompt.
    """

    text: str
    reasoning: str = ""
    found: tuple[str, ...] = ()
    is_unclosed: bool = attrs.field(default=False, kw_only=True)
    starts_in_reasoning: bool = attrs.field(default=False, kw_only=True)


@attrs.frozen(kw_only=True)
class DecodeStep:
    """A step that extracts or repairs JSON after strict decoding failed.

    :ivar name: unique; reported in the result.
    :ivar order: steps run in ascending order; the first candidate that fits the type is the value. A step continues with
        the last candidate of earlier steps, so each repairs one problem only.
    :ivar is_repair: the step changes the JSON, such as a comma or a quote; reported in ``Decoded.repairs``.
    :ivar candidates: takes a text fragment without reasoning and code fence; yields JSON strings to try. It must be pure
        and linear in the length of the input, and must not complete truncated text.
    """

    name: str
    candidates: Callable[[str], Iterable[str]]
    order: int = 0
    is_repair: bool = True


class Decoded(msgspec.Struct, Generic[T], frozen=True):
    """A decoded value. A Struct for speed.

    :ivar step: how it was found: ``strict``, ``object``, ``list``, ``fence``, ``missing_brackets`` or the name of a step.
    :ivar repairs: names of the repair steps; empty for a clean response.
    :ivar reasoning: the removed reasoning, for diagnosis.
    """

    value: T
    step: str
    repairs: tuple[str, ...] = ()
    reasoning: str = ""


@attrs.frozen
class DecodeFailed(HelmdeckError):
    """Decoding failed.

    :ivar cause: one of the four failure classes of unusable responses.
    :ivar sub_cause: ``empty``, ``empty_though_finished``, ``only_reasoning``, ``unclosed_reasoning``, ``cut``,
        ``no_json``, ``refusal``, ``not_an_object``, ``not_a_list``, ``malformed``, ``wrong_shape``, ``too_deep``,
        ``reasoning_leak`` (far more tokens than text), ``whitespace_loop`` or ``repeated_token`` (whitespace or another token
        repeated to the end).
    :ivar is_empty: the response has no visible text after reasoning was removed.
    :ivar path: path of the type error, such as ``$.steps[0].tool``.
    :ivar excerpt: at most 200 characters of the text, control characters escaped.
    """

    cause: FailureClass
    sub_cause: str
    is_empty: bool = False
    path: str = ""
    expected: str = ""
    found: str = ""
    excerpt: str = ""

    def __str__(self) -> str:
        if self.is_empty:
            return f"the answer is empty ({self.sub_cause})"
        if self.path or self.expected:
            what = f"expected {self.expected}, found {self.found}" if self.found else self.expected
            return f"the answer has the wrong shape at {self.path or '$'}: {what}"
        return f"the answer cannot be read ({self.sub_cause})"

    def as_call(self, headline: str, raw: str | bytes, **facts: Any) -> CallFailed:
        """Return the ``CallFailed`` of the cause.

        :param raw: the undecodable text.
        :param facts: further fields of ``CallFailed``.
        """
        return FAILURES[self.cause](
            headline,
            raw_length=len(raw if isinstance(raw, bytes) else raw.encode("utf-8", "surrogatepass")),
            sub_cause=self.sub_cause,
            detail=str(self) if self.path or self.expected else "",
            excerpt=self.excerpt,
            is_empty=self.is_empty,
            **facts,
        )


class StreamStripper(Protocol):
    """Removes reasoning from streamed text."""

    def feed(self, chunk: str) -> tuple[str, str]:
        """Process a chunk; return the visible text and reasoning that it completes."""
        ...

    def finish(self) -> tuple[str, str]:
        """End the stream; return the buffered text and reasoning."""
        ...


class Decoder(Protocol):
    """Strips reasoning from responses and decodes their values."""

    def strip(self, text: str) -> Stripped:
        """Remove closed reasoning blocks; an unclosed block stays in place and is flagged."""
        ...

    def has_reasoning(self, text: str) -> bool:
        """Whether ``strip`` removes anything."""
        ...

    def stream(self, *, starts_in_reasoning: bool = False, only_leading: bool = False) -> StreamStripper:
        """Return a stripper for streamed text.

        :param starts_in_reasoning: the prompt opened a block, so the text starts inside reasoning.
        :param only_leading: tags after the first visible text are text, as in the strings of JSON.
        """
        ...

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
        """Decode the first complete object, or list if ``type`` is a list, that matches the type.

        :param type: a msgspec Struct, an attrs class or dataclass, a ``TypedDict``, ``dict``, or a list of one of these.
        :param stop: the stop reason; it determines the cause of a failure.
        :param fits: an extra condition, for a loose type such as ``dict``.
        :param output_tokens: output tokens that the provider reported; 0 if unknown. If the text is far shorter, a failure
            becomes a ``reasoning_leak``.
        :param may_start_in_reasoning: the prompt may have opened a block: without any tag, the text of a turn that did
            not end by itself is reasoning, unless it is nothing but the value.
        :param tried: called for each decode attempt with the name of the step and the outcome.
        :raises DecodeFailed: the text contains no such value; the exception has the cause and the position.
        """
        ...


@attrs.frozen(kw_only=True)
class DecoderSpec:
    """A way to decode responses. A deck uses the one with the lowest ``order``.

    :ivar open: makes the decoder, once per deck; should import its modules itself, to keep start-up fast.
    """

    name: str
    open: Callable[[Sequence[ReasoningTag], Sequence[DecodeStep], Sequence[RefusalPattern]], Decoder]
    order: int = 0
