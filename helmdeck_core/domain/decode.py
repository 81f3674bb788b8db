"""Values of the decode chain: reasoning tags, refusal patterns and decode steps as data, and results of decoding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

import attrs
import msgspec

from helmdeck_core.domain.patterns import pattern_problem
from helmdeck_core.errors import FAILURES, CallFailed, FailureClass, HelmdeckError

T = TypeVar("T")


Tried = Callable[[str, str], None]
"""Callback for each decode step that was tried: its name, and the result."""


@attrs.frozen(kw_only=True)
class ReasoningTag:
    """One pair of marks around reasoning in an answer.

    :ivar name: unique; contributing the same name again replaces the tag.
    :ivar open: the opening mark, such as ``<muse>``, case-insensitive. Empty for reasoning that always begins in the prompt.
    :ivar close: the closing marks, the usual one first.
    :ivar has_attributes: the opening mark ends in ``>`` and may have attributes before it.
    :ivar closes_alone: a closing mark without an opening one ends reasoning that began in the prompt.
    """

    name: str
    open: str
    close: tuple[str, ...]
    has_attributes: bool = False
    closes_alone: bool = True
    order: int = 0


@attrs.frozen(kw_only=True)
class RefusalPattern:
    """How refusals begin in one language.

    :ivar language: BCP 47 tag, such as ``nl``; contributing the same tag again replaces the pattern.
    :ivar pattern: regular expression that matches from the start of a refusing sentence, letter case ignored; whitespace
        of the answer is collapsed to single spaces before.
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

    :ivar text: the visible text, without surrounding whitespace.
    :ivar reasoning: the removed reasoning, joined by line breaks; for diagnosis only.
    :ivar found: the names of the tags that were found, in order.
    :ivar is_unclosed: a reasoning block was not closed; it is still in ``text``.
    """

    text: str
    reasoning: str = ""
    found: tuple[str, ...] = ()
    is_unclosed: bool = False


@attrs.frozen(kw_only=True)
class DecodeStep:
    """One way to extract JSON from text that strict decoding rejected.

    :ivar name: unique; reported with the value.
    :ivar order: steps run in rising order; the first candidate that has the requested type is the value. A later step gets
        the last candidate of the earlier ones, so that each step repairs one problem.
    :ivar is_repair: the step changes the text (a comma, a quote) and is reported in ``Decoded.repairs``.
    :ivar candidates: takes one fragment of text (without reasoning and fences) and yields JSON candidates. Pure, linear in
        the length of its input, and never completes truncated text.
    """

    name: str
    candidates: Callable[[str], Iterable[str]]
    order: int = 0
    is_repair: bool = True


class Decoded(msgspec.Struct, Generic[T], frozen=True):
    """A decoded value. A Struct, because every decode makes one, in a tenth of the time of an attrs class.

    :ivar step: the step that gave the value: ``strict``, ``object``, ``list``, ``fence``, ``missing_brackets`` or a step's name.
    :ivar repairs: names of the repair steps that were needed; empty for clean JSON.
    :ivar reasoning: the removed reasoning, for diagnosis.
    """

    value: T
    step: str
    repairs: tuple[str, ...] = ()
    reasoning: str = ""


@attrs.frozen
class DecodeFailed(HelmdeckError):
    """The answer cannot be decoded.

    :ivar cause: one of the four classes of unusable answers.
    :ivar sub_cause: ``empty``, ``empty_though_finished``, ``only_reasoning``, ``unclosed_reasoning``, ``cut``,
        ``no_json``, ``refusal``, ``not_an_object``, ``not_a_list``, ``malformed``, ``wrong_shape``, ``too_deep``,
        ``reasoning_leak``, ``whitespace_loop`` or ``repeated_token``; the last two are whitespace and other tokens repeated to
        the end, and a leak is far more tokens than the text contains.
    :ivar is_empty: no visible text was left after reasoning was stripped.
    :ivar path: the location of a type mismatch, such as ``$.steps[0].tool``.
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
            return f"the answer has the wrong shape at {self.path or '$'}: expected {self.expected}, found {self.found}"
        return f"the answer cannot be read ({self.sub_cause})"

    def as_call(self, headline: str, raw: str | bytes, **facts: Any) -> CallFailed:
        """Return the failure of the call whose answer was ``raw``, by its cause.

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
        """Take the next chunk; return the visible text and the reasoning that are now known."""
        ...

    def finish(self) -> tuple[str, str]:
        """End the stream; return the rest that was held back."""
        ...
