"""Strips reasoning from complete or streamed text, with one reader for both.

A mark inside a fenced code block, or inside JSON that the text starts with, is content. Other JSON is not parsed: the decoder
must not change the strings of a value, so it reads the original text and not the output of this module.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from typing import NamedTuple

import attrs

from helmdeck_core import Stripped
from helmdeck_reading.decoder.quoted_text import QuotedText
from helmdeck_reading.reasoning_marks import CODE_SPAN, Closer, ReasoningMark, ReasoningMarks

CONTROL_TOKEN = ("<|", "<｜")
"""How control tokens start; such a mark is never text."""


_MAX_PASSES = 8


class Kind(enum.Enum):
    """What a part of the text is."""

    VISIBLE = "visible"
    REASONING = "reasoning"
    OPEN = "open"
    CLOSE = "close"
    LONE_CLOSE = "lone close"
    """A closing mark without an opening mark: the text before it may be reasoning that started in the prompt."""


VISIBLE, REASONING, OPEN, CLOSE, LONE_CLOSE = Kind  # by name, because an attribute of an enumeration is slow


class Part(NamedTuple):
    """A part of the text; all parts together are the text."""

    kind: Kind
    text: str
    tag: str = ""


@attrs.define(eq=False)
class BlockReader:
    """Divides a text into visible text, reasoning and marks; a chunk may end inside a mark.

    Only a possible partial mark is buffered. The joined parts of each kind do not depend on the chunk borders.

    :ivar closer: the closing marks of the open block; ``None`` outside of a block.
    :ivar buffer: the end of the text so far that may be the start of a mark.
    """

    _marks: ReasoningMarks
    closer: Closer | None = None
    buffer: str = ""
    _before: str = ""  # the end of the last visible line, if it has a backtick
    _last: str = ""  # the character before the next chunk, for marks that start a word
    _text: str = ""
    _done: int = 0
    _quoted: QuotedText = attrs.field(factory=QuotedText)

    def is_plain(self, chunk: str) -> bool:
        """Whether the next chunk contains no mark and cannot be part of one; feed it otherwise.

        The chunk must include ``buffer``, which is then empty.
        """
        closer = self.closer
        if closer is None or closer.first in chunk:
            partial = self._marks.partial if closer is None else closer.partial
            if partial.search(self._last + chunk, len(self._last)):
                return False
        self._last = chunk[-1:] or self._last
        if closer is None:
            self._keep(chunk)
        return True

    def feed(self, chunk: str) -> Iterator[Part]:
        """Process the next chunk, which includes ``buffer``."""
        return self._divide(chunk, is_last=False)

    def finish(self) -> Iterator[Part]:
        """End the text."""
        yield from self._divide(self.buffer, is_last=True)
        self.buffer = ""

    def whole(self, text: str) -> Iterator[Part]:
        """Divide a whole text."""
        return self._divide(text, is_last=True)

    def rest(self) -> str:
        """The text after the last part; to be called instead of taking further parts."""
        return self._text[self._done :]

    def _plain(self, text: str) -> Part:
        if self.closer is not None:
            return Part(REASONING, text)
        self._keep(text)
        return Part(VISIBLE, text)

    def _keep(self, text: str) -> None:
        """Keep what decides whether the next mark is content, such as the end of a line that has a backtick."""
        self._quoted.add(text)
        if not (self._before or "`" in text):
            return
        line = (self._before + text).rpartition("\n")[2][-CODE_SPAN:]
        self._before = line if "`" in line else ""

    def _divide(self, text: str, *, is_last: bool) -> Iterator[Part]:
        done, text = len(self._last), self._last + text
        end = len(text)
        tail = end if is_last else end - self._marks.longest  # a mark that starts before it is complete
        while True:
            mark = self._next(text, done)
            if not is_last and (mark is None or mark.start >= tail):
                end = self._safe_end(text, done, mark.start if mark else end)
                mark = mark if mark and mark.start < end else None
            until = mark.start if mark else end
            if until > done:
                self._text, self._done = text, until
                yield self._plain(text[done:until])
            if mark is None:
                self.buffer, self._last = text[end:], text[max(0, end - 1) : end]
                return
            done = mark.end
            yield self._passed(mark, text)

    def _passed(self, mark: ReasoningMark, text: str) -> Part:
        """The part of a mark; from then on the text is inside or outside of its block. A quoted mark is visible text."""
        written = text[mark.start : mark.end]
        if self.closer is None and not written.startswith(CONTROL_TOKEN) and self._quoted.is_open():
            self._text, self._done = text, mark.end
            return self._plain(written)
        if self.closer is not None:
            self.closer = None
            return Part(CLOSE, written)
        if mark.closer is None:
            self._before, self._quoted = "", QuotedText()
            return Part(LONE_CLOSE, written, mark.tag)
        self.closer = None if mark.is_empty else mark.closer
        return Part(OPEN, written, mark.tag)

    def _safe_end(self, text: str, start: int, before: int) -> int:
        """The end of the text that cannot be part of a partial mark; any later one if it is after ``before``."""
        partial = self._marks.partial if self.closer is None else self.closer.partial
        for match in partial.finditer(text, max(start, len(text) - self._marks.longest)):
            if match.end() == len(text):
                return match.start()
            if match.start() >= before:
                break
        return len(text)

    def _next(self, text: str, start: int) -> ReasoningMark | None:
        if self.closer is None:
            return self._marks.search(text, start, start, self._before)
        close = self.closer.search(text, start)
        return ReasoningMark("", *close.span(), None) if close else None


def strip(text: str, marks: ReasoningMarks) -> Stripped:
    """Remove closed blocks, and all text before a closing mark without an opening mark.

    An unclosed block stays in place and is flagged in the result. Blank lines around a removed block become one.
    """
    if not marks.partial.search(text):  # most texts have no mark
        return Stripped(text.strip())
    stripped = _strip_once(text, marks)
    for _ in range(_MAX_PASSES):  # the removal of a block may join the halves of another mark
        if len(stripped.found) == stripped.is_unclosed:
            break
        if not marks.search(stripped.text):
            if stripped.is_unclosed:  # joined to the word before the removed block, its opening phrase is text
                stripped = attrs.evolve(stripped, found=stripped.found[:-1], is_unclosed=False)
            break
        again = _strip_once(stripped.text, marks)
        stripped = Stripped(
            again.text,
            "\n".join(filter(None, (stripped.reasoning, again.reasoning))),
            (*stripped.found[: len(stripped.found) - stripped.is_unclosed], *again.found),
            is_unclosed=again.is_unclosed,
            starts_in_reasoning=stripped.starts_in_reasoning or again.starts_in_reasoning,
        )
        if len(again.found) == again.is_unclosed:
            break
    return stripped


def _strip_once(text: str, marks: ReasoningMarks) -> Stripped:
    reasoning: list[str] = []
    found: list[str] = []
    visible = JoinedText()
    unclosed = ""
    starts_in_reasoning = False
    reader = BlockReader(marks)
    position = 0
    chunk: list[str] = []  # up to the next block
    for part in reader.whole(text):
        start, position = position, position + len(part.text)
        if part.kind is VISIBLE or (part.kind is LONE_CLOSE and _is_word(text, start, position)):
            chunk.append(part.text)
            continue
        visible.add("".join(chunk))
        chunk.clear()
        if part.kind is LONE_CLOSE:
            reasoning.append(visible.clear())
            found.append(part.tag)
            starts_in_reasoning = True
        elif part.kind is OPEN:
            found.append(part.tag)
            unclosed = part.text
            if reader.closer is not None:
                reasoning.append("")
        elif part.kind is REASONING:
            reasoning[-1] = part.text
    if reader.closer is not None:
        chunk.append(unclosed + reasoning.pop())
    visible.add("".join(chunk))
    return Stripped(
        str(visible),
        "\n".join(reasoning),
        tuple(found),
        is_unclosed=reader.closer is not None,
        starts_in_reasoning=starts_in_reasoning,
    )


_WORD_BEFORE = re.compile(r"[^\s.!?:;][ ]\Z")


def _is_word(text: str, start: int, end: int) -> bool:
    """Whether a closing mark without an opening one is a word of a sentence, as in "write </think> at the end"."""
    return (
        text[end : end + 1] == " "
        and text[end + 1 : end + 2].islower()
        and bool(_WORD_BEFORE.search(text, max(0, start - 2), start))
    )


class JoinedText:
    """Visible text between removed blocks; adjoining blank lines around a removed block become one."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._whitespace: list[str] = []

    def add(self, chunk: str) -> None:
        """Add the text up to the next block."""
        content = chunk.strip()
        if not content:
            self._whitespace.append(chunk)
            return
        lead = chunk[: len(chunk) - len(chunk.lstrip())]
        between = "".join([*self._whitespace, lead])
        if self._parts:
            self._parts.append("\n\n" if between.count("\n") > 2 else between)
        self._parts.append(content)
        self._whitespace = [chunk[len(lead) + len(content) :]]

    def clear(self) -> str:
        """Remove the text so far; return it."""
        text = str(self)
        self._parts.clear()
        self._whitespace.clear()
        return text

    def __str__(self) -> str:
        return "".join(self._parts)


class TagStream:
    """Strips reasoning from streamed text.

    Reasoning is released immediately, so the text of an unclosed block counts as reasoning. A closing mark without an
    opening mark is text, unless the stream starts inside reasoning, nothing visible came before, or it is a control
    token.

    :param only_leading: marks after the first visible text are text.
    """

    def __init__(self, marks: ReasoningMarks, *, starts_in_reasoning: bool = False, only_leading: bool = False) -> None:
        self._reader = BlockReader(marks, marks.any_close if starts_in_reasoning else None)
        self._only_leading = only_leading
        self._has_text = False
        self._is_plain = False

    def feed(self, chunk: str) -> tuple[str, str]:
        """Process the next chunk; return the released visible text and reasoning."""
        if self._is_plain:
            return chunk, ""
        reader = self._reader
        if reader.buffer:
            chunk, reader.buffer = reader.buffer + chunk, ""
        if not reader.is_plain(chunk):
            return self._released(reader.feed(chunk))
        if reader.closer is not None:
            return "", chunk
        if not self._has_text and chunk and not chunk.isspace():
            self._has_text, self._is_plain = True, self._only_leading
        return chunk, ""

    def finish(self) -> tuple[str, str]:
        """End the stream; return the buffered visible text and reasoning."""
        return ("", "") if self._is_plain else self._released(self._reader.finish())

    def _released(self, parts: Iterator[Part]) -> tuple[str, str]:
        visible: list[str] = []
        reasoning: list[str] = []
        for kind, text, _ in parts:
            if kind is REASONING:
                reasoning.append(text)
            elif kind is VISIBLE or (kind is LONE_CLOSE and self._has_text and not text.startswith(CONTROL_TOKEN)):
                visible.append(text)
                self._has_text = self._has_text or not text.isspace()
                if self._only_leading and self._has_text:
                    self._is_plain = True
                    visible.append(self._reader.rest())
                    break
        return "".join(visible), "".join(reasoning)
