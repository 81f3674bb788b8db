"""Strips reasoning from complete or streamed text.

Works on plain text without parsing JSON: a mark inside a quoted string is a mark. The decoder must not change the
strings of a value, so it reads the original text and not the output of this module.
"""

from __future__ import annotations

from typing import NamedTuple

import attrs

from helmdeck_core import Stripped
from helmdeck_plugins.reading.marks import Closer, ReasoningMarks

_MAX_PASSES = 4
"""Maximum passes: removing a block may create a new mark, as in ``<mu<muse></muse>se>``.

Text that still has blocks after this many passes is treated as reasoning, which keeps the time linear.
"""


def strip(text: str, marks: ReasoningMarks) -> Stripped:
    """Remove closed blocks, and all text before a closing mark without an opening mark.

    An unclosed block stays in place and is flagged in the result.
    """
    reasoning: list[str] = []
    found: list[str] = []
    for _ in range(_MAX_PASSES):
        result = _Pass(text, marks)
        reasoning += result.reasoning
        found += result.found
        text = result.text
        if not result.has_removed:
            unclosed = (result.unclosed,) if result.unclosed else ()
            return Stripped(text, "\n".join(reasoning), (*found, *unclosed), bool(unclosed))
    return Stripped("", "\n".join([*reasoning, text]), tuple(found))


class _Pass:
    """One pass over the text from left to right."""

    def __init__(self, text: str, marks: ReasoningMarks) -> None:
        self.reasoning: list[str] = []
        self.found: list[str] = []
        self.unclosed = ""
        self._parts: list[str] = []
        self._whitespace: list[str] = []
        self._remove(text, marks)
        self.text = "".join(self._parts)

    @property
    def has_removed(self) -> bool:
        return bool(self.found)

    def _remove(self, text: str, marks: ReasoningMarks) -> None:
        done = 0
        while mark := marks.search(text, done):
            close = mark.closer.search(text, mark.end) if mark.closer and not mark.is_empty else None
            if mark.closer and not mark.is_empty and close is None:
                self.unclosed = mark.tag
                break
            self._append(text[done : mark.start])
            if mark.closer is None:
                self._move_to_reasoning()
            elif close is not None:
                self.reasoning.append(text[mark.end : close.start()])
            self.found.append(mark.tag)
            done = close.end() if close else mark.end
        self._append(text[done:])

    def _append(self, chunk: str) -> None:
        """Append visible text; adjoining blank lines around a removed block become one."""
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

    def _move_to_reasoning(self) -> None:
        """A closing mark without an opening mark: the text so far is reasoning."""
        self.reasoning.append("".join(self._parts))
        self._parts.clear()
        self._whitespace.clear()


class _StreamMark(NamedTuple):
    """A mark in a stream: its start and end, and the closer of the block that it opens."""

    start: int
    end: int
    closer: Closer | None


@attrs.define
class TagStream:
    """Strips reasoning from streamed text; a chunk may end inside a mark.

    Only a possible partial mark is buffered. Reasoning is released immediately, so the text of an unclosed block counts
    as reasoning. A closing mark without an opening mark is text, unless the stream starts inside reasoning.
    """

    _marks: ReasoningMarks
    _closer: Closer | None = None
    _buffer: str = ""

    def feed(self, chunk: str) -> tuple[str, str]:
        """Process the next chunk; return the released visible text and reasoning."""
        text = self._buffer + chunk if self._buffer else chunk
        partial = self._marks.partial if self._closer is None else self._closer.partial
        if partial.search(text):
            return self._release(text, is_last=False)
        self._buffer = ""
        return (text, "") if self._closer is None else ("", text)

    def finish(self) -> tuple[str, str]:
        """End the stream; return the buffered visible text and reasoning."""
        return self._release(self._buffer, is_last=True)

    def _release(self, text: str, *, is_last: bool) -> tuple[str, str]:
        visible: list[str] = []
        reasoning: list[str] = []
        done, end = 0, len(text)
        tail = end if is_last else end - self._marks.longest  # a mark that starts before it is complete
        while True:
            mark_span = self._next(text, done)
            if not is_last and (mark_span is None or mark_span.start >= tail):
                end = self._safe_end(text, done)
                mark_span = mark_span if mark_span and mark_span.start < end else None
            until = mark_span.start if mark_span else end
            (visible if self._closer is None else reasoning).append(text[done:until])
            if mark_span is None:
                self._buffer = text[end:]
                return "".join(visible), "".join(reasoning)
            done = mark_span.end
            self._closer = mark_span.closer

    def _safe_end(self, text: str, start: int) -> int:
        """The end of the text that cannot be part of a partial mark."""
        partial = self._marks.partial if self._closer is None else self._closer.partial
        for match in partial.finditer(text, max(start, len(text) - self._marks.longest)):
            if match.end() == len(text):
                return match.start()
        return len(text)

    def _next(self, text: str, start: int) -> _StreamMark | None:
        if self._closer is not None:
            close = self._closer.search(text, start)
            return _StreamMark(*close.span(), None) if close else None
        mark = self._marks.search_open(text, start)
        return _StreamMark(mark.start, mark.end, None if mark.is_empty else mark.closer) if mark else None
