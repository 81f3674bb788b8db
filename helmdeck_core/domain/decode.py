"""Values of the decode chain: reasoning tags and decode steps as data, and what a decode gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

import attrs
import msgspec

from helmdeck_core.domain.patterns import pattern_problem
from helmdeck_core.errors import FAILURES, CallFailed, FailureClass, HelmdeckError

T = TypeVar("T")


Tried = Callable[[str, str], None]
"""Is told of one way to read an answer, by its name, and what came of it."""


@attrs.frozen(kw_only=True)
class ReasoningTag:
    """One pair of marks around text that a model thought and did not mean as its answer.

    :ivar name: unique; contributing the same name again replaces the tag.
    :ivar open: the mark that opens, such as ``<muse>``; letter case does not matter. Empty for reasoning that always
        begins in the prompt.
    :ivar close: the marks that close it; the first is the usual one.
    :ivar has_attributes: the opening mark ends in ``>`` and may carry attributes before it.
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

    :ivar text: what is left, outer blanks trimmed.
    :ivar reasoning: what was taken out, joined by line breaks; for diagnosis only.
    :ivar found: the names of the tags that were met, in order.
    :ivar is_unclosed: a block was opened and never closed; it is still in ``text``.
    """

    text: str
    reasoning: str = ""
    found: tuple[str, ...] = ()
    is_unclosed: bool = False


@attrs.frozen(kw_only=True)
class DecodeStep:
    """One way to make a readable candidate out of text that strict decoding refused.

    :ivar name: unique; it is what a result reports.
    :ivar order: steps run in rising order; the first whose candidate fits the asked-for type gives the value. A later
        step goes on from the last candidate of the earlier ones, so that each needs to mend one thing only.
    :ivar is_repair: the step changes what the model wrote (a comma, a quote); reported in ``Decoded.repairs``.
    :ivar candidates: takes one fragment of text (no reasoning, no fence around it) and yields JSON texts to try.
        Pure, linear in the length of its input, and it never completes text that was cut.
    """

    name: str
    candidates: Callable[[str], Iterable[str]]
    order: int = 0
    is_repair: bool = True


class Decoded(msgspec.Struct, Generic[T], frozen=True):
    """A value that the text literally held. A Struct, because making one is part of every decode, and takes a tenth.

    :ivar step: what gave the value: ``strict``, ``object``, ``list``, ``fence``, ``missing_brackets`` or a step's name.
    :ivar repairs: names of the repairing steps that were needed; empty for a clean answer.
    :ivar reasoning: reasoning that was stripped, for diagnosis.
    """

    value: T
    step: str
    repairs: tuple[str, ...] = ()
    reasoning: str = ""


@attrs.frozen
class DecodeFailed(HelmdeckError):
    """No value could be read, and why.

    :ivar cause: one of the four causes of an unusable answer.
    :ivar sub_cause: ``empty``, ``empty_though_finished``, ``only_reasoning``, ``unclosed_reasoning``, ``cut``,
        ``no_json``, ``refusal``, ``not_an_object``, ``not_a_list``, ``malformed``, ``wrong_shape``, ``too_deep``,
        ``reasoning_leak``, ``whitespace_loop`` or ``repeated_token``; the last two stand for blanks, and for another token,
        that are repeated to the end, and a leak for far more tokens than the text holds.
    :ivar is_empty: nothing visible was left after reasoning was stripped.
    :ivar path: where in the value the shape was wrong, such as ``$.steps[0].tool``.
    :ivar excerpt: at most 200 characters of what was read, control characters escaped.
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
        """The failure of the call that brought ``raw``, by its cause.

        :param facts: what else is known of the call, by the names of ``CallFailed``'s fields.
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
    """Takes reasoning out of text that arrives in pieces."""

    def feed(self, chunk: str) -> tuple[str, str]:
        """Take the next piece; return the visible text and the reasoning that it released."""
        ...

    def finish(self) -> tuple[str, str]:
        """Say that nothing follows; return what was still held back."""
        ...
