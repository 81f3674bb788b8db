"""Takes reasoning out of text, whole or in pieces.

It looks at text only and knows no JSON: a mark inside a quoted string is a mark. The decoder, which must not touch the
strings of a value, reads the text as it came and never the result of this module.
"""

from __future__ import annotations

from typing import NamedTuple

import attrs

from helmdeck_core.domain.decode import Stripped
from helmdeck_core.reading.reasoning_marks import Closer, Marks

_MAX_PASSES = 4
"""How often removing blocks may bring new marks to light, as in ``<mu<muse></muse>se>``.

Nobody writes that by accident; text that still has blocks after this many passes is all taken for reasoning, which
keeps the time linear.
"""


def strip(text: str, marks: Marks) -> Stripped:
    """Remove closed blocks, and all that stands before a mark that closes alone.

    A block that is never closed stays where it is, and the result says so.
    """
    reasoning: list[str] = []
    found: list[str] = []
    for _ in range(_MAX_PASSES):
        once = _Pass(text, marks)
        reasoning += once.reasoning
        found += once.found
        text = once.text
        if not once.has_removed:
            unclosed = (once.unclosed,) if once.unclosed else ()
            return Stripped(text, "\n".join(reasoning), (*found, *unclosed), bool(unclosed))
    return Stripped("", "\n".join([*reasoning, text]), tuple(found))


class _Pass:
    """One pass over the text from left to right."""

    def __init__(self, text: str, marks: Marks) -> None:
        self.reasoning: list[str] = []
        self.found: list[str] = []
        self.unclosed = ""
        self._kept: list[str] = []
        self._blanks: list[str] = []
        self._remove(text, marks)
        self.text = "".join(self._kept)

    @property
    def has_removed(self) -> bool:
        return bool(self.found)

    def _remove(self, text: str, marks: Marks) -> None:
        done = 0
        while mark := marks.search(text, done):
            close = mark.closer.search(text, mark.end) if mark.closer and not mark.is_empty else None
            if mark.closer and not mark.is_empty and close is None:
                self.unclosed = mark.tag
                break
            self._keep(text[done : mark.start])
            if mark.closer is None:
                self._give_up_kept()
            elif close is not None:
                self.reasoning.append(text[mark.end : close.start()])
            self.found.append(mark.tag)
            done = close.end() if close else mark.end
        self._keep(text[done:])

    def _keep(self, piece: str) -> None:
        """Append what is visible; blank lines that meet where a block was become one."""
        stem = piece.strip()
        if not stem:
            self._blanks.append(piece)
            return
        lead = piece[: len(piece) - len(piece.lstrip())]
        between = "".join([*self._blanks, lead])
        if self._kept:
            self._kept.append("\n\n" if between.count("\n") > 2 else between)
        self._kept.append(stem)
        self._blanks = [piece[len(lead) + len(stem) :]]

    def _give_up_kept(self) -> None:
        """A mark that closes alone: what was kept so far was thought."""
        self.reasoning.append("".join(self._kept))
        self._kept.clear()
        self._blanks.clear()


class _Step(NamedTuple):
    """A mark in a stream: where it starts and ends, and what ends the block that it begins."""

    start: int
    end: int
    closer: Closer | None


@attrs.define
class TagStream:
    """Takes reasoning out of text that arrives in pieces; the pieces may cut a mark anywhere.

    Only text that may still become a mark is held back. Reasoning is released as it comes, so the text of a block that
    is never closed is reasoning here. A mark that closes alone is text, unless the stream starts inside reasoning.
    """

    _marks: Marks
    _closer: Closer | None = None
    _held: str = ""

    def feed(self, chunk: str) -> tuple[str, str]:
        """Take the next piece; return the visible text and the reasoning that it released."""
        text = self._held + chunk if self._held else chunk
        begun = self._marks.begun if self._closer is None else self._closer.begun
        if begun.search(text):
            return self._release(text, is_last=False)
        self._held = ""
        return (text, "") if self._closer is None else ("", text)

    def finish(self) -> tuple[str, str]:
        """Say that nothing follows; return what was still held back."""
        return self._release(self._held, is_last=True)

    def _release(self, text: str, *, is_last: bool) -> tuple[str, str]:
        visible: list[str] = []
        reasoning: list[str] = []
        done, end = 0, len(text)
        tail = end if is_last else end - self._marks.longest  # what starts before it is whole
        while True:
            step = self._next(text, done)
            if not is_last and (step is None or step.start >= tail):
                end = self._certain_end(text, done)
                step = step if step and step.start < end else None
            until = step.start if step else end
            (visible if self._closer is None else reasoning).append(text[done:until])
            if step is None:
                self._held = text[end:]
                return "".join(visible), "".join(reasoning)
            done = step.end
            self._closer = step.closer

    def _certain_end(self, text: str, start: int) -> int:
        """Where the text ends that cannot be part of a mark any more."""
        begun = self._marks.begun if self._closer is None else self._closer.begun
        for match in begun.finditer(text, max(start, len(text) - self._marks.longest)):
            if match.end() == len(text):
                return match.start()
        return len(text)

    def _next(self, text: str, start: int) -> _Step | None:
        if self._closer is not None:
            close = self._closer.search(text, start)
            return _Step(*close.span(), None) if close else None
        mark = self._marks.search_open(text, start)
        return _Step(mark.start, mark.end, None if mark.is_empty else mark.closer) if mark else None
